#pragma once

#include <utility>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplin/Norms.hpp>

namespace popnn::bn {

// acts [batch][channels][field...]. Statistics over batch and field: mean and 1 / sqrt(variance + eps) of each channel,
// in the type of the activations. stableAlgo: the variance from differences to the mean.

/// Statistics over the replicas of groups of normBatchSize / batch, by the callback.
std::pair<poplar::Tensor, poplar::Tensor> distributedBatchNormStatistics(
    poplar::Graph& graph, const poplar::Tensor acts, float eps, poplar::program::Sequence& prog,
    bool unbiasedVarEstimate, poplin::DistributedNormReduceCallback reduceCallback, unsigned normBatchSize,
    bool stableAlgo = false, const poplar::Type& partialsType = poplar::FLOAT,
    const poplar::DebugContext& debugContext = {}, const poplar::OptionFlags& options = {});
/// Gradient of the activations.
poplar::Tensor distributedBatchNormGradients(poplar::Graph& graph, const poplar::Tensor& actsWhitened,
                                             const poplar::Tensor& gradsIn, const poplar::Tensor& invStdDev,
                                             const poplar::Tensor& gamma, poplar::program::Sequence& prog,
                                             poplin::DistributedNormReduceCallback reduceCallback,
                                             unsigned normBatchSize, const poplar::Type& partialsType = poplar::FLOAT,
                                             const poplar::DebugContext& debugContext = {},
                                             const poplar::OptionFlags& options = {});

}  // namespace popnn::bn
