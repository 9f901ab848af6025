// Turns the sums that a backend returns into the numbers of a log line.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include "cnntrain/metrics/columns.h"
#include "cnntrain/metrics/rows.h"

namespace cnntrain::metrics {

/// Position of a finished host step in the run.
struct HostStepFacts {
    std::int64_t iteration = 0;  // after it
    double epoch = 0;
    double lr = 0;
    double total_seconds = 0;  // since the loop began
};

class Meters {
public:
    /// `window`: RunPlan::averaging_window(). `step_increment`: increment of `step` per host step.
    Meters(std::vector<Column> columns, std::int64_t global_batch, std::int64_t window, std::int64_t step_increment);

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

    /// The state of the reported results, without times, as text for a checkpoint's metadata. A run that restores it
    /// prints the same results as an uninterrupted one, even in mid-step.
    std::string state() const;
    /// Error(data) when the text is not one that state() wrote.
    void restore(const std::string& state);

private:
    /// Of the host step under way.
    struct HostStepSums {
        Sums outputs;  // those that the columns read
        std::int64_t samples = 0;
        double seconds = 0;
    };

    void begin_host_step();
    TrainingRow row(const HostStepFacts& facts, double it_seconds) const;

    std::vector<Column> columns_;
    std::vector<std::string> outputs_;  // that the columns read
    std::int64_t global_batch_;
    std::size_t window_;
    std::int64_t step_increment_;
    std::int64_t step_ = 0;
    HostStepSums current_;
    std::int64_t timed_updates_ = 0;          // the updates whose time is in it: those of this process
    std::deque<std::vector<double>> recent_;  // the columns' values, one element per host step
    bool first_host_step_ = true;             // of this process: its time includes start-up
    double last_it_seconds_ = 0;
    double interval_seconds_ = 0;
    std::int64_t interval_updates_ = 0;
};

}  // namespace cnntrain::metrics
