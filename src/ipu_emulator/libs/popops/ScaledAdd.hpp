#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// A += scaleB B. Computed in float, rounded once.
void scaledAddTo(poplar::Graph& graph, const poplar::Tensor& A, const poplar::Tensor& B, float scaleB,
                 poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                 const poplar::OptionFlags& options = {});

}  // namespace popops
