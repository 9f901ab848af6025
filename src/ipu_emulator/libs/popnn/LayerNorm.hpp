#pragma once

#include <utility>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popnn::ln {

// acts [batch][channels][field...]. Statistics over all elements of a sample, [batch]: group norm with one group.

std::pair<poplar::Tensor, poplar::Tensor> layerNormStatistics(poplar::Graph& graph, const poplar::Tensor acts,
                                                              float eps, poplar::program::Sequence& prog,
                                                              bool unbiasedVarEstimate, bool stableAlgo = false,
                                                              const poplar::Type& partialsType = poplar::FLOAT,
                                                              const poplar::DebugContext& debugContext = {},
                                                              const poplar::OptionFlags& options = {});
/// Gradient of the activations.
poplar::Tensor layerNormGradients(poplar::Graph& graph, const poplar::Tensor& actsWhitened,
                                  const poplar::Tensor& gradsIn, const poplar::Tensor& invStdDev,
                                  const poplar::Tensor& gamma, poplar::program::Sequence& prog,
                                  const poplar::Type& partialsType = poplar::FLOAT,
                                  const poplar::DebugContext& debugContext = {},
                                  const poplar::OptionFlags& options = {});

}  // namespace popnn::ln
