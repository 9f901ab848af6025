// Converts the sums returned by a backend to the numbers of a log line.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "cnntrain/metrics/progress.h"
#include "cnntrain/metrics/rows.h"

namespace cnntrain::metrics {

// The numbers that a task reports, and the unit that it counts.

/// The outputs of a graph, summed over samples.
using Sums = std::map<std::string, double>;

void add(Sums& sums, const Sums& more);

/// A reported number: scale * the sum of an output / the sum of the divisor.
struct Column {
    std::string name;          // in files; a training row has <name>_batch and <name>_avg
    std::string output;        // of the graph
    std::string divisor = {};  // the output whose sum divides; empty: the number of samples does
    double scale = 1;          // 100: percent
    bool at_end = false;       // validation.csv: last columns, because some programs find the others by position
    std::string label = {};    // its name on a screen: a progress line, the table of epochs; empty: it is not there
};

/// A number of a training row that is a function of TrainingRow::iteration alone.
struct PlannedColumn {
    std::string name;
    std::function<double(std::int64_t)> value;
};

/// The unit that a task counts, as log lines and column names print it.
struct Unit {
    std::string one;    // "image"
    std::string many;   // "images"
    std::string brief;  // "img"
};

/// TensorBoard's curves of a training, whose log lines may be far apart.
struct Curves {
    bool every_host_step = false;             // false: only host steps with a log line
    std::vector<PlannedColumn> planned = {};  // with every_host_step: curves without a column, by name
    std::string compile_time = {};            // curve of the seconds until the first step could start; empty: none
};

struct TrainingRow;

/// Position of a training row in the run, as shown to users.
struct Position {
    std::int64_t step = 0;
    double epoch = 0;
};

struct Columns {
    Unit unit = {};
    /// Step and epoch in log lines and tables, and the step of curves, for tasks that number their steps themselves;
    /// empty: the row's own step and epoch, and its iteration for curves.
    std::function<Position(const TrainingRow& row)> position = {};
    /// TensorBoard's names of training columns; other columns are named training/<name>.
    std::map<std::string, std::string> tags = {};
    std::vector<Column> training = {};
    std::vector<PlannedColumn> planned = {};  // last columns of training rows; tables of earlier versions lack them
    std::vector<Column> validation = {};
    /// Last columns of tables of validations during training, which other validations do not have.
    std::vector<std::string> more_validation = {};
    std::vector<Column> inference = {};
    Curves curves = {};
};

/// The outputs that the columns read, without repetition, in reading order.
std::vector<std::string> outputs_of(const std::vector<Column>& columns);

/// Error(internal) if the graph has no such output.
double sum_of(const Sums& sums, const std::string& output);

/// A column's value; 0 if the divisor is 0. Samples may have weights, and then are no whole number.
double value_of(const Column& column, const Sums& sums, double samples);

/// The columns' values; 0 if the divisor is 0. Multiplies by the scale before dividing, so that whole percentages are
/// exact.
std::vector<double> values_of(const std::vector<Column>& columns, const Sums& sums, std::int64_t samples);

/// Position of a finished host step in the run.
struct HostStepFacts {
    std::int64_t iteration = 0;  // after the host step
    double epoch = 0;
    double lr = 0;
    double total_seconds = 0;  // since the start of the loop
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
    std::int64_t global_batch_;
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
