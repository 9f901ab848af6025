// Winograd's minimal filtering F(4x4, 3x3). Polynomials of degree 5 are multiplied by their values at 0, 3/4, -3/4, 3/2,
// -3/2 and infinity, in both directions of the image. So each tile of 6 x 6 pixels of x and each kernel become 36
// numbers per channel, "places", and a convolution becomes a product of matrices [tiles, I] x [I, O] at every place.
// Values at these points round half as much as those at the usual ones, 1 and 2: about twice as much as a direct
// convolution.
//
// Transformed tiles are kept as [place][16 channels][tile], with 16 adjacent channels each, and transformed kernels in
// panels of output channels: [panel][place][I][columns of a panel].
#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "backend/cpu/kernels/winograd.h"
#include "cnntrain/base/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/winograd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_WINOGRAD_ARGUMENTS_
#define CNNTRAIN_CPU_WINOGRAD_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

constexpr std::int64_t kBlock = kWinogradChannels;
constexpr std::int64_t kOut = 4;   // pixels of y in a row of a tile
constexpr std::int64_t kIn = 6;    // pixels of x
constexpr std::int64_t kTaps = 3;  // elements in a row of a kernel
constexpr std::int64_t kPlaces = kIn * kIn;
constexpr std::int64_t kPixelsOut = kOut * kOut;

/// Tiles of one place and all blocks of channels lie `place_floats()` apart. That is an odd number of cache lines, so
/// that the places of a tile do not evict each other from the first-level cache.
struct Transformed {
    float* data = nullptr;
    std::int64_t blocks = 0, tiles = 0;

    static std::int64_t place_floats(std::int64_t blocks, std::int64_t tiles) {
        return (blocks * tiles + (blocks * tiles + 1) % 2) * kBlock;
    }
    std::int64_t place_floats() const { return place_floats(blocks, tiles); }
    std::int64_t floats() const { return kPlaces * place_floats(); }
    std::int64_t offset(std::int64_t block, std::int64_t tile) const { return (block * tiles + tile) * kBlock; }
};

/// Tiles `first` ... `first + count - 1` of all samples, row by row.
struct TileRange {
    std::int64_t first = 0, count = 0;
};

/// A tensor whose blocks of channels are cut into tiles, tile (0, 0) of which begins at pixel (-top, -left).
template <typename T> struct TiledPicture {
    const Picture* picture = nullptr;
    std::int64_t tile_rows = 0, tile_columns = 0;  // in a sample
    std::int64_t top = 0, left = 0;
    T* data = nullptr;
};

/// The part of a tile, in its own pixels, that lies inside the image.
struct Inside {
    std::int64_t top = 0, bottom = 0, left = 0, right = 0;
    bool is_whole(std::int64_t size) const { return top == 0 && left == 0 && bottom == size && right == size; }
    bool has(std::int64_t row, std::int64_t column) const {
        return row >= top && row < bottom && column >= left && column < right;
    }
};

/// Where sixteen channels of a tile lie: its pixel (row, column) at offset + row * row_apart + column * column_apart,
/// the second eight channels half_apart further on.
struct TilePosition {
    std::int64_t offset = 0, row_apart = 0, column_apart = 0, half_apart = 0;
    Inside inside;
    std::int64_t at(std::int64_t row, std::int64_t column, std::int64_t channel) const {
        constexpr std::int64_t kHalf = kBlock / 2;
        return offset + row * row_apart + column * column_apart +
               (channel < kHalf ? channel : half_apart + channel - kHalf);
    }
};

template <typename T>
TilePosition position_of(const TiledPicture<T>& tiled, std::int64_t tile, std::int64_t block, std::int64_t size) {
    const Picture& picture = *tiled.picture;
    const std::int64_t sample = tile / (tiled.tile_rows * tiled.tile_columns);
    const std::int64_t row = tile / tiled.tile_columns % tiled.tile_rows * kOut - tiled.top;
    const std::int64_t column = tile % tiled.tile_columns * kOut - tiled.left;
    const std::int64_t lanes = picture.shape.lanes;
    const std::int64_t channel = block * kBlock;
    const std::int64_t second = channel + kBlock / 2;
    const std::int64_t begin = picture.shape.offset(sample, channel / lanes, 0) + channel % lanes;
    TilePosition position;
    position.row_apart = picture.width * lanes;
    position.column_apart = lanes;
    position.offset = begin + row * position.row_apart + column * position.column_apart;
    position.half_apart = picture.shape.offset(sample, second / lanes, 0) + second % lanes - begin;
    position.inside = {std::max<std::int64_t>(0, -row), std::min(size, picture.height - row),
                       std::max<std::int64_t>(0, -column), std::min(size, picture.width - column)};
    return position;
}

