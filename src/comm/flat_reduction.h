// A reduction in which every member of a team exchanges its share of a bucket with all others.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "comm/summation.h"
#include "comm/transport.h"

namespace cnntrain::comm {

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

}  // namespace cnntrain::comm
