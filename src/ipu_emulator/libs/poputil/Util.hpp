#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poputil {

/// A new variable with a copy of `in`.
poplar::Tensor duplicate(poplar::Graph& graph, const poplar::Tensor& in, poplar::program::Sequence& prog,
                         const poplar::DebugContext& debugContext = {},
                         poplar::TensorCloneMethod method = poplar::TensorCloneMethod::PRESERVE_ORDER_UNLESS_ALIASES);
/// `input` as a half keeps it.
double castToDeviceHalfValue(const poplar::Target& target, double input);

}  // namespace poputil
