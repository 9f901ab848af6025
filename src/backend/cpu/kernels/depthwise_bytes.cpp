#if defined(__GNUC__) && !defined(__clang__)
// GCC 12 wrongly warns of the undefined operands in its own unmasked intrinsics.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#pragma GCC diagnostic ignored "-Wuninitialized"
#endif
// Depthwise convolutions of numbers in 8 bits, for AVX512-VNNI.
//
// A task has some rows of a sample and up to 64 channels. It copies their pixels, with the padding around them, so that
// a pixel is a whole vector of bytes. Neighbouring pixels are interleaved until the four bytes under the taps of a row
// are adjacent in each channel; one instruction multiplies and adds them. Interleaving permutes channels within a
// vector: its j-th quarter has channels 16 L + 4 j to 16 L + 4 j + 3 of each 128-bit lane L. Weights, factors and
// shifts lie in this order; packing the sums to bytes restores the order of channels.
#include <immintrin.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "backend/cpu/kernels/conv.h"
#include "backend/cpu/kernels/element_types.h"
#include "backend/cpu/kernels/targets.h"
#include "backend/cpu/kernels/tile_target.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/depthwise_bytes.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_DEPTHWISE_BYTES_ARGUMENTS_
#define CNNTRAIN_CPU_DEPTHWISE_BYTES_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// Pixels of a row, of up to `apart` channels each, whose sums have their values.
template <typename T> struct FinishedPixels {
    std::int64_t pixels = 0, channels = 0;
    const float* values = nullptr;
    std::int64_t apart = 0;  // from one pixel to the next
    Activation activation = Activation::none;
    float scale = 1, shift = 0;  // of bytes
    T* y = nullptr;
    std::int64_t y_apart = 0;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

template <typename T> void finish_pixels(const FinishedPixels<T>& args) {
    const FloatTag d;
    const Floats scale = hn::Set(d, args.scale);
    const Floats shift = hn::Set(d, args.shift);
    with_activation(args.activation, [&]<Activation kActivation>() {
        for (std::int64_t pixel = 0; pixel < args.pixels; ++pixel) {
            const float* const from = args.values + pixel * args.apart;
            T* const to = args.y + pixel * args.y_apart;
            for_vectors(args.channels, [&](auto extent, std::int64_t i) {
                const Floats value = ActivationOf<kActivation>::value(extent.load_from(from + i));
                if constexpr (sizeof(T) == 1) {
                    store_bytes(extent, hn::NearestInt(hn::MulAdd(value, scale, shift)), to + i);
                } else {
                    extent.store_to(value, to + i);
                }
            });
        }
    });
}

CNNTRAIN_KERNELS_OF_TYPES(finish_pixels, FinishedPixels)
void finish_pixels_u8(const FinishedPixels<std::uint8_t>& args) {
    finish_pixels(args);
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <omp.h>

#include "backend/cpu/kernels/parallel.h"

namespace cnntrain::cpu {
namespace {

CNNTRAIN_CALL_OF_TYPES(call_finish, finish_pixels, FinishedPixels)
HWY_EXPORT(finish_pixels_u8);
void call_finish(const FinishedPixels<std::uint8_t>& args) {
    HWY_DYNAMIC_DISPATCH(finish_pixels_u8)(args);
}

constexpr std::int64_t kChunk = kDepthwiseChunk;
constexpr std::int64_t kQuarters = 4;  // of a vector of bytes: its sums are four vectors
constexpr std::int64_t kOutputs = 4;   // neighbours in a row that are summed at a time
constexpr std::int64_t kTaskRows = 14;

/// The order in which a chunk's channels are summed, for vectors of `bytes` bytes.
std::int64_t channel_at(std::int64_t place, std::int64_t bytes) {
    const std::int64_t floats = bytes / kQuarters;
    const std::int64_t quarter = place / floats;
    const std::int64_t element = place % floats;
    return 16 * (element / 4) + 4 * quarter + element % 4;
}

/// Half a vector is enough for the last channels.
std::int64_t vector_bytes(std::int64_t channels) {
    return channels <= kChunk / 2 ? kChunk / 2 : kChunk;
}

/// Taps of a row in fours: the bytes that an instruction multiplies in each channel.
std::int64_t quads_of(std::int64_t taps) {
    return ceil_div(taps, std::int64_t{4});
}

std::int64_t chunk_panel_bytes(std::int64_t kernel) {
    return kernel * quads_of(kernel) * kQuarters * kChunk;
}

struct Wide {
    using Ints = __m512i;
    using Floats = __m512;
    static constexpr std::int64_t kBytes = 64;

    CNNTRAIN_TILES static Ints zero() { return _mm512_setzero_si512(); }
    CNNTRAIN_TILES static Ints load(const void* from) { return _mm512_loadu_si512(from); }
    CNNTRAIN_TILES static Ints load_first(std::uint64_t mask, const void* from) {
        return _mm512_maskz_loadu_epi8(mask, from);
    }
    CNNTRAIN_TILES static void store(void* to, Ints value) { _mm512_storeu_si512(to, value); }
    CNNTRAIN_TILES static void store_first(std::uint64_t mask, void* to, Ints value) {
        _mm512_mask_storeu_epi8(to, mask, value);
    }
    CNNTRAIN_TILES static Ints low_bytes(Ints a, Ints b) { return _mm512_unpacklo_epi8(a, b); }
    CNNTRAIN_TILES static Ints high_bytes(Ints a, Ints b) { return _mm512_unpackhi_epi8(a, b); }
    CNNTRAIN_TILES static Ints low_words(Ints a, Ints b) { return _mm512_unpacklo_epi16(a, b); }
    CNNTRAIN_TILES static Ints high_words(Ints a, Ints b) { return _mm512_unpackhi_epi16(a, b); }
    CNNTRAIN_TILES static Ints added(Ints sum, Ints x, Ints w) { return _mm512_dpbusd_epi32(sum, x, w); }
    CNNTRAIN_TILES static Floats values(Ints sums, const float* factors, const float* shifts) {
        return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sums), _mm512_loadu_ps(factors), _mm512_loadu_ps(shifts));
    }
    CNNTRAIN_TILES static Ints rounded(Floats values) { return _mm512_cvtps_epi32(values); }
    CNNTRAIN_TILES static Ints packed(const Ints (&numbers)[kQuarters], std::uint8_t most) {
        const Ints bytes =
            _mm512_packus_epi16(_mm512_packs_epi32(numbers[0], numbers[1]), _mm512_packs_epi32(numbers[2], numbers[3]));
        return _mm512_min_epu8(bytes, _mm512_set1_epi8(static_cast<char>(most)));
    }
    /// Each 128-bit lane to its place.
    CNNTRAIN_TILES static void spread(Floats value, float* to) {
        _mm_storeu_ps(to, _mm512_castps512_ps128(value));
        _mm_storeu_ps(to + 16, _mm512_extractf32x4_ps(value, 1));
        _mm_storeu_ps(to + 32, _mm512_extractf32x4_ps(value, 2));
        _mm_storeu_ps(to + 48, _mm512_extractf32x4_ps(value, 3));
    }
};

struct Narrow {
    using Ints = __m256i;
    using Floats = __m256;
    static constexpr std::int64_t kBytes = 32;

    CNNTRAIN_TILES static Ints zero() { return _mm256_setzero_si256(); }
    CNNTRAIN_TILES static Ints load(const void* from) { return _mm256_loadu_si256(static_cast<const Ints*>(from)); }
    CNNTRAIN_TILES static Ints load_first(std::uint64_t mask, const void* from) {
        return _mm256_maskz_loadu_epi8(static_cast<__mmask32>(mask), from);
    }
    CNNTRAIN_TILES static void store(void* to, Ints value) { _mm256_storeu_si256(static_cast<Ints*>(to), value); }
    CNNTRAIN_TILES static void store_first(std::uint64_t mask, void* to, Ints value) {
        _mm256_mask_storeu_epi8(to, static_cast<__mmask32>(mask), value);
    }
    CNNTRAIN_TILES static Ints low_bytes(Ints a, Ints b) { return _mm256_unpacklo_epi8(a, b); }
    CNNTRAIN_TILES static Ints high_bytes(Ints a, Ints b) { return _mm256_unpackhi_epi8(a, b); }
    CNNTRAIN_TILES static Ints low_words(Ints a, Ints b) { return _mm256_unpacklo_epi16(a, b); }
    CNNTRAIN_TILES static Ints high_words(Ints a, Ints b) { return _mm256_unpackhi_epi16(a, b); }
    CNNTRAIN_TILES static Ints added(Ints sum, Ints x, Ints w) { return _mm256_dpbusd_epi32(sum, x, w); }
    CNNTRAIN_TILES static Floats values(Ints sums, const float* factors, const float* shifts) {
        return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sums), _mm256_loadu_ps(factors), _mm256_loadu_ps(shifts));
    }
    CNNTRAIN_TILES static Ints rounded(Floats values) { return _mm256_cvtps_epi32(values); }
    CNNTRAIN_TILES static Ints packed(const Ints (&numbers)[kQuarters], std::uint8_t most) {
        const Ints bytes =
            _mm256_packus_epi16(_mm256_packs_epi32(numbers[0], numbers[1]), _mm256_packs_epi32(numbers[2], numbers[3]));
        return _mm256_min_epu8(bytes, _mm256_set1_epi8(static_cast<char>(most)));
    }
    CNNTRAIN_TILES static void spread(Floats value, float* to) {
        _mm_storeu_ps(to, _mm256_castps256_ps128(value));
        _mm_storeu_ps(to + 16, _mm256_extractf128_ps(value, 1));
    }
};

