// Blocks of 32 x 32 sums of tile products, and the units that multiply tiles: Intel's AMX, the dot products of
// AVX512-BF16 and AVX512-VNNI, and the multiply-adds of AVX-512.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "backend/cpu/kernels/tile_target.h"
#include "backend/cpu/kernels/tiles.h"

namespace cnntrain::cpu {

// Memory layout of the operands of tile products, and copies of them in a faster layout.

constexpr std::int64_t kHalf = kTileBlock / 2;
constexpr std::int64_t kRowBytes = 64;  // of a tile's row
constexpr std::int64_t kTileBytes = 16 * kRowBytes;
constexpr std::int64_t kStepBytes = 2 * kTileBytes;  // two adjacent tiles
constexpr std::int64_t kBlockFloats = kTileBlock * kTileBlock;

/// Elements of the inner dimension per tile.
template <typename T> constexpr std::int64_t kStep = kRowBytes / static_cast<std::int64_t>(sizeof(T));

/// Tiles of an operand: two adjacent tiles form a block of 32 rows (left) or columns (right).
struct Tiles {
    const std::byte* at = nullptr;
    std::int64_t row = 0;      // bytes between rows of a tile
    std::int64_t other = 0;    // bytes to the other tile of the block
    std::int64_t step = 0;     // bytes to the next step of the inner dimension
    std::int64_t block = 0;    // bytes to the next block
    std::int64_t element = 4;  // bytes between elements of a left row: a float, two bfloat16, or four bytes

    Tiles from(std::int64_t first_block, std::int64_t first_step) const {
        if (at == nullptr) return {};
        Tiles moved = *this;
        moved.at += first_block * block + first_step * step;
        return moved;
    }
};

/// Blocks of `steps` consecutive tiles each.
inline Tiles packed_rows(const void* at, std::int64_t steps) {
    return {static_cast<const std::byte*>(at), kRowBytes, kTileBytes, kStepBytes, steps * kStepBytes, 4};
}
/// The same for right tiles, which are side by side: right panels.
inline Tiles packed_columns(const void* at, std::int64_t steps) {
    return {static_cast<const std::byte*>(at), 2 * kRowBytes, kRowBytes, kStepBytes, steps * kStepBytes, 4};
}
/// Columns of floats in that layout, used as rows of a left operand.
inline Tiles packed_turned_rows(const void* at, std::int64_t steps) {
    return {static_cast<const std::byte*>(at), 4, kRowBytes, kStepBytes, steps * kStepBytes, 2 * kRowBytes};
}

/// A left or right operand in its original layout.
struct Operand {
    enum class Order : std::uint8_t {
        packed,       // consecutive tiles
        rows,         // a left operand, row-major
        turned_rows,  // a left operand of floats, as the transpose of a row-major matrix
        columns       // a right operand of floats, row-major
    };

    Tiles tiles;
    Order order = Order::packed;
    std::int64_t pitch = kRowBytes;  // bytes between rows of memory
};

inline Operand in_rows(const void* data, std::int64_t row_bytes) {
    return {{static_cast<const std::byte*>(data), row_bytes, kHalf * row_bytes, kRowBytes, kTileBlock * row_bytes, 4},
            Operand::Order::rows,
            row_bytes};
}
/// Rows of memory are steps of the inner dimension. Such an operand must be copied before it is multiplied.
inline Operand in_inner_rows(Operand::Order order, const float* data, std::int64_t row_bytes) {
    Tiles tiles;
    tiles.at = reinterpret_cast<const std::byte*>(data);
    tiles.step = kHalf * row_bytes;
    tiles.block = 2 * kRowBytes;
    return {tiles, order, row_bytes};
}

/// A copy made in small steps: row by row, and within a row in pairs of adjacent cache lines.
struct BlockCopy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t rows = 0;    // remaining rows
    std::int64_t pairs = 0;   // pairs of lines per row
    std::int64_t pitch = 0;   // bytes between rows of the source
    std::int64_t row = 0;     // bytes between rows of the copy
    std::int64_t pair = 0;    // bytes between pairs in the copy
    std::int64_t second = 0;  // bytes from a pair's first to its second line in the copy
    std::int64_t block = 0;   // additional bytes after every 32 rows of the copy
    std::int64_t ahead = 0;   // prefetch distance in the source, in bytes
    std::int64_t done = 0;    // pairs copied of the current row

