// Times of a network's functions: measured, read from a profile, or estimated from FLOPs.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/io.h"
#include "cnntrain/parallel/pipeline.h"
#include "insight/plan/functions.h"
#include "insight/plan/pipeline_time.h"

namespace cnntrain::plan {

/// Times with one number of threads, measured while the machine's other threads do the same work.
struct FunctionTimes {
    std::vector<schedule::StageTimes> functions;  // per micro-batch
    double update_ms = 0;                         // work done once per weight update
    /// Standard deviation over mean of a weight update; empty if fewer than kLeastForSpread were measured.
    std::optional<double> spread{};
};
inline constexpr std::int64_t kLeastForSpread = 8;

/// Times that `cnntrain profile` has measured.
struct ProfiledTimes {
    FunctionTimes times;
    int threads = 1;  // of each lane
    std::string machine;
};

/// Facts of a training line that its profile has, too.
struct ProfiledLine {
    std::string title;  // "training, resnet 50"
    std::int64_t micro_batch = 0;
    std::string type;  // arithmetic: "bf16"
};

/// Reads profile.json of a training without stages. Throws Error(data) for a file that is no profile of `cnntrain
/// profile`, and Error(usage) for one of another network, micro-batch or arithmetic. `facts`: of the functions.
ProfiledTimes read_times(const FileSystem& files, const std::string& path, const ProfiledLine& line,
                         const FunctionNames& names, const std::vector<FunctionFacts>& facts);

struct Measurement {
    int threads = 1;  // per lane
    int lanes = 1;    // lanes that work in parallel and share caches and memory bandwidth
    std::int64_t steps = 1;
    bool stochastic_rounding = true;
    std::function<bool()> stop_requested = {};
};

/// Runs weight updates of a few micro-batches of generated images on each lane, and returns medians over `how.steps` of
/// them. Throws Interrupted if a stop was requested.
FunctionTimes measure(const graph::Graph& graph, const FunctionNames& names, const backend::Backend& backend,
                      const Measurement& how);

/// Times of one micro-batch, from `updates` weight updates of several micro-batches each. `rows`: of all `pipelines`,
/// one pipeline after the other.
FunctionTimes times_by_function(const std::vector<backend::ProfileRow>& rows, const FunctionNames& names,
                                std::int64_t updates, int pipelines = 1);

/// Assumed speed of one thread in Gflop/s, for times without a measurement. Only the ratios of such times are
/// meaningful.
inline constexpr double kAssumedGflops = 50;
FunctionTimes times_of_flops(const std::vector<FunctionFacts>& functions, int threads);

// Predicts the memory and time of the stages of a network.

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
