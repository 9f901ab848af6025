#pragma once

#include <utility>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplin/Norms.hpp>

namespace popnn::ln {

// acts [batch][channels][field...]. Statistics over all elements of a sample, [batch]: group norm with one group.

std::pair<poplar::Tensor, poplar::Tensor> layerNormStatistics(poplar::Graph& graph, const poplar::Tensor acts,
                                                              float eps, poplar::program::Sequence& prog,
                                                              bool unbiasedVarEstimate, bool stableAlgo = false,
                                                              const poplar::Type& partialsType = poplar::FLOAT,
                                                              const poplar::DebugContext& debugContext = {},
                                                              const poplar::OptionFlags& options = {});
poplar::Tensor layerNormWhiten(poplar::Graph& graph, const poplar::Tensor& acts, const poplar::Tensor& mean,
                               const poplar::Tensor& invStdDev, poplar::program::Sequence& prog,
                               const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
/// gamma x + beta, and x: the whitened activations.
std::pair<poplar::Tensor, poplar::Tensor> layerNormalise(poplar::Graph& graph, const poplar::Tensor& acts,
                                                         const poplar::Tensor& gamma, const poplar::Tensor& beta,
                                                         const poplar::Tensor& mean, const poplar::Tensor& invStdDev,
                                                         poplar::program::Sequence& prog,
                                                         const poplar::DebugContext& debugContext = {},
                                                         const poplar::OptionFlags& options = {});
/// Gradients of gamma and beta.
std::pair<poplar::Tensor, poplar::Tensor> layerNormParamGradients(
    poplar::Graph& graph, const poplar::Tensor& acts, const poplar::Tensor& gradsIn, const poplar::Tensor& mean,
    const poplar::Tensor& iStdDev, poplar::program::Sequence& prog, const poplar::Type& partialsType = poplar::FLOAT,
    const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
std::pair<poplar::Tensor, poplar::Tensor> layerNormParamGradients(
    poplar::Graph& graph, const poplar::Tensor& actsWhitened, const poplar::Tensor& gradsIn,
    poplar::program::Sequence& prog, const poplar::Type& partialsType = poplar::FLOAT,
    const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
/// Gradient of the activations.
poplar::Tensor layerNormGradients(poplar::Graph& graph, const poplar::Tensor& acts, const poplar::Tensor& gradsIn,
                                  const poplar::Tensor& mean, const poplar::Tensor& invStdDev,
                                  const poplar::Tensor& gamma, poplar::program::Sequence& prog,
                                  const poplar::Type& partialsType = poplar::FLOAT,
                                  const poplar::DebugContext& debugContext = {},
                                  const poplar::OptionFlags& options = {});
poplar::Tensor layerNormGradients(poplar::Graph& graph, const poplar::Tensor& actsWhitened,
                                  const poplar::Tensor& gradsIn, const poplar::Tensor& invStdDev,
                                  const poplar::Tensor& gamma, poplar::program::Sequence& prog,
                                  const poplar::Type& partialsType = poplar::FLOAT,
                                  const poplar::DebugContext& debugContext = {},
                                  const poplar::OptionFlags& options = {});

}  // namespace popnn::ln
