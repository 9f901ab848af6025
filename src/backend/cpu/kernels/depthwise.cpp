// The weight gradient of depthwise convolutions, and merging of kernels of narrow groups into wider ones.
//
// The rows of the images are divided into parts by shape alone. Each part sums in fp32; the parts are added in fp64, in
// order.
#include <cstdint>

#include "backend/cpu/kernels/element_types.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/depthwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_DEPTHWISE_ARGUMENTS_
#define CNNTRAIN_CPU_DEPTHWISE_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// One row of dy and the rows of x under its windows, all with `lanes` channels.
template <typename T> struct DepthwiseRow {
    std::int64_t lanes = 0;
    std::int64_t kernel = 0, stride = 0, left = 0;
    std::int64_t x_width = 0, y_width = 0;
    std::int64_t first_tap = 0, last_tap = 0;  // kernel rows whose row of x exists: [first, last)
    const T* x = nullptr;                      // the row for first_tap
    const T* dy = nullptr;
    float* sum = nullptr;  // for tap kh, kw: sum[(kh * kernel + kw) * tap_stride + lane] is increased
    std::int64_t tap_stride = 0;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// sum[kw] += x[ow * stride - left + kw] * dy[ow] over the row, for one kernel row and one vector of channels.
template <std::int64_t kKernel, typename Extent, typename T>
HWY_INLINE void tap_row(const Extent& extent, const DepthwiseRow<T>& args, const T* x, const T* dy, float* sum) {
    const std::int64_t lanes = args.lanes;
    Floats total[kKernel];
    for (std::int64_t kw = 0; kw < kKernel; ++kw)
        total[kw] = extent.load_from(sum + kw * args.tap_stride);
    // The range in which the whole window is inside the row.
    const std::int64_t begin = (args.left + args.stride - 1) / args.stride;
    const std::int64_t last_start = args.x_width - kKernel + args.left;
    const std::int64_t end = last_start < 0 ? 0 : last_start / args.stride + 1;
    const auto edge = [&](std::int64_t ow) HWY_ATTR {
        const Floats gradient = extent.load_from(dy + ow * lanes);
        for (std::int64_t kw = 0; kw < kKernel; ++kw) {
            const std::int64_t iw = ow * args.stride - args.left + kw;
            if (iw < 0 || iw >= args.x_width) continue;
            total[kw] = hn::MulAdd(extent.load_from(x + iw * lanes), gradient, total[kw]);
        }
    };
    std::int64_t ow = 0;
    for (; ow < args.y_width && ow < begin; ++ow)
        edge(ow);
    for (; ow < args.y_width && ow < end; ++ow) {
        const Floats gradient = extent.load_from(dy + ow * lanes);
        const T* window = x + (ow * args.stride - args.left) * lanes;
        for (std::int64_t kw = 0; kw < kKernel; ++kw)
            total[kw] = hn::MulAdd(extent.load_from(window + kw * lanes), gradient, total[kw]);
    }
    for (; ow < args.y_width; ++ow)
        edge(ow);
    for (std::int64_t kw = 0; kw < kKernel; ++kw)
        extent.store_to(total[kw], sum + kw * args.tap_stride);
}

template <std::int64_t kKernel, typename T> void row_of_width(const DepthwiseRow<T>& args) {
    for_vectors(args.lanes, [&](auto extent, std::int64_t lane) {
        for (std::int64_t tap = args.first_tap; tap < args.last_tap; ++tap) {
            const T* x = args.x + (tap - args.first_tap) * args.x_width * args.lanes + lane;
            tap_row<kKernel>(extent, args, x, args.dy + lane, args.sum + tap * kKernel * args.tap_stride + lane);
        }
    });
}

/// For other kernel sizes; processes one tap at a time.
template <typename T> void row_of_any_width(const DepthwiseRow<T>& args) {
    for_vectors(args.lanes, [&](auto extent, std::int64_t lane) {
        for (std::int64_t tap = args.first_tap; tap < args.last_tap; ++tap) {
            const T* x = args.x + (tap - args.first_tap) * args.x_width * args.lanes + lane;
            for (std::int64_t kw = 0; kw < args.kernel; ++kw) {
                float* sum = args.sum + (tap * args.kernel + kw) * args.tap_stride + lane;
                Floats total = extent.load_from(sum);
                for (std::int64_t ow = 0; ow < args.y_width; ++ow) {
                    const std::int64_t iw = ow * args.stride - args.left + kw;
                    if (iw < 0 || iw >= args.x_width) continue;
                    const Floats gradient = extent.load_from(args.dy + ow * args.lanes + lane);
                    total = hn::MulAdd(extent.load_from(x + iw * args.lanes), gradient, total);
                }
                extent.store_to(total, sum);
            }
        }
    });
}

template <typename T> void depthwise_row(const DepthwiseRow<T>& args) {
    switch (args.kernel) {
        case 3:
            return row_of_width<3>(args);
        case 5:
            return row_of_width<5>(args);
        default:
            return row_of_any_width(args);
    }
}

CNNTRAIN_KERNELS_OF_TYPES(depthwise_row, DepthwiseRow)

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

CNNTRAIN_CALL_OF_TYPES(call_row, depthwise_row, DepthwiseRow)

constexpr std::int64_t kMostParts = 16;

std::int64_t part_count(const DepthwiseShape& shape) {
    return std::min(kMostParts, shape.y.shape.n * shape.y.height);
}

}  // namespace

