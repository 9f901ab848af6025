// Start positions of a stream's batches, counted over all ranks. Pure arithmetic.
#pragma once

#include <cstdint>

#include "cnntrain/data/loader.h"

namespace cnntrain::data {

class StreamPlaces {
public:
    StreamPlaces(std::int64_t samples, const LoaderSettings& settings)
        : samples_(samples),
          micro_batch_(settings.micro_batch),
          rank_(settings.rank),
          ranks_(settings.ranks),
          start_(settings.first_sample),
          endless_(settings.feed == Feed::training) {}

    /// Samples in one micro-batch of every rank.
    std::int64_t round() const { return micro_batch_ * ranks_; }
    std::int64_t batches_per_sweep() const { return (samples_ + round() - 1) / round(); }
    /// Position of the first sample of this rank's batch `batch`: in the endless stream, or in its sweep over the data.
    /// In a sweep it may be beyond the last sample; then the whole batch is padding.
    std::int64_t first_sample(std::int64_t batch) const {
        const std::int64_t in_stream = endless_ ? batch : batch % batches_per_sweep();
        return start_ + in_stream * round() + rank_ * micro_batch_;
    }
    /// Position of the first sample of a round.
    std::int64_t round_begin(std::int64_t batch) const { return start_ + batch * round(); }

private:
    std::int64_t samples_, micro_batch_, rank_, ranks_, start_;
    bool endless_;
};

}  // namespace cnntrain::data
