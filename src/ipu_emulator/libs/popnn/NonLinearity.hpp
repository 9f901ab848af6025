#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <popnn/NonLinearityDef.hpp>

namespace popnn {

poplar::Tensor nonLinearity(poplar::Graph& graph, NonLinearityType nonLinearityType, const poplar::Tensor& t,
                            poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {});
/// act: the input of GELU, GELU_ERF and SWISH, the output of the others.
poplar::Tensor nonLinearityInputGradient(poplar::Graph& graph, NonLinearityType nonLinearityType,
                                         const poplar::Tensor& act, const poplar::Tensor& outGradient,
                                         poplar::program::Sequence& prog,
                                         const poplar::DebugContext& debugContext = {});

}  // namespace popnn