std::int64_t depthwise_scratch_floats(const DepthwiseShape& shape) {
    return part_count(shape) * shape.kernel * shape.kernel * shape.x.shape.channels();
}

template <typename T>
void depthwise_weight_grad(const DepthwiseShape& shape, const T* x, const T* dy, float* dw, std::span<float> scratch) {
    CNNTRAIN_CHECK(static_cast<std::int64_t>(scratch.size()) >= depthwise_scratch_floats(shape),
                   "scratch is smaller than depthwise_scratch_floats");
    const std::int64_t parts = part_count(shape);
    const std::int64_t blocks = shape.x.shape.blocks;
    const std::int64_t lanes = shape.x.shape.lanes;
    const std::int64_t taps = shape.kernel * shape.kernel;
    const std::int64_t channels = shape.x.shape.channels();
    const std::int64_t rows = shape.y.shape.n * shape.y.height;
    parallel_tasks(parts * blocks, [&](std::int64_t task) {
        const std::int64_t part = task / blocks;
        const std::int64_t block = task % blocks;
        float* sum = scratch.data() + part * taps * channels + block * lanes;
        for (std::int64_t tap = 0; tap < taps; ++tap)
            std::fill_n(sum + tap * channels, lanes, 0.0F);
        for (std::int64_t row = rows * part / parts; row < rows * (part + 1) / parts; ++row) {
            const std::int64_t image = row / shape.y.height * blocks + block;
            const std::int64_t oh = row % shape.y.height;
            const std::int64_t top = oh * shape.stride - shape.top;  // row of x for the first kernel row
            const std::int64_t first = std::max<std::int64_t>(0, -top);
            const std::int64_t last = std::min(shape.kernel, shape.x.height - top);
            if (first >= last) continue;
            call_row({.lanes = lanes,
                      .kernel = shape.kernel,
                      .stride = shape.stride,
                      .left = shape.left,
                      .x_width = shape.x.width,
                      .y_width = shape.y.width,
                      .first_tap = first,
                      .last_tap = last,
                      .x = x + (image * shape.x.height + top + first) * shape.x.width * lanes,
                      .dy = dy + (image * shape.y.height + oh) * shape.y.width * lanes,
                      .sum = sum,
                      .tap_stride = channels});
        }
    });
    const std::int64_t count = taps * channels;
    for (std::int64_t i = 0; i < count; ++i) {
        double total = 0;
        for (std::int64_t part = 0; part < parts; ++part)
            total += static_cast<double>(scratch[static_cast<std::size_t>(part * count + i)]);
        dw[i] = static_cast<float>(total);
    }
}

template <typename T> void merge_groups(const MergedKernel& kernel, const T* from, T* to) {
    const std::int64_t wide = kernel.inputs * kernel.merged;
    const std::int64_t group_outputs = kernel.outputs / kernel.groups;
    std::fill_n(to, kernel.taps * wide * kernel.outputs, T{});
    for (std::int64_t tap = 0; tap < kernel.taps; ++tap) {
        for (std::int64_t i = 0; i < kernel.inputs; ++i) {
            for (std::int64_t o = 0; o < kernel.outputs; ++o) {
                const std::int64_t row = o / group_outputs % kernel.merged * kernel.inputs + i;
                to[(tap * wide + row) * kernel.outputs + o] = from[(tap * kernel.inputs + i) * kernel.outputs + o];
            }
        }
    }
}

void split_groups(const MergedKernel& kernel, const float* from, float* to) {
    const std::int64_t wide = kernel.inputs * kernel.merged;
    const std::int64_t group_outputs = kernel.outputs / kernel.groups;
    for (std::int64_t tap = 0; tap < kernel.taps; ++tap) {
        for (std::int64_t i = 0; i < kernel.inputs; ++i) {
            for (std::int64_t o = 0; o < kernel.outputs; ++o) {
                const std::int64_t row = o / group_outputs % kernel.merged * kernel.inputs + i;
                to[(tap * kernel.inputs + i) * kernel.outputs + o] = from[(tap * wide + row) * kernel.outputs + o];
            }
        }
    }
}

template void depthwise_weight_grad(const DepthwiseShape&, const float*, const float*, float*, std::span<float>);
template void depthwise_weight_grad(const DepthwiseShape&, const BFloat16*, const BFloat16*, float*, std::span<float>);
template void merge_groups(const MergedKernel&, const float*, float*);
template void merge_groups(const MergedKernel&, const BFloat16*, BFloat16*);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
