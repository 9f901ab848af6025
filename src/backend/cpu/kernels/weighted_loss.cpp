// Softmax cross entropy with class weights and the sigmoid's, in double precision: the products before them take far
// longer.
//
// Softmax: with u_c = weight_c * target_c, loss of a sample = sum_c u_c * (log sum exp z - z_c), gradient = softmax *
// sum u - u. Both are multiplied by the number of samples / the sum of the weights of their labels.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/kernels/parallel.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::cpu {
namespace {

double widen(float value) {
    return static_cast<double>(value);
}
double widen(BFloat16 value) {
    return static_cast<double>(to_float(value));
}
void narrow(double value, float* to) {
    *to = static_cast<float>(value);
}
void narrow(double value, BFloat16* to) {
    *to = to_bfloat16(static_cast<float>(value));
}

/// The labels of a sample and its partners, without those that are no class.
struct Labels {
    std::size_t count = 0;
    std::array<std::int64_t, kMaxPartners> label{};
    std::array<double, kMaxPartners> share{};
};

class Weighting {
public:
    Weighting(std::int64_t samples, std::int64_t classes, const MixedTargets& targets, std::span<const double> weights)
        : samples_(samples), classes_(classes), targets_(targets), weights_(weights) {
        CNNTRAIN_CHECK(std::ssize(weights) == classes, "a weight for each class");
        total_ = std::accumulate(weights.begin(), weights.end(), 0.0);
        if (classes > 1) others_ = targets.label_smoothing / static_cast<double>(classes - 1);
        double valid = 0;
        double of_labels = 0;
        for (std::int64_t n = 0; n < samples; ++n) {
            if (!counts(n)) continue;
            valid += 1;
            const Labels labels = labels_of(n);
            for (std::size_t p = 0; p < labels.count; ++p)
                of_labels += labels.share[p] * weight(labels.label[p]);
        }
        scale_ = of_labels > 0 ? valid / of_labels : 0;
    }

    bool counts(std::int64_t n) const { return is_class(targets_.labels[n]); }
    double weight(std::int64_t c) const { return weights_[static_cast<std::size_t>(c)]; }
    double scale() const { return scale_; }
    double others() const { return others_; }  // target of a class without the label
    double label_more() const { return 1 - targets_.label_smoothing - others_; }

    Labels labels_of(std::int64_t n) const {
        Labels labels;
        const std::size_t partners = targets_.distances.size();
        for (std::size_t p = 0; p < partners; ++p) {
            const std::int64_t label = targets_.labels[mixing_partner(n, targets_.distances[p], samples_)];
            if (!is_class(label)) continue;
            const std::size_t at = static_cast<std::size_t>(n) * partners + p;
            labels.label[labels.count] = label;
            labels.share[labels.count++] = targets_.shares == nullptr ? 1 : static_cast<double>(targets_.shares[at]);
        }
        return labels;
    }

    /// The sum of u over all classes.
    double target_sum(const Labels& labels) const {
        double sum = 0;
        for (std::size_t p = 0; p < labels.count; ++p)
            sum += labels.share[p] * (label_more() * weight(labels.label[p]) + others_ * total_);
        return sum;
    }

private:
    bool is_class(std::int64_t label) const { return label >= 0 && label < classes_; }

    std::int64_t samples_;
    std::int64_t classes_;
    const MixedTargets& targets_;
    std::span<const double> weights_;
    double total_ = 0;
    double others_ = 0;
    double scale_ = 0;
};

double share_sum(const Labels& labels) {
    return std::accumulate(labels.share.begin(), labels.share.begin() + static_cast<std::ptrdiff_t>(labels.count), 0.0);
}

/// The largest of a sample's logits, its first class, and log sum exp; NaN if a logit is not finite.
struct Row {
    std::int64_t best = 0;
    double log_sum = 0;
};

template <typename T> Row row_of(std::int64_t classes, const T* logits) {
    Row row;
    bool finite = true;
    for (std::int64_t c = 0; c < classes; ++c) {
        finite = finite && std::isfinite(widen(logits[c]));
        if (widen(logits[c]) > widen(logits[row.best])) row.best = c;
    }
    const double largest = widen(logits[row.best]);
    double sum = 0;
    for (std::int64_t c = 0; c < classes; ++c)
        sum += std::exp(widen(logits[c]) - largest);
    row.log_sum = finite ? largest + std::log(sum) : std::numeric_limits<double>::quiet_NaN();
    return row;
}

/// `scratch`: the samples' losses, then how many are correct.
LossSums added_up(std::span<const float> scratch, std::int64_t samples, double factor) {
    double loss = 0;
    double right = 0;
    for (std::int64_t n = 0; n < samples; ++n) {
        loss += static_cast<double>(scratch[static_cast<std::size_t>(n)]);
        right += static_cast<double>(scratch[static_cast<std::size_t>(samples + n)]);
    }
    return {.loss = static_cast<float>(loss * factor), .correct = static_cast<float>(right)};
}

}  // namespace

