#include "ipu_emulator/model/op_run.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cfenv>
#include <cmath>
#include <limits>

#include <poplar/exceptions.hpp>

#include "ipu_emulator/numerics/random.h"

namespace ipu_emulator {
namespace {

using Id = TypeId;

constexpr std::size_t kPiece = 256;  // elements that pass through the stack

thread_local Scratch thread_scratch;

/// The largest size that any thread has needed of each block of its scratch memory.
constexpr std::size_t kBlocks = 32;
std::array<std::atomic<std::size_t>, kBlocks> needs{};
std::atomic<bool> scratch_grew{false};

/// Floats to a 32-bit integer: towards zero, at the ends of the range beyond it, NaN to 0.
std::int32_t to_signed(float value) {
    if (std::isnan(value)) return 0;
    if (value >= 0x1p31f) return std::numeric_limits<std::int32_t>::max();
    if (value <= -0x1p31f) return std::numeric_limits<std::int32_t>::min();
    return static_cast<std::int32_t>(value);
}

std::uint32_t to_unsigned(float value) {
    if (!(value > 0.0f)) return 0;
    if (value >= 0x1p32f) return std::numeric_limits<std::uint32_t>::max();
    return static_cast<std::uint32_t>(value);
}

/// The same for 64 bits.
std::int64_t to_signed_long(float value) {
    if (std::isnan(value)) return 0;
    if (value >= 0x1p63f) return std::numeric_limits<std::int64_t>::max();
    if (value <= -0x1p63f) return std::numeric_limits<std::int64_t>::min();
    return static_cast<std::int64_t>(value);
}

std::uint64_t to_unsigned_long(float value) {
    if (!(value > 0.0f)) return 0;
    if (value >= 0x1p64f) return std::numeric_limits<std::uint64_t>::max();
    return static_cast<std::uint64_t>(value);
}

/// Gathers in pieces, each converted by convert(elements of the type T, count).
template <class T, class Convert>
void load_pieces(const Operand& operand, std::size_t begin, std::size_t count, Convert convert) {
    T piece[kPiece];
    while (count != 0) {
        const std::size_t n = std::min(count, kPiece);
        operand.load_bytes(begin, n, piece);
        convert(static_cast<const T*>(piece), n);
        begin += n;
        count -= n;
    }
}

template <class T, class Value> void load_as(const Operand& operand, std::size_t begin, std::size_t count, Value* to) {
    load_pieces<T>(operand, begin, count, [&](const T* piece, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i)
            *to++ = static_cast<Value>(piece[i]);  // NOLINT(bugprone-signed-char-misuse): signed as the type is
    });
}

/// A byte of BOOL: whatever is not 0 is true.
template <class Value> Value truth(std::uint8_t byte) {
    return byte != 0 ? Value{1} : Value{0};
}

template <class T, class Value, class Convert>
void store_as(const Operand& operand, std::size_t begin, std::size_t count, const Value* from, Convert convert) {
    T piece[kPiece];
    while (count != 0) {
        const std::size_t n = std::min(count, kPiece);
        for (std::size_t i = 0; i < n; ++i)
            piece[i] = convert(from[i]);
        operand.store_bytes(begin, n, piece);
        from += n;
        begin += n;
        count -= n;
    }
}

/// 64-bit integers by way of another type.
template <class Value>
void store_through(const Operand& operand, std::size_t begin, std::size_t count, const std::int64_t* from) {
    Value piece[kPiece];
    while (count != 0) {
        const std::size_t n = std::min(count, kPiece);
        for (std::size_t i = 0; i < n; ++i)
            piece[i] = static_cast<Value>(from[i]);
        operand.store(begin, n, piece);
        from += n;
        begin += n;
        count -= n;
    }
}

}  // namespace

void Scratch::reserve(std::size_t i, std::size_t size) {
    while (blocks_.size() <= i)
        blocks_.emplace_back();
    if (blocks_[i].size >= size) return;
    blocks_[i].memory = std::make_unique_for_overwrite<std::byte[]>(size);
    blocks_[i].size = size;
}