    CNNTRAIN_TILES void copy_pair() {
        const std::byte* const line = from + done * 2 * kRowBytes;
        std::byte* const place = to + done * pair;
        _mm_prefetch(line + ahead, _MM_HINT_T0);
        _mm_prefetch(line + ahead + kRowBytes, _MM_HINT_T0);
        _mm512_storeu_si512(place, _mm512_loadu_si512(line));
        _mm512_storeu_si512(place + second, _mm512_loadu_si512(line + kRowBytes));
        if (++done < pairs) return;
        done = 0;
        from += pitch;
        to += row;
        if (--rows % kTileBlock == 0) to += block;
    }
    CNNTRAIN_TILES void go_on() {
        if (rows > 0) copy_pair();
    }
    CNNTRAIN_TILES void finish() {
        while (rows > 0)
            copy_pair();
    }
};

/// A range of an operand's blocks and of their steps.
struct Window {
    std::int64_t block = 0, step = 0;  // first block and step
    std::int64_t blocks = 0, steps = 0;
};

/// Two buffers for copies of an operand: one being multiplied, and the next one.
class Copies {
public:
    Copies(std::byte* memory, std::int64_t bytes) : place_(memory), next_(memory + bytes) {}

    /// Starts the copy of the next range.
    BlockCopy* begin(const Operand& operand, const Window& window) {
        source_ = operand.tiles.from(window.block, window.step).at;
        copy_ = copy_of(operand, window, next_);
        return &copy_;
    }
    /// Returns the complete copy, whether or not it was started before.
    Tiles take(const Operand& operand, const Window& window) {
        if (source_ != operand.tiles.from(window.block, window.step).at) begin(operand, window);
        copy_.finish();
        source_ = nullptr;
        std::swap(place_, next_);
        if (operand.order == Operand::Order::rows) return packed_rows(place_, window.steps);
        if (operand.order == Operand::Order::columns) return packed_columns(place_, window.steps);
        return packed_turned_rows(place_, window.steps);
    }

private:
    static BlockCopy copy_of(const Operand& operand, const Window& window, std::byte* to) {
        constexpr std::int64_t kRowsAhead = 8;
        BlockCopy copy;
        copy.from = operand.tiles.from(window.block, window.step).at;
        copy.to = to;
        copy.pitch = operand.pitch;
        if (operand.order == Operand::Order::rows) {
            copy.rows = window.blocks * kTileBlock;
            copy.pairs = window.steps / 2;  // two steps are 32 floats, so the number of steps is even
            copy.row = kRowBytes;
            copy.pair = 2 * kStepBytes;
            copy.second = kStepBytes;
            copy.block = (window.steps - 1) * kStepBytes;
        } else {
            copy.rows = window.steps * kHalf;
            copy.pairs = window.blocks;
            copy.row = 2 * kRowBytes;
            copy.pair = window.steps * kStepBytes;
            copy.second = kRowBytes;
        }
        copy.ahead = std::max<std::int64_t>(1, kRowsAhead / copy.pairs) * copy.pitch;
        return copy;
    }

    std::byte* place_;
    std::byte* next_;
    BlockCopy copy_;
    const std::byte* source_ = nullptr;  // source of the started copy; null: none
};

/// A block of complete sums to be written to the result.
template <typename To> struct Finished {
    const float* sums = nullptr;  // null: no block
    const float* bias = nullptr;  // null: no bias
    To* y = nullptr;
    std::int64_t columns = 0;  // of y
    bool adds = false;         // add to y instead of replacing it
    bool streams = false;      // bypass the caches
    float* squares = nullptr;  // receives the sum of the result's squares; null: not needed
    float* lanes = nullptr;    // [16] partial sums for `squares`, carried from row to row

    /// Becomes the block at (row, column) instead of the first one.
    void begin(const float* of, float* partial, std::int64_t row, std::int64_t column) {
        sums = of;
        lanes = partial;
        y += (row * columns + column) * kTileBlock;
        if (squares != nullptr) squares += row * (columns / kTileBlock) + column;
        if (bias != nullptr) bias += column * kTileBlock;
    }
};

