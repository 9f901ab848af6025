// Depthwise convolutions with bias, activation, the sums for a global average and the statistics for a norm, and their
// input gradients.
//
// A task has some rows of a sample and all channels, or some. Several neighbours in a row are summed in registers at a
// time, one vector of channels after the other: a tile. So memory is read and written nearly in order.
//
// An input gradient with stride s is s * s convolutions of dy, each with every s-th row and column of the kernel, in
// reverse order: each makes every s-th pixel of every s-th row of dx.
#include <algorithm>
#include <array>
#include <cstdint>

#include "backend/cpu/kernels/conv.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/depthwise_conv.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/statistics-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_DEPTHWISE_CONV_ARGUMENTS_
#define CNNTRAIN_CPU_DEPTHWISE_CONV_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// Results first, first + step, ... of a row or column of pixels. The q-th is the sum over t < taps of
/// weight[weight + t * weight_step] * operand[from + q * from_step + t].
struct DepthwiseAxis {
    std::int64_t first = 0, step = 1;
    std::int64_t taps = 0, weight = 0, weight_step = 1;
    std::int64_t from = 0, from_step = 1;

    std::int64_t count(std::int64_t size) const { return ceil_div(size - first, step); }
};

/// Every pixel belongs to one row axis and one column axis.
struct DepthwiseAxes {
    std::int64_t count = 1;
    std::array<DepthwiseAxis, kMostDepthwiseStride> axes;
};

