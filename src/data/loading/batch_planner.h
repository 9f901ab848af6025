// Maps the positions of a stream to samples of a data set.
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/base/rng.h"
#include "cnntrain/data/dataset.h"
#include "data/loading/stream_places.h"

namespace cnntrain::data {

inline constexpr std::int64_t kPaddingRecord = -1;

struct PlannedSample {
    std::int64_t record = kPaddingRecord;
    SamplePosition position;
};

/// Pure function of the data set's size, the settings and the batch number.
class BatchPlanner {
public:
    BatchPlanner(std::int64_t samples, const LoaderSettings& settings)
        : samples_(samples), seed_(settings.seed), feed_(settings.feed), places_(samples, settings) {}

    const StreamPlaces& places() const { return places_; }

    void plan(std::int64_t batch, std::vector<PlannedSample>& out) {
        const std::int64_t first = places_.first_sample(batch);
        const auto sweep = static_cast<std::uint32_t>(batch / places_.batches_per_sweep());
        for (std::size_t i = 0; i < out.size(); ++i) {
            const std::int64_t place = first + static_cast<std::int64_t>(i);
            out[i] = feed_ == Feed::training ? training_sample(place) : sweep_sample(sweep, place);
        }
    }

    std::uint64_t held_bytes() const { return order_.capacity() * sizeof(order_[0]); }

private:
    PlannedSample training_sample(std::int64_t position) {
        const auto epoch = static_cast<std::uint32_t>(position / samples_);
        const auto index = static_cast<std::uint64_t>(position % samples_);
        if (order_.empty() || order_epoch_ != epoch) {
            order_ = shuffled_order(seed_, epoch, static_cast<std::uint32_t>(samples_));
            order_epoch_ = epoch;
        }
        return {order_[index], {epoch, index}};
    }

    PlannedSample sweep_sample(std::uint32_t sweep, std::int64_t index) const {
        if (index >= samples_) return {};
        return {index, {sweep, static_cast<std::uint64_t>(index)}};
    }

    std::int64_t samples_;
    std::uint64_t seed_;
    Feed feed_;
    StreamPlaces places_;
    std::vector<std::uint32_t> order_;
    std::uint32_t order_epoch_ = 0;
};

}  // namespace cnntrain::data
