// Softmax cross entropy with class weights, in double precision: the products before it take far longer.
//
// With u_c = weight_c * target_c: loss of a sample = sum_c u_c * (log sum exp z - z_c), gradient = softmax * sum u - u.
// Both are multiplied by the number of samples / the sum of the weights of their labels.
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
    double loss = 0;
    double right = 0;
    for (std::int64_t n = 0; n < samples; ++n) {
        loss += static_cast<double>(losses[n]);
        right += static_cast<double>(correct[n]);
    }
    return {.loss = static_cast<float>(loss * weighting.scale()), .correct = static_cast<float>(right)};
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

template LossSums weighted_cross_entropy(std::int64_t, std::int64_t, const float*, const MixedTargets&,
                                         std::span<const double>, std::span<float>);
template LossSums weighted_cross_entropy(std::int64_t, std::int64_t, const BFloat16*, const MixedTargets&,
                                         std::span<const double>, std::span<float>);
template void weighted_cross_entropy_grad(std::int64_t, std::int64_t, const float*, const MixedTargets&,
                                          std::span<const double>, float, float*);
template void weighted_cross_entropy_grad(std::int64_t, std::int64_t, const BFloat16*, const MixedTargets&,
                                          std::span<const double>, float, BFloat16*);

}  // namespace cnntrain::cpu
