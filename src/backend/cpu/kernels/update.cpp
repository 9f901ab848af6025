// Parameter updates: one sweep over target, gradient and slots. Rules with a trust ratio read them once more before
// that, to compute norms.
//
// Stochastic rounding needs 16 random bits per rounded value. They are a keyed hash of the element's index, not the
// output of a generator with state, so that they do not depend on the thread count or vector width (word_key and
// random_word in base/rng.h). One hash of an element serves two results: the lower half the target, the upper half the
// first slot. The second slot has a separate hash.
#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/update.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/update_rules-inl.h"
#include "backend/cpu/kernels/vector-inl.h"

#ifndef CNNTRAIN_CPU_UPDATE_ARGUMENTS_
#define CNNTRAIN_CPU_UPDATE_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

struct RoundingKey {
    bool stochastic = false;
    WordKey key;
    std::uint32_t index = 0;  // of the range's first element within its window of 2^32 elements
};

template <typename T> struct UpdateRange {
    UpdateRule rule = UpdateRule::sgd;
    std::int64_t count = 0;
    UpdateTensors<T> tensors;
    UpdateFactors factors;
    RoundingKey key;
    RoundingKey second_key;
    float* sums = nullptr;  // sums of squares in the first sweep: of the target, and of the rule's second vector
};

