// Numbers in 8 bits: of tensors with one scale, of rows with a scale each, and their products' values.
#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels/element_types.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/quantise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_QUANTISE_ARGUMENTS_
#define CNNTRAIN_CPU_QUANTISE_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// A range of a tensor with one scale; `factor`: 1 / scale to numbers, scale to values.
template <typename From, typename To> struct ByteRange {
    std::int64_t count = 0;
    const From* x = nullptr;
    float factor = 1;
    std::int32_t zero = 0;
    To* y = nullptr;
};
template <typename T> using RangeToBytes = ByteRange<T, std::uint8_t>;
template <typename T> using RangeOfBytes = ByteRange<std::uint8_t, T>;

template <typename T> struct QuantisedRow {
    std::int64_t features = 0;
    Activation activation = Activation::none;
    const T* x = nullptr;
    float* room = nullptr;  // [features] for the activated values
    std::uint8_t* y = nullptr;
    float* bits = nullptr;  // [2]
};

/// Adjacent columns of a row-major weight [rows,columns].
template <typename T> struct WeightStrip {
    std::int64_t rows = 0, columns = 0;
    std::int64_t width = 0;
    const T* w = nullptr;
    std::int8_t* numbers = nullptr;
    float* scales = nullptr;
};

template <typename T> struct RescaledRow {
    std::int64_t columns = 0;
    const std::int32_t* sums = nullptr;
    float scale = 1, zero = 0;  // of the row
    Rescaling how;
    T* y = nullptr;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

template <typename T> void quantise_range(const RangeToBytes<T>& range) {
    const Floats factor = hn::Set(FloatTag(), range.factor);
    const SignedInts shift = hn::Set(SignedTag(), range.zero);
    for_vectors(range.count, [&](auto extent, std::int64_t i) {
        const SignedInts rounded = hn::NearestInt(hn::Mul(load_ahead(extent, range.x + i), factor));
        store_bytes(extent, hn::Add(rounded, shift), range.y + i);  // limited there
    });
}

template <typename T> void dequantise_range(const RangeOfBytes<T>& range) {
    const Floats factor = hn::Set(FloatTag(), range.factor);
    const Floats shift = hn::Set(FloatTag(), static_cast<float>(range.zero));
    for_vectors(range.count, [&](auto extent, std::int64_t i) {
        extent.store_to(hn::Mul(hn::Sub(load_ahead(extent, range.x + i), shift), factor), range.y + i);
    });
}

/// GELU with fewer instructions than gelu(): x / (1 + 2^-x(a + b x^2 + c x^4)), with the constants that make the
/// largest error least, 3e-5. A step of 8 bits is 400 times as large where x reaches 3.
HWY_INLINE Floats gelu_for_bytes(Floats x) {
    const FloatTag d;
    const Floats inside = limited(x, 7.0F);
    const Floats square = hn::Mul(inside, inside);
    Floats factor = hn::MulAdd(square, hn::Set(d, 1.01426926e-3F), hn::Set(d, -0.106775764F));
    factor = hn::MulAdd(factor, square, hn::Set(d, -2.30112129F));
    return hn::Mul(x, reciprocal(hn::Add(exp2_of_number(hn::Mul(inside, factor)), hn::Set(d, 1.0F))));
}

template <Activation kActivation> HWY_INLINE Floats value_for_bytes(Floats x) {
    if constexpr (kActivation == Activation::gelu) {
        return gelu_for_bytes(x);
    } else {
        return ActivationOf<kActivation>::value(x);
    }
}

template <typename T> void quantise_strip(const WeightStrip<T>& strip) {
    constexpr float kMost = 127;
    const FloatTag d;
    for (std::int64_t column = 0; column < strip.width; column += kWidth) {
        const auto extent = Part{std::min(kWidth, strip.width - column)};
        Floats most = hn::Zero(d);
        Floats invalid = hn::Zero(d);  // NaN where a weight is not finite
        for (std::int64_t row = 0; row < strip.rows; ++row) {
            const Floats weight = extent.load_from(strip.w + row * strip.columns + column);
            most = hn::Max(most, hn::Abs(weight));
            invalid = hn::MulAdd(weight, hn::Zero(d), invalid);
        }
        most = hn::Add(most, invalid);
        const Floats scales =
            hn::IfThenElse(hn::Eq(most, hn::Zero(d)), hn::Set(d, 1.0F), hn::Mul(most, hn::Set(d, 1 / kMost)));
        extent.store_to(scales, strip.scales + column);
        for (std::int64_t row = 0; row < strip.rows; ++row) {
            const Floats quotient = hn::Div(extent.load_from(strip.w + row * strip.columns + column), scales);
            store_bytes(extent, hn::NearestInt(limited(quotient, kMost)), strip.numbers + row * strip.columns + column);
        }
    }
}

void sum_strip(std::int64_t rows, std::int64_t columns, std::int64_t width, const std::int8_t* numbers,
               std::int32_t* sums) {
    for (std::int64_t row = 0; row < rows; ++row) {
        for (std::int64_t column = 0; column < width; ++column)
            sums[column] += numbers[row * columns + column];
    }
}

/// The extremes of a row and 0.
struct RowExtremes {
    Floats least, most;
    Floats invalid;  // NaN if a value is not finite

    HWY_INLINE void add(Floats value) {
        least = hn::Min(least, value);
        most = hn::Max(most, value);
        invalid = hn::MulAdd(value, hn::Zero(FloatTag()), invalid);
    }
};

/// Writes the bits of the row, then its numbers.
template <typename T, typename From>
HWY_INLINE void quantise_values(const QuantisedRow<T>& row, const RowExtremes& extremes, const From* values) {
    constexpr float kMost = 255;
    const FloatTag d;
    const float low = hn::GetLane(hn::MinOfLanes(d, extremes.least));
    float scale = (hn::GetLane(hn::MaxOfLanes(d, extremes.most)) - low) / kMost;
    if (scale == 0) scale = 1;
    scale += hn::GetLane(hn::SumOfLanes(d, extremes.invalid));
    const Floats factor = hn::Set(d, 1 / scale);
    const Floats zero = hn::Round(hn::Mul(hn::Set(d, -low), factor));
    row.bits[0] = scale;
    row.bits[1] = hn::GetLane(zero);
    const SignedInts shift = hn::NearestInt(zero);
    for_vectors(row.features, [&](auto extent, std::int64_t i) {
        const SignedInts rounded = hn::NearestInt(hn::Mul(extent.load_from(values + i), factor));
        store_bytes(extent, hn::Add(rounded, shift), row.y + i);  // limited there
    });
}

template <typename T> void quantise_row(const QuantisedRow<T>& row) {
    const Floats zero = hn::Zero(FloatTag());
    RowExtremes extremes{zero, zero, zero};
    if (row.activation == Activation::none) {
        for_vectors(row.features, [&](auto extent, std::int64_t i) { extremes.add(load_ahead(extent, row.x + i)); });
        return quantise_values(row, extremes, row.x);
    }
    with_activation(row.activation, [&]<Activation kActivation>() {
        for_vectors(row.features, [&](auto extent, std::int64_t i) {
            extent.store_to(value_for_bytes<kActivation>(load_ahead(extent, row.x + i)), row.room + i);
            extremes.add(extent.load_from(row.room + i));  // zeros beyond the end
        });
    });
    quantise_values(row, extremes, row.room);
}

template <typename T> void rescale_row(const RescaledRow<T>& row) {
    const FloatTag d;
    const Floats scale = hn::Set(d, row.scale);
    const Floats zero = hn::Set(d, row.zero);
    for (std::int64_t i = 0; i < row.columns; i += kWidth) {
        const auto extent = Part{std::min(kWidth, row.columns - i)};
        const Floats sums =
            hn::ConvertTo(d, hn::BitCast(SignedTag(), extent.load_from(reinterpret_cast<const float*>(row.sums) + i)));
        const Floats shift = hn::Mul(zero, extent.load_from(row.how.sums + i));
        const Floats products = hn::MulSub(sums, extent.load_from(row.how.scales + i), shift);
        const Floats bias = row.how.bias == nullptr ? hn::Zero(d) : extent.load_from(row.how.bias + i);
        extent.store_to(hn::MulAdd(products, scale, bias), row.y + i);
    }
}

CNNTRAIN_KERNELS_OF_TYPES(quantise_range, RangeToBytes)
CNNTRAIN_KERNELS_OF_TYPES(dequantise_range, RangeOfBytes)
CNNTRAIN_KERNELS_OF_TYPES(quantise_row, QuantisedRow)
CNNTRAIN_KERNELS_OF_TYPES(rescale_row, RescaledRow)
CNNTRAIN_KERNELS_OF_TYPES(quantise_strip, WeightStrip)

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "backend/cpu/kernels/parallel.h"

namespace cnntrain::cpu {
namespace {

CNNTRAIN_CALL_OF_TYPES(call_quantise, quantise_range, RangeToBytes)
CNNTRAIN_CALL_OF_TYPES(call_dequantise, dequantise_range, RangeOfBytes)
CNNTRAIN_CALL_OF_TYPES(call_quantise_row, quantise_row, QuantisedRow)
CNNTRAIN_CALL_OF_TYPES(call_rescale_row, rescale_row, RescaledRow)
CNNTRAIN_CALL_OF_TYPES(call_quantise_strip, quantise_strip, WeightStrip)
HWY_EXPORT(sum_strip);

constexpr std::int64_t kColumnsPerTask = 64;
constexpr std::int64_t kRowsPerTask = 8;

}  // namespace

template <typename T> void quantise(std::int64_t count, const T* x, float inverse, std::int32_t zero, std::uint8_t* y) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        call_quantise(RangeToBytes<T>{end - begin, x + begin, inverse, zero, y + begin});
    });
}

