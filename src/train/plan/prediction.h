// What some stages of a network would need and take.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/schedule/balance.h"
#include "cnntrain/schedule/pipeline_time.h"
#include "train/plan/functions.h"
#include "train/plan/profile.h"

namespace cnntrain::train {

/// Threads that one lane has when there are as many lanes as can be.
struct LaneShare {
    std::int32_t lanes = 1;  // as many as stages, but no more than threads
    int threads = 1;         // of each lane
};
LaneShare share_of(std::int32_t stages, int threads);

/// What does not depend on how the network is split.
struct PlannedNetwork {
    std::vector<FunctionFacts> facts;
    Profile profile;  // with times for every number of threads that is asked for
    int threads = 1;  // of all lanes together
    schedule::Kept kept = schedule::Kept::results;

    /// With so many threads.
    std::vector<schedule::FunctionCost> costs(int threads_of_lane) const;
};

/// A weight update whose stages begin at some of the functions.
struct Prediction {
    schedule::Pipeline pipeline;
    std::vector<std::size_t> splits;          // first functions of stages 1, 2, ...
    std::vector<schedule::StageCost> stages;  // with the threads of a lane
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

}  // namespace cnntrain::train