struct SquareRange {
    std::int64_t count = 0;
    const float* values = nullptr;
    float* sum = nullptr;
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

/// Random words for the elements first, first + 1, ...
HWY_INLINE Bits rounding_words(const RoundingKey& key, std::int64_t first) {
    const BitsTag du;
    const auto start = hn::Set(du, key.index + static_cast<std::uint32_t>(first));
    return random_words(hn::Add(start, hn::Iota(du, 0)), key.key.first, key.key.second);
}

/// Adds the lower 16 bits of `random` below the last kept bit, then truncates.
HWY_INLINE Floats round_stochastically(Floats value, Bits random) {
    const BitsTag du;
    const auto bits = hn::BitCast(du, value);
    const auto exponent = hn::Set(du, 0x7f800000u);
    const auto special = hn::Eq(hn::And(bits, exponent), exponent);  // infinity and NaN, which are rounded to nearest
    const auto raised = hn::And(hn::Add(bits, hn::And(random, hn::Set(du, 0xffffu))), hn::Set(du, 0xffff0000u));
    return hn::BitCast(FloatTag(), hn::IfThenElse(special, bits, raised));
}

template <bool kStochastic, typename Extent, typename T>
HWY_INLINE void store_rounded(const Extent& extent, Floats value, Bits random, T* to) {
    if constexpr (kStochastic && sizeof(T) == sizeof(BFloat16)) value = round_stochastically(value, random);
    extent.store_to(value, to);
}

/// g = gradient_scale * gradient + weight_decay * target.
class Gradient {
public:
    explicit HWY_INLINE Gradient(const UpdateFactors& factors)
        : scale_(hn::Set(FloatTag(), factors.gradient_scale)), decay_(hn::Set(FloatTag(), factors.weight_decay)) {}
    HWY_INLINE Floats operator()(Floats gradient, Floats target) const {
        return hn::MulAdd(target, decay_, hn::Mul(gradient, scale_));
    }

private:
    Floats scale_;
    Floats decay_;
};

/// The slots of one vector of elements: their memory and their values.
template <UpdateRule kRule, bool kStochastic, typename T> struct Slots {
    static constexpr std::size_t kCount = facts_of(kRule).slots;

    template <typename Extent> HWY_INLINE void load(const Extent& extent, const UpdateRange<T>& args, std::int64_t i) {
        if constexpr (kCount > 0) values[0] = load_ahead(extent, args.tensors.slots[0] + i);
        if constexpr (kCount > 1) values[1] = load_ahead(extent, args.tensors.slots[1] + i);
    }
    /// `random`: the random words of the target.
    template <typename Extent>
    HWY_INLINE void store(const Extent& extent, const UpdateRange<T>& args, Bits random, std::int64_t i) const {
        if constexpr (kCount > 0) {
            store_rounded<kStochastic>(extent, values[0], hn::ShiftRight<16>(random), args.tensors.slots[0] + i);
        }
        if constexpr (kCount > 1) {
            const Bits second = kStochastic ? rounding_words(args.second_key, i) : hn::Zero(BitsTag());
            store_rounded<kStochastic>(extent, values[1], second, args.tensors.slots[1] + i);
        }
    }

    Floats values[graph::kMostUpdateSlots];
};

/// True for rules that write the new values of their slots in the first sweep.
template <UpdateRule kRule> constexpr bool first_sweep_writes_slots() {
    if constexpr (facts_of(kRule).has_trust()) return RuleOf<kRule>::kFirstSweepWritesSlots;
    return false;
}

template <UpdateRule kRule, bool kStochastic, typename T> void update_range_by(const UpdateRange<T>& args) {
    const Gradient gradient_of(args.factors);
    const RuleOf<kRule> rule(args.factors);
    for_vectors(args.count, [&](auto extent, std::int64_t i) {
        const Bits random = kStochastic ? rounding_words(args.key, i) : hn::Zero(BitsTag());
        Floats target = load_ahead(extent, args.tensors.target + i);
        const Floats g = gradient_of(load_ahead(extent, args.tensors.gradient + i), target);
        Slots<kRule, kStochastic, T> slots;
        slots.load(extent, args, i);
        rule.change(g, target, slots.values);
        if constexpr (!first_sweep_writes_slots<kRule>()) slots.store(extent, args, random, i);
        store_rounded<kStochastic>(extent, target, random, args.tensors.target + i);
    });
}

constexpr std::int64_t kStretch = 1024;  // number of squares summed in fp32; the sums of stretches are added in fp64

template <UpdateRule kRule, bool kStochastic, typename T> void norms_range_by(const UpdateRange<T>& args) {
    const FloatTag d;
    const Gradient gradient_of(args.factors);
    const RuleOf<kRule> rule(args.factors);
    double targets = 0;
    double others = 0;
    for (std::int64_t first = 0; first < args.count; first += kStretch) {
        const std::int64_t count = args.count - first < kStretch ? args.count - first : kStretch;
        Floats target_squares = hn::Zero(d);
        Floats other_squares = hn::Zero(d);
        for_vectors(count, [&](auto extent, std::int64_t offset) {
            const std::int64_t i = first + offset;
            const Floats target = load_ahead(extent, args.tensors.target + i);
            const Floats g = gradient_of(load_ahead(extent, args.tensors.gradient + i), target);
            Slots<kRule, kStochastic, T> slots;
            slots.load(extent, args, i);
            const Floats other = rule.first_sweep(g, target, slots.values);
            if constexpr (first_sweep_writes_slots<kRule>()) {
                const Bits random = kStochastic ? rounding_words(args.key, i) : hn::Zero(BitsTag());
                slots.store(extent, args, random, i);
            }
            target_squares = hn::MulAdd(target, target, target_squares);
            other_squares = hn::MulAdd(other, other, other_squares);
        });
        targets += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, target_squares)));
        others += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, other_squares)));
    }
    args.sums[0] = static_cast<float>(targets);
    args.sums[1] = static_cast<float>(others);
}

/// Executes the second sweep if `sums` is null.
template <bool kStochastic, typename T> void update_range(const UpdateRange<T>& args) {
    with_rule(args.rule, [&]<UpdateRule kRule>() {
        if constexpr (facts_of(kRule).has_trust()) {
            if (args.sums != nullptr) return norms_range_by<kRule, kStochastic>(args);
        }
        update_range_by<kRule, kStochastic>(args);
    });
}

