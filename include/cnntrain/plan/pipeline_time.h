// Predicts the time of a weight update from the time of each stage for one micro-batch. Pure numbers.
//
// `times`: one entry per stage of the pipeline. After some hundreds of micro-batches, the pipeline is in its steady
// state; the rest is extrapolated instead of simulated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cnntrain/schedule/pipeline.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::plan {

/// The time with one device per stage and a barrier after every tick.
double barrier_time_ms(const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                       std::span<const schedule::StageTimes> times);

/// One piece of work with its start and end.
struct TimedWork {
    schedule::StageWork work;
    std::int32_t lane = 0;
    double begin_ms = 0;
    double end_ms = 0;
};

/// Simulates a weight update in one pipeline. A lane works on its stages in the order of the table, and starts each
/// piece of work as soon as the lane is free, its inputs are ready and a buffer for its result is free.
/// Activations have in_flight() buffers from a stage's forward to its backward pass; gradients have in_flight() buffers
/// from one backward pass to the next, plus one with several lanes.
/// `lane_of`: the lane of each stage. The result has the order of the table. Throws Error(usage) like in_order().
std::vector<TimedWork> timeline(const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                                std::span<const schedule::StageTimes> times, std::span<const std::int32_t> lane_of);

struct UpdateTime {
    double total_ms = 0;
    std::vector<double> busy;  // fraction of the time in which each lane works; lanes of the first pipeline first
};

/// Each pipeline has plan.lanes / plan.pipelines lanes of its own; `lane_of` is the lane of each stage among them. With
/// one lane, the time is the sum of all work.
UpdateTime update_time(const schedule::Placement& plan, std::span<const schedule::StageTimes> times,
                       std::span<const std::int32_t> lane_of);

}  // namespace cnntrain::plan
