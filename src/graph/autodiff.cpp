#include "cnntrain/graph/passes.h"

#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::graph {

std::vector<ValueId> GradContext::add(OpKind kind, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix) {
    return graph_.add(kind, std::move(attrs), std::move(inputs), node_.name + "/" + std::string(suffix));
}

ValueId GradContext::add_one(OpKind kind, Attrs attrs, std::vector<ValueId> inputs, std::string_view suffix) {
    return graph_.add_one(kind, std::move(attrs), std::move(inputs), node_.name + "/" + std::string(suffix));
}

namespace {

/// Nodes appended while this lives are backward nodes; afterwards the graph continues as it was.
class BackwardPhase {
public:
    explicit BackwardPhase(Graph& graph) : graph_(graph), phase_(graph.phase()), stage_(graph.stage()) {
        graph_.set_phase(Phase::backward);
    }
    ~BackwardPhase() {
        graph_.set_phase(phase_);
        graph_.set_stage(stage_);
    }
    BackwardPhase(const BackwardPhase&) = delete;
    BackwardPhase& operator=(const BackwardPhase&) = delete;

private:
    Graph& graph_;
    Phase phase_;
    StageId stage_;
};

/// Walks the forward nodes from the last to the first and lets each op add its gradient.
class Differentiator {
public:
    Differentiator(Graph& graph, const Objective& objective)
        : graph_(graph),
          objective_(objective),
          forward_nodes_(graph.node_count()),
          active_(static_cast<std::size_t>(graph.value_count())),
          contributions_(static_cast<std::size_t>(graph.value_count())) {}

    std::map<ValueId, ValueId> run() {
        std::map<ValueId, double> losses = objective_.more_losses;
        losses[objective_.loss] = objective_.seed;
        for (const auto& [id, seed] : losses) {
            const Value& loss = graph_.value(id);
            if (loss.desc == TensorDesc{DType::f32, {}}) continue;
            throw Error(ErrorKind::usage, "the loss " + loss.name + " must be f32[], not " + to_string(loss.desc));
        }
        mark_active();
        const BackwardPhase phase(graph_);
        for (const auto& [id, seed] : losses) {
            if (active(id)) add_seed(id, seed);
        }
        for (std::int32_t i = forward_nodes_ - 1; i >= 0; --i) {
            if (graph_.node(NodeId{i}).phase == Phase::forward) differentiate(NodeId{i});
        }
        std::map<ValueId, ValueId> gradients;
        for (const ValueId target : objective_.targets) {
            if (const ValueId gradient = gradient_of(target); gradient.valid()) gradients[target] = gradient;
        }
        return gradients;
    }

private:
    bool active(ValueId value) const { return active_[static_cast<std::size_t>(value.index)]; }
    std::vector<ValueId>& contributions(ValueId value) { return contributions_[static_cast<std::size_t>(value.index)]; }

    /// A value is active when it depends on a target: only these need gradients.
    void mark_active() {
        for (const ValueId target : objective_.targets) {
            graph_.value(target);  // checks the id
            active_[static_cast<std::size_t>(target.index)] = true;
        }
        for (std::int32_t i = 0; i < forward_nodes_; ++i) {
            const Node& node = graph_.node(NodeId{i});
            if (std::none_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return active(v); })) continue;
            for (const ValueId output : node.outputs)
                active_[static_cast<std::size_t>(output.index)] = true;
        }
    }

    void add_seed(ValueId id, double seed) {
        const Value& loss = graph_.value(id);
        const std::string name = loss.name + "/seed";
        if (loss.producer.valid()) graph_.set_stage(graph_.node(loss.producer).stage);
        const ValueId scaling = objective_.loss_scaling;
        contributions(id).push_back(
            scaling.valid()
                ? graph_.add_one(OpKind::scale, ScaleAttrs{seed}, {scaling}, name)
                : graph_.add_one(OpKind::constant, ConstantAttrs{.value = seed, .desc = loss.desc}, {}, name));
    }

    /// The sum of all contributions, in the stage of the value's producer (parameters: of the first reader).
    ValueId gradient_of(ValueId value) {
        std::vector<ValueId>& parts = contributions(value);
        if (parts.empty()) return {};
        if (parts.size() > 1) {
            const Value& v = graph_.value(value);
            graph_.set_stage(graph_.node(v.producer.valid() ? v.producer : v.users.front()).stage);
            const std::string name = v.name + "/grad_sum";
            ValueId sum = parts.front();
            for (std::size_t i = 1; i < parts.size(); ++i)
                sum = graph_.add_one(OpKind::add, NoAttrs{}, {sum, parts[i]}, name);
            parts = {sum};
        }
        return parts.front();
    }

    void differentiate(NodeId id) {
        const Node node = graph_.node(id);  // a copy: adding nodes may move the graph's own
        std::vector<bool> needed;
        for (const ValueId input : node.inputs)
            needed.push_back(active(input));
        if (std::find(needed.begin(), needed.end(), true) == needed.end()) return;
        std::vector<ValueId> grad_outputs;
        bool reached = false;
        for (const ValueId output : node.outputs) {
            grad_outputs.push_back(gradient_of(output));
            reached = reached || grad_outputs.back().valid();
        }
        if (!reached) return;

        const OpDef& def = graph_.def(node);
        if (def.gradient == nullptr) {
            throw Error(ErrorKind::internal, node.name + ": " + std::string(def.name) +
                                                 " has no gradient, but the loss depends on a target through it");
        }
        graph_.set_stage(node.stage);
        GradContext context(graph_, node, std::move(grad_outputs), std::move(needed));
        def.gradient(context);
        collect(node, context);
    }

    void collect(const Node& node, const GradContext& context) {
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            const ValueId gradient = context.grads()[i];
            if (!gradient.valid() || !context.needs(i)) continue;
            const TensorDesc& of = graph_.desc(node.inputs[i]);
            if (graph_.desc(gradient).shape != of.shape) {
                throw Error(ErrorKind::internal, node.name + ": the gradient of input " + std::to_string(i) + " is " +
                                                     to_string(graph_.desc(gradient)) + ", the input is " +
                                                     to_string(of));
            }
            contributions(node.inputs[i]).push_back(gradient);
        }
    }

    Graph& graph_;
    const Objective& objective_;
    std::int32_t forward_nodes_;
    std::vector<bool> active_;                         // by value
    std::vector<std::vector<ValueId>> contributions_;  // by value, last consumer first
};