void* Scratch::bytes(std::size_t size) {
    reserve(next_, size);
    return blocks_[next_++].memory.get();
}

void LocalScratch::note(std::size_t block, std::size_t size) {
    if (block >= kBlocks) return;
    std::size_t known = needs[block];
    while (known < size && !needs[block].compare_exchange_weak(known, size)) {
    }
    scratch_grew = true;
}

void LocalScratch::spread() {
    if (!scratch_grew.exchange(false)) return;
    host_threads().each([] {
        for (std::size_t i = 0; i < kBlocks; ++i)
            thread_scratch.reserve(i, needs[i]);
    });
}

LocalScratch::LocalScratch() : scratch_(thread_scratch), mark_(thread_scratch.mark()) {}

LocalScratch::~LocalScratch() {
    scratch_.release(mark_);
}

void Operand::load_bytes(std::size_t begin, std::size_t count, void* to) const {
    regions_->gather(run_->bases(), begin, count, to);
}

void Operand::store_bytes(std::size_t begin, std::size_t count, const void* from) const {
    regions_->scatter(run_->bases(), begin, count, from);
}

std::byte* Operand::contiguous() const {
    return regions_->contiguous(run_->bases());
}

void Operand::load(std::size_t begin, std::size_t count, float* to) const {
    switch (Access::id(type())) {
        case Id::single:
            return load_bytes(begin, count, to);
        case Id::half:
            if (const std::byte* memory = contiguous()) {
                return to_floats(reinterpret_cast<const std::uint16_t*>(memory) + begin, to, count);
            }
            return load_pieces<std::uint16_t>(*this, begin, count, [&](const std::uint16_t* piece, std::size_t n) {
                to_floats(piece, to, n);
                to += n;
            });
        case Id::integer:
            return load_as<std::int32_t>(*this, begin, count, to);
        case Id::unsigned_integer:
            return load_as<std::uint32_t>(*this, begin, count, to);
        case Id::boolean:
            return load_pieces<std::uint8_t>(*this, begin, count, [&](const std::uint8_t* piece, std::size_t n) {
                to = std::transform(piece, piece + n, to, truth<float>);
            });
        case Id::unsigned_char:
            return load_as<std::uint8_t>(*this, begin, count, to);
        case Id::character:
        case Id::signed_char:
            return load_as<std::int8_t>(*this, begin, count, to);
        case Id::short_integer:
            return load_as<std::int16_t>(*this, begin, count, to);
        case Id::unsigned_short:
            return load_as<std::uint16_t>(*this, begin, count, to);
        case Id::long_long:
            return load_as<std::int64_t>(*this, begin, count, to);
        case Id::unsigned_long_long:
            return load_as<std::uint64_t>(*this, begin, count, to);
    }
}

void Operand::load(std::size_t begin, std::size_t count, std::int32_t* to) const {
    switch (Access::id(type())) {
        case Id::integer:
        case Id::unsigned_integer:
            return load_bytes(begin, count, to);
        case Id::single:
            return load_pieces<float>(*this, begin, count, [&](const float* piece, std::size_t n) {
                to = std::transform(piece, piece + n, to, to_signed);
            });
        case Id::half:
            return load_pieces<std::uint16_t>(*this, begin, count, [&](const std::uint16_t* piece, std::size_t n) {
                to = std::transform(piece, piece + n, to,
                                    [](std::uint16_t half) { return to_signed(half_value(half)); });
            });
        case Id::boolean:
            return load_pieces<std::uint8_t>(*this, begin, count, [&](const std::uint8_t* piece, std::size_t n) {
                to = std::transform(piece, piece + n, to, truth<std::int32_t>);
            });
        case Id::unsigned_char:
            return load_as<std::uint8_t>(*this, begin, count, to);
        case Id::character:
        case Id::signed_char:
            return load_as<std::int8_t>(*this, begin, count, to);
        case Id::short_integer:
            return load_as<std::int16_t>(*this, begin, count, to);
        case Id::unsigned_short:
            return load_as<std::uint16_t>(*this, begin, count, to);
        case Id::long_long:
            return load_as<std::int64_t>(*this, begin, count, to);
        case Id::unsigned_long_long:
            return load_as<std::uint64_t>(*this, begin, count, to);
    }
}

