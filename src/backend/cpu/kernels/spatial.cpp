// Image normalisation, global average pooling and shortcut padding.
#include <cstdint>

#include "backend/cpu/kernels/element_types.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/spatial.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/strips-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_SPATIAL_ARGUMENTS_
#define CNNTRAIN_CPU_SPATIAL_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// The pixels of a block of channels, and one row for all of them.
template <typename T> struct PixelRows {
    std::int64_t rows = 0, lanes = 0;
    const T* x = nullptr;
    T* y = nullptr;
};

}  // namespace
}  // namespace cnntrain::cpu

// NOLINTBEGIN(bugprone-macro-parentheses): types cannot stand in parentheses
// clang-format off
/// Types of the pixels and the results of a normalisation.
#define CNNTRAIN_NORMALISATIONS(define)       \
    define(u8_u8, std::uint8_t, std::uint8_t) \
    define(f32_u8, float, std::uint8_t)       \
    define(bf16_u8, BFloat16, std::uint8_t)   \
    define(u8_f32, std::uint8_t, float)       \
    define(u8_bf16, std::uint8_t, BFloat16)   \
    define(f32_f32, float, float)             \
    define(f32_bf16, float, BFloat16)         \
    define(bf16_f32, BFloat16, float)         \
    define(bf16_bf16, BFloat16, BFloat16)
// clang-format on

#define CNNTRAIN_NORMALISE(types, In, Out)                                                             \
    void normalise_##types(std::int64_t count, std::int64_t channels, const In* x, const float* scale, \
                           const float* shift, Out* y) {                                               \
        normalise_range(count, channels, x, scale, shift, y);                                          \
    }

