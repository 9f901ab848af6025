// First values of variables.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::nn {

/// End of the names of moving averages of variances, which are never below 0.
inline constexpr std::string_view kMovingVariance = "/moving_variance";

/// Draws a variable from its initialiser, in its own type. The numbers depend on the seed and the variable's
/// name only, never on the order or number of variables.
HostTensor initial_value(const graph::Value& variable, std::uint64_t seed);

// The last layer of a network that classifies: logits = features x weight + bias.

struct LastLayer {
    std::string weight;     // parameter [F,C]
    std::string bias;       // parameter [C]
    bool by_class = false;  // the weight is [C,F]
};

/// Marks the input of the layer that makes `logits`, [N,F], as the output `name`. Error(unsupported) if it is no dense
/// layer with a bias on features [N,F].
LastLayer mark_features(graph::Graph& graph, graph::ValueId logits, const std::string& name);

}  // namespace cnntrain::nn
