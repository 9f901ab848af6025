#pragma once

#include <utility>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplin/Norms.hpp>

namespace popnn::bn {

// acts [batch][channels][field...]. Statistics over batch and field: mean and 1 / sqrt(variance + eps) of each channel,
// in the type of the activations. stableAlgo: the variance from differences to the mean.

std::pair<poplar::Tensor, poplar::Tensor> batchNormStatistics(poplar::Graph& graph, const poplar::Tensor acts,
                                                              float eps, poplar::program::Sequence& prog,
                                                              bool unbiasedVarEstimate, bool stableAlgo = false,
                                                              const poplar::Type& partialsType = poplar::FLOAT,
                                                              const poplar::DebugContext& debugContext = {},
                                                              const poplar::OptionFlags& options = {});
/// Statistics over the replicas of groups of normBatchSize / batch, by the callback.
std::pair<poplar::Tensor, poplar::Tensor> distributedBatchNormStatistics(
    poplar::Graph& graph, const poplar::Tensor acts, float eps, poplar::program::Sequence& prog,
    bool unbiasedVarEstimate, poplin::DistributedNormReduceCallback reduceCallback, unsigned normBatchSize,
    bool stableAlgo = false, const poplar::Type& partialsType = poplar::FLOAT,
    const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
poplar::Tensor batchNormWhiten(poplar::Graph& graph, const poplar::Tensor& acts, const poplar::Tensor& mean,
                               const poplar::Tensor& invStdDev, poplar::program::Sequence& prog,
                               const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
/// gamma x + beta, and x: the whitened activations.
std::pair<poplar::Tensor, poplar::Tensor> batchNormalise(poplar::Graph& graph, const poplar::Tensor& acts,
                                                         const poplar::Tensor& gamma, const poplar::Tensor& beta,
                                                         const poplar::Tensor& mean, const poplar::Tensor& invStdDev,
                                                         poplar::program::Sequence& prog,
                                                         const poplar::DebugContext& debugContext = {},
                                                         const poplar::OptionFlags& options = {});
/// combinedMultiplicand acts + addend.
poplar::Tensor batchNormalise(poplar::Graph& graph, const poplar::Tensor& acts,
                              const poplar::Tensor& combinedMultiplicand, const poplar::Tensor& addend,
                              poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                              const poplar::OptionFlags& options = {});
/// Gradients of gamma and beta.
std::pair<poplar::Tensor, poplar::Tensor> batchNormParamGradients(
    poplar::Graph& graph, const poplar::Tensor& acts, const poplar::Tensor& gradsIn, const poplar::Tensor& mean,
    const poplar::Tensor& iStdDev, poplar::program::Sequence& prog, const poplar::Type& partialsType = poplar::FLOAT,
    const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
std::pair<poplar::Tensor, poplar::Tensor> batchNormParamGradients(
    poplar::Graph& graph, const poplar::Tensor& actsWhitened, const poplar::Tensor& gradsIn,
    poplar::program::Sequence& prog, const poplar::Type& partialsType = poplar::FLOAT,
    const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
/// Gradient of the activations.
poplar::Tensor batchNormGradients(poplar::Graph& graph, const poplar::Tensor& acts, const poplar::Tensor& gradsIn,
                                  const poplar::Tensor& mean, const poplar::Tensor& invStdDev,
                                  const poplar::Tensor& gamma, poplar::program::Sequence& prog,
                                  const poplar::Type& partialsType = poplar::FLOAT,
                                  const poplar::DebugContext& debugContext = {},
                                  const poplar::OptionFlags& options = {});
poplar::Tensor batchNormGradients(poplar::Graph& graph, const poplar::Tensor& actsWhitened,
                                  const poplar::Tensor& gradsIn, const poplar::Tensor& invStdDev,
                                  const poplar::Tensor& gamma, poplar::program::Sequence& prog,
                                  const poplar::Type& partialsType = poplar::FLOAT,
                                  const poplar::DebugContext& debugContext = {},
                                  const poplar::OptionFlags& options = {});
poplar::Tensor distributedBatchNormGradients(poplar::Graph& graph, const poplar::Tensor& actsWhitened,
                                             const poplar::Tensor& gradsIn, const poplar::Tensor& invStdDev,
                                             const poplar::Tensor& gamma, poplar::program::Sequence& prog,
                                             poplin::DistributedNormReduceCallback reduceCallback,
                                             unsigned normBatchSize, const poplar::Type& partialsType = poplar::FLOAT,
                                             const poplar::DebugContext& debugContext = {},
                                             const poplar::OptionFlags& options = {});
poplar::Tensor distributedBatchNormGradients(poplar::Graph& graph, const poplar::Tensor& acts,
                                             const poplar::Tensor& gradsIn, const poplar::Tensor& mean,
                                             const poplar::Tensor& invStdDev, const poplar::Tensor& gamma,
                                             poplar::program::Sequence& prog,
                                             poplin::DistributedNormReduceCallback reduceCallback,
                                             unsigned normBatchSize, const poplar::Type& partialsType = poplar::FLOAT,
                                             const poplar::DebugContext& debugContext = {},
                                             const poplar::OptionFlags& options = {});

}  // namespace popnn::bn
