#include "train/plan/functions.h"

#include <algorithm>

#include "cnntrain/graph/facts.h"

namespace cnntrain::train {

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

class Facts {
public:
    Facts(const graph::Graph& graph, const FunctionNames& names)
        : graph_(graph), names_(names), facts_(graph), functions_(names.count()) {}

    std::vector<FunctionFacts> run() {
        FunctionWalk walk(names_);
        for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
            const graph::Node& node = graph_.node({i});
            function_of_.push_back(node.phase == Phase::update ? 0 : walk.next(node.name, node.phase));
        }
        for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
            if (graph_.node({i}).phase != Phase::update) add_node({i});
        }
        for (const ValueId id : graph_.variables())
            add_variable(graph_.value(id));
        return std::move(functions_);
    }

private:
    std::size_t function_of(NodeId node) const { return function_of_[static_cast<std::size_t>(node.index)]; }

    void add_node(NodeId id) {
        const graph::Node& node = graph_.node(id);
        FunctionFacts& function = functions_[function_of(id)];
        const double gflop = graph_.node_flops(id) / 1e9;
        (node.phase == Phase::forward ? function.forward_gflop : function.backward_gflop) += gflop;
        for (const ValueId result : node.outputs) {
            const std::uint64_t bytes = graph_.desc(result).bytes();
            if (facts_.crosses_into_update(result)) function.gradient_bytes += bytes;
            if (node.phase != Phase::forward || facts_.follows_weights(result)) continue;
            if (read_backward(result)) function.stash_bytes += bytes;
            for (std::size_t i = function_of(id) + 1; i <= last_reader(result, function_of(id)); ++i)
                functions_[i].input_bytes += bytes;
        }
        for (const ValueId input : node.inputs) {
            const bool of_batch = graph_.value(input).role == Role::input && graph_.value(input).users.front() == id;
            if (of_batch && function_of(id) == 0) function.input_bytes += graph_.desc(input).bytes();
        }
    }

    /// Of those that read the value in the forward pass, else the function that makes it.
    std::size_t last_reader(ValueId value, std::size_t maker) const {
        for (const NodeId user : graph_.value(value).users) {
            if (graph_.node(user).phase == Phase::forward) maker = std::max(maker, function_of(user));
        }
        return maker;
    }

    bool read_backward(ValueId value) const {
        return std::ranges::any_of(graph_.value(value).users,
                                   [&](NodeId user) { return graph_.node(user).phase == Phase::backward; });
    }

    void add_variable(const graph::Value& value) {
        const graph::Value& owner = value.role == Role::slot ? graph_.value(value.owner) : value;
        const auto function = names_.of(owner.name);
        if (!function) return;
        functions_[*function].variable_bytes += value.desc.bytes();
        if (value.role == Role::parameter) functions_[*function].parameters += value.desc.elements();
    }

    const graph::Graph& graph_;
    const FunctionNames& names_;
    graph::Facts facts_;
    std::vector<std::size_t> function_of_;  // by node
    std::vector<FunctionFacts> functions_;
};

}  // namespace

std::vector<FunctionFacts> function_facts(const graph::Graph& graph, const FunctionNames& names) {
    return Facts(graph, names).run();
}

}  // namespace cnntrain::train
