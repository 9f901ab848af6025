// Predicts the memory and time of the stages of a network.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "insight/plan/functions.h"
#include "insight/plan/pipeline_time.h"
#include "insight/plan/times.h"

namespace cnntrain::plan {

/// Number of lanes and threads per lane.
struct LaneShare {
    std::int32_t lanes = 1;
    int threads = 1;  // of each lane
};
/// Gives each stage a lane, but uses no more lanes than threads. `asked`: upper limit; 0: as a run chooses, one for
/// Sequential.
LaneShare share_of(const schedule::Pipeline& pipeline, int threads, std::int64_t asked = 0);

/// Facts about a network that do not depend on its splits.
struct PlannedNetwork {
    std::vector<FunctionFacts> facts;
    std::vector<PassResult> results;
    std::map<int, FunctionTimes> times;  // by the threads of a lane; all that are asked for
    int threads = 1;                     // of all lanes together
    std::int64_t lanes = 0;              // maximum; 0: no limit
    Kept kept = Kept::results;

    LaneShare share(const schedule::Pipeline& pipeline) const { return share_of(pipeline, threads, lanes); }
    /// Costs with this number of threads per lane.
    NetworkCost costs(int threads_of_lane) const;
    /// Floating-point operations of the stages in billions, which a run uses to assign stages to lanes.
    std::vector<double> stage_gflop(std::span<const std::size_t> splits) const;
};

/// A weight update with a given choice of splits.
struct Prediction {
    schedule::Pipeline pipeline;
    std::vector<std::size_t> splits;  // first functions of stages 1, 2, ...
    std::vector<StageCost> stages;    // costs with a lane's threads
    LaneShare share;
    double one_lane_ms = 0;  // with all threads in each pass, stage after stage
    double lanes_ms = 0;     // with the stages in parallel
    std::vector<std::int32_t> lane_of;
    std::vector<double> busy;  // fraction of the time in which each lane works on a micro-batch

    double ms() const { return share.lanes > 1 ? lanes_ms : one_lane_ms; }
    std::vector<schedule::StageTimes> times() const;  // of the stages
};

/// `splits` must be in order and as many as the pipeline needs.
Prediction predict(const PlannedNetwork& network, const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                   std::vector<std::size_t> splits);

}  // namespace cnntrain::plan
