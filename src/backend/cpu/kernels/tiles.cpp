#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 wrongly warns of the undefined operands in its own unmasked intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include "backend/cpu/kernels/tiles.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <utility>

#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/tile_blocks.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/processor.h"

namespace cnntrain::cpu {
namespace {

constexpr std::int64_t kLine = 64;

/// Requests the operating system's permission to use tiles.
bool ask_for_tiles() {
    constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
    return this_processor().amx_bf16 && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

Operand left_operand(const TileProduct& product, const LeftOperand& x) {
    if (x.in_panels) return {packed_rows(x.data, product.inner / kStep<BFloat16>)};
    return in_rows(x.data, product.inner * static_cast<std::int64_t>(sizeof(BFloat16)));
}
Operand right_operand(const TileProduct& product, const BFloat16* w) {
    return {packed_columns(w, product.inner / kStep<BFloat16>)};
}

constexpr auto kFloatBytes = static_cast<std::int64_t>(sizeof(float));

Operand left_operand(const TileProduct& product, const FloatLeftOperand& x) {
    if (x.is_turned) return in_inner_rows(Operand::Order::turned_rows, x.data, product.rows * kFloatBytes);
    return in_rows(x.data, product.inner * kFloatBytes);
}
Operand right_operand(const TileProduct& product, const float* w) {
    return in_inner_rows(Operand::Order::columns, w, product.columns * kFloatBytes);
}

/// Part `number` of `parts` of the 32 lines that a block has per step.
Lines part_of(const Tiles& tiles, std::int64_t apart, std::int64_t number, std::int64_t parts) {
    const std::int64_t count = ceil_div(kTileBlock, parts);
    const std::int64_t first = number * count;
    if (tiles.at == nullptr || number < 0 || first >= kTileBlock) return {};
    return {tiles.at + first * apart, count, apart, tiles.step};
}

/// A range of blocks of 32, or of steps.
struct Range {
    std::int64_t begin = 0, end = 0;

    std::int64_t size() const { return end - begin; }
    Range part(std::int64_t number, std::int64_t parts) const {
        return {begin + size() * number / parts, begin + size() * (number + 1) / parts};
    }
    Range piece(std::int64_t from, std::int64_t most) const { return {from, std::min(end, from + most)}; }
};

/// A unit of work of one thread: ranges of rows, columns and steps.
struct Turn {
    Range rows, columns, slice;

    Window left() const { return {rows.begin, slice.begin, rows.size(), slice.size()}; }
};

/// Operands, sizes and result that all parts of one product share.
template <typename Result> struct Plan {
    Operand left, right;
    std::int64_t steps = 0;        // of the inner dimension
    std::int64_t slice = 0;        // steps per turn
    std::int64_t left_blocks = 0;  // blocks of rows per turn
    std::int64_t sum_blocks = 0;   // blocks of columns per turn
    Result result;                 // of the first block

    Range all_steps() const { return {0, steps}; }
    bool is_one_slice() const { return slice == steps; }
    Result finished(const float* sums, float* lanes, std::int64_t row, std::int64_t column) const {
        Result block = result;
        block.begin(sums, lanes, row, column);
        return block;
    }
};

/// Bytes of a chunk of the right operand.
template <typename Unit> constexpr std::int64_t right_bytes() {
    return Unit::kChunk * kStepBytes;
}
/// Bytes for a thread's copies of an operand: two buffers if copies are made during multiplication.
template <typename Unit> constexpr std::int64_t left_places() {
    return (Unit::kCopiesAside ? 2 : 1) * Unit::kWholeLeftBytes;
}
template <typename Unit> constexpr std::int64_t right_places() {
    return Unit::kCopiesAside ? 2 * right_bytes<Unit>() : 0;
}

/// Scratch floats per thread.
template <typename Unit> constexpr std::int64_t part_floats() {
    return kBlockFloats + kHalf + (Unit::kSumBytes + left_places<Unit>() + right_places<Unit>()) / kFloatBytes;
}

/// One thread's part of a product.
template <typename Unit, typename Result> class Part {
public:
    Part(const Plan<Result>& plan, float* scratch, Range rows, Range columns)
        : plan_(plan),
          rows_(rows),
          columns_(columns),
          complete_(scratch),
          lanes_(complete_ + kBlockFloats),
          sums_(lanes_ + kHalf),
          left_(reinterpret_cast<std::byte*>(sums_ + Unit::kSumBytes / kFloatBytes)),
          left_copies_(left_, Unit::kWholeLeftBytes),
          right_copies_(left_ + left_places<Unit>(), right_bytes<Unit>()) {}

    CNNTRAIN_TILES void run() {
        if (rows_.size() == 0 || columns_.size() == 0) return;
        Unit::begin();
        for (std::optional<Turn> turn = first_turn(columns_.begin); turn;) {
            const std::optional<Turn> next = turn_after(*turn);
            multiply_turn(*turn, next);
            turn = next;
        }
        finish_all_rows(finished_);
        if (plan_.result.streams) _mm_sfence();
        Unit::end();
    }

private:
    Turn first_turn(std::int64_t column) const {
        return {rows_from(rows_.begin), columns_.piece(column, plan_.sum_blocks), slice_from(0)};
    }
    /// Advances through slices first, then rows, then columns.
    std::optional<Turn> turn_after(const Turn& turn) const {
        if (turn.slice.end < plan_.steps) return Turn{turn.rows, turn.columns, slice_from(turn.slice.end)};
        if (turn.rows.end < rows_.end) return Turn{rows_from(turn.rows.end), turn.columns, slice_from(0)};
        if (turn.columns.end < columns_.end) return first_turn(turn.columns.end);
        return std::nullopt;
    }
    Range rows_from(std::int64_t row) const { return rows_.piece(row, plan_.left_blocks); }
    Range slice_from(std::int64_t step) const { return plan_.all_steps().piece(step, plan_.slice); }

    /// Preparation of later work: lines to prefetch (lines of the left operand in parts, one part with each of the last
    /// columns), and copies to continue.
    struct Ahead {
        Tiles right, left;
        std::int64_t part = 0, parts = 1;
        BlockCopy* right_copy = nullptr;
        BlockCopy* left_copy = nullptr;
    };

    /// Multiplies [rows,slice] of the left operand by [slice,columns] of the right operand.
    void multiply_turn(const Turn& turn, const std::optional<Turn>& next) {
        const Tiles left = multiplied_left(turn);
        Ahead ahead;
        if (next) look_ahead_left(*next, ahead);
        const Tiles next_left = ahead.left;
        const auto& [rows, columns, slice] = turn;
        ahead.parts = std::min(kTileBlock, columns.size());
        for (std::int64_t column = columns.begin; column < columns.end; ++column) {
            const std::int64_t place = plan_.is_one_slice() ? 0 : column - columns.begin;
            float* const sums = sums_ + place * rows.size() * kBlockFloats;
            ahead.part = column - (columns.end - ahead.parts);
            for (std::int64_t step = slice.begin; step < slice.end; step += Unit::kChunk) {
                const Range steps = slice.piece(step, Unit::kChunk);
                const std::int64_t offset = step - slice.begin;
                const Tiles right = multiplied_right(chunk(column, steps));
                look_ahead_right(right_after(column, steps, turn, next), ahead);
                ahead.left = next_left.from(0, offset);
                multiply_chunk(left.from(0, offset), right, rows, column, steps, sums, ahead);
            }
        }
    }

    static Window chunk(std::int64_t column, Range steps) { return {column, steps.begin, 1, steps.size()}; }

    /// The chunk of the right operand that is multiplied after this one.
    std::optional<Window> right_after(std::int64_t column, Range steps, const Turn& turn,
                                      const std::optional<Turn>& next) const {
        const auto first = [](std::int64_t of_column, Range slice) {
            return chunk(of_column, slice.piece(slice.begin, Unit::kChunk));
        };
        if (steps.end < turn.slice.end) return chunk(column, turn.slice.piece(steps.end, Unit::kChunk));
        if (column + 1 < turn.columns.end) return first(column + 1, turn.slice);
        if (next) return first(next->columns.begin, next->slice);
        return std::nullopt;
    }

    void look_ahead_right(const std::optional<Window>& next, Ahead& ahead) {
        ahead.right = {};
        ahead.right_copy = nullptr;
        if (!next) return;
        if (plan_.right.order == Operand::Order::packed) {
            ahead.right = plan_.right.tiles.from(next->block, next->step);
        } else {
            ahead.right_copy = right_copies_.begin(plan_.right, *next);
        }
    }

    /// Prepares the left operand of the next turn: starts copies, or finds tiles to prefetch. The rows of a single
    /// slice are read in memory order, which the processor prefetches itself.
    void look_ahead_left(const Turn& next, Ahead& ahead) {
        if (Unit::kCopiesAside && copies_left()) {
            ahead.left_copy = left_copies_.begin(plan_.left, next.left());
        } else if (!plan_.is_one_slice()) {
            ahead.left = plan_.left.tiles.from(next.rows.begin, next.slice.begin);
        }
    }

    /// Multiplies all rows by one block of columns. Meanwhile, writes the previous block to the result.
    CNNTRAIN_TILES void multiply_chunk(const Tiles& left, const Tiles& right, Range rows, std::int64_t column,
                                       Range steps, float* sums, const Ahead& ahead) {
        const bool completes = steps.end == plan_.steps;
        Result finished = finished_;  // a local copy stays in registers; a member would be stored for every block
        for (std::int64_t row = 0; row < rows.size(); ++row) {
            float* const block = sums + row * kBlockFloats;
            float* const result = completes ? complete_ : block;
            Unit::template multiply_block<Result>(
                left.from(row, 0), right, steps.size(), steps.begin > 0 ? block : nullptr, result,
                {part_of(ahead.right, kLine, row, rows.size()),
                 part_of(ahead.left.from(row, 0), ahead.left.row, ahead.part, ahead.parts), finished, ahead.right_copy,
                 ahead.left_copy});
            finished = completes ? plan_.finished(result, lanes_, rows.begin + row, column) : Result{};
        }
        finished_ = finished;
    }

    Tiles multiplied_right(const Window& chunk) {
        if (plan_.right.order == Operand::Order::packed) return plan_.right.tiles.from(chunk.block, chunk.step);
        return right_copies_.take(plan_.right, chunk);
    }

    /// Copying rows pays off if the copy is used for all columns, or if the distance between rows is a multiple of a
    /// large power of two, so that rows evict each other from the cache.
    bool copies_left() const {
        constexpr std::int64_t kApart = 4096;
        if (plan_.left.order != Operand::Order::rows) return plan_.left.order == Operand::Order::turned_rows;
        return (Unit::kCopiesLeft && plan_.is_one_slice()) || plan_.left.pitch % kApart == 0;
    }

    Tiles multiplied_left(const Turn& turn) {
        const Tiles from = plan_.left.tiles.from(turn.rows.begin, turn.slice.begin);
        if (!copies_left()) return from;
        if (Unit::kCopiesAside) return left_copies_.take(plan_.left, turn.left());
        const Tiles to = packed_rows(left_, turn.slice.size());
        for (std::int64_t block = 0; block < turn.rows.size(); ++block)
            copy_left_block(from.from(block, 0), turn.slice.size(), left_ + block * to.block);
        return to;
    }

    CNNTRAIN_TILES static void copy_left_block(const Tiles& from, std::int64_t steps, std::byte* to) {
        for (std::int64_t row = 0; row < kTileBlock; ++row) {
            for (std::int64_t step = 0; step < steps; ++step) {
                _mm512_storeu_si512(to + step * kStepBytes + row * kRowBytes,
                                    _mm512_loadu_si512(from.at + row * from.row + step * kRowBytes));
            }
        }
    }

    const Plan<Result>& plan_;
    Range rows_, columns_;
    float* complete_;  // one block, which stays in the first-level cache until it is written to the result
    float* lanes_;     // partial sums of its squares
    float* sums_;
    std::byte* left_;  // buffers for copies of the left operand, followed by the buffers of the right operand
    Copies left_copies_, right_copies_;
    Result finished_;
};

/// Number of parts of the result's rows and columns.
struct Grid {
    std::int64_t rows = 1, columns = 1;
};

/// Minimises the size of the largest part, then makes it as square as possible.
Grid grid_of(std::int64_t rows, std::int64_t columns, std::int64_t threads) {
    const auto cost = [&](const Grid& grid) {
        const std::int64_t height = ceil_div(rows, grid.rows);
        const std::int64_t width = ceil_div(columns, grid.columns);
        return std::pair(height * width, height + width);
    };
    Grid best{1, threads};
    for (std::int64_t i = 2; i <= threads; ++i) {
        if (threads % i == 0 && cost({i, threads / i}) < cost(best)) best = {i, threads / i};
    }
    return best;
}

/// The size of approximately equal pieces of at most `most`.
std::int64_t equal_pieces(std::int64_t all, std::int64_t most) {
    const std::int64_t pieces = ceil_div(all, most);
    return ceil_div(all, pieces);
}

template <typename Unit, typename Result>
Plan<Result> plan_of(const TileProduct& product, std::int64_t steps, const Grid& grid, const Result& result) {
    constexpr std::int64_t kMostSums = Unit::kSumBytes / (kBlockFloats * kFloatBytes);
    const std::int64_t rows = ceil_div(product.rows / kTileBlock, grid.rows);
    Plan<Result> plan;
    plan.steps = steps;
    if (steps <= Unit::kWhole) {
        plan.slice = steps;
        plan.left_blocks = equal_pieces(rows, std::min(kMostSums, Unit::kWholeLeftBytes / (steps * kStepBytes)));
        plan.sum_blocks = product.columns / kTileBlock;
    } else {
        plan.slice = Unit::kSlice;
        plan.left_blocks = equal_pieces(rows, Unit::kLeftBytes / (Unit::kSlice * kStepBytes));
        plan.sum_blocks = kMostSums / plan.left_blocks;
    }
    plan.result = result;
    plan.result.columns = product.columns;
    plan.result.streams =
        goes_past_cache(product.rows * product.columns * static_cast<std::int64_t>(sizeof(*result.y)), result.y);
    return plan;
}

template <typename Unit, typename T, typename Result> void multiply_by(const TileProduct& product, const Operand& x,
                                                                       const Operand& w, const Result& result,
                                                                       std::span<float> scratch) {
    constexpr std::int64_t kFloats = part_floats<Unit>();
    const Range rows{0, product.rows / kTileBlock};
    const Range columns{0, product.columns / kTileBlock};
    const auto room = static_cast<int>(static_cast<std::int64_t>(scratch.size()) / kFloats);
    const Grid grid = grid_of(rows.size(), columns.size(), std::clamp(omp_get_max_threads(), 1, room));
    Plan<Result> plan = plan_of<Unit>(product, product.inner / kStep<T>, grid, result);
    plan.left = x;
    plan.right = w;
    parallel_tasks(grid.rows * grid.columns, [&](std::int64_t task) {
        Part<Unit, Result>(plan, scratch.data() + task * kFloats, rows.part(task / grid.columns, grid.rows),
                           columns.part(task % grid.columns, grid.columns))
            .run();
    });
}

/// Multiplies bfloat16 operands.
template <typename To> void multiply(TileUnit unit, const TileProduct& product, const LeftOperand& x, const BFloat16* w,
                                     const Finished<To>& result, std::span<float> scratch) {
    const Operand left = left_operand(product, x);
    const Operand right = right_operand(product, w);
    if (unit == TileUnit::amx) return multiply_by<AmxUnit, BFloat16>(product, left, right, result, scratch);
    CNNTRAIN_CHECK(unit == TileUnit::dot_products, "this unit does not multiply bfloat16");
    multiply_by<DotUnit, BFloat16>(product, left, right, result, scratch);
}

Finished<float> finished(const TileResult& y, const float* bias) {
    Finished<float> result;
    result.bias = bias;
    result.y = y.data;
    result.adds = y.adds;
    result.squares = y.squares;
    return result;
}

}  // namespace

bool has(TileUnit unit) {
    static const bool has_amx = ask_for_tiles();
    static const Processor processor = this_processor();
    switch (unit) {
        case TileUnit::amx:
            return has_amx;
        case TileUnit::dot_products:
            return processor.avx512_bf16;
        case TileUnit::multiply_adds:
            return processor.avx512;
        case TileUnit::byte_products:
            return processor.avx512_vnni;
    }
    return false;
}

std::int64_t tile_scratch_floats(TileUnit unit, int threads) {
    switch (unit) {
        case TileUnit::amx:
            return threads * part_floats<AmxUnit>();
        case TileUnit::dot_products:
            return threads * part_floats<DotUnit>();
        case TileUnit::multiply_adds:
            return threads * part_floats<FloatUnit>();
        case TileUnit::byte_products:
            return threads * part_floats<ByteUnit>();
    }
    return 0;
}

void tile_product(TileUnit unit, const TileProduct& product, const LeftOperand& x, const BFloat16* w, const float* bias,
                  BFloat16* y, std::span<float> scratch) {
    Finished<BFloat16> result;
    result.bias = bias;
    result.y = y;
    multiply(unit, product, x, w, result, scratch);
}

void tile_product(TileUnit unit, const TileProduct& product, const LeftOperand& x, const BFloat16* w,
                  const TileResult& y, std::span<float> scratch) {
    multiply(unit, product, x, w, finished(y, nullptr), scratch);
}

void tile_product(const TileProduct& product, const FloatLeftOperand& x, const float* w, const float* bias,
                  const TileResult& y, std::span<float> scratch) {
    multiply_by<FloatUnit, float>(product, left_operand(product, x), right_operand(product, w), finished(y, bias),
                                  scratch);
}

template <typename To> void tile_product(const TileProduct& product, const std::uint8_t* x, const std::int8_t* w,
                                         const Rescaling& how, To* y, std::span<float> scratch) {
    Rescaled<To> result;
    result.how = how;
    result.y = y;
    const Operand left = in_rows(x, product.inner);
    const Operand right{packed_columns(w, product.inner / kStep<std::uint8_t>)};
    multiply_by<ByteUnit, std::uint8_t>(product, left, right, result, scratch);
}

template void tile_product(const TileProduct&, const std::uint8_t*, const std::int8_t*, const Rescaling&, float*,
                           std::span<float>);
template void tile_product(const TileProduct&, const std::uint8_t*, const std::int8_t*, const Rescaling&, BFloat16*,
                           std::span<float>);

void copy_to_byte_panels(std::int64_t rows, std::int64_t columns, const std::int8_t* m, std::int8_t* panels) {
    constexpr std::int64_t kQuad = 4;  // rows whose elements are adjacent
    parallel_tasks(columns / kTileBlock, [&](std::int64_t panel) {
        const std::int8_t* from = m + panel * kTileBlock;
        std::int8_t* to = panels + panel * kTileBlock * rows;
        for (std::int64_t row = 0; row < rows; row += kQuad, from += kQuad * columns) {
            for (std::int64_t column = 0; column < kTileBlock; ++column) {
                for (std::int64_t i = 0; i < kQuad; ++i)
                    *to++ = from[i * columns + column];
            }
        }
    });
}

}  // namespace cnntrain::cpu
