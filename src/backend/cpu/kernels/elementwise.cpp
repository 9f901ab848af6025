// Elementwise kernels and the search for non-finite values.
#include <cstdint>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

template <typename T> void add_range(std::int64_t count, const T* a, const T* b, T* y) {
    for_vectors(count, [&](auto extent, std::int64_t i) {
        extent.store_to(hn::Add(extent.load_from(a + i), extent.load_from(b + i)), y + i);
    });
}

template <typename T> void relu_range(std::int64_t count, const T* x, T* y) {
    for_vectors(count,
                [&](auto extent, std::int64_t i) { extent.store_to(positive_part(extent.load_from(x + i)), y + i); });
}

template <typename T> void relu_grad_range(std::int64_t count, const T* y, const T* dy, T* dx) {
    for_vectors(count, [&](auto extent, std::int64_t i) {
        extent.store_to(where_positive(extent.load_from(y + i), extent.load_from(dy + i)), dx + i);
    });
}

template <typename T> void swish_range(std::int64_t count, const T* x, T* y) {
    for_vectors(count, [&](auto extent, std::int64_t i) { extent.store_to(swish(extent.load_from(x + i)), y + i); });
}

template <typename T> void swish_grad_range(std::int64_t count, const T* x, const T* dy, T* dx) {
    for_vectors(count, [&](auto extent, std::int64_t i) {
        extent.store_to(hn::Mul(swish_slope(extent.load_from(x + i)), extent.load_from(dy + i)), dx + i);
    });
}

template <typename T> void sigmoid_range(std::int64_t count, const T* x, T* y) {
    for_vectors(count, [&](auto extent, std::int64_t i) { extent.store_to(sigmoid(extent.load_from(x + i)), y + i); });
}

template <typename T> void sigmoid_grad_range(std::int64_t count, const T* y, const T* dy, T* dx) {
    for_vectors(count, [&](auto extent, std::int64_t i) {
        const Floats value = extent.load_from(y + i);
        const Floats slope = hn::NegMulAdd(value, value, value);
        extent.store_to(hn::Mul(slope, extent.load_from(dy + i)), dx + i);
    });
}

template <typename From, typename To> void cast_range(std::int64_t count, const From* x, To* y) {
    for_vectors(count, [&](auto extent, std::int64_t i) { extent.store_to(extent.load_from(x + i), y + i); });
}

template <typename T> void accumulate_range(std::int64_t count, const T* x, float* sum) {
    for_vectors(count, [&](auto extent, std::int64_t i) {
        extent.store_to(hn::Add(extent.load_from(sum + i), extent.load_from(x + i)), sum + i);
    });
}

/// Whether any of the values has an exponent of ones.
template <typename T> bool any_non_finite(std::int64_t count, const T* x) {
    const BitsTag du;
    const auto exponent = hn::Set(du, 0x7f800000u);
    Bits most = hn::Zero(du);
    for_vectors(count, [&](auto extent, std::int64_t i) {
        most = hn::Max(most, hn::And(hn::BitCast(du, extent.load_from(x + i)), exponent));
    });
    return !hn::AllFalse(du, hn::Eq(most, exponent));
}

