// How the operands of tile products lie in memory, and the copies of them that lie better.
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
constexpr std::int64_t kRowBytes = 64;  // of a tile
constexpr std::int64_t kTileBytes = 16 * kRowBytes;
constexpr std::int64_t kStepBytes = 2 * kTileBytes;  // two tiles side by side
constexpr std::int64_t kBlockFloats = kTileBlock * kTileBlock;

/// Elements of the inner axis in a tile.
template <typename T> constexpr std::int64_t kStep = kRowBytes / static_cast<std::int64_t>(sizeof(T));

/// Tiles of an operand: two side by side make a block of 32 rows (left) or columns (right).
struct Tiles {
    const std::byte* at = nullptr;
    std::int64_t row = 0;      // bytes from a row of a tile to the next
    std::int64_t other = 0;    // to the other tile of the block
    std::int64_t step = 0;     // to the next step of the inner axis
    std::int64_t block = 0;    // to the next block
    std::int64_t element = 4;  // of a left row to the next: a float, or two of bfloat16

    Tiles from(std::int64_t first_block, std::int64_t first_step) const {
        if (at == nullptr) return {};
        Tiles moved = *this;
        moved.at += first_block * block + first_step * step;
        return moved;
    }
};

/// Blocks whose tiles lie one after the other, in so many steps.
inline Tiles packed_rows(const void* at, std::int64_t steps) {
    return {static_cast<const std::byte*>(at), kRowBytes, kTileBytes, kStepBytes, steps * kStepBytes, 4};
}
/// The same of right tiles, side by side: right panels.
inline Tiles packed_columns(const void* at, std::int64_t steps) {
    return {static_cast<const std::byte*>(at), 2 * kRowBytes, kRowBytes, kStepBytes, steps * kStepBytes, 4};
}
/// The columns of floats that lie so, as rows of a left operand.
inline Tiles packed_turned_rows(const void* at, std::int64_t steps) {
    return {static_cast<const std::byte*>(at), 4, kRowBytes, kStepBytes, steps * kStepBytes, 2 * kRowBytes};
}

/// A left or right operand, as it lies.
struct Operand {
    enum class Order : std::uint8_t {
        packed,       // tiles one after the other
        rows,         // a left operand, row-major
        turned_rows,  // a left operand of floats, as the transpose of a row-major matrix
        columns       // a right operand of floats, row-major
    };

    Tiles tiles;
    Order order = Order::packed;
    std::int64_t pitch = kRowBytes;  // bytes from a row of memory to the next
};

inline Operand in_rows(const void* data, std::int64_t row_bytes) {
    return {{static_cast<const std::byte*>(data), row_bytes, kHalf * row_bytes, kRowBytes, kTileBlock * row_bytes, 4},
            Operand::Order::rows,
            row_bytes};
}
/// Rows of memory are steps of the inner axis. Only copies are multiplied.
inline Operand in_inner_rows(Operand::Order order, const float* data, std::int64_t row_bytes) {
    Tiles tiles;
    tiles.at = reinterpret_cast<const std::byte*>(data);
    tiles.step = kHalf * row_bytes;
    tiles.block = 2 * kRowBytes;
    return {tiles, order, row_bytes};
}

/// A copy that is made little by little: rows of memory in turn, of each row pairs of lines that lie next to each
/// other.
struct BlockCopy {
    const std::byte* from = nullptr;
    std::byte* to = nullptr;
    std::int64_t rows = 0;    // that are left
    std::int64_t pairs = 0;   // of lines in a row
    std::int64_t pitch = 0;   // bytes from a row to the next
    std::int64_t row = 0;     // the same in the copy
    std::int64_t pair = 0;    // bytes from a pair to the next in the copy
    std::int64_t second = 0;  // from the first line of a pair to the second
    std::int64_t block = 0;   // and more after every 32 rows
    std::int64_t ahead = 0;   // bytes of the operand to what the cache is asked for
    std::int64_t done = 0;    // pairs of the first row

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

/// Some blocks of an operand, and some of their steps.
struct Window {
    std::int64_t block = 0, step = 0;  // the first ones
    std::int64_t blocks = 0, steps = 0;
};

/// Two places for copies of an operand: of what is multiplied, and of what comes next.
class Copies {
public:
    Copies(std::byte* memory, std::int64_t bytes) : place_(memory), next_(memory + bytes) {}

    /// Begins the copy of what comes next.
    BlockCopy* begin(const Operand& operand, const Window& window) {
        source_ = operand.tiles.from(window.block, window.step).at;
        copy_ = copy_of(operand, window, next_);
        return &copy_;
    }
    /// The complete copy, begun before or not.
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
            copy.pairs = window.steps / 2;  // Two steps are 32 floats, so that their number is even.
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
    const std::byte* source_ = nullptr;  // of the copy that was begun; null: none was
};

}  // namespace cnntrain::cpu
