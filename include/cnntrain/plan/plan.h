// What the pipeline of a training line looks like before it is run: stages, memory, times, and the splits that are
// better.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cnntrain/config/parse.h"
#include "cnntrain/plan/data_parallel_time.h"
#include "cnntrain/train/runs.h"

namespace cnntrain::plan {

/// What several processes are predicted from, besides the step of one.
struct ProcessPlan {
    std::vector<std::int64_t> counts;  // of processes, ascending, from 1
    std::int64_t ranks_per_node = 1;
    Network network;
    std::string network_from;                   // for the reader: "as given", "measured ..."
    std::optional<double> images_per_second{};  // of one process, instead of what its step was measured at
};

struct PlanSettings {
    /// File with the measured times of the network's functions: read when it exists, else written after they have been
    /// measured. With another number of threads than the file knows, they are measured and added.
    std::optional<std::string> profile{};
    std::optional<std::uint64_t> memory_limit_bytes{};  // of a stage, for the proposed splits
    std::optional<std::string> svg{};                   // file for the chart
    std::optional<std::int32_t> stages{};               // to propose; empty: the line's, or two
    std::int64_t steps = 3;                             // weight updates that are measured, after one that is not
    bool measure = true;                                // false: times follow from FLOPs, unless the profile knows them
    std::optional<ProcessPlan> processes{};             // predicted instead of stages
};

/// Prints the plan of a `train` line: of its stages, or of several processes. Nothing of the line is needed but its
/// options: neither its data nor its checkpoints.
/// Error(usage): splits or a number of stages that the network does not have, a profile of something else, a memory
/// limit that no splits keep. Error(data): a damaged profile. Error(storage): a file that cannot be written.
void plan_training(const config::ParseResult& line, const PlanSettings& settings, const train::Host& host);

}  // namespace cnntrain::plan
