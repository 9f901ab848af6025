// Messages between ranks that share batch-norm statistics.
//
// They run the same steps in the same order, each on its own micro-batch. A rank that cannot continue (no batch,
// damaged data, a non-finite loss) sends this to the others at the point where they would wait for it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/kernels/kernels.h"
#include "cnntrain/comm/communicator.h"

namespace cnntrain::cpu {

class NormExchange final : public SumsOverRanks {
public:
    /// `ranks`: size of the group. Groups begin at its multiples.
    NormExchange(comm::Communicator& communicator, std::int32_t ranks);

    /// Call while the graph is compiled: reserves memory for a norm with this many channels.
    void reserve(std::int64_t channels);

    std::int64_t ranks() const override { return group_.count; }
    /// The mean and biased variance of each channel over this rank's micro-batch are replaced by those of the group's
    /// micro-batches, all of equal size.
    void merge_moments(std::span<float> mean, std::span<float> variance);
    void add_up(std::span<float> first, std::span<float> second) override;
    /// True if every rank of the group can continue. Collective.
    bool all_go_on(bool this_one);

private:
    /// Gathers two vectors of every rank of the group in received_.
    void gather(std::span<const float> first, std::span<const float> second, std::string_view what);
    float received(std::int64_t rank, std::size_t vector, std::size_t length, std::size_t index) const {
        return received_[(static_cast<std::size_t>(rank) * 2 + vector) * length + index];
    }

    comm::Communicator& communicator_;
    comm::Group group_;
    std::vector<float> sent_;
    std::vector<float> received_;
    std::vector<std::uint64_t> words_;
};

}  // namespace cnntrain::cpu