template <typename T> LossSums weighted_cross_entropy(std::int64_t samples, std::int64_t classes, const T* logits,
                                                      const MixedTargets& targets,
                                                      std::span<const double> class_weights, std::span<float> scratch) {
    CNNTRAIN_CHECK(std::ssize(scratch) >= softmax_scratch_floats(samples),
                   "scratch is smaller than softmax_scratch_floats");
    const Weighting weighting(samples, classes, targets, class_weights);
    float* const losses = scratch.data();
    float* const correct = losses + samples;
    parallel_tasks(samples, [&](std::int64_t n) {
        losses[n] = 0;
        correct[n] = 0;
        if (!weighting.counts(n)) return;
        const T* const z = logits + n * classes;
        const Row row = row_of(classes, z);
        const Labels labels = weighting.labels_of(n);
        double loss = 0;
        for (std::size_t p = 0; p < labels.count; ++p) {
            const std::int64_t label = labels.label[p];
            loss +=
                labels.share[p] * weighting.label_more() * weighting.weight(label) * (row.log_sum - widen(z[label]));
        }
        if (weighting.others() > 0) {
            double all = 0;
            for (std::int64_t c = 0; c < classes; ++c)
                all += weighting.weight(c) * (row.log_sum - widen(z[c]));
            loss += share_sum(labels) * weighting.others() * all;
        }
        losses[n] = static_cast<float>(loss);
        correct[n] = row.best == targets.labels[n] ? 1.0F : 0.0F;
    });
    return added_up(scratch, samples, weighting.scale());
}

template <typename T> void weighted_cross_entropy_grad(std::int64_t samples, std::int64_t classes, const T* logits,
                                                       const MixedTargets& targets,
                                                       std::span<const double> class_weights, float dloss, T* dlogits) {
    const Weighting weighting(samples, classes, targets, class_weights);
    const double factor = static_cast<double>(dloss) * weighting.scale();
    parallel_tasks(samples, [&](std::int64_t n) {
        const T* const z = logits + n * classes;
        T* const to = dlogits + n * classes;
        if (!weighting.counts(n)) {
            std::fill_n(to, classes, T{});
            return;
        }
        const Row row = row_of(classes, z);
        const Labels labels = weighting.labels_of(n);
        const double total = weighting.target_sum(labels);
        const double others = share_sum(labels) * weighting.others();
        for (std::int64_t c = 0; c < classes; ++c) {
            double target = others;
            for (std::size_t p = 0; p < labels.count; ++p) {
                if (labels.label[p] == c) target += labels.share[p] * weighting.label_more();
            }
            const double probability = std::exp(widen(z[c]) - row.log_sum);
            narrow(factor * (total * probability - weighting.weight(c) * target), to + c);
        }
    });
}

namespace {

/// A label of 0 or 1 and its logit. With t the logit, negated for a 0: p = sigmoid(t), 1 - p = sigmoid(-t).
class LabelTerm {
public:
    LabelTerm(double logit, bool is_positive, double focus)
        : focus_(focus), towards_(is_positive ? logit : -logit), tail_(std::log1p(std::exp(-std::abs(logit)))) {}

    double loss() const { return -modulation() * log_probability(); }
    /// Slope of the loss in t.
    double slope() const {
        const double p = std::exp(log_probability());
        return modulation() * (focus_ * p * log_probability() - (1 - p));
    }

private:
    double log_probability() const { return std::min(towards_, 0.0) - tail_; }
    double modulation() const { return focus_ == 0 ? 1 : std::exp(focus_ * (std::min(-towards_, 0.0) - tail_)); }

