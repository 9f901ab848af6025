// Reports how far a long weight update is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/data/batch.h"
#include "cnntrain/metrics/observer.h"

namespace cnntrain::train {

/// Forwards the micro-batches of weight updates and counts them. An update that takes longer than kLongUpdateSeconds
/// is reported with each further micro-batch. Those on their way in a pipeline count as done.
class UpdateProgress final : public data::BatchSource {
public:
    struct Facts {
        std::int64_t micro_batches = 1;    // of an update, on this rank
        std::int64_t ranks = 1;            // each is taken to be as fast as this one
        std::string update = "iteration";  // name of an update
        std::string_view samples = {};     // name of samples
    };
    static constexpr double kLongUpdateSeconds = 10;

    /// `seconds`: a clock; empty: the system's.
    UpdateProgress(data::BatchSource& source, metrics::Observer& observer, Facts facts,
                   std::function<double()> seconds = {});

    /// An update begins: number `iteration` of the run, counted from 1, of which `done` micro-batches were done before.
    void begin(std::int64_t iteration, std::int64_t done);

    std::vector<data::Field> fields() const override { return source_.fields(); }
    /// Called by one thread at a time, as the observer then is.
    data::Batch next() override;

private:
    void report() const;

    data::BatchSource& source_;
    metrics::Observer& observer_;
    Facts facts_;
    std::function<double()> seconds_;
    std::string unit_;
    double start_ = 0;
    std::int64_t first_ = 0;    // micro-batches done before
    std::int64_t taken_ = 0;    // with them
    std::int64_t samples_ = 0;  // without them
};

}  // namespace cnntrain::train
