// One weight update as requested by the user and as executed by a backend: pure numbers.
#pragma once

#include <cstdint>
#include <vector>

#include "cnntrain/schedule/pipeline.h"

namespace cnntrain::schedule {

/// The weight updates of one process in the user's terms. The backend decides what is computed in parallel.
struct UpdatePlan {
    std::int64_t micro_batch = 1;   // samples of one forward and backward pass of one replica
    std::int64_t accumulation = 1;  // micro-batches per replica and weight update
    std::int64_t replicas = 1;
    std::int64_t norm_span = 1;  // replicas that share batch-norm statistics; above `replicas`: across processes
    std::vector<std::int32_t> devices = {0};  // of a replica, by pipeline stage
    PipelineSchedule schedule = PipelineSchedule::sequential;
    std::int64_t updates_per_call = 1;  // maximum number of weight updates requested in one call

    std::int32_t stages() const { return static_cast<std::int32_t>(devices.size()); }
};

/// A backend's execution of a plan. Each of the `pipelines` has all stages and memory of its own; execution e of the
/// graph uses pipeline e % pipelines. A lane is a group of cores with its own thread team; with one lane, all cores do
/// all work in the order of the table.
struct Placement {
    std::int64_t micro_batches = 1;  // executions of the graph per weight update
    std::int32_t stages = 1;         // of the pipeline: 1 + highest stage of the graph's nodes
    PipelineSchedule schedule = PipelineSchedule::sequential;
    std::int32_t pipelines = 1;  // at most `lanes`
    std::int32_t lanes = 1;      // a multiple of `pipelines`
    std::int64_t samples = 1;    // per execution: the batch size of the graph

    /// The table of each pipeline.
    Pipeline pipeline() const { return {stages, schedule}; }
    bool operator==(const Placement&) const = default;
};

/// Executes the replicas of a process as additional micro-batches on one lane. Replicas that share batch-norm
/// statistics are computed together, in micro-batches that are larger by that factor. Throws Error(usage) if the number
/// of samples or micro-batches overflows.
Placement in_one_lane(const UpdatePlan& plan);

/// Number of consecutive processes that share batch-norm statistics.
std::int64_t norm_processes(const UpdatePlan& plan);

/// Maximum number of batches whose memory an executable holds at once.
std::int64_t batches_in_flight(const Placement& placement);

}  // namespace cnntrain::schedule
