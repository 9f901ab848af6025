#include "graph/rewriter.h"

#include <algorithm>
#include <map>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/passes.h"

namespace cnntrain::graph {

Rewriter::Rewriter(const Graph& source)
    : source_(source), result_(source.ops()), map_(static_cast<std::size_t>(source.value_count())) {
    for (std::int32_t i = 0; i < source.value_count(); ++i) {
        const Value& value = source.value(ValueId{i});
        if (value.role == Role::intermediate) continue;
        const ValueId owner = value.role == Role::slot ? at(value.owner) : ValueId{};
        replace(ValueId{i}, result_.add_like(value, owner));
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

namespace {

// ---- move_activations_to_sender ----

/// The stage that sends this activation's input, if no other node outside of that stage reads the input and other nodes
/// stay in the activation's stage; otherwise invalid.
StageId sender_of(const Graph& graph, NodeId id, const std::map<StageId, std::int32_t>& nodes_of_stage) {
    const Node& node = graph.node(id);
    if (node.kind != OpKind::activation || nodes_of_stage.at(node.stage) == 1) return {};
    const Value& input = graph.value(node.inputs.front());
    if (!input.producer.valid()) return {};
    const StageId sender = graph.node(input.producer).stage;
    const auto elsewhere = [&](NodeId user) { return user != id && graph.node(user).stage != sender; };
    return sender == node.stage || std::ranges::any_of(input.users, elsewhere) ? StageId{} : sender;
}

// ---- fuse_norm_activation ----

/// norm (+ add) (+ activation), found from the last of them, of which there is at least one.
struct NormChain {
    NodeId norm;
    NodeId add;         // invalid: none
    ValueId residual;   // invalid: none
    NodeId activation;  // invalid: none
};

/// The norm that makes `value` for `reader` alone, still without residual and activation, whose statistics nobody reads
/// before `end`, where the fused node will stand. (Update nodes do not count: they are moved after all others.)
NodeId plain_norm(const Graph& graph, ValueId value, const Node& reader, NodeId end) {
    const NodeId id = sole_producer(graph, value, reader);
    if (!id.valid() || !graph.def(graph.node(id)).absorbs_activation || graph.value(value).producer_output != 0)
        return {};
    const auto& attrs = graph.node(id).as<NormAttrs>();
    if (attrs.residual || attrs.activation != Activation::none) return {};
    for (const ValueId output : graph.node(id).outputs) {
        const std::vector<NodeId>& users = graph.value(output).users;
        const auto too_early = [&](NodeId user) { return user < end && graph.node(user).phase != Phase::update; };
        if (output != value && std::any_of(users.begin(), users.end(), too_early)) return {};
    }
    return id;
}

Activation activation_of(const Node& node) {
    return node.kind == OpKind::activation ? node.as<ActivationAttrs>().activation : Activation::none;
}

/// The chain whose add and activation are these.
NormChain find_sum(const Graph& graph, NodeId add_id, NodeId activation, NodeId end) {
    const Node& add = graph.node(add_id);
    if (add.kind != OpKind::add) return {};
    for (std::size_t side = 0; side < 2; ++side) {
        const NodeId norm = plain_norm(graph, add.inputs[side], add, end);
        if (!norm.valid()) continue;
        // A sum alone would cost the fused gradient a sweep of its own in training, and the slope of an activation
        // after a sum must follow from y.
        const bool fits_training =
            activation.valid() && slope_follows_from_result(activation_of(graph.node(activation)));
        if (!fits_training && graph.node(norm).kind != OpKind::batch_norm_inference) continue;
        return {norm, add_id, add.inputs[1 - side], activation};
    }
    return {};
}

bool activation_follows(const Graph& graph, ValueId sum) {
    const std::vector<NodeId>& users = graph.value(sum).users;
    return users.size() == 1 && activation_of(graph.node(users.front())) != Activation::none;
}

NormChain find_chain(const Graph& graph, NodeId last_id) {
    const Node& last = graph.node(last_id);
    if (last.kind == OpKind::add && last.phase == Phase::forward && !activation_follows(graph, last.outputs.front()))
        return find_sum(graph, last_id, {}, last_id);
    if (activation_of(last) == Activation::none) return {};
    const ValueId sum = last.inputs.front();
    if (const NodeId norm = plain_norm(graph, sum, last, last_id); norm.valid()) return {norm, {}, {}, last_id};
    const NodeId add_id = sole_producer(graph, sum, last);
    return add_id.valid() ? find_sum(graph, add_id, last_id, last_id) : NormChain{};
}

void add_fused_norm(Rewriter& rewriter, const Graph& graph, const NormChain& chain) {
    const Node& norm = graph.node(chain.norm);
    auto attrs = norm.as<NormAttrs>();
    if (chain.activation.valid()) attrs.activation = activation_of(graph.node(chain.activation));
    std::vector<ValueId> inputs = rewriter.at(norm.inputs);
    if (chain.residual.valid()) {
        attrs.residual = true;
        inputs.push_back(rewriter.at(chain.residual));
    }
    const std::vector<ValueId> outputs = rewriter.add(norm, norm.kind, attrs, std::move(inputs), norm.name);
    const NodeId last = chain.activation.valid() ? chain.activation : chain.add;
    rewriter.replace(graph.node(last).outputs.front(), outputs.front());
    for (std::size_t i = 1; i < outputs.size(); ++i)
        rewriter.replace(norm.outputs[i], outputs[i]);
}

// ---- fold_inference_norms ----

/// The convolution that feeds this norm alone, if the norm can be folded into it; otherwise invalid.
NodeId foldable_conv(const Graph& graph, const Facts& facts, const Node& norm) {
    if (norm.kind != OpKind::batch_norm_inference) return {};
    for (std::size_t i = 1; i <= 4; ++i) {
        if (!facts.follows_weights(norm.inputs[i])) return {};
    }
    const NodeId id = sole_producer(graph, norm.inputs.front(), norm);
    if (!id.valid() || graph.node(id).kind != OpKind::conv2d) return {};
    const auto& attrs = graph.node(id).as<ConvAttrs>();
    const bool plain = !attrs.bias && !attrs.residual && attrs.activation == Activation::none;
    return plain ? id : NodeId{};
}

void add_folded_conv(Rewriter& rewriter, const Graph& graph, const Node& conv, const Node& norm) {
    const auto& norm_attrs = norm.as<NormAttrs>();
    const ValueId gamma = rewriter.at(norm.inputs[1]);
    const ValueId beta = rewriter.at(norm.inputs[2]);
    const ValueId mean = rewriter.at(norm.inputs[3]);
    const ValueId variance = rewriter.at(norm.inputs[4]);
    const FoldNormAttrs fold{.epsilon = norm_attrs.epsilon, .type = graph.desc(conv.inputs[1]).dtype};
    // Reads the variable itself, so that folding rounds once.
    const ValueId stored = rewriter.at(strip_casts(graph, conv.inputs[1]));
    const ValueId weight =
        rewriter.add(norm, OpKind::fold_norm_weight, fold, {stored, gamma, variance}, conv.name + "/folded_weight")[0];
    const ValueId bias =
        rewriter.add(norm, OpKind::fold_norm_bias, fold, {gamma, beta, mean, variance}, conv.name + "/folded_bias")[0];

    auto attrs = conv.as<ConvAttrs>();
    attrs.bias = true;
    attrs.residual = norm_attrs.residual;
    attrs.activation = norm_attrs.activation;
    std::vector<ValueId> inputs = {rewriter.at(conv.inputs[0]), weight, bias};
    if (attrs.residual) inputs.push_back(rewriter.at(norm.inputs[5]));
    const ValueId y = rewriter.add(norm, OpKind::conv2d, attrs, std::move(inputs), conv.name)[0];
    rewriter.replace(norm.outputs[0], y);
}

// ---- fuse_gradient_sums ----

/// True if a gradient that can take its dy as two summands does so.
template <typename AnyAttrs> auto& summed_gradient(AnyAttrs& attrs) {
    auto* const layer_norm = std::get_if<LayerNormAttrs>(&attrs);
    return layer_norm != nullptr ? layer_norm->summed_gradient : std::get<NormAttrs>(attrs).summed_gradient;
}

/// The add that makes this norm gradient's dy for it alone; otherwise invalid.
NodeId foldable_sum(const Graph& graph, const Node& node) {
    const std::optional<std::size_t> summed = graph.def(node).sum_operand;
    if (!summed || summed_gradient(node.attrs)) return {};
    const NodeId id = sole_producer(graph, node.inputs[*summed], node);
    return id.valid() && graph.node(id).kind == OpKind::add ? id : NodeId{};
}

void add_summing_gradient(Rewriter& rewriter, std::size_t sum_operand, Node gradient, const Node& sum) {
    summed_gradient(gradient.attrs) = true;
    const auto place = gradient.inputs.begin() + static_cast<std::ptrdiff_t>(sum_operand);
    *place = sum.inputs[0];
    gradient.inputs.insert(place + 1, sum.inputs[1]);
    rewriter.copy_of(gradient);
}

/// An op with an addend, and the value to add.
struct AddingOp {
    NodeId op;  // invalid: none
    ValueId addend;
};

/// The op whose result is one side of this addition and goes nowhere else.
AddingOp adding_op(const Graph& graph, const Node& sum) {
    if (sum.kind != OpKind::add) return {};
    for (const std::size_t side : {0, 1}) {
        const NodeId id = sole_producer(graph, sum.inputs[side], sum);
        if (!id.valid()) continue;
        const Node& op = graph.node(id);
        const std::optional<std::size_t> addend = graph.def(op).addend;
        if (addend && op.inputs.size() == *addend) return {id, sum.inputs[1 - side]};
    }
    return {};
}

void add_adding_op(Rewriter& rewriter, const Graph& graph, const AddingOp& adding, const Node& sum) {
    const Node& op = graph.node(adding.op);
    std::vector<ValueId> inputs = rewriter.at(op.inputs);
    inputs.push_back(rewriter.at(adding.addend));
    rewriter.replace(sum.outputs[0], rewriter.add(op, op.kind, op.attrs, std::move(inputs), op.name)[0]);
}

}  // namespace

Graph move_activations_to_sender(const Graph& graph) {
    std::map<StageId, std::int32_t> nodes_of_stage;
    for (const Node& node : graph.nodes())
        ++nodes_of_stage[node.stage];
    Rewriter rewriter(graph);
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const StageId sender = sender_of(graph, NodeId{i}, nodes_of_stage);
        if (!sender.valid()) {
            rewriter.copy(NodeId{i});
            continue;
        }
        Node node = graph.node(NodeId{i});
        node.stage = sender;
        rewriter.copy_of(node);
    }
    return rewriter.finish();
}

Graph fuse_norm_activation(const Graph& graph) {
    std::map<NodeId, NormChain> chains;  // by last node
    std::set<NodeId> absorbed;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const NormChain chain = find_chain(graph, NodeId{i});
        if (!chain.norm.valid()) continue;
        chains[NodeId{i}] = chain;
        absorbed.insert(chain.norm);
        if (chain.activation.valid()) absorbed.insert(chain.add);
    }
    Rewriter rewriter(graph);
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const NodeId id{i};
        if (const auto chain = chains.find(id); chain != chains.end()) {
            add_fused_norm(rewriter, graph, chain->second);
        } else if (!absorbed.contains(id) && graph.node(id).phase != Phase::update) {
            rewriter.copy(id);
        }
    }
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        if (graph.node(NodeId{i}).phase == Phase::update) rewriter.copy(NodeId{i});
    }
    return rewriter.finish();
}

