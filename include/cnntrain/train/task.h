// What is trained: the data, the graphs, the results and the names of one kind of training. Everything else of a run is
// the same for all tasks: the loop, checkpoints, validation, logs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/data/field.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/metrics/observer.h"
#include "cnntrain/metrics/rows.h"
#include "cnntrain/schedule/run_plan.h"

namespace cnntrain::train {

/// The opened and checked data of one split.
class Samples {
public:
    virtual ~Samples() = default;
    virtual std::int64_t count() const = 0;
    /// Of a micro-batch: what the graphs are built for.
    virtual std::vector<data::Field> fields(std::int64_t micro_batch) const = 0;
    /// Training batches or passes, as the split asks for. Its own are `settings.feed` and `settings.seed`: whoever
    /// calls this does not set them.
    virtual std::unique_ptr<data::Stream> stream(const data::LoaderSettings& settings) const = 0;
};

/// The learning rate as MLPerf's log tells it.
struct MlperfRate {
    double warmup_iterations = 0;
    double base = 0;
    double end = 0;
    double decay_power = 0;  // exponent of the fall after the warm-up; 0 where it is no power
};

/// What MLPerf's log says about a task beyond the run itself.
struct MlperfBenchmark {
    std::string name;     // "resnet"
    std::string quality;  // validation column in percent, logged as eval_accuracy
    double target = 0;    // of the quality, above which a run counts as a success
    std::vector<std::pair<std::string, config::Value>> facts;
    double warmup_epochs = 0;
    std::function<MlperfRate(const metrics::TrainingSize&)> rate;
};

/// What a task says about itself.
struct TaskDescription {
    std::string model;                             // in names of files: "resnet50"
    std::string title = {};                        // for people: "resnet 50"
    std::string details;                           // behind the title: "batch norm"
    std::string update = "iteration";              // what a weight update is called
    std::map<std::string, std::string> identity;   // what a compiled model depends on: "model" -> "resnet-50"
    std::map<std::string, std::string> work = {};  // what changes the work of a function besides: "norm" -> "batch"
    std::string summary_head;                      // first and last lines of a run's summary
    std::string summary_training;                  // what it says about a training
    std::string summary_tail;
    backend::Arithmetic arithmetic;  // of this machine's part of the run
    std::size_t io_bits = 0;  // of each number in which samples travel to the device; 0: nothing is said about it
    std::map<std::string, config::Value> arguments;  // the keys that arguments.json has beyond the options
    std::optional<MlperfBenchmark> mlperf;           // empty: MLPerf has no such benchmark
};

/// A line of a dry run.
struct Topic {
    std::string name;
    std::string text;
};

/// A task that assigns each sample one of C classes; `inference` without --iterations needs it.
class Classifier {
public:
    virtual ~Classifier() = default;

    struct Subjects {
        std::unique_ptr<data::Stream> stream;
        std::vector<std::string> names;  // empty: they are known by their numbers
    };
    virtual Subjects subjects(const std::function<bool()>& stop_requested) const = 0;
    /// With the output kLogits, [N,C].
    virtual graph::Graph classifying_graph(const std::vector<data::Field>& fields) const = 0;
    /// The field with the right class, i32[N].
    virtual std::string_view label_field() const = 0;
};
inline constexpr const char* kLogits = "logits";

class Task {
public:
    virtual ~Task() = default;

    virtual const metrics::Columns& columns() const = 0;
    /// The output whose sum is the loss: training has diverged when it is not finite.
    virtual std::string loss() const = 0;
    /// The rows as they are printed.
    virtual std::string printed(const metrics::TrainingRow& row) const = 0;
    virtual std::string printed(const metrics::ValidationRow& row) const = 0;
    virtual std::string printed(const metrics::InferenceRow& row) const = 0;

    virtual TaskDescription description() const = 0;
    /// Name of a new run's folder; `tag` keeps those of equal runs apart.
    virtual std::string run_name(std::string_view tag) const = 0;

    /// Error(data) when files are missing or damaged, Error(usage) for settings that cannot be.
    virtual std::unique_ptr<Samples> open(data::Split split) const = 0;
    /// False when all samples are made up alike: results of them mean nothing, and a few tell as much as many.
    virtual bool has_real_data() const = 0;
    /// Samples of the published set; no file is looked for.
    virtual std::int64_t published_samples(data::Split split) const = 0;
    /// Samples that a run uses: counted in its files when they are there, else of the published set. For plans, before
    /// the data are opened. Error(data) when the files are damaged.
    virtual std::int64_t used_samples(data::Split split) const = 0;

    /// Length, host steps, log lines and checkpoints of a training on so many samples. Error(usage) as
    /// schedule::make_run_plan().
    virtual schedule::RunPlan plan(std::int64_t samples) const = 0;
    /// The learning rate by HostStep::lr_iteration.
    virtual std::function<double(std::int64_t)> learning_rate(const schedule::RunPlan& plan) const = 0;
    /// By how much the number in a checkpoint's name is below the weight updates that it holds (the first one's is 0
    /// always).
    virtual std::int64_t checkpoint_lag() const { return 0; }
    /// Whether a training that begins with the weights of a checkpoint also takes over the optimiser's state, if it is
    /// there.
    virtual bool takes_over_optimiser() const { return false; }

    /// One whole weight update, with all that the options ask for; with_update() in weight_update.h makes it of a
    /// forward graph.
    /// `fields`: Samples::fields().
    virtual graph::Graph training_graph(const std::vector<data::Field>& fields) const = 0;
    /// Forward only, with the outputs that the columns of validation and inference read.
    virtual graph::Graph evaluation_graph(const std::vector<data::Field>& fields) const = 0;

    /// Model, data and input of what the command would do.
    virtual std::vector<Topic> dry_run_topics(config::Command command) const = 0;
    /// Optimiser and learning rate of a training.
    virtual std::vector<Topic> rate_topics(const schedule::RunPlan& plan) const = 0;
    /// Samples::fields() of `samples` generated samples; reads no file.
    virtual std::vector<data::Field> fields_of_generated(std::int64_t samples) const = 0;

    /// Null when the task assigns no classes.
    virtual const Classifier* classifier() const { return nullptr; }
};

/// A row of the table of tasks (tasks/task_table.cpp).
struct TaskRow {
    config::TaskOptions options;
    /// `backend`: what the graphs are made for; it must outlive the task. `seed`: of the order and the transformations
    /// of the samples.
    std::unique_ptr<Task> (*make)(const config::ParseResult& arguments, const backend::Backend& backend,
                                  std::uint64_t seed);
    /// Names of the network's functions, in its order: a pipeline stage may begin with each.
    std::vector<std::string> (*functions)(const config::Settings& settings);
    /// Those with which stages usually begin; null: all.
    std::vector<std::string> (*usual_splits)(const config::Settings& settings) = nullptr;
    /// Every process that poprun starts prints by default: benchmarks of the original programs count their lines.
    bool every_process_prints = false;
};

/// The row for all observers.
template <typename Row> metrics::Record reported(const Task& task, const Row& row) {
    metrics::Record record = metrics::record(row, task.columns());
    record.text = task.printed(row);
    return record;
}

}  // namespace cnntrain::train
