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
        extent.store_to(hn::Add(load_ahead(extent, a + i), load_ahead(extent, b + i)), y + i);
    });
}

template <typename T> void activate_range(std::int64_t count, Activation activation, const T* x, T* y) {
    with_activation(activation, [&]<Activation kActivation>() {
        for_vectors(count, [&](auto extent, std::int64_t i) {
            extent.store_to(ActivationOf<kActivation>::value(load_ahead(extent, x + i)), y + i);
        });
    });
}

template <typename T>
void activation_grad_range(std::int64_t count, Activation activation, const T* at, const T* dy, T* dx) {
    with_activation(activation, [&]<Activation kActivation>() {
        for_vectors(count, [&](auto extent, std::int64_t i) {
            const Floats gradient = load_ahead(extent, dy + i);
            extent.store_to(ActivationOf<kActivation>::times_slope(load_ahead(extent, at + i), gradient), dx + i);
        });
    });
}

template <typename From, typename To> void cast_range(std::int64_t count, const From* x, To* y) {
    for_vectors(count, [&](auto extent, std::int64_t i) { extent.store_to(load_ahead(extent, x + i), y + i); });
}

template <typename T> void accumulate_range(std::int64_t count, const T* x, float* sum) {
    for_vectors(count, [&](auto extent, std::int64_t i) {
        extent.store_to(hn::Add(load_ahead(extent, sum + i), load_ahead(extent, x + i)), sum + i);
    });
}

/// True if any of the values is non-finite: all bits of its exponent are ones.
template <typename T> bool any_non_finite(std::int64_t count, const T* x) {
    const BitsTag du;
    const auto exponent = hn::Set(du, 0x7f800000u);
    Bits most = hn::Zero(du);
    for_vectors(count, [&](auto extent, std::int64_t i) {
        most = hn::Max(most, hn::And(hn::BitCast(du, load_ahead(extent, x + i)), exponent));
    });
    return !hn::AllFalse(du, hn::Eq(most, exponent));
}

void add_f32(std::int64_t count, const float* a, const float* b, float* y) {
    add_range(count, a, b, y);
}
void add_bf16(std::int64_t count, const BFloat16* a, const BFloat16* b, BFloat16* y) {
    add_range(count, a, b, y);
}
void activate_f32(std::int64_t count, Activation activation, const float* x, float* y) {
    activate_range(count, activation, x, y);
}
void activation_grad_f32(std::int64_t count, Activation activation, const float* at, const float* dy, float* dx) {
    activation_grad_range(count, activation, at, dy, dx);
}
void activate_bf16(std::int64_t count, Activation activation, const BFloat16* x, BFloat16* y) {
    activate_range(count, activation, x, y);
}
void activation_grad_bf16(std::int64_t count, Activation activation, const BFloat16* at, const BFloat16* dy,
                          BFloat16* dx) {
    activation_grad_range(count, activation, at, dy, dx);
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
HWY_EXPORT(activate_f32);
HWY_EXPORT(activate_bf16);
HWY_EXPORT(activation_grad_f32);
HWY_EXPORT(activation_grad_bf16);
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

template <typename T> void activate(std::int64_t count, Activation activation, const T* x, T* y) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (kIsFloat<T>) {
            HWY_DYNAMIC_DISPATCH(activate_f32)(end - begin, activation, x + begin, y + begin);
        } else {
            HWY_DYNAMIC_DISPATCH(activate_bf16)(end - begin, activation, x + begin, y + begin);
        }
    });
}

template <typename T> void activation_grad(std::int64_t count, Activation activation, const T* at, const T* dy, T* dx) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        if constexpr (kIsFloat<T>) {
            HWY_DYNAMIC_DISPATCH(activation_grad_f32)(end - begin, activation, at + begin, dy + begin, dx + begin);
        } else {
            HWY_DYNAMIC_DISPATCH(activation_grad_bf16)(end - begin, activation, at + begin, dy + begin, dx + begin);
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

void clear(std::int64_t count, float* y) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) { std::fill(y + begin, y + end, 0.0F); });
}

std::int64_t first_non_finite(std::span<const float> values) {
    return search(values);
}

std::int64_t first_non_finite(std::span<const BFloat16> values) {
    return search(values);
}

template void add(std::int64_t, const float*, const float*, float*);
template void add(std::int64_t, const BFloat16*, const BFloat16*, BFloat16*);
template void activate(std::int64_t, Activation, const float*, float*);
template void activate(std::int64_t, Activation, const BFloat16*, BFloat16*);
template void activation_grad(std::int64_t, Activation, const float*, const float*, float*);
template void activation_grad(std::int64_t, Activation, const BFloat16*, const BFloat16*, BFloat16*);
template void accumulate(std::int64_t, const float*, float*);
template void accumulate(std::int64_t, const BFloat16*, float*);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