/// Rows of the result: [first, last). Pointers are to the first channel of the task, of the sample's first row.
struct DepthwiseBand {
    std::int64_t channels = 0;
    std::int64_t lanes = 0;          // elements from one pixel to the next
    std::int64_t weights_apart = 0;  // elements from one tap to the next
    std::int64_t kernel = 0;
    DepthwiseAxes rows, columns;
    std::int64_t x_height = 0, x_width = 0, y_width = 0;
    std::int64_t first = 0, last = 0;
    const float* x = nullptr;
    const float* weights = nullptr;
    const float* bias = nullptr;  // null: 0
    float* y = nullptr;
    float* sums = nullptr;        // null: not wanted
    float* statistics = nullptr;  // of the band; null: not wanted
    Activation activation = Activation::none;
    bool past_cache = false;  // y is aligned and much larger than the caches: use streaming stores
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// Neighbours in a row of the result, or every y_step-th one, of all channels.
struct DepthwiseTile {
    std::int64_t channels = 0;
    std::int64_t rows = 0;                    // taps whose rows exist
    std::int64_t x_step = 0, x_row_step = 0;  // elements from one pixel and row to the next
    std::int64_t y_step = 0;
    std::int64_t weight_step = 0, weight_row_step = 0;
    std::int64_t first_column = 0, last_column = 0;  // columns of x that exist, from the first one under a tap
    const float* x = nullptr;                        // the first column of the first row
    const float* weights = nullptr;                  // of the first tap
    const float* bias = nullptr;                     // null: 0
    float* y = nullptr;
    const float* x_ahead = nullptr;  // read soon
    std::int64_t fetched = 0;        // vectors at x_ahead to fetch with each vector of channels
    float* statistics = nullptr;     // of the band, for add_statistics(); null: not wanted
    std::int64_t statistics_apart = 0;
    bool begins_band = false;
    bool past_cache = false;
};

/// kIsCut: some columns do not exist.
template <std::int64_t kTaps, std::int64_t kStep, std::int64_t kPixels, bool kIsCut>
void sum_tile(const DepthwiseTile& tile) {
    constexpr std::int64_t kColumns = (kPixels - 1) * kStep + kTaps;
    const float* ahead = tile.x_ahead;
    for_vectors(tile.channels, [&](auto extent, std::int64_t lane) HWY_ATTR {
        const Floats bias = tile.bias == nullptr ? hn::Zero(FloatTag()) : extent.load_from(tile.bias + lane);
        Floats sums[kPixels];
#pragma GCC unroll 8
        for (std::int64_t p = 0; p < kPixels; ++p)
            sums[p] = bias;
        for (std::int64_t i = 0; i < tile.fetched; ++i, ahead += kWidth)
            __builtin_prefetch(ahead, 0, 2);
        const float* x = tile.x + lane;
        const float* weight = tile.weights + lane;
        for (std::int64_t row = 0; row < tile.rows; ++row) {
            Floats w[kTaps];
#pragma GCC unroll 8
            for (std::int64_t tap = 0; tap < kTaps; ++tap)
                w[tap] = extent.load_from(weight + tap * tile.weight_step);
#pragma GCC unroll 32
            for (std::int64_t column = 0; column < kColumns; ++column) {
                if (kIsCut && (column < tile.first_column || column >= tile.last_column)) continue;
                const Floats value = extent.load_from(x + column * tile.x_step);
#pragma GCC unroll 8
                for (std::int64_t tap = 0; tap < kTaps; ++tap) {
                    const std::int64_t p = (column - tap) / kStep;
                    if (column < tap || p >= kPixels || p * kStep + tap != column) continue;
                    sums[p] = hn::MulAdd(value, w[tap], sums[p]);
                }
            }
            x += tile.x_row_step;
            weight += tile.weight_row_step;
        }
        if (tile.statistics != nullptr) {
            add_statistics<kPixels>(extent, tile.statistics + lane, tile.statistics_apart, tile.begins_band,
                                    [&](std::int64_t p) HWY_ATTR { return sums[p]; });
        }
        if (tile.past_cache) {
#pragma GCC unroll 8
            for (std::int64_t p = 0; p < kPixels; ++p)
                extent.store_past_cache_to(sums[p], tile.y + lane + p * tile.y_step);
        } else {
#pragma GCC unroll 8
            for (std::int64_t p = 0; p < kPixels; ++p)
                extent.store_to(sums[p], tile.y + lane + p * tile.y_step);
        }
    });
}

template <std::int64_t kTaps, std::int64_t kStep, std::int64_t kPixels> void sum_pixels(const DepthwiseTile& tile) {
    const bool is_cut = tile.first_column > 0 || tile.last_column < (kPixels - 1) * kStep + kTaps;
    is_cut ? sum_tile<kTaps, kStep, kPixels, true>(tile) : sum_tile<kTaps, kStep, kPixels, false>(tile);
}

template <std::int64_t kTaps, std::int64_t kStep> void sum_tile_of(const DepthwiseTile& tile, std::int64_t pixels) {
    switch (pixels) {
        case 7:
            return sum_pixels<kTaps, kStep, 7>(tile);
        case 4:
            return sum_pixels<kTaps, kStep, 4>(tile);
        case 2:
            return sum_pixels<kTaps, kStep, 2>(tile);
        default:
            return sum_pixels<kTaps, kStep, 1>(tile);
    }
}

void sum_tile_under(const DepthwiseTile& tile, const DepthwiseAxis& columns, std::int64_t pixels) {
    switch (columns.taps) {
        case 1:
            return sum_tile_of<1, 1>(tile, pixels);
        case 2:
            return sum_tile_of<2, 1>(tile, pixels);
        case 3:
            return columns.from_step == 1 ? sum_tile_of<3, 1>(tile, pixels) : sum_tile_of<3, 2>(tile, pixels);
        default:
            return columns.from_step == 1 ? sum_tile_of<5, 1>(tile, pixels) : sum_tile_of<5, 2>(tile, pixels);
    }
}

/// Pixels of the next tile: sizes of most images are multiples of 7.
std::int64_t tile_pixels(std::int64_t rest) {
    return rest >= 7 ? 7 : rest >= 4 ? 4 : rest >= 2 ? 2 : 1;
}

void sum_row(const DepthwiseBand& band, std::int64_t y_row) {
    const DepthwiseAxis& rows = band.rows.axes[static_cast<std::size_t>(y_row % band.rows.count)];
    const std::int64_t from = rows.from + y_row / rows.step * rows.from_step;
    const std::int64_t first = std::max<std::int64_t>(0, -from);
    const std::int64_t last = std::min(rows.taps, band.x_height - from);
    DepthwiseTile tile{.channels = band.channels,
                       .rows = std::max<std::int64_t>(0, last - first),
                       .x_step = band.lanes,
                       .x_row_step = band.x_width * band.lanes,
                       .weight_row_step = rows.weight_step * band.kernel * band.weights_apart,
                       .bias = band.bias,
                       .statistics = band.statistics,
                       .statistics_apart = band.weights_apart,
                       .past_cache = band.past_cache};
    for (std::int64_t axis = 0; axis < band.columns.count; ++axis) {
        const DepthwiseAxis& columns = band.columns.axes[static_cast<std::size_t>(axis)];
        const std::int64_t tap = (rows.weight + first * rows.weight_step) * band.kernel + columns.weight;
        tile.weights = band.weights + tap * band.weights_apart;
        tile.weight_step = columns.weight_step * band.weights_apart;
        tile.y_step = columns.step * band.lanes;
        const bool fetches = y_row % band.rows.count == 0 && axis == 0 && band.channels == band.lanes;
        tile.x_ahead = band.x + (from + rows.taps) * tile.x_row_step;
        const std::int64_t count = columns.count(band.y_width);
        for (std::int64_t q = 0, pixels = 0; q < count; q += pixels) {
            pixels = tile_pixels(count - q);
            const std::int64_t column = columns.from + q * columns.from_step;
            tile.first_column = -column;
            tile.last_column = band.x_width - column;
            tile.x = band.x + ((from + first) * band.x_width + column) * band.lanes;
            tile.y = band.y + (y_row * band.y_width + columns.first + q * columns.step) * band.lanes;
            tile.begins_band = y_row == band.first && q == 0;
            tile.fetched = fetches ? pixels * columns.from_step * rows.from_step : 0;
            sum_tile_under(tile, columns, pixels);
            tile.x_ahead += tile.fetched * band.lanes;
        }
    }
}

/// y = activation(y) of a row, and its sums.
template <Activation kActivation> void finish_row(const DepthwiseBand& band, std::int64_t y_row) {
    float* const row = band.y + y_row * band.y_width * band.lanes;
    for_vectors(band.channels, [&](auto extent, std::int64_t lane) {
        Floats sum = hn::Zero(FloatTag());
        for (std::int64_t i = 0; i < band.y_width; ++i) {
            float* const y = row + i * band.lanes + lane;
            const Floats value = ActivationOf<kActivation>::value(extent.load_from(y));
            extent.store_to(value, y);
            sum = hn::Add(sum, value);
        }
        if (band.sums == nullptr) return;
        extent.store_to(hn::Add(extent.load_from(band.sums + lane), sum), band.sums + lane);
    });
}

void depthwise_band(const DepthwiseBand& band) {
    if (band.sums != nullptr) {
        for_vectors(band.channels,
                    [&](auto extent, std::int64_t lane) { extent.store_to(hn::Zero(FloatTag()), band.sums + lane); });
    }
    with_activation(band.activation, [&]<Activation kActivation>() {
        const bool is_finished = kActivation == Activation::none && band.sums == nullptr;
        for (std::int64_t row = band.first; row < band.last; ++row) {
            sum_row(band, row);
            if (!is_finished) finish_row<kActivation>(band, row);
        }
    });
    if (band.past_cache) hwy::FlushStream();
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <omp.h>

#include <type_traits>

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(depthwise_band);

constexpr std::int64_t kTaskRows = 14;
constexpr std::int64_t kMostLanes = 16;  // of a vector

/// y = convolution of x.
DepthwiseAxes forward_axes(std::int64_t kernel, std::int64_t stride, std::int64_t before) {
    DepthwiseAxes axes;
    axes.axes[0] = {.taps = kernel, .from = -before, .from_step = stride};
    return axes;
}

/// dx = convolution of dy: pixel i gets dy[(i + before - tap) / stride] * weight[tap] of the taps for which the
/// quotient is an integer.
DepthwiseAxes gradient_axes(std::int64_t kernel, std::int64_t stride, std::int64_t before) {
    DepthwiseAxes axes{.count = stride, .axes = {}};
    for (std::int64_t first = 0; first < stride; ++first) {
        const std::int64_t lowest = (first + before) % stride;
        const std::int64_t taps = std::max<std::int64_t>(0, ceil_div(kernel - lowest, stride));
        axes.axes[static_cast<std::size_t>(first)] = {.first = first,
                                                      .step = stride,
                                                      .taps = taps,
                                                      .weight = lowest + (taps - 1) * stride,
                                                      .weight_step = -stride,
                                                      .from = (first + before - lowest) / stride - (taps - 1)};
    }
    return axes;
}

/// Channels are divided if there are too few other tasks.
std::int64_t groups_of_channels(const Blocks& x, std::int64_t tasks) {
    const std::int64_t wanted = std::int64_t{4} * omp_get_max_threads();
    return std::clamp<std::int64_t>(ceil_div(wanted, tasks), 1, ceil_div(x.lanes, kMostLanes));
}

/// `shared`: the arguments that all tasks share, with pointers to the first element.
void for_bands(const Blocks& x, const Picture& y_picture, const DepthwiseBand& shared) {
    const Blocks& y = y_picture.shape;
    const std::int64_t bands = ceil_div(y_picture.height, kTaskRows);
    const std::int64_t groups = groups_of_channels(x, x.n * x.blocks * bands);
    const std::int64_t vectors = ceil_div(x.lanes, kMostLanes);
    parallel_tasks(x.n * bands * x.blocks * groups, [&](std::int64_t task) {
        const std::int64_t group = task % groups;
        const std::int64_t block = task / groups % x.blocks;
        const std::int64_t band = task / groups / x.blocks % bands;
        const std::int64_t sample = task / groups / x.blocks / bands;
        const std::int64_t lane = vectors * group / groups * kMostLanes;
        const std::int64_t channel = block * x.lanes + lane;
        DepthwiseBand args = shared;
        args.channels = std::min(x.lanes, vectors * (group + 1) / groups * kMostLanes) - lane;
        args.first = y_picture.height * band / bands;
        args.last = y_picture.height * (band + 1) / bands;
        args.x += x.offset(sample, block, 0) + lane;
        args.weights += channel;
        args.bias = shifted(shared.bias, channel);
        args.y += y.offset(sample, block, 0) + lane;
        args.sums = shifted(shared.sums, (band * x.n + sample) * x.channels() + channel);
        args.statistics = shifted(shared.statistics, (band * x.n + sample) * 3 * x.channels() + channel);
        HWY_DYNAMIC_DISPATCH(depthwise_band)(args);
    });
}

DepthwiseBand band_of(const Picture& x, const Picture& y, std::int64_t kernel, const DepthwiseAxes& rows,
                      const DepthwiseAxes& columns) {
    DepthwiseBand band;
    band.lanes = x.shape.lanes;
    band.weights_apart = x.shape.channels();
    band.kernel = kernel;
    band.rows = rows;
    band.columns = columns;
    band.x_height = x.height;
    band.x_width = x.width;
    band.y_width = y.width;
    return band;
}

DepthwiseBand forward_band(const DepthwiseShape& shape) {
    return band_of(shape.x, shape.y, shape.kernel, forward_axes(shape.kernel, shape.stride, shape.top),
                   forward_axes(shape.kernel, shape.stride, shape.left));
}

DepthwiseBand gradient_band(const DepthwiseShape& shape) {
    return band_of(shape.y, shape.x, shape.kernel, gradient_axes(shape.kernel, shape.stride, shape.top),
                   gradient_axes(shape.kernel, shape.stride, shape.left));
}

bool writes_past_cache(const Blocks& y, const float* to) {
    return y.lanes % kMostLanes == 0 && exceeds_caches(y.elements() * static_cast<std::int64_t>(sizeof(float)), to);
}

}  // namespace

std::int64_t depthwise_sum_parts(const DepthwiseShape& shape) {
    return ceil_div(shape.y.height, kTaskRows);
}

std::vector<std::int64_t> depthwise_part_pixels(const DepthwiseShape& shape) {
    return pixels_of_parts(shape.y.height, depthwise_sum_parts(shape), shape.y.width);
}

bool has_depthwise_conv(std::int64_t kernel, std::int64_t stride) {
    return (kernel == 3 || kernel == 5) && stride <= kMostDepthwiseStride;
}

void depthwise_conv(const DepthwiseShape& shape, const DepthwiseTensors& tensors, Activation activation) {
    CNNTRAIN_CHECK(tensors.statistics == nullptr || activation == Activation::none,
                   "statistics need a convolution without activation");
    DepthwiseBand band = forward_band(shape);
    band.x = tensors.x;
    band.weights = tensors.weights;
    band.bias = tensors.bias;
    band.y = tensors.y;
    band.sums = tensors.sums;
    band.statistics = tensors.statistics;
    band.activation = activation;
    const bool is_read_again = activation != Activation::none || tensors.sums != nullptr;
    band.past_cache = !is_read_again && writes_past_cache(shape.y.shape, tensors.y);
    for_bands(shape.x.shape, shape.y, band);
}

void depthwise_input_grad(const DepthwiseShape& shape, const float* dy, const float* weights, float* dx) {
    DepthwiseBand band = gradient_band(shape);
    band.x = dy;
    band.weights = weights;
    band.y = dx;
    band.past_cache = writes_past_cache(shape.x.shape, dx);
    for_bands(shape.y.shape, shape.x, band);
}

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
