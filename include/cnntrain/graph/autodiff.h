// Reverse-mode differentiation: a forward graph and an objective in, gradient nodes out.
#pragma once

#include <map>
#include <set>
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
    std::size_t input_count() const { return node_.inputs.size(); }
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

}  // namespace cnntrain::graph
