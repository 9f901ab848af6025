#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// startInteger, startInteger + 1, ...
void iota(poplar::Graph& graph, const poplar::Tensor& t, unsigned startInteger, poplar::program::Sequence& prog,
          const poplar::DebugContext& debugContext = {});

}  // namespace popops
