// Parameter updates: one pass over parameter, gradient and slots; LARS reads parameter and gradient once more before it, for
// their norms.
//
// Stochastic rounding needs 16 random bits per rounded value. They come from a keyed hash of the element's index, not from
// a generator with state, so they are the same for every thread count and vector width. The two key words of a tensor and
// window of 2^32 elements are Philox4x32-10 of (seed, rounding stream; tensor, iteration, window); the hash is random_word of
// base/rng.h.
// One hash feeds both results of an element: lower half the parameter, upper half the velocity.
#include <cstdint>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/update.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_UPDATE_ARGUMENTS_
#define CNNTRAIN_CPU_UPDATE_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

struct RoundingKey {
    bool stochastic = false;
    std::uint32_t first = 0, second = 0;
    std::uint32_t index = 0;  // of the range's first element within its window
};

template <typename T> struct UpdateRange {
    std::int64_t count = 0;
    T* parameter = nullptr;
    const float* gradient = nullptr;
    T* velocity = nullptr;           // null: plain gradient descent
    bool steps_in_velocity = false;  // LARS: the velocity has been multiplied by the step
    UpdateFactors factors;
    RoundingKey key;
};

template <typename T> struct RmsPropRange {
    std::int64_t count = 0;
    RmsPropState<T> state;
    const float* gradient = nullptr;
    RmsPropFactors factors;
    RoundingKey key;
    RoundingKey square_key;
};

template <typename T> struct SquareRange {
    std::int64_t count = 0;
    const T* parameter = nullptr;
    const float* gradient = nullptr;
    UpdateFactors factors;
    float* sums = nullptr;  // of the parameter, of the gradient
};

