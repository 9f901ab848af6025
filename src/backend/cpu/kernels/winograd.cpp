// Convolutions by Winograd's minimal filtering: the transform of winograd-inl.h makes them products of matrices
// [tiles, I] x [I, O], one at every place.
//
// Transformed tiles are kept as [place][16 channels][tile], with 16 adjacent channels each, and transformed kernels in
// panels of output channels: [panel][place][I][columns of a panel].
#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <utility>

#include "backend/cpu/kernels/conv.h"
#include "backend/cpu/kernels/element_types.h"
#include "backend/cpu/kernels/winograd_tiles.h"
#include "cnntrain/base/error.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/winograd.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/register_tile-inl.h"
#include "backend/cpu/kernels/winograd-inl.h"

#ifndef CNNTRAIN_CPU_WINOGRAD_ARGUMENTS_
#define CNNTRAIN_CPU_WINOGRAD_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

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

template <typename T>
HWY_INLINE Floats finished(const WinogradEpilogue<T>& epilogue, Floats bias, Floats value, std::int64_t offset) {
    Floats result = hn::Add(value, bias);
    if (epilogue.residual != nullptr) result = hn::Add(result, load(epilogue.residual + offset));
    with_activation(epilogue.activation,
                    [&]<Activation kActivation>() HWY_ATTR { result = ActivationOf<kActivation>::value(result); });
    return result;
}

/// Transforms the sums of one block of output channels, block `from` of m, back to pixels.
template <typename T>
HWY_INLINE void write_tile(const ConvTask<T>& task, std::int64_t index, std::int64_t from, std::int64_t block) {
    const TilePosition position = position_of(task.y, task.tiles.first + index, block, kOut, kOut);
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
    RegisterTile<kTileRows, kVectors> tile;
    tile.for_each([](std::int64_t, std::int64_t, Floats& sum) HWY_ATTR { sum = hn::Zero(FloatTag()); });
    for (std::int64_t block = 0; block < blocks; ++block) {
        RightColumns<kVectors> columns{.next = kColumns};
        for (std::int64_t vector = 0; vector < kVectors; ++vector)
            columns.at[vector] = panel + vector * kWidth;
        tile.add_products(kBlock, {v, kBlock, 1}, columns);
        panel += kBlock * kColumns;
        v += v_block;
    }
    tile.for_each([&](std::int64_t row, std::int64_t vector, Floats sum) HWY_ATTR {
        const std::int64_t column = vector * kWidth;
        store(sum, m + column / kBlock * m_block + row * kBlock + column % kBlock);
    });
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
    transform_tiles<InputTransform>(task.x, task.tiles, task.v, 0);
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

CNNTRAIN_KERNELS_OF_TYPES(run_task, ConvTask)

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

HWY_EXPORT(transform_kernel_block);
HWY_EXPORT(panel_columns);
HWY_EXPORT(rows_at_a_time);
HWY_EXPORT(vector_width);

CNNTRAIN_CALL_OF_TYPES(run, run_task, ConvTask)

/// Division of a convolution among threads.
struct Plan {
    std::int64_t tiles = 0;        // of a task; the last one may have fewer
    std::int64_t chunks = 0;       // of tiles
    std::int64_t panels = 0;       // of a task
    std::int64_t panel_parts = 0;  // tasks with the same tiles

    std::int64_t tasks() const { return chunks * panel_parts; }
};

/// The most tiles of a task, chosen so that the transformed tiles fit in a second-level cache.
std::int64_t most_tiles(const WinogradShape& shape) {
    constexpr std::int64_t kTransformedFloats = std::int64_t{160} << 10;
    const std::int64_t rows = HWY_DYNAMIC_DISPATCH(rows_at_a_time)();
    const std::int64_t held = kTransformedFloats / (kPlaces * shape.inputs());
    return std::min(shape.tiles(), std::max(2 * rows, held / rows * rows));
}

Plan plan_of(const WinogradShape& shape, std::int64_t threads) {
    const std::int64_t rows = HWY_DYNAMIC_DISPATCH(rows_at_a_time)();
    const std::int64_t all_panels = ceil_div(shape.outputs(), HWY_DYNAMIC_DISPATCH(panel_columns)());
    const std::int64_t all = shape.tiles();
    Plan plan;
    plan.chunks = ceil_div(all, most_tiles(shape));
    // Every thread gets equally many chunks, unless a chunk then has fewer tiles than are multiplied at a time.
    const std::int64_t even = ceil_div(plan.chunks, threads) * threads;
    if (ceil_div(all, even) >= rows) plan.chunks = even;
    plan.tiles = ceil_div(all, plan.chunks);
    plan.chunks = ceil_div(all, plan.tiles);
    const std::int64_t parts = std::min(all_panels, ceil_div(threads, plan.chunks));
    plan.panels = ceil_div(all_panels, parts);
    plan.panel_parts = ceil_div(all_panels, plan.panels);
    return plan;
}

/// Scratch of a thread: transformed tiles of x, and sums of one panel.
std::int64_t task_floats(const WinogradShape& shape, std::int64_t tiles) {
    const std::int64_t panel = HWY_DYNAMIC_DISPATCH(panel_columns)();
    return Transformed{nullptr, blocks_of(shape.inputs()), tiles}.floats() +
           Transformed{nullptr, blocks_of(panel), tiles}.floats();
}

// Inlined, unlike to_float().
float float_of(float value) {
    return value;
}
float float_of(BFloat16 value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16);
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
    return threads * task_floats(shape, most_tiles(shape));
}

template <typename T> void winograd_conv(const WinogradShape& shape, const T* x, const float* filter,
                                         const WinogradEpilogue<T>& epilogue, T* y, std::span<float> scratch) {
    const Plan plan = plan_of(shape, omp_get_max_threads());
    const std::int64_t floats = task_floats(shape, plan.tiles);
    const std::int64_t threads = std::min<std::int64_t>(omp_get_max_threads(), plan.tasks());
    CNNTRAIN_CHECK(std::ssize(scratch) >= threads * floats, "scratch is smaller than winograd_scratch_floats");
    const std::int64_t all_panels = ceil_div(shape.outputs(), HWY_DYNAMIC_DISPATCH(panel_columns)());
    parallel_tasks(threads, [&](std::int64_t thread) {
        ConvTask<T> task;
        task.x = tiled(shape, shape.x, x, shape.top, shape.left);
        task.y = tiled(shape, shape.y, y);
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

template void winograd_filter(const WinogradShape&, bool, const float*, float*);
template void winograd_filter(const WinogradShape&, bool, const BFloat16*, float*);
template void winograd_conv(const WinogradShape&, const float*, const float*, const WinogradEpilogue<float>&, float*,
                            std::span<float>);
template void winograd_conv(const WinogradShape&, const BFloat16*, const float*, const WinogradEpilogue<BFloat16>&,
                            BFloat16*, std::span<float>);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
