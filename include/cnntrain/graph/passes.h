// Graph passes: each takes a graph and returns a rewritten one; the runner verifies after every step.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/graph.h"

namespace cnntrain::graph {

struct Pass {
    std::string_view name;
    Graph (*run)(const Graph&);
};

/// Training forward graphs, before differentiation: fuse norm + add + activation.
std::span<const Pass> training_passes();
/// After differentiation: sums of two gradients that only a norm's gradient reads move into it; dead code.
std::span<const Pass> backward_passes();
/// Evaluation graphs: fuse norm + add + activation, fold batch norms into convolutions, dead code.
std::span<const Pass> evaluation_passes();

struct PassReport {
    std::string name;
    double milliseconds = 0;
    std::int32_t nodes_before = 0;
    std::int32_t nodes_after = 0;
};

/// Runs the passes in order, verifying after each; `disabled` names are skipped.
Graph run_passes(Graph graph, std::span<const Pass> passes, std::span<const std::string> disabled = {},
                 std::vector<PassReport>* report = nullptr);

/// batch_norm/group_norm/batch_norm_inference (+ add) + relu, or + swish without an add -> the norm with residual and
/// activation, when the intermediate values have no other user and all nodes are in one stage. batch_norm_inference also
/// with an add and swish, or with an add alone.
Graph fuse_norm_activation(const Graph& graph);
/// conv2d + batch_norm_inference -> conv2d with folded weight and bias (weight-only values, computed once per load).
Graph fold_inference_norms(const Graph& graph);
/// add(a, b) whose only user is the dy of a norm gradient -> summed_gradient.
Graph fuse_gradient_sums(const Graph& graph);
/// Removes nodes that reach no output, no mutation.
Graph remove_dead_nodes(const Graph& graph);

}  // namespace cnntrain::graph
