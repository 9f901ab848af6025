// Where the batches of a stream begin among the samples of all ranks: pure arithmetic.
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

    /// Samples that all ranks together take at a time.
    std::int64_t round() const { return micro_batch_ * ranks_; }
    std::int64_t batches_per_pass() const { return (samples_ + round() - 1) / round(); }
    /// This rank's batch number `batch` begins there: in the endless stream, or in its pass (beyond the last sample, if
    /// all of the batch is padding).
    std::int64_t first_sample(std::int64_t batch) const {
        const std::int64_t in_stream = endless_ ? batch : batch % batches_per_pass();
        return start_ + in_stream * round() + rank_ * micro_batch_;
    }
    /// The number of the first sample of a round.
    std::int64_t round_begin(std::int64_t batch) const { return start_ + batch * round(); }

private:
    std::int64_t samples_, micro_batch_, rank_, ranks_, start_;
    bool endless_;
};

}  // namespace cnntrain::data
