#pragma once

#include <functional>
#include <utility>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplin {

/// Sums each tensor over groups of `groupSize` replicas; returns the sums.
using DistributedNormReduceCallback = std::function<std::vector<poplar::Tensor>(
    poplar::Graph& replicatedGraph, const std::vector<poplar::Tensor>& inputsToReduce, poplar::program::Sequence& prog,
    unsigned groupSize, const poplar::DebugContext& debugContext, const poplar::OptionFlags& options)>;

// An element for each channel of acts [batch][channels][field...].
poplar::Tensor createNormGamma(poplar::Graph& graph, const poplar::Tensor& acts, const poplar::Type& type,
                               const poplar::DebugContext& debugContext = {});
poplar::Tensor createNormGamma(poplar::Graph& graph, const poplar::Tensor& acts,
                               const poplar::DebugContext& debugContext = {});
poplar::Tensor createNormBeta(poplar::Graph& graph, const poplar::Tensor& acts, const poplar::Type& type,
                              const poplar::DebugContext& debugContext = {});
poplar::Tensor createNormBeta(poplar::Graph& graph, const poplar::Tensor& acts,
                              const poplar::DebugContext& debugContext = {});
/// gamma and beta.
std::pair<poplar::Tensor, poplar::Tensor> createNormParams(poplar::Graph& graph, const poplar::Tensor& acts,
                                                           const poplar::DebugContext& debugContext = {});

}  // namespace poplin
