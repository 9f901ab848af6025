#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 takes the undefined operand of its own unmasked intrinsics for a mistake.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include "backend/cpu/kernels/tiles.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/tile_blocks.h"
#include "cnntrain/base/processor.h"

namespace cnntrain::cpu {
namespace {

constexpr std::int64_t kStep = 32;   // elements of the inner axis in a tile
constexpr std::int64_t kWhole = 32;  // steps of an inner axis that is not cut into slices
constexpr std::int64_t kLine = 64;

/// The operating system gives tiles to a process that asks.
bool ask_for_tiles() {
    constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
    return this_processor().amx_bf16 && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

Tiles left_tiles(const TileProduct& product, const LeftOperand& x) {
    const auto* const at = reinterpret_cast<const std::byte*>(x.data);
    const std::int64_t row = product.inner * 2;
    if (x.in_panels) return {at, kRowBytes, kTileBytes, kStepBytes, kTileBlock * row};
    return {at, row, kHalf * row, kRowBytes, kTileBlock * row};
}

Tiles right_tiles(const TileProduct& product, const BFloat16* w) {
    const auto* const at = reinterpret_cast<const std::byte*>(w);
    return {at, 2 * kRowBytes, kRowBytes, kStepBytes, product.inner / kStep * kStepBytes};
}

/// Part `number` of `parts` of the 32 lines that a block has for each step.
Lines part_of(const Tiles& tiles, std::int64_t apart, std::int64_t number, std::int64_t parts) {
    const std::int64_t count = (kTileBlock + parts - 1) / parts;
    const std::int64_t first = number * count;
    if (tiles.at == nullptr || number < 0 || first >= kTileBlock) return {};
    return {tiles.at + first * apart, count, apart, tiles.step};
}

/// Blocks of 32, or steps.
struct Range {
    std::int64_t begin = 0, end = 0;

    std::int64_t size() const { return end - begin; }
    Range part(std::int64_t number, std::int64_t parts) const {
        return {begin + size() * number / parts, begin + size() * (number + 1) / parts};
    }
    Range piece(std::int64_t from, std::int64_t most) const { return {from, std::min(end, from + most)}; }
};

/// What one product does everywhere.
template <typename To> struct Plan {
    Tiles left, right;
    std::int64_t steps = 0;        // of the inner axis
    std::int64_t left_blocks = 0;  // blocks of rows at a time
    std::int64_t sum_blocks = 0;   // blocks of columns at a time
    Finished<To> result;           // of the first block

    Range all_steps() const { return {0, steps}; }
    bool is_one_slice() const { return steps <= kWhole; }
    Finished<To> finished(const float* sums, float* lanes, std::int64_t row, std::int64_t column) const {
        Finished<To> block = result;
        block.sums = sums;
        block.lanes = lanes;
        block.y += (row * result.columns + column) * kTileBlock;
        if (block.squares != nullptr) block.squares += row * (result.columns / kTileBlock) + column;
        if (block.bias != nullptr) block.bias += column * kTileBlock;
        return block;
    }
};

/// Floats that a thread needs.
template <typename Unit> constexpr std::int64_t part_floats() {
    return kBlockFloats + kHalf + (Unit::kSumBytes + Unit::kWholeLeftBytes) / static_cast<std::int64_t>(sizeof(float));
}

/// One thread's part of a product.
template <typename Unit, typename To> class Part {
public:
    Part(const Plan<To>& plan, float* scratch)
        : plan_(plan),
          complete_(scratch),
          lanes_(complete_ + kBlockFloats),
          sums_(lanes_ + kHalf),
          left_(reinterpret_cast<std::byte*>(sums_ + Unit::kSumBytes / sizeof(float))) {}

    CNNTRAIN_TILES void run(Range rows, Range columns) {
        Unit::begin();
        for (std::int64_t column = columns.begin; column < columns.end; column += plan_.sum_blocks) {
            for (std::int64_t row = rows.begin; row < rows.end; row += plan_.left_blocks) {
                for (std::int64_t step = 0; step < plan_.steps; step += slice()) {
                    multiply_slice(rows.piece(row, plan_.left_blocks), columns.piece(column, plan_.sum_blocks),
                                   plan_.all_steps().piece(step, slice()), left_after(row, step, rows.end));
                }
            }
        }
        finish_all_rows(finished_);
        if (plan_.result.streams) _mm_sfence();
        Unit::end();
    }

private:
    std::int64_t slice() const { return plan_.is_one_slice() ? plan_.steps : Unit::kSlice; }

    /// What is read of the left operand after this slice of the blocks from `row` on. A whole block is read in the order of its memory,
    /// which the processor foresees itself.
    Tiles left_after(std::int64_t row, std::int64_t step, std::int64_t rows_end) const {
        if (plan_.is_one_slice()) return {};
        if (step + Unit::kSlice < plan_.steps) return plan_.left.from(row, step + Unit::kSlice);
        if (row + plan_.left_blocks < rows_end) return plan_.left.from(row + plan_.left_blocks, 0);
        return {};
    }

    /// [rows,slice] of the left operand by [slice,columns] of the right one.
    void multiply_slice(Range rows, Range columns, Range slice, const Tiles& next_left) {
        const Tiles left = cached_left(rows, slice);
        const std::int64_t parts = std::min(kTileBlock, columns.size());
        for (std::int64_t column = columns.begin; column < columns.end; ++column) {
            const std::int64_t place = plan_.is_one_slice() ? 0 : column - columns.begin;
            float* const sums = sums_ + place * rows.size() * kBlockFloats;
            for (std::int64_t step = slice.begin; step < slice.end; step += Unit::kChunk) {
                const Range steps = slice.piece(step, Unit::kChunk);
                const std::int64_t offset = step - slice.begin;
                const Ahead ahead{right_after(column, steps, columns, slice), next_left.from(0, offset),
                                  column - (columns.end - parts), parts};
                multiply_chunk(left.from(0, offset), rows, column, steps, sums, ahead);
            }
        }
    }

    Tiles right_after(std::int64_t column, Range steps, Range columns, Range slice) const {
        if (steps.end < slice.end) return plan_.right.from(column, steps.end);
        if (column + 1 < columns.end) return plan_.right.from(column + 1, slice.begin);
        return {};
    }

    /// Of what is read after a chunk, and after a slice: that in parts, one for each of its last columns.
    struct Ahead {
        Tiles right, left;
        std::int64_t part = 0, parts = 1;
    };

    /// All rows by one block of columns. Meanwhile the next tiles come into the cache, and the last block goes into the result.
    CNNTRAIN_TILES void multiply_chunk(const Tiles& left, Range rows, std::int64_t column, Range steps, float* sums,
                                       const Ahead& ahead) {
        const Tiles right = plan_.right.from(column, steps.begin);
        const bool completes = steps.end == plan_.steps;
        Finished<To> finished = finished_;  // a member would go through memory for every block
        for (std::int64_t row = 0; row < rows.size(); ++row) {
            float* const block = sums + row * kBlockFloats;
            float* const result = completes ? complete_ : block;
            Unit::template multiply_block<To>(
                left.from(row, 0), right, steps.size(), steps.begin > 0 ? block : nullptr, result,
                {part_of(ahead.right, kLine, row, rows.size()),
                 part_of(ahead.left.from(row, 0), ahead.left.row, ahead.part, ahead.parts), finished});
            finished = completes ? plan_.finished(result, lanes_, rows.begin + row, column) : Finished<To>{};
        }
        finished_ = finished;
    }

    /// Blocks of rows as tiles in a row. A copy pays where it is used for all columns, and where rows are apart by a multiple of a
    /// power of two so large that they push each other out of the cache.
    Tiles cached_left(Range rows, Range slice) const {
        constexpr std::int64_t kApart = 4096;
        const Tiles from = plan_.left.from(rows.begin, slice.begin);
        const bool pays = (Unit::kCopiesLeft && plan_.is_one_slice()) || from.row % kApart == 0;
        if (from.row == kRowBytes || !pays) return from;
        const Tiles to{left_, kRowBytes, kTileBytes, kStepBytes, slice.size() * kStepBytes};
        for (std::int64_t block = 0; block < rows.size(); ++block)
            copy_left_block(from.from(block, 0), slice.size(), left_ + block * to.block);
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

    const Plan<To>& plan_;
    float* complete_;  // one block, which stays in the first-level cache until it has gone into the result
    float* lanes_;     // of its squares
    float* sums_;
    std::byte* left_;
    Finished<To> finished_;
};

/// Parts of the result's rows and columns.
struct Grid {
    std::int64_t rows = 1, columns = 1;
};

/// The largest part is as small as possible, then as square as possible.
Grid grid_of(std::int64_t rows, std::int64_t columns, std::int64_t threads) {
    const auto up = [](std::int64_t all, std::int64_t parts) { return (all + parts - 1) / parts; };
    const auto cost = [&](const Grid& grid) {
        const std::int64_t height = up(rows, grid.rows);
        const std::int64_t width = up(columns, grid.columns);
        return std::pair(height * width, height + width);
    };
    Grid best{1, threads};
    for (std::int64_t i = 2; i <= threads; ++i) {
        if (threads % i == 0 && cost({i, threads / i}) < cost(best)) best = {i, threads / i};
    }
    return best;
}

template <typename Unit, typename To>
Plan<To> plan_of(const TileProduct& product, const LeftOperand& x, const BFloat16* w, Finished<To> result) {
    constexpr std::int64_t kMostSums = Unit::kSumBytes / (kBlockFloats * static_cast<std::int64_t>(sizeof(float)));
    Plan<To> plan;
    plan.left = left_tiles(product, x);
    plan.right = right_tiles(product, w);
    plan.steps = product.inner / kStep;
    if (plan.is_one_slice()) {
        plan.left_blocks = std::min(kMostSums, Unit::kWholeLeftBytes / (plan.steps * kStepBytes));
        plan.sum_blocks = product.columns / kTileBlock;
    } else {
        plan.left_blocks = Unit::kLeftBytes / (Unit::kSlice * kStepBytes);
        plan.sum_blocks = kMostSums / plan.left_blocks;
    }
    plan.result = result;
    plan.result.columns = product.columns;
    plan.result.streams =
        goes_past_cache(product.rows * product.columns * static_cast<std::int64_t>(sizeof(To)), result.y);
    return plan;
}

template <typename Unit, typename To> void multiply_by(const TileProduct& product, const LeftOperand& x,
                                                       const BFloat16* w, const Finished<To>& result,
                                                       std::span<float> scratch) {
    constexpr std::int64_t kFloats = part_floats<Unit>();
    const Plan<To> plan = plan_of<Unit>(product, x, w, result);
    const Range rows{0, product.rows / kTileBlock};
    const Range columns{0, product.columns / kTileBlock};
    const auto room = static_cast<int>(static_cast<std::int64_t>(scratch.size()) / kFloats);
    const Grid grid = grid_of(rows.size(), columns.size(), std::clamp(omp_get_max_threads(), 1, room));
    parallel_tasks(grid.rows * grid.columns, [&](std::int64_t task) {
        Part<Unit, To>(plan, scratch.data() + task * kFloats)
            .run(rows.part(task / grid.columns, grid.rows), columns.part(task % grid.columns, grid.columns));
    });
}

template <typename To> void multiply(TileUnit unit, const TileProduct& product, const LeftOperand& x, const BFloat16* w,
                                     const Finished<To>& result, std::span<float> scratch) {
    switch (unit) {
        case TileUnit::amx:
            return multiply_by<AmxUnit>(product, x, w, result, scratch);
        case TileUnit::dot_products:
            return multiply_by<DotUnit>(product, x, w, result, scratch);
    }
}

}  // namespace

bool has(TileUnit unit) {
    static const bool has_amx = ask_for_tiles();
    static const bool has_dot_products = this_processor().avx512_bf16;
    return unit == TileUnit::amx ? has_amx : has_dot_products;
}

std::int64_t tile_scratch_floats(TileUnit unit, int threads) {
    return threads * (unit == TileUnit::amx ? part_floats<AmxUnit>() : part_floats<DotUnit>());
}

void tile_product(TileUnit unit, const TileProduct& product, const LeftOperand& x, const BFloat16* w, const float* bias,
                  BFloat16* y, std::span<float> scratch) {
    multiply(unit, product, x, w, Finished<BFloat16>{.bias = bias, .y = y}, scratch);
}

void tile_product(TileUnit unit, const TileProduct& product, const LeftOperand& x, const BFloat16* w,
                  const TileResult& y, std::span<float> scratch) {
    multiply(unit, product, x, w, Finished<float>{.y = y.data, .adds = y.adds, .squares = y.squares}, scratch);
}

}  // namespace cnntrain::cpu
