#include "graph/rewriter.h"

#include <algorithm>

#include "cnntrain/base/error.h"

namespace cnntrain::graph {

Rewriter::Rewriter(const Graph& source)
    : source_(source), result_(source.ops()), map_(static_cast<std::size_t>(source.value_count())) {
    for (std::int32_t i = 0; i < source.value_count(); ++i) {
        const Value& value = source.value(ValueId{i});
        switch (value.role) {
            case Role::input:
                replace(ValueId{i}, result_.add_input(value.name, value.desc));
                break;
            case Role::scalar:
                replace(ValueId{i}, result_.add_scalar(value.name));
                break;
            case Role::parameter:
                replace(ValueId{i}, result_.add_parameter(value.name, value.desc, value.initialiser));
                break;
            case Role::slot:
                replace(ValueId{i}, result_.add_slot(at(value.owner), value.name, value.desc, value.initialiser));
                break;
            case Role::moving_average:
                replace(ValueId{i}, result_.add_moving_average(value.name, value.desc, value.initialiser));
                break;
            case Role::intermediate:
                break;
        }
    }
}

ValueId Rewriter::at(ValueId source_value) const {
    const ValueId mapped = map_.at(static_cast<std::size_t>(source_value.index));
    CNNTRAIN_CHECK(mapped.valid(), source_.value(source_value).name + " was left out of the rewritten graph");
    return mapped;
}

std::vector<ValueId> Rewriter::at(const std::vector<ValueId>& source_values) const {
    std::vector<ValueId> mapped;
    mapped.reserve(source_values.size());
    for (const ValueId value : source_values)
        mapped.push_back(at(value));
    return mapped;
}

void Rewriter::copy(NodeId id) {
    copy_of(source_.node(id));
}

void Rewriter::copy_of(const Node& node) {
    const std::vector<ValueId> outputs = add(node, node.kind, node.attrs, at(node.inputs), node.name);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        replace(node.outputs[i], outputs[i]);
}

std::vector<ValueId> Rewriter::add(const Node& like, OpKind kind, Attrs attrs, std::vector<ValueId> inputs,
                                   std::string name) {
    result_.set_phase(like.phase);
    result_.set_stage(like.stage);
    std::vector<ValueId> outputs = result_.add(kind, std::move(attrs), std::move(inputs), std::move(name));
    if (like.recomputed) result_.set_recomputed(NodeId{result_.node_count() - 1});
    return outputs;
}

void Rewriter::replace(ValueId source_value, ValueId result_value) {
    map_.at(static_cast<std::size_t>(source_value.index)) = result_value;
}

Graph Rewriter::finish() {
    for (const Output& output : source_.outputs())
        result_.mark_output(output.name, at(output.value));
    for (const ValueId moving : source_.values_with_role(Role::moving_average)) {
        const Value& value = source_.value(moving);
        if (value.owner.valid() && holds(value.owner))
            result_.set_followed(at(moving), at(value.owner), value.correction);
    }
    result_.set_phase(source_.phase());
    result_.set_stage(source_.stage());
    return std::move(result_);
}

NodeId sole_producer(const Graph& graph, ValueId id, const Node& reader) {
    const Value& value = graph.value(id);
    if (!value.producer.valid() || value.users.size() != 1) return {};
    if (std::count(reader.inputs.begin(), reader.inputs.end(), id) != 1) return {};
    const auto marked = [&](const Output& output) { return output.value == id; };
    if (std::any_of(graph.outputs().begin(), graph.outputs().end(), marked)) return {};
    const Node& producer = graph.node(value.producer);
    return producer.phase == reader.phase && producer.stage == reader.stage ? value.producer : NodeId{};
}

}  // namespace cnntrain::graph