template <typename T> void dequantise(std::int64_t count, const std::uint8_t* x, float scale, std::int32_t zero, T* y) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        call_dequantise(RangeOfBytes<T>{end - begin, x + begin, scale, zero, y + begin});
    });
}

template <typename T>
void quantise_weight(std::int64_t rows, std::int64_t columns, const T* w, std::int8_t* numbers, float* scales) {
    parallel_ranges(
        columns,
        [&](std::int64_t begin, std::int64_t end) {
            call_quantise_strip(WeightStrip<T>{rows, columns, end - begin, w + begin, numbers + begin, scales + begin});
        },
        kColumnsPerTask);
}

void sum_columns(std::int64_t rows, std::int64_t columns, const std::int8_t* numbers, std::int32_t* sums) {
    std::fill_n(sums, columns, 0);
    parallel_ranges(
        columns,
        [&](std::int64_t begin, std::int64_t end) {
            HWY_DYNAMIC_DISPATCH(sum_strip)(rows, columns, end - begin, numbers + begin, sums + begin);
        },
        kColumnsPerTask);
}

template <typename T> void quantise_rows(const RowsInBytes& rows, Activation activation, const T* x, std::uint8_t* y,
                                         float* bits, std::span<float> scratch) {
    parallel_ranges(
        rows.count,
        [&](std::int64_t begin, std::int64_t end) {
            float* const room = scratch.data() + omp_get_thread_num() * rows.features;
            for (std::int64_t row = begin; row < end; ++row) {
                call_quantise_row(QuantisedRow<T>{rows.features, activation, x + row * rows.features, room,
                                                  y + row * rows.features, bits + 2 * row});
            }
        },
        kRowsPerTask);
}

