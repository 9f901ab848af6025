#include "insight/plan/times.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/numbers.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/profile.h"
#include "cnntrain/run/weights.h"
#include "insight/plan/processes.h"

namespace cnntrain::plan {
namespace {

/// A row as the backend measured it.
backend::ProfileRow measured_row(const profile::Row& row, std::int64_t steps) {
    backend::ProfileRow result;
    result.name = row.name;
    result.op = row.op;
    result.phase = row.phase == "forward"    ? graph::Phase::forward
                   : row.phase == "backward" ? graph::Phase::backward
                                             : graph::Phase::update;
    result.milliseconds = 1e3 * row.run_seconds;
    result.runs = std::llround(row.runs * static_cast<double>(steps));
    return result;
}

/// Why the profile is not one of this line's functions; "" if it is.
std::string mismatch(const profile::Profile& profile, const ProfiledLine& line) {
    const bool stages = std::ranges::any_of(profile.rows, [](const profile::Row& row) { return row.stage > 0; });
    if (profile.title != line.title) return "it is of " + profile.title + ", not of " + line.title;
    if (profile.micro_batch != line.micro_batch) {
        return "its micro-batches have " + std::to_string(profile.micro_batch) + " samples, not " +
               std::to_string(line.micro_batch);
    }
    if (profile.type != line.type) return "it computes in " + profile.type + ", not in " + line.type;
    if (stages) return "it is of a pipeline, in which lanes wait for each other; profile the line without --pipeline";
    return "";
}

/// Error(data) unless the times are numbers, and all functions with work take some.
void check_times(const FunctionTimes& times, const std::vector<FunctionFacts>& facts) {
    constexpr double kMostMs = 1e12;  // more than a function takes in 30 years; sums and products of them stay finite
    constexpr double kLeastGflop = 1e-4;
    const auto is_time = [](double ms) { return ms >= 0 && ms <= kMostMs; };
    bool sound = is_time(times.update_ms);
    for (std::size_t i = 0; i < facts.size(); ++i) {
        const schedule::StageTimes& function = times.functions[i];
        sound = sound && is_time(function.forward_ms) && is_time(function.backward_ms) &&
                (function.total() > 0 || facts[i].forward_gflop < kLeastGflop);
    }
    if (!sound) throw Error(ErrorKind::data, "expected the times of all operations of the line's network");
}

}  // namespace

ProfiledTimes read_times(const FileSystem& files, const std::string& path, const ProfiledLine& line,
                         const FunctionNames& names, const std::vector<FunctionFacts>& facts) {
    const std::optional<profile::Profile> profile = profile::from_json(read_text(files, path));
    if (!profile || !profile->trains || profile->steps < 1 || profile->lanes < 1 || profile->rows.empty()) {
        throw Error(ErrorKind::data, path +
                                         ": expected the profile.json of a training; cnntrain profile writes it, for "
                                         "the same training line");
    }
    if (const std::string why = mismatch(*profile, line); !why.empty())
        throw Error(ErrorKind::usage, path + ": " + why);
    std::vector<backend::ProfileRow> rows;
    for (const profile::Row& row : profile->rows)
        rows.push_back(measured_row(row, profile->steps));
    try {
        ProfiledTimes result{.times = times_by_function(rows, names, profile->steps, profile->lanes),
                             .threads = std::max(1, profile->threads / profile->lanes),
                             .machine = profile->machine};
        check_times(result.times, facts);
        return result;
    } catch (const Error& error) {
        throw Error(ErrorKind::data, path + ": " + error.what());
    }
}

namespace {

/// Medians over the updates, because other programs on the machine may disturb some of them.
FunctionTimes usual(const std::vector<FunctionTimes>& updates) {
    const auto over = [&](auto number) {
        std::vector<double> values;
        values.reserve(updates.size());
        for (const FunctionTimes& update : updates)
            values.push_back(number(update));
        return median(std::move(values));
    };
    FunctionTimes result;
    result.update_ms = over([](const FunctionTimes& update) { return update.update_ms; });
    for (std::size_t i = 0; i < updates.front().functions.size(); ++i) {
        result.functions.push_back(
            {over([&](const FunctionTimes& update) { return update.functions[i].forward_ms; }),
             over([&](const FunctionTimes& update) { return update.functions[i].backward_ms; })});
    }
    return result;
}

/// Time of one step for a micro-batch, from its rows in all pipelines. Pipelines that add to the same sum wait for each
/// other, so the minimum is the time of the work itself.
double step_ms(std::span<const backend::ProfileRow* const> rows) {
    double least = rows.front()->milliseconds;
    double sum = 0;
    for (const backend::ProfileRow* row : rows) {
        least = std::min(least, row->milliseconds);
        sum += row->milliseconds;
    }
    return rows.front()->op == "accumulate" ? least : sum / static_cast<double>(rows.size());
}

}  // namespace

/// Rows that ran once per weight update belong to no micro-batch, unless an update has only one.
FunctionTimes times_by_function(const std::vector<backend::ProfileRow>& rows, const FunctionNames& names,
                                std::int64_t updates, int pipelines) {
    FunctionTimes times;
    times.functions.resize(names.count());
    std::vector<const backend::ProfileRow*> of_batches;  // grouped by pipeline
    const bool accumulates =
        std::ranges::any_of(rows, [&](const backend::ProfileRow& row) { return row.runs > updates; });
    for (const backend::ProfileRow& row : rows) {
        if (row.phase == graph::Phase::update || (accumulates && row.runs <= updates)) {
            times.update_ms += row.milliseconds * static_cast<double>(row.runs) / static_cast<double>(updates);
        } else {
            of_batches.push_back(&row);
        }
    }
    const std::size_t steps = of_batches.size() / static_cast<std::size_t>(pipelines);
    if (steps * static_cast<std::size_t>(pipelines) != of_batches.size())
        throw Error(ErrorKind::data, "its lanes ran different operations");
    FunctionWalk walk(names);
    for (std::size_t i = 0; i < steps; ++i) {
        std::vector<const backend::ProfileRow*> step;
        for (std::size_t at = i; at < of_batches.size(); at += steps)
            step.push_back(of_batches[at]);
        const bool forward = step.front()->phase == graph::Phase::forward;
        schedule::StageTimes& function = times.functions[walk.next(step.front()->name, step.front()->phase)];
        (forward ? function.forward_ms : function.backward_ms) += step_ms(step);
    }
    return times;
}

FunctionTimes measure(const graph::Graph& graph, const FunctionNames& names, const backend::Backend& backend,
                      const Measurement& how) {
    // The work includes sums over micro-batches. The first micro-batch after an update has cold caches.
    constexpr std::int64_t kMicroBatches = 4;
    constexpr std::uint64_t kSeed = 1;
    data::FixedBatch batches = run::made_up_batches(graph);
    backend::CompileRequest request{&graph, batches.fields()};
    request.plan.accumulation = kMicroBatches * how.lanes;
    request.cpu.lanes = how.lanes;
    request.cpu.threads = how.threads * how.lanes;
    request.runtime.stochastic_rounding = how.stochastic_rounding;
    request.runtime.seed = kSeed;
    request.runtime.check_finite = false;  // generated images may make the loss diverge
    request.runtime.stop_requested = how.stop_requested;
    const std::unique_ptr<backend::Executable> executable = backend.compile(request);
    run::initialise(*executable, graph, kSeed);
    const auto run_update = [&] {
        const bool stopped =
            (how.stop_requested && how.stop_requested()) || executable->train_step(batches, {}).stopped;
        if (stopped) throw Interrupted();
    };
    run_update();  // warm-up
    std::vector<FunctionTimes> updates;
    std::vector<double> seconds;
    for (std::int64_t step = 0; step < how.steps; ++step) {
        const auto begin = std::chrono::steady_clock::now();
        executable->set_profiling(true);  // restarts at zero
        run_update();
        updates.push_back(times_by_function(executable->profile().rows, names, 1, how.lanes));
        seconds.push_back(seconds_since(begin));
    }
    FunctionTimes times = usual(updates);
    if (how.steps >= kLeastForSpread) times.spread = relative_deviation(seconds);
    return times;
}

FunctionTimes times_of_flops(const std::vector<FunctionFacts>& functions, int threads) {
    const double gflop_per_ms = kAssumedGflops * threads / 1e3;
    FunctionTimes times;
    for (const FunctionFacts& function : functions)
        times.functions.push_back({function.forward_gflop / gflop_per_ms, function.backward_gflop / gflop_per_ms});
    return times;
}

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
