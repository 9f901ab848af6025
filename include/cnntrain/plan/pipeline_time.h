// Time of a weight update, predicted from the time of each stage for one micro-batch. Pure numbers.
//
// `times`: one entry per stage of the pipeline. Beyond some hundreds of micro-batches the pipeline is in its steady
// state, which is extrapolated instead of simulated.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cnntrain/schedule/pipeline.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::plan {

/// A device for each stage, and all of them wait for each other after every tick.
double barrier_time_ms(const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                       std::span<const schedule::StageTimes> times);

/// One piece of work with its start and end.
struct TimedWork {
    schedule::StageWork work;
    std::int32_t lane = 0;
    double begin_ms = 0;
    double end_ms = 0;
};

/// Simulates a weight update of one copy of the stages: a lane does the work of its stages in the order of the table,
/// each piece as soon as the lane is free, its inputs are done, and a buffer for its result is free. Activations have
/// in_flight() buffers from a stage's forward to its backward pass; gradients have those from one backward pass to the
/// next, and one more with several lanes.
/// `lane_of`: the lane of each stage. The result is in the order of the table. Error(usage) as in_order().
std::vector<TimedWork> timeline(const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                                std::span<const schedule::StageTimes> times, std::span<const std::int32_t> lane_of);

struct UpdateTime {
    double total_ms = 0;
    std::vector<double> busy;  // share of the time that each lane works; the lanes of the first copy come first
};

/// Every copy has its own plan.lanes / plan.copies lanes; `lane_of` is the lane of each stage among them. With one lane
/// the time is the sum of all work.
UpdateTime update_time(const schedule::Placement& plan, std::span<const schedule::StageTimes> times,
                       std::span<const std::int32_t> lane_of);

}  // namespace cnntrain::plan
