#pragma once

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

namespace gcl {

/// LOCAL, for reduceScatterCrossReplica only: each replica takes its part of its own data.
enum class CollectiveOperator { ADD, LOCAL };

enum class CommGroupType { ALL, CONSECUTIVE };

/// Replicas that work together. CONSECUTIVE: groups of replicaGroupSize that follow each other.
struct CommGroup {
    CommGroup() = default;
    CommGroup(CommGroupType type_, unsigned groupSize) : type(type_), replicaGroupSize(groupSize) {}

    CommGroupType type = CommGroupType::ALL;
    unsigned replicaGroupSize = 0;
};

// Sums are made in the type of the data, replica by replica: half is rounded after each addition.

poplar::Tensor allReduceCrossReplica(poplar::Graph& graph, const poplar::Tensor& data, CollectiveOperator op,
                                     poplar::program::Sequence& prog, const CommGroup& group,
                                     const poplar::DebugContext& debugContext = {},
                                     const poplar::OptionFlags& options = {});
poplar::Tensor allReduceCrossReplica(poplar::Graph& graph, const poplar::Tensor& data, CollectiveOperator op,
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