/// A block of complete sums of products of bytes: whole numbers, in the memory of floats.
template <typename To> struct Rescaled {
    const float* sums = nullptr;  // null: no block
    Rescaling how;
    To* y = nullptr;
    std::int64_t columns = 0;  // of y
    bool streams = false;      // bypass the caches

    void begin(const float* of, float* /*partial*/, std::int64_t row, std::int64_t column) {
        sums = of;
        y += (row * columns + column) * kTileBlock;
        how.bits += 2 * row * kTileBlock;
        how.scales += column * kTileBlock;
        how.sums += column * kTileBlock;
        if (how.bias != nullptr) how.bias += column * kTileBlock;
    }
};

CNNTRAIN_TILES inline void store_pair(__m512 left, __m512 right, bool streams, BFloat16* y) {
    const auto both = reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(right, left));
    if (streams) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(y), both);
    } else {
        _mm512_storeu_si512(y, both);
    }
}

CNNTRAIN_TILES inline void store_pair(__m512 left, __m512 right, bool streams, float* y) {
    if (streams) {
        _mm512_stream_ps(y, left);
        _mm512_stream_ps(y + kHalf, right);
    } else {
        _mm512_storeu_ps(y, left);
        _mm512_storeu_ps(y + kHalf, right);
    }
}

template <typename To>
CNNTRAIN_TILES inline __m512 rescaled_half(const Rescaled<To>& block, std::int64_t row, std::int64_t half) {
    const float* const bits = block.how.bits + 2 * row;
    const __m512 sums = _mm512_cvtepi32_ps(_mm512_loadu_si512(block.sums + row * kTileBlock + half));
    const __m512 shift = _mm512_mul_ps(_mm512_set1_ps(bits[1]), _mm512_loadu_ps(block.how.sums + half));
    const __m512 products = _mm512_fmsub_ps(sums, _mm512_loadu_ps(block.how.scales + half), shift);
    const __m512 bias = block.how.bias == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(block.how.bias + half);
    return _mm512_fmadd_ps(products, _mm512_set1_ps(bits[0]), bias);
}

template <typename To> CNNTRAIN_TILES inline void finish_row(const Rescaled<To>& block, std::int64_t row) {
    store_pair(rescaled_half(block, row, 0), rescaled_half(block, row, kHalf), block.streams,
               block.y + row * block.columns);
}

CNNTRAIN_TILES inline void finish_row(const Finished<BFloat16>& block, std::int64_t row) {
    const float* const sums = block.sums + row * kTileBlock;
    BFloat16* const y = block.y + row * block.columns;
    __m512 left = _mm512_loadu_ps(sums);
    __m512 right = _mm512_loadu_ps(sums + kHalf);
    if (block.bias != nullptr) {
        left = _mm512_add_ps(left, _mm512_loadu_ps(block.bias));
        right = _mm512_add_ps(right, _mm512_loadu_ps(block.bias + kHalf));
    }
    store_pair(left, right, block.streams, y);
}

CNNTRAIN_TILES inline __m512 finish_half(const Finished<float>& block, std::int64_t row, std::int64_t half) {
    float* const y = block.y + row * block.columns + half;
    __m512 sum = _mm512_loadu_ps(block.sums + row * kTileBlock + half);
    if (block.bias != nullptr) sum = _mm512_add_ps(sum, _mm512_loadu_ps(block.bias + half));
    if (block.adds) sum = _mm512_add_ps(_mm512_loadu_ps(y), sum);
    if (block.streams) {
        _mm512_stream_ps(y, sum);
    } else {
        _mm512_storeu_ps(y, sum);
    }
    return sum;
}

/// Call it for the rows in order.
CNNTRAIN_TILES inline void finish_row(const Finished<float>& block, std::int64_t row) {
    const __m512 left = finish_half(block, row, 0);
    const __m512 right = finish_half(block, row, kHalf);
    if (block.squares == nullptr) return;
    __m512 squares = row == 0 ? _mm512_setzero_ps() : _mm512_loadu_ps(block.lanes);
    squares = _mm512_fmadd_ps(right, right, _mm512_fmadd_ps(left, left, squares));
    _mm512_storeu_ps(block.lanes, squares);
    if (row == kTileBlock - 1) *block.squares = _mm512_reduce_add_ps(squares);
}

template <typename Result> CNNTRAIN_TILES void finish_all_rows(const Result& block) {
    if (block.sums == nullptr) return;
    for (std::int64_t row = 0; row < kTileBlock; ++row)
        finish_row(block, row);
}