Graph fold_inference_norms(const Graph& graph) {
    const Facts facts(graph);
    std::map<NodeId, NodeId> convs;  // by norm
    std::set<NodeId> absorbed;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const NodeId conv = foldable_conv(graph, facts, graph.node(NodeId{i}));
        if (!conv.valid()) continue;
        convs[NodeId{i}] = conv;
        absorbed.insert(conv);
    }
    Rewriter rewriter(graph);
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const NodeId id{i};
        if (const auto conv = convs.find(id); conv != convs.end()) {
            add_folded_conv(rewriter, graph, graph.node(conv->second), graph.node(id));
        } else if (!absorbed.contains(id)) {
            rewriter.copy(id);
        }
    }
    return rewriter.finish();
}

Graph fuse_gradient_sums(const Graph& graph) {
    std::map<NodeId, NodeId> sums;          // by norm gradient
    std::map<NodeId, AddingOp> adding_ops;  // by sum
    std::set<NodeId> absorbed;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const NodeId sum = foldable_sum(graph, graph.node(NodeId{i}));
        if (!sum.valid()) continue;
        sums[NodeId{i}] = sum;
        absorbed.insert(sum);
    }
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const AddingOp adding = adding_op(graph, graph.node(NodeId{i}));
        if (!adding.op.valid() || absorbed.contains(NodeId{i}) || absorbed.contains(adding.op)) continue;
        adding_ops[NodeId{i}] = adding;
        absorbed.insert(adding.op);
    }
    Rewriter rewriter(graph);
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const NodeId id{i};
        if (const auto sum = sums.find(id); sum != sums.end()) {
            const Node& gradient = graph.node(id);
            add_summing_gradient(rewriter, *graph.def(gradient).sum_operand, gradient, graph.node(sum->second));
        } else if (const auto adding = adding_ops.find(id); adding != adding_ops.end()) {
            add_adding_op(rewriter, graph, adding->second, graph.node(id));
        } else if (!absorbed.contains(id)) {
            rewriter.copy(id);
        }
    }
    return rewriter.finish();
}

