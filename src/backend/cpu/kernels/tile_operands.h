// Memory layout of the operands of tile products, and copies of them in a faster layout.
#pragma once

#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "backend/cpu/kernels/tile_target.h"
#include "backend/cpu/kernels/tiles.h"

namespace cnntrain::cpu {

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
    std::int64_t element = 4;  // bytes between elements of a left row: a float, or two bfloat16

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

}  // namespace cnntrain::cpu
