// Lowers graph nodes to programs by slot: the forward or backward phase of a pipeline stage, or its update.
//
// A slot sees its own tensor of each value. A value that another slot has made is carried to it: by the same tensor if
// nothing overwrites that before it is read, else by a copy on the reader's IPU, or by a ring of copies if the pipeline
// has several micro-batches between the two slots.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <poplar/DataStream.hpp>
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplin/Convolution.hpp>

#include "backend/ipu/lower/support.h"
#include "cnntrain/backend/backend.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/parallel/pipeline.h"

namespace cnntrain::ipu {

// Places of optimiser states: whole on each replica or in shards, on the tiles or in remote buffers.
//
// The shard of replica r of R is elements r * ceil(n / R) and on of the flat tensor, ceil(n / R) of them, with zeros
// beyond the end. A node with sharded states changes the replica's shard of its parameter; all shards are then
// gathered.

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

/// A place of dropout or drop-connect, and the samples of a micro-batch there.
struct RandomSite {
    std::uint64_t site = 0;
    std::size_t samples = 0;
};

/// Data of each micro-batch that the host sends to a slot.
struct HostStream {
    std::string handle;
    std::optional<graph::ValueId> input = {};
    bool stays = false;    // written once, by the host's handle, and not by a stream
    RandomSite site = {};  // without an input: whose key words they are, UNSIGNED_INT[2] for each sample
};

/// A scalar output that is summed over micro-batches.
struct SumOutput {
    std::string name;
    bool in_forward = true;  // known without the backward phase
    poplar::Tensor sum;      // FLOAT[]
};

/// A value that the update reads as a sum over the micro-batches of an update.
struct Accumulator {
    graph::ValueId value;
    std::string handle;  // of host reads and writes
    poplar::Tensor sum;  // over the micro-batches of one replica
};

/// Options of the streams that bring data of micro-batches.
poplar::OptionFlags stream_options(const backend::IpuSettings& settings);

struct Slot {
    Slot(const graph::Graph& graph, graph::Phase slot_phase, std::int32_t slot_stage, unsigned slot_ipu)
        : phase(slot_phase), stage(slot_stage), ipu(slot_ipu), values(graph) {}

    graph::Phase phase;
    std::int32_t stage;
    unsigned ipu;
    DeviceValues values;
    LoweringOptions options = {};
    SiteKeys keys = {};
    std::vector<poplar::Tensor> borrowed = {};  // that other slots overwrite after this one's tick
    poplar::program::Sequence take = {};        // from the host and from rings
    poplar::program::Sequence compute = {};
    poplar::program::Sequence give = {};  // to rings and other IPUs, after the tick
    poplar::Tensor count = {};            // UNSIGNED_INT[1]: micro-batches so far; invalid if no ring needs it
};

class Slots {
public:
    /// Lowers all nodes. The device has the IPUs of the plan.
    Slots(const graph::Graph& graph, poplar::Graph& device, const backend::CompileRequest& request);

    /// F 0 .. F K-1, B K-1 .. B 0.
    const std::deque<Slot>& all() const { return slots_; }
    /// Computes what follows from the variables alone.
    const poplar::program::Sequence& prepare() const { return prepare_; }
    /// Sums accumulators over the replicas and changes the variables.
    const poplar::program::Sequence& update() const { return update_; }
    /// Resets the counts of micro-batches, before the first micro-batch of an update or an evaluation.
    poplar::program::Sequence start_counting();

    const std::vector<HostStream>& streams() const { return streams_; }
    /// FLOAT: the graph's scalars in order of creation, on the first IPU; invalid if there are none.
    const poplar::Tensor& scalars() const { return scalars_.front(); }
    /// Copies the scalars to the other IPUs.
    poplar::program::Sequence distribute_scalars() const;
    const std::vector<SumOutput>& sums() const { return sums_; }
    const std::vector<Accumulator>& accumulators() const { return accumulators_; }
    Storage storage(graph::ValueId variable) const { return state_.storage(variable); }

private:
    using Sequence = poplar::program::Sequence;

    LoweringOptions lowering_options(const Slot& slot) const;
    unsigned ipu_of(std::int32_t stage) const { return static_cast<unsigned>(plan_.devices.at(stage)); }
    Slot& slot_of(const graph::Node& node);
    std::size_t number_of(const Slot& slot) const;
    poplar::Tensor linear(unsigned ipu, const poplar::Type& type, const std::vector<std::size_t>& shape,
                          const std::string& name);
    poplar::Tensor allocated(unsigned ipu, graph::ValueId value);
    void make_scalars();
    void make_variables();
    unsigned ipu_of_variable(graph::ValueId variable) const;
    bool follows_weights(const graph::Node& node) const;
    void lower_prepare();
    void lower_phase(graph::Phase phase);
    void lower(const graph::Node& node, const Slot& slot, DeviceValues& values, Sequence& program);

    void bring(graph::ValueId value, Slot& reader);
    void take_input(graph::ValueId input, Slot& reader);
    void take_keys(const graph::Node& node, Slot& slot);
    void carry(graph::ValueId value, Slot& maker, Slot& reader);
    poplar::Tensor lasting(graph::ValueId value, Slot& maker);
    void carry_in_ring(graph::ValueId value, Slot& maker, Slot& reader, std::int64_t places);
    void count(Slot& slot);
    void finish_counts();

    void find_sums_over_stages();
    bool find_summands(graph::ValueId value, std::vector<graph::ValueId>& summands,
                       std::vector<std::int32_t>& nodes) const;
    void make_accumulators();
    void make_sums();
    struct Together;
    void reduce_together(Together& together);
    Slot& update_slot(const Accumulator& accumulator);
    void reduce_accumulators();
    void lower_update();
    void lower_on_shard(const graph::Node& node, const Slot& slot);
    void make_output_reads(bool of_update);

    const graph::Graph& graph_;
    graph::Facts facts_;
    poplar::Graph& device_;
    std::vector<poplar::Graph> ipus_;  // the tiles of each
    schedule::UpdatePlan plan_;
    backend::IpuSettings settings_;
    OptimiserState state_;
    Replicas replicas_;
    poplin::PlanningCache plans_;
    std::vector<poplar::Tensor> scalars_;  // by IPU
    std::vector<UpdateScalars> update_scalars_;
    std::deque<Slot> slots_;    // addresses stay
    std::deque<Slot> updates_;  // by stage; programs are in update_
    DeviceValues shards_;       // of the last node on shards, in the update
    /// Summands of each value that the update reads. The slots that make them add them to the value's accumulator. That
    /// is less to carry than the gradient of a variable of several stages.
    std::map<std::int32_t, std::vector<graph::ValueId>> summands_;
    std::set<std::int32_t> left_to_accumulators_;  // nodes of such sums
    Sequence prepare_, update_;
    std::vector<HostStream> streams_;
    std::vector<SumOutput> sums_;
    std::vector<Accumulator> accumulators_;
};

}  // namespace cnntrain::ipu
