// What follows from a graph as a whole: found once, then asked.
#pragma once

#include <optional>
#include <vector>

#include "cnntrain/graph/graph.h"

namespace cnntrain::graph {

/// Of the graph as it was at construction; values that are added later are not known.
class Facts {
public:
    explicit Facts(const Graph& graph);

    /// True of variables, and of what ops with OpDef::follows_weights make of nothing else: it stays the same until the
    /// weights change.
    bool follows_weights(ValueId value) const { return follows_weights_.at(index(value)); }

    /// Made by a micro-batch and read by the update: the update sees the sum over the micro-batches.
    bool crosses_into_update(ValueId value) const { return crosses_into_update_.at(index(value)); }

    /// Of results: what their op says. Of inputs and parameters: what their readers say, whatever casts lie between. A slot
    /// is laid out like its owner. Never Layout::same.
    Layout layout(ValueId value) const { return layouts_.at(index(value)); }

private:
    static std::size_t index(ValueId value) { return static_cast<std::size_t>(value.index); }
    void find_weights(const Graph& graph);
    void find_crossing(const Graph& graph);
    void find_layouts(const Graph& graph);

    std::vector<bool> follows_weights_;
    std::vector<bool> crosses_into_update_;
    std::vector<Layout> layouts_;
};

/// The variable that a chain of casts starts from, or the value itself.
ValueId strip_casts(const Graph& graph, ValueId value);

/// What an update op reads as the gradient of this variable or of its 32-bit master; for a moving average, the statistic.
/// Empty for variables that no update op overwrites by a gradient.
std::optional<ValueId> update_gradient(const Graph& graph, ValueId variable);

}  // namespace cnntrain::graph
