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
#include "backend/cpu/kernels/incoming-inl.h"
#include "backend/cpu/kernels/strips-inl.h"
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
    float* sum = nullptr;  // receives the sums of y, added to what it holds; null: not wanted
    Activation activation = Activation::none;
    bool past_cache = false;  // y is aligned and much larger than the caches: use streaming stores
};

template <typename T> struct GradientApplyRows {
    std::int64_t rows = 0, lanes = 0;
    const T* x = nullptr;
    const T* dy = nullptr;
    const T* dy2 = nullptr;
    const T* gate = nullptr;
    const T* spread = nullptr;
    float share = 0;  // of the spread
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
    for_strips<T>(args.rows, args.lanes, 1, [&](auto extent, const Strip& strip) {
        const Floats scale = extent.load_from(args.scale + strip.lane);
        const Floats shift = extent.load_from(args.shift + strip.lane);
        const auto result = [&](const Place& place) HWY_ATTR {
            Floats y = hn::MulAdd(load_in_strip(extent, args.x, place), scale, shift);
            if (args.residual != nullptr) y = hn::Add(y, load_in_strip(extent, args.residual, place));
            return ActivationOf<kActivation>::value(y);
        };
        const auto put = [&](Floats value, const Place& place) HWY_ATTR {
            if constexpr (kPastCache) {
                extent.store_past_cache_to(value, args.y + place.at);
            } else {
                store_in_strip(extent, value, args.y, place);
            }
        };
        Floats sum = hn::Zero(FloatTag());
        for_row_pairs(
            strip,
            [&](const Place& first, const Place& second) HWY_ATTR {
                const Floats y0 = result(first);
                const Floats y1 = result(second);
                put(y0, first);
                put(y1, second);
                sum = hn::Add(sum, hn::Add(y0, y1));
            },
            [&](const Place& place) HWY_ATTR {
                const Floats y = result(place);
                put(y, place);
                sum = hn::Add(sum, y);
            });
        if (args.sum != nullptr) {
            float* const total = args.sum + strip.lane;
            extent.store_to(hn::Add(extent.load_from(total), sum), total);
        }
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
    const FloatTag d;
    constexpr bool kFromInput = kActivation != Activation::none && !kFromResult;
    for_strips<T>(args.rows, args.lanes, kGradientArrays, [&](auto extent, const Strip& strip) {
        const std::int64_t lane = strip.lane;
        const Floats scale = kFromInput ? extent.load_from(args.scale + lane) : hn::Zero(d);
        const Floats shift = kFromInput ? extent.load_from(args.shift + lane) : hn::Zero(d);
        const Floats a = extent.load_from(args.a + lane);
        const Floats b = extent.load_from(args.b + lane);
        const Floats c = extent.load_from(args.c + lane);
        const Incoming<decltype(extent), GradientApplyRows<T>> incoming(extent, args, lane);
        const auto result = [&](const Place& place) HWY_ATTR {
            const Floats x = load_in_strip(extent, args.x, place);
            Floats dy = incoming.at(place);
            if constexpr (kFromInput) dy = times_slope_at_input<kActivation>(hn::MulAdd(x, scale, shift), dy);
            if constexpr (kFromResult) {
                dy = ActivationOf<kActivation>::times_slope(load_in_strip(extent, args.y, place), dy);
            }
            return hn::MulAdd(a, dy, hn::MulAdd(b, x, c));
        };
        for_row_pairs(
            strip,
            [&](const Place& first, const Place& second) HWY_ATTR {
                const Floats dx0 = result(first);
                const Floats dx1 = result(second);
                store_in_strip(extent, dx0, args.dx, first);
                store_in_strip(extent, dx1, args.dx, second);
            },
            [&](const Place& place) HWY_ATTR { store_in_strip(extent, result(place), args.dx, place); });
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

template <typename T> bool writes_past_cache(const Blocks& shape, const NormApply<T>& args) {
    constexpr std::int64_t kWidest = 16;  // floats of a vector
    const bool in_place = args.y == args.x || args.y == args.residual;
    const std::int64_t bytes = shape.n * shape.sample_elements() * static_cast<std::int64_t>(sizeof(T));
    return !in_place && shape.lanes % kWidest == 0 && exceeds_caches(bytes, args.y);
}

}  // namespace

std::int64_t norm_sum_parts(const Blocks& shape) {
    constexpr std::int64_t kPartElements = 1 << 15;
    return std::clamp<std::int64_t>(shape.pixels * shape.lanes / kPartElements, 1,
                                    std::max<std::int64_t>(1, shape.pixels));
}

template <typename T> void norm_apply(const Blocks& shape, const NormApply<T>& args) {
    const bool past_cache = writes_past_cache(shape, args);
    const auto apply = [&](const RowRange& range, float* sum) {
        const std::int64_t c = range.channel + (args.per_sample ? range.sample * shape.channels() : 0);
        call_apply({.rows = range.rows,
                    .lanes = shape.lanes,
                    .x = args.x + range.offset,
                    .residual = shifted(args.residual, range.offset),
                    .scale = args.scale + c,
                    .shift = args.shift + c,
                    .y = args.y + range.offset,
                    .sum = sum,
                    .activation = args.activation,
                    .past_cache = past_cache});
    };
    if (args.sums == nullptr) {
        return parallel_rows(
            shape, args.per_sample, [&](const RowRange& range) { apply(range, nullptr); }, Order::backward);
    }
    const std::int64_t parts = norm_sum_parts(shape);
    parallel_tasks(
        shape.n * shape.blocks * parts,
        [&](std::int64_t task) {
            const std::int64_t part = task % parts;
            const std::int64_t block = task / parts % shape.blocks;
            const std::int64_t sample = task / parts / shape.blocks;
            const std::int64_t first = shape.pixels * part / parts;
            float* const sum = args.sums + ((part * shape.n + sample) * shape.blocks + block) * shape.lanes;
            std::fill_n(sum, shape.lanes, 0.0F);
            apply({.sample = sample,
                   .channel = block * shape.lanes,
                   .offset = shape.offset(sample, block, first),
                   .rows = shape.pixels * (part + 1) / parts - first},
                  sum);
        },
        Order::backward);
}

template <typename T> void norm_gradient_apply(const Blocks& shape, const MaskedGradient<T>& args, const float* a,
                                               const float* b, const float* c, T* dx) {
    parallel_rows(
        shape, args.per_sample || args.gate != nullptr || args.spread != nullptr,
        [&](const RowRange& range) {
            const std::int64_t i = range.channel + (args.per_sample ? range.sample * shape.channels() : 0);
            call_gradient_apply({.rows = range.rows,
                                 .lanes = shape.lanes,
                                 .x = args.x + range.offset,
                                 .dy = args.dy + range.offset,
                                 .dy2 = shifted(args.dy2, range.offset),
                                 .gate = shifted(args.gate, range.sample * shape.all_channels() + range.channel),
                                 .spread = shifted(args.spread, range.sample * shape.all_channels() + range.channel),
                                 .share = 1 / static_cast<float>(shape.pixels),
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