/// A row of results of a chunk's channels. Pixels of x are vectors, one after the other.
struct ByteRow {
    const std::uint8_t* x = nullptr;  // the pixel under the first tap
    std::int64_t x_row = 0;           // bytes from one row to the next
    const std::int8_t* weights = nullptr;
    const float* factors = nullptr;
    const float* shifts = nullptr;
    std::uint8_t most = 255;
    std::int64_t pixels = 0;
    std::uint64_t channels = 0;  // a mask
    std::uint8_t* y = nullptr;   // null: values are wanted
    std::int64_t y_apart = 0;
    float* values = nullptr;  // vectors, one after the other
};

/// Neighbouring pixels under a row of the kernel, each interleaved with the next one: the lower and the upper half of
/// each lane. With a step of 2, those between the outputs are not made.
template <typename V, std::int64_t kTaps, std::int64_t kStep> struct PixelPairs {
    static constexpr std::int64_t kLast = kTaps > 4 ? 4 : 2;  // pair under an output
    typename V::Ints low[(kOutputs - 1) * kStep + kLast + 1];
    typename V::Ints high[(kOutputs - 1) * kStep + kLast + 1];
};

/// Adds the products of four neighbouring pixels, of which `one` has the first two and `next` the others, to an output.
template <typename V, std::int64_t kTaps, std::int64_t kStep>
CNNTRAIN_TILES inline __attribute__((always_inline)) void add_quad(const PixelPairs<V, kTaps, kStep>& pairs,
                                                                   std::int64_t one, std::int64_t next,
                                                                   const std::int8_t* w,
                                                                   typename V::Ints (&sums)[kQuarters]) {
    const auto& [low, high] = pairs;
    sums[0] = V::added(sums[0], V::low_words(low[one], low[next]), V::load(w));
    sums[1] = V::added(sums[1], V::high_words(low[one], low[next]), V::load(w + V::kBytes));
    sums[2] = V::added(sums[2], V::low_words(high[one], high[next]), V::load(w + 2 * V::kBytes));
    sums[3] = V::added(sums[3], V::high_words(high[one], high[next]), V::load(w + 3 * V::kBytes));
}

