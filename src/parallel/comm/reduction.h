// The arithmetic of reductions: sums along the tree described in communicator.h, and rounding for the wire format.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "parallel/comm/transport.h"

namespace cnntrain::comm {

/// Groups of indices of parts: each group is summed in its order, then the groups' sums in theirs.
using SumTree = std::vector<std::vector<int>>;

/// out[i] = sum of parts[...][i] along the tree. `out` may be one of the parts.
void sum_parts(std::span<const float* const> parts, const SumTree& tree, std::span<float> out);
void sum_parts(std::span<const BFloat16* const> parts, const SumTree& tree, std::span<float> out);

/// Rounds to nearest, ties to even. Both sizes must be equal.
void pack(std::span<const float> values, std::span<BFloat16> packed);
void unpack(std::span<const BFloat16> packed, std::span<float> values);

// A reduction in which every member of a team exchanges its share of a bucket with all others.

/// The participating ranks, and the order in which their contributions are added.
struct Team {
    std::vector<int> ranks;
    int me = 0;    // index in `ranks`
    SumTree tree;  // of indices in `ranks`
};

class FlatReduction {
public:
    enum class Part : std::uint8_t { all_reduce, reduce_scatter, all_gather };

    /// Starts a reduction with the tags `tag` and `tag + 1`. Reuses the buffers of earlier reductions.
    void start(Transport& transport, const Team& team, std::span<float> values, Part part, Wire wire, int tag);
    /// Continues as far as possible without waiting; returns true when this rank has nothing left to send or receive.
    bool advance(Transport& transport);

private:
    enum class State : std::uint8_t { scattering, gathering, done };

    void start_scatter(Transport& transport);
    void start_gather(Transport& transport);
    void sum_own_shard();
    bool all_complete(Transport& transport);
    Shard shard(int member) const { return shard_of(static_cast<std::int64_t>(values_.size()), member, members()); }
    int members() const { return static_cast<int>(team_->ranks.size()); }
    std::span<float> values_of(int member);
    std::span<BFloat16> packed_of(int member);
    template <typename Stored> std::span<Stored> received_from(std::vector<Stored>& from, int member) const;

    const Team* team_ = nullptr;
    std::span<float> values_;
    Part part_ = Part::all_reduce;
    Wire wire_ = Wire::f32;
    int tag_ = 0;
    State state_ = State::done;
    std::vector<Transport::Ticket> open_;  // incomplete messages
    std::vector<float> received_;          // this rank's shard as received from each member, concatenated
    std::vector<BFloat16> received_packed_;
    std::vector<BFloat16> packed_;  // the bucket in wire format
    std::vector<const float*> parts_;
    std::vector<const BFloat16*> packed_parts_;
};

// The hierarchical all-reduce: the ranks of a node add in shared memory, and the first rank of each node exchanges sums
// with the first ranks of the other nodes.
//
// The shared memory of a bucket holds counters, the contribution of each local rank, and the sum. Each counter holds
// the number of uses of the bucket in which a rank has passed a point; a use proceeds when the counters that it needs
// have reached its number:
//   taken (use - 1) by all -> write own contribution -> written
//   written by all         -> add own share of the node's sum -> summed
//   summed by all          -> (first rank) exchange with other nodes -> total
//   total                  -> copy the sum -> taken

class NodeReduction {
public:
    /// Bytes shared by a node of `local_size` ranks for buckets of up to `elements`; and how many of them must be 0
    /// initially.
    static std::size_t shared_bytes(std::size_t elements, int local_size);
    static std::size_t zeroed_bytes(int local_size);

    /// `leaders`: the first ranks of all nodes; `leaders.me` is used only on these ranks.
    NodeReduction(std::span<std::byte> shared, std::size_t capacity, int local_rank, int local_size,
                  const Team& leaders);

    std::size_t capacity() const { return capacity_; }  // in elements
    void start(std::span<float> values, Wire wire, int tag);
    bool advance(Transport& transport);

private:
    enum class State : std::uint8_t { writing, adding, gathering, exchanging, taking, done };
    enum class Point : std::uint8_t { written, summed, total, taken };

    std::atomic_ref<std::uint64_t> counter(Point point, int local_rank) const;
    bool all_reached(Point point, std::uint64_t use) const;
    void reach(Point point) { counter(point, local_rank_).store(use_, std::memory_order_release); }
    bool advance_once(Transport& transport);
    void add_own_share();
    float* contribution(int local_rank) const;
    std::span<float> sum() const;

    std::span<std::byte> shared_;
    std::size_t capacity_;
    int local_rank_;
    int local_size_;
    const Team* leaders_;
    SumTree tree_;  // of local ranks
    std::vector<const float*> parts_;
    FlatReduction between_nodes_;
    std::span<float> values_;
    Wire wire_ = Wire::f32;
    int tag_ = 0;
    std::uint64_t use_ = 0;
    State state_ = State::done;
};

}  // namespace cnntrain::comm
