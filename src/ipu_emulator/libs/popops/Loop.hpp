#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// for (count = initialCount; count < countLimit; count += countStep) body. count and countLimit are scalar INT or
/// UNSIGNED_INT of one type; the limit is read before each round.
poplar::program::Sequence countedForLoop(poplar::Graph& graph, const poplar::Tensor& count, int initialCount,
                                         const poplar::Tensor& countLimit, int countStep, const poplar::Program& body,
                                         const poplar::DebugContext& debugContext = {});
poplar::program::Sequence countedForLoop(poplar::Graph& graph, int initialCount, const poplar::Tensor& countLimit,
                                         int countStep, const poplar::Program& body,
                                         const poplar::DebugContext& debugContext = {});

}  // namespace popops
