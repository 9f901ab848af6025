// Plans the pipeline of a training command line before it runs: stages, memory, times and better splits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/insight/data_parallel_time.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/runs.h"

namespace cnntrain::plan {

/// Inputs of the prediction for several processes, in addition to the step of one.
struct ProcessPlan {
    std::vector<std::int64_t> counts;  // numbers of processes, ascending, starting at 1
    std::int64_t ranks_per_node = 1;
    Network network;
    std::string network_from;                          // for the output: "as given", "measured ..."
    std::optional<double> samples_per_second{};        // of one process, instead of the measured rate
    std::optional<double> step_spread{};               // standard deviation over mean of one process's step, if given
    std::optional<double> input_samples_per_second{};  // of one process's input; empty: never waited for
};

struct PlanSettings {
    /// A profile.json that `cnntrain profile` has written for this line without its pipeline: times of the network's
    /// functions, for as many threads as its lanes had. Times for other numbers of threads are measured.
    std::optional<std::string> profile{};
    std::optional<std::uint64_t> memory_limit_bytes{};  // per stage, for the proposed splits
    std::optional<std::int32_t> stages{};               // number to propose; empty: that of the command line, or two
    std::int64_t steps = 3;                             // number of measured weight updates, after one for warm-up
    bool measure = true;                                // false: estimate times that no profile has from FLOPs
    std::optional<ProcessPlan> processes{};             // if set, predicts several processes instead of stages
};

/// Prints the plan of a `train` command line: its stages, or the prediction for several processes. Needs neither its
/// data nor its checkpoints. Throws Error(usage) for splits or a number of stages that the network does not have, for a
/// profile of something else, and for a memory limit that no splits satisfy; Error(data) for a damaged profile.
void plan_training(const run::TaskRow& row, const options::ParseResult& line, const PlanSettings& settings,
                   const run::Host& host);

}  // namespace cnntrain::plan
