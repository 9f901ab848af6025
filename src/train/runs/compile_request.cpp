#include "cnntrain/train/compile_request.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "cnntrain/base/listed.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/stages.h"

namespace cnntrain::train {
namespace {

/// `use`: 0 for training, 1 for validation and inference.
std::optional<unsigned> selected_device(const std::vector<std::string>& selection, std::size_t use) {
    if (selection.empty()) return std::nullopt;
    const std::string& word = selection[std::min(use, selection.size() - 1)];
    if (config::is_any_ipu(word)) return std::nullopt;
    return static_cast<unsigned>(std::stoul(word));
}

/// The device of each stage. If --shards equals the number of stages, each stage has its own device.
std::vector<std::int32_t> devices_of_stages(const config::Settings& settings, std::int64_t stages) {
    std::vector<std::int32_t> devices(static_cast<std::size_t>(stages));
    const std::vector<std::int64_t>& mapping = settings.training.device_mapping;
    if (std::ssize(mapping) == stages) {
        devices.assign(mapping.begin(), mapping.end());
    } else if (settings.training.shards == stages) {
        std::iota(devices.begin(), devices.end(), 0);
    }
    return devices;
}

}  // namespace

schedule::UpdatePlan update_plan(const config::Settings& settings) {
    const schedule::BatchPlan batch = batch_plan(settings);
    schedule::UpdatePlan plan;
    plan.micro_batch = batch.micro_batch;
    plan.accumulation = batch.accumulation;
    plan.replicas = batch.replicas;
    plan.norm_span = batch.norm_span;
    plan.devices = devices_of_stages(settings, batch.stages);
    if (settings.training.pipeline) plan.schedule = settings.training.pipeline_schedule;
    return plan;
}

backend::CpuSettings cpu_settings(const config::Settings& settings) {
    backend::CpuSettings result;
    result.threads = compute_threads(settings.run);
    result.lanes = settings.training.lanes;
    result.thread_independent = settings.run.thread_independent;
    result.bucket_bytes = settings.comm.bucket_bytes;
    result.overlap_exchange = settings.comm.overlap;
    return result;
}

backend::IpuSettings ipu_settings(const config::Settings& settings) {
    backend::IpuSettings result = settings.ipu;
    result.rounds_updates_only = settings.device.stochastic_rounding == backend::StochasticRounding::ri_prng_stable;
    result.all_reduce_bytes = static_cast<std::size_t>(settings.comm.bucket_bytes);
    result.prefetch_depth = settings.run.prefetch_depth;
    result.device = selected_device(settings.device.select_ipu, 0);
    return result;
}

std::int64_t ipus_of_replica(const schedule::UpdatePlan& plan) {
    return std::int64_t{std::ranges::max(plan.devices)} + 1;
}

std::string ipus_text(const schedule::UpdatePlan& plan, bool emulated) {
    return std::to_string(ipus_of_replica(plan) * plan.replicas) + (emulated ? ", emulated: " : ": ") +
           counted(plan.replicas, "replica") + " of " + counted(ipus_of_replica(plan), "IPU") + ", " +
           counted(plan.stages(), "stage") + " each";
}

schedule::Placement placement(const config::Settings& settings, const backend::Backend& backend) {
    return backend.placement(update_plan(settings), cpu_settings(settings));
}

backend::CompileRequest compile_request(const graph::Graph& graph, const config::Settings& settings,
                                        std::vector<data::Field> fields, std::uint64_t seed) {
    backend::CompileRequest result{&graph, std::move(fields)};
    result.plan.micro_batch = settings.training.micro_batch_size;
    result.cpu = cpu_settings(settings);
    result.cpu.lanes = 1;
    result.ipu = ipu_settings(settings);
    result.ipu.device = selected_device(settings.device.select_ipu, 1);
    // The graph is on one IPU and has no backward pass.
    if (result.ipu.available_memory_proportion.size() > 1) result.ipu.available_memory_proportion.resize(1);
    result.runtime.stochastic_rounding = settings.device.stochastic_rounding != backend::StochasticRounding::off;
    result.runtime.seed = seed;
    result.runtime.check_finite = settings.run.stop_on_nan;
    return result;
}

backend::CompileRequest training_request(const graph::Graph& graph, const config::Settings& settings,
                                         std::vector<data::Field> fields, std::uint64_t seed) {
    backend::CompileRequest result = compile_request(graph, settings, std::move(fields), seed);
    result.plan = update_plan(settings);
    result.cpu.lanes = settings.training.lanes;
    result.ipu = ipu_settings(settings);
    return result;
}

backend::Peers peers(const config::Settings& settings, comm::Communicator& communicator) {
    return {&communicator, {settings.comm.wire, settings.comm.route}, settings.comm.shard_optimiser};
}

}  // namespace cnntrain::train
