#include "cnntrain/train/assemble.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/stages.h"

namespace cnntrain::train {

namespace {

std::string counted(std::int64_t count, const std::string& one, const std::string& many) {
    return std::to_string(count) + " " + (count == 1 ? one : many);
}

/// The fewest copies of the stages with which every lane has a stage of its own, for each takes memory. Empty: no number does.
std::optional<std::int32_t> copies_for(const schedule::UpdatePlan& plan, std::int32_t lanes) {
    for (std::int32_t copies = 1; copies <= lanes; ++copies) {
        const bool divides = lanes % copies == 0 && plan.micro_batches % copies == 0;
        if (divides && lanes / copies <= plan.stages) return copies;
    }
    return std::nullopt;
}

void check_lanes(const schedule::UpdatePlan& plan, int threads) {
    const auto usable = [&](std::int32_t lanes) { return lanes <= threads && copies_for(plan, lanes).has_value(); };
    if (usable(plan.lanes)) return;
    std::int32_t most = plan.lanes - 1;
    while (!usable(most))
        --most;
    throw Error(ErrorKind::usage, "--lanes " + std::to_string(plan.lanes) +
                                      " cannot all be used: " + counted(plan.stages, "stage", "stages") + ", " +
                                      counted(plan.micro_batches, "micro-batch", "micro-batches") +
                                      " per weight update and " + counted(threads, "thread", "threads") +
                                      " have work for " + std::to_string(most));
}

}  // namespace

namespace {

/// Stages of a pipeline that fills are as fast side by side as one after another, and faster beside busy processes (README,
/// "Stages on lanes"); micro-batches that can be done one by one need less memory so.
std::int32_t chosen_lanes(const schedule::UpdatePlan& plan, int threads) {
    const bool fills = plan.schedule != schedule::PipelineSchedule::sequential;
    return fills ? std::min<std::int32_t>(plan.stages, threads) : 1;
}

/// Processes that share batch-norm statistics do all norms in one order.
std::int32_t lanes_of(const schedule::ScheduleSettings& settings, const schedule::UpdatePlan& plan, int threads) {
    const auto asked = static_cast<std::int32_t>(settings.lanes);
    if (schedule::batch_plan(settings).norm_processes() == 1) return asked == 0 ? chosen_lanes(plan, threads) : asked;
    if (asked <= 1) return 1;
    throw Error(ErrorKind::usage, "--lanes " + std::to_string(asked) + " cannot be had with --BN-span " +
                                      std::to_string(settings.norm_span) +
                                      ", which spans processes: they do all norms in one order; use --lanes 1");
}

}  // namespace

schedule::UpdatePlan update_plan(const config::Settings& settings) {
    const schedule::BatchPlan batch = batch_plan(settings);
    schedule::UpdatePlan plan;
    plan.micro_batches = batch.local_passes();
    plan.stages = static_cast<std::int32_t>(batch.stages);
    if (settings.training.pipeline) plan.schedule = settings.training.pipeline_schedule;
    const int threads = compute_threads(settings.run);
    plan.lanes = lanes_of(settings.training, plan, threads);
    check_lanes(plan, threads);
    plan.copies = *copies_for(plan, plan.lanes);
    return plan;
}

backend::CompileRequest compile_request(const graph::Graph& graph, const config::Settings& settings,
                                        std::vector<data::Field> fields, const schedule::UpdatePlan& plan,
                                        std::uint64_t seed) {
    backend::CompileRequest result{&graph, std::move(fields), plan};
    result.devices.threads = core_budget(settings.run).compute_threads;
    result.runtime.stochastic_rounding = settings.device.stochastic_rounding != backend::StochasticRounding::off;
    result.runtime.seed = seed;
    result.runtime.check_finite = settings.run.stop_on_nan;
    result.runtime.thread_independent = settings.run.thread_independent;
    return result;
}

backend::Peers peers(const config::Settings& settings, comm::Communicator& communicator) {
    return {&communicator,
            {settings.comm.wire, settings.comm.route},
            settings.comm.bucket_bytes,
            settings.comm.overlap,
            settings.comm.shard_optimiser,
            static_cast<std::int32_t>(batch_plan(settings).norm_processes())};
}

}  // namespace cnntrain::train
