#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplar {

/// The state of all random generators of the graph's tiles: UNSIGNED_INT [tiles][workers][4].
Tensor getHwSeeds(Graph& graph, program::Sequence& prog, const DebugContext& debugContext = {});
void setHwSeeds(Graph& graph, const Tensor& seeds, program::Sequence& prog, const DebugContext& debugContext = {});

}  // namespace poplar
