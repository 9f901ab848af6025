// Copies matrices, also transposed, into the panels of tile products.
#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 wrongly warns of the undefined operands in its own unmasked intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
#include <immintrin.h>

#include "backend/cpu/kernels/parallel.h"
#include "backend/cpu/kernels/tile_target.h"
#include "backend/cpu/kernels/tiles.h"

namespace cnntrain::cpu {
namespace {

constexpr std::int64_t kHalf = kTileBlock / 2;

/// 16 x 16 elements of four bytes.
struct Square {
    __m512i rows[16];

    __m512i& operator[](std::int64_t row) { return rows[row]; }
};

/// One of the two steps that exchange quarters between rows `distance` apart.
template <std::int64_t kDistance> CNNTRAIN_TILES inline void exchange_quarters(Square& m) {
    Square out;
    for (std::int64_t i = 0; i < 16; i += 2 * kDistance) {
        for (std::int64_t j = i; j < i + kDistance; ++j) {
            out[j] = _mm512_shuffle_i32x4(m[j], m[j + kDistance], 0x88);
            out[j + kDistance] = _mm512_shuffle_i32x4(m[j], m[j + kDistance], 0xdd);
        }
    }
    m = out;
}

/// Transposes: first the 4 x 4 elements within each quarter of four rows, then the 4 x 4 quarters.
CNNTRAIN_TILES inline void transpose(Square& m) {
    Square pairs;
    for (std::int64_t i = 0; i < 16; i += 2) {
        pairs[i] = _mm512_unpacklo_epi32(m[i], m[i + 1]);
        pairs[i + 1] = _mm512_unpackhi_epi32(m[i], m[i + 1]);
    }
    // Row i of `m` gets column i % 4 of each quarter of the rows from 4 * (i / 4) on.
    for (std::int64_t i = 0; i < 16; i += 4) {
        m[i] = _mm512_unpacklo_epi64(pairs[i], pairs[i + 2]);
        m[i + 1] = _mm512_unpackhi_epi64(pairs[i], pairs[i + 2]);
        m[i + 2] = _mm512_unpacklo_epi64(pairs[i + 1], pairs[i + 3]);
        m[i + 3] = _mm512_unpackhi_epi64(pairs[i + 1], pairs[i + 3]);
    }
    // Then quarter q of row 4 * r + c moves to quarter r of row 4 * q + c.
    exchange_quarters<4>(m);
    exchange_quarters<8>(m);
}

/// Rows are read one block of columns at a time; data this far ahead in them is prefetched.
constexpr std::int64_t kFetchedBytes = 128;

template <typename T> CNNTRAIN_TILES inline void fetch(const T* row) {
    const auto* const ahead = reinterpret_cast<const std::byte*>(row) + kFetchedBytes;
    for (std::int64_t i = 0; i < kTileBlock * static_cast<std::int64_t>(sizeof(T)); i += 64)
        _mm_prefetch(ahead + i, _MM_HINT_T0);
}

/// Loads 32 elements of a row.
CNNTRAIN_TILES inline __m512i load_row(const BFloat16* row) {
    fetch(row);
    return _mm512_loadu_si512(row);
}
CNNTRAIN_TILES inline __m512i load_row(const float* row) {
    fetch(row);
    return reinterpret_cast<__m512i>(_mm512_cvtne2ps_pbh(_mm512_loadu_ps(row + kHalf), _mm512_loadu_ps(row)));
}

/// Stores 32 elements; for streaming stores, `to` must be a multiple of 64 bytes.
CNNTRAIN_TILES inline void store_row(__m512i row, bool streams, BFloat16* to) {
    if (streams) {
        _mm512_stream_si512(reinterpret_cast<__m512i*>(to), row);
    } else {
        _mm512_storeu_si512(to, row);
    }
}

/// 32 rows of a block of columns.
struct Block {
    __m512i rows[kTileBlock];
};

template <typename From> CNNTRAIN_TILES inline void load_block(std::int64_t columns, const From* m, Block& block) {
    for (std::int64_t i = 0; i < kTileBlock; ++i)
        block.rows[i] = load_row(m + i * columns);
}

/// Stores the rows as columns of a panel's block.
CNNTRAIN_TILES inline void store_turned(const Block& from, bool streams, BFloat16* to) {
    for (std::int64_t half = 0; half < 2; ++half) {
        Square square;
        for (std::int64_t i = 0; i < kHalf; ++i)
            square[i] = from.rows[half * kHalf + i];
        transpose(square);
        for (std::int64_t i = 0; i < kHalf; ++i)
            store_row(square[i], streams, to + (2 * i + half) * kTileBlock);
    }
}

/// Stores pairs of rows, with the two elements of a pair adjacent.
CNNTRAIN_TILES inline void store_pairs(const Block& from, bool streams, BFloat16* to) {
    const __m512i first = _mm512_setr_epi64(0, 1, 8, 9, 2, 3, 10, 11);
    const __m512i second = _mm512_setr_epi64(4, 5, 12, 13, 6, 7, 14, 15);
    for (std::int64_t i = 0; i < kTileBlock; i += 2) {
        // Quarter q of each register then has columns 8 q ... 8 q + 3, or the following four.
        const __m512i low = _mm512_unpacklo_epi16(from.rows[i], from.rows[i + 1]);
        const __m512i high = _mm512_unpackhi_epi16(from.rows[i], from.rows[i + 1]);
        store_row(_mm512_permutex2var_epi64(low, first, high), streams, to + i * kTileBlock);
        store_row(_mm512_permutex2var_epi64(low, second, high), streams, to + (i + 1) * kTileBlock);
    }
}

/// Transposes a block of 32 x 32.
CNNTRAIN_TILES void turn_left_block(std::int64_t columns, const BFloat16* m, bool streams, BFloat16* block) {
    Square low, high;  // pairs of rows, with columns 8 q ... 8 q + 3 and 8 q + 4 ... 8 q + 7 in quarter q
    for (std::int64_t i = 0; i < kHalf; ++i) {
        const __m512i even = load_row(m + 2 * i * columns);
        const __m512i odd = load_row(m + (2 * i + 1) * columns);
        low[i] = _mm512_unpacklo_epi16(even, odd);
        high[i] = _mm512_unpackhi_epi16(even, odd);
    }
    transpose(low);
    transpose(high);
    for (std::int64_t i = 0; i < kHalf; ++i) {
        BFloat16* const row = block + (i / 4 * 8 + i % 4) * kTileBlock;
        store_row(low[i], streams, row);
        store_row(high[i], streams, row + 4 * kTileBlock);
    }
}

template <typename From> bool go_past_cache(const RightPanels<From>& to) {
    const std::int64_t bytes = to.rows * to.columns * 2;
    return goes_past_cache(bytes, to.turned) && (to.panels == nullptr || goes_past_cache(bytes, to.panels));
}

template <typename From>
CNNTRAIN_TILES void copy_block(const RightPanels<From>& to, const MatrixBlock& part, bool streams) {
    for (std::int64_t row = part.row; row < part.row + part.rows; row += kTileBlock) {
        for (std::int64_t column = part.column; column < part.column + part.columns; column += kTileBlock) {
            Block block;
            load_block(to.columns, to.m + row * to.columns + column, block);
            store_turned(block, streams, to.turned + row * to.columns + column * kTileBlock);
            if (to.panels != nullptr) store_pairs(block, streams, to.panels + column * to.rows + row * kTileBlock);
        }
    }
    if (streams) _mm_sfence();
}

}  // namespace

template <typename From> void copy_to_right_panels(const RightPanels<From>& to) {
    const bool streams = go_past_cache(to);
    parallel_tasks(to.rows / kTileBlock, [&](std::int64_t i) {
        copy_block(to, {i * kTileBlock, 0, kTileBlock, to.columns}, streams);
    });
}

template <typename From> void copy_to_right_panels(const RightPanels<From>& to, const MatrixBlock& block) {
    copy_block(to, block, go_past_cache(to));
}

template void copy_to_right_panels(const RightPanels<float>&);
template void copy_to_right_panels(const RightPanels<BFloat16>&);
template void copy_to_right_panels(const RightPanels<float>&, const MatrixBlock&);

void copy_to_turned_left_panels(std::int64_t rows, std::int64_t columns, const BFloat16* m, BFloat16* panels) {
    const bool streams = goes_past_cache(rows * columns * 2, panels);
    parallel_tasks(rows / kTileBlock, [&](std::int64_t block) {
        for (std::int64_t column = 0; column < columns; column += kTileBlock) {
            turn_left_block(columns, m + block * kTileBlock * columns + column, streams,
                            panels + column * rows + block * kTileBlock * kTileBlock);
        }
        if (streams) _mm_sfence();
    });
}

}  // namespace cnntrain::cpu
