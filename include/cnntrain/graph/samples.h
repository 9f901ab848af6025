// The same computation for another number of samples.
#pragma once

#include <cstdint>
#include <optional>

#include "cnntrain/graph/graph.h"

namespace cnntrain::graph {

/// N, the leading axis of every input; empty without inputs, or if they differ.
std::optional<std::int64_t> samples_of(const Graph& graph);

/// The forward graph for `samples` samples, with the same ids. Applied to each part of a batch, its outputs f32[] add
/// up to those of the batch, and all others are the batch's parts. Empty if some node does not compute each sample by
/// itself.
std::optional<Graph> with_samples(const Graph& graph, std::int64_t samples);

}  // namespace cnntrain::graph
