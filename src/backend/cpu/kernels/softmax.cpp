// Softmax cross entropy with label smoothing.
//
// With z' = z - max z: loss = log sum exp z' - sum_j target_j z'_j, where target is 1 - smoothing for the label and
// smoothing / (classes - 1) for other classes; for mixed samples, the sum of such targets times their shares.
#include <cstdint>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/targets.h"
#include "backend/cpu/kernels/tokens.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backend/cpu/kernels/softmax.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "backend/cpu/kernels/vector-inl.h"

#include <hwy/contrib/math/math-inl.h>

#ifndef CNNTRAIN_CPU_SOFTMAX_ARGUMENTS_
#define CNNTRAIN_CPU_SOFTMAX_ARGUMENTS_
namespace cnntrain::cpu {
namespace {

/// The largest logit of a row, and the sums of z' = z - largest and of exp(z'). A non-finite logit makes `sum`
/// non-finite.
struct RowSums {
    float largest = 0;
    float sum = 0;
    float sum_exp = 0;
};

}  // namespace
}  // namespace cnntrain::cpu
#endif

HWY_BEFORE_NAMESPACE();
namespace cnntrain::cpu::HWY_NAMESPACE {
namespace {

template <typename T> RowSums row_sums(std::int64_t classes, const T* logits) {
    const FloatTag d;
    Floats most = hn::Set(d, -hwy::HighestValue<float>());
    for_vectors(classes, [&](auto extent, std::int64_t i) {
        const auto valid = hn::FirstN(d, static_cast<std::size_t>(extent.count));
        most = hn::IfThenElse(valid, hn::Max(load_ahead(extent, logits + i), most), most);
    });
    const auto largest = hn::MaxOfLanes(d, most);
    Floats sum = hn::Zero(d);
    Floats sum_exp = hn::Zero(d);
    for_vectors(classes, [&](auto extent, std::int64_t i) {
        const auto valid = hn::FirstN(d, static_cast<std::size_t>(extent.count));
        const auto z = hn::Sub(extent.load_from(logits + i), largest);
        sum = hn::Add(sum, hn::IfThenElseZero(valid, z));
        sum_exp = hn::Add(sum_exp, hn::IfThenElseZero(valid, hn::Exp(d, z)));
    });
    return {.largest = hn::GetLane(largest),
            .sum = hn::GetLane(hn::SumOfLanes(d, sum)),
            .sum_exp = hn::GetLane(hn::SumOfLanes(d, sum_exp))};
}

/// dlogits = exp(z - largest) * factor - offset.
template <typename T>
void gradient_row(std::int64_t classes, const T* logits, float largest, float factor, float offset, T* dlogits) {
    const FloatTag d;
    for_vectors(classes, [&](auto extent, std::int64_t i) {
        const auto z = hn::Sub(load_ahead(extent, logits + i), hn::Set(d, largest));
        extent.store_to(hn::MulSub(hn::Exp(d, z), hn::Set(d, factor), hn::Set(d, offset)), dlogits + i);
    });
}

RowSums row_sums_f32(std::int64_t classes, const float* logits) {
    return row_sums(classes, logits);
}
RowSums row_sums_bf16(std::int64_t classes, const BFloat16* logits) {
    return row_sums(classes, logits);
}
void gradient_row_f32(std::int64_t classes, const float* logits, float largest, float factor, float offset,
                      float* dlogits) {
    gradient_row(classes, logits, largest, factor, offset, dlogits);
}
void gradient_row_bf16(std::int64_t classes, const BFloat16* logits, float largest, float factor, float offset,
                       BFloat16* dlogits) {
    gradient_row(classes, logits, largest, factor, offset, dlogits);
}

}  // namespace
}  // namespace cnntrain::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE

#include <array>
#include <cmath>
#include <limits>

#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/graph/op.h"

