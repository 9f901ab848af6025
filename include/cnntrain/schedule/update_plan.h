// What one weight update consists of, as the user asks for it and as a backend computes it: pure numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/schedule/pipeline.h"

namespace cnntrain::schedule {

/// The weight updates of one process in the user's terms. What is computed side by side is the backend's choice.
struct UpdatePlan {
    std::int64_t micro_batch = 1;   // samples of one forward and backward pass of one replica
    std::int64_t accumulation = 1;  // micro-batches of a replica per weight update
    std::int64_t replicas = 1;
    std::int64_t norm_span = 1;  // replicas that share batch-norm statistics; above `replicas`: of several processes
    std::vector<std::int32_t> devices = {0};  // of a replica, by stage of its pipeline
    PipelineSchedule schedule = PipelineSchedule::sequential;
    std::int64_t updates_per_call = 1;  // most weight updates that an executable is asked for at once

    std::int32_t stages() const { return static_cast<std::int32_t>(devices.size()); }
};

/// What a backend makes of a plan. Stages exist `copies` times, each copy with memory of its own; execution e of the
/// graph goes through copy e % copies. A lane is a group of cores with a thread team of its own; with one lane, all
/// cores do all work in the order of the table.
struct Placement {
    std::int64_t micro_batches = 1;  // executions of the graph per weight update
    std::int32_t stages = 1;         // of the pipeline: 1 + the highest stage of the graph's nodes
    PipelineSchedule schedule = PipelineSchedule::sequential;
    std::int32_t copies = 1;   // at most `lanes`
    std::int32_t lanes = 1;    // a multiple of `copies`
    std::int64_t samples = 1;  // of one execution: the batch for which the graph is built

    /// Of one copy.
    Pipeline pipeline() const { return {stages, schedule}; }
    bool operator==(const Placement&) const = default;
};

/// Replicas of a process as further micro-batches, on one lane. Those that share batch-norm statistics are computed
/// together, in micro-batches that are wider by as much. Error(usage) when there are too many samples or micro-batches
/// to be counted.
Placement in_one_lane(const UpdatePlan& plan);

/// Processes that follow each other and share batch-norm statistics.
std::int64_t norm_processes(const UpdatePlan& plan);

/// Most batches whose memory an executable keeps at the same time.
std::int64_t batches_in_flight(const Placement& placement);

}  // namespace cnntrain::schedule
