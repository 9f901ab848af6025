// The host's side of Programs::train: what the device gets for each update, and what becomes of its sums.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backend/ipu/device_graph.h"
#include "backend/ipu/infeed.h"
#include "cnntrain/backend/backend.h"

namespace cnntrain::ipu {

/// Performs the updates of one call. Functions are called by the program's streams, in the order in which they stand
/// here.
class TrainingRun {
public:
    struct Settings {
        std::int64_t micro_batches = 1;  // per update and replica
        std::int64_t replicas = 1;
        bool stops_within_updates = true;
        std::uint64_t seed = 0;  // of stochastic rounding
        bool check_finite = true;
        std::function<bool()> stop_requested = {};
    };
    /// `partial`: continued by the first update; may be empty.
    TrainingRun(const Settings& settings, std::span<const backend::StepScalars> updates,
                const backend::PartialUpdate& partial, const std::vector<SumOutput>& sums, data::BatchSource& source,
                Infeed& infeed);

    Command next_command();
    const backend::StepScalars& scalars() const { return updates_[update_]; }
    /// Of one replica.
    void take_sums(std::span<const float> sums);
    /// Whether the update changes the variables.
    bool verdict();

    std::size_t updates_left() const { return ended_ ? 0 : updates_.size() - update_; }
    /// Results of updates that have ended since the last call, in order.
    std::vector<backend::StepResult> take_results();
    /// The complete micro-batches of an update that was stopped, without its accumulators.
    const backend::PartialUpdate& stopped_within() const { return stopped_within_; }

private:
    bool stop_requested() const { return settings_.stop_requested && settings_.stop_requested(); }
    void begin_update();

    Settings settings_;
    std::span<const backend::StepScalars> updates_;
    const std::vector<SumOutput>& sums_;
    Infeed& infeed_;
    std::size_t update_ = 0;
    bool ended_ = false;      // no further update begins
    std::int64_t first_ = 0;  // micro-batches of the update that were complete before this run
    std::int64_t taken_ = 0;  // what the infeed had counted when the update began
    std::int64_t samples_ = 0;
    double wait_seconds_ = 0;
    backend::StepResult result_;  // of the update
    std::vector<backend::StepResult> results_;
    backend::PartialUpdate stopped_within_;
};

}  // namespace cnntrain::ipu
