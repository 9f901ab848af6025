// Weights of classes in a cross entropy (SoftmaxAttrs in cnntrain/graph/op.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "graph/attr_text.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

/// Checks that there are no weights, or one for each class, finite and not negative.
void expect_class_weights(const std::vector<double>& weights, std::int64_t classes);
void describe_class_weights(const std::vector<double>& weights, graph::AttrText& text);

/// The weights, and the totals over a micro-batch from which the factor of its loss follows.
class ClassWeights {
public:
    explicit ClassWeights(const std::vector<double>& weights) : weights_(weights) {}

    bool all_one() const { return weights_.empty(); }
    double operator[](std::size_t c) const { return all_one() ? 1 : weights_[c]; }

    void count_sample() { samples_ += 1; }
    void count_label(std::size_t label, double share) { labels_ += share * (*this)[label]; }
    /// Samples / weight of their labels, by which the sum of the losses is multiplied.
    double scale() const {
        if (all_one()) return 1;
        return labels_ > 0 ? samples_ / labels_ : 0;
    }

private:
    const std::vector<double>& weights_;
    double samples_ = 0;
    double labels_ = 0;
};

}  // namespace cnntrain::ops
