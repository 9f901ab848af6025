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
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "comm/flat_reduction.h"
#include "comm/transport.h"

namespace cnntrain::comm {

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
