#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// A scalar BOOL: whether an element is NaN or infinite.
poplar::Tensor hasNaNOrInf(poplar::Graph& graph, const poplar::Tensor& src, poplar::program::Sequence& prog,
                           const poplar::DebugContext& debugContext = {});

}  // namespace popops
