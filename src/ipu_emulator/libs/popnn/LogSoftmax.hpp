#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popnn {

/// Computes the logarithm of the softmax over the last dimension.
void logSoftmaxInPlace(poplar::Graph& graph, const poplar::Tensor& t, poplar::program::Sequence& prog,
                       const poplar::DebugContext& debugContext = {});

}  // namespace popnn
