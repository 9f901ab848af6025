// Products of matrices in tiles of 16 rows of 64 bytes, with sums in f32. Intel's AMX has eight registers for tiles,
// and an instruction that adds the product of two of them to a third one (Intel 64 and IA-32 Architectures Software
// Developer's Manual, volume 1, chapter 18). AVX512-BF16, which AMD has since Zen 4, multiplies a row of a right tile
// by one pair of a left tile at a time.
//
// A tile of a left operand holds 16 rows of 32 elements; a tile of a right operand 16 pairs of rows of 16 columns, the
// two elements of a pair next to each other. Left operands are read as they lie or from panels, right operands from
// panels only:
//
//   right panels  32 columns each, in them the pairs of rows in turn: Panels with 32 columns (kernels.h)
//   left panels   32 rows each, in them blocks of 32 columns in turn, in a block its rows
//
// Of f32, a tile holds 16 rows of 16 elements. Operands are read as they lie: each thread copies a part of them into
// its cache, while it multiplies the part before.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/kernels.h"

namespace cnntrain::cpu {

/// Rows and columns of operands and results are multiples of this.
inline constexpr std::int64_t kTileBlock = 32;

/// What multiplies tiles: Intel's AMX, AVX512-BF16's dot products, or AVX-512's multiply-adds. The first two multiply
/// bfloat16 and read the same panels, the third one multiplies f32.
enum class TileUnit : std::uint8_t { amx, dot_products, multiply_adds };

/// Does this processor have the unit, and does the system let this process use it? Those for bfloat16 need AVX512-BF16,
/// and so do the copies below.
bool has(TileUnit unit);

/// [rows,inner] * [inner,columns] = [rows,columns]: multiples of kTileBlock.
struct TileProduct {
    std::int64_t rows = 0, inner = 0, columns = 0;

    std::int64_t blocks() const { return rows / kTileBlock * (columns / kTileBlock); }  // of the result
    bool is_whole() const { return rows % kTileBlock == 0 && inner % kTileBlock == 0 && columns % kTileBlock == 0; }
};

/// [rows,inner], row-major or in left panels.
struct LeftOperand {
    const BFloat16* data = nullptr;
    bool in_panels = false;
};

/// Floats that a product needs for so many threads; with fewer, fewer threads work on it.
std::int64_t tile_scratch_floats(TileUnit unit, int threads);

/// y = x * w + bias, row-major; no bias: null. The result does not depend on the number of threads.
void tile_product(TileUnit unit, const TileProduct& product, const LeftOperand& x, const BFloat16* w, const float* bias,
                  BFloat16* y, std::span<float> scratch);
/// [rows,columns], row-major.
struct TileResult {
    float* data = nullptr;
    bool adds = false;  // to what is there
    /// [product.blocks()] gets the sum of the squares of what is there afterwards, for each block of 32 x 32, row by
    /// row; null: nobody asks.
    float* squares = nullptr;
};
/// y = x * w or y += x * w.
void tile_product(TileUnit unit, const TileProduct& product, const LeftOperand& x, const BFloat16* w,
                  const TileResult& y, std::span<float> scratch);

/// [rows,inner], row-major or as the row-major transpose.
struct FloatLeftOperand {
    const float* data = nullptr;
    bool is_turned = false;
};
/// y = x * w + bias or y += x * w + bias, all of f32, w and y row-major, by TileUnit::multiply_adds; no bias: null. The
/// result does not depend on the number of threads.
void tile_product(const TileProduct& product, const FloatLeftOperand& x, const float* w, const float* bias,
                  const TileResult& y, std::span<float> scratch);

/// Of a row-major m [rows,columns], the right panels of m^T, and those of m where they are wanted. It is read once.
template <typename From> struct RightPanels {
    std::int64_t rows = 0, columns = 0;
    const From* m = nullptr;
    BFloat16* turned = nullptr;
    BFloat16* panels = nullptr;  // null: they are not
};
template <typename From> void copy_to_right_panels(const RightPanels<From>& to);
/// What a block of m has in them, by the calling thread; multiples of kTileBlock.
template <typename From> void copy_to_right_panels(const RightPanels<From>& to, const MatrixBlock& block);
/// The left panels of m^T, for a row-major m [rows,columns].
void copy_to_turned_left_panels(std::int64_t rows, std::int64_t columns, const BFloat16* m, BFloat16* panels);

}  // namespace cnntrain::cpu
