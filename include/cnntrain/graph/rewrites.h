// Rewrites of graphs: each takes a graph and returns another one that computes the same.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/graph.h"

namespace cnntrain::graph {

struct Rewrite {
    std::string_view name;
    Graph (*apply)(const Graph&);
};

/// The rewrites that a backend wants at each point, in order.
struct RewriteLists {
    std::span<const Rewrite> training;    // forward graphs, before differentiation
    std::span<const Rewrite> backward;    // training graphs after differentiation, with the update
    std::span<const Rewrite> evaluation;  // forward graphs without backward
    std::span<const Rewrite> one_stage;   // after `backward`, for graphs that are no pipeline
};

struct RewriteReport {
    std::string name;
    double milliseconds = 0;
    std::int32_t nodes_before = 0;
    std::int32_t nodes_after = 0;
};

/// Applies the rewrites in order and verifies the graph after each; `disabled` names are skipped.
Graph apply_rewrites(Graph graph, std::span<const Rewrite> rewrites, std::span<const std::string> disabled = {},
                     std::vector<RewriteReport>* report = nullptr);

/// Moves an activation at the start of a pipeline stage into the sending stage, if it is the only reader of the sent
/// value and its stage would not become empty. Fusion then works across the border, and one value is sent either way.
/// For forward graphs, first in the list.
Graph move_activations_to_sender(const Graph& graph);
/// batch_norm/group_norm/batch_norm_inference (+ add) + relu, or + swish without an add -> the norm with residual and
/// activation, when the intermediate values have no other user and all nodes are in one stage. batch_norm_inference
/// also absorbs add + swish and a single add.
Graph fuse_norm_activation(const Graph& graph);
/// conv2d + batch_norm_inference -> conv2d with folded weight and bias (weight-only values, computed once per load).
Graph fold_inference_norms(const Graph& graph);
/// add(a, b) whose only user is the dy of a norm gradient -> summed_gradient.
/// An addition after an op with an addend (OpDef) becomes part of that op.
Graph fuse_gradient_sums(const Graph& graph);
/// Lets backward compute results of batch_norm and group_norm again where that lowers the peak of memory: from the
/// forward statistics, with the same numbers, where the activation takes next to no time. For graphs in one stage.
Graph recompute_norms(const Graph& graph);
/// Removes nodes that reach neither an output nor an overwritten variable.
Graph remove_dead_nodes(const Graph& graph);

inline constexpr Rewrite kMoveActivationsToSender{"move-activations-to-sender", move_activations_to_sender};
inline constexpr Rewrite kFuseNormActivation{"fuse-norm-activation", fuse_norm_activation};
inline constexpr Rewrite kFoldInferenceNorms{"fold-inference-norms", fold_inference_norms};
inline constexpr Rewrite kFuseGradientSums{"fuse-gradient-sums", fuse_gradient_sums};
inline constexpr Rewrite kRecomputeNorms{"recompute-norms", recompute_norms};
inline constexpr Rewrite kRemoveDeadNodes{"remove-dead-nodes", remove_dead_nodes};

}  // namespace cnntrain::graph