void Operand::store(std::size_t begin, std::size_t count, const float* from) const {
    const auto integer = [](float value) { return to_signed(value); };
    switch (Access::id(type())) {
        case Id::single:
            return store_bytes(begin, count, from);
        case Id::half:
            break;
        case Id::integer:
            return store_as<std::int32_t>(*this, begin, count, from, integer);
        case Id::unsigned_integer:
            return store_as<std::uint32_t>(*this, begin, count, from, to_unsigned);
        case Id::boolean:
            return store_as<std::uint8_t>(*this, begin, count, from, [](float v) { return v != 0.0f ? 1 : 0; });
        case Id::unsigned_char:
            return store_as<std::uint8_t>(*this, begin, count, from, integer);
        case Id::character:
        case Id::signed_char:
            return store_as<std::int8_t>(*this, begin, count, from, integer);
        case Id::short_integer:
            return store_as<std::int16_t>(*this, begin, count, from, integer);
        case Id::unsigned_short:
            return store_as<std::uint16_t>(*this, begin, count, from, integer);
        case Id::long_long:
            return store_as<std::int64_t>(*this, begin, count, from, to_signed_long);
        case Id::unsigned_long_long:
            return store_as<std::uint64_t>(*this, begin, count, from, to_unsigned_long);
    }
    std::uint16_t piece[kPiece];
    while (count != 0) {
        const std::size_t n = std::min(count, kPiece);
        run_->round(*regions_, begin, n, from, piece);
        store_bytes(begin, n, piece);
        begin += n;
        from += n;
        count -= n;
    }
}

void Operand::store(std::size_t begin, std::size_t count, const std::int32_t* from) const {
    switch (Access::id(type())) {
        case Id::integer:
        case Id::unsigned_integer:
            return store_bytes(begin, count, from);
        case Id::boolean:
            return store_as<std::uint8_t>(*this, begin, count, from, [](std::int32_t v) { return v != 0 ? 1 : 0; });
        case Id::character:
        case Id::signed_char:
        case Id::unsigned_char:
            return store_as<std::uint8_t>(*this, begin, count, from,
                                          [](std::int32_t v) { return static_cast<std::uint8_t>(v); });
        case Id::short_integer:
        case Id::unsigned_short:
            return store_as<std::uint16_t>(*this, begin, count, from,
                                           [](std::int32_t v) { return static_cast<std::uint16_t>(v); });
        case Id::long_long:
        case Id::unsigned_long_long:
            return store_as<std::int64_t>(*this, begin, count, from,
                                          [](std::int32_t v) { return static_cast<std::int64_t>(v); });
        case Id::single:
        case Id::half:
            break;
    }
    float piece[kPiece];
    while (count != 0) {
        const std::size_t n = std::min(count, kPiece);
        std::copy_n(from, n, piece);
        store(begin, n, piece);
        from += n;
        begin += n;
        count -= n;
    }
}

void Operand::load(std::size_t begin, std::size_t count, std::int64_t* to) const {
    const Id id = Access::id(type());
    if (id == Id::long_long || id == Id::unsigned_long_long) return load_bytes(begin, count, to);
    std::int32_t piece[kPiece];
    const bool is_unsigned = id == Id::unsigned_integer;
    while (count != 0) {
        const std::size_t n = std::min(count, kPiece);
        load(begin, n, piece);
        for (std::size_t i = 0; i < n; ++i)
            *to++ = is_unsigned ? std::int64_t{static_cast<std::uint32_t>(piece[i])} : std::int64_t{piece[i]};
        begin += n;
        count -= n;
    }
}

void Operand::store(std::size_t begin, std::size_t count, const std::int64_t* from) const {
    switch (Access::id(type())) {
        case Id::long_long:
        case Id::unsigned_long_long:
            return store_bytes(begin, count, from);
        case Id::boolean:
            return store_as<std::uint8_t>(*this, begin, count, from, [](std::int64_t v) { return v != 0 ? 1 : 0; });
        case Id::single:
        case Id::half:
            break;
        default:
            return store_through<std::int32_t>(*this, begin, count, from);
    }
    store_through<float>(*this, begin, count, from);
}