/// Adds the products of one output. x: the pixel under the first tap of output 0.
template <std::int64_t kOutput, typename V, std::int64_t kTaps, std::int64_t kStep>
CNNTRAIN_TILES inline __attribute__((always_inline)) void add_products(const std::uint8_t* x, const std::int8_t* w,
                                                                       PixelPairs<V, kTaps, kStep>& pairs,
                                                                       typename V::Ints (&sums)[kQuarters]) {
    constexpr std::int64_t kFirst = kOutput * kStep;
    constexpr std::int64_t kLast = PixelPairs<V, kTaps, kStep>::kLast;
    constexpr std::int64_t kMade = kOutput == 0 ? 0 : kFirst + kLast;  // those before are there
#pragma GCC unroll 8
    for (std::int64_t i = kMade; i <= kFirst + kLast; i += kStep) {
        const typename V::Ints one = V::load(x + i * V::kBytes);
        const typename V::Ints next = V::load(x + (i + 1) * V::kBytes);
        pairs.low[i] = V::low_bytes(one, next);
        pairs.high[i] = V::high_bytes(one, next);
    }
    add_quad(pairs, kFirst, kFirst + 2, w, sums);
    // Weights of the sixth to the eighth tap are zero.
    if constexpr (kTaps > 4) add_quad(pairs, kFirst + kLast, kFirst + kLast, w + kQuarters * V::kBytes, sums);
}