namespace cnntrain::cpu {
namespace {

HWY_EXPORT(row_sums_f32);
HWY_EXPORT(row_sums_bf16);
HWY_EXPORT(gradient_row_f32);
HWY_EXPORT(gradient_row_bf16);

RowSums call_sums(std::int64_t classes, const float* logits) {
    return HWY_DYNAMIC_DISPATCH(row_sums_f32)(classes, logits);
}
RowSums call_sums(std::int64_t classes, const BFloat16* logits) {
    return HWY_DYNAMIC_DISPATCH(row_sums_bf16)(classes, logits);
}
void call_gradient(std::int64_t classes, const float* logits, float largest, float factor, float offset,
                   float* dlogits) {
    HWY_DYNAMIC_DISPATCH(gradient_row_f32)(classes, logits, largest, factor, offset, dlogits);
}
void call_gradient(std::int64_t classes, const BFloat16* logits, float largest, float factor, float offset,
                   BFloat16* dlogits) {
    HWY_DYNAMIC_DISPATCH(gradient_row_bf16)(classes, logits, largest, factor, offset, dlogits);
}

float widen(float value) {
    return value;
}
float widen(BFloat16 value) {
    return to_float(value);
}
void narrow(float value, float* to) {
    *to = value;
}
void narrow(float value, BFloat16* to) {
    *to = to_bfloat16(value);
}

/// Target probability of the label's class, and of every other class.
struct Targets {
    double label = 1;
    double other = 0;
};

Targets targets(std::int64_t classes, double smoothing) {
    return {.label = 1 - smoothing, .other = classes > 1 ? smoothing / static_cast<double>(classes - 1) : 0.0};
}

bool counts(std::int32_t label, std::int64_t classes) {
    return label >= 0 && label < classes;
}

template <typename T> bool first_largest(const T* logits, std::int32_t label, float largest) {
    for (std::int32_t i = 0; i < label; ++i) {
        if (widen(logits[i]) == largest) return false;
    }
    return widen(logits[label]) == largest;
}

/// Number of classes ranked before the label's: those with a larger logit, with an equal one and a lower index, or NaN.
template <typename T> std::int64_t rank_of_label(std::int64_t classes, const T* logits, std::int32_t label) {
    const float own = widen(logits[label]);
    std::int64_t before = 0;
    for (std::int64_t i = 0; i < label; ++i)
        before += widen(logits[i]) < own ? 0 : 1;
    for (std::int64_t i = label + 1; i < classes; ++i)
        before += widen(logits[i]) <= own ? 0 : 1;
    return before;
}

LossSums add_up(std::int64_t samples, const float* losses, const float* correct) {
    double loss = 0;
    double right = 0;
    for (std::int64_t n = 0; n < samples; ++n) {
        loss += static_cast<double>(losses[n]);
        right += static_cast<double>(correct[n]);
    }
    return {.loss = static_cast<float>(loss), .correct = static_cast<float>(right)};
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

std::int64_t softmax_scratch_floats(std::int64_t samples) {
    return 2 * samples;
}

template <typename T> LossSums softmax_cross_entropy(std::int64_t samples, std::int64_t classes, const T* logits,
                                                     const std::int32_t* labels, double label_smoothing,
                                                     std::span<float> scratch) {
    CNNTRAIN_CHECK(static_cast<std::int64_t>(scratch.size()) >= softmax_scratch_floats(samples),
                   "scratch is smaller than softmax_scratch_floats");
    float* losses = scratch.data();
    float* correct = losses + samples;
    const Targets target = targets(classes, label_smoothing);
    parallel_tasks(samples, [&](std::int64_t n) {
        losses[n] = 0;
        correct[n] = 0;
        if (!counts(labels[n], classes)) return;
        const T* row = logits + n * classes;
        const RowSums sums = call_sums(classes, row);
        const auto largest = static_cast<double>(sums.largest);
        const double label = static_cast<double>(widen(row[labels[n]])) - largest;
        const double others = static_cast<double>(sums.sum) - label;
        const double loss = std::log(static_cast<double>(sums.sum_exp)) - target.label * label - target.other * others;
        losses[n] = std::isfinite(sums.sum) ? static_cast<float>(loss) : kNan;
        correct[n] = first_largest(row, labels[n], sums.largest) ? 1.0F : 0.0F;
    });
    return add_up(samples, losses, correct);
}

template <typename T> void softmax_cross_entropy_grad(std::int64_t samples, std::int64_t classes, const T* logits,
                                                      const std::int32_t* labels, double label_smoothing, float dloss,
                                                      T* dlogits) {
    const Targets target = targets(classes, label_smoothing);
    const auto weight = static_cast<double>(dloss);
    parallel_tasks(samples, [&](std::int64_t n) {
        const T* row = logits + n * classes;
        T* to = dlogits + n * classes;
        if (!counts(labels[n], classes)) {
            std::fill_n(to, classes, T{});
            return;
        }
        const RowSums sums = call_sums(classes, row);
        const double factor = std::isfinite(sums.sum) ? weight / static_cast<double>(sums.sum_exp)
                                                      : std::numeric_limits<double>::quiet_NaN();
        const auto z = static_cast<double>(widen(row[labels[n]])) - static_cast<double>(sums.largest);
        call_gradient(classes, row, sums.largest, static_cast<float>(factor), static_cast<float>(weight * target.other),
                      to);
        narrow(static_cast<float>(std::exp(z) * factor - weight * target.label), to + labels[n]);
    });
}

namespace {

/// The partners of one sample that have a label.
struct Partners {
    /// Calls use(label, share) for each.
    template <typename Use> void for_each(const Use& use) const {
        const std::size_t count = targets.distances.size();
        for (std::size_t p = 0; p < count; ++p) {
            const std::int32_t label = targets.labels[mixing_partner(sample, targets.distances[p], samples)];
            if (!counts(label, classes)) continue;
            use(label, static_cast<double>(targets.shares[static_cast<std::size_t>(sample) * count + p]));
        }
    }

    const MixedTargets& targets;
    std::int64_t sample = 0, samples = 0, classes = 0;
};

}  // namespace

template <typename T> LossSums mixed_cross_entropy(std::int64_t samples, std::int64_t classes, const T* logits,
                                                   const MixedTargets& mixed, std::span<float> scratch) {
    CNNTRAIN_CHECK(static_cast<std::int64_t>(scratch.size()) >= softmax_scratch_floats(samples),
                   "scratch is smaller than softmax_scratch_floats");
    float* losses = scratch.data();
    float* correct = losses + samples;
    const Targets target = targets(classes, mixed.label_smoothing);
    parallel_tasks(samples, [&](std::int64_t n) {
        losses[n] = 0;
        correct[n] = 0;
        if (!counts(mixed.labels[n], classes)) return;
        const T* row = logits + n * classes;
        const RowSums sums = call_sums(classes, row);
        const double log_sum = std::log(static_cast<double>(sums.sum_exp));
        double loss = 0;
        Partners{mixed, n, samples, classes}.for_each([&](std::int32_t label, double share) {
            const double z = static_cast<double>(widen(row[label])) - static_cast<double>(sums.largest);
            const double others = static_cast<double>(sums.sum) - z;
            loss += share * (log_sum - target.label * z - target.other * others);
        });
        losses[n] = std::isfinite(sums.sum) ? static_cast<float>(loss) : kNan;
        correct[n] = first_largest(row, mixed.labels[n], sums.largest) ? 1.0F : 0.0F;
    });
    return add_up(samples, losses, correct);
}

template <typename T> void mixed_cross_entropy_grad(std::int64_t samples, std::int64_t classes, const T* logits,
                                                    const MixedTargets& mixed, float dloss, T* dlogits) {
    const Targets target = targets(classes, mixed.label_smoothing);
    const auto weight = static_cast<double>(dloss);
    parallel_tasks(samples, [&](std::int64_t n) {
        const T* row = logits + n * classes;
        T* to = dlogits + n * classes;
        if (!counts(mixed.labels[n], classes)) {
            std::fill_n(to, classes, T{});
            return;
        }
        const Partners partners{mixed, n, samples, classes};
        const RowSums sums = call_sums(classes, row);
        double total = 0;
        partners.for_each([&](std::int32_t /*label*/, double share) { total += share; });
        const double factor = std::isfinite(sums.sum) ? total * weight / static_cast<double>(sums.sum_exp)
                                                      : std::numeric_limits<double>::quiet_NaN();
        // Computes the labels' entries before the row is overwritten; two partners may have the same label.
        std::array<float, kMaxPartners> of_label{};
        std::size_t count = 0;
        partners.for_each([&](std::int32_t label, double /*share*/) {
            double wanted = total * target.other;
            partners.for_each([&](std::int32_t same, double share) {
                if (same == label) wanted += share * (target.label - target.other);
            });
            const double z = static_cast<double>(widen(row[label])) - static_cast<double>(sums.largest);
            of_label.at(count++) = static_cast<float>(std::exp(z) * factor - weight * wanted);
        });
        call_gradient(classes, row, sums.largest, static_cast<float>(factor),
                      static_cast<float>(total * weight * target.other), to);
        count = 0;
        partners.for_each([&](std::int32_t label, double /*share*/) { narrow(of_label.at(count++), to + label); });
    });
}

template <typename T> float top_k_correct(std::int64_t samples, std::int64_t classes, const T* logits,
                                          const std::int32_t* labels, std::int64_t k) {
    std::int64_t correct = 0;
    for (std::int64_t n = 0; n < samples; ++n) {
        if (!counts(labels[n], classes)) continue;
        if (rank_of_label(classes, logits + n * classes, labels[n]) < k) ++correct;
    }
    return static_cast<float>(correct);
}

namespace {

double sum_of(std::int64_t count, const float* values) {
    double sum = 0;
    for (std::int64_t i = 0; i < count; ++i)
        sum += static_cast<double>(values[i]);
    return sum;
}

}  // namespace

std::int64_t token_loss_scratch_floats(std::int64_t tokens) {
    return 2 * tokens;
}

template <typename T> LossSums token_cross_entropy(std::int64_t tokens, std::int64_t classes, const T* logits,
                                                   const std::int32_t* labels, const float* weights, float* log_sums,
                                                   std::span<float> scratch) {
    CNNTRAIN_CHECK(static_cast<std::int64_t>(scratch.size()) >= token_loss_scratch_floats(tokens),
                   "scratch is smaller than token_loss_scratch_floats");
    float* losses = scratch.data();
    float* correct = losses + tokens;
    parallel_tasks(tokens, [&](std::int64_t n) {
        const T* row = logits + n * classes;
        const RowSums sums = call_sums(classes, row);
        const double log_sum = static_cast<double>(sums.largest) + std::log(static_cast<double>(sums.sum_exp));
        log_sums[n] = std::isfinite(sums.sum) ? static_cast<float>(log_sum) : kNan;
        losses[n] = 0;
        correct[n] = 0;
        if (!counts(labels[n], classes) || weights[n] == 0) return;
        const double label = static_cast<double>(widen(row[labels[n]]));
        losses[n] = std::isfinite(sums.sum) ? weights[n] * static_cast<float>(log_sum - label) : kNan;
        correct[n] = first_largest(row, labels[n], sums.largest) ? weights[n] : 0.0F;
    });
    const double weight = sum_of(tokens, weights);
    const LossSums sums = add_up(tokens, losses, correct);
    return {.loss = static_cast<float>(static_cast<double>(sums.loss) / (weight + graph::kTokenWeightEpsilon)),
            .correct = weight == 0 ? 0 : static_cast<float>(static_cast<double>(sums.correct) / weight)};
}

template <typename T>
void token_cross_entropy_grad(std::int64_t tokens, std::int64_t classes, const TokenLossGradient<T>& args) {
    const double scale = static_cast<double>(args.dloss) / (sum_of(tokens, args.weights) + graph::kTokenWeightEpsilon);
    parallel_tasks(tokens, [&](std::int64_t n) {
        const T* row = args.logits + n * classes;
        T* to = args.dlogits + n * classes;
        if (!counts(args.labels[n], classes) || args.weights[n] == 0) {
            std::fill_n(to, classes, T{});
            return;
        }
        const double factor = scale * static_cast<double>(args.weights[n]);
        const double z = static_cast<double>(widen(row[args.labels[n]])) - static_cast<double>(args.log_sums[n]);
        call_gradient(classes, row, args.log_sums[n], static_cast<float>(factor), 0, to);
        narrow(static_cast<float>(factor * (std::exp(z) - 1)), to + args.labels[n]);
    });
}

template LossSums token_cross_entropy(std::int64_t, std::int64_t, const float*, const std::int32_t*, const float*,
                                      float*, std::span<float>);
template LossSums token_cross_entropy(std::int64_t, std::int64_t, const BFloat16*, const std::int32_t*, const float*,
                                      float*, std::span<float>);
template void token_cross_entropy_grad(std::int64_t, std::int64_t, const TokenLossGradient<float>&);
template void token_cross_entropy_grad(std::int64_t, std::int64_t, const TokenLossGradient<BFloat16>&);

template float top_k_correct(std::int64_t, std::int64_t, const float*, const std::int32_t*, std::int64_t);
template float top_k_correct(std::int64_t, std::int64_t, const BFloat16*, const std::int32_t*, std::int64_t);

template LossSums mixed_cross_entropy(std::int64_t, std::int64_t, const float*, const MixedTargets&, std::span<float>);
template LossSums mixed_cross_entropy(std::int64_t, std::int64_t, const BFloat16*, const MixedTargets&,
                                      std::span<float>);
template void mixed_cross_entropy_grad(std::int64_t, std::int64_t, const float*, const MixedTargets&, float, float*);
template void mixed_cross_entropy_grad(std::int64_t, std::int64_t, const BFloat16*, const MixedTargets&, float,
                                       BFloat16*);

namespace {

/// The softmax of a row divided by a temperature.
struct Softened {
    double largest = -std::numeric_limits<double>::infinity();  // of the row
    double sum = 0;                                             // of exp((z - largest) / temperature)
    double temperature = 1;

    double log_probability(double logit) const { return (logit - largest) / temperature - std::log(sum); }
    double probability(double logit) const { return std::exp((logit - largest) / temperature) / sum; }
};

template <typename T> Softened softened(std::int64_t classes, const T* row, double temperature) {
    Softened result{.temperature = temperature};
    for (std::int64_t c = 0; c < classes; ++c)
        result.largest = std::max(result.largest, static_cast<double>(widen(row[c])));
    for (std::int64_t c = 0; c < classes; ++c)
        result.sum += std::exp((static_cast<double>(widen(row[c])) - result.largest) / temperature);
    return result;
}

}  // namespace

template <typename T> float distillation(std::int64_t samples, std::int64_t classes, const T* logits,
                                         const std::int32_t* labels, const float* teacher, double temperature,
                                         std::span<float> scratch) {
    CNNTRAIN_CHECK(static_cast<std::int64_t>(scratch.size()) >= softmax_scratch_floats(samples),
                   "scratch is smaller than softmax_scratch_floats");
    float* losses = scratch.data();
    parallel_tasks(samples, [&](std::int64_t n) {
        losses[n] = 0;
        if (!counts(labels[n], classes)) return;
        const T* row = logits + n * classes;
        const float* taught_row = teacher + n * classes;
        const Softened own = softened(classes, row, temperature);
        const Softened taught = softened(classes, taught_row, temperature);
        double loss = 0;
        for (std::int64_t c = 0; c < classes; ++c) {
            const auto logit = static_cast<double>(taught_row[c]);
            loss += taught.probability(logit) *
                    (taught.log_probability(logit) - own.log_probability(static_cast<double>(widen(row[c]))));
        }
        losses[n] = static_cast<float>(temperature * temperature * loss);
    });
    return static_cast<float>(sum_of(samples, losses));
}

template <typename T> void distillation_grad(std::int64_t samples, std::int64_t classes, const T* logits,
                                             const std::int32_t* labels, const float* teacher, double temperature,
                                             float dloss, T* dlogits) {
    const double factor = static_cast<double>(dloss) * temperature;
    parallel_tasks(samples, [&](std::int64_t n) {
        const T* row = logits + n * classes;
        T* to = dlogits + n * classes;
        if (!counts(labels[n], classes)) {
            std::fill_n(to, classes, T{});
            return;
        }
        const float* taught_row = teacher + n * classes;
        const Softened own = softened(classes, row, temperature);
        const Softened taught = softened(classes, taught_row, temperature);
        for (std::int64_t c = 0; c < classes; ++c) {
            const double apart = own.probability(static_cast<double>(widen(row[c]))) -
                                 taught.probability(static_cast<double>(taught_row[c]));
            narrow(static_cast<float>(factor * apart), to + c);
        }
    });
}

template float distillation(std::int64_t, std::int64_t, const float*, const std::int32_t*, const float*, double,
                            std::span<float>);
template float distillation(std::int64_t, std::int64_t, const BFloat16*, const std::int32_t*, const float*, double,
                            std::span<float>);
template void distillation_grad(std::int64_t, std::int64_t, const float*, const std::int32_t*, const float*, double,
                                float, float*);
template void distillation_grad(std::int64_t, std::int64_t, const BFloat16*, const std::int32_t*, const float*, double,
                                float, BFloat16*);

template LossSums softmax_cross_entropy(std::int64_t, std::int64_t, const float*, const std::int32_t*, double,
                                        std::span<float>);
template LossSums softmax_cross_entropy(std::int64_t, std::int64_t, const BFloat16*, const std::int32_t*, double,
                                        std::span<float>);
template void softmax_cross_entropy_grad(std::int64_t, std::int64_t, const float*, const std::int32_t*, double, float,
                                         float*);
template void softmax_cross_entropy_grad(std::int64_t, std::int64_t, const BFloat16*, const std::int32_t*, double,
                                         float, BFloat16*);

}  // namespace cnntrain::cpu

#endif  // HWY_ONCE