void add_f32(std::int64_t count, const float* a, const float* b, float* y) {
    add_range(count, a, b, y);
}
void add_bf16(std::int64_t count, const BFloat16* a, const BFloat16* b, BFloat16* y) {
    add_range(count, a, b, y);
}
void relu_f32(std::int64_t count, const float* x, float* y) {
    relu_range(count, x, y);
}
void relu_bf16(std::int64_t count, const BFloat16* x, BFloat16* y) {
    relu_range(count, x, y);
}
void relu_grad_f32(std::int64_t count, const float* y, const float* dy, float* dx) {
    relu_grad_range(count, y, dy, dx);
}
void relu_grad_bf16(std::int64_t count, const BFloat16* y, const BFloat16* dy, BFloat16* dx) {
    relu_grad_range(count, y, dy, dx);
}
void swish_f32(std::int64_t count, const float* x, float* y) {
    swish_range(count, x, y);
}
void swish_bf16(std::int64_t count, const BFloat16* x, BFloat16* y) {
    swish_range(count, x, y);
}
void swish_grad_f32(std::int64_t count, const float* a, const float* dy, float* dx) {
    swish_grad_range(count, a, dy, dx);
}
void swish_grad_bf16(std::int64_t count, const BFloat16* a, const BFloat16* dy, BFloat16* dx) {
    swish_grad_range(count, a, dy, dx);
}
void sigmoid_f32(std::int64_t count, const float* x, float* y) {
    sigmoid_range(count, x, y);
}
void sigmoid_bf16(std::int64_t count, const BFloat16* x, BFloat16* y) {
    sigmoid_range(count, x, y);
}
void sigmoid_grad_f32(std::int64_t count, const float* a, const float* dy, float* dx) {
    sigmoid_grad_range(count, a, dy, dx);
}
void sigmoid_grad_bf16(std::int64_t count, const BFloat16* a, const BFloat16* dy, BFloat16* dx) {
    sigmoid_grad_range(count, a, dy, dx);
}
void to_bf16(std::int64_t count, const float* x, BFloat16* y) {
    cast_range(count, x, y);
}
void to_f32(std::int64_t count, const BFloat16* x, float* y) {
    cast_range(count, x, y);
}
void accumulate_f32(std::int64_t count, const float* x, float* sum) {
    accumulate_range(count, x, sum);
}
void accumulate_bf16(std::int64_t count, const BFloat16* x, float* sum) {
    accumulate_range(count, x, sum);
}
bool any_non_finite_f32(std::int64_t count, const float* x) {
    return any_non_finite(count, x);
}
bool any_non_finite_bf16(std::int64_t count, const BFloat16* x) {
    return any_non_finite(count, x);
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <atomic>
#include <cmath>
#include <limits>
#include <type_traits>

#include "backend/cpu/kernels/parallel.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(add_f32);
HWY_EXPORT(add_bf16);
HWY_EXPORT(relu_f32);
HWY_EXPORT(relu_bf16);
HWY_EXPORT(relu_grad_f32);
HWY_EXPORT(relu_grad_bf16);
HWY_EXPORT(swish_f32);
HWY_EXPORT(swish_bf16);
HWY_EXPORT(swish_grad_f32);
HWY_EXPORT(swish_grad_bf16);
HWY_EXPORT(sigmoid_f32);
HWY_EXPORT(sigmoid_bf16);
HWY_EXPORT(sigmoid_grad_f32);
HWY_EXPORT(sigmoid_grad_bf16);
HWY_EXPORT(to_bf16);
HWY_EXPORT(to_f32);
HWY_EXPORT(accumulate_f32);
HWY_EXPORT(accumulate_bf16);
HWY_EXPORT(any_non_finite_f32);
HWY_EXPORT(any_non_finite_bf16);

template <typename T> constexpr bool kIsFloat = std::is_same_v<T, float>;

bool finite(float value) {
    return std::isfinite(value);
}
bool finite(BFloat16 value) {
    return std::isfinite(to_float(value));
}

template <typename T> std::int64_t search(std::span<const T> values) {
    constexpr std::int64_t kNone = std::numeric_limits<std::int64_t>::max();
    std::atomic<std::int64_t> first{kNone};
    parallel_ranges(static_cast<std::int64_t>(values.size()), [&](std::int64_t begin, std::int64_t end) {
        bool found = false;
        if constexpr (kIsFloat<T>) {
            found = HWY_DYNAMIC_DISPATCH(any_non_finite_f32)(end - begin, values.data() + begin);
        } else {
            found = HWY_DYNAMIC_DISPATCH(any_non_finite_bf16)(end - begin, values.data() + begin);
        }
        if (!found) return;
        std::int64_t index = begin;
        while (finite(values[static_cast<std::size_t>(index)]))
            ++index;
        std::int64_t lowest = first.load();
        while (index < lowest && !first.compare_exchange_weak(lowest, index)) {
        }
    });
    return first.load() == kNone ? -1 : first.load();
}

}  // namespace

template <typename T> void add(std::int64_t count, const T* a, const T* b, T* y) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (kIsFloat<T>) {
            HWY_DYNAMIC_DISPATCH(add_f32)(end - begin, a + begin, b + begin, y + begin);
        } else {
            HWY_DYNAMIC_DISPATCH(add_bf16)(end - begin, a + begin, b + begin, y + begin);
        }
    });
}

