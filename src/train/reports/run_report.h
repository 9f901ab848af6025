// The observers that report a run, and the introduction printed at its start.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/config/parse.h"
#include "cnntrain/metrics/observer.h"
#include "cnntrain/train/runs.h"
#include "cnntrain/train/task.h"
#include "train/reports/describe.h"

namespace cnntrain::train {

/// Console, log.txt, CSV files and, with --mlperf-logging, MLPerf's log. Error(unsupported) for a task without an
/// MLPerf benchmark.
metrics::Observers report_training(const Task& task, const config::ParseResult& arguments, const RunFolder& folder,
                                   const Host& host);

/// The contents of a run's introduction.
struct Introduction {
    RunFacts facts;
    std::vector<std::string> machine;  // lines
    std::string summary;
    std::string title;                             // the network
    std::vector<Topic> topics;                     // the summary for a screen
    std::map<std::string, config::Value> derived;  // keys of arguments.json that are not options
    std::size_t io_bits = 0;                       // TaskDescription::io_bits
    std::string events_folder = {};                // TaskDescription::events_folder
    std::optional<std::int64_t> resumed_at = {};   // iteration at which it resumed; empty: a new run
};

/// Prints the introduction, adds TensorBoard and Weights & Biases if the options ask for them, and writes the
/// arguments.json of a new run. Throws Error(unsupported) if --wandb cannot work here. Returns the text of
/// arguments.json, which a resumed run records later.
std::string introduce(metrics::Observers& observers, const config::ParseResult& arguments, Introduction introduction,
                      const Host& host);

/// Console, log.txt and CSV files of a run without training, with its introduction. `samples`: number of samples that
/// are evaluated or available for requests.
metrics::Observers report_evaluation(const Task& task, const backend::Backend& backend,
                                     const config::ParseResult& arguments, const RunFolder& folder,
                                     std::int64_t samples, const Host& host);

}  // namespace cnntrain::train
