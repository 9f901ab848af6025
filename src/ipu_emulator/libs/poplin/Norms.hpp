#pragma once

#include <functional>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace poplin {

/// Sums each tensor over groups of `groupSize` replicas; returns the sums.
using DistributedNormReduceCallback = std::function<std::vector<poplar::Tensor>(
    poplar::Graph& replicatedGraph, const std::vector<poplar::Tensor>& inputsToReduce, poplar::program::Sequence& prog,
    unsigned groupSize, const poplar::DebugContext& debugContext, const poplar::OptionFlags& options)>;

}  // namespace poplin