template <typename V, std::int64_t kTaps, std::int64_t kStep> CNNTRAIN_TILES void sum_row(const ByteRow& row) {
    using Ints = typename V::Ints;
    constexpr std::int64_t kFloats = V::kBytes / kQuarters;
    constexpr std::int64_t kWeightRow = (kTaps > 4 ? 2 : 1) * kQuarters * V::kBytes;
    for (std::int64_t pixel = 0; pixel < row.pixels; pixel += kOutputs) {
        Ints sums[kOutputs][kQuarters];
#pragma GCC unroll 8
        for (std::int64_t i = 0; i < kOutputs * kQuarters; ++i)
            sums[i / kQuarters][i % kQuarters] = V::zero();
        const std::uint8_t* x = row.x + pixel * kStep * V::kBytes;
        for (std::int64_t tap = 0; tap < kTaps; ++tap, x += row.x_row) {
            const std::int8_t* const w = row.weights + tap * kWeightRow;
            PixelPairs<V, kTaps, kStep> pairs;
            add_products<0>(x, w, pairs, sums[0]);
            add_products<1>(x, w, pairs, sums[1]);
            add_products<2>(x, w, pairs, sums[2]);
            add_products<3>(x, w, pairs, sums[3]);
        }
        const std::int64_t count = std::min(kOutputs, row.pixels - pixel);
#pragma GCC unroll 8
        for (std::int64_t output = 0; output < kOutputs; ++output) {
            if (output >= count) break;
            Ints numbers[kQuarters] = {};
#pragma GCC unroll 8
            for (std::int64_t quarter = 0; quarter < kQuarters; ++quarter) {
                const std::int64_t place = quarter * kFloats;
                const auto values = V::values(sums[output][quarter], row.factors + place, row.shifts + place);
                if (row.y == nullptr) {
                    V::spread(values, row.values + (pixel + output) * V::kBytes + 4 * quarter);
                } else {
                    numbers[quarter] = V::rounded(values);
                }
            }
            if (row.y != nullptr)
                V::store_first(row.channels, row.y + (pixel + output) * row.y_apart, V::packed(numbers, row.most));
        }
    }
}