template <bool kStochastic, typename T> void average_range(const AverageRange<T>& args) {
    const FloatTag d;
    for_vectors(args.count, [&](auto extent, std::int64_t i) {
        const Bits random = kStochastic ? rounding_words(args.key, i) : hn::Zero(BitsTag());
        const auto fresh = hn::Mul(load_ahead(extent, args.value + i), hn::Set(d, args.gain));
        const auto moving = hn::MulAdd(load_ahead(extent, args.moving + i), hn::Set(d, args.decay), fresh);
        store_rounded<kStochastic>(extent, moving, random, args.moving + i);
    });
}

void squares_f32(const SquareRange& args) {
    const FloatTag d;
    double total = 0;
    for (std::int64_t first = 0; first < args.count; first += kStretch) {
        const std::int64_t count = args.count - first < kStretch ? args.count - first : kStretch;
        Floats squares = hn::Zero(d);
        for_vectors(count, [&](auto extent, std::int64_t offset) {
            const Floats value = load_ahead(extent, args.values + first + offset);
            squares = hn::MulAdd(value, value, squares);
        });
        total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, squares)));
    }
    *args.sum = static_cast<float>(total);
}

void update_f32(const UpdateRange<float>& args) {
    update_range<false>(args);
}
void update_bf16(const UpdateRange<BFloat16>& args) {
    args.key.stochastic ? update_range<true>(args) : update_range<false>(args);
}
void average_f32(const AverageRange<float>& args) {
    average_range<false>(args);
}
void average_bf16(const AverageRange<BFloat16>& args) {
    args.key.stochastic ? average_range<true>(args) : average_range<false>(args);
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(update_f32);
HWY_EXPORT(update_bf16);
HWY_EXPORT(squares_f32);
HWY_EXPORT(average_f32);
HWY_EXPORT(average_bf16);

void call_update(const UpdateRange<float>& args) {
    HWY_DYNAMIC_DISPATCH(update_f32)(args);
}
void call_update(const UpdateRange<BFloat16>& args) {
    HWY_DYNAMIC_DISPATCH(update_bf16)(args);
}
void call_average(const AverageRange<float>& args) {
    HWY_DYNAMIC_DISPATCH(average_f32)(args);
}
void call_average(const AverageRange<BFloat16>& args) {
    HWY_DYNAMIC_DISPATCH(average_bf16)(args);
}

RoundingKey key_at(const Rounding& rounding, std::uint64_t variable, std::int64_t element) {
    if (!rounding.stochastic) return {};
    const auto index = static_cast<std::uint64_t>(element);
    const std::uint64_t window = index >> 32;
    return {.stochastic = true,
            .key = word_key(rounding.seed, RngStream::rounding, variable + window,
                            static_cast<std::uint64_t>(rounding.iteration)),
            .index = static_cast<std::uint32_t>(index)};
}

constexpr std::int64_t kSquareGrain = 1 << 15;  // elements per partial sum

template <typename T> UpdateRange<T> range_of(UpdateRule rule, std::int64_t begin, std::int64_t end,
                                              const UpdateTensors<T>& tensors, const UpdateFactors& factors,
                                              const UpdateRounding& rounding) {
    const auto shifted = [&](T* tensor) { return tensor == nullptr ? nullptr : tensor + begin; };
    return {.rule = rule,
            .count = end - begin,
            .tensors = {.target = tensors.target + begin,
                        .gradient = tensors.gradient + begin,
                        .slots = {shifted(tensors.slots[0]), shifted(tensors.slots[1])}},
            .factors = factors,
            .key = key_at(rounding.how, rounding.target, rounding.first_element + begin),
            .second_key = key_at(rounding.how, rounding.second_slot, rounding.first_element + begin)};
}

/// Number of blocks into which a strip is divided, so that all threads have about the same work: as few as possible,
/// because memory is fastest when read in order.
std::int64_t parts_of_strip(std::int64_t strips, std::int64_t most) {
    constexpr std::int64_t kTasksPerThread = 4;
    const std::int64_t tasks = kTasksPerThread * omp_get_max_threads();
    return std::min(most, ceil_div(tasks, strips));
}

}  // namespace

