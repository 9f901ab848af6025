#include "cnntrain/graph/graph.h"

#include <algorithm>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "graph/attr_text.h"

namespace cnntrain::graph {
namespace {

std::vector<TensorDesc> descs_of(const Graph& graph, const std::vector<ValueId>& values) {
    std::vector<TensorDesc> descs;
    descs.reserve(values.size());
    for (const ValueId value : values)
        descs.push_back(graph.desc(value));
    return descs;
}

std::vector<TensorDesc> infer_node(const OpDef& def, const Attrs& attrs, const std::vector<TensorDesc>& inputs,
                                   const std::string& name) {
    try {
        std::vector<TensorDesc> outputs = def.infer(attrs, inputs);
        for (const TensorDesc& desc : outputs)
            desc.bytes();  // throws for a size that cannot be counted
        return outputs;
    } catch (const std::bad_variant_access&) {
        throw Error(ErrorKind::internal, name + ": " + std::string(def.name) + " was given attributes of another op");
    } catch (const Error& error) {
        const std::string given = joined(inputs, ", ", [](const TensorDesc& desc) { return to_string(desc); });
        throw error.within(name + ": " + std::string(def.name) + "(" + given + ")");
    }
}

}  // namespace

Graph::Graph(const OpTable& ops) : ops_(&ops) {}

std::size_t Graph::check(NodeId id) const {
    CNNTRAIN_CHECK(id.valid() && id.index < node_count(), "no node " + std::to_string(id.index));
    return static_cast<std::size_t>(id.index);
}

std::size_t Graph::check(ValueId id) const {
    CNNTRAIN_CHECK(id.valid() && id.index < value_count(), "no value " + std::to_string(id.index));
    return static_cast<std::size_t>(id.index);
}

ValueId Graph::add_named(Value value) {
    value.desc.bytes();  // throws for a size that cannot be counted
    const ValueId id{value_count()};
    const bool fresh = named_.emplace(value.name, id).second;
    CNNTRAIN_CHECK(fresh, "a graph has two values named '" + value.name + "'");
    values_.push_back(std::move(value));
    return id;
}

ValueId Graph::add_input(std::string name, TensorDesc desc) {
    return add_named({.desc = std::move(desc), .role = Role::input, .name = std::move(name)});
}

ValueId Graph::add_scalar(std::string name) {
    return add_named({.desc = {DType::f32, {}}, .role = Role::scalar, .name = std::move(name)});
}

ValueId Graph::add_parameter(std::string name, TensorDesc desc, Initialiser initialiser) {
    return add_named({.desc = std::move(desc),
                      .role = Role::parameter,
                      .name = std::move(name),
                      .initialiser = std::move(initialiser)});
}

ValueId Graph::add_slot(ValueId parameter, std::string name, TensorDesc desc, Initialiser initialiser) {
    check(parameter);
    return add_named({.desc = std::move(desc),
                      .role = Role::slot,
                      .name = std::move(name),
                      .owner = parameter,
                      .initialiser = std::move(initialiser)});
}

ValueId Graph::add_moving_average(std::string name, TensorDesc desc, Initialiser initialiser) {
    return add_named({.desc = std::move(desc),
                      .role = Role::moving_average,
                      .name = std::move(name),
                      .initialiser = std::move(initialiser)});
}

ValueId Graph::add_like(const Value& value, ValueId owner) {
    return add_named(
        {.desc = value.desc, .role = value.role, .name = value.name, .owner = owner, .initialiser = value.initialiser});
}

void Graph::set_followed(ValueId moving_average, ValueId statistic, double correction) {
    check(statistic);
    Value& value = values_[check(moving_average)];
    value.owner = statistic;
    value.correction = correction;
}

std::vector<ValueId> Graph::add(OpKind kind, Attrs attrs, std::vector<ValueId> inputs, std::string name) {
    CNNTRAIN_CHECK(kind < OpKind::count_, "not an op: " + std::to_string(static_cast<int>(kind)));
    const OpDef& op = (*ops_)[static_cast<std::size_t>(kind)];
    CNNTRAIN_CHECK(op.infer != nullptr, "the graph's op table has no entry " + std::to_string(static_cast<int>(kind)));

    std::vector<TensorDesc> output_descs = infer_node(op, attrs, descs_of(*this, inputs), name);

    const NodeId id{node_count()};
    for (const ValueId input : inputs) {
        std::vector<NodeId>& users = values_[check(input)].users;
        if (users.empty() || users.back() != id) users.push_back(id);
    }
    std::vector<ValueId> outputs;
    for (std::size_t i = 0; i < output_descs.size(); ++i) {
        outputs.push_back(ValueId{value_count()});
        values_.push_back({.desc = std::move(output_descs[i]),
                           .name = output_descs.size() == 1 ? name : name + ":" + std::to_string(i),
                           .producer = id,
                           .producer_output = static_cast<int>(i)});
    }
    nodes_.push_back({.kind = kind,
                      .attrs = std::move(attrs),
                      .inputs = std::move(inputs),
                      .outputs = outputs,
                      .name = std::move(name),
                      .phase = phase_,
                      .stage = stage_});
    return outputs;
}

ValueId Graph::add_one(OpKind kind, Attrs attrs, std::vector<ValueId> inputs, std::string name) {
    const std::vector<ValueId> outputs = add(kind, std::move(attrs), std::move(inputs), std::move(name));
    CNNTRAIN_CHECK(outputs.size() == 1, nodes_.back().name + " has " + std::to_string(outputs.size()) + " outputs");
    return outputs.front();
}

void Graph::mark_output(std::string name, ValueId value) {
    check(value);
    const bool fresh = std::none_of(outputs_.begin(), outputs_.end(), [&](const Output& o) { return o.name == name; });
    CNNTRAIN_CHECK(fresh, "a graph has two outputs named '" + name + "'");
    outputs_.push_back({std::move(name), value});
}

std::vector<ValueId> Graph::values_with_role(Role role) const {
    std::vector<ValueId> found;
    for (std::int32_t i = 0; i < value_count(); ++i) {
        if (value(ValueId{i}).role == role) found.push_back(ValueId{i});
    }
    return found;
}

std::vector<ValueId> Graph::variables() const {
    std::vector<ValueId> ids;
    for (std::int32_t i = 0; i < value_count(); ++i) {
        if (is_variable(ValueId{i})) ids.push_back(ValueId{i});
    }
    return ids;
}

bool Graph::is_variable(ValueId id) const {
    const Role role = value(id).role;
    return role == Role::parameter || role == Role::slot || role == Role::moving_average;
}

std::optional<ValueId> Graph::find(std::string_view value_name) const {
    const auto it = named_.find(value_name);
    if (it == named_.end()) return std::nullopt;
    return it->second;
}

ValueId Graph::output(std::string_view name) const {
    const auto found = std::ranges::find(outputs_, name, &Output::name);
    CNNTRAIN_CHECK(found != outputs_.end(), "the graph has no output '" + std::string(name) + "'");
    return found->value;
}

double Graph::node_flops(NodeId id) const {
    const Node& n = node(id);
    const OpDef& op = def(n);
    if (op.flops == nullptr) return 0;
    return op.flops(n.attrs, descs_of(*this, n.inputs), descs_of(*this, n.outputs));
}

// Graphs as text, for logs and for tests that fail.

namespace {

std::string attrs_text(const OpDef& def, const Attrs& attrs) {
    AttrText text;
    if (def.describe != nullptr) def.describe(attrs, text);
    const std::string items = text.str();
    return items.empty() ? "" : " {" + items + "}";
}

std::string value_text(const Graph& graph, ValueId id) {
    const Value& value = graph.value(id);
    return value.role == Role::intermediate ? "%" + std::to_string(id.index) : value.name;
}

std::string node_text(const Graph& graph, const Node& node) {
    const auto value = [&](ValueId id) { return value_text(graph, id); };
    const auto desc = [&](ValueId id) { return to_string(graph.desc(id)); };
    std::string line;
    if (!node.outputs.empty()) line += joined(node.outputs, ", ", value) + " = ";
    line += std::string(graph.def(node).name) + "(" + joined(node.inputs, ", ", value) + ")" +
            attrs_text(graph.def(node), node.attrs);
    if (!node.outputs.empty()) line += " : " + joined(node.outputs, ", ", desc);
    line += "  # " + node.name;
    if (node.phase == Phase::backward) line += ", backward";
    if (node.phase == Phase::update) line += ", update";
    if (node.stage.index != 0) line += ", stage " + std::to_string(node.stage.index);
    if (node.recomputed) line += ", recomputed";
    return line + "\n";
}

}  // namespace

std::string Graph::to_text() const {
    std::string text;
    for (const Node& n : nodes_)
        text += node_text(*this, n);
    for (const Output& output : outputs_)
        text += "output " + output.name + " = " + value_text(*this, output.value) + "\n";
    return text;
}

// The invariants of a graph, each checked against first principles rather than against how add() works.

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
    const std::vector<TensorDesc> inferred = graph.def(node).infer(node.attrs, descs_of(graph, node.inputs));
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
    for (const Node& node : graph.nodes()) {
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
    for (const Node& node : graph.nodes()) {
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
        Value value = source_.value(id);
        if (value.role == Role::intermediate) return value.producer_output > 0 || add(source_.node(value.producer));
        if (value.role == Role::scalar || value.role == Role::slot) return false;  // of updates
        if (value.role == Role::input) value.desc.shape[0] = samples_;
        result_.add_like(value);
        return true;
    }

    bool add(const Node& node) {
        const bool is_weight = !node.outputs.empty() && facts_.follows_weights(node.outputs[0]);
        const auto by_sample = source_.def(node).by_sample;
        const bool is_by_sample = by_sample != nullptr && by_sample(node.attrs);
        if (node.phase != Phase::forward || (!is_weight && !is_by_sample)) return false;
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