template <typename T> struct AverageRange {
    std::int64_t count = 0;
    T* moving = nullptr;
    const float* value = nullptr;
    float decay = 0, gain = 0;
    RoundingKey key;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

/// Random words of the elements first, first + 1, ...
HWY_INLINE Bits rounding_words(const RoundingKey& key, std::int64_t first) {
    const BitsTag du;
    const auto start = hn::Set(du, key.index + static_cast<std::uint32_t>(first));
    return random_words(hn::Add(start, hn::Iota(du, 0)), key.first, key.second);
}

/// Adds the lower 16 bits of `random` below the last kept bit, then truncates.
HWY_INLINE Floats round_stochastically(Floats value, Bits random) {
    const BitsTag du;
    const auto bits = hn::BitCast(du, value);
    const auto exponent = hn::Set(du, 0x7f800000u);
    const auto special = hn::Eq(hn::And(bits, exponent), exponent);  // infinity, NaN: left to nearest
    const auto raised = hn::And(hn::Add(bits, hn::And(random, hn::Set(du, 0xffffu))), hn::Set(du, 0xffff0000u));
    return hn::BitCast(FloatTag(), hn::IfThenElse(special, bits, raised));
}

template <bool kStochastic, typename Extent, typename T>
HWY_INLINE void store_rounded(const Extent& extent, Floats value, Bits random, T* to) {
    if constexpr (kStochastic && sizeof(T) == sizeof(BFloat16)) value = round_stochastically(value, random);
    extent.store_to(value, to);
}

/// g = gradient_scale * gradient + weight_decay * parameter.
class Gradient {
public:
    explicit HWY_INLINE Gradient(const UpdateFactors& factors)
        : scale_(hn::Set(FloatTag(), factors.gradient_scale)), decay_(hn::Set(FloatTag(), factors.weight_decay)) {}
    HWY_INLINE Floats operator()(Floats gradient, Floats parameter) const {
        return hn::MulAdd(parameter, decay_, hn::Mul(gradient, scale_));
    }

private:
    Floats scale_;
    Floats decay_;
};

template <bool kStochastic, typename T> void update_by_step(const UpdateRange<T>& args) {
    const FloatTag d;
    const Gradient gradient_of(args.factors);
    const auto momentum = hn::Set(d, args.factors.momentum);
    const auto step = hn::Set(d, args.factors.step);
    for_vectors(args.count, [&](auto extent, std::int64_t i) {
        const Bits random = kStochastic ? rounding_words(args.key, i) : hn::Zero(BitsTag());
        Floats parameter = extent.load_from(args.parameter + i);
        Floats change = gradient_of(extent.load_from(args.gradient + i), parameter);
        if (args.velocity != nullptr) {
            change = hn::MulAdd(momentum, extent.load_from(args.velocity + i), change);
            store_rounded<kStochastic>(extent, change, hn::ShiftRight<16>(random), args.velocity + i);
        }
        parameter = hn::NegMulAdd(step, change, parameter);
        store_rounded<kStochastic>(extent, parameter, random, args.parameter + i);
    });
}

template <bool kStochastic, typename T> void update_by_velocity(const UpdateRange<T>& args) {
    const FloatTag d;
    const Gradient gradient_of(args.factors);
    const auto momentum = hn::Set(d, args.factors.momentum);
    const auto step = hn::Set(d, args.factors.step);
    for_vectors(args.count, [&](auto extent, std::int64_t i) {
        const Bits random = kStochastic ? rounding_words(args.key, i) : hn::Zero(BitsTag());
        const Floats parameter = extent.load_from(args.parameter + i);
        const Floats g = gradient_of(extent.load_from(args.gradient + i), parameter);
        const auto velocity = hn::MulAdd(momentum, extent.load_from(args.velocity + i), hn::Mul(step, g));
        store_rounded<kStochastic>(extent, velocity, hn::ShiftRight<16>(random), args.velocity + i);
        store_rounded<kStochastic>(extent, hn::Sub(parameter, velocity), random, args.parameter + i);
    });
}

template <bool kStochastic, typename T> void update_range(const UpdateRange<T>& args) {
    if (args.steps_in_velocity) {
        update_by_velocity<kStochastic>(args);
    } else {
        update_by_step<kStochastic>(args);
    }
}

template <bool kStochastic, typename T> void rmsprop_range(const RmsPropRange<T>& args) {
    const FloatTag d;
    const Gradient gradient_of(args.factors.update);
    const auto decay = hn::Set(d, args.factors.decay);
    const auto rest = hn::Set(d, 1.0F - args.factors.decay);
    const auto epsilon = hn::Set(d, args.factors.epsilon);
    const auto momentum = hn::Set(d, args.factors.update.momentum);
    const auto step = hn::Set(d, args.factors.update.step);
    for_vectors(args.count, [&](auto extent, std::int64_t i) {
        const Bits random = kStochastic ? rounding_words(args.key, i) : hn::Zero(BitsTag());
        const Bits square_random = kStochastic ? rounding_words(args.square_key, i) : hn::Zero(BitsTag());
        const Floats parameter = extent.load_from(args.state.parameter + i);
        const Floats g = gradient_of(extent.load_from(args.gradient + i), parameter);
        const auto kept = hn::Mul(decay, extent.load_from(args.state.mean_square + i));
        const auto square = hn::MulAdd(hn::Mul(rest, g), g, kept);
        store_rounded<kStochastic>(extent, square, square_random, args.state.mean_square + i);
        const auto quotient = hn::Div(hn::Mul(step, g), hn::Sqrt(hn::Add(square, epsilon)));
        const auto change = hn::IfThenZeroElse(hn::Eq(g, hn::Zero(d)), quotient);
        const auto velocity = hn::MulAdd(momentum, extent.load_from(args.state.velocity + i), change);
        store_rounded<kStochastic>(extent, velocity, hn::ShiftRight<16>(random), args.state.velocity + i);
        store_rounded<kStochastic>(extent, hn::Sub(parameter, velocity), random, args.state.parameter + i);
    });
}

template <typename T> void square_range(const SquareRange<T>& args) {
    constexpr std::int64_t kStretch = 1024;  // summed in fp32; the stretches in fp64
    const FloatTag d;
    const Gradient gradient_of(args.factors);
    double parameters = 0;
    double gradients = 0;
    for (std::int64_t first = 0; first < args.count; first += kStretch) {
        const std::int64_t count = args.count - first < kStretch ? args.count - first : kStretch;
        Floats parameter_squares = hn::Zero(d);
        Floats gradient_squares = hn::Zero(d);
        for_vectors(count, [&](auto extent, std::int64_t i) {
            const Floats parameter = extent.load_from(args.parameter + first + i);
            const Floats g = gradient_of(extent.load_from(args.gradient + first + i), parameter);
            parameter_squares = hn::MulAdd(parameter, parameter, parameter_squares);
            gradient_squares = hn::MulAdd(g, g, gradient_squares);
        });
        parameters += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, parameter_squares)));
        gradients += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, gradient_squares)));
    }
    args.sums[0] = static_cast<float>(parameters);
    args.sums[1] = static_cast<float>(gradients);
}