/// Memory to be read later: `count` lines for each step.
struct Lines {
    const std::byte* at = nullptr;
    std::int64_t count = 0;
    std::int64_t apart = 0;  // bytes between lines
    std::int64_t step = 0;   // bytes to the lines of the next step
};

CNNTRAIN_TILES inline void bring_closer(Lines& lines) {
    for (std::int64_t i = 0; i < lines.count; ++i)
        _mm_prefetch(lines.at + i * lines.apart, _MM_HINT_T1);
    lines.at += lines.step;
}

/// Work done while tiles are multiplied; multiplication takes longer than all other instructions together.
template <typename Result> struct Aside {
    Lines next_right;  // to prefetch
    Lines next_left;   // to prefetch
    Result finished;
    BlockCopy* right_copy = nullptr;  // copy to continue; null: none
    BlockCopy* left_copy = nullptr;   // copy to continue; null: none
};

/// Operand of LDTILECFG: eight full tiles.
struct alignas(64) TileConfig {
    std::uint8_t palette = 1;
    std::uint8_t start_row = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileConfig kWholeTiles;

/// Eight tile registers: 0 to 3 hold the sums, 4 and 5 are left tiles, 6 and 7 right tiles.
struct AmxUnit {
    // Number of steps whose right tiles stay in the first-level cache while left tiles are streamed.
    static constexpr std::int64_t kChunk = 8;
    // Number of steps whose left tiles stay in the second-level cache while right tiles are streamed.
    static constexpr std::int64_t kSlice = 16;
    // Maximum number of steps of an inner dimension that is not divided into slices.
    static constexpr std::int64_t kWhole = 32;
    // True if left rows used for all columns are first copied into consecutive tiles.
    static constexpr bool kCopiesLeft = true;
    // True if the next operands are copied while tiles are multiplied.
    static constexpr bool kCopiesAside = false;
    // Sizes in the second-level cache: left tiles of a whole inner dimension; or left tiles of a slice, while the left
    // tiles of the next slice are loaded; and sums.
    static constexpr std::int64_t kWholeLeftBytes = std::int64_t{768} << 10;
    static constexpr std::int64_t kLeftBytes = std::int64_t{384} << 10;
    static constexpr std::int64_t kSumBytes = std::int64_t{384} << 10;

    CNNTRAIN_TILES static void begin() { _tile_loadconfig(&kWholeTiles); }
    CNNTRAIN_TILES static void end() { _tile_release(); }

    /// sums = begun + left * right, for a block of 32 x 32; begun = null means zeros.
    template <typename Result> CNNTRAIN_TILES static void multiply_block(Tiles left, Tiles right, std::int64_t steps,
                                                                         const float* begun, float* sums,
                                                                         Aside<Result> aside) {
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
        const std::int64_t rows_per_step = ceil_div(kTileBlock, steps);
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
};

/// Adds the products of pairs of bfloat16. It is several times slower than AMX, so that the second-level cache (1 MB on
/// Zen 4) delivers right tiles in time.
struct DotProducts {
    static constexpr std::int64_t kSteps = 32;
    static constexpr bool kCopiesAside = false;
    static constexpr std::int64_t kWholeLeftBytes = std::int64_t{384} << 10;
    static constexpr std::int64_t kLeftBytes = std::int64_t{256} << 10;

    CNNTRAIN_TILES static __m512 added(__m512 sum, __m512i x, __m512i w) {
        return _mm512_dpbf16_ps(sum, reinterpret_cast<__m512bh>(x), reinterpret_cast<__m512bh>(w));
    }
};

/// Adds the products of quadruples of unsigned and signed bytes, in whole numbers, at the same sizes in bytes.
struct ByteProducts : DotProducts {
    CNNTRAIN_TILES static __m512 added(__m512 sum, __m512i x, __m512i w) {
        return _mm512_castsi512_ps(_mm512_dpbusd_epi32(_mm512_castps_si512(sum), x, w));
    }
};

/// Adds the products of floats. The two buffers for each operand's copies and the sums take 0.6 MB of the second-level
/// cache; slices of up to 32 steps were not faster on Zen 4.
struct MultiplyAdds {
    static constexpr std::int64_t kSteps = 16;
    static constexpr bool kCopiesAside = true;
    static constexpr std::int64_t kWholeLeftBytes = std::int64_t{128} << 10;
    static constexpr std::int64_t kLeftBytes = kWholeLeftBytes;

