#include "cnntrain/graph/graph.h"

#include <algorithm>

#include "cnntrain/base/error.h"

namespace cnntrain::graph {

Facts::Facts(const Graph& graph)
    : follows_weights_(static_cast<std::size_t>(graph.value_count())),
      crosses_into_update_(follows_weights_.size()),
      layouts_(follows_weights_.size(), Layout::plain) {
    find_weights(graph);
    find_crossing(graph);
    find_layouts(graph);
}

void Facts::find_weights(const Graph& graph) {
    for (const ValueId variable : graph.variables())
        follows_weights_[index(variable)] = true;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const Node& node = graph.node(NodeId{i});
        if (!graph.def(node).follows_weights) continue;
        const bool follows = std::ranges::all_of(node.inputs, [&](ValueId input) { return follows_weights(input); });
        for (const ValueId output : node.outputs)
            follows_weights_[index(output)] = follows;
    }
}

void Facts::find_crossing(const Graph& graph) {
    const auto in_update = [&](NodeId id) { return graph.node(id).phase == Phase::update; };
    for (std::int32_t i = 0; i < graph.value_count(); ++i) {
        const Value& value = graph.value(ValueId{i});
        const bool is_result = value.producer.valid() && !in_update(value.producer);
        crosses_into_update_[index(ValueId{i})] = is_result && std::ranges::any_of(value.users, in_update);
    }
}

void Facts::find_layouts(const Graph& graph) {
    // Backwards: from the readers to values without a producer.
    for (std::int32_t i = graph.node_count() - 1; i >= 0; --i) {
        const Node& node = graph.node(NodeId{i});
        const OpDef& def = graph.def(node);
        for (std::size_t k = 0; k < node.inputs.size(); ++k) {
            Layout wanted = def.input(k).layout;
            if (wanted == Layout::same) wanted = node.outputs.empty() ? Layout::plain : layout(node.outputs[0]);
            if (wanted != Layout::plain) layouts_[index(node.inputs[k])] = wanted;
        }
    }
    // Forwards: from the producers to their results.
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const Node& node = graph.node(NodeId{i});
        for (std::size_t k = 0; k < node.outputs.size(); ++k) {
            const Layout made = graph.def(node).result(k);
            layouts_[index(node.outputs[k])] = made == Layout::same ? layout(node.inputs.at(0)) : made;
        }
    }
    for (const ValueId slot : graph.values_with_role(Role::slot))
        layouts_[index(slot)] = layout(graph.value(slot).owner);
}

bool reads_places_only(const Graph& graph, NodeId user, ValueId value) {
    const Node& node = graph.node(user);
    return node.kind == OpKind::max_pool_grad && node.inputs[0] == value;
}

ValueId strip_casts(const Graph& graph, ValueId value) {
    while (graph.value(value).producer.valid()) {
        const Node& producer = graph.node(graph.value(value).producer);
        if (producer.kind != OpKind::cast) break;
        value = producer.inputs[0];
    }
    return value;
}

namespace {

std::optional<ValueId> gradient_read_for(const Graph& graph, ValueId target) {
    for (const NodeId user : graph.value(target).users) {
        const Node& node = graph.node(user);
        const auto updated = graph.def(node).input_used_as(Use::target);
        const auto gradient = graph.def(node).input_used_as(Use::gradient);
        if (updated && gradient && node.inputs.at(*updated) == target) return node.inputs.at(*gradient);
    }
    return std::nullopt;
}

}  // namespace

std::optional<ValueId> update_gradient(const Graph& graph, ValueId variable) {
    if (const auto own = gradient_read_for(graph, variable)) return own;
    for (const ValueId slot : graph.values_with_role(Role::slot)) {
        if (graph.value(slot).owner != variable) continue;
        if (const auto of_master = gradient_read_for(graph, slot)) return of_master;
    }
    return std::nullopt;
}

namespace {

/// Does the op compute each sample by itself, or the sum over samples? Other kinds, such as views, may mix samples.
bool is_by_sample(const Node& node) {
    switch (node.kind) {
        case OpKind::cast:
        case OpKind::add:
        case OpKind::activation:
        case OpKind::scale_channels:
        case OpKind::normalise_image:
        case OpKind::conv2d:
        case OpKind::max_pool:
        case OpKind::global_average_pool:
        case OpKind::shortcut_pad:
        case OpKind::dense:
        case OpKind::batch_norm_inference:
        case OpKind::group_norm:
        case OpKind::standardise:
        case OpKind::top_k_correct:
            return true;
        case OpKind::softmax_cross_entropy:
            return node.as<SoftmaxAttrs>().class_weights.empty();
        default:
            return false;
    }
}

/// Copies a graph, with `samples` as the leading axis of its inputs.
class Resized {
public:
    Resized(const Graph& source, std::int64_t samples)
        : source_(source), facts_(source), samples_(samples), result_(source.ops()) {}

    std::optional<Graph> make() {
        for (std::int32_t i = 0; i < source_.value_count(); ++i) {
            if (!add(ValueId{i})) return std::nullopt;
        }
        for (const Output& output : source_.outputs()) {
            const TensorDesc& desc = result_.desc(output.value);
            const bool is_sum = desc.shape.empty() && desc.dtype == DType::f32;
            const bool is_part = !desc.shape.empty() && desc != source_.desc(output.value);
            if (!is_sum && !is_part) return std::nullopt;
            result_.mark_output(output.name, output.value);
        }
        return std::move(result_);
    }

private:
    /// False if this value cannot belong to a part of a batch.
    bool add(ValueId id) {
        const Value& value = source_.value(id);
        switch (value.role) {
            case Role::input: {
                TensorDesc desc = value.desc;
                desc.shape[0] = samples_;
                result_.add_input(value.name, std::move(desc));
                return true;
            }
            case Role::parameter:
                result_.add_parameter(value.name, value.desc, value.initialiser);
                return true;
            case Role::moving_average:
                result_.add_moving_average(value.name, value.desc, value.initialiser);
                return true;
            case Role::intermediate:
                return value.producer_output > 0 || add(source_.node(value.producer));
            default:  // of updates
                return false;
        }
    }

    bool add(const Node& node) {
        const bool is_weight = !node.outputs.empty() && facts_.follows_weights(node.outputs[0]);
        if (node.phase != Phase::forward || (!is_weight && !is_by_sample(node))) return false;
        result_.set_stage(node.stage);
        const std::vector<ValueId> made = result_.add(node.kind, node.attrs, node.inputs, node.name);
        CNNTRAIN_CHECK(made == node.outputs, "a copy of " + node.name + " has other results");
        return true;
    }

    const Graph& source_;
    Facts facts_;
    std::int64_t samples_;
    Graph result_;
};

}  // namespace

std::optional<std::int64_t> samples_of(const Graph& graph) {
    std::optional<std::int64_t> samples;
    for (const ValueId input : graph.values_with_role(Role::input)) {
        const Shape& shape = graph.desc(input).shape;
        if (shape.empty() || (samples && *samples != shape[0])) return std::nullopt;
        samples = shape[0];
    }
    return samples;
}

std::optional<Graph> with_samples(const Graph& graph, std::int64_t samples) {
    if (!samples_of(graph)) return std::nullopt;
    return Resized(graph, samples).make();
}

}  // namespace cnntrain::graph