template <bool kStochastic, typename T> void average_range(const AverageRange<T>& args) {
    const FloatTag d;
    for_vectors(args.count, [&](auto extent, std::int64_t i) {
        const Bits random = kStochastic ? rounding_words(args.key, i) : hn::Zero(BitsTag());
        const auto fresh = hn::Mul(extent.load_from(args.value + i), hn::Set(d, args.gain));
        const auto moving = hn::MulAdd(extent.load_from(args.moving + i), hn::Set(d, args.decay), fresh);
        store_rounded<kStochastic>(extent, moving, random, args.moving + i);
    });
}

void update_f32(const UpdateRange<float>& args) {
    update_range<false>(args);
}
void update_bf16(const UpdateRange<BFloat16>& args) {
    if (args.key.stochastic) {
        update_range<true>(args);
    } else {
        update_range<false>(args);
    }
}
void rmsprop_f32(const RmsPropRange<float>& args) {
    rmsprop_range<false>(args);
}
void rmsprop_bf16(const RmsPropRange<BFloat16>& args) {
    if (args.key.stochastic) {
        rmsprop_range<true>(args);
    } else {
        rmsprop_range<false>(args);
    }
}
void square_f32(const SquareRange<float>& args) {
    square_range(args);
}
void square_bf16(const SquareRange<BFloat16>& args) {
    square_range(args);
}
void average_f32(const AverageRange<float>& args) {
    average_range<false>(args);
}
void average_bf16(const AverageRange<BFloat16>& args) {
    if (args.key.stochastic) {
        average_range<true>(args);
    } else {
        average_range<false>(args);
    }
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(update_f32);
HWY_EXPORT(update_bf16);
HWY_EXPORT(rmsprop_f32);
HWY_EXPORT(rmsprop_bf16);
HWY_EXPORT(square_f32);
HWY_EXPORT(square_bf16);
HWY_EXPORT(average_f32);
HWY_EXPORT(average_bf16);

void call_update(const UpdateRange<float>& args) {
    HWY_DYNAMIC_DISPATCH(update_f32)(args);
}
void call_update(const UpdateRange<BFloat16>& args) {
    HWY_DYNAMIC_DISPATCH(update_bf16)(args);
}
void call_rmsprop(const RmsPropRange<float>& args) {
    HWY_DYNAMIC_DISPATCH(rmsprop_f32)(args);
}
void call_rmsprop(const RmsPropRange<BFloat16>& args) {
    HWY_DYNAMIC_DISPATCH(rmsprop_bf16)(args);
}
void call_square(const SquareRange<float>& args) {
    HWY_DYNAMIC_DISPATCH(square_f32)(args);
}
void call_square(const SquareRange<BFloat16>& args) {
    HWY_DYNAMIC_DISPATCH(square_bf16)(args);
}
void call_average(const AverageRange<float>& args) {
    HWY_DYNAMIC_DISPATCH(average_f32)(args);
}
void call_average(const AverageRange<BFloat16>& args) {
    HWY_DYNAMIC_DISPATCH(average_bf16)(args);
}

std::uint32_t lower_word(std::uint64_t value) {
    return static_cast<std::uint32_t>(value & 0xffffffffu);
}

RoundingKey key_at(const Rounding& rounding, std::int64_t element) {
    if (!rounding.stochastic) return {};
    const auto iteration = static_cast<std::uint64_t>(rounding.iteration);
    const auto index = static_cast<std::uint64_t>(element);
    const auto stream = static_cast<std::uint32_t>(RngStream::rounding);
    const auto words =
        philox4x32({rounding.tensor, lower_word(iteration), lower_word(iteration >> 32), lower_word(index >> 32)},
                   {lower_word(rounding.seed), lower_word(rounding.seed >> 32) ^ stream});
    return {.stochastic = true, .first = words[0], .second = words[1], .index = lower_word(index)};
}

constexpr std::int64_t kSquareGrain = 1 << 15;  // elements of one partial sum

enum class Steps : std::uint8_t { from_velocity, in_velocity };

template <typename T> void update(std::int64_t count, T* parameter, const float* gradient, T* velocity,
                                  const UpdateFactors& factors, const Rounding& rounding,
                                  Steps steps = Steps::from_velocity) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        call_update({.count = end - begin,
                     .parameter = parameter + begin,
                     .gradient = gradient + begin,
                     .velocity = velocity == nullptr ? nullptr : velocity + begin,
                     .steps_in_velocity = steps == Steps::in_velocity,
                     .factors = factors,
                     .key = key_at(rounding, begin)});
    });
}

}  // namespace