/// Tiles of x times panels of the kernel, added up and written to y.
template <typename T> struct ConvTask {
    TiledPicture<const T> x;
    TiledPicture<T> y;
    TileRange tiles;
    std::int64_t first_panel = 0, panels = 0;
    const float* filter = nullptr;
    std::int64_t outputs = 0;
    WinogradEpilogue<T> epilogue;
    Transformed v;  // of all input channels
    Transformed m;  // of the output channels of one panel
};

/// Transforms some tiles of a chunk, of x and of dy.
template <typename T> struct GradientTiles {
    TiledPicture<const T> x, dy;
    TileRange chunk;                    // all tiles that v and z hold
    std::int64_t first = 0, count = 0;  // of these, to be transformed
    Transformed v, z;
};

/// sums [I,O] (+)= v^T z at one place, for `columns` output channels from `first_column` on.
struct GradientProduct {
    const Transformed* v = nullptr;
    const Transformed* z = nullptr;
    std::int64_t place = 0, tiles = 0;
    std::int64_t first_block = 0, blocks = 0;  // of output channels
    std::int64_t outputs = 0;
    float* sums = nullptr;
    bool adds = false;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// Vectors and columns of a panel, and rows that are multiplied by it at a time: the sums take three quarters of the
/// registers, of 32 with AVX-512 and of 16 otherwise.
constexpr std::int64_t kPanel = kWidth == kBlock ? 2 * kBlock : kBlock;
constexpr std::int64_t kRows = kWidth == kBlock ? 12 : kWidth == kBlock / 2 ? 6 : 3;
/// Rows of the weight gradient's products; divides kBlock.
constexpr std::int64_t kGradientRows = kWidth == kBlock ? 8 : kWidth == kBlock / 2 ? 4 : 2;

constexpr float kNear = 0.75F, kFar = 1.5F;  // the points are 0, these, their negatives, and infinity
constexpr float kNear2 = kNear * kNear, kFar2 = kFar * kFar;
constexpr float kProduct = kNear2 * kFar2, kSum = kNear2 + kFar2;
/// Products of the distances of a point from all others.
constexpr float kZeroNorm = 1 / kProduct;
constexpr float kNearNorm = 1 / (2 * kNear2 * (kNear2 - kFar2));
constexpr float kFarNorm = 1 / (2 * kFar2 * (kFar2 - kNear2));

HWY_INLINE Floats number(float value) {
    return hn::Set(FloatTag(), value);
}

/// [6] pixels of x -> [6] places. Row i of the matrix has the coefficients of the polynomial that is zero at all points
/// but point i.
struct InputTransform {
    static constexpr std::int64_t kFrom = kIn, kTo = kIn;
    static HWY_INLINE void run(const Floats* d, Floats* v) {
        const Floats near_even = hn::NegMulAdd(number(kFar2), d[2], d[4]);
        const Floats near_odd = hn::NegMulAdd(number(kFar2), d[1], d[3]);
        const Floats far_even = hn::NegMulAdd(number(kNear2), d[2], d[4]);
        const Floats far_odd = hn::NegMulAdd(number(kNear2), d[1], d[3]);
        v[0] = hn::MulAdd(number(kProduct), d[0], hn::NegMulAdd(number(kSum), d[2], d[4]));
        v[1] = hn::MulAdd(number(kNear), near_odd, near_even);
        v[2] = hn::NegMulAdd(number(kNear), near_odd, near_even);
        v[3] = hn::MulAdd(number(kFar), far_odd, far_even);
        v[4] = hn::NegMulAdd(number(kFar), far_odd, far_even);
        v[5] = hn::MulAdd(number(kProduct), d[1], hn::NegMulAdd(number(kSum), d[3], d[5]));
    }
};

/// [6] places -> [4] pixels of y: the powers of the points.
struct OutputTransform {
    static constexpr std::int64_t kFrom = kIn, kTo = kOut;
    static HWY_INLINE void run(const Floats* m, Floats* y) {
        const Floats near_even = hn::Add(m[1], m[2]);
        const Floats near_odd = hn::Mul(number(kNear), hn::Sub(m[1], m[2]));
        const Floats far_even = hn::Add(m[3], m[4]);
        const Floats far_odd = hn::Mul(number(kFar), hn::Sub(m[3], m[4]));
        y[0] = hn::Add(m[0], hn::Add(near_even, far_even));
        y[1] = hn::Add(near_odd, far_odd);
        y[2] = hn::MulAdd(number(kNear2), near_even, hn::Mul(number(kFar2), far_even));
        y[3] = hn::MulAdd(number(kNear2), near_odd, hn::MulAdd(number(kFar2), far_odd, m[5]));
    }
};

/// The transpose of OutputTransform: [4] pixels of dy -> [6] places.
struct GradientTransform {
    static constexpr std::int64_t kFrom = kOut, kTo = kIn;
    static HWY_INLINE void run(const Floats* dy, Floats* z) {
        const Floats near_even = hn::MulAdd(number(kNear2), dy[2], dy[0]);
        const Floats near_odd = hn::MulAdd(number(kNear2), dy[3], dy[1]);
        const Floats far_even = hn::MulAdd(number(kFar2), dy[2], dy[0]);
        const Floats far_odd = hn::MulAdd(number(kFar2), dy[3], dy[1]);
        z[0] = dy[0];
        z[1] = hn::MulAdd(number(kNear), near_odd, near_even);
        z[2] = hn::NegMulAdd(number(kNear), near_odd, near_even);
        z[3] = hn::MulAdd(number(kFar), far_odd, far_even);
        z[4] = hn::NegMulAdd(number(kFar), far_odd, far_even);
        z[5] = dy[3];
    }
};

/// [3] elements of a kernel -> [6] places.
struct KernelTransform {
    static constexpr std::int64_t kFrom = kTaps, kTo = kIn;
    static HWY_INLINE void run(const Floats* w, Floats* u) {
        const Floats near_even = hn::Mul(number(kNearNorm), hn::MulAdd(number(kNear2), w[2], w[0]));
        const Floats near_odd = hn::Mul(number(kNearNorm * kNear), w[1]);
        const Floats far_even = hn::Mul(number(kFarNorm), hn::MulAdd(number(kFar2), w[2], w[0]));
        const Floats far_odd = hn::Mul(number(kFarNorm * kFar), w[1]);
        u[0] = hn::Mul(number(kZeroNorm), w[0]);
        u[1] = hn::Add(near_even, near_odd);
        u[2] = hn::Sub(near_even, near_odd);
        u[3] = hn::Add(far_even, far_odd);
        u[4] = hn::Sub(far_even, far_odd);
        u[5] = w[2];
    }
};

/// The transpose of KernelTransform: [6] places -> [3] elements of a kernel's gradient.
struct KernelGradTransform {
    static constexpr std::int64_t kFrom = kIn, kTo = kTaps;
    static HWY_INLINE void run(const Floats* s, Floats* dw) {
        const Floats near_even = hn::Mul(number(kNearNorm), hn::Add(s[1], s[2]));
        const Floats far_even = hn::Mul(number(kFarNorm), hn::Add(s[3], s[4]));
        dw[0] = hn::MulAdd(number(kZeroNorm), s[0], hn::Add(near_even, far_even));
        dw[1] = hn::MulAdd(number(kNearNorm * kNear), hn::Sub(s[1], s[2]),
                           hn::Mul(number(kFarNorm * kFar), hn::Sub(s[3], s[4])));
        dw[2] = hn::MulAdd(number(kNear2), near_even, hn::MulAdd(number(kFar2), far_even, s[5]));
    }
};

/// Applies the transform to the columns and then to the rows of a square of vectors: get(row, column) gives, and
/// put(row, column, vector) takes one.
template <typename Transform, typename Get, typename Put>
HWY_INLINE void transform_square(const Get& get, const Put& put) {
    constexpr std::int64_t kFrom = Transform::kFrom, kTo = Transform::kTo;
    HWY_ALIGN float between[kTo * kFrom * kWidth];
    Floats from[kFrom], to[kTo];
#pragma GCC unroll 6
    for (std::int64_t column = 0; column < kFrom; ++column) {
#pragma GCC unroll 6
        for (std::int64_t row = 0; row < kFrom; ++row)
            from[row] = get(row, column);
        Transform::run(from, to);
#pragma GCC unroll 6
        for (std::int64_t row = 0; row < kTo; ++row)
            hn::Store(to[row], FloatTag(), between + (row * kFrom + column) * kWidth);
    }
#pragma GCC unroll 6
    for (std::int64_t row = 0; row < kTo; ++row) {
#pragma GCC unroll 6
        for (std::int64_t column = 0; column < kFrom; ++column)
            from[column] = hn::Load(FloatTag(), between + (row * kFrom + column) * kWidth);
        Transform::run(from, to);
#pragma GCC unroll 6
        for (std::int64_t column = 0; column < kTo; ++column)
            put(row, column, to[column]);
    }
}

/// Transforms one block of channels of one tile to tile `index` of `to`.
template <typename Transform, typename T> HWY_INLINE void transform_tile(const TiledPicture<const T>& from,
                                                                         std::int64_t tile, std::int64_t block,
                                                                         const Transformed& to, std::int64_t index) {
    const TilePosition position = position_of(from, tile, block, Transform::kFrom);
    const std::int64_t apart = to.place_floats();
    const bool is_whole = position.inside.is_whole(Transform::kFrom);
    for (std::int64_t i = 0; i < kBlock; i += kWidth) {
        float* const at = to.data + to.offset(block, index) + i;
        const auto put = [&](std::int64_t row, std::int64_t column, Floats value)
                             HWY_ATTR { store(value, at + (row * kIn + column) * apart); };
        if (is_whole) {
            transform_square<Transform>([&](std::int64_t row, std::int64_t column)
                                            HWY_ATTR { return load(from.data + position.at(row, column, i)); },
                                        put);
        } else {
            transform_square<Transform>(
                [&](std::int64_t row, std::int64_t column) HWY_ATTR {
                    return position.inside.has(row, column) ? load(from.data + position.at(row, column, i))
                                                            : hn::Zero(FloatTag());
                },
                put);
        }
    }
}

template <typename T>
HWY_INLINE Floats finished(const WinogradEpilogue<T>& epilogue, Floats bias, Floats value, std::int64_t offset) {
    Floats result = hn::Add(value, bias);
    if (epilogue.residual != nullptr) result = hn::Add(result, load(epilogue.residual + offset));
    switch (epilogue.activation) {
        case Activation::relu:
            return positive_part(result);
        case Activation::swish:
            return swish(result);
        default:
            return result;
    }
}

/// Transforms the sums of one block of output channels, block `from` of m, back to pixels.
template <typename T>
HWY_INLINE void write_tile(const ConvTask<T>& task, std::int64_t index, std::int64_t from, std::int64_t block) {
    const TilePosition position = position_of(task.y, task.tiles.first + index, block, kOut);
    const std::int64_t apart = task.m.place_floats();
    for (std::int64_t i = 0; i < kBlock; i += kWidth) {
        const float* const at = task.m.data + task.m.offset(from, index) + i;
        const Floats bias =
            task.epilogue.bias != nullptr ? load(task.epilogue.bias + block * kBlock + i) : hn::Zero(FloatTag());
        transform_square<OutputTransform>([&](std::int64_t row, std::int64_t column)
                                              HWY_ATTR { return load(at + (row * kIn + column) * apart); },
                                          [&](std::int64_t row, std::int64_t column, Floats value) HWY_ATTR {
                                              if (!position.inside.has(row, column)) return;
                                              const std::int64_t offset = position.at(row, column, i);
                                              store(finished(task.epilogue, bias, value, offset), task.y.data + offset);
                                          });
    }
}

/// m [rows, columns] = v [rows, I] * panel [I, columns], rows and columns in registers.
template <std::int64_t kTileRows, std::int64_t kColumns>
HWY_INLINE void multiply_rows(const float* v, std::int64_t v_block, std::int64_t blocks, const float* panel, float* m,
                              std::int64_t m_block) {
    constexpr std::int64_t kVectors = kColumns / kWidth;
    Floats sum[kTileRows][kVectors];
#pragma GCC unroll 12
    for (std::int64_t row = 0; row < kTileRows; ++row) {
#pragma GCC unroll 4
        for (std::int64_t vector = 0; vector < kVectors; ++vector)
            sum[row][vector] = hn::Zero(FloatTag());
    }
    for (std::int64_t block = 0; block < blocks; ++block) {
        for (std::int64_t channel = 0; channel < kBlock; ++channel) {
            Floats columns[kVectors];
#pragma GCC unroll 4
            for (std::int64_t vector = 0; vector < kVectors; ++vector)
                columns[vector] = load(panel + vector * kWidth);
#pragma GCC unroll 12
            for (std::int64_t row = 0; row < kTileRows; ++row) {
                const Floats everywhere = number(v[row * kBlock + channel]);
#pragma GCC unroll 4
                for (std::int64_t vector = 0; vector < kVectors; ++vector)
                    sum[row][vector] = hn::MulAdd(everywhere, columns[vector], sum[row][vector]);
            }
            panel += kColumns;
        }
        v += v_block;
    }
#pragma GCC unroll 12
    for (std::int64_t row = 0; row < kTileRows; ++row) {
#pragma GCC unroll 4
        for (std::int64_t vector = 0; vector < kVectors; ++vector) {
            const std::int64_t column = vector * kWidth;
            store(sum[row][vector], m + column / kBlock * m_block + row * kBlock + column % kBlock);
        }
    }
}

using MultiplyRows = void (*)(const float*, std::int64_t, std::int64_t, const float*, float*, std::int64_t);

/// multiply_rows for 0, 1, ... kRows rows.
template <std::int64_t kColumns, std::size_t... kCounts>
constexpr std::array<MultiplyRows, sizeof...(kCounts) + 1> rows_table(std::index_sequence<kCounts...> /*counts*/) {
    return {nullptr, &multiply_rows<static_cast<std::int64_t>(kCounts) + 1, kColumns>...};
}

/// All tiles of a task at all places, by one panel of kColumns columns.
template <std::int64_t kColumns>
void multiply_panel(const Transformed& v, const float* panel, const Transformed& m, std::int64_t tiles) {
    static constexpr auto kTable = rows_table<kColumns>(std::make_index_sequence<static_cast<std::size_t>(kRows)>());
    const std::int64_t v_block = v.offset(1, 0);
    const std::int64_t m_block = m.offset(1, 0);
    for (std::int64_t place = 0; place < kPlaces; ++place) {
        const float* const from = v.data + place * v.place_floats();
        float* const to = m.data + place * m.place_floats();
        for (std::int64_t tile = 0; tile < tiles; tile += kRows) {
            const std::int64_t rows = std::min(kRows, tiles - tile);
            kTable[static_cast<std::size_t>(rows)](from + tile * kBlock, v_block, v.blocks, panel, to + tile * kBlock,
                                                   m_block);
        }
        panel += v.blocks * kBlock * kColumns;
    }
}

template <typename T> void run_task(const ConvTask<T>& task) {
    for (std::int64_t block = 0; block < task.v.blocks; ++block) {
        for (std::int64_t index = 0; index < task.tiles.count; ++index)
            transform_tile<InputTransform>(task.x, task.tiles.first + index, block, task.v, index);
    }
    for (std::int64_t panel = task.first_panel; panel < task.first_panel + task.panels; ++panel) {
        const std::int64_t column = panel * kPanel;
        const std::int64_t columns = std::min(kPanel, task.outputs - column);
        const float* const filter = task.filter + kPlaces * task.v.blocks * kBlock * column;
        if (columns == kPanel) {
            multiply_panel<kPanel>(task.v, filter, task.m, task.tiles.count);
        } else {
            multiply_panel<kBlock>(task.v, filter, task.m, task.tiles.count);
        }
        for (std::int64_t block = 0; block < columns / kBlock; ++block) {
            for (std::int64_t index = 0; index < task.tiles.count; ++index)
                write_tile(task, index, block, column / kBlock + block);
        }
    }
}

void run_task_f32(const ConvTask<float>& task) {
    run_task(task);
}
void run_task_bf16(const ConvTask<BFloat16>& task) {
    run_task(task);
}

template <typename T> void transform_gradient_tiles(const GradientTiles<T>& tiles) {
    const std::int64_t end = tiles.first + tiles.count;
    for (std::int64_t block = 0; block < tiles.v.blocks; ++block) {
        for (std::int64_t index = tiles.first; index < end; ++index)
            transform_tile<InputTransform>(tiles.x, tiles.chunk.first + index, block, tiles.v, index);
    }
    for (std::int64_t block = 0; block < tiles.z.blocks; ++block) {
        for (std::int64_t index = tiles.first; index < end; ++index)
            transform_tile<GradientTransform>(tiles.dy, tiles.chunk.first + index, block, tiles.z, index);
    }
}

void transform_gradient_tiles_f32(const GradientTiles<float>& tiles) {
    transform_gradient_tiles(tiles);
}
void transform_gradient_tiles_bf16(const GradientTiles<BFloat16>& tiles) {
    transform_gradient_tiles(tiles);
}

/// sums [kGradientRows, kColumns] (+)= v [tiles, rows]^T * z [tiles, columns].
template <std::int64_t kColumns>
HWY_INLINE void multiply_tiles(const GradientProduct& product, const float* v, const float* z, float* sums) {
    constexpr std::int64_t kVectors = kColumns / kWidth;
    const std::int64_t z_block = product.z->offset(1, 0);
    Floats sum[kGradientRows][kVectors];
#pragma GCC unroll 8
    for (std::int64_t row = 0; row < kGradientRows; ++row) {
#pragma GCC unroll 4
        for (std::int64_t vector = 0; vector < kVectors; ++vector) {
            sum[row][vector] =
                product.adds ? load(sums + row * product.outputs + vector * kWidth) : hn::Zero(FloatTag());
        }
    }
    for (std::int64_t tile = 0; tile < product.tiles; ++tile) {
        Floats columns[kVectors];
#pragma GCC unroll 4
        for (std::int64_t vector = 0; vector < kVectors; ++vector) {
            const std::int64_t column = vector * kWidth;
            columns[vector] = load(z + column / kBlock * z_block + column % kBlock);
        }
#pragma GCC unroll 8
        for (std::int64_t row = 0; row < kGradientRows; ++row) {
            const Floats everywhere = number(v[row]);
#pragma GCC unroll 4
            for (std::int64_t vector = 0; vector < kVectors; ++vector)
                sum[row][vector] = hn::MulAdd(everywhere, columns[vector], sum[row][vector]);
        }
        v += kBlock;
        z += kBlock;
    }
#pragma GCC unroll 8
    for (std::int64_t row = 0; row < kGradientRows; ++row) {
#pragma GCC unroll 4
        for (std::int64_t vector = 0; vector < kVectors; ++vector)
            store(sum[row][vector], sums + row * product.outputs + vector * kWidth);
    }
}

void multiply_gradient(const GradientProduct& product) {
    const float* const v = product.v->data + product.place * product.v->place_floats();
    const float* const z = product.z->data + product.place * product.z->place_floats();
    const std::int64_t last = product.first_block + product.blocks;
    for (std::int64_t block = product.first_block; block < last;) {
        const bool is_whole = (last - block) * kBlock >= kPanel;
        for (std::int64_t row = 0; row < product.v->blocks * kBlock; row += kGradientRows) {
            const float* const rows = v + product.v->offset(row / kBlock, 0) + row % kBlock;
            float* const sums = product.sums + row * product.outputs + block * kBlock;
            if (is_whole) {
                multiply_tiles<kPanel>(product, rows, z + product.z->offset(block, 0), sums);
            } else {
                multiply_tiles<kBlock>(product, rows, z + product.z->offset(block, 0), sums);
            }
        }
        block += is_whole ? kPanel / kBlock : 1;
    }
}

/// dw of one row of inputs: `sums` and dw have their places and elements `apart` floats apart.
void finish_gradient(const float* sums, std::int64_t apart, std::int64_t count, float* dw) {
    for (std::int64_t i = 0; i < count; i += kWidth) {
        transform_square<KernelGradTransform>([&](std::int64_t row, std::int64_t column)
                                                  HWY_ATTR { return load(sums + (row * kIn + column) * apart + i); },
                                              [&](std::int64_t row, std::int64_t column, Floats value)
                                                  HWY_ATTR { store(value, dw + (row * kTaps + column) * apart + i); });
    }
}

/// Transforms a block of 16 inputs x 16 outputs, [9][16][16], to its place in a panel: `to` is its first input at
/// place 0.
void transform_kernel_block(const float* w, std::int64_t inputs, std::int64_t columns, float* to) {
    for (std::int64_t input = 0; input < kBlock; ++input) {
        for (std::int64_t i = 0; i < kBlock; i += kWidth) {
            transform_square<KernelTransform>(
                [&](std::int64_t row, std::int64_t column)
                    HWY_ATTR { return load(w + ((row * kTaps + column) * kBlock + input) * kBlock + i); },
                [&](std::int64_t row, std::int64_t column, Floats value)
                    HWY_ATTR { store(value, to + ((row * kIn + column) * inputs + input) * columns + i); });
        }
    }
}

std::int64_t panel_columns() {
    return kPanel;
}
std::int64_t rows_at_a_time() {
    return kRows;
}
std::int64_t vector_width() {
    return kWidth;
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "backend/cpu/kernels/parallel.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(run_task_f32);
HWY_EXPORT(run_task_bf16);
HWY_EXPORT(transform_gradient_tiles_f32);
HWY_EXPORT(transform_gradient_tiles_bf16);
HWY_EXPORT(multiply_gradient);
HWY_EXPORT(finish_gradient);
HWY_EXPORT(transform_kernel_block);
HWY_EXPORT(panel_columns);
HWY_EXPORT(rows_at_a_time);
HWY_EXPORT(vector_width);

void run(const ConvTask<float>& task) {
    HWY_DYNAMIC_DISPATCH(run_task_f32)(task);
}
void run(const ConvTask<BFloat16>& task) {
    HWY_DYNAMIC_DISPATCH(run_task_bf16)(task);
}
void run(const GradientTiles<float>& tiles) {
    HWY_DYNAMIC_DISPATCH(transform_gradient_tiles_f32)(tiles);
}
void run(const GradientTiles<BFloat16>& tiles) {
    HWY_DYNAMIC_DISPATCH(transform_gradient_tiles_bf16)(tiles);
}

std::int64_t up(std::int64_t all, std::int64_t parts) {
    return (all + parts - 1) / parts;
}

/// Tensors that begin at pixel (0, 0) of a tile, or `top` rows and `left` columns before it.
template <typename T> TiledPicture<T> tiled(const WinogradShape& shape, const Picture& picture, T* data,
                                            std::int64_t top, std::int64_t left) {
    return {&picture, up(shape.y.height, kOut), up(shape.y.width, kOut), top, left, data};
}

std::int64_t blocks_of(std::int64_t channels) {
    return channels / kBlock;
}

/// How a convolution is divided among threads.
struct Plan {
    std::int64_t tiles = 0;        // of a task; the last one may have fewer
    std::int64_t chunks = 0;       // of tiles
    std::int64_t panels = 0;       // of a task
    std::int64_t panel_parts = 0;  // tasks with the same tiles

    std::int64_t tasks() const { return chunks * panel_parts; }
};

/// As many tiles as a second-level cache holds transformed, and tasks for all threads.
Plan plan_of(const WinogradShape& shape, std::int64_t threads) {
    constexpr std::int64_t kTransformedFloats = std::int64_t{160} << 10;
    const std::int64_t rows = HWY_DYNAMIC_DISPATCH(rows_at_a_time)();
    const std::int64_t all_panels = up(shape.outputs(), HWY_DYNAMIC_DISPATCH(panel_columns)());
    const std::int64_t most = std::max(2 * rows, kTransformedFloats / (kPlaces * shape.inputs()) / rows * rows);
    const std::int64_t all = shape.tiles();
    Plan plan;
    plan.chunks = up(all, most);
    // As many chunks for one thread as for another, as long as none has fewer tiles than are multiplied at a time.
    const std::int64_t even = up(plan.chunks, threads) * threads;
    if (up(all, even) >= rows) plan.chunks = even;
    plan.tiles = up(all, plan.chunks);
    plan.chunks = up(all, plan.tiles);
    const std::int64_t parts = std::min(all_panels, up(threads, plan.chunks));
    plan.panels = up(all_panels, parts);
    plan.panel_parts = up(all_panels, plan.panels);
    return plan;
}

/// Scratch of a thread: transformed tiles of x, and sums of one panel.
std::int64_t task_floats(const WinogradShape& shape, const Plan& plan) {
    const std::int64_t panel = HWY_DYNAMIC_DISPATCH(panel_columns)();
    return Transformed{nullptr, blocks_of(shape.inputs()), plan.tiles}.floats() +
           Transformed{nullptr, blocks_of(panel), plan.tiles}.floats();
}

/// How a weight gradient is divided: chunks of tiles, one after the other.
struct GradientPlan {
    std::int64_t tiles = 0;  // of a chunk
    Transformed v, z;        // of a chunk
    std::int64_t sums = 0;   // floats

    std::int64_t floats() const { return v.floats() + z.floats() + sums; }
};

/// A chunk's tiles stay in a third-level cache.
GradientPlan gradient_plan_of(const WinogradShape& shape) {
    constexpr std::int64_t kTransformedFloats = std::int64_t{2} << 20;
    constexpr std::int64_t kFewest = 64;
    const std::int64_t channels = shape.inputs() + shape.outputs();
    const std::int64_t all = shape.tiles();
    const std::int64_t chunks = up(all, std::max(kFewest, kTransformedFloats / (kPlaces * channels)));
    GradientPlan plan;
    plan.tiles = up(all, chunks);
    plan.v = {nullptr, blocks_of(shape.inputs()), plan.tiles};
    plan.z = {nullptr, blocks_of(shape.outputs()), plan.tiles};
    plan.sums = kPlaces * shape.inputs() * shape.outputs();
    return plan;
}

float float_of(float value) {
    return value;
}
float float_of(BFloat16 value) {
    return to_float(value);
}

/// Copies a block of 16 inputs x 16 outputs as [9][16][16]. `turned`: from the kernel of the opposite direction.
template <typename T> void copy_kernel_block(const WinogradShape& shape, bool turned, const T* w, std::int64_t input,
                                             std::int64_t output, float* block) {
    for (std::int64_t tap = 0; tap < kTaps * kTaps; ++tap) {
        for (std::int64_t i = 0; i < kBlock; ++i) {
            for (std::int64_t o = 0; o < kBlock; ++o) {
                const std::int64_t from =
                    turned ? ((kTaps * kTaps - 1 - tap) * shape.outputs() + output + o) * shape.inputs() + input + i
                           : (tap * shape.inputs() + input + i) * shape.outputs() + output + o;
                block[(tap * kBlock + i) * kBlock + o] = float_of(w[from]);
            }
        }
    }
}

}  // namespace

bool has_winograd(const WinogradShape& shape) {
    const std::int64_t width = HWY_DYNAMIC_DISPATCH(vector_width)();
    const auto is_whole = [&](const Blocks& tensor) {
        return tensor.channels() % kBlock == 0 &&
               (tensor.lanes % kBlock == 0 || (tensor.lanes == kBlock / 2 && width <= kBlock / 2));
    };
    return is_whole(shape.x.shape) && is_whole(shape.y.shape);
}

std::int64_t winograd_filter_floats(const WinogradShape& shape) {
    return kPlaces * shape.inputs() * shape.outputs();
}

template <typename T> void winograd_filter(const WinogradShape& shape, bool turned, const T* w, float* filter) {
    const std::int64_t panel = HWY_DYNAMIC_DISPATCH(panel_columns)();
    const std::int64_t inputs = shape.inputs();
    parallel_tasks(blocks_of(inputs) * blocks_of(shape.outputs()), [&](std::int64_t task) {
        const std::int64_t output = task / blocks_of(inputs) * kBlock;
        const std::int64_t input = task % blocks_of(inputs) * kBlock;
        alignas(64) float block[kTaps * kTaps * kBlock * kBlock];
        copy_kernel_block(shape, turned, w, input, output, block);
        const std::int64_t first = output / panel * panel;  // column of the panel
        const std::int64_t columns = std::min(panel, shape.outputs() - first);
        HWY_DYNAMIC_DISPATCH(transform_kernel_block)
        (block, inputs, columns, filter + kPlaces * inputs * first + input * columns + output - first);
    });
}

std::int64_t winograd_scratch_floats(const WinogradShape& shape, int threads) {
    const Plan plan = plan_of(shape, threads);
    return std::min<std::int64_t>(threads, plan.tasks()) * task_floats(shape, plan);
}

template <typename T> void winograd_conv(const WinogradShape& shape, const T* x, const float* filter,
                                         const WinogradEpilogue<T>& epilogue, T* y, std::span<float> scratch) {
    const Plan plan = plan_of(shape, omp_get_max_threads());
    const std::int64_t floats = task_floats(shape, plan);
    const std::int64_t threads = std::min<std::int64_t>(omp_get_max_threads(), plan.tasks());
    CNNTRAIN_CHECK(std::ssize(scratch) >= threads * floats, "scratch is smaller than winograd_scratch_floats");
    const std::int64_t all_panels = up(shape.outputs(), HWY_DYNAMIC_DISPATCH(panel_columns)());
    parallel_tasks(threads, [&](std::int64_t thread) {
        ConvTask<T> task;
        task.x = tiled(shape, shape.x, x, shape.top, shape.left);
        task.y = tiled(shape, shape.y, y, 0, 0);
        task.filter = filter;
        task.outputs = shape.outputs();
        task.epilogue = epilogue;
        const std::int64_t end = plan.tasks() * (thread + 1) / threads;
        for (std::int64_t number = plan.tasks() * thread / threads; number < end; ++number) {
            const std::int64_t first = number / plan.panel_parts * plan.tiles;
            task.tiles = {first, std::min(plan.tiles, shape.tiles() - first)};
            task.first_panel = number % plan.panel_parts * plan.panels;
            task.panels = std::min(plan.panels, all_panels - task.first_panel);
            task.v = {scratch.data() + thread * floats, blocks_of(shape.inputs()), plan.tiles};
            task.m = {task.v.data + task.v.floats(), blocks_of(HWY_DYNAMIC_DISPATCH(panel_columns)()), plan.tiles};
            run(task);
        }
    });
}

std::int64_t winograd_weight_grad_scratch_floats(const WinogradShape& shape) {
    return gradient_plan_of(shape).floats();
}

template <typename T>
void winograd_weight_grad(const WinogradShape& shape, const T* x, const T* dy, float* dw, std::span<float> scratch) {
    GradientPlan plan = gradient_plan_of(shape);
    CNNTRAIN_CHECK(std::ssize(scratch) >= plan.floats(), "scratch is smaller than winograd_weight_grad_scratch_floats");
    plan.v.data = scratch.data();
    plan.z.data = plan.v.data + plan.v.floats();
    float* const sums = plan.z.data + plan.z.floats();
    const std::int64_t apart = shape.inputs() * shape.outputs();
    GradientTiles<T> tiles{
        tiled(shape, shape.x, x, shape.top, shape.left), tiled(shape, shape.y, dy, 0, 0), {}, 0, 0, plan.v, plan.z};
    constexpr std::int64_t kTilesAtOnce = 8;
    constexpr std::int64_t kBlocksAtOnce = 4;  // of output channels
    const std::int64_t parts = up(blocks_of(shape.outputs()), kBlocksAtOnce);
    for (std::int64_t first = 0; first < shape.tiles(); first += plan.tiles) {
        tiles.chunk = {first, std::min(plan.tiles, shape.tiles() - first)};
        parallel_tasks(up(tiles.chunk.count, kTilesAtOnce), [&](std::int64_t task) {
            GradientTiles<T> some = tiles;
            some.first = task * kTilesAtOnce;
            some.count = std::min(kTilesAtOnce, tiles.chunk.count - some.first);
            run(some);
        });
        parallel_tasks(kPlaces * parts, [&](std::int64_t task) {
            GradientProduct product{&plan.v, &plan.z, task / parts, tiles.chunk.count};
            product.first_block = task % parts * kBlocksAtOnce;
            product.blocks = std::min(kBlocksAtOnce, blocks_of(shape.outputs()) - product.first_block);
            product.outputs = shape.outputs();
            product.sums = sums + product.place * apart;
            product.adds = first > 0;
            HWY_DYNAMIC_DISPATCH(multiply_gradient)(product);
        });
    }
    parallel_tasks(shape.inputs(), [&](std::int64_t input) {
        HWY_DYNAMIC_DISPATCH(finish_gradient)
        (sums + input * shape.outputs(), apart, shape.outputs(), dw + input * shape.outputs());
    });
}

template void winograd_filter(const WinogradShape&, bool, const float*, float*);
template void winograd_filter(const WinogradShape&, bool, const BFloat16*, float*);
template void winograd_conv(const WinogradShape&, const float*, const float*, const WinogradEpilogue<float>&, float*,
                            std::span<float>);
template void winograd_conv(const WinogradShape&, const BFloat16*, const float*, const WinogradEpilogue<BFloat16>&,
                            BFloat16*, std::span<float>);
template void winograd_weight_grad(const WinogradShape&, const float*, const float*, float*, std::span<float>);
template void winograd_weight_grad(const WinogradShape&, const BFloat16*, const BFloat16*, float*, std::span<float>);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
