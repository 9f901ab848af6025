// Weight gradients by Winograd's minimal filtering: sums over all tiles of products of transformed tiles of x and dy,
// one matrix [I, O] at every place, transformed back to a kernel's nine elements.
//
// Transformed tiles of a chunk are kept as [place][16 channels][tile], with 16 adjacent channels each.
#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels/conv.h"
#include "backend/cpu/kernels/element_types.h"
#include "backend/cpu/kernels/winograd_tiles.h"
#include "cnntrain/base/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/winograd_grad.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/register_tile-inl.h"
#include "backend/cpu/kernels/winograd-inl.h"

#ifndef CNNTRAIN_CPU_WINOGRAD_GRAD_ARGUMENTS_
#define CNNTRAIN_CPU_WINOGRAD_GRAD_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// Transforms some tiles of a chunk, of x and of dy.
template <typename T> struct GradientTiles {
    TiledPicture<const T> x, dy;
    TileRange chunk;  // the tiles of v and z
    TileRange some;   // of the chunk, to be transformed
    Transformed v, z;
};

/// sums [I,O] (+)= v^T z at one place, for `blocks` blocks of output channels.
struct GradientProduct {
    const Transformed* v = nullptr;
    const Transformed* z = nullptr;
    std::int64_t place = 0, tiles = 0;
    std::int64_t first_block = 0, blocks = 0;
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

/// Rows and columns of the weight gradient's products; kBlock is a multiple of the rows.
constexpr std::int64_t kGradientRows = kWidth == kBlock ? 8 : 4;
constexpr std::int64_t kGradientColumns = 3 * kWidth;

template <typename T> void transform_gradient_tiles(const GradientTiles<T>& tiles) {
    const TileRange some{tiles.chunk.first + tiles.some.first, tiles.some.count};
    transform_tiles<InputTransform>(tiles.x, some, tiles.v, tiles.some.first);
    transform_tiles<GradientTransform>(tiles.dy, some, tiles.z, tiles.some.first);
}

CNNTRAIN_KERNELS_OF_TYPES(transform_gradient_tiles, GradientTiles)

/// sums [kGradientRows, kColumns] (+)= v [tiles, rows]^T * z [tiles, columns]; z is the block of the first column,
/// which is its column `first`.
template <std::int64_t kColumns> HWY_INLINE void multiply_tiles(const GradientProduct& product, const float* v,
                                                                const float* z, std::int64_t first, float* sums) {
    constexpr std::int64_t kVectors = kColumns / kWidth;
    RightColumns<kVectors> columns{.next = kBlock};
    for (std::int64_t vector = 0; vector < kVectors; ++vector) {
        const std::int64_t column = first + vector * kWidth;
        columns.at[vector] = z + product.z->offset(column / kBlock, 0) + column % kBlock;
    }
    const auto place = [&](std::int64_t row, std::int64_t vector) {
        return sums + row * product.outputs + vector * kWidth;
    };
    RegisterTile<kGradientRows, kVectors> tile;
    tile.for_each([&](std::int64_t row, std::int64_t vector, Floats& sum)
                      HWY_ATTR { sum = product.adds ? load(place(row, vector)) : hn::Zero(FloatTag()); });
    tile.add_products(product.tiles, {v, 1, kBlock}, columns);
    tile.for_each([&](std::int64_t row, std::int64_t vector, Floats sum) HWY_ATTR { store(sum, place(row, vector)); });
}

/// All rows by the columns from `column` on.
template <std::int64_t kColumns> void multiply_columns(const GradientProduct& product, std::int64_t column) {
    const float* const v = product.v->data + product.place * product.v->place_floats();
    const float* const z = product.z->data + product.place * product.z->place_floats();
    for (std::int64_t row = 0; row < product.v->blocks * kBlock; row += kGradientRows) {
        multiply_tiles<kColumns>(product, v + product.v->offset(row / kBlock, 0) + row % kBlock,
                                 z + product.z->offset(column / kBlock, 0), column % kBlock,
                                 product.sums + row * product.outputs + column);
    }
}

void multiply_gradient(const GradientProduct& product) {
    const std::int64_t end = (product.first_block + product.blocks) * kBlock;
    for (std::int64_t column = product.first_block * kBlock; column < end;) {
        if (end - column >= kGradientColumns) {
            multiply_columns<kGradientColumns>(product, column);
            column += kGradientColumns;
        } else if (end - column >= 2 * kWidth) {
            multiply_columns<2 * kWidth>(product, column);
            column += 2 * kWidth;
        } else {
            multiply_columns<kWidth>(product, column);
            column += kWidth;
        }
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

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "backend/cpu/kernels/parallel.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(multiply_gradient);
HWY_EXPORT(finish_gradient);

CNNTRAIN_CALL_OF_TYPES(transform, transform_gradient_tiles, GradientTiles)

/// Division of a weight gradient: chunks of tiles, one after the other.
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
    const std::int64_t chunks = ceil_div(all, std::max(kFewest, kTransformedFloats / (kPlaces * channels)));
    GradientPlan plan;
    plan.tiles = ceil_div(all, chunks);
    plan.v = {nullptr, blocks_of(shape.inputs()), plan.tiles};
    plan.z = {nullptr, blocks_of(shape.outputs()), plan.tiles};
    plan.sums = kPlaces * shape.inputs() * shape.outputs();
    return plan;
}

}  // namespace

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
        tiled(shape, shape.x, x, shape.top, shape.left), tiled(shape, shape.y, dy), {}, {}, plan.v, plan.z};
    constexpr std::int64_t kTilesAtOnce = 8;
    constexpr std::int64_t kBlocksAtOnce = 4;  // of output channels
    const std::int64_t parts = ceil_div(blocks_of(shape.outputs()), kBlocksAtOnce);
    for (std::int64_t first = 0; first < shape.tiles(); first += plan.tiles) {
        tiles.chunk = {first, std::min(plan.tiles, shape.tiles() - first)};
        parallel_tasks(ceil_div(tiles.chunk.count, kTilesAtOnce), [&](std::int64_t task) {
            GradientTiles<T> part = tiles;
            part.some.first = task * kTilesAtOnce;
            part.some.count = std::min(kTilesAtOnce, tiles.chunk.count - part.some.first);
            transform(part);
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

template void winograd_weight_grad(const WinogradShape&, const float*, const float*, float*, std::span<float>);
template void winograd_weight_grad(const WinogradShape&, const BFloat16*, const BFloat16*, float*, std::span<float>);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