template <typename T> void update(UpdateRule rule, std::int64_t count, const UpdateTensors<T>& tensors,
                                  const UpdateFactors& factors, const UpdateRounding& rounding) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        call_update(range_of(rule, begin, end, tensors, factors, rounding));
    });
}

void update_blocks(UpdateRule rule, std::int64_t rows, std::int64_t columns, std::int64_t side,
                   const UpdateTensors<float>& tensors, const UpdateFactors& factors, const UpdateRounding& rounding,
                   const std::function<void(const MatrixBlock&)>& after) {
    CNNTRAIN_CHECK(rows % side == 0 && columns % side == 0, "blocks must fill the matrix");
    const std::int64_t strips = rows / side;
    const std::int64_t parts = parts_of_strip(strips, columns / side);
    parallel_tasks(strips * parts, [&](std::int64_t task) {
        const std::int64_t part = task % parts;
        const std::int64_t begin = columns / side * part / parts * side;
        const std::int64_t end = columns / side * (part + 1) / parts * side;
        const MatrixBlock block{task / parts * side, begin, side, end - begin};
        // If a block has whole rows, it is one contiguous range.
        const std::int64_t pieces = parts == 1 ? 1 : side;
        const std::int64_t length = side / pieces * block.columns;
        for (std::int64_t i = 0; i < pieces; ++i) {
            const std::int64_t first = (block.row + i) * columns + block.column;
            call_update(range_of(rule, first, first + length, tensors, factors, rounding));
        }
        after(block);
    });
}

std::int64_t update_scratch_floats(UpdateRule rule, std::int64_t count) {
    return facts_of(rule).has_trust() ? 2 * ((count + kSquareGrain - 1) / kSquareGrain) : 0;
}

template <typename T> SquareSums update_norms(UpdateRule rule, std::int64_t count, const UpdateTensors<T>& tensors,
                                              const UpdateFactors& factors, const UpdateRounding& rounding,
                                              std::span<float> scratch) {
    CNNTRAIN_CHECK(facts_of(rule).has_trust(), "norms are for rules with a trust");
    parallel_ranges(
        count,
        [&](std::int64_t begin, std::int64_t end) {
            UpdateRange<T> range = range_of(rule, begin, end, tensors, factors, rounding);
            range.sums = scratch.data() + 2 * (begin / kSquareGrain);
            call_update(range);
        },
        kSquareGrain);
    SquareSums total;
    for (std::int64_t i = 0; i < update_scratch_floats(rule, count); i += 2) {
        total.target += static_cast<double>(scratch[static_cast<std::size_t>(i)]);
        total.other += static_cast<double>(scratch[static_cast<std::size_t>(i) + 1]);
    }
    return total;
}

template <typename T> void update_columns(UpdateRule rule, const ColumnBlocks& shape, const UpdateTensors<T>& tensors,
                                          std::span<const UpdateFactors> factors, const UpdateRounding& rounding) {
    const std::int64_t width = shape.columns / shape.blocks;
    parallel_ranges(
        shape.rows * shape.blocks,
        [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) {
                const UpdateFactors& own = factors[static_cast<std::size_t>(i % shape.blocks)];
                call_update(range_of(rule, i * width, (i + 1) * width, tensors, own, rounding));
            }
        },
        shape.blocks);
}

std::int64_t column_scratch_floats(const ColumnBlocks& shape) {
    return 2 * shape.rows * shape.blocks;
}

