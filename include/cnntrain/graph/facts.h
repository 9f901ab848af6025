// Facts derived from a whole graph, computed once.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "cnntrain/graph/graph.h"

namespace cnntrain::graph {

/// Describes the graph as it was at construction; values added later are unknown.
class Facts {
public:
    explicit Facts(const Graph& graph);

    /// True for variables, and for results of ops with OpDef::follows_weights whose inputs all follow weights. Such a
    /// value changes only when weights change.
    bool follows_weights(ValueId value) const { return follows_weights_.at(index(value)); }

    /// True for a value that is produced per micro-batch and read by the update phase, which sees the sum over the
    /// micro-batches.
    bool crosses_into_update(ValueId value) const { return crosses_into_update_.at(index(value)); }

    /// Results have the layout in their op's row; inputs and parameters the layout that their readers want, through any
    /// casts; slots the layout of their owner. Never Layout::same.
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

/// True if this user of the value reads it only where its maxima are. Backends keep these places instead of a pooling's
/// input.
bool reads_places_only(const Graph& graph, NodeId user, ValueId value);

/// The variable that a chain of casts starts from, or the value itself.
ValueId strip_casts(const Graph& graph, ValueId value);

/// The value that an update op reads as gradient of this variable or of its 32-bit master; for a moving average, the
/// statistic. Empty for variables that no update op overwrites by a gradient.
std::optional<ValueId> update_gradient(const Graph& graph, ValueId variable);

// The same computation for another number of samples.

/// N, the leading axis of every input; empty without inputs, or if they differ.
std::optional<std::int64_t> samples_of(const Graph& graph);

/// The forward graph for `samples` samples, with the same ids. Applied to each part of a batch, its outputs f32[] add
/// up to those of the batch, and all others are the batch's parts. Empty if some node does not compute each sample by
/// itself.
std::optional<Graph> with_samples(const Graph& graph, std::int64_t samples);

}  // namespace cnntrain::graph
