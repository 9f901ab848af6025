#include "plan/functions.h"

#include <algorithm>
#include <utility>

#include "cnntrain/graph/facts.h"

namespace cnntrain::plan {

using graph::NodeId;
using graph::Phase;
using graph::Role;
using graph::ValueId;

std::optional<std::size_t> FunctionNames::of(std::string_view name) const {
    constexpr std::string_view kScope = "all/";
    if (!name.starts_with(kScope)) return std::nullopt;
    name.remove_prefix(kScope.size());
    std::optional<std::size_t> found;
    for (std::size_t i = 0; i < names_.size(); ++i) {
        const std::string& function = names_[i];
        if (!name.starts_with(function)) continue;
        const bool whole =
            name.size() == function.size() || name[function.size()] == '/' || name[function.size()] == ':';
        if (whole && (!found || function.size() > names_[*found].size())) found = i;  // "unit1/relu" is not "unit1"
    }
    return found;
}

std::size_t FunctionWalk::next(std::string_view name, Phase phase) {
    std::size_t& last = phase == Phase::forward ? forward_ : backward_;
    last = names_.of(name).value_or(last);
    return last;
}

namespace {

/// The function of each node of a micro-batch, by node.
std::vector<std::size_t> functions_of_nodes(const graph::Graph& graph, const FunctionNames& names) {
    FunctionWalk walk(names);
    std::vector<std::size_t> functions;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node({i});
        functions.push_back(node.phase == Phase::update ? 0 : walk.next(node.name, node.phase));
    }
    return functions;
}

/// A pooling stashes one byte for the position of each maximum instead of its input.
bool reads_places_only(const graph::Graph& graph, NodeId user, ValueId value) {
    const graph::Node& node = graph.node(user);
    return node.kind == graph::OpKind::max_pool_grad && node.inputs[0] == value;
}

/// The function whose pass makes and the functions whose passes read the value.
PassResult pass_result(const graph::Graph& graph, const std::vector<std::size_t>& function_of, ValueId value) {
    const auto function = [&](NodeId node) { return function_of[static_cast<std::size_t>(node.index)]; };
    const NodeId maker = graph.value(value).producer;
    PassResult result{graph.desc(value).bytes(), function(maker), graph.node(maker).phase == Phase::backward};
    for (const NodeId user : graph.value(value).users) {
        const Phase phase = graph.node(user).phase;
        if (phase == Phase::forward) result.forward_readers.push_back(function(user));
        if (phase == Phase::backward && !reads_places_only(graph, user, value))
            result.backward_readers.push_back(function(user));
    }
    return result;
}

bool leaves_its_pass(const PassResult& result) {
    const auto others = [&](std::size_t reader) { return reader != result.maker; };
    const auto& same_pass = result.of_backward ? result.backward_readers : result.forward_readers;
    return std::ranges::any_of(same_pass, others) || (!result.of_backward && !result.backward_readers.empty());
}

}  // namespace

std::vector<FunctionFacts> function_facts(const graph::Graph& graph, const FunctionNames& names) {
    const graph::Facts known(graph);
    const std::vector<std::size_t> function_of = functions_of_nodes(graph, names);
    std::vector<FunctionFacts> functions(names.count());
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node({i});
        if (node.phase == Phase::update) continue;
        FunctionFacts& function = functions[function_of[static_cast<std::size_t>(i)]];
        (node.phase == Phase::forward ? function.forward_gflop : function.backward_gflop) +=
            graph.node_flops({i}) / 1e9;
        for (const ValueId result : node.outputs) {
            if (known.crosses_into_update(result)) function.gradient_bytes += graph.desc(result).bytes();
        }
    }
    for (const ValueId id : graph.variables()) {
        const graph::Value& value = graph.value(id);
        const auto function = names.of(value.role == Role::slot ? graph.value(value.owner).name : value.name);
        if (!function) continue;
        functions[*function].variable_bytes += value.desc.bytes();
        if (value.role == Role::parameter) functions[*function].parameters += value.desc.elements();
    }
    return functions;
}

std::vector<PassResult> pass_results(const graph::Graph& graph, const FunctionNames& names) {
    const graph::Facts known(graph);
    const std::vector<std::size_t> function_of = functions_of_nodes(graph, names);
    std::vector<PassResult> results;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node({i});
        if (node.phase == Phase::update) continue;
        for (const ValueId value : node.outputs) {
            if (known.follows_weights(value)) continue;
            PassResult result = pass_result(graph, function_of, value);
            // Recomputing the statistics of a norm, which backward reads first, recomputes its other results, too.
            if (node.outputs.size() > 1) result.again = Again::always;
            if (leaves_its_pass(result)) results.push_back(std::move(result));
        }
        if (node.kind == graph::OpKind::max_pool) {
            const auto places = static_cast<std::uint64_t>(graph.desc(node.outputs[0]).elements());
            const std::size_t function = function_of[static_cast<std::size_t>(i)];
            results.push_back({places, function, false, {}, {function}});
        }
    }
    return results;
}

void add_copies(const graph::Graph& graph, const FunctionNames& names, const backend::CompileReport& report,
                std::vector<FunctionFacts>& functions, std::vector<PassResult>& results) {
    std::vector<std::uint64_t> persistent(functions.size());
    for (const backend::NamedBytes& tensor : report.persistent) {
        if (const auto function = names.of(tensor.name)) persistent[*function] += tensor.bytes;
    }
    for (std::size_t i = 0; i < functions.size(); ++i) {
        const std::uint64_t known = functions[i].variable_bytes + functions[i].gradient_bytes;
        functions[i].copy_bytes = std::max(persistent[i], known) - known;
    }
    for (const graph::ValueId input : graph.values_with_role(Role::input)) {
        for (const backend::NamedBytes& tensor : report.held) {
            if (tensor.name.starts_with(graph.value(input).name + ":"))
                results.push_back({tensor.bytes, 0, false, {}, {0}, Again::never});
        }
    }
}

std::vector<SummedValue> summed_values(const graph::Graph& graph, const FunctionNames& names) {
    const graph::Facts facts(graph);
    FunctionWalk walk(names);
    std::vector<SummedValue> values;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node({i});
        if (node.phase == Phase::update) continue;
        const std::size_t function = walk.next(node.name, node.phase);
        for (const ValueId result : node.outputs) {
            if (!facts.crosses_into_update(result)) continue;
            values.push_back({node.name, graph.desc(result).elements(), node.phase, function});
        }
    }
    return values;
}

}  // namespace cnntrain::plan