Graph remove_dead_nodes(const Graph& graph) {
    std::vector<bool> live_value(static_cast<std::size_t>(graph.value_count()));
    std::vector<bool> live_node(static_cast<std::size_t>(graph.node_count()));
    const auto is_live = [&](ValueId id) { return live_value[static_cast<std::size_t>(id.index)]; };
    for (const Output& output : graph.outputs())
        live_value[static_cast<std::size_t>(output.value.index)] = true;
    for (std::int32_t i = graph.node_count() - 1; i >= 0; --i) {
        const Node& node = graph.node(NodeId{i});
        const bool live = !graph.def(node).overwritten_inputs(node.inputs.size()).empty() ||
                          std::any_of(node.outputs.begin(), node.outputs.end(), is_live);
        live_node[static_cast<std::size_t>(i)] = live;
        if (!live) continue;
        for (const ValueId input : node.inputs)
            live_value[static_cast<std::size_t>(input.index)] = true;
    }
    Rewriter rewriter(graph);
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        if (live_node[static_cast<std::size_t>(i)]) rewriter.copy(NodeId{i});
    }
    return rewriter.finish();
}

Graph apply_rewrites(Graph graph, std::span<const Rewrite> rewrites) {
    for (const Rewrite& rewrite : rewrites) {
        graph = rewrite.apply(graph);
        try {
            graph.verify();
        } catch (const Error& error) {
            throw error.within("after the rewrite " + std::string(rewrite.name));
        }
    }
    return graph;
}

}  // namespace cnntrain::graph
