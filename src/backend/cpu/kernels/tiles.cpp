#include "backend/cpu/kernels/tiles.h"

#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>

#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/tile_target.h"
#include "cnntrain/base/processor.h"

namespace cnntrain::cpu {
namespace {

constexpr std::int64_t kHalf = kTileBlock / 2;
constexpr std::int64_t kStep = 32;      // elements of the inner axis in a tile
constexpr std::int64_t kChunk = 8;      // steps whose right tiles stay in the first-level cache while left tiles pass
constexpr std::int64_t kWhole = 32;     // steps of an inner axis that is not cut into slices
constexpr std::int64_t kSlice = 16;     // steps whose left tiles stay in the second-level cache while right tiles pass
constexpr std::int64_t kRowBytes = 64;  // of a tile
constexpr std::int64_t kTileBytes = 16 * kRowBytes;
constexpr std::int64_t kStepBytes = 2 * kTileBytes;  // two tiles side by side
constexpr std::int64_t kLine = 64;
constexpr std::int64_t kBlockFloats = kTileBlock * kTileBlock;
// In the second-level cache: left tiles of a whole inner axis; or those of a slice, while those of the next one come; and sums.
constexpr std::int64_t kWholeLeftBytes = std::int64_t{768} << 10;
constexpr std::int64_t kLeftBytes = std::int64_t{384} << 10;
constexpr std::int64_t kSumBytes = std::int64_t{384} << 10;

/// The operating system gives tiles to a process that asks.
bool ask_for_tiles() {
    constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
    constexpr long kTileData = 18;               // XFEATURE_XTILEDATA
    return this_processor().amx_bf16 && syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

/// LDTILECFG's operand: eight whole tiles.
struct alignas(64) TileConfig {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig kWholeTiles;

/// Tiles of an operand: two side by side make a block of 32 rows (left) or columns (right).
struct Tiles {
    const std::byte* at = nullptr;
    std::int64_t row = 0;    // bytes from a row of a tile to the next
    std::int64_t other = 0;  // to the other tile of the block
    std::int64_t step = 0;   // to the next step of the inner axis
    std::int64_t block = 0;  // to the next block

    Tiles from(std::int64_t first_block, std::int64_t first_step) const {
        if (at == nullptr) return {};
        Tiles moved = *this;
        moved.at += first_block * block + first_step * step;
        return moved;
    }
};

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

/// A block of sums that are complete, on its way into the result.
template <typename To> struct Finished {
    const float* sums = nullptr;  // null: there is none
    const float* bias = nullptr;  // null: likewise
    To* y = nullptr;
    std::int64_t columns = 0;  // of y
    bool adds = false;         // to what y holds
    bool streams = false;      // past the caches
};

CNNTRAIN_TILES inline void finish_row(const Finished<BFloat16>& block, std::int64_t row) {
    const float* const sums = block.sums + row * kTileBlock;
    BFloat16* const y = block.y + row * block.columns;
    __m512 left = _mm512_loadu_ps(sums);
    __m512 right = _mm512_loadu_ps(sums + kHalf);
    if (block.bias != nullptr) {
        left = _mm512_add_ps(left, _mm512_loadu_ps(block.bias));
        right = _mm512_add_ps(right, _mm512_loadu_ps(block.bias + kHalf));
    }
    const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(right, left));
    if (block.streams) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(y), both);
    } else {
        _mm512_storeu_si512(y, both);
    }
}

CNNTRAIN_TILES inline void finish_row(const Finished<float>& block, std::int64_t row) {
    for (std::int64_t half = 0; half < kTileBlock; half += kHalf) {
        float* const y = block.y + row * block.columns + half;
        __m512 sum = _mm512_loadu_ps(block.sums + row * kTileBlock + half);
        if (block.adds) sum = _mm512_add_ps(_mm512_loadu_ps(y), sum);
        if (block.streams) {
            _mm512_stream_ps(y, sum);
        } else {
            _mm512_storeu_ps(y, sum);
        }
    }
}

template <typename To> CNNTRAIN_TILES void finish_all_rows(const Finished<To>& block) {
    if (block.sums == nullptr) return;
    for (std::int64_t row = 0; row < kTileBlock; ++row)
        finish_row(block, row);
}

/// What will be read later: so many lines for every step.
struct Lines {
    const std::byte* at = nullptr;
    std::int64_t count = 0;
    std::int64_t apart = 0;  // bytes
    std::int64_t step = 0;   // bytes to those of the next step
};

/// Part `number` of `parts` of the 32 lines that a block has for each step.
Lines part_of(const Tiles& tiles, std::int64_t apart, std::int64_t number, std::int64_t parts) {
    const std::int64_t count = (kTileBlock + parts - 1) / parts;
    const std::int64_t first = number * count;
    if (tiles.at == nullptr || number < 0 || first >= kTileBlock) return {};
    return {tiles.at + first * apart, count, apart, tiles.step};
}

/// What is done while tiles are multiplied, which takes longer than all other instructions together.
template <typename To> struct Aside {
    Lines next_right;  // comes into the cache
    Lines next_left;   // likewise
    Finished<To> finished;
};

CNNTRAIN_TILES inline void bring_closer(Lines& lines) {
    for (std::int64_t i = 0; i < lines.count; ++i)
        _mm_prefetch(lines.at + i * lines.apart, _MM_HINT_T1);
    lines.at += lines.step;
}

/// sums = begun + left * right, for a block of 32 x 32; begun: null for zeros. Tiles 0 to 3 hold the sums, 4 and 5 are left ones, 6 and
/// 7 right ones.
template <typename To> CNNTRAIN_TILES void multiply_block(Tiles left, Tiles right, std::int64_t steps,
                                                          const float* begun, float* sums, Aside<To> aside) {
    constexpr std::size_t kRow = kTileBlock * sizeof(float);
    constexpr std::int64_t kLower = kHalf * kTileBlock;
    if (begun != nullptr) {
        _tile_loadd(0, begun, kRow);
        _tile_loadd(1, begun + kHalf, kRow);
        _tile_loadd(2, begun + kLower, kRow);
        _tile_loadd(3, begun + kLower + kHalf, kRow);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    const std::int64_t rows = aside.finished.sums == nullptr ? 0 : kTileBlock;
    const std::int64_t rows_per_step = (kTileBlock + steps - 1) / steps;
    std::int64_t row = 0;
    for (std::int64_t i = 0; i < steps; ++i) {
        _tile_loadd(4, left.at, left.row);
        _tile_loadd(6, right.at, right.row);
        _tile_dpbf16ps(0, 4, 6);
        _tile_loadd(7, right.at + right.other, right.row);
        _tile_dpbf16ps(1, 4, 7);
        bring_closer(aside.next_right);
        _tile_loadd(5, left.at + left.other, left.row);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        bring_closer(aside.next_left);
        for (const std::int64_t end = std::min(rows, row + rows_per_step); row < end; ++row)
            finish_row(aside.finished, row);
        left.at += left.step;
        right.at += right.step;
    }
    _tile_stored(0, sums, kRow);
    _tile_stored(1, sums + kHalf, kRow);
    _tile_stored(2, sums + kLower, kRow);
    _tile_stored(3, sums + kLower + kHalf, kRow);
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
    std::int64_t slice() const { return is_one_slice() ? steps : kSlice; }
    Finished<To> finished(const float* sums, std::int64_t row, std::int64_t column) const {
        Finished<To> block = result;
        block.sums = sums;
        block.y += (row * result.columns + column) * kTileBlock;
        if (block.bias != nullptr) block.bias += column * kTileBlock;
        return block;
    }
};

CNNTRAIN_TILES void configure_tiles() {
    _tile_loadconfig(&kWholeTiles);
}
CNNTRAIN_TILES void release_tiles() {
    _tile_release();
}

/// Floats that a thread needs.
constexpr std::int64_t kPartFloats =
    kBlockFloats + (kSumBytes + kWholeLeftBytes) / static_cast<std::int64_t>(sizeof(float));

/// One thread's part of a product.
template <typename To> class Part {
public:
    Part(const Plan<To>& plan, float* scratch)
        : plan_(plan),
          complete_(scratch),
          sums_(complete_ + kBlockFloats),
          left_(reinterpret_cast<std::byte*>(sums_ + kSumBytes / sizeof(float))) {}

    void run(Range rows, Range columns) {
        configure_tiles();
        for (std::int64_t column = columns.begin; column < columns.end; column += plan_.sum_blocks) {
            for (std::int64_t row = rows.begin; row < rows.end; row += plan_.left_blocks) {
                for (std::int64_t step = 0; step < plan_.steps; step += plan_.slice()) {
                    multiply_slice(rows.piece(row, plan_.left_blocks), columns.piece(column, plan_.sum_blocks),
                                   plan_.all_steps().piece(step, plan_.slice()), left_after(row, step, rows.end));
                }
            }
        }
        finish_all_rows(finished_);
        if (plan_.result.streams) _mm_sfence();
        release_tiles();
    }

private:
    /// What is read of the left operand after this slice of the blocks from `row` on. A whole block is read in the order of its memory,
    /// which the processor foresees itself.
    Tiles left_after(std::int64_t row, std::int64_t step, std::int64_t rows_end) const {
        if (plan_.is_one_slice()) return {};
        if (step + kSlice < plan_.steps) return plan_.left.from(row, step + kSlice);
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
            for (std::int64_t step = slice.begin; step < slice.end; step += kChunk) {
                const Range steps = slice.piece(step, kChunk);
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
            multiply_block<To>(left.from(row, 0), right, steps.size(), steps.begin > 0 ? block : nullptr, result,
                               {part_of(ahead.right, kLine, row, rows.size()),
                                part_of(ahead.left.from(row, 0), ahead.left.row, ahead.part, ahead.parts), finished});
            finished = completes ? plan_.finished(result, rows.begin + row, column) : Finished<To>{};
        }
        finished_ = finished;
    }

    /// Blocks of rows as tiles in a row. A copy pays where it is used for all columns, and where rows are apart by a multiple of a
    /// power of two so large that they push each other out of the cache.
    Tiles cached_left(Range rows, Range slice) const {
        constexpr std::int64_t kApart = 4096;
        const Tiles from = plan_.left.from(rows.begin, slice.begin);
        const bool pays = plan_.is_one_slice() || from.row % kApart == 0;
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

template <typename To>
Plan<To> plan_of(const TileProduct& product, const LeftOperand& x, const BFloat16* w, Finished<To> result) {
    constexpr std::int64_t kMostSums = kSumBytes / (kBlockFloats * static_cast<std::int64_t>(sizeof(float)));
    Plan<To> plan;
    plan.left = left_tiles(product, x);
    plan.right = right_tiles(product, w);
    plan.steps = product.inner / kStep;
    if (plan.is_one_slice()) {
        plan.left_blocks = std::min(kMostSums, kWholeLeftBytes / (plan.steps * kStepBytes));
        plan.sum_blocks = product.columns / kTileBlock;
    } else {
        plan.left_blocks = kLeftBytes / (kSlice * kStepBytes);
        plan.sum_blocks = kMostSums / plan.left_blocks;
    }
    plan.result = result;
    plan.result.columns = product.columns;
    plan.result.streams =
        goes_past_cache(product.rows * product.columns * static_cast<std::int64_t>(sizeof(To)), result.y);
    return plan;
}

template <typename To> void multiply(const TileProduct& product, const Plan<To>& plan, std::span<float> scratch) {
    const Range rows{0, product.rows / kTileBlock};
    const Range columns{0, product.columns / kTileBlock};
    const auto room = static_cast<int>(static_cast<std::int64_t>(scratch.size()) / kPartFloats);
    const Grid grid = grid_of(rows.size(), columns.size(), std::clamp(omp_get_max_threads(), 1, room));
    parallel_tasks(grid.rows * grid.columns, [&](std::int64_t task) {
        Part<To>(plan, scratch.data() + task * kPartFloats)
            .run(rows.part(task / grid.columns, grid.rows), columns.part(task % grid.columns, grid.columns));
    });
}

}  // namespace

bool has_tiles() {
    static const bool has = ask_for_tiles();
    return has;
}

std::int64_t tile_scratch_floats(int threads) {
    return threads * kPartFloats;
}

void tile_product(const TileProduct& product, const LeftOperand& x, const BFloat16* w, const float* bias, BFloat16* y,
                  std::span<float> scratch) {
    multiply(product, plan_of(product, x, w, Finished<BFloat16>{.bias = bias, .y = y}), scratch);
}

void tile_product(const TileProduct& product, const LeftOperand& x, const BFloat16* w, bool adds, float* y,
                  std::span<float> scratch) {
    multiply(product, plan_of(product, x, w, Finished<float>{.y = y, .adds = adds}), scratch);
}

}  // namespace cnntrain::cpu