float Operand::scalar() const {
    float value = 0;
    load(0, 1, &value);
    return value;
}

std::int32_t Operand::integer(std::size_t i) const {
    std::int32_t value = 0;
    load(i, 1, &value);
    return value;
}

void Operand::need_written(std::size_t begin, std::size_t count, const std::string& reader) const {
    run_->state().need_written(*regions_, begin, count, reader);
}

void Operand::copy_marks(std::size_t begin, std::size_t count, const Operand& from, std::size_t source) const {
    run_->state().copy_marks(*regions_, begin, count, *from.regions_, source);
}

void Replica::need_written(const Regions& regions, std::size_t begin, std::size_t count,
                           const std::string& reader) const {
    if (written.empty()) return;
    regions.for_each(begin, count, [&](std::uint32_t variable, std::size_t element) {
        if (written[variable][element] != 0) return;
        throw poplar::application_runtime_error(reader + " reads element " + std::to_string(element) +
                                                " of the variable \"" + graph->variables[variable].name +
                                                "\", which nothing has written");
    });
}

void Replica::mark(const Regions& regions, std::size_t begin, std::size_t count, bool is_written) {
    if (written.empty()) return;
    regions.for_each(begin, count, [&](std::uint32_t variable, std::size_t element) {
        written[variable][element] = is_written ? 1 : 0;
    });
}

void Replica::copy_marks(const Regions& to, std::size_t begin, std::size_t count, const Regions& from,
                         std::size_t source) {
    if (written.empty()) return;
    std::vector<std::uint8_t> marks;
    marks.reserve(count);
    from.for_each(source, count, [&](std::uint32_t v, std::size_t e) { marks.push_back(written[v][e]); });
    std::size_t next = 0;
    to.for_each(begin, count, [&](std::uint32_t v, std::size_t e) { written[v][e] = marks[next++]; });
}

OpRun::OpRun(Replica& replica, std::span<const Regions> reads, std::span<const Regions> writes)
    : replica_(&replica), reads_(reads), writes_(writes) {
    if (!writes.empty() && !writes[0].spans().empty()) control_ = replica.control[writes[0].spans().front().tile];
}

std::uint64_t OpRun::key(unsigned tile) const {
    return tile_key(&replica_->seeds[std::size_t{tile} * kWordsPerTile]);
}

void OpRun::round(const Regions& regions, std::size_t begin, std::size_t count, const float* from, std::uint16_t* to,
                  std::uint64_t salt) {
    const Overflow overflow = control_.overflow();
    bool overflowed = false;
    if (!control_.stochastic) {
        overflowed = to_nearest_halves(from, to, count, overflow);
    } else {
        for (std::size_t end = begin + count; begin < end;) {
            const TileSpan& span = regions.span_of(begin);
            const std::size_t n = std::min(end, span.end) - begin;
            const std::uint64_t drawn = key(span.tile);
            overflowed |= to_stochastic_halves(from, to, n, overflow, salt == 0 ? drawn : mix(drawn, salt), begin);
            begin += n;
            from += n;
            to += n;
        }
    }
    if (overflowed) report(kOverflowed);
}

unsigned OpRun::trapped() const {
    const unsigned watched = (control_.trap_invalid ? kInvalid : 0u) | (control_.trap_division ? kDivision : 0u) |
                             (control_.trap_overflow ? kOverflowed : 0u);
    return mishaps_.load() & watched;
}

void OpRun::watch() const {
    if (control_.trap_invalid || control_.trap_division || control_.trap_overflow) std::feclearexcept(FE_ALL_EXCEPT);
}

void OpRun::note() {
    if (!control_.trap_invalid && !control_.trap_division && !control_.trap_overflow) return;
    const int raised = std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    report(((raised & FE_INVALID) != 0 ? kInvalid : 0u) | ((raised & FE_DIVBYZERO) != 0 ? kDivision : 0u) |
           ((raised & FE_OVERFLOW) != 0 ? kOverflowed : 0u));
}

}  // namespace ipu_emulator