using RowFunction = void (*)(const ByteRow&);
template <typename V> RowFunction row_function(std::int64_t taps, std::int64_t step) {
    if (taps == 3) return step == 1 ? sum_row<V, 3, 1> : sum_row<V, 3, 2>;
    return step == 1 ? sum_row<V, 5, 1> : sum_row<V, 5, 2>;
}

/// Columns of x with the padding, and those that the last group of outputs reads beyond.
std::int64_t padded_width(const DepthwiseShape& shape) {
    return (ceil_div(shape.y.width, kOutputs) * kOutputs - 1) * shape.stride + shape.kernel + 1;
}
/// The rows of a task with the padding.
std::int64_t padded_bytes(const DepthwiseShape& shape) {
    const std::int64_t rows = (std::min(kTaskRows, shape.y.height) - 1) * shape.stride + shape.kernel;
    return rows * padded_width(shape) * kChunk;
}
/// The padded rows of a task, then a row of values.
std::int64_t scratch_bytes(const DepthwiseShape& shape) {
    const std::int64_t values = ceil_div(shape.y.width, kOutputs) * kOutputs * kChunk;
    return padded_bytes(shape) + values * static_cast<std::int64_t>(sizeof(float));
}

/// Copies `count` pixels of the channels of a mask.
template <typename V> CNNTRAIN_TILES void copy_pixels(const std::uint8_t* x, std::int64_t apart, std::int64_t count,
                                                      std::uint64_t channels, std::uint8_t* to) {
    for (std::int64_t i = 0; i < count; ++i)
        V::store(to + i * V::kBytes, V::load_first(channels, x + i * apart));
}

/// Rows [first, last) of a sample's result, of some channels.
struct ByteTask {
    std::int64_t sample = 0, chunk = 0, first = 0, last = 0;
};

template <typename V, typename T> void run_task(const DepthwiseShape& shape, const DepthwiseBytes<T>& args,
                                                const ByteTask& task, std::uint8_t* padded, float* values) {
    const std::int64_t all = shape.x.shape.lanes;
    const std::int64_t channel = task.chunk * kChunk;
    const std::int64_t channels = std::min(kChunk, all - channel);
    const std::uint64_t mask = ~std::uint64_t{0} >> (kChunk - channels);
    const std::int64_t width = padded_width(shape);
    const std::uint8_t* const x = args.x + task.sample * shape.x.height * shape.x.width * all + channel;
    const std::int64_t rows = (task.last - task.first - 1) * shape.stride + shape.kernel;
    const auto pad = [&](std::int64_t row, std::int64_t first, std::int64_t last) {
        std::memset(padded + (row * width + first) * V::kBytes, args.zero,
                    static_cast<std::size_t>((last - first) * V::kBytes));
    };
    const std::int64_t right = std::min(width, shape.left + shape.x.width);
    for (std::int64_t row = 0; row < rows; ++row) {
        const std::int64_t from = task.first * shape.stride - shape.top + row;
        if (from < 0 || from >= shape.x.height) {
            pad(row, 0, width);
            continue;
        }
        pad(row, 0, shape.left);
        copy_pixels<V>(x + from * shape.x.width * all, all, right - shape.left, mask,
                       padded + (row * width + shape.left) * V::kBytes);
        pad(row, right, width);
    }
    T* const y = args.y + task.sample * shape.y.height * shape.y.width * all + channel;
    constexpr bool kInBytes = sizeof(T) == 1;
    ByteRow row{.x_row = width * V::kBytes,
                .weights = args.panels + task.chunk * chunk_panel_bytes(shape.kernel),
                .factors = args.factors + channel,
                .shifts = args.shifts + channel,
                .most = args.most,
                .pixels = shape.y.width,
                .channels = mask,
                .y_apart = all,
                .values = values};
    const auto sum = row_function<V>(shape.kernel, shape.stride);
    for (std::int64_t i = task.first; i < task.last; ++i) {
        row.x = padded + (i - task.first) * shape.stride * row.x_row;
        T* const to = y + i * shape.y.width * all;
        if constexpr (kInBytes) row.y = args.in_unit ? to : nullptr;
        sum(row);
        if (row.y != nullptr) continue;
        call_finish(FinishedPixels<T>{shape.y.width, channels, values, V::kBytes, args.activation, args.scale,
                                      args.shift, to, all});
    }
}

}  // namespace

