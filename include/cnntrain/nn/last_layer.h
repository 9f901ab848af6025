// The last layer of a network that classifies: logits = features x weight + bias.
#pragma once

#include <string>

#include "cnntrain/graph/graph.h"

namespace cnntrain::nn {

struct LastLayer {
    std::string weight;     // parameter [F,C]
    std::string bias;       // parameter [C]
    bool by_class = false;  // the weight is [C,F]
};

/// Marks what the layer that makes `logits` reads, [N,F], as the output `name`. Error(unsupported) if it is no dense
/// layer with a bias on features [N,F].
LastLayer mark_features(graph::Graph& graph, graph::ValueId logits, const std::string& name);

}  // namespace cnntrain::nn
