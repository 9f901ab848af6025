// Converts the sums returned by a backend to the numbers of a log line.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cnntrain/run/observer.h"
#include "cnntrain/run/rows.h"

namespace cnntrain::metrics {

/// Position of a finished host step in the run.
struct HostStepFacts {
    std::int64_t iteration = 0;  // after the host step
    double epoch = 0;
    double lr = 0;
    double total_seconds = 0;  // since the start of the loop
};

class Meters {
public:
    /// `update_samples`: of a weight update of all replicas, on average. `window`: RunPlan::averaging_window().
    /// `step_increment`: increment of `step` per host step.
    Meters(std::vector<Column> columns, double update_samples, std::int64_t window, std::int64_t step_increment);

    /// One weight update: the sums of the graph's outputs over its samples, and its time.
    void add(const Sums& sums, std::int64_t samples, double seconds);
    /// Ends the host step: adds its mean to the window and its time to the interval since the last log line.
    void finish_host_step();
    /// The row of the host step just finished, with the times of all since the last log line; begins a new interval.
    TrainingRow log_row(const HostStepFacts& facts);
    /// The same with the times of this host step alone.
    TrainingRow host_step_row(const HostStepFacts& facts) const;

    /// Samples per second of the updates since the last log line, or of the last one before; 0 before the first update.
    double recent_samples_per_second() const;
    /// The columns with a label, as exponential means over this process's updates.
    std::vector<Reading> recent_readings() const;

    /// The state of the reported results, without times, as text for a checkpoint's metadata. A run that restores it
    /// prints the same results as an uninterrupted one, even in mid-step.
    std::string state() const;
    /// Error(data) if the text was not written by state().
    void restore(const std::string& state);

private:
    /// Sums of the current host step.
    struct HostStepSums {
        Sums outputs;  // outputs that the columns read
        std::int64_t samples = 0;
        double seconds = 0;
    };

    void begin_host_step();
    TrainingRow row(const HostStepFacts& facts, double it_seconds) const;

    std::vector<Column> columns_;
    std::vector<std::string> outputs_;  // outputs that the columns read
    double update_samples_;
    std::size_t window_;
    std::int64_t step_increment_;
    std::int64_t step_ = 0;
    HostStepSums current_;
    std::int64_t timed_updates_ = 0;  // number of updates in it whose time is measured: those of this process
    Sums smooth_;                     // of outputs and samples of the last updates, the newest with weight 1
    double smooth_samples_ = 0;
    std::deque<std::vector<double>> recent_;  // the columns' values per host step
    bool first_host_step_ = true;             // first of this process: its time includes start-up
    double last_it_seconds_ = 0;
    double interval_seconds_ = 0;
    std::int64_t interval_updates_ = 0;
};

}  // namespace cnntrain::metrics