template <typename T> void sgd_update(std::int64_t count, T* parameter, const float* gradient,
                                      const UpdateFactors& factors, const Rounding& rounding) {
    update<T>(count, parameter, gradient, nullptr, factors, rounding);
}

template <typename T> void momentum_update(std::int64_t count, T* parameter, const float* gradient, T* velocity,
                                           const UpdateFactors& factors, const Rounding& rounding) {
    update<T>(count, parameter, gradient, velocity, factors, rounding);
}

template <typename T> void rmsprop_update(std::int64_t count, const RmsPropState<T>& state, const float* gradient,
                                          const RmsPropFactors& factors, const Rounding& rounding,
                                          const Rounding& square_rounding) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        call_rmsprop({.count = end - begin,
                      .state = {state.parameter + begin, state.mean_square + begin, state.velocity + begin},
                      .gradient = gradient + begin,
                      .factors = factors,
                      .key = key_at(rounding, begin),
                      .square_key = key_at(square_rounding, begin)});
    });
}

std::int64_t lars_scratch_floats(std::int64_t count) {
    return 2 * ((count + kSquareGrain - 1) / kSquareGrain);
}

template <typename T> SquareSums square_sums(std::int64_t count, const T* parameter, const float* gradient,
                                             const UpdateFactors& factors, std::span<float> scratch) {
    parallel_ranges(
        count,
        [&](std::int64_t begin, std::int64_t end) {
            call_square({.count = end - begin,
                         .parameter = parameter + begin,
                         .gradient = gradient + begin,
                         .factors = factors,
                         .sums = scratch.data() + 2 * (begin / kSquareGrain)});
        },
        kSquareGrain);
    SquareSums total;
    for (std::int64_t i = 0; i < lars_scratch_floats(count); i += 2) {
        total.parameter += static_cast<double>(scratch[static_cast<std::size_t>(i)]);
        total.gradient += static_cast<double>(scratch[static_cast<std::size_t>(i) + 1]);
    }
    return total;
}

template <typename T> void lars_update(std::int64_t count, T* parameter, const float* gradient, T* velocity,
                                       const UpdateFactors& factors, const Rounding& rounding) {
    update<T>(count, parameter, gradient, velocity, factors, rounding, Steps::in_velocity);
}

template <typename T> void moving_average_update(std::int64_t count, T* moving, const float* value, double decay,
                                                 double value_scale, const Rounding& rounding) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        call_average({.count = end - begin,
                      .moving = moving + begin,
                      .value = value + begin,
                      .decay = static_cast<float>(decay),
                      .gain = static_cast<float>((1.0 - decay) * value_scale),
                      .key = key_at(rounding, begin)});
    });
}

template void sgd_update(std::int64_t, float*, const float*, const UpdateFactors&, const Rounding&);
template void sgd_update(std::int64_t, BFloat16*, const float*, const UpdateFactors&, const Rounding&);
template void momentum_update(std::int64_t, float*, const float*, float*, const UpdateFactors&, const Rounding&);
template void momentum_update(std::int64_t, BFloat16*, const float*, BFloat16*, const UpdateFactors&, const Rounding&);
template void rmsprop_update(std::int64_t, const RmsPropState<float>&, const float*, const RmsPropFactors&,
                             const Rounding&, const Rounding&);
template void rmsprop_update(std::int64_t, const RmsPropState<BFloat16>&, const float*, const RmsPropFactors&,
                             const Rounding&, const Rounding&);
template SquareSums square_sums(std::int64_t, const float*, const float*, const UpdateFactors&, std::span<float>);
template SquareSums square_sums(std::int64_t, const BFloat16*, const float*, const UpdateFactors&, std::span<float>);
template void lars_update(std::int64_t, float*, const float*, float*, const UpdateFactors&, const Rounding&);
template void lars_update(std::int64_t, BFloat16*, const float*, BFloat16*, const UpdateFactors&, const Rounding&);
template void moving_average_update(std::int64_t, float*, const float*, double, double, const Rounding&);
template void moving_average_update(std::int64_t, BFloat16*, const float*, double, double, const Rounding&);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