#define CNNTRAIN_CALL_NORMALISE(types, In, Out)                                                     \
    HWY_EXPORT(normalise_##types);                                                                  \
    void call_normalise(std::int64_t count, std::int64_t channels, const In* x, const float* scale, \
                        const float* shift, Out* y) {                                               \
        HWY_DYNAMIC_DISPATCH(normalise_##types)(count, channels, x, scale, shift, y);               \
    }
// NOLINTEND(bugprone-macro-parentheses)
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// `count` elements, starting with channel 0. After `channels` vectors, lanes and channels have the same alignment
/// again.
template <typename In, typename Out> void normalise_range(std::int64_t count, std::int64_t channels, const In* x,
                                                          const float* scale, const float* shift, Out* y) {
    float scales[kMaxImageChannels * kWidth];
    float shifts[kMaxImageChannels * kWidth];
    const std::int64_t period = channels * kWidth;
    for (std::int64_t i = 0; i < period; ++i) {
        scales[i] = scale[i % channels];
        shifts[i] = shift[i % channels];
    }
    std::int64_t phase = 0;
    for_vectors(count, [&](auto extent, std::int64_t i) {
        const Floats value = hn::MulAdd(extent.load_from(x + i), load(scales + phase), load(shifts + phase));
        if constexpr (sizeof(Out) == 1) {
            store_bytes(extent, hn::NearestInt(value), y + i);
        } else {
            extent.store_to(value, y + i);
        }
        phase = phase + kWidth == period ? 0 : phase + kWidth;
    });
}

/// y[lane] = mean over the rows. Processes four vectors at once, to use whole cache lines of each row.
template <typename T> void mean_rows(PixelRows<T> pixels) {
    const auto [rows, lanes, x, y] = pixels;
    const FloatTag d;
    const auto share = hn::Set(d, 1.0F / static_cast<float>(rows));
    std::int64_t lane = 0;
    for (; lane + 4 * kWidth <= lanes; lane += 4 * kWidth) {
        Floats s0 = hn::Zero(d);
        Floats s1 = s0;
        Floats s2 = s0;
        Floats s3 = s0;
        const T* from = x + lane;
        for (std::int64_t row = 0; row < rows; ++row, from += lanes) {
            s0 = hn::Add(s0, load(from));
            s1 = hn::Add(s1, load(from + kWidth));
            s2 = hn::Add(s2, load(from + 2 * kWidth));
            s3 = hn::Add(s3, load(from + 3 * kWidth));
        }
        store(hn::Mul(s0, share), y + lane);
        store(hn::Mul(s1, share), y + lane + kWidth);
        store(hn::Mul(s2, share), y + lane + 2 * kWidth);
        store(hn::Mul(s3, share), y + lane + 3 * kWidth);
    }
    for_vectors(pixels.lanes - lane, [&](auto extent, std::int64_t i) {
        Floats sum = hn::Zero(d);
        for (std::int64_t row = 0; row < pixels.rows; ++row)
            sum = hn::Add(sum, extent.load_from(pixels.x + row * pixels.lanes + lane + i));
        extent.store_to(hn::Mul(sum, share), pixels.y + lane + i);
    });
}

/// y[row, lane] = x[lane] / rows.
template <typename T> void spread_rows(PixelRows<T> pixels) {
    const auto share = hn::Set(FloatTag(), 1.0F / static_cast<float>(pixels.rows));
    for_strips<T>(pixels.rows, pixels.lanes, 1, [&](auto extent, const Strip& strip) {
        const auto value = hn::Mul(extent.load_from(pixels.x + strip.lane), share);
        for_rows(strip, [&](const Place& place) HWY_ATTR { store_in_strip(extent, value, pixels.y, place); });
    });
}

CNNTRAIN_NORMALISATIONS(CNNTRAIN_NORMALISE)
CNNTRAIN_KERNELS_OF_TYPES(mean_rows, PixelRows)
CNNTRAIN_KERNELS_OF_TYPES(spread_rows, PixelRows)

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

CNNTRAIN_NORMALISATIONS(CNNTRAIN_CALL_NORMALISE)
CNNTRAIN_CALL_OF_TYPES(call_mean_rows, mean_rows, PixelRows)
CNNTRAIN_CALL_OF_TYPES(call_spread_rows, spread_rows, PixelRows)

constexpr std::int64_t kPixelsPerTask = 8192;

/// The large and the small image of a strided copy, and their common sizes.
struct StridedCopy {
    const Picture& large;
    const Picture& small;
    std::int64_t stride;

    StridedCopy(const Picture& large_picture, const Picture& small_picture, std::int64_t stride_pixels)
        : large(large_picture), small(small_picture), stride(stride_pixels) {
        const bool same_layout =
            large.shape.lanes == small.shape.lanes || (large.shape.blocks == 1 && small.shape.blocks == 1);
        CNNTRAIN_CHECK(same_layout, "shortcut padding needs one layout on both sides");
        CNNTRAIN_CHECK(small.height == ceil_div(large.height, stride) && small.width == ceil_div(large.width, stride),
                       "shortcut padding: the pictures do not fit the stride");
    }
    std::int64_t common_blocks() const { return std::min(large.shape.blocks, small.shape.blocks); }
    std::int64_t common_lanes() const { return std::min(large.shape.lanes, small.shape.lanes); }
};

/// Offset of the first element of a row of pixels.
std::int64_t row_offset(const Picture& picture, std::int64_t n, std::int64_t block, std::int64_t row) {
    return ((n * picture.shape.blocks + block) * picture.shape.pixels + row * picture.width) * picture.shape.lanes;
}

}  // namespace

template <typename In, typename Out> void normalise_image(std::int64_t pixels, std::int64_t channels, const In* x,
                                                          const float* scale, const float* shift, Out* y) {
    CNNTRAIN_CHECK(channels >= 1 && channels <= kMaxImageChannels, "images have 1 to 16 channels");
    parallel_ranges(
        pixels * channels,
        [&](std::int64_t begin, std::int64_t end) {
            call_normalise(end - begin, channels, x + begin, scale, shift, y + begin);
        },
        kPixelsPerTask * channels);
}

template <typename T> void global_average_pool(const Blocks& shape, const T* x, T* y) {
    parallel_tasks(shape.n * shape.blocks, [&](std::int64_t slab) {
        call_mean_rows(
            PixelRows<T>{shape.pixels, shape.lanes, x + slab * shape.pixels * shape.lanes, y + slab * shape.lanes});
    });
}

template <typename T> void global_average_pool_grad(const Blocks& shape, const T* dy, T* dx) {
    parallel_tasks(shape.n * shape.blocks, [&](std::int64_t slab) {
        call_spread_rows(
            PixelRows<T>{shape.pixels, shape.lanes, dy + slab * shape.lanes, dx + slab * shape.pixels * shape.lanes});
    });
}

template <typename T>
void shortcut_pad(const Picture& x_picture, const Picture& y_picture, std::int64_t stride, const T* x, T* y) {
    const StridedCopy copy(x_picture, y_picture, stride);
    const Blocks& to_shape = y_picture.shape;
    parallel_tasks(to_shape.n * to_shape.blocks, [&](std::int64_t slab) {
        const std::int64_t n = slab / to_shape.blocks;
        const std::int64_t block = slab % to_shape.blocks;
        if (block >= copy.common_blocks()) {
            std::fill_n(y + slab * to_shape.pixels * to_shape.lanes, to_shape.pixels * to_shape.lanes, T{});
            return;
        }
        for (std::int64_t row = 0; row < y_picture.height; ++row) {
            const T* from = x + row_offset(x_picture, n, block, row * stride);
            T* to = y + row_offset(y_picture, n, block, row);
            for (std::int64_t column = 0; column < y_picture.width; ++column) {
                std::copy_n(from, copy.common_lanes(), to);
                std::fill_n(to + copy.common_lanes(), to_shape.lanes - copy.common_lanes(), T{});
                from += stride * x_picture.shape.lanes;
                to += to_shape.lanes;
            }
        }
    });
}

template <typename T>
void shortcut_pad_grad(const Picture& dx_picture, const Picture& dy_picture, std::int64_t stride, const T* dy, T* dx) {
    const StridedCopy copy(dx_picture, dy_picture, stride);
    const Blocks& to_shape = dx_picture.shape;
    parallel_tasks(to_shape.n * to_shape.blocks, [&](std::int64_t slab) {
        const std::int64_t n = slab / to_shape.blocks;
        const std::int64_t block = slab % to_shape.blocks;
        std::fill_n(dx + slab * to_shape.pixels * to_shape.lanes, to_shape.pixels * to_shape.lanes, T{});
        if (block >= copy.common_blocks()) return;
        for (std::int64_t row = 0; row < dy_picture.height; ++row) {
            const T* from = dy + row_offset(dy_picture, n, block, row);
            T* to = dx + row_offset(dx_picture, n, block, row * stride);
            for (std::int64_t column = 0; column < dy_picture.width; ++column) {
                std::copy_n(from, copy.common_lanes(), to);
                from += dy_picture.shape.lanes;
                to += stride * to_shape.lanes;
            }
        }
    });
}

// NOLINTBEGIN(bugprone-macro-parentheses): types cannot stand in parentheses
#define CNNTRAIN_INSTANTIATE(types, In, Out) \
    template void normalise_image(std::int64_t, std::int64_t, const In*, const float*, const float*, Out*);
// NOLINTEND(bugprone-macro-parentheses)
CNNTRAIN_NORMALISATIONS(CNNTRAIN_INSTANTIATE)
#undef CNNTRAIN_INSTANTIATE

// NOLINTBEGIN(bugprone-macro-parentheses): types cannot stand in parentheses
#define CNNTRAIN_INSTANTIATE(T)                                                             \
    template void global_average_pool(const Blocks&, const T*, T*);                         \
    template void global_average_pool_grad(const Blocks&, const T*, T*);                    \
    template void shortcut_pad(const Picture&, const Picture&, std::int64_t, const T*, T*); \
    template void shortcut_pad_grad(const Picture&, const Picture&, std::int64_t, const T*, T*)
// NOLINTEND(bugprone-macro-parentheses)
CNNTRAIN_INSTANTIATE(float);
CNNTRAIN_INSTANTIATE(BFloat16);
#undef CNNTRAIN_INSTANTIATE

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