    CNNTRAIN_TILES static __m512 added(__m512 sum, __m512i x, __m512i w) {
        return _mm512_fmadd_ps(_mm512_castsi512_ps(x), _mm512_castsi512_ps(w), sum);
    }
};

/// Computes eight rows of sums at a time in sixteen vector registers, enough to hide the instruction's latency. A slice
/// is one chunk.
template <typename Arithmetic> struct VectorUnit : Arithmetic {
    static constexpr std::int64_t kChunk = Arithmetic::kSteps;
    static constexpr std::int64_t kSlice = Arithmetic::kSteps;
    static constexpr std::int64_t kWhole = Arithmetic::kSteps;
    static constexpr bool kCopiesLeft = false;
    static constexpr std::int64_t kSumBytes = std::int64_t{256} << 10;

    static void begin() {}
    static void end() {}

    /// See AmxUnit::multiply_block().
    template <typename Result> CNNTRAIN_TILES static void multiply_block(Tiles left, Tiles right, std::int64_t steps,
                                                                         const float* begun, float* sums,
                                                                         Aside<Result> aside) {
        for (std::int64_t row = 0; row < kTileBlock; row += kRows) {
            // The new sums may overwrite the finished rows, so these are written out first.
            const std::int64_t rows_end = aside.finished.sums == nullptr ? row : row + kRows;
            for (std::int64_t i = row; i < rows_end; ++i)
                finish_row(aside.finished, i);
            const std::byte* const x = left.at + row / kHalf * left.other + row % kHalf * left.row;
            const std::int64_t offset = row * kTileBlock;
            multiply_rows(x, left, right, steps, begun == nullptr ? nullptr : begun + offset, sums + offset,
                          aside.right_copy, aside.left_copy);
            for (std::int64_t i = steps * row / kTileBlock; i < steps * (row + kRows) / kTileBlock; ++i) {
                bring_closer(aside.next_right);
                bring_closer(aside.next_left);
            }
        }
    }

private:
    static constexpr std::int64_t kRows = 8;

    /// x: the first row. Loops over the rows must be unrolled, so that their sums stay in registers.
    CNNTRAIN_TILES static void multiply_rows(const std::byte* x, const Tiles& left, const Tiles& right,
                                             std::int64_t steps, const float* begun, float* sums, BlockCopy* right_copy,
                                             BlockCopy* left_copy) {
        __m512 low[kRows];
        __m512 high[kRows];
#pragma GCC unroll 8
        for (std::int64_t i = 0; i < kRows; ++i) {
            low[i] = begun == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(begun + i * kTileBlock);
            high[i] = begun == nullptr ? _mm512_setzero_ps() : _mm512_loadu_ps(begun + i * kTileBlock + kHalf);
        }
        const std::byte* w = right.at;
        for (std::int64_t step = 0; step < steps; ++step) {
            for (std::int64_t i = 0; i < kHalf; ++i) {
                const __m512i w_low = _mm512_loadu_si512(w + i * right.row);
                const __m512i w_high = _mm512_loadu_si512(w + i * right.row + right.other);
#pragma GCC unroll 8
                for (std::int64_t row = 0; row < kRows; ++row) {
                    const __m512i everywhere = broadcast(x + row * left.row + i * left.element);
                    low[row] = Arithmetic::added(low[row], everywhere, w_low);
                    high[row] = Arithmetic::added(high[row], everywhere, w_high);
                }
            }
            x += left.step;
            w += right.step;
            if (right_copy != nullptr) right_copy->go_on();
            if (left_copy != nullptr) left_copy->go_on();
        }
#pragma GCC unroll 8
        for (std::int64_t i = 0; i < kRows; ++i) {
            _mm512_storeu_ps(sums + i * kTileBlock, low[i]);
            _mm512_storeu_ps(sums + i * kTileBlock + kHalf, high[i]);
        }
    }

    CNNTRAIN_TILES static __m512i broadcast(const std::byte* at) {
        std::int32_t element = 0;
        std::memcpy(&element, at, sizeof(element));
        return _mm512_set1_epi32(element);
    }
};

using DotUnit = VectorUnit<DotProducts>;
using ByteUnit = VectorUnit<ByteProducts>;
using FloatUnit = VectorUnit<MultiplyAdds>;

}  // namespace cnntrain::cpu
