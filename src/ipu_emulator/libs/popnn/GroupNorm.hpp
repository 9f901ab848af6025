#pragma once

#include <utility>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplin/Norms.hpp>

namespace popnn::gn {

// acts [batch][channels][field...]. Statistics over the field and the channels of a group, [batch numGroups], in the
// type of the activations. Channel c is in group c mod numGroups; with groupNormStridedChannelGrouping = false, groups
// are of channels that follow each other. gamma and beta have an element for each channel.

std::pair<poplar::Tensor, poplar::Tensor> groupNormStatistics(
    poplar::Graph& graph, const poplar::Tensor acts, float eps, poplar::program::Sequence& prog, unsigned numGroups,
    bool unbiasedVarEstimate, bool stableAlgo = false, const poplar::Type& partialsType = poplar::FLOAT,
    const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
poplar::Tensor groupNormWhiten(poplar::Graph& graph, const poplar::Tensor& acts, const poplar::Tensor& mean,
                               const poplar::Tensor& invStdDev, poplar::program::Sequence& prog,
                               const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
/// gamma x + beta, and x: the whitened activations.
std::pair<poplar::Tensor, poplar::Tensor> groupNormalise(poplar::Graph& graph, const poplar::Tensor& acts,
                                                         const poplar::Tensor& gamma, const poplar::Tensor& beta,
                                                         const poplar::Tensor& mean, const poplar::Tensor& invStdDev,
                                                         poplar::program::Sequence& prog,
                                                         const poplar::DebugContext& debugContext = {},
                                                         const poplar::OptionFlags& options = {});
/// Gradients of gamma and beta.
std::pair<poplar::Tensor, poplar::Tensor> groupNormParamGradients(
    poplar::Graph& graph, const poplar::Tensor& acts, const poplar::Tensor& gradsIn, const poplar::Tensor& mean,
    const poplar::Tensor& iStdDev, poplar::program::Sequence& prog, const poplar::Type& partialsType = poplar::FLOAT,
    const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
std::pair<poplar::Tensor, poplar::Tensor> groupNormParamGradients(
    poplar::Graph& graph, const poplar::Tensor& actsWhitened, const poplar::Tensor& gradsIn,
    poplar::program::Sequence& prog, const poplar::Type& partialsType = poplar::FLOAT,
    const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
/// Gradient of the activations.
poplar::Tensor groupNormGradients(poplar::Graph& graph, const poplar::Tensor& acts, const poplar::Tensor& gradsIn,
                                  const poplar::Tensor& mean, const poplar::Tensor& invStdDev,
                                  const poplar::Tensor& gamma, poplar::program::Sequence& prog,
                                  const poplar::Type& partialsType = poplar::FLOAT,
                                  const poplar::DebugContext& debugContext = {},
                                  const poplar::OptionFlags& options = {});
poplar::Tensor groupNormGradients(poplar::Graph& graph, const poplar::Tensor& actsWhitened,
                                  const poplar::Tensor& gradsIn, const poplar::Tensor& invStdDev,
                                  const poplar::Tensor& gamma, poplar::program::Sequence& prog,
                                  const poplar::Type& partialsType = poplar::FLOAT,
                                  const poplar::DebugContext& debugContext = {},
                                  const poplar::OptionFlags& options = {});

}  // namespace popnn::gn
