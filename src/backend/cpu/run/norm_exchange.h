// What ranks that share batch-norm statistics say to each other in the middle of a micro-batch.
//
// They do the same steps in the same order, each on its own micro-batch. One that cannot go on (no batch, damaged data,
// a loss that is not finite) tells the others where they would begin to wait for it.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/kernels/kernels.h"
#include "cnntrain/comm/communicator.h"

namespace cnntrain::cpu {

class NormExchange final : public SumsOverRanks {
public:
    /// `ranks`: of the group that this rank belongs to, which begins at a multiple of it.
    NormExchange(comm::Communicator& communicator, std::int32_t ranks);

    /// While the graph is compiled: a norm has so many channels.
    void reserve(std::int64_t channels);

    std::int64_t ranks() const override { return group_.count; }
    /// Mean and biased variance of each channel over this rank's micro-batch become those over all of the group's,
    /// which are of one size.
    void merge_moments(std::span<float> mean, std::span<float> variance);
    void add_up(std::span<float> first, std::span<float> second) override;
    /// Does every rank of the group go on?
    bool all_go_on(bool this_one);

private:
    /// Two vectors of every rank of the group into received_.
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
