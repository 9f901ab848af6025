// From the sums that a backend returns to the numbers of a log line.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "cnntrain/metrics/rows.h"

namespace cnntrain::metrics {

/// One weight update.
struct UpdateSums {
    double loss = 0;     // summed over the samples, not multiplied by the loss scaling
    double correct = 0;  // samples classified right
    std::int64_t samples = 0;
    double seconds = 0;
};

/// Where a finished host step stands in the run.
struct HostStepFacts {
    std::int64_t iteration = 0;  // after it
    double epoch = 0;
    double lr = 0;
    double total_seconds = 0;  // since the loop began
};

class Meters {
public:
    /// `window`: RunPlan::averaging_window(). `step_increment`: what `step` grows by per host step.
    Meters(std::int64_t global_batch, std::int64_t window, std::int64_t step_increment);

    void add(const UpdateSums& update);
    /// Ends the host step: its mean goes into the window and its time into the interval since the last log line.
    void finish_host_step();
    /// The row of the host step just finished; begins a new interval.
    TrainingRow log_row(const HostStepFacts& facts);

    /// Images per second of the updates since the last log line, or of the last one before; 0 before the first update.
    double recent_images_per_second() const;

    /// Everything that the printed loss and accuracy depend on, as text for a checkpoint's metadata; times are left
    /// out. A run that restores it prints the same losses as one that was never stopped, even in mid-step.
    std::string state() const;
    /// Error(data) when the text is not one that state() wrote.
    void restore(const std::string& state);

private:
    struct Means {
        double loss = 0;
        double accuracy = 0;  // percent
    };

    std::int64_t global_batch_;
    std::size_t window_;
    std::int64_t step_increment_;
    std::int64_t step_ = 0;
    UpdateSums current_;              // of the host step under way
    std::int64_t timed_updates_ = 0;  // the updates whose time is in it: those of this process
    std::deque<Means> recent_;
    bool first_host_step_ = true;  // of this process: its time includes start-up
    double last_it_seconds_ = 0;
    double interval_seconds_ = 0;
    std::int64_t interval_updates_ = 0;
};

}  // namespace cnntrain::metrics
