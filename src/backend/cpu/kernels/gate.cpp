// Gates per channel and random scales: multiplication of activations by smaller tensors.
#include <cstdint>

#include "backend/cpu/kernels/element_types.h"
#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/gate.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/strips-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_GATE_ARGUMENTS_
#define CNNTRAIN_CPU_GATE_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// rows x lanes of one sample, and the gates of its lanes.
template <typename T> struct GateRows {
    std::int64_t rows = 0, lanes = 0;
    const T* x = nullptr;
    const T* gate = nullptr;
    const T* dy = nullptr;
    T* y = nullptr;           // forward: the result; backward: dx, or null
    float* sum = nullptr;     // backward: dy * x is added
    bool past_cache = false;  // forward: y is aligned and much larger than the caches
};

/// rows x lanes; row r starts at element first + r * step of its sample.
template <typename T> struct RandomRows {
    std::int64_t rows = 0, lanes = 0;
    std::uint32_t first = 0, step = 0;
    WordKey key;
    std::uint32_t last_kept = 0;
    float factor = 1;
    const T* x = nullptr;
    T* y = nullptr;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

template <typename T> void gate_rows(const GateRows<T>& args) {
    for_strips<T>(args.rows, args.lanes, 1, [&](auto extent, const Strip& strip) {
        const Floats gate = extent.load_from(args.gate + strip.lane);
        for_rows(strip, [&](const Place& place) HWY_ATTR {
            const Floats y = hn::Mul(load_in_strip(extent, args.x, place), gate);
            args.past_cache ? extent.store_past_cache_to(y, args.y + place.at)
                            : store_in_strip(extent, y, args.y, place);
        });
    });
    if (args.past_cache) hwy::FlushStream();
}

template <typename T> void gate_gradient_rows(const GateRows<T>& args) {
    for_strips<T>(args.rows, args.lanes, 1, [&](auto extent, const Strip& strip) {
        const Floats gate = extent.load_from(args.gate + strip.lane);
        Floats sum = extent.load_from(args.sum + strip.lane);
        for_rows(strip, [&](const Place& place) HWY_ATTR {
            const Floats dy = load_in_strip(extent, args.dy, place);
            sum = hn::MulAdd(dy, load_in_strip(extent, args.x, place), sum);
            if (args.y != nullptr) store_in_strip(extent, hn::Mul(dy, gate), args.y, place);
        });
        extent.store_to(sum, args.sum + strip.lane);
    });
}

template <typename T> void random_rows(const RandomRows<T>& args) {
    const BitsTag du;
    const Bits last_kept = hn::Set(du, args.last_kept);
    const Floats factor = hn::Set(FloatTag(), args.factor);
    for (std::int64_t row = 0; row < args.rows; ++row) {
        const std::uint32_t first = args.first + static_cast<std::uint32_t>(row) * args.step;
        for_vectors(args.lanes, [&](auto extent, std::int64_t lane) {
            const Bits index = hn::Add(hn::Set(du, first + static_cast<std::uint32_t>(lane)), hn::Iota(du, 0));
            const Bits words = random_words(index, args.key.first, args.key.second);
            const auto dropped = hn::RebindMask(FloatTag(), hn::Gt(words, last_kept));
            const std::int64_t i = row * args.lanes + lane;
            extent.store_to(hn::IfThenZeroElse(dropped, hn::Mul(extent.load_from(args.x + i), factor)), args.y + i);
        });
    }
}

template <typename T> void multiply(std::int64_t count, const T* x, float factor, T* y) {
    const Floats by = hn::Set(FloatTag(), factor);
    for_vectors(count,
                [&](auto extent, std::int64_t i) { extent.store_to(hn::Mul(extent.load_from(x + i), by), y + i); });
}

CNNTRAIN_KERNELS_OF_TYPES(gate_rows, GateRows)
CNNTRAIN_KERNELS_OF_TYPES(gate_gradient_rows, GateRows)
CNNTRAIN_KERNELS_OF_TYPES(random_rows, RandomRows)

void multiply_f32(std::int64_t count, const float* x, float factor, float* y) {
    multiply(count, x, factor, y);
}
void multiply_bf16(std::int64_t count, const BFloat16* x, float factor, BFloat16* y) {
    multiply(count, x, factor, y);
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <algorithm>
#include <type_traits>

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(multiply_f32);
HWY_EXPORT(multiply_bf16);

CNNTRAIN_CALL_OF_TYPES(call_gate, gate_rows, GateRows)
CNNTRAIN_CALL_OF_TYPES(call_gate_gradient, gate_gradient_rows, GateRows)
CNNTRAIN_CALL_OF_TYPES(call_random, random_rows, RandomRows)

void call_multiply(std::int64_t count, const float* x, float factor, float* y) {
    HWY_DYNAMIC_DISPATCH(multiply_f32)(count, x, factor, y);
}
void call_multiply(std::int64_t count, const BFloat16* x, float factor, BFloat16* y) {
    HWY_DYNAMIC_DISPATCH(multiply_bf16)(count, x, factor, y);
}

void narrow(float value, float& to) {
    to = value;
}
void narrow(float value, BFloat16& to) {
    to = to_bfloat16(value);
}

}  // namespace

template <typename T> void scale_channels(const Blocks& shape, const T* x, const T* gate, T* y) {
    constexpr std::int64_t kWidest = 16;  // floats of a vector
    const std::int64_t bytes = shape.elements() * static_cast<std::int64_t>(sizeof(T));
    const bool past_cache = y != x && shape.lanes % kWidest == 0 && exceeds_caches(bytes, y);
    parallel_rows(shape, true, [&](const RowRange& range) {
        call_gate({.rows = range.rows,
                   .lanes = shape.lanes,
                   .x = x + range.offset,
                   .gate = gate + range.sample * shape.channels() + range.channel,
                   .y = y + range.offset,
                   .past_cache = past_cache});
    });
}

std::int64_t scale_channels_scratch_floats(const Blocks& shape) {
    return shape.n * shape.channels();
}

template <typename T> void scale_channels_grad(const Blocks& shape, const T* x, const T* gate, const T* dy, T* dx,
                                               T* dgate, std::span<float> scratch) {
    CNNTRAIN_CHECK(static_cast<std::int64_t>(scratch.size()) >= scale_channels_scratch_floats(shape),
                   "scratch is smaller than scale_channels_scratch_floats");
    // One task per block of memory with the same gates, so that every sum has a fixed order.
    parallel_tasks(shape.n * shape.blocks, [&](std::int64_t task) {
        const std::int64_t first = task * shape.lanes;  // of [N,C]
        const std::int64_t offset = first * shape.pixels;
        float* sum = scratch.data() + first;
        std::fill_n(sum, shape.lanes, 0.0F);
        call_gate_gradient({.rows = shape.pixels,
                            .lanes = shape.lanes,
                            .x = x + offset,
                            .gate = gate + first,
                            .dy = dy + offset,
                            .y = shifted(dx, offset),
                            .sum = sum});
        for (std::int64_t lane = 0; lane < shape.lanes; ++lane)
            narrow(sum[lane], dgate[first + lane]);
    });
}

template <typename T> void random_scale(const Blocks& shape, const RandomScale& scale, const T* x, T* y) {
    const std::int64_t channels = shape.channels();
    parallel_rows(shape, true, [&](const RowRange& range) {
        const WordKey key = word_key(scale.seed, RngStream::random_scale, scale.site,
                                     static_cast<std::uint64_t>(scale.first_sample + range.sample));
        if (scale.per_sample) {
            if (random_word(key, 0) <= scale.last_kept) {
                call_multiply(range.rows * shape.lanes, x + range.offset, scale.factor, y + range.offset);
            } else {
                std::fill_n(y + range.offset, range.rows * shape.lanes, T{});
            }
            return;
        }
        const std::int64_t pixel = range.offset / shape.lanes % shape.pixels;
        call_random({.rows = range.rows,
                     .lanes = shape.lanes,
                     .first = static_cast<std::uint32_t>(pixel * channels + range.channel),
                     .step = static_cast<std::uint32_t>(channels),
                     .key = key,
                     .last_kept = scale.last_kept,
                     .factor = scale.factor,
                     .x = x + range.offset,
                     .y = y + range.offset});
    });
}

template void scale_channels(const Blocks&, const float*, const float*, float*);
template void scale_channels(const Blocks&, const BFloat16*, const BFloat16*, BFloat16*);
template void scale_channels_grad(const Blocks&, const float*, const float*, const float*, float*, float*,
                                  std::span<float>);
template void scale_channels_grad(const Blocks&, const BFloat16*, const BFloat16*, const BFloat16*, BFloat16*,
                                  BFloat16*, std::span<float>);
template void random_scale(const Blocks&, const RandomScale&, const float*, float*);
template void random_scale(const Blocks&, const RandomScale&, const BFloat16*, BFloat16*);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
