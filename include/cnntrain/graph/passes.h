// Passes over graphs: differentiation, which adds the gradient nodes of an objective to a forward graph, and rewrites.
#pragma once

#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/graph.h"

namespace cnntrain::graph {

/// The scalar to differentiate, and the values to differentiate it by.
struct Objective {
    ValueId loss;                  // f32[]
    double seed = 1;               // d(objective)/d(loss) without loss scaling: 1 / micro batch
    ValueId loss_scaling = {};     // scalar of the graph by which all seeds are multiplied; invalid: there is none
    std::vector<ValueId> targets;  // usually parameters
    /// Values stashed for the backward phase when recomputing. Backward recomputes all other values from these, from
    /// inputs, from values that another stage reads, and from parameters and values that depend on parameters only.
    /// Empty: everything needed is stashed, nothing is recomputed.
    std::vector<ValueId> recompute_points;
    /// Further terms of the objective, each a loss with its seed.
    std::map<ValueId, double> more_losses = {};
};

struct Gradients {
    std::map<ValueId, ValueId> of;  // target -> its gradient; a target that the loss does not depend on is absent
    std::set<ValueId> stashed;      // inputs and forward values that backward nodes read
};

/// Appends backward-phase nodes, each in the stage of its forward node. The gradients of a value with several consumers
/// are summed in reverse order of the consumers' creation. Every gradient has the shape of its value.
Gradients build_backward(Graph& graph, const Objective& objective);

/// The recompute points of a forward graph (after its rewrites) that minimise peak memory of activations and gradients.
/// Backward then recomputes every forward value at most once and gives the same numbers.
std::vector<ValueId> choose_recompute_points(const Graph& graph, const Objective& objective);

/// The recompute points of a rewritten forward graph in several stages: the last stage's stashed values, which
/// are never recomputed. Every other stage then recomputes its values from its inputs, the values that earlier stages
/// have sent.
std::vector<ValueId> values_of_last_stage(const Graph& graph, const Objective& objective);

/// The recompute points of a forward graph (after its rewrites) for a run that does not recompute: all values that
/// backward reads, except results of cheap_to_recompute ops whose inputs are stashed, too. Empty: the graph has no such
/// results.
std::vector<ValueId> all_but_cheap_values(const Graph& graph, const Objective& objective);

/// The view that a gradient rule has of its node.
class GradContext {
public:
    GradContext(Graph& graph, const Node& node, std::vector<ValueId> grad_outputs, std::vector<bool> needed)
        : graph_(graph),
          node_(node),
          grad_outputs_(std::move(grad_outputs)),
          needed_(std::move(needed)),
          grads_(node_.inputs.size()) {}

    const Attrs& attrs() const { return node_.attrs; }
    template <typename A> const A& attrs_as() const { return std::get<A>(node_.attrs); }
    const std::vector<ValueId>& inputs() const { return node_.inputs; }
    std::size_t output_count() const { return node_.outputs.size(); }
    ValueId input(std::size_t i) const { return node_.inputs.at(i); }
    ValueId output(std::size_t i) const { return node_.outputs.at(i); }
    const TensorDesc& desc(ValueId value) const { return graph_.desc(value); }
    bool is_variable(ValueId value) const { return graph_.is_variable(value); }
    bool has_grad_output(std::size_t i) const { return grad_outputs_.at(i).valid(); }
    ValueId grad_output(std::size_t i) const { return grad_outputs_.at(i); }  // invalid: zero
    bool needs(std::size_t i) const { return needed_.at(i); }

    std::vector<ValueId> add(OpKind kind, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix);
    ValueId add_one(OpKind kind, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix);
    void set_grad(std::size_t input, ValueId gradient) { grads_.at(input) = gradient; }
    const std::vector<ValueId>& grads() const { return grads_; }

private:
    Graph& graph_;
    Node node_;  // a copy: adding nodes may move the graph's own
    std::vector<ValueId> grad_outputs_;
    std::vector<bool> needed_;
    std::vector<ValueId> grads_;
};

// Rewrites of graphs: each takes a graph and returns another one that computes the same.

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

/// Applies the rewrites in order and verifies the graph after each.
Graph apply_rewrites(Graph graph, std::span<const Rewrite> rewrites);

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

// Evaluation in 8 bits.

/// The layers that are computed in 8 bits are those whose names are not in `wide`: dense layers of tokens, and the
/// convolutions whose operands have bits.
struct EightBitPlan {
    std::map<std::string, EightBits> bits;  // by the name of the value in the graph in floating types
    std::set<std::string> wide;             // names of layers that stay in floating types
};

/// The evaluation graph with norms folded into convolutions, which the next two functions take.
Graph with_folded_norms(const Graph& graph);
/// The values that convolutions of an evaluation graph read or write, whose bits a plan must have, in the order of the
/// graph. Convolutions with a bias count.
std::vector<ValueId> eight_bit_values(const Graph& graph);
/// Names of the layers that can be computed in 8 bits, in the order of the graph.
std::vector<std::string> eight_bit_layers(const Graph& graph);
/// The evaluation graph with folded norms and quantised layers. Results of convolutions are quantised if another one or
/// a max pooling between the two reads them; residuals are added to results in 8 bits. Dense layers have floating
/// results, and the rows that they read are quantised one by one.
Graph in_eight_bits(const Graph& graph, const EightBitPlan& plan);

/// Removes nodes that reach neither an output nor an overwritten variable.
Graph remove_dead_nodes(const Graph& graph);

inline constexpr Rewrite kMoveActivationsToSender{"move-activations-to-sender", move_activations_to_sender};
inline constexpr Rewrite kFuseNormActivation{"fuse-norm-activation", fuse_norm_activation};
inline constexpr Rewrite kFoldInferenceNorms{"fold-inference-norms", fold_inference_norms};
inline constexpr Rewrite kFuseGradientSums{"fuse-gradient-sums", fuse_gradient_sums};
inline constexpr Rewrite kRecomputeNorms{"recompute-norms", recompute_norms};
inline constexpr Rewrite kRemoveDeadNodes{"remove-dead-nodes", remove_dead_nodes};

}  // namespace cnntrain::graph