/// Copies the backward nodes of `plan` (a graph that starts with the nodes of `graph`) into `graph`; forward values
/// that are not kept are computed again, each once, just before their first reader.
class Recomputer {
public:
    Recomputer(Graph& graph, const Graph& plan, const std::vector<ValueId>& points)
        : graph_(graph),
          plan_(plan),
          facts_(plan),
          kept_(points.begin(), points.end()),
          forward_nodes_(graph.node_count()) {
        keep_stage_inputs();
    }

    std::map<ValueId, ValueId> run(std::map<ValueId, ValueId> gradients) {
        const BackwardPhase phase(graph_);
        for (std::int32_t i = forward_nodes_; i < plan_.node_count(); ++i)
            copy(plan_.node(NodeId{i}));
        for (auto& [target, gradient] : gradients)
            gradient = at_hand(gradient);
        return gradients;
    }

private:
    /// A stage recomputes its own values from the inputs that earlier stages sent, and none of theirs.
    void keep_stage_inputs() {
        for (std::int32_t i = 0; i < forward_nodes_; ++i) {
            const Node& reader = graph_.node(NodeId{i});
            for (const ValueId input : reader.inputs) {
                const NodeId producer = graph_.value(input).producer;
                if (producer.valid() && graph_.node(producer).stage != reader.stage) kept_.insert(input);
            }
        }
    }

    /// The value of `graph` that stands for this value of the plan, recomputed when it is not kept.
    ValueId at_hand(ValueId value) {
        if (const auto it = map_.find(value); it != map_.end()) return it->second;
        const bool at_hand = plan_.value(value).role != Role::intermediate || facts_.follows_weights(value);
        if (at_hand || kept_.contains(value)) return value;
        const NodeId producer = plan_.value(value).producer;
        copy(plan_.node(producer));
        graph_.set_recomputed(NodeId{graph_.node_count() - 1});
        return map_.at(value);
    }

    void copy(const Node& node) {
        std::vector<ValueId> inputs;
        for (const ValueId input : node.inputs)
            inputs.push_back(at_hand(input));
        graph_.set_stage(node.stage);
        const std::vector<ValueId> outputs = graph_.add(node.kind, node.attrs, std::move(inputs), node.name);
        for (std::size_t i = 0; i < outputs.size(); ++i)
            map_[node.outputs[i]] = outputs[i];
    }

    Graph& graph_;
    const Graph& plan_;
    Facts facts_;  // of the plan
    std::set<ValueId> kept_;
    std::int32_t forward_nodes_;
    std::map<ValueId, ValueId> map_;  // values of backward and recomputed nodes: plan -> graph
};

std::set<ValueId> forward_values_read(const Graph& graph, std::int32_t first_backward_node) {
    std::set<ValueId> read;
    for (std::int32_t i = first_backward_node; i < graph.node_count(); ++i) {
        for (const ValueId input : graph.node(NodeId{i}).inputs) {
            const Value& value = graph.value(input);
            const bool computed = value.role == Role::intermediate && value.producer.index < first_backward_node;
            if (computed || value.role == Role::input) read.insert(input);
        }
    }
    return read;
}

}  // namespace

Gradients build_backward(Graph& graph, const Objective& objective) {
    const std::int32_t first_backward_node = graph.node_count();
    Gradients result;
    if (objective.recompute_points.empty()) {
        result.of = Differentiator(graph, objective).run();
    } else {
        Graph plan = graph;
        const std::map<ValueId, ValueId> planned = Differentiator(plan, objective).run();
        result.of = Recomputer(graph, plan, objective.recompute_points).run(planned);
    }
    result.stashed = forward_values_read(graph, first_backward_node);
    return result;
}

}  // namespace cnntrain::graph