template <typename T> void rescale_rows(const RowsInBytes& rows, const std::int32_t* sums, const Rescaling& how, T* y) {
    parallel_ranges(
        rows.count,
        [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t row = begin; row < end; ++row) {
                call_rescale_row(RescaledRow<T>{rows.features, sums + row * rows.features, how.bits[2 * row],
                                                how.bits[2 * row + 1], how, y + row * rows.features});
            }
        },
        kRowsPerTask);
}

template void quantise(std::int64_t, const float*, float, std::int32_t, std::uint8_t*);
template void quantise(std::int64_t, const BFloat16*, float, std::int32_t, std::uint8_t*);
template void dequantise(std::int64_t, const std::uint8_t*, float, std::int32_t, float*);
template void dequantise(std::int64_t, const std::uint8_t*, float, std::int32_t, BFloat16*);
template void quantise_weight(std::int64_t, std::int64_t, const float*, std::int8_t*, float*);
template void quantise_weight(std::int64_t, std::int64_t, const BFloat16*, std::int8_t*, float*);
template void quantise_rows(const RowsInBytes&, Activation, const float*, std::uint8_t*, float*, std::span<float>);
template void quantise_rows(const RowsInBytes&, Activation, const BFloat16*, std::uint8_t*, float*, std::span<float>);
template void rescale_rows(const RowsInBytes&, const std::int32_t*, const Rescaling&, float*);
template void rescale_rows(const RowsInBytes&, const std::int32_t*, const Rescaling&, BFloat16*);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
