// Who reports a run, and what a run says about itself first.
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

/// Console, log.txt and the CSV files.
metrics::Observers report_run(const RunFolder& folder, const Host& host);

/// The same and, with --mlperf-logging, MLPerf's log. Error(unsupported) for a task that MLPerf does not know.
metrics::Observers report_training(const Task& task, const config::ParseResult& arguments, const RunFolder& folder,
                                   const Host& host);

/// What a run says about itself before it begins.
struct Introduction {
    RunFacts facts;
    std::vector<std::string> machine;  // lines
    std::string summary;
    std::map<std::string, config::Value> derived;  // what arguments.json has beyond the options
    std::size_t io_bits = 0;                       // TaskDescription::io_bits
    std::optional<std::int64_t> resumed_at = {};   // iteration; empty: a new run
};

/// Tells the observers, adds TensorBoard and Weights & Biases where the options ask for them, and writes the
/// arguments.json of a run that begins. Error(unsupported) when --wandb cannot work here. The text of arguments.json is
/// returned: a run that is resumed records it when it goes on.
std::string introduce(metrics::Observers& observers, const config::ParseResult& arguments, Introduction introduction,
                      const Host& host);

/// report_run() of a run that trains nothing, introduced. `samples`: that it evaluates, or those of the data that it
/// takes its requests from.
metrics::Observers report_evaluation(const Task& task, const backend::Backend& backend,
                                     const config::ParseResult& arguments, const RunFolder& folder,
                                     std::int64_t samples, const Host& host);

}  // namespace cnntrain::train
