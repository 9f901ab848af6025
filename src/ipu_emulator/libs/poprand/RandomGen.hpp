#pragma once

#include <cstdint>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poprand {

/// Sets the hardware's state of all tiles of the graph. It follows from the seed, UNSIGNED_INT [2], and the modifier.
void setSeed(poplar::Graph& graph, const poplar::Tensor& masterSeed, std::uint32_t seedModifier,
             poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {});

}  // namespace poprand
