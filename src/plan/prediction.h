// Memory and time that stages of a network would need.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/plan/balance.h"
#include "cnntrain/plan/pipeline_time.h"
#include "plan/functions.h"
#include "plan/profile.h"

namespace cnntrain::plan {

/// Threads that one lane has.
struct LaneShare {
    std::int32_t lanes = 1;
    int threads = 1;  // of each lane
};
/// As many lanes as stages, but no more than threads; `asked`: upper bound, 0 for none.
LaneShare share_of(std::int32_t stages, int threads, std::int64_t asked = 0);

/// The facts of a network that do not depend on its splits.
struct PlannedNetwork {
    std::vector<FunctionFacts> facts;
    std::vector<PassResult> results;
    Profile profile;         // with times for every number of threads that is asked for
    int threads = 1;         // of all lanes together
    std::int64_t lanes = 0;  // at most; 0: no bound
    Kept kept = Kept::results;

    LaneShare share(std::int32_t stages) const { return share_of(stages, threads, lanes); }
    /// Costs with this number of threads per lane.
    NetworkCost costs(int threads_of_lane) const;
    /// Floating-point operations of the stages in billions, by which a run shares them out over lanes.
    std::vector<double> stage_gflop(std::span<const std::size_t> splits) const;
};

/// A weight update whose stages begin at some of the functions.
struct Prediction {
    schedule::Pipeline pipeline;
    std::vector<std::size_t> splits;  // first functions of stages 1, 2, ...
    std::vector<StageCost> stages;    // with the threads of a lane
    LaneShare share;
    double one_lane_ms = 0;  // all threads in each pass, the stages one after another
    double lanes_ms = 0;     // the stages side by side
    std::vector<std::int32_t> lane_of;
    std::vector<double> busy;  // share of the time in which each lane works for a micro-batch

    std::vector<schedule::StageTimes> times() const;  // of the stages
};

/// The splits must be as many as the pipeline needs, in order.
Prediction predict(const PlannedNetwork& network, const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                   std::vector<std::size_t> splits);

}  // namespace cnntrain::plan
