// Elementwise kernels and the search for non-finite values.
#include <cstdint>

#include "backend/cpu/kernels/element_types.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/elementwise.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_ELEMENTWISE_ARGUMENTS_
#define CNNTRAIN_CPU_ELEMENTWISE_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

template <typename T> struct Range {
    std::int64_t count = 0;
    const T* a = nullptr;
    const T* b = nullptr;
    T* y = nullptr;
    Activation activation = Activation::none;
};

template <typename T> struct Addition {
    std::int64_t count = 0;
    const T* x = nullptr;
    float* sum = nullptr;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

// Arguments are values: through a reference they would be read again after each store of a vector.

template <typename T> void add_range(Range<T> range) {
    for_vectors(range.count, [&](auto extent, std::int64_t i) {
        extent.store_to(hn::Add(load_ahead(extent, range.a + i), load_ahead(extent, range.b + i)), range.y + i);
    });
}

template <typename T> void activate_range(Range<T> range) {
    with_activation(range.activation, [&]<Activation kActivation>() {
        for_vectors(range.count, [&](auto extent, std::int64_t i) {
            extent.store_to(ActivationOf<kActivation>::value(load_ahead(extent, range.a + i)), range.y + i);
        });
    });
}

/// b: the gradients of the activation's results.
template <typename T> void activation_grad_range(Range<T> range) {
    with_activation(range.activation, [&]<Activation kActivation>() {
        for_vectors(range.count, [&](auto extent, std::int64_t i) {
            const Floats gradient = load_ahead(extent, range.b + i);
            extent.store_to(ActivationOf<kActivation>::times_slope(load_ahead(extent, range.a + i), gradient),
                            range.y + i);
        });
    });
}

template <typename From, typename To> void cast_range(std::int64_t count, const From* x, To* y) {
    for_vectors(count, [&](auto extent, std::int64_t i) { extent.store_to(load_ahead(extent, x + i), y + i); });
}

template <typename T> void accumulate_range(Addition<T> range) {
    for_vectors(range.count, [&](auto extent, std::int64_t i) {
        extent.store_to(hn::Add(load_ahead(extent, range.sum + i), load_ahead(extent, range.x + i)), range.sum + i);
    });
}

/// True if any of the values is non-finite: all bits of its exponent are ones.
template <typename T> bool any_non_finite(const Range<T>& range) {
    const BitsTag du;
    const auto exponent = hn::Set(du, 0x7f800000u);
    Bits most = hn::Zero(du);
    for_vectors(range.count, [&](auto extent, std::int64_t i) {
        most = hn::Max(most, hn::And(hn::BitCast(du, load_ahead(extent, range.a + i)), exponent));
    });
    return !hn::AllFalse(du, hn::Eq(most, exponent));
}

CNNTRAIN_KERNELS_OF_TYPES(add_range, Range)
CNNTRAIN_KERNELS_OF_TYPES(activate_range, Range)
CNNTRAIN_KERNELS_OF_TYPES(activation_grad_range, Range)
CNNTRAIN_KERNELS_OF_TYPES(accumulate_range, Addition)
CNNTRAIN_KERNELS_OF_TYPES(any_non_finite, Range)

void to_bf16(std::int64_t count, const float* x, BFloat16* y) {
    cast_range(count, x, y);
}
void to_f32(std::int64_t count, const BFloat16* x, float* y) {
    cast_range(count, x, y);
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <atomic>
#include <cmath>
#include <limits>

#include "backend/cpu/kernels/parallel.h"

namespace cnntrain::cpu {
namespace {

CNNTRAIN_CALL_OF_TYPES(call_add, add_range, Range)
CNNTRAIN_CALL_OF_TYPES(call_activate, activate_range, Range)
CNNTRAIN_CALL_OF_TYPES(call_activation_grad, activation_grad_range, Range)
CNNTRAIN_CALL_OF_TYPES(call_accumulate, accumulate_range, Addition)
CNNTRAIN_CALL_OF_TYPES(call_any_non_finite, any_non_finite, Range)
HWY_EXPORT(to_bf16);
HWY_EXPORT(to_f32);

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
        if (!call_any_non_finite(Range<T>{.count = end - begin, .a = values.data() + begin})) return;
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
        call_add(Range<T>{end - begin, a + begin, b + begin, y + begin});
    });
}

template <typename T> void activate(std::int64_t count, Activation activation, const T* x, T* y) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        call_activate(Range<T>{.count = end - begin, .a = x + begin, .y = y + begin, .activation = activation});
    });
}

template <typename T> void activation_grad(std::int64_t count, Activation activation, const T* at, const T* dy, T* dx) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        call_activation_grad(Range<T>{end - begin, at + begin, dy + begin, dx + begin, activation});
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
        call_accumulate(Addition<T>{end - begin, x + begin, sum + begin});
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
