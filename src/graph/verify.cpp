// The invariants of a graph, each checked against first principles rather than against how add() works.
#include <algorithm>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::graph {
namespace {

[[noreturn]] void fail(const std::string& where, const std::string& what) {
    throw Error(ErrorKind::internal, "graph: " + where + ": " + what);
}

void verify_inputs(const Graph& graph, NodeId id) {
    const Node& node = graph.node(id);
    for (const ValueId input : node.inputs) {
        const Value& value = graph.value(input);
        if (value.role == Role::intermediate) {
            if (!value.producer.valid() || value.producer >= id) fail(node.name, "reads " + value.name + " too early");
            if (graph.node(value.producer).phase > node.phase)
                fail(node.name, "reads " + value.name + ", which a later phase computes");
        }
        if (!std::binary_search(value.users.begin(), value.users.end(), id))
            fail(value.name, "its list of users lacks " + node.name);
    }
}

void verify_shapes(const Graph& graph, const Node& node) {
    std::vector<TensorDesc> inputs;
    for (const ValueId input : node.inputs)
        inputs.push_back(graph.desc(input));
    const std::vector<TensorDesc> inferred = graph.def(node).infer(node.attrs, inputs);
    if (inferred.size() != node.outputs.size()) {
        fail(node.name, "has " + std::to_string(node.outputs.size()) + " outputs, its op makes " +
                            std::to_string(inferred.size()));
    }
    for (std::size_t i = 0; i < inferred.size(); ++i) {
        const TensorDesc& have = graph.desc(node.outputs[i]);
        if (have != inferred[i]) fail(node.name, "is " + to_string(have) + ", its op makes " + to_string(inferred[i]));
    }
}

void verify_overwriting(const Graph& graph, const Node& node) {
    const std::vector<std::size_t> overwritten = graph.def(node).overwritten_inputs(node.inputs.size());
    if (overwritten.empty()) return;
    if (node.phase != Phase::update) fail(node.name, "overwrites an input outside the update phase");
    if (!node.outputs.empty()) fail(node.name, "overwrites an input and has outputs");
    for (const std::size_t index : overwritten) {
        const ValueId input = node.inputs.at(index);
        if (!graph.is_variable(input))
            fail(node.name, "overwrites " + graph.value(input).name + ", which is no variable");
    }
}

void verify_value(const Graph& graph, ValueId id) {
    const Value& value = graph.value(id);
    if (!std::is_sorted(value.users.begin(), value.users.end()) ||
        std::adjacent_find(value.users.begin(), value.users.end()) != value.users.end()) {
        fail(value.name, "its list of users is not ascending");
    }
    for (const NodeId user : value.users) {
        const std::vector<ValueId>& inputs = graph.node(user).inputs;
        if (std::find(inputs.begin(), inputs.end(), id) == inputs.end())
            fail(value.name, "lists " + graph.node(user).name + ", which does not read it");
    }
    if (value.producer.valid() != (value.role == Role::intermediate)) fail(value.name, "role and producer disagree");
    if (value.owner.valid() && value.role != Role::slot && value.role != Role::moving_average)
        fail(value.name, "has an owner, but is neither slot nor moving average");
    if (value.role == Role::slot && graph.value(value.owner).role != Role::parameter)
        fail(value.name, "is the slot of " + graph.value(value.owner).name + ", which is no parameter");
    if (value.producer.valid()) {
        const std::vector<ValueId>& outputs = graph.node(value.producer).outputs;
        const auto index = static_cast<std::size_t>(value.producer_output);
        if (index >= outputs.size() || outputs[index] != id) fail(value.name, "is not the output it says it is");
    }
}

}  // namespace

void Graph::verify() const {
    for (std::int32_t i = 0; i < node_count(); ++i) {
        const NodeId id{i};
        verify_inputs(*this, id);
        verify_shapes(*this, node(id));
        verify_overwriting(*this, node(id));
    }
    std::set<std::string_view> names;
    for (std::int32_t i = 0; i < value_count(); ++i) {
        const ValueId id{i};
        verify_value(*this, id);
        if (value(id).role != Role::intermediate && !names.insert(value(id).name).second)
            fail(value(id).name, "the name is taken twice");
    }
}

}  // namespace cnntrain::graph
