#include "insight/plan/prediction.h"

#include <algorithm>
#include <utility>

namespace cnntrain::plan {

LaneShare share_of(const schedule::Pipeline& pipeline, int threads, std::int64_t asked) {
    const bool one = asked == 0 && pipeline.schedule == schedule::PipelineSchedule::sequential;
    std::int32_t lanes = one ? 1 : std::min(pipeline.stages, static_cast<std::int32_t>(threads));
    if (asked > 0) lanes = static_cast<std::int32_t>(std::min<std::int64_t>(lanes, asked));
    return {lanes, threads / lanes};
}

NetworkCost PlannedNetwork::costs(int threads_of_lane) const {
    const FunctionTimes& measured = times.at(threads_of_lane);
    NetworkCost network{{}, results, kept};
    network.functions.reserve(facts.size());
    for (std::size_t i = 0; i < facts.size(); ++i) {
        const FunctionFacts& function = facts[i];
        network.functions.push_back(
            {measured.functions[i], function.variable_bytes + function.gradient_bytes + function.copy_bytes});
    }
    return network;
}

std::vector<double> PlannedNetwork::stage_gflop(std::span<const std::size_t> splits) const {
    std::vector<double> stages(splits.size() + 1);
    for (std::size_t i = 0; i < facts.size(); ++i) {
        const auto stage = static_cast<std::size_t>(std::ranges::upper_bound(splits, i) - splits.begin());
        const bool twice = kept == Kept::inputs && stage < splits.size();
        stages[stage] += (twice ? 2 : 1) * facts[i].forward_gflop + facts[i].backward_gflop;
    }
    return stages;
}

std::vector<schedule::StageTimes> Prediction::times() const {
    std::vector<schedule::StageTimes> result;
    for (const StageCost& stage : stages)
        result.push_back(stage.times);
    return result;
}

Prediction predict(const PlannedNetwork& network, const schedule::Pipeline& pipeline, std::int64_t micro_batches,
                   std::vector<std::size_t> splits) {
    Prediction result;
    result.pipeline = pipeline;
    result.splits = std::move(splits);
    result.share = network.share(pipeline);
    result.lane_of = schedule::place_stages(network.stage_gflop(result.splits), result.share.lanes);
    const auto stages_with = [&](int threads) {
        return stage_costs(pipeline, network.costs(threads), result.splits, result.lane_of);
    };
    result.stages = stages_with(result.share.threads);
    // All lanes share the work done once per weight update.
    const double once_ms = network.times.at(network.threads).update_ms;
    result.one_lane_ms = once_ms;
    for (const StageCost& stage : stages_with(network.threads))
        result.one_lane_ms += static_cast<double>(micro_batches) * stage.times.total();
    const schedule::Placement plan{micro_batches, pipeline.stages, pipeline.schedule, 1, result.share.lanes};
    const UpdateTime side_by_side = update_time(plan, result.times(), result.lane_of);
    result.lanes_ms = once_ms + side_by_side.total_ms;
    result.busy = side_by_side.busy;
    return result;
}

}  // namespace cnntrain::plan
