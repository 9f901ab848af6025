// Cross entropy of rows of logits: the parts that several families of losses share.
#pragma once

#include <cstddef>
#include <vector>

#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {

/// The sum of the tensor's elements, FLOAT [].
poplar::Tensor total(const NodeContext& node, const poplar::Tensor& tensor);

/// The logit of each row's label, [N] of the logits' type; 0 for a label outside 0..C-1.
poplar::Tensor own_logits(const NodeContext& node, const poplar::Tensor& logits, const poplar::Tensor& labels);

/// The number of classes that are likelier than each row's label, INT [N]. Of equal logits the first class is the
/// likelier one. A NaN logit is likelier than every other, and a label whose own logit is NaN gets C. Without meaning
/// for labels outside 0..C-1.
poplar::Tensor ranks_of_labels(const NodeContext& node, const poplar::Tensor& logits, const poplar::Tensor& labels,
                               const poplar::Tensor& own);

/// FLOAT []: the number of rows whose label is a class and among the k likeliest.
poplar::Tensor count_correct(const NodeContext& node, const poplar::Tensor& logits, const poplar::Tensor& labels,
                             std::size_t k);

/// A row's target is the sum of its partners' smoothed one-hot vectors, each times its share.
struct Partner {
    poplar::Tensor labels;       // INT [N]
    poplar::Tensor shares = {};  // FLOAT [N]; invalid: 1
};

/// The rule by which targets follow from labels (SoftmaxAttrs in cnntrain/graph/op.h).
struct TargetRule {
    double smoothing = 0;
    std::vector<double> class_weights = {};  // empty: all 1
};

/// FLOAT []: the sum of the cross entropies of the rows whose own label is a class; with class weights, times the
/// number of these rows / the weights of their labels.
poplar::Tensor cross_entropy(const NodeContext& node, const poplar::Tensor& logits, const poplar::Tensor& labels,
                             const std::vector<Partner>& partners, const TargetRule& rule);

/// The gradient of cross_entropy() times dloss, in the logits' type.
poplar::Tensor cross_entropy_grad(const NodeContext& node, const poplar::Tensor& logits, const poplar::Tensor& labels,
                                  const std::vector<Partner>& partners, const TargetRule& rule,
                                  const poplar::Tensor& dloss);

}  // namespace cnntrain::ipu
