#include "backend/cpu/run/placement.h"

#include <algorithm>
#include <optional>
#include <string>

#include "cnntrain/base/cores.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::cpu {

using schedule::Placement;

namespace {

/// The smallest number of pipelines that gives every lane a stage, since each needs memory; empty if there is none.
std::optional<std::int32_t> pipelines_for(const Placement& placement, std::int32_t lanes) {
    for (std::int32_t pipelines = 1; pipelines <= lanes; ++pipelines) {
        const bool divides = lanes % pipelines == 0 && placement.micro_batches % pipelines == 0;
        if (divides && lanes / pipelines <= placement.stages) return pipelines;
    }
    return std::nullopt;
}

void check_lanes(const Placement& placement, int threads) {
    const auto usable = [&](std::int32_t lanes) {
        return lanes <= threads && pipelines_for(placement, lanes).has_value();
    };
    if (usable(placement.lanes)) return;
    std::int32_t most = placement.lanes - 1;
    while (!usable(most))
        --most;
    throw Error(ErrorKind::usage,
                "--lanes " + std::to_string(placement.lanes) + " cannot all be used: " +
                    counted(placement.stages, "stage") + ", " + counted(placement.micro_batches, "micro-batch", "es") +
                    " per weight update and " + counted(threads, "thread") + " have work for " + std::to_string(most));
}

/// Parallel stages are as fast as sequential ones, and faster on a busy machine (tools/measurements/plan.md). One
/// micro-batch at a time needs less memory, so a sequential pipeline has one lane.
std::int32_t chosen_lanes(const Placement& placement, int threads) {
    const bool fills = placement.schedule != schedule::PipelineSchedule::sequential;
    return fills ? std::min<std::int32_t>(placement.stages, threads) : 1;
}

/// Processes that share batch-norm statistics must compute all norms in the same order.
std::int32_t lanes_of(const schedule::UpdatePlan& plan, const Placement& placement, std::int64_t asked, int threads) {
    if (schedule::norm_processes(plan) == 1)
        return asked == 0 ? chosen_lanes(placement, threads) : static_cast<std::int32_t>(asked);
    if (asked <= 1) return 1;
    throw Error(ErrorKind::usage,
                "--lanes " + std::to_string(asked) + " is not possible with --BN-span " +
                    std::to_string(plan.norm_span) +
                    " over several processes, which compute all norms in the same order; use --lanes 1");
}

}  // namespace

int compute_threads(const backend::CpuSettings& cpu) {
    return cpu.threads > 0 ? cpu.threads : available_cores();
}

Placement placement_of(const schedule::UpdatePlan& plan, const backend::CpuSettings& cpu) {
    const int threads = compute_threads(cpu);
    Placement placement = schedule::in_one_lane(plan);
    placement.lanes = lanes_of(plan, placement, cpu.lanes, threads);
    check_lanes(placement, threads);
    placement.pipelines = *pipelines_for(placement, placement.lanes);
    return placement;
}

std::vector<std::int32_t> lanes_of_sites(const graph::Graph& graph, const Placement& placement) {
    CNNTRAIN_CHECK(placement.pipelines >= 1 && placement.lanes % placement.pipelines == 0 &&
                       placement.micro_batches % placement.pipelines == 0,
                   "pipelines share lanes and micro-batches evenly");
    std::vector<double> flops(static_cast<std::size_t>(placement.stages));
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node(graph::NodeId{i});
        if (node.phase != graph::Phase::update)
            flops[static_cast<std::size_t>(node.stage.index)] += graph.node_flops(graph::NodeId{i});
    }
    const std::int32_t lanes = placement.lanes / placement.pipelines;
    const std::vector<std::int32_t> of_stages = schedule::place_stages(flops, lanes);
    std::vector<std::int32_t> of_sites;
    for (std::int32_t pipeline = 0; pipeline < placement.pipelines; ++pipeline) {
        for (const std::int32_t lane : of_stages)
            of_sites.push_back(pipeline * lanes + lane);
    }
    return of_sites;
}

}  // namespace cnntrain::cpu
