#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// for (count = initialCount; count < countLimit; count += countStep) body. countLimit is a scalar INT or UNSIGNED_INT,
/// which is read before each round.
poplar::program::Sequence countedForLoop(poplar::Graph& graph, int initialCount, const poplar::Tensor& countLimit,
                                         int countStep, const poplar::Program& body,
                                         const poplar::DebugContext& debugContext = {});

}  // namespace popops
