// The weight gradient of depthwise convolutions, and merging of kernels of narrow groups into wider ones.
//
// The rows of the images are divided into parts by shape alone. Each part sums in fp32; the parts are added in fp64, in
// order.
#include <algorithm>
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

/// Rows [first, last) of an image of dy, and the image of x. Pointers are to the first channel of the first row.
template <typename T> struct DepthwiseRows {
    std::int64_t lanes = 0;
    std::int64_t kernel = 0, stride = 0, top = 0, left = 0;
    std::int64_t x_height = 0, x_width = 0, y_width = 0;
    std::int64_t first = 0, last = 0;
    const T* x = nullptr;
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

/// Some pixels of dy: rows [first_row, last_row), columns [first, last). So many that loading and storing the sums
/// costs little, so few that memory is read nearly in order.
struct PixelTile {
    std::int64_t first_row = 0, last_row = 0;
    std::int64_t first = 0, last = 0;
};
constexpr std::int64_t kTilePixels = 28;

/// Kernel rows [first, last) whose row of x exists, relative to kernel row `from`.
struct TapRange {
    template <typename T> TapRange(const DepthwiseRows<T>& args, std::int64_t row, std::int64_t from)
        : top(row * args.stride - args.top + from), first(-top), last(args.x_height - top) {}
    std::int64_t top;  // the row of x
    std::int64_t first, last;
};

/// The sums of kTapRows kernel rows of kKernel taps, for one vector of channels, in registers.
template <std::int64_t kKernel, std::int64_t kTapRows, typename Extent, typename T>
HWY_INLINE void add_tap_rows(const Extent& extent, const DepthwiseRows<T>& args, const PixelTile& tile,
                             std::int64_t lane, std::int64_t from) {
    const std::int64_t row_step = args.x_width * args.lanes;
    float* const sum = args.sum + from * kKernel * args.tap_stride + lane;
    Floats total[kTapRows * kKernel];
#pragma GCC unroll 25
    for (std::int64_t tap = 0; tap < kTapRows * kKernel; ++tap)
        total[tap] = extent.load_from(sum + tap * args.tap_stride);
    // The range in which the whole window is inside the row.
    const std::int64_t begin = ceil_div(args.left, args.stride);
    const std::int64_t last_start = args.x_width - kKernel + args.left;
    const std::int64_t end = last_start < 0 ? 0 : last_start / args.stride + 1;
    for (std::int64_t row = tile.first_row; row < tile.last_row; ++row) {
        const TapRange taps(args, row, from);
        const T* const dy = args.dy + row * args.y_width * args.lanes + lane;
        const auto add = [&]<bool kIsCut>(std::int64_t first, std::int64_t last) HWY_ATTR {
            const T* window = args.x + taps.top * row_step + (first * args.stride - args.left) * args.lanes + lane;
            for (std::int64_t ow = first; ow < last; ++ow, window += args.stride * args.lanes) {
                const std::int64_t column = ow * args.stride - args.left;
                const Floats gradient = extent.load_from(dy + ow * args.lanes);
#pragma GCC unroll 5
                for (std::int64_t kh = 0; kh < kTapRows; ++kh) {
                    if (kIsCut && (kh < taps.first || kh >= taps.last)) continue;
#pragma GCC unroll 5
                    for (std::int64_t kw = 0; kw < kKernel; ++kw) {
                        if (kIsCut && (column + kw < 0 || column + kw >= args.x_width)) continue;
                        Floats& to = total[kh * kKernel + kw];
                        to = hn::MulAdd(extent.load_from(window + kh * row_step + kw * args.lanes), gradient, to);
                    }
                }
            }
        };
        const bool is_whole = taps.first <= 0 && taps.last >= kTapRows;
        const std::int64_t whole_from = is_whole ? std::clamp(begin, tile.first, tile.last) : tile.last;
        const std::int64_t whole_to = std::clamp(end, whole_from, tile.last);
        add.template operator()<true>(tile.first, whole_from);
        add.template operator()<false>(whole_from, whole_to);
        add.template operator()<true>(whole_to, tile.last);
    }
#pragma GCC unroll 25
    for (std::int64_t tap = 0; tap < kTapRows * kKernel; ++tap)
        extent.store_to(total[tap], sum + tap * args.tap_stride);
}

template <std::int64_t kKernel, typename T>
HWY_INLINE void add_tile(const DepthwiseRows<T>& args, const PixelTile& tile) {
    // 25 sums and two operands fit in the registers of AVX-512, 9 sums in the registers of other instruction sets.
    constexpr std::int64_t kTapRows = kWidth == 16 || kKernel == 3 ? kKernel : 1;
    const std::int64_t pixels = (tile.last_row - tile.first_row) * (tile.last - tile.first);
    const T* dy_ahead = args.dy + (tile.last_row * args.y_width + tile.first) * args.lanes;
    const std::int64_t x_row = tile.last_row * args.stride - args.top + kKernel - args.stride;
    const T* x_ahead = args.x + (x_row * args.x_width + tile.first * args.stride) * args.lanes;
    for_vectors(args.lanes, [&](auto extent, std::int64_t lane) HWY_ATTR {
        for (std::int64_t i = 0; i < pixels; ++i, dy_ahead += kWidth)
            __builtin_prefetch(dy_ahead, 0, 2);
        for (std::int64_t i = 0; i < pixels * args.stride * args.stride; ++i, x_ahead += kWidth)
            __builtin_prefetch(x_ahead, 0, 2);
        for (std::int64_t from = 0; from < kKernel; from += kTapRows)
            add_tap_rows<kKernel, kTapRows>(extent, args, tile, lane, from);
    });
}

template <std::int64_t kKernel, typename T> void rows_of_kernel(const DepthwiseRows<T>& args) {
    const std::int64_t height = std::max<std::int64_t>(1, kTilePixels / args.y_width);
    const std::int64_t width = std::min(kTilePixels, args.y_width);
    for (std::int64_t row = args.first; row < args.last; row += height) {
        for (std::int64_t first = 0; first < args.y_width; first += width) {
            add_tile<kKernel>(args, {.first_row = row,
                                     .last_row = std::min(args.last, row + height),
                                     .first = first,
                                     .last = std::min(args.y_width, first + width)});
        }
    }
}

/// Adds rows for kernel sizes without a function of their own, one row and one tap at a time.
template <typename T> void rows_of_any_kernel(const DepthwiseRows<T>& args) {
    for (std::int64_t row = args.first; row < args.last; ++row) {
        const T* const dy = args.dy + row * args.y_width * args.lanes;
        for_vectors(args.lanes, [&](auto extent, std::int64_t lane) {
            for (std::int64_t tap = 0; tap < args.kernel * args.kernel; ++tap) {
                const std::int64_t ih = row * args.stride - args.top + tap / args.kernel;
                if (ih < 0 || ih >= args.x_height) continue;
                float* sum = args.sum + tap * args.tap_stride + lane;
                Floats total = extent.load_from(sum);
                for (std::int64_t ow = 0; ow < args.y_width; ++ow) {
                    const std::int64_t iw = ow * args.stride - args.left + tap % args.kernel;
                    if (iw < 0 || iw >= args.x_width) continue;
                    const Floats x = extent.load_from(args.x + (ih * args.x_width + iw) * args.lanes + lane);
                    total = hn::MulAdd(x, extent.load_from(dy + ow * args.lanes + lane), total);
                }
                extent.store_to(total, sum);
            }
        });
    }
}

template <typename T> void depthwise_rows(const DepthwiseRows<T>& args) {
    switch (args.kernel) {
        case 3:
            return rows_of_kernel<3>(args);
        case 5:
            return rows_of_kernel<5>(args);
        default:
            return rows_of_any_kernel(args);
    }
}

CNNTRAIN_KERNELS_OF_TYPES(depthwise_rows, DepthwiseRows)

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

CNNTRAIN_CALL_OF_TYPES(call_rows, depthwise_rows, DepthwiseRows)

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
        const std::int64_t end = rows * (part + 1) / parts;
        for (std::int64_t row = rows * part / parts; row < end;) {
            const std::int64_t sample = row / shape.y.height;
            const std::int64_t stop = std::min(end, (sample + 1) * shape.y.height);
            call_rows({.lanes = lanes,
                       .kernel = shape.kernel,
                       .stride = shape.stride,
                       .top = shape.top,
                       .left = shape.left,
                       .x_height = shape.x.height,
                       .x_width = shape.x.width,
                       .y_width = shape.y.width,
                       .first = row - sample * shape.y.height,
                       .last = stop - sample * shape.y.height,
                       .x = x + shape.x.shape.offset(sample, block, 0),
                       .dy = dy + shape.y.shape.offset(sample, block, 0),
                       .sum = sum,
                       .tap_stride = channels});
            row = stop;
        }
    });
    scaled_sum_of_parts(parts, taps * channels, scratch.data(), 1, dw);
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
template void merge_groups(const MergedKernel&, const std::int8_t*, std::int8_t*);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