    double focus_;
    double towards_;
    double tail_;
};

double weight_of(const LabelWeights& weights, std::int64_t c, bool is_positive) {
    return is_positive && !weights.positive.empty() ? weights.positive[static_cast<std::size_t>(c)] : 1;
}

bool is_label(std::int32_t label) {
    return label == 0 || label == 1;
}

}  // namespace

template <typename T> LossSums sigmoid_cross_entropy(std::int64_t samples, std::int64_t classes, const T* logits,
                                                     const std::int32_t* labels, const LabelWeights& weights,
                                                     std::span<float> scratch) {
    CNNTRAIN_CHECK(std::ssize(scratch) >= softmax_scratch_floats(samples),
                   "scratch is smaller than softmax_scratch_floats");
    parallel_tasks(samples, [&](std::int64_t n) {
        double loss = 0;
        double correct = 0;
        for (std::int64_t c = 0; c < classes; ++c) {
            const std::int32_t label = labels[n * classes + c];
            if (!is_label(label)) continue;
            const double logit = widen(logits[n * classes + c]);
            const bool is_positive = label == 1;
            // The difference makes an infinite logit count as NaN, also where its loss is 0.
            loss += weight_of(weights, c, is_positive) * LabelTerm(logit, is_positive, weights.focus).loss() +
                    (logit - logit);
            correct += (logit > 0) == is_positive ? 1 : 0;
        }
        scratch[static_cast<std::size_t>(n)] = static_cast<float>(loss);
        scratch[static_cast<std::size_t>(samples + n)] = static_cast<float>(correct);
    });
    const double share = 1 / static_cast<double>(classes);
    LossSums sums = added_up(scratch, samples, share);
    sums.correct = static_cast<float>(static_cast<double>(sums.correct) * share);
    return sums;
}

template <typename T> void sigmoid_cross_entropy_grad(std::int64_t samples, std::int64_t classes, const T* logits,
                                                      const std::int32_t* labels, const LabelWeights& weights,
                                                      float dloss, T* dlogits) {
    const double factor = static_cast<double>(dloss) / static_cast<double>(classes);
    parallel_tasks(samples, [&](std::int64_t n) {
        for (std::int64_t c = 0; c < classes; ++c) {
            const std::int64_t i = n * classes + c;
            const bool is_positive = labels[i] == 1;
            const double slope = LabelTerm(widen(logits[i]), is_positive, weights.focus).slope();
            const double gradient = factor * weight_of(weights, c, is_positive) * (is_positive ? slope : -slope);
            narrow(is_label(labels[i]) ? gradient : 0, dlogits + i);
        }
    });
}

template LossSums sigmoid_cross_entropy(std::int64_t, std::int64_t, const float*, const std::int32_t*,
                                        const LabelWeights&, std::span<float>);
template LossSums sigmoid_cross_entropy(std::int64_t, std::int64_t, const BFloat16*, const std::int32_t*,
                                        const LabelWeights&, std::span<float>);
template void sigmoid_cross_entropy_grad(std::int64_t, std::int64_t, const float*, const std::int32_t*,
                                         const LabelWeights&, float, float*);
template void sigmoid_cross_entropy_grad(std::int64_t, std::int64_t, const BFloat16*, const std::int32_t*,
                                         const LabelWeights&, float, BFloat16*);

template LossSums weighted_cross_entropy(std::int64_t, std::int64_t, const float*, const MixedTargets&,
                                         std::span<const double>, std::span<float>);
template LossSums weighted_cross_entropy(std::int64_t, std::int64_t, const BFloat16*, const MixedTargets&,
                                         std::span<const double>, std::span<float>);
template void weighted_cross_entropy_grad(std::int64_t, std::int64_t, const float*, const MixedTargets&,
                                          std::span<const double>, float, float*);
template void weighted_cross_entropy_grad(std::int64_t, std::int64_t, const BFloat16*, const MixedTargets&,
                                          std::span<const double>, float, BFloat16*);

}  // namespace cnntrain::cpu
