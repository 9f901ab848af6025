#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popops {

/// Floats become integers towards zero.
poplar::Tensor cast(poplar::Graph& graph, const poplar::Tensor& src, const poplar::Type& dstType,
                    poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {});
poplar::Program cast(poplar::Graph& graph, const poplar::Tensor& src, const poplar::Tensor& dst,
                     const poplar::DebugContext& debugContext = {});

}  // namespace popops
