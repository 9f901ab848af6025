#pragma once

#include <poplar/Graph.hpp>

namespace poputil {

/// A vector of fullTensor.dim(dim) elements.
poplar::Tensor createBroadcastOperand(poplar::Graph& graph, const poplar::Tensor& fullTensor, const poplar::Type& type,
                                      unsigned dim, bool ditherMapping = false,
                                      const poplar::DebugContext& debugContext = {});

}  // namespace poputil
