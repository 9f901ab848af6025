#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// encoded [n][classes]: on (1) at each index of indices [n], off (0) elsewhere; a row of `off` for indices beyond.
void encodeOneHot(poplar::Graph& graph, const poplar::Tensor& indices, const poplar::Tensor& encoded,
                  poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {});
void encodeOneHot(poplar::Graph& graph, const poplar::Tensor& indices, const poplar::Tensor& encoded,
                  poplar::program::Sequence& prog, const poplar::Tensor& on, const poplar::Tensor& off,
                  const poplar::DebugContext& debugContext = {});
/// startInteger, startInteger + 1, ...
void iota(poplar::Graph& graph, const poplar::Tensor& t, unsigned startInteger, poplar::program::Sequence& prog,
          const poplar::DebugContext& debugContext = {});
void iota(poplar::Graph& graph, const poplar::Tensor& t, int startInteger, poplar::program::Sequence& prog,
          const poplar::DebugContext& debugContext = {});

}  // namespace popops
