// Five toy ops under borrowed kinds: graph, autodiff and rewrites must not care what ops do.
#pragma once

#include "support/graph_names.h"

namespace cnntrain::test {

inline constexpr auto kAdd = graph::OpKind::add;              // equal descriptors
inline constexpr auto kMultiply = graph::OpKind::dense;       // element by element, equal shapes
inline constexpr auto kSum = graph::OpKind::bias_grad;        // -> f32[]
inline constexpr auto kSpread = graph::OpKind::shortcut_pad;  // f32[] -> f32[4]: the gradient of kSum
inline constexpr auto kSplit = graph::OpKind::batch_norm;     // x -> x, 2x; gradient only through the first
inline constexpr auto kStep = graph::OpKind::update;          // parameter, gradient: overwrites the parameter
inline constexpr auto kDeadEnd = graph::OpKind::max_pool;     // x -> x without a gradient
inline constexpr auto kBroken = graph::OpKind::activation;    // x -> x with a gradient of the wrong shape

/// Kinds other than these (and constant) have no entry.
const graph::OpTable& toy_ops();

inline const TensorDesc kVector{DType::f32, {4}};
inline const TensorDesc kScalar{DType::f32, {}};

/// Evaluates the forward and backward nodes; parameters and inputs get their values by name, element by element.
std::vector<double> evaluate(const graph::Graph& graph, const std::map<std::string, std::vector<double>>& given,
                             graph::ValueId wanted);

}  // namespace cnntrain::test