template <typename T> void relu(std::int64_t count, const T* x, T* y) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (kIsFloat<T>) {
            HWY_DYNAMIC_DISPATCH(relu_f32)(end - begin, x + begin, y + begin);
        } else {
            HWY_DYNAMIC_DISPATCH(relu_bf16)(end - begin, x + begin, y + begin);
        }
    });
}

template <typename T> void relu_grad(std::int64_t count, const T* y, const T* dy, T* dx) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (kIsFloat<T>) {
            HWY_DYNAMIC_DISPATCH(relu_grad_f32)(end - begin, y + begin, dy + begin, dx + begin);
        } else {
            HWY_DYNAMIC_DISPATCH(relu_grad_bf16)(end - begin, y + begin, dy + begin, dx + begin);
        }
    });
}

template <typename T> void swish(std::int64_t count, const T* x, T* y) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (kIsFloat<T>) {
            HWY_DYNAMIC_DISPATCH(swish_f32)(end - begin, x + begin, y + begin);
        } else {
            HWY_DYNAMIC_DISPATCH(swish_bf16)(end - begin, x + begin, y + begin);
        }
    });
}

template <typename T> void swish_grad(std::int64_t count, const T* a, const T* dy, T* dx) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (kIsFloat<T>) {
            HWY_DYNAMIC_DISPATCH(swish_grad_f32)(end - begin, a + begin, dy + begin, dx + begin);
        } else {
            HWY_DYNAMIC_DISPATCH(swish_grad_bf16)(end - begin, a + begin, dy + begin, dx + begin);
        }
    });
}

template <typename T> void sigmoid(std::int64_t count, const T* x, T* y) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (kIsFloat<T>) {
            HWY_DYNAMIC_DISPATCH(sigmoid_f32)(end - begin, x + begin, y + begin);
        } else {
            HWY_DYNAMIC_DISPATCH(sigmoid_bf16)(end - begin, x + begin, y + begin);
        }
    });
}

template <typename T> void sigmoid_grad(std::int64_t count, const T* a, const T* dy, T* dx) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (kIsFloat<T>) {
            HWY_DYNAMIC_DISPATCH(sigmoid_grad_f32)(end - begin, a + begin, dy + begin, dx + begin);
        } else {
            HWY_DYNAMIC_DISPATCH(sigmoid_grad_bf16)(end - begin, a + begin, dy + begin, dx + begin);
        }
    });
}

void cast(std::int64_t count, const float* x, BFloat16* y) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        HWY_DYNAMIC_DISPATCH(to_bf16)(end - begin, x + begin, y + begin);
    });
}

void cast(std::int64_t count, const BFloat16* x, float* y) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        HWY_DYNAMIC_DISPATCH(to_f32)(end - begin, x + begin, y + begin);
    });
}

template <typename T> void accumulate(std::int64_t count, const T* x, float* sum) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (kIsFloat<T>) {
            HWY_DYNAMIC_DISPATCH(accumulate_f32)(end - begin, x + begin, sum + begin);
        } else {
            HWY_DYNAMIC_DISPATCH(accumulate_bf16)(end - begin, x + begin, sum + begin);
        }
    });
}

std::int64_t first_non_finite(std::span<const float> values) {
    return search(values);
}

std::int64_t first_non_finite(std::span<const BFloat16> values) {
    return search(values);
}

template void add(std::int64_t, const float*, const float*, float*);
template void add(std::int64_t, const BFloat16*, const BFloat16*, BFloat16*);
template void relu(std::int64_t, const float*, float*);
template void relu(std::int64_t, const BFloat16*, BFloat16*);
template void relu_grad(std::int64_t, const float*, const float*, float*);
template void relu_grad(std::int64_t, const BFloat16*, const BFloat16*, BFloat16*);
template void swish(std::int64_t, const float*, float*);
template void swish(std::int64_t, const BFloat16*, BFloat16*);
template void swish_grad(std::int64_t, const float*, const float*, float*);
template void swish_grad(std::int64_t, const BFloat16*, const BFloat16*, BFloat16*);
template void sigmoid(std::int64_t, const float*, float*);
template void sigmoid(std::int64_t, const BFloat16*, BFloat16*);
template void sigmoid_grad(std::int64_t, const float*, const float*, float*);
template void sigmoid_grad(std::int64_t, const BFloat16*, const BFloat16*, BFloat16*);
template void accumulate(std::int64_t, const float*, float*);
template void accumulate(std::int64_t, const BFloat16*, float*);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