std::int64_t depthwise_panel_bytes(std::int64_t channels, std::int64_t kernel) {
    return ceil_div(channels, kChunk) * chunk_panel_bytes(kernel);
}

void copy_to_depthwise_panels(std::int64_t channels, std::int64_t kernel, const std::int8_t* w, std::int8_t* panels) {
    std::fill_n(panels, depthwise_panel_bytes(channels, kernel), std::int8_t{0});
    for (std::int64_t chunk = 0; chunk * kChunk < channels; ++chunk) {
        const std::int64_t count = std::min(kChunk, channels - chunk * kChunk);
        const std::int64_t bytes = vector_bytes(count);
        std::int8_t* const own = panels + chunk * chunk_panel_bytes(kernel);
        for (std::int64_t place = 0; place < bytes; ++place) {
            const std::int64_t channel = channel_at(place, bytes);
            for (std::int64_t tap = 0; channel < count && tap < kernel * kernel; ++tap) {
                const std::int64_t column = tap % kernel;
                const std::int64_t vectors = tap / kernel * quads_of(kernel) + column / 4;
                own[vectors * kQuarters * bytes + 4 * place + column % 4] =
                    w[tap * channels + chunk * kChunk + channel];
            }
        }
    }
}

void copy_in_depthwise_order(std::int64_t channels, const float* from, float* to) {
    for (std::int64_t chunk = 0; chunk * kChunk < channels; ++chunk) {
        const std::int64_t count = std::min(kChunk, channels - chunk * kChunk);
        const std::int64_t bytes = vector_bytes(count);
        for (std::int64_t place = 0; place < bytes; ++place) {
            const std::int64_t channel = channel_at(place, bytes);
            to[chunk * kChunk + place] = channel < count ? from[chunk * kChunk + channel] : 0;
        }
    }
}

std::int64_t depthwise_bytes_scratch_floats(const DepthwiseShape& shape, int threads) {
    constexpr std::int64_t kLineFloats = 16;  // rows of padded pixels begin with a line
    return threads * ceil_div(scratch_bytes(shape), kChunk) * kLineFloats;
}

template <typename T>
void depthwise_bytes(const DepthwiseShape& shape, const DepthwiseBytes<T>& args, std::span<float> scratch) {
    const std::int64_t bands = ceil_div(shape.y.height, kTaskRows);
    const std::int64_t channels = shape.x.shape.lanes;
    const std::int64_t chunks = ceil_div(channels, kChunk);
    const std::int64_t room = depthwise_bytes_scratch_floats(shape, 1);
    parallel_tasks(shape.x.shape.n * bands * chunks, [&](std::int64_t number) {
        const std::int64_t band = number / chunks % bands;
        const ByteTask task{number / chunks / bands, number % chunks, shape.y.height * band / bands,
                            shape.y.height * (band + 1) / bands};
        auto* const own = reinterpret_cast<std::uint8_t*>(scratch.data() + omp_get_thread_num() * room);
        auto* const values = reinterpret_cast<float*>(own + padded_bytes(shape));
        if (vector_bytes(channels - task.chunk * kChunk) == kChunk) {
            run_task<Wide>(shape, args, task, own, values);
        } else {
            run_task<Narrow>(shape, args, task, own, values);
        }
    });
}

template void depthwise_bytes(const DepthwiseShape&, const DepthwiseBytes<std::uint8_t>&, std::span<float>);
template void depthwise_bytes(const DepthwiseShape&, const DepthwiseBytes<float>&, std::span<float>);
template void depthwise_bytes(const DepthwiseShape&, const DepthwiseBytes<BFloat16>&, std::span<float>);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
