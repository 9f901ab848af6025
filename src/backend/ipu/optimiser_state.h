// Places of optimiser states: whole on each replica or in shards, on the tiles or in remote buffers.
//
// The shard of replica r of R is elements r * ceil(n / R) and on of the flat tensor, ceil(n / R) of them, with zeros
// beyond the end. A node with sharded states changes the replica's shard of its parameter; all shards are then
// gathered.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include <poplar/DataStream.hpp>
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "backend/ipu/lower/node_context.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::ipu {

struct StateSettings {
    bool shards = false;                  // over replicas, if there are several
    bool offloads = false;                // to remote buffers
    std::int64_t least_remote_bytes = 0;  // smaller tensors stay on the tiles
};

/// The host's access to a variable.
struct Storage {
    std::string handle;
    bool sharded = false;
    bool remote = false;  // the handle names a remote buffer, else host reads and writes
};

class OptimiserState {
public:
    OptimiserState(const graph::Graph& graph, const graph::Facts& facts, unsigned replicas,
                   const StateSettings& settings);

    /// True for nodes of the update that work on shards, and for sharded slots, masters and gradients.
    bool sharded(graph::NodeId node) const { return sharded_nodes_.contains(node.index); }
    bool sharded(graph::ValueId value) const { return sharded_values_.contains(value.index); }
    const std::set<std::int32_t>& sharded_values() const { return sharded_values_; }
    std::size_t shard_elements(graph::ValueId value) const;
    Storage storage(graph::ValueId variable) const;

    /// Connects the tensor of a variable, or of its shard, with the host: by reads and writes, or by a remote buffer,
    /// from which the tensor is loaded where the update uses it.
    void connect(poplar::Graph& device, graph::ValueId variable, const poplar::Tensor& tensor);
    /// The remote states whose first or last user in the update the node is.
    poplar::program::Sequence loads(graph::NodeId node) const;
    poplar::program::Sequence stores(graph::NodeId node) const;

private:
    struct Remote {
        poplar::RemoteBuffer buffer;
        poplar::Tensor landing;
        graph::NodeId first, last;
    };

    void shard(graph::NodeId id);
    bool is_remote(graph::ValueId variable) const;

    const graph::Graph& graph_;
    const graph::Facts& facts_;
    unsigned replicas_;
    StateSettings settings_;
    std::set<std::int32_t> sharded_nodes_, sharded_values_;
    std::map<std::int32_t, Remote> remote_;  // by variable
};

/// This replica's shard of a tensor that is the same on all replicas.
poplar::Tensor own_shard(poplar::Graph& device, const poplar::Tensor& whole, poplar::program::Sequence& program,
                         const poplar::DebugContext& debug);
/// This replica's shard of the sum over replicas.
poplar::Tensor shard_of_sum(poplar::Graph& device, const poplar::Tensor& addend, poplar::program::Sequence& program,
                            const poplar::DebugContext& debug);
/// Overwrites the tensor by the shards of all replicas.
void gather_shards(poplar::Graph& device, const poplar::Tensor& shard, const poplar::Tensor& whole,
                   poplar::program::Sequence& program, const poplar::DebugContext& debug);

}  // namespace cnntrain::ipu