template <typename T> void column_norms(UpdateRule rule, const ColumnBlocks& shape, const UpdateTensors<T>& tensors,
                                        const UpdateFactors& factors, const UpdateRounding& rounding,
                                        std::span<float> scratch, std::span<SquareSums> sums) {
    CNNTRAIN_CHECK(facts_of(rule).has_trust(), "norms are for rules with a trust");
    const std::int64_t width = shape.columns / shape.blocks;
    parallel_ranges(
        shape.rows * shape.blocks,
        [&](std::int64_t first, std::int64_t last) {
            for (std::int64_t i = first; i < last; ++i) {
                UpdateRange<T> range = range_of(rule, i * width, (i + 1) * width, tensors, factors, rounding);
                range.sums = scratch.data() + 2 * i;
                call_update(range);
            }
        },
        shape.blocks);
    std::ranges::fill(sums, SquareSums{});
    for (std::int64_t i = 0; i < shape.rows * shape.blocks; ++i) {
        SquareSums& block = sums[static_cast<std::size_t>(i % shape.blocks)];
        block.target += static_cast<double>(scratch[static_cast<std::size_t>(2 * i)]);
        block.other += static_cast<double>(scratch[static_cast<std::size_t>(2 * i) + 1]);
    }
}

std::int64_t square_scratch_floats(std::int64_t count) {
    return (count + kSquareGrain - 1) / kSquareGrain;
}

double square_sum(std::int64_t count, const float* values, std::span<float> scratch) {
    parallel_ranges(
        count,
        [&](std::int64_t begin, std::int64_t end) {
            const SquareRange range{end - begin, values + begin, scratch.data() + begin / kSquareGrain};
            HWY_DYNAMIC_DISPATCH(squares_f32)(range);
        },
        kSquareGrain);
    double total = 0;
    for (std::int64_t i = 0; i < square_scratch_floats(count); ++i)
        total += static_cast<double>(scratch[static_cast<std::size_t>(i)]);
    return total;
}

template <typename T> void moving_average_update(std::int64_t count, T* moving, const float* value, double decay,
                                                 double value_scale, const UpdateRounding& rounding) {
    parallel_ranges(count, [&](std::int64_t begin, std::int64_t end) {
        call_average({.count = end - begin,
                      .moving = moving + begin,
                      .value = value + begin,
                      .decay = static_cast<float>(decay),
                      .gain = static_cast<float>((1.0 - decay) * value_scale),
                      .key = key_at(rounding.how, rounding.target, begin)});
    });
}

template void update(UpdateRule, std::int64_t, const UpdateTensors<float>&, const UpdateFactors&,
                     const UpdateRounding&);
template void update(UpdateRule, std::int64_t, const UpdateTensors<BFloat16>&, const UpdateFactors&,
                     const UpdateRounding&);
template SquareSums update_norms(UpdateRule, std::int64_t, const UpdateTensors<float>&, const UpdateFactors&,
                                 const UpdateRounding&, std::span<float>);
template SquareSums update_norms(UpdateRule, std::int64_t, const UpdateTensors<BFloat16>&, const UpdateFactors&,
                                 const UpdateRounding&, std::span<float>);
template void update_columns(UpdateRule, const ColumnBlocks&, const UpdateTensors<float>&,
                             std::span<const UpdateFactors>, const UpdateRounding&);
template void update_columns(UpdateRule, const ColumnBlocks&, const UpdateTensors<BFloat16>&,
                             std::span<const UpdateFactors>, const UpdateRounding&);
template void column_norms(UpdateRule, const ColumnBlocks&, const UpdateTensors<float>&, const UpdateFactors&,
                           const UpdateRounding&, std::span<float>, std::span<SquareSums>);
template void column_norms(UpdateRule, const ColumnBlocks&, const UpdateTensors<BFloat16>&, const UpdateFactors&,
                           const UpdateRounding&, std::span<float>, std::span<SquareSums>);
template void moving_average_update(std::int64_t, float*, const float*, double, double, const UpdateRounding&);
template void moving_average_update(std::int64_t, BFloat16*, const float*, double, double, const UpdateRounding&);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
