// Validation during training: of the weights as they are, and of their moving average if the training keeps one.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/options/settings.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/rows.h"
#include "cnntrain/run/task.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/averaging.h"
#include "run/evaluator.h"

namespace cnntrain::run {

// Measures time.

/// Seconds since construction.
class Stopwatch {
public:
    double seconds() const { return seconds_since(start_); }

private:
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Summary of at least one time in milliseconds. Percentile p is at position p * (n - 1) of the sorted times, with
/// linear interpolation.
metrics::Latencies summarise(std::vector<double> milliseconds);

/// Forwards batches and keeps the time at which the last one was created. Batches that were ready before this tap count
/// from the tap's construction.
class CreationTap final : public data::BatchSource {
public:
    explicit CreationTap(data::BatchSource& source) : source_(source) {}

    std::vector<data::Field> fields() const override { return source_.fields(); }
    data::Batch next() override;
    /// Time since the last batch became ready on the host.
    double milliseconds_since_creation() const;

private:
    data::BatchSource& source_;
    std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
    std::chrono::steady_clock::time_point created_;
};

// `--dataset-benchmark`: measures the input pipeline alone.

/// Takes `batches` batches as fast as they arrive and logs the throughput, the rate of each stage per core, and the
/// memory in use. Returns the exit code of the process: 0, or kInterruptedExitCode if a stop was requested.
int measure_input_speed(data::Stream& stream, std::int64_t batches, const metrics::Unit& unit,
                        metrics::Observers& observers, const std::function<bool()>& stop_requested);

// The best validation of a training, and how many followed it.

/// True for results of which less is better.
inline bool less_is_better(Metric metric) {
    return metric == Metric::loss;
}

class BestResult {
public:
    explicit BestResult(Metric metric) : metric_(metric) {}

    struct Point {
        double value = 0;
        std::int64_t iteration = 0;
        bool operator==(const Point&) const = default;
    };

    /// Counts a validation. True if it is better than all before. A value that is not finite is never better.
    bool add(double value, std::int64_t iteration);

    Metric metric() const { return metric_; }
    const std::optional<Point>& best() const { return best_; }
    /// Validations since the best one, or all if none was finite.
    std::int64_t without_better() const { return without_better_; }
    /// The iteration that was validated last; 0: none.
    std::int64_t last() const { return last_; }

    /// The state as text for a checkpoint's metadata.
    std::string state() const;
    /// Takes a state over. False if it goes by another metric: then only last() is taken over. Error(data) if state()
    /// did not write the text.
    bool restore(const std::string& state);

private:
    Metric metric_;
    std::optional<Point> best_;
    std::int64_t without_better_ = 0;
    std::int64_t last_ = 0;
};

/// The metric that the user asked for, or the first of accuracy and loss that the task has. Error(usage) if the task
/// has no such result.
Metric compared_metric(const Task& task, const ValidationSettings& settings);

/// Validates a training at its planned times, reports the rows, compares the results, and says when the training ends
/// early. All processes of the training call it together, and come to the same results.
class Monitor {
public:
    /// `class_folder`: where the table of classes is written; empty: nowhere. Error(usage) if the task has no result of
    /// the kind by which the settings compare.
    Monitor(const Task& task, std::unique_ptr<Evaluator> evaluator, const ValidationSettings& settings,
            const schedule::RunPlan& plan, metrics::Observers& observers, FileSystem& files, std::string class_folder);

    /// True if a validation is planned at this iteration and not done.
    bool is_due(std::int64_t iteration) const { return planned_.is_at(iteration) && result_.last() != iteration; }
    /// The next planned validation.
    std::int64_t next(std::int64_t iteration) const { return planned_.next(iteration); }

    enum class Outcome { stopped, not_better, better };
    /// Validates the weights of the training, and `average` if there is one, by which the results are then compared.
    /// `stopped`: a stop was requested, and the validation is still due.
    Outcome validate(std::int64_t iteration, const backend::Executable& training, const WeightAverage* average);

    /// True if the best weights are kept.
    bool keeps_best() const { return settings_.keep_best.has_value(); }
    const BestResult& result() const { return result_; }
    /// Metadata for a checkpoint of the weights that were validated last.
    const std::map<std::string, std::string>& metadata() const { return evaluator_->scored().metadata; }
    bool ends_early() const { return settings_.early_stop > 0 && result_.without_better() >= settings_.early_stop; }
    /// "accuracy 61.300 of iteration 60".
    std::string best_text() const;
    /// "3 validations without a better accuracy than 61.300 of iteration 60".
    std::string end_text() const;

    /// Restores the state of a resumed training. Error(data) if `state` was not written by result().state().
    void restore(const std::string& state);

private:
    /// Validates the loaded weights; empty if a stop was requested.
    std::optional<metrics::ValidationRow> run(const std::string& name, std::int64_t iteration);
    std::string name_of(std::int64_t iteration) const;

    const Task& task_;
    std::unique_ptr<Evaluator> evaluator_;
    ValidationSettings settings_;
    const schedule::RunPlan& plan_;
    schedule::PlannedValidations planned_;
    metrics::Observers& observers_;
    FileSystem& files_;
    std::string class_folder_;
    std::vector<std::string> class_names_;
    BestResult result_;
};

}  // namespace cnntrain::run
