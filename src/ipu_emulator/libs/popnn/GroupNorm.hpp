#pragma once

#include <utility>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace popnn::gn {

// acts [batch][channels][field...]. Statistics over the field and the channels of a group, [batch numGroups], in the
// type of the activations. Channel c is in group c mod numGroups; with groupNormStridedChannelGrouping = false, groups
// are of channels that follow each other. gamma has an element for each channel.

std::pair<poplar::Tensor, poplar::Tensor> groupNormStatistics(
    poplar::Graph& graph, const poplar::Tensor acts, float eps, poplar::program::Sequence& prog, unsigned numGroups,
    bool unbiasedVarEstimate, bool stableAlgo = false, const poplar::Type& partialsType = poplar::FLOAT,
    const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
/// Gradient of the activations.
poplar::Tensor groupNormGradients(poplar::Graph& graph, const poplar::Tensor& actsWhitened,
                                  const poplar::Tensor& gradsIn, const poplar::Tensor& invStdDev,
                                  const poplar::Tensor& gamma, poplar::program::Sequence& prog,
                                  const poplar::Type& partialsType = poplar::FLOAT,
                                  const poplar::DebugContext& debugContext = {},
                                  const poplar::OptionFlags& options = {});

}  // namespace popnn::gn
