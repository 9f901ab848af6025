#include "insight/plan/functions.h"

#include <algorithm>
#include <functional>
#include <map>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::plan {

using graph::NodeId;
using graph::Phase;
using graph::Role;
using graph::ValueId;

FunctionNames::FunctionNames(std::vector<std::string> names, std::vector<std::string> (*scopes)(std::string_view))
    : names_(std::move(names)) {
    for (std::size_t i = 0; i < names_.size(); ++i) {
        for (std::string& scope : scopes != nullptr ? scopes(names_[i]) : std::vector{"all/" + names_[i]})
            scopes_.push_back({std::move(scope), i});
    }
}

std::optional<std::size_t> FunctionNames::of(std::string_view name) const {
    const Scope* innermost = nullptr;
    for (const Scope& scope : scopes_) {
        if (!name.starts_with(scope.name)) continue;
        const std::size_t end = scope.name.size();
        const bool whole = name.size() == end || name[end] == '/' || name[end] == ':';
        if (whole && (innermost == nullptr || end > innermost->name.size())) innermost = &scope;
    }
    return innermost == nullptr ? std::nullopt : std::optional(innermost->function);
}

std::vector<std::size_t> FunctionNames::indices(const std::vector<std::string>& functions) const {
    std::vector<std::size_t> result;
    for (const std::string& function : functions) {
        const auto found = std::ranges::find(names_, function);
        CNNTRAIN_CHECK(found != names_.end(), "no function " + function);
        result.push_back(static_cast<std::size_t>(found - names_.begin()));
    }
    return result;
}

std::size_t FunctionWalk::next(std::string_view name, Phase phase) {
    std::size_t& last = phase == Phase::forward ? forward_ : backward_;
    last = names_.of(name).value_or(last);
    return last;
}

namespace {

/// The function of each node of a micro-batch.
std::vector<std::size_t> functions_of_nodes(const graph::Graph& graph, const FunctionNames& names) {
    FunctionWalk walk(names);
    std::vector<std::size_t> functions;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node({i});
        functions.push_back(node.phase == Phase::update ? 0 : walk.next(node.name, node.phase));
    }
    return functions;
}

/// The function whose pass produces the value, and the functions whose passes read it.
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
            // Backward first recomputes the statistics of a norm, and that recomputes the node's other results too.
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

namespace {

/// The last function whose forward pass reads the variable or what follows from it. Copies in other layouts are made
/// for products, and a table that is both looked up and multiplied by is looked up first.
std::optional<std::size_t> last_reader(const graph::Graph& graph, const graph::Facts& known,
                                       const std::vector<std::size_t>& function_of, ValueId value) {
    std::optional<std::size_t> last;
    for (const NodeId user : graph.value(value).users) {
        const graph::Node& node = graph.node(user);
        if (node.phase != Phase::forward) continue;
        if (!known.follows_weights(node.outputs.front())) {
            last = std::max(last, std::optional(function_of[static_cast<std::size_t>(user.index)]));
            continue;
        }
        for (const ValueId result : node.outputs)
            last = std::max(last, last_reader(graph, known, function_of, result));
    }
    return last;
}

/// The function of each parameter's copies, by the parameter's name.
std::map<std::string, std::size_t, std::less<>> functions_of_copies(const graph::Graph& graph,
                                                                    const FunctionNames& names) {
    const graph::Facts known(graph);
    const std::vector<std::size_t> function_of = functions_of_nodes(graph, names);
    std::map<std::string, std::size_t, std::less<>> functions;
    for (const ValueId id : graph.values_with_role(Role::parameter)) {
        if (const auto reader = last_reader(graph, known, function_of, id)) functions[graph.value(id).name] = *reader;
    }
    return functions;
}

}  // namespace

void add_copies(const graph::Graph& graph, const FunctionNames& names, const backend::CompileReport& report,
                std::vector<FunctionFacts>& functions, std::vector<PassResult>& results) {
    const auto of_copies = functions_of_copies(graph, names);
    std::vector<std::uint64_t> persistent(functions.size());
    for (const backend::NamedBytes& tensor : report.persistent) {
        std::optional<std::size_t> function = names.of(tensor.name);
        const auto copied = of_copies.find(std::string_view(tensor.name).substr(0, tensor.name.find(':')));
        if (copied != of_copies.end() && copied->first.size() < tensor.name.size()) function = copied->second;
        if (function) persistent[*function] += tensor.bytes;
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
