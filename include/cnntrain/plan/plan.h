// Plans the pipeline of a training command line before it runs: stages, memory, times and better splits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/config/parse.h"
#include "cnntrain/plan/data_parallel_time.h"
#include "cnntrain/train/runs.h"

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
    /// File with the measured times of the network's functions: read if it exists, otherwise written after measuring.
    /// Times for a number of threads that is missing in the file are measured and added.
    std::optional<std::string> profile{};
    std::optional<std::uint64_t> memory_limit_bytes{};  // per stage, for the proposed splits
    std::optional<std::string> svg{};                   // file for the chart
    std::optional<std::int32_t> stages{};               // number to propose; empty: that of the command line, or two
    std::int64_t steps = 3;                             // number of measured weight updates, after one for warm-up
    bool measure = true;                                // false: estimate times missing in the profile from FLOPs
    std::optional<ProcessPlan> processes{};             // if set, predicts several processes instead of stages
};

/// Prints the plan of a `train` command line: its stages, or the prediction for several processes. Needs neither its
/// data nor its checkpoints. Throws Error(usage) for splits or a number of stages that the network does not have, for a
/// profile made for something else, for a memory limit that no splits satisfy, and as check_outputs(); Error(data) for
/// a damaged profile; Error(storage) for a file that cannot be written.
void plan_training(const train::TaskRow& row, const config::ParseResult& line, const PlanSettings& settings,
                   const train::Host& host);

}  // namespace cnntrain::plan
