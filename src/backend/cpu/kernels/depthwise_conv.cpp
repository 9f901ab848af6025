// Depthwise convolutions forward, with bias, activation and the sums for a global average.
//
// A task has some rows of a sample and some channels, few enough that the rows of x under a row of y stay in the first
// cache. Several neighbours in a row are summed in registers at a time.
#include <cstdint>

#include "backend/cpu/kernels/forward_conv.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/depthwise_conv.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_DEPTHWISE_CONV_ARGUMENTS_
#define CNNTRAIN_CPU_DEPTHWISE_CONV_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// Rows of y: [first, last). Pointers are to the first channel of the task, of the sample's first row.
struct DepthwiseBand {
    std::int64_t channels = 0;
    std::int64_t lanes = 0;          // elements from one pixel to the next
    std::int64_t weights_apart = 0;  // elements from one tap to the next
    std::int64_t kernel = 0, stride = 0, top = 0, left = 0;
    std::int64_t x_height = 0, x_width = 0, y_width = 0;
    std::int64_t first = 0, last = 0;
    const float* x = nullptr;
    const float* weights = nullptr;
    const float* bias = nullptr;
    float* y = nullptr;
    float* sums = nullptr;  // null: not wanted
    Activation activation = Activation::none;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// Part of a kernel: rows and columns whose pixels of x exist.
struct Taps {
    std::int64_t first_row = 0, last_row = 0;
    std::int64_t first_column = 0, last_column = 0;
};

/// kPixels neighbours in a row of y, of all channels. `x`: the pixel under the first tap.
template <Activation kActivation, std::int64_t kPixels>
HWY_INLINE void depthwise_pixels(const DepthwiseBand& band, const Taps& taps, const float* x, float* y) {
    const std::int64_t step = band.stride * band.lanes;
    for_vectors(band.channels, [&](auto extent, std::int64_t lane) {
        const Floats bias = extent.load_from(band.bias + lane);
        Floats sums[kPixels];
#pragma GCC unroll 8
        for (std::int64_t p = 0; p < kPixels; ++p)
            sums[p] = bias;
        for (std::int64_t row = taps.first_row; row < taps.last_row; ++row) {
            const float* from = x + (row * band.x_width + taps.first_column) * band.lanes + lane;
            const float* weight = band.weights + (row * band.kernel + taps.first_column) * band.weights_apart + lane;
            for (std::int64_t column = taps.first_column; column < taps.last_column; ++column) {
                const Floats w = extent.load_from(weight);
#pragma GCC unroll 8
                for (std::int64_t p = 0; p < kPixels; ++p)
                    sums[p] = hn::MulAdd(extent.load_from(from + p * step), w, sums[p]);
                from += band.lanes;
                weight += band.weights_apart;
            }
        }
        Floats total = hn::Zero(FloatTag());
#pragma GCC unroll 8
        for (std::int64_t p = 0; p < kPixels; ++p) {
            const Floats value = ActivationOf<kActivation>::value(sums[p]);
            extent.store_to(value, y + p * band.lanes + lane);
            total = hn::Add(total, value);
        }
        if (band.sums == nullptr) return;
        extent.store_to(hn::Add(extent.load_from(band.sums + lane), total), band.sums + lane);
    });
}

template <Activation kActivation> HWY_INLINE void depthwise_row(const DepthwiseBand& band, std::int64_t oh) {
    const std::int64_t top = oh * band.stride - band.top;
    const auto taps_from = [](std::int64_t start) { return std::max<std::int64_t>(0, -start); };
    const auto taps_to = [&](std::int64_t start, std::int64_t size) { return std::min(band.kernel, size - start); };
    Taps taps{taps_from(top), taps_to(top, band.x_height), 0, band.kernel};
    std::int64_t ow = 0;
    const auto add = [&]<std::int64_t kPixels>() HWY_ATTR {
        const float* const x = band.x + (top * band.x_width + ow * band.stride - band.left) * band.lanes;
        depthwise_pixels<kActivation, kPixels>(band, taps, x, band.y + (oh * band.y_width + ow) * band.lanes);
        ow += kPixels;
    };
    const auto add_cut = [&]() HWY_ATTR {
        const std::int64_t start = ow * band.stride - band.left;
        taps.first_column = taps_from(start);
        taps.last_column = taps_to(start, band.x_width);
        add.template operator()<1>();
    };
    // All columns of the windows from `begin` to `end` exist.
    const std::int64_t begin = std::min(band.y_width, (band.left + band.stride - 1) / band.stride);
    const std::int64_t last_start = band.x_width - band.kernel + band.left;
    const std::int64_t end = last_start < 0 ? 0 : std::min(band.y_width, last_start / band.stride + 1);
    while (ow < begin)
        add_cut();
    taps.first_column = 0;
    taps.last_column = band.kernel;
    while (ow + 8 <= end)
        add.template operator()<8>();
    if (ow + 4 <= end) add.template operator()<4>();
    if (ow + 2 <= end) add.template operator()<2>();
    while (ow < band.y_width)
        add_cut();
}

void depthwise_band(const DepthwiseBand& band) {
    if (band.sums != nullptr) {
        for_vectors(band.channels,
                    [&](auto extent, std::int64_t lane) { extent.store_to(hn::Zero(FloatTag()), band.sums + lane); });
    }
    with_activation(band.activation, [&]<Activation kActivation>() {
        for (std::int64_t oh = band.first; oh < band.last; ++oh)
            depthwise_row<kActivation>(band, oh);
    });
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

#include "backend/cpu/kernels/parallel.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(depthwise_band);

constexpr std::int64_t kTaskRows = 14;
constexpr std::int64_t kTaskChannels = 32;

}  // namespace

std::int64_t depthwise_sum_parts(const DepthwiseShape& shape) {
    return (shape.y.height + kTaskRows - 1) / kTaskRows;
}

void depthwise_conv(const DepthwiseShape& shape, const DepthwiseTensors& tensors, Activation activation) {
    const Blocks& x = shape.x.shape;
    const Blocks& y = shape.y.shape;
    const std::int64_t bands = depthwise_sum_parts(shape);
    const std::int64_t groups = (x.lanes + kTaskChannels - 1) / kTaskChannels;  // in a block
    parallel_tasks(x.n * bands * x.blocks * groups, [&](std::int64_t task) {
        const std::int64_t lane = task % groups * kTaskChannels;
        const std::int64_t block = task / groups % x.blocks;
        const std::int64_t band = task / groups / x.blocks % bands;
        const std::int64_t sample = task / groups / x.blocks / bands;
        const std::int64_t channel = block * x.lanes + lane;
        HWY_DYNAMIC_DISPATCH(depthwise_band)
        ({.channels = std::min(kTaskChannels, x.lanes - lane),
          .lanes = x.lanes,
          .weights_apart = x.channels(),
          .kernel = shape.kernel,
          .stride = shape.stride,
          .top = shape.top,
          .left = shape.left,
          .x_height = shape.x.height,
          .x_width = shape.x.width,
          .y_width = shape.y.width,
          .first = shape.y.height * band / bands,
          .last = shape.y.height * (band + 1) / bands,
          .x = tensors.x + x.offset(sample, block, 0) + lane,
          .weights = tensors.weights + channel,
          .bias = tensors.bias + channel,
          .y = tensors.y + y.offset(sample, block, 0) + lane,
          .sums = shifted(tensors.sums, (band * x.n + sample) * x.channels() + channel),
          .activation = activation});
    });
}

void scaled_sum_of_parts(std::int64_t parts, std::int64_t count, const float* sums, float factor, float* y) {
    for (std::int64_t i = 0; i < count; ++i) {
        float total = 0;
        for (std::int64_t part = 0; part < parts; ++part)
            total += sums[part * count + i];
        y[i] = total * factor;
    }
}

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
