// The second sweeps over memory in normalisation: y from x, dx from dy.
#include <cstdint>

#include "backend/cpu/kernels/element_types.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/apply.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/activation-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_APPLY_ARGUMENTS_
#define CNNTRAIN_CPU_APPLY_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// rows x lanes of memory and the corresponding per-lane arrays.
template <typename T> struct ApplyRows {
    std::int64_t rows = 0, lanes = 0;
    const T* x = nullptr;
    const T* residual = nullptr;
    const float* scale = nullptr;
    const float* shift = nullptr;
    T* y = nullptr;
    Activation activation = Activation::none;
    bool past_cache = false;  // y is aligned and much larger than the caches: use streaming stores
};

template <typename T> struct GradientApplyRows {
    std::int64_t rows = 0, lanes = 0;
    const T* x = nullptr;
    const T* dy = nullptr;
    const T* dy2 = nullptr;
    const T* y = nullptr;
    const float* scale = nullptr;
    const float* shift = nullptr;
    const float* a = nullptr;
    const float* b = nullptr;
    const float* c = nullptr;
    T* dx = nullptr;
    Activation activation = Activation::none;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

template <Activation kActivation, bool kPastCache, typename T> void apply_rows_activated(const ApplyRows<T>& args) {
    const std::int64_t lanes = args.lanes;
    const Stream<T> stream(lanes);
    for_strips(args.rows, lanes, [&](auto extent, std::int64_t lane, std::int64_t offset, std::int64_t height) {
        const Floats scale = extent.load_from(args.scale + lane);
        const Floats shift = extent.load_from(args.shift + lane);
        const auto one = [&](std::int64_t i) HWY_ATTR {
            Floats y = hn::MulAdd(stream.load(extent, args.x + i), scale, shift);
            if (args.residual != nullptr) y = hn::Add(y, stream.load(extent, args.residual + i));
            return ActivationOf<kActivation>::value(y);
        };
        const auto put = [&](Floats value, std::int64_t i) HWY_ATTR {
            if constexpr (kPastCache) {
                extent.store_past_cache_to(value, args.y + i);
            } else {
                stream.store(extent, value, args.y + i);
            }
        };
        std::int64_t row = 0;
        std::int64_t i = offset;
        for (; row + 2 <= height; row += 2, i += 2 * lanes) {
            const Floats y0 = one(i);
            const Floats y1 = one(i + lanes);
            put(y0, i);
            put(y1, i + lanes);
        }
        if (row < height) put(one(i), i);
    });
    if (kPastCache) hwy::FlushStream();
}

template <Activation kActivation, typename T> void apply_rows_stored(const ApplyRows<T>& args) {
    args.past_cache ? apply_rows_activated<kActivation, true>(args) : apply_rows_activated<kActivation, false>(args);
}

template <typename T> void apply_rows(const ApplyRows<T>& args) {
    with_activation(args.activation, [&]<Activation kActivation>() { apply_rows_stored<kActivation>(args); });
}

template <Activation kActivation, bool kFromResult, typename T>
void gradient_apply_rows_sloped(const GradientApplyRows<T>& args) {
    const std::int64_t lanes = args.lanes;
    const Stream<T> stream(lanes);
    const FloatTag d;
    constexpr bool kFromInput = kActivation != Activation::none && !kFromResult;
    for_strips(args.rows, lanes, [&](auto extent, std::int64_t lane, std::int64_t offset, std::int64_t height) {
        const Floats scale = kFromInput ? extent.load_from(args.scale + lane) : hn::Zero(d);
        const Floats shift = kFromInput ? extent.load_from(args.shift + lane) : hn::Zero(d);
        const Floats a = extent.load_from(args.a + lane);
        const Floats b = extent.load_from(args.b + lane);
        const Floats c = extent.load_from(args.c + lane);
        const auto one = [&](std::int64_t i) HWY_ATTR {
            const Floats x = stream.load(extent, args.x + i);
            Floats dy = stream.load(extent, args.dy + i);
            if (args.dy2 != nullptr) dy = hn::Add(dy, stream.load(extent, args.dy2 + i));
            if constexpr (kFromInput) dy = times_slope_at_input<kActivation>(hn::MulAdd(x, scale, shift), dy);
            if constexpr (kFromResult) {
                dy = ActivationOf<kActivation>::times_slope(stream.load(extent, args.y + i), dy);
            }
            return hn::MulAdd(a, dy, hn::MulAdd(b, x, c));
        };
        std::int64_t row = 0;
        std::int64_t i = offset;
        for (; row + 2 <= height; row += 2, i += 2 * lanes) {
            const Floats dx0 = one(i);
            const Floats dx1 = one(i + lanes);
            stream.store(extent, dx0, args.dx + i);
            stream.store(extent, dx1, args.dx + i + lanes);
        }
        if (row < height) stream.store(extent, one(i), args.dx + i);
    });
}

template <typename T> void gradient_apply_rows(const GradientApplyRows<T>& args) {
    with_activation(args.activation, [&]<Activation kActivation>() {
        if constexpr (slope_follows_from_result(kActivation) && kActivation != Activation::none) {
            if (args.y != nullptr) return gradient_apply_rows_sloped<kActivation, true>(args);
        }
        gradient_apply_rows_sloped<kActivation, false>(args);
    });
}

CNNTRAIN_KERNELS_OF_TYPES(apply_rows, ApplyRows)
CNNTRAIN_KERNELS_OF_TYPES(gradient_apply_rows, GradientApplyRows)

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "backend/cpu/kernels/parallel.h"

namespace cnntrain::cpu {
namespace {

CNNTRAIN_CALL_OF_TYPES(call_apply, apply_rows, ApplyRows)
CNNTRAIN_CALL_OF_TYPES(call_gradient_apply, gradient_apply_rows, GradientApplyRows)

/// An output above this size does not stay in a cache, and an ordinary store would first read the line. With streaming
/// stores, copies of 51 MB took about half the time, copies of 1 MB more time.
constexpr std::int64_t kPastCacheBytes = std::int64_t{12} << 20;
constexpr std::uintptr_t kLineBytes = 64;

template <typename T> bool writes_past_cache(const Blocks& shape, const NormApply<T>& args) {
    constexpr std::int64_t kVectorElements = kLineBytes / sizeof(float);  // of the widest instruction set
    const bool aligned =
        reinterpret_cast<std::uintptr_t>(args.y) % kLineBytes == 0 && shape.lanes % kVectorElements == 0;
    const bool in_place = args.y == args.x || args.y == args.residual;
    const std::int64_t bytes = shape.n * shape.sample_elements() * static_cast<std::int64_t>(sizeof(T));
    return aligned && !in_place && bytes >= kPastCacheBytes;
}

}  // namespace

template <typename T> void norm_apply(const Blocks& shape, const NormApply<T>& args) {
    const bool past_cache = writes_past_cache(shape, args);
    parallel_rows(
        shape, args.per_sample,
        [&](const RowRange& range) {
            const std::int64_t c = range.channel + (args.per_sample ? range.sample * shape.channels() : 0);
            call_apply({.rows = range.rows,
                        .lanes = shape.lanes,
                        .x = args.x + range.offset,
                        .residual = shifted(args.residual, range.offset),
                        .scale = args.scale + c,
                        .shift = args.shift + c,
                        .y = args.y + range.offset,
                        .activation = args.activation,
                        .past_cache = past_cache});
        },
        Order::backward);
}

template <typename T> void norm_gradient_apply(const Blocks& shape, const MaskedGradient<T>& args, const float* a,
                                               const float* b, const float* c, T* dx) {
    parallel_rows(
        shape, args.per_sample,
        [&](const RowRange& range) {
            const std::int64_t i = range.channel + (args.per_sample ? range.sample * shape.channels() : 0);
            call_gradient_apply({.rows = range.rows,
                                 .lanes = shape.lanes,
                                 .x = args.x + range.offset,
                                 .dy = args.dy + range.offset,
                                 .dy2 = shifted(args.dy2, range.offset),
                                 .y = shifted(args.y, range.offset),
                                 .scale = shifted(args.scale, i),
                                 .shift = shifted(args.shift, i),
                                 .a = a + i,
                                 .b = b + i,
                                 .c = c + i,
                                 .dx = dx + range.offset,
                                 .activation = args.activation});
        },
        Order::backward);
}

template void norm_apply(const Blocks&, const NormApply<float>&);
template void norm_apply(const Blocks&, const NormApply<BFloat16>&);
template void norm_gradient_apply(const Blocks&, const MaskedGradient<float>&, const float*, const float*, const float*,
                                  float*);
template void norm_gradient_apply(const Blocks&, const MaskedGradient<BFloat16>&, const float*, const float*,
                                  const float*, BFloat16*);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
