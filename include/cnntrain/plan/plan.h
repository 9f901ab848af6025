// The pipeline of a training line before it runs: stages, memory, times, and better splits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/config/parse.h"
#include "cnntrain/plan/data_parallel_time.h"
#include "cnntrain/train/runs.h"

namespace cnntrain::plan {

/// Inputs of the prediction for several processes, besides the step of one.
struct ProcessPlan {
    std::vector<std::int64_t> counts;  // of processes, ascending, from 1
    std::int64_t ranks_per_node = 1;
    Network network;
    std::string network_from;                   // for the reader: "as given", "measured ..."
    std::optional<double> images_per_second{};  // of one process, instead of the measured rate
};

struct PlanSettings {
    /// File with the measured times of the network's functions: read if it exists, else written after the measurement.
    /// Times for a number of threads that the file lacks are measured and added.
    std::optional<std::string> profile{};
    std::optional<std::uint64_t> memory_limit_bytes{};  // of a stage, for the proposed splits
    std::optional<std::string> svg{};                   // file for the chart
    std::optional<std::int32_t> stages{};               // to propose; empty: the line's, or two
    std::int64_t steps = 3;                             // measured weight updates, after one for warm-up
    bool measure = true;                                // false: times follow from FLOPs, unless the profile knows them
    std::optional<ProcessPlan> processes{};             // predicted instead of stages
};

/// Prints the plan of a `train` line: its stages, or the prediction for several processes. Needs neither the line's
/// data nor its checkpoints.
/// Error(usage): splits or a number of stages that the network does not have, a profile of something else, a memory
/// limit that no splits keep. Error(data): a damaged profile. Error(storage): a file that cannot be written.
void plan_training(const config::ParseResult& line, const PlanSettings& settings, const train::Host& host);

}  // namespace cnntrain::plan
