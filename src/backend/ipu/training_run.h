// The host's side of Programs::train: which commands the device gets, and what becomes of its sums.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "backend/ipu/device_graph.h"
#include "backend/ipu/infeed.h"
#include "cnntrain/backend/backend.h"

namespace cnntrain::ipu {

/// How many micro-batches a command should have, so that a stop is honoured within seconds: from the time that earlier
/// ones took. One at first.
class CommandLength {
public:
    std::int64_t micro_batches() const;
    void took(std::int64_t micro_batches, double seconds);

private:
    double seconds_each_ = 0;  // 0: not known yet
};

/// Performs the updates of one call. The device may run its program several times for them.
class TrainingRun {
public:
    struct Settings {
        std::int64_t micro_batches = 1;  // per update
        std::uint64_t seed = 0;          // of stochastic rounding
        bool check_finite = true;
        std::function<bool()> stop_requested = {};
    };
    /// `partial`: continued by the first update; may be empty.
    TrainingRun(const Settings& settings, std::span<const backend::StepScalars> updates,
                const backend::PartialUpdate& partial, const std::vector<SumOutput>& sums, Infeed& infeed);

    /// Number of commands of the next run of the program; 0: nothing is left to do. A command has at most
    /// `micro_batches`.
    std::uint32_t plan(std::int64_t micro_batches);

    // The callbacks of the program, in the order in which it calls them.
    Command next_command();
    const backend::StepScalars& scalars() const { return updates_[update_]; }
    void take_sums(std::span<const float> sums);
    bool verdict();

    /// Of the whole call.
    std::int64_t micro_batches_done() const { return all_done_; }
    /// Results of updates that have ended since the last call, in order.
    std::vector<backend::StepResult> take_results();
    /// The complete micro-batches of an update that was stopped, without its accumulators.
    const backend::PartialUpdate& stopped_within() const { return stopped_within_; }

private:
    bool stop_requested() const { return settings_.stop_requested && settings_.stop_requested(); }
    void begin_update();
    void stop();
    void end_update();

    Settings settings_;
    std::span<const backend::StepScalars> updates_;
    const std::vector<SumOutput>& sum_outputs_;
    Infeed& infeed_;
    std::vector<std::int64_t> planned_;  // micro-batches of the commands of this run
    std::size_t command_ = 0;            // of planned_
    std::size_t update_ = 0;
    std::int64_t done_ = 0;            // complete micro-batches of the update
    std::int64_t all_done_ = 0;        // of all updates
    std::int64_t running_ = 0;         // micro-batches of the command that the device has; 0: it has none
    bool ended_ = false;               // no further update begins
    std::int64_t samples_before_ = 0;  // what the infeed had counted when the update began
    double waited_before_ = 0;
    backend::StepResult result_;  // of the update so far
    std::vector<backend::StepResult> results_;
    backend::PartialUpdate stopped_within_;
};

}  // namespace cnntrain::ipu
