#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace gcl {

enum class CollectiveOperator { ADD, MEAN, MUL, MIN, MAX, LOGICAL_AND, LOGICAL_OR, SQUARE_ADD, LOCAL };

enum class CommGroupType { ALL, CONSECUTIVE, ORTHOGONAL };

/// Replicas that work together. CONSECUTIVE: groups of replicaGroupSize that follow each other. ORTHOGONAL: a group
/// takes every (replicas / replicaGroupSize)-th one. Strides other than 1 are refused: poputil::poplibs_error.
struct CommGroup {
    CommGroup() = default;
    CommGroup(CommGroupType type_, unsigned groupSize, unsigned replicaStride = 1)
        : type(type_), replicaGroupSize(groupSize), stride(replicaStride) {}

    CommGroupType type = CommGroupType::ALL;
    unsigned replicaGroupSize = 0;
    unsigned stride = 1;
};

// Sums are made in the type of the data, replica by replica: half is rounded after each addition.

poplar::Tensor allReduceCrossReplica(poplar::Graph& graph, const poplar::Tensor& data, CollectiveOperator op,
                                     poplar::program::Sequence& prog, const CommGroup& group,
                                     const poplar::DebugContext& debugContext = {},
                                     const poplar::OptionFlags& options = {});
poplar::Tensor allReduceCrossReplica(poplar::Graph& graph, const poplar::Tensor& data, CollectiveOperator op,
                                     poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                                     const poplar::OptionFlags& options = {});
void allReduceInPlaceCrossReplica(poplar::Graph& graph, const poplar::Tensor& data, CollectiveOperator op,
                                  poplar::program::Sequence& prog, const CommGroup& group,
                                  const poplar::DebugContext& debugContext = {},
                                  const poplar::OptionFlags& options = {});
void allReduceInPlaceCrossReplica(poplar::Graph& graph, const poplar::Tensor& data, CollectiveOperator op,
                                  poplar::program::Sequence& prog, const poplar::DebugContext& debugContext = {},
                                  const poplar::OptionFlags& options = {});
/// data [n]: replica r of a group of R gets elements r ceil(n / R) and on, ceil(n / R) of them, zeros beyond the end.
poplar::Tensor reduceScatterCrossReplica(poplar::Graph& graph, const poplar::Tensor& data, CollectiveOperator op,
                                         poplar::program::Sequence& prog, const CommGroup& group,
                                         const poplar::DebugContext& debugContext = {},
                                         const poplar::OptionFlags& options = {});
/// [R][shape of data].
poplar::Tensor allGatherCrossReplica(poplar::Graph& graph, const poplar::Tensor& data, poplar::program::Sequence& prog,
                                     const CommGroup& group, const poplar::DebugContext& debugContext = {},
                                     const poplar::OptionFlags& options = {});

}  // namespace gcl
