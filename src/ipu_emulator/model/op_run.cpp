#include "ipu_emulator/model/op_run.h"

#include <algorithm>
#include <array>
#include <cfenv>
#include <type_traits>

#include <poplar/exceptions.hpp>

#include "ipu_emulator/model/view.h"
#include "ipu_emulator/numerics/random.h"

namespace ipu_emulator {
namespace {

constexpr std::size_t kStackElements = 256;  // elements that pass through the stack

thread_local Scratch thread_scratch;

/// The largest size that any thread has needed of each block of its scratch memory.
constexpr std::size_t kBlocks = 32;
std::array<std::atomic<std::size_t>, kBlocks> needs{};
std::atomic<bool> scratch_grew{false};
std::atomic<unsigned long> spread_to{0};  // host_pool_changes() of the pool whose threads have it

/// Calls body(begin, n, offset) for pieces of at most kStackElements of the elements [begin, begin + count), `offset`
/// from the first one.
template <class Body> void in_pieces(std::size_t begin, std::size_t count, Body body) {
    for (std::size_t offset = 0; offset < count; offset += kStackElements)
        body(begin + offset, std::min(kStackElements, count - offset), offset);
}

/// True if elements of T are loaded and stored as values of the type Value without changing their bits.
template <class T, class Value> constexpr bool same_bits() {
    return std::is_same_v<T, Value> ||
           (std::is_integral_v<T> && std::is_integral_v<Value> && sizeof(T) == sizeof(Value));
}

// Out of line, lest every load and store begins with a frame for the pieces of all types.

template <class T, class Value>
[[gnu::noinline]] void load_pieces(const Operand& operand, std::size_t begin, std::size_t count, Value* to) {
    in_pieces(begin, count, [&](std::size_t first, std::size_t n, std::size_t offset) {
        T piece[kStackElements];
        operand.load_bytes(first, n, piece);
        if constexpr (std::is_same_v<T, Half> && std::is_same_v<Value, float>) {
            to_floats(&piece->bits, to + offset, n);
        } else {
            std::transform(piece, piece + n, to + offset, converted<Value, T>);
        }
    });
}

template <class T, class Value>
[[gnu::noinline]] void store_pieces(const Operand& operand, std::size_t begin, std::size_t count, const Value* from) {
    in_pieces(begin, count, [&](std::size_t first, std::size_t n, std::size_t offset) {
        T piece[kStackElements];
        std::transform(from + offset, from + offset + n, piece, converted<T, Value>);
        operand.store_bytes(first, n, piece);
    });
}

template <class Value> [[gnu::noinline]] void store_halves(OpRun& run, const Regions& regions, std::size_t begin,
                                                           std::size_t count, const Value* from) {
    in_pieces(begin, count, [&](std::size_t first, std::size_t n, std::size_t offset) {
        std::uint16_t piece[kStackElements];
        if constexpr (std::is_same_v<Value, float>) {
            run.round(regions, first, n, from + offset, piece);
        } else {
            float floats[kStackElements];
            std::transform(from + offset, from + offset + n, floats, converted<float, Value>);
            run.round(regions, first, n, floats, piece);
        }
        regions.scatter(run.bases(), first, n, piece);
    });
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
    // A new thread that took no part yet has noted nothing.
    const unsigned long pool = host_pool_changes();
    if (!scratch_grew.exchange(false) && spread_to.exchange(pool) == pool) return;
    spread_to = pool;
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

template <class Value> void Operand::load_as(std::size_t begin, std::size_t count, Value* to) const {
    with_element(Access::id(type()), [&](auto element) {
        using T = decltype(element);
        if constexpr (same_bits<T, Value>()) {
            load_bytes(begin, count, to);
        } else {
            load_pieces<T>(*this, begin, count, to);
        }
    });
}

template <class Value> void Operand::store_as(std::size_t begin, std::size_t count, const Value* from) const {
    with_element(Access::id(type()), [&](auto element) {
        using T = decltype(element);
        if constexpr (same_bits<T, Value>()) {
            store_bytes(begin, count, from);
        } else if constexpr (std::is_same_v<T, Half>) {
            store_halves(*run_, *regions_, begin, count, from);
        } else {
            store_pieces<T>(*this, begin, count, from);
        }
    });
}

void Operand::load(std::size_t begin, std::size_t count, float* to) const {
    const std::byte* memory = type() == poplar::HALF ? contiguous() : nullptr;
    if (memory != nullptr) return to_floats(reinterpret_cast<const std::uint16_t*>(memory) + begin, to, count);
    load_as(begin, count, to);
}

void Operand::load(std::size_t begin, std::size_t count, std::int32_t* to) const {
    load_as(begin, count, to);
}

void Operand::load(std::size_t begin, std::size_t count, std::int64_t* to) const {
    load_as(begin, count, to);
}

void Operand::store(std::size_t begin, std::size_t count, const float* from) const {
    store_as(begin, count, from);
}

void Operand::store(std::size_t begin, std::size_t count, const std::int32_t* from) const {
    store_as(begin, count, from);
}

void Operand::store(std::size_t begin, std::size_t count, const std::int64_t* from) const {
    store_as(begin, count, from);
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

void Replica::mark(const Regions& regions, bool is_written) {
    if (written.empty()) return;
    regions.for_each(0, regions.count(), [&](std::uint32_t variable, std::size_t element) {
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
    return mishaps_.load() & control_.traps;
}

void OpRun::watch() const {
    if (control_.traps != 0) std::feclearexcept(FE_ALL_EXCEPT);
}

void OpRun::note() {
    if (control_.traps == 0) return;
    const int raised = std::fetestexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
    report(((raised & FE_INVALID) != 0 ? kInvalid : 0u) | ((raised & FE_DIVBYZERO) != 0 ? kDivision : 0u) |
           ((raised & FE_OVERFLOW) != 0 ? kOverflowed : 0u));
}

}  // namespace ipu_emulator
