// The observers that report a run, and the introduction printed at its start.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/observer.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/reports/describe.h"

namespace cnntrain::run {

/// Console, log.txt, CSV files and, with --mlperf-logging, MLPerf's log. Error(unsupported) for a task without an
/// MLPerf benchmark.
metrics::Observers report_training(const Task& task, const options::ParseResult& arguments, const RunFolder& folder,
                                   const Host& host);

/// The contents of a run's introduction.
struct Introduction {
    RunFacts facts;
    std::vector<std::string> machine;  // lines
    std::string summary;
    std::string title;                              // the network
    std::vector<Topic> topics;                      // the summary for a screen
    std::map<std::string, options::Value> derived;  // keys of arguments.json that are not options
    std::size_t io_bits = 0;                        // TaskDescription::io_bits
    std::string events_folder = {};                 // TaskDescription::events_folder
    std::optional<std::int64_t> resumed_at = {};    // iteration at which it resumed; empty: a new run
};

/// Prints the introduction, adds TensorBoard and Weights & Biases if the options ask for them, and writes the
/// arguments.json of a new run. Throws Error(unsupported) if --wandb cannot work here. Returns the text of
/// arguments.json, which a resumed run records later.
std::string introduce(metrics::Observers& observers, const options::ParseResult& arguments, Introduction introduction,
                      const Host& host);

/// Console, log.txt and CSV files of a run without training, with its introduction. `samples`: number of samples that
/// are evaluated or available for requests.
metrics::Observers report_evaluation(const Task& task, const backend::Backend& backend,
                                     const options::ParseResult& arguments, const RunFolder& folder,
                                     std::int64_t samples, const Host& host);
/// Reports a compilation of so many seconds; true if an evaluation ends with it, as --compile-only asks.
bool ends_after_compiling(const options::Settings& settings, double seconds, metrics::Observers& observers);

// The lines that TensorFlow's Estimator prints in an evaluation, for users of the large-batch recipe:
//
//   Evaluation [25/250]
//   Finished evaluation at 2018-04-15-16:27:08
//   Saving dict for global step 14075: Top-1 accuracy = 0.75232, Top-5 accuracy = 0.9241, [in the same line]
//     global_step = 14075, loss = 1.9024274
//   Eval results: {'Top-1 accuracy': 0.75232, 'loss': 1.9024274, 'Top-5 accuracy': 0.9241, 'global_step': 14075}

/// weight_decay / 2 times the sum of squares of all trainable variables, without those of norms.
double weight_loss(const std::map<std::string, HostTensor>& tensors, double weight_decay);

class EstimatorLog final : public metrics::Handles<EstimatorLog> {
public:
    /// `checkpoints`: the evaluated checkpoints, found by the names in rows. `console` must outlive this object.
    EstimatorLog(double weight_decay, std::vector<weights::Found> checkpoints, weights::Edited edited,
                 const FileSystem& files, metrics::Observer& console);

    /// Prints every tenth part of the batches, or every batch if there are fewer than 20.
    void handle(const metrics::Progress& progress);
    /// Loads the row's checkpoint to compute the weights' part of the loss.
    void handle(const metrics::Row& row);

private:
    double weight_decay_;
    std::vector<weights::Found> checkpoints_;
    weights::Edited edited_;
    const FileSystem& files_;
    metrics::Observer& console_;
};

// Settings that a screen shows at the start of a run: what a person wants to check, in a few lines.

/// "resnet 20, batch norm, 269722 parameters"; without a graph, without parameters.
std::string network_title(const TaskDescription& task, const graph::Graph* graph = nullptr);

/// `validation_samples`: empty without a validation.
std::vector<Topic> training_topics(const Task& task, const options::Settings& settings, const schedule::RunPlan& plan,
                                   std::int64_t training_samples, std::optional<std::int64_t> validation_samples);

/// Topics of validation and inference.
std::vector<Topic> evaluation_topics(const Task& task, const options::Settings& settings, std::int64_t samples);

}  // namespace cnntrain::run
