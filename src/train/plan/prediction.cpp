#include "train/plan/prediction.h"

#include <algorithm>
#include <utility>

namespace cnntrain::train {

LaneShare share_of(std::int32_t stages, int threads) {
    const std::int32_t lanes = std::min(stages, static_cast<std::int32_t>(threads));
    return {lanes, threads / lanes};
}

std::vector<schedule::FunctionCost> PlannedNetwork::costs(int threads_of_lane) const {
    const FunctionTimes& times = profile.times.at(threads_of_lane);
    std::vector<schedule::FunctionCost> result;
    result.reserve(facts.size());
    for (std::size_t i = 0; i < facts.size(); ++i) {
        const FunctionFacts& function = facts[i];
        result.push_back({times.functions[i], function.variable_bytes + function.gradient_bytes, function.stash_bytes,
                          function.input_bytes});
    }
    return result;
}

std::vector<schedule::StageTimes> Prediction::times() const {
    std::vector<schedule::StageTimes> result;
    for (const schedule::StageCost& stage : stages)
        result.push_back(stage.times);
    return result;
}

Prediction predict(const PlannedNetwork& network, const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                   std::vector<std::size_t> splits) {
    Prediction result;
    result.pipeline = pipeline;
    result.splits = std::move(splits);
    result.share = share_of(pipeline.stages, network.threads);
    const auto stages_with = [&](int threads) {
        return schedule::stage_costs(pipeline, network.costs(threads), network.kept, result.splits);
    };
    result.stages = stages_with(result.share.threads);
    // Everybody takes part in what is done once per weight update.
    const double once_ms = network.profile.times.at(network.threads).update_ms;
    result.one_lane_ms = once_ms;
    for (const schedule::StageCost& stage : stages_with(network.threads))
        result.one_lane_ms += static_cast<double>(micro_batches) * stage.times.total();
    std::vector<double> loads;
    for (const schedule::StageCost& stage : result.stages)
        loads.push_back(stage.times.total());
    result.lane_of = schedule::place_stages(loads, result.share.lanes);
    const schedule::UpdatePlan plan{micro_batches, pipeline.stages, pipeline.schedule, 1, result.share.lanes};
    const schedule::UpdateTime side_by_side = schedule::update_time(plan, result.times(), result.lane_of);
    result.lanes_ms = once_ms + side_by_side.total_ms;
    result.busy = side_by_side.busy;
    return result;
}

}  // namespace cnntrain::train
