#include "cnntrain/run/compile_request.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/options/option.h"
#include "cnntrain/parallel/pipeline.h"

namespace cnntrain::run {
namespace {

/// `use`: 0 for training, 1 for validation and inference.
std::optional<unsigned> selected_device(const std::vector<std::string>& selection, std::size_t use) {
    if (selection.empty()) return std::nullopt;
    const std::string& word = selection[std::min(use, selection.size() - 1)];
    if (options::is_any_ipu(word)) return std::nullopt;
    return static_cast<unsigned>(std::stoul(word));
}

/// The device of each stage. If --shards equals the number of stages, each stage has its own device.
std::vector<std::int32_t> devices_of_stages(const options::Settings& settings, std::int64_t stages) {
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

schedule::UpdatePlan update_plan(const options::Settings& settings) {
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

backend::CpuSettings cpu_settings(const options::Settings& settings) {
    backend::CpuSettings result;
    result.threads = compute_threads(settings.run);
    result.lanes = settings.training.lanes;
    result.thread_independent = settings.run.thread_independent;
    result.bucket_bytes = settings.comm.bucket_bytes;
    result.overlap_exchange = settings.comm.overlap;
    return result;
}

backend::IpuSettings ipu_settings(const options::Settings& settings) {
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

schedule::Placement placement(const options::Settings& settings, const backend::Backend& backend) {
    return backend.placement(update_plan(settings), cpu_settings(settings));
}

backend::CompileRequest compile_request(const graph::Graph& graph, const options::Settings& settings,
                                        std::vector<data::Field> fields, std::uint64_t seed,
                                        std::function<bool()> stop_requested) {
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
    result.runtime.stop_requested = std::move(stop_requested);
    return result;
}

backend::CompileRequest training_request(const graph::Graph& graph, const options::Settings& settings,
                                         std::vector<data::Field> fields, std::uint64_t seed) {
    backend::CompileRequest result = compile_request(graph, settings, std::move(fields), seed);
    result.plan = update_plan(settings);
    result.cpu.lanes = settings.training.lanes;
    result.ipu = ipu_settings(settings);
    return result;
}

backend::Peers peers(const options::Settings& settings, comm::Communicator& communicator) {
    return {&communicator, {settings.comm.wire, settings.comm.route}, settings.comm.shard_optimiser};
}

namespace {

void check_splits(const TaskRow& task, const options::Settings& settings, const std::vector<std::string>& functions) {
    const TrainingSettings& training = settings.training;
    const auto count = static_cast<std::int64_t>(training.pipeline_splits.size());
    const bool right_count = count > 0 && (training.shards <= 1 || count == training.shards - 1);
    if (training.pipeline && !right_count) {
        const std::string needed = training.shards > 1 ? std::to_string(training.shards - 1) : "at least 1";
        throw Error(ErrorKind::usage,
                    "--pipeline with --shards " + std::to_string(training.shards) + " needs " + needed +
                        " --pipeline-splits, got " + std::to_string(count) + "; choose from: " +
                        joined(task.usual_splits != nullptr ? task.usual_splits(settings) : functions));
    }
    nn::check_splits(functions, training.pipeline_splits);
}

}  // namespace

schedule::BatchPlan batch_plan(const options::Settings& settings) {
    return schedule::batch_plan(settings.training);
}

schedule::RunPlan run_plan(const options::Settings& settings, std::int64_t images) {
    return schedule::make_run_plan({settings.training, settings.checkpoint, images, settings.validation.enabled});
}

void check_stages(const TaskRow& task, const options::Settings& settings) {
    const std::vector<std::string> functions = task.functions(settings);  // refuses sizes that the family does not have
    if (!settings.main.trains) return;
    check_splits(task, settings, functions);
    if (settings.training.pipeline) {
        const schedule::BatchPlan batch = batch_plan(settings);
        schedule::check_micro_batches({static_cast<std::int32_t>(batch.stages), settings.training.pipeline_schedule},
                                      batch.accumulation);
    }
    // A missing backend is refused later, when it is made.
    if (const auto backend = available_backend(settings.run.backend)) placement(settings, *backend);
}

std::unique_ptr<backend::Backend> available_backend(backend::BackendKind kind) {
    switch (kind) {
        case backend::BackendKind::cpu:
            return backend::make_cpu_backend();
        case backend::BackendKind::ref:
            return backend::make_ref_backend();
        case backend::BackendKind::ipu:
            return backend::make_ipu_backend();
    }
    throw Error(ErrorKind::internal, "unknown backend");
}

std::unique_ptr<backend::Backend> make_backend(backend::BackendKind kind) {
    std::unique_ptr<backend::Backend> backend = available_backend(kind);
    if (backend == nullptr) {
        throw Error(ErrorKind::unsupported, "this program was built without --backend " + std::string(spelling(kind)) +
                                                " (-DCNNTRAIN_IPU=OFF); use --backend cpu");
    }
    return backend;
}

bool is_emulated(const RunSettings& settings) {
    const std::unique_ptr<backend::Backend> backend = available_backend(settings.backend);
    return backend != nullptr && backend->info().emulated;
}

CoreBudget core_budget(const RunSettings& settings) {
    return plan_cores(available_cores(), available_processors(), static_cast<int>(settings.threads),
                      static_cast<int>(settings.input_threads));
}

int compute_threads(const RunSettings& settings) {
    return core_budget(settings).compute_threads;
}

backend::Arithmetic arithmetic(const nn::PrecisionSettings& settings, const backend::Backend& backend) {
    if (settings.precision == nn::Precision::p32_32) return {DType::f32, "--precision 32.32"};
    if (backend.half_type() != DType::bf16) return backend.fastest_arithmetic();
    switch (settings.compute_type) {
        case nn::ComputeType::automatic:
            return backend.fastest_arithmetic();
        case nn::ComputeType::bf16:
            return {DType::bf16, "--compute-type bf16"};
        case nn::ComputeType::f32:
            return {DType::f32, "--compute-type f32"};
    }
    throw Error(ErrorKind::internal, "unknown compute type");
}

nn::NumericsSettings numerics(const nn::PrecisionSettings& settings, const backend::Backend& backend) {
    nn::NumericsSettings result;
    result.compute = arithmetic(settings, backend).type;
    result.half = backend.half_type();
    result.parameters = settings.precision == nn::Precision::p16_16 ? result.half : DType::f32;
    result.force_weight_to_fp16 = settings.force_weight_to_fp16;
    result.force_weight_to_fp32 = settings.force_weight_to_fp32;
    return result;
}

namespace {

/// The integers of an input are in [least, end).
struct Range {
    std::int64_t least = 0;
    std::int64_t end = 1;
};

Range range_of(const graph::Graph& graph, graph::ValueId input) {
    for (const graph::NodeId user : graph.value(input).users) {
        const graph::Node& node = graph.node(user);
        if (node.kind == graph::OpKind::embedding) return {0, graph.desc(node.inputs[1]).shape[0]};
        if (node.kind == graph::OpKind::gather_rows) return {0, graph.desc(node.inputs[0]).shape[1]};
        if (node.kind == graph::OpKind::attention_mask) {
            // A mask of 0 and 1, or a number of visible tokens.
            const std::int64_t visible = std::max<std::int64_t>(1, node.as<graph::AttentionMaskAttrs>().sequence);
            return {visible, visible + 1};
        }
    }
    return {};
}

HostTensor made_up(const TensorDesc& desc, const Range& range) {
    constexpr double kBytes = 256;
    const bool whole = desc.dtype == DType::i32 || desc.dtype == DType::i64;
    HostTensor tensor(desc);
    Rng rng(1, RngStream::synthetic_data);
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        double value = rng.uniform();
        if (desc.dtype == DType::u8) value = std::floor(kBytes * value);
        if (whole)
            value = std::floor(static_cast<double>(range.least) + static_cast<double>(range.end - range.least) * value);
        tensor.set(i, value);
    }
    return tensor;
}

}  // namespace

data::FixedBatch made_up_batches(const graph::Graph& graph) {
    std::vector<data::Field> fields;
    std::vector<std::span<const std::byte>> bytes;
    std::vector<HostTensor> tensors;
    std::int64_t samples = 0;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::input)) {
        const graph::Value& input = graph.value(id);
        fields.push_back({input.name, input.desc});
        tensors.push_back(made_up(input.desc, range_of(graph, id)));
        samples = std::max(samples, input.desc.shape.empty() ? 1 : input.desc.shape.front());
    }
    for (const HostTensor& tensor : tensors)
        bytes.push_back(tensor.bytes());
    return {std::move(fields), std::move(bytes), samples, std::move(tensors)};
}

}  // namespace cnntrain::run
