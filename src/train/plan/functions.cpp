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
            if (node.phase == Phase::update) continue;
            add_node({i}, node, functions_[walk.next(node.name, node.phase)]);
        }
        for (const ValueId id : graph_.variables())
            add_variable(graph_.value(id));
        return std::move(functions_);
    }

private:
    void add_node(NodeId id, const graph::Node& node, FunctionFacts& function) const {
        const double gflop = graph_.node_flops(id) / 1e9;
        (node.phase == Phase::forward ? function.forward_gflop : function.backward_gflop) += gflop;
        for (const ValueId result : node.outputs) {
            const std::uint64_t bytes = graph_.desc(result).bytes();
            if (facts_.crosses_into_update(result)) function.gradient_bytes += bytes;
            if (node.phase == Phase::forward && read_backward(result)) function.stash_bytes += bytes;
        }
    }

    bool read_backward(ValueId value) const {
        if (facts_.follows_weights(value)) return false;  // there is one of it for all micro-batches
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
    std::vector<FunctionFacts> functions_;
};

}  // namespace

std::vector<FunctionFacts> function_facts(const graph::Graph& graph, const FunctionNames& names) {
    return Facts(graph, names).run();
}

}  // namespace cnntrain::train
