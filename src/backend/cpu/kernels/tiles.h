// Matrix products in tiles of 16 rows of 64 bytes, with sums in f32. Intel's AMX has eight tile registers and an
// instruction that adds the product of two of them to a third (Intel 64 and IA-32 Architectures Software Developer's
// Manual, volume 1, chapter 18). AVX512-BF16, available from AMD since Zen 4, multiplies a row of a right tile by one
// pair of a left tile at a time.
//
// A tile of a left operand holds 16 rows of 32 elements. A tile of a right operand holds 16 pairs of rows of 16
// columns, with the two elements of a pair adjacent. Left operands are read in row-major order or from panels, right
// operands from panels only:
//
//   right panels  32 columns each, with their pairs of rows in order: Panels with 32 columns (kernels.h)
//   left panels   32 rows each, in blocks of 32 columns, each block row by row
//
// A tile of bytes holds 16 rows of 64. In right panels of bytes, four elements of a column are adjacent.
//
// For f32, a tile holds 16 rows of 16 elements. Operands are row-major: each thread copies a part of them into its
// cache while it multiplies the previous part.
#pragma once

#include <cstdint>

#include "backend/cpu/kernels/kernels.h"

namespace cnntrain::cpu {

/// The numbers of rows and columns of operands and results are multiples of this.
inline constexpr std::int64_t kTileBlock = 32;

/// The unit that multiplies tiles: Intel's AMX, AVX512-BF16's dot products, AVX-512's multiply-adds, or AVX512-VNNI's
/// products of bytes. The first two multiply bfloat16 and read the same panels; the third multiplies f32.
enum class TileUnit : std::uint8_t { amx, dot_products, multiply_adds, byte_products };

/// True if this processor has the unit and the system lets this process use it. The units for bfloat16, and the copy
/// functions below, need AVX512-BF16.
bool has(TileUnit unit);

/// [rows,inner] * [inner,columns] = [rows,columns]: multiples of kTileBlock.
struct TileProduct {
    std::int64_t rows = 0, inner = 0, columns = 0;

    std::int64_t blocks() const {
        return rows / kTileBlock * (columns / kTileBlock);
    }  // number of blocks in the
       // result
    bool is_whole() const { return rows % kTileBlock == 0 && inner % kTileBlock == 0 && columns % kTileBlock == 0; }
};

/// [rows,inner], row-major or in left panels.
struct LeftOperand {
    const BFloat16* data = nullptr;
    bool in_panels = false;
};

/// Scratch floats that a product needs for `threads` threads; with less scratch, fewer threads are used.
std::int64_t tile_scratch_floats(TileUnit unit, int threads);

/// y = x * w + bias, row-major; bias may be null. The result does not depend on the number of threads.
void tile_product(TileUnit unit, const TileProduct& product, const LeftOperand& x, const BFloat16* w, const float* bias,
                  BFloat16* y, std::span<float> scratch);
/// [rows,columns], row-major.
struct TileResult {
    float* data = nullptr;
    bool adds = false;  // add to the existing values
    /// [product.blocks()] receives the sum of squares of the final values of each 32 x 32 block, row by row; null: not
    /// needed.
    float* squares = nullptr;
};
/// y = x * w or y += x * w.
void tile_product(TileUnit unit, const TileProduct& product, const LeftOperand& x, const BFloat16* w,
                  const TileResult& y, std::span<float> scratch);

/// [rows,inner], row-major or stored as the row-major transpose.
struct FloatLeftOperand {
    const float* data = nullptr;
    bool is_turned = false;
};
/// y = x * w + bias or y += x * w + bias, all in f32, by TileUnit::multiply_adds. w and y are row-major; bias may be
/// null. The result does not depend on the number of threads.
void tile_product(const TileProduct& product, const FloatLeftOperand& x, const float* w, const float* bias,
                  const TileResult& y, std::span<float> scratch);

/// y = the values of x * w (see Rescaling), by TileUnit::byte_products. x and y are row-major, w is in byte panels. The
/// inner dimension is a multiple of kByteStep.
inline constexpr std::int64_t kByteStep = 64;
template <typename To> void tile_product(const TileProduct& product, const std::uint8_t* x, const std::int8_t* w,
                                         const Rescaling& how, To* y, std::span<float> scratch);
/// The byte panels of a row-major m [rows,columns].
void copy_to_byte_panels(std::int64_t rows, std::int64_t columns, const std::int8_t* m, std::int8_t* panels);

/// The right panels of m^T, and optionally of m, for a row-major m [rows,columns]. m is read once.
template <typename From> struct RightPanels {
    std::int64_t rows = 0, columns = 0;
    const From* m = nullptr;
    BFloat16* turned = nullptr;
    BFloat16* panels = nullptr;  // null: not needed
};
template <typename From> void copy_to_right_panels(const RightPanels<From>& to);
/// Copies a block of m to its positions in the panels, on the calling thread. Positions and sizes are multiples of
/// kTileBlock.
template <typename From> void copy_to_right_panels(const RightPanels<From>& to, const MatrixBlock& block);
/// The left panels of m^T, for a row-major m [rows,columns].
void copy_to_turned_left_panels(std::int64_t rows, std::int64_t columns, const BFloat16* m, BFloat16* panels);

}  // namespace cnntrain::cpu
