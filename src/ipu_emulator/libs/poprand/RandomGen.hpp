#pragma once

#include <cstdint>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poprand {

// Numbers follow from the seed (UNSIGNED_INT [2]), the modifier, the element's place and the tile mapping of
// `reference`, whose shape the result has. Without a seed, from the hardware's state, which then advances.

/// Numbers in [minVal, maxVal]; integers with both ends.
poplar::Tensor uniform(poplar::Graph& graph, const poplar::Tensor* seed, std::uint32_t seedModifier,
                       const poplar::Tensor& reference, const poplar::Type& outType, double minVal, double maxVal,
                       poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {});
poplar::Tensor normal(poplar::Graph& graph, const poplar::Tensor* seed, std::uint32_t seedModifier,
                      const poplar::Tensor& reference, const poplar::Type& outType, double mean, double stdDev,
                      poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {});
/// Sets the hardware's state of all tiles of the graph.
void setSeed(poplar::Graph& graph, const poplar::Tensor& masterSeed, std::uint32_t seedModifier,
             poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {});

}  // namespace poprand
