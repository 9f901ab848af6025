#include "cnntrain/train/assemble.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/backend/cpu.h"
#include "cnntrain/backend/ref.h"
#include "cnntrain/base/checked.h"
#include "cnntrain/base/cores.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/data/mixing.h"
#include "cnntrain/data/resolve.h"
#include "cnntrain/graph/autodiff.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/ops/op_table.h"
#include "train/runs/compile_request.h"

namespace cnntrain::train {

namespace {

nn::DeviceNormalisation on_device(const data::Normalisation& normalisation) {
    return {{normalisation.scale.begin(), normalisation.scale.end()},
            {normalisation.shift.begin(), normalisation.shift.end()}};
}

nn::MixingSettings model_mixing(const data::MixingSettings& mixing, std::int64_t micro_batch) {
    nn::MixingSettings result;
    if (!mixing.any()) return result;
    result.target_distances = data::target_distances(mixing, micro_batch);
    result.mixup = mixing.mixup() && !mixing.on_host;
    if (mixing.cutmix() && !mixing.on_host) result.cutmix_distance = data::cutmix_distance(micro_batch);
    return result;
}

/// Where a pipeline is usually split: residual networks before a ReLU, which then is recomputed rather than sent twice.
std::string usual_splits(nn::Family family, const std::vector<std::string>& names) {
    std::string text;
    for (const std::string& name : names) {
        if (family == nn::Family::efficientnet || name.ends_with("/relu")) text += (text.empty() ? "" : ", ") + name;
    }
    return text;
}

/// The splits, and the micro-batches for the schedule.
void check_stages(const config::Settings& settings) {
    const TrainingSettings& training = settings.training;
    const nn::NetworkSettings model = network_settings(settings);
    const std::vector<std::string> names = nn::split_points(model);
    const auto count = static_cast<std::int64_t>(training.pipeline_splits.size());
    const bool right_count = count > 0 && (training.shards <= 1 || count == training.shards - 1);
    if (training.pipeline && !right_count) {
        const std::string needed = training.shards > 1 ? std::to_string(training.shards - 1) : "at least 1";
        throw Error(ErrorKind::usage, "--pipeline with --shards " + std::to_string(training.shards) + " needs " +
                                          needed + " --pipeline-splits, got " + std::to_string(count) +
                                          "; choose from: " + usual_splits(model.family, names));
    }
    nn::check_splits(model, training.pipeline_splits);
    if (!training.pipeline) return;
    const schedule::BatchPlan batch = batch_plan(settings);
    schedule::check_micro_batches({static_cast<std::int32_t>(batch.stages), training.pipeline_schedule},
                                  batch.accumulation);
}

/// --force-weight-to-fp16 and --force-weight-to-fp32 match parts of names; one that matches nothing is likely a slip.
void warn_of_idle_filters(const graph::Graph& graph, const nn::PrecisionSettings& settings) {
    const std::map<std::string, TensorDesc> all = variables(graph);
    const auto check = [&](const std::string& flag, const std::vector<std::string>& filters) {
        for (const std::string& filter : filters) {
            const bool hit = std::ranges::any_of(
                all, [&](const auto& variable) { return variable.first.find(filter) != std::string::npos; });
            if (!hit) log::warning(flag + " " + filter + " changes nothing: no variable has that in its name");
        }
    };
    check("--force-weight-to-fp16", settings.force_weight_to_fp16);
    check("--force-weight-to-fp32", settings.force_weight_to_fp32);
}

/// The ring holds the batches that a consumer keeps at the same time and one that is ready.
void let_hold(data::LoaderSettings& loader, std::int64_t held, const std::vector<data::Field>& fields) {
    loader.batches_ahead = std::max(loader.batches_ahead, held + 1);
    const auto batch_bytes = static_cast<std::int64_t>(data::total_bytes(fields));
    loader.ring_bytes = std::max(loader.ring_bytes, checked_product(held + 3, batch_bytes, "the ring of batches"));
}

}  // namespace

std::unique_ptr<backend::Backend> make_backend(backend::BackendKind kind) {
    switch (kind) {
        case backend::BackendKind::cpu:
            return backend::make_cpu_backend();
        case backend::BackendKind::ref:
            return backend::make_ref_backend();
        case backend::BackendKind::ipu:
            throw Error(ErrorKind::unsupported, "not available yet: --backend ipu; use --backend cpu");
    }
    throw Error(ErrorKind::internal, "unknown backend");
}

CoreBudget core_budget(const RunSettings& settings) {
    return plan_cores(available_cores(), available_processors(), static_cast<int>(settings.threads),
                      static_cast<int>(settings.input_threads));
}

schedule::BatchPlan batch_plan(const config::Settings& settings) {
    return schedule::batch_plan(settings.training);
}

schedule::RunPlan run_plan(const config::Settings& settings, std::int64_t images) {
    return schedule::make_run_plan({settings.training, settings.checkpoint, images, settings.validation.enabled});
}

backend::Arithmetic arithmetic(const nn::PrecisionSettings& settings, const backend::Backend& backend) {
    if (settings.precision == nn::Precision::p32_32) return {DType::f32, "--precision 32.32"};
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

data::InputSettings data_settings(const config::Settings& settings, const backend::Backend& backend,
                                  std::uint64_t seed) {
    data::InputSettings result = data_settings_without_folder(settings, backend, seed);
    if (result.kind == data::DataKind::real) result.folder = data::find_data_folder(result.dataset, result.data_dir);
    return result;
}

data::InputSettings data_settings_without_folder(const config::Settings& settings, const backend::Backend& backend,
                                                 std::uint64_t seed) {
    data::InputSettings result{settings.data};
    result.compute_dtype = arithmetic(settings.device, backend).type;
    result.seed = seed;
    result.threads = core_budget(settings.run).input_threads;
    return result;
}

data::LoaderSettings loader_settings(const config::Settings& settings, std::int64_t first_sample) {
    data::LoaderSettings result;
    result.micro_batch = settings.training.micro_batch_size;
    result.first_sample = first_sample;
    result.threads = core_budget(settings.run).input_threads;
    if (settings.data.prefetch_depth) result.batches_ahead = *settings.data.prefetch_depth;
    return result;
}

data::LoaderSettings training_loader_settings(const config::Settings& settings, const schedule::Placement& placement,
                                              const std::vector<data::Field>& fields, std::int64_t first_sample) {
    data::LoaderSettings result = loader_settings(settings, first_sample);
    result.micro_batch = placement.samples;
    const std::int64_t held = schedule::batches_in_flight(placement);
    if (held > 1) let_hold(result, held, fields);
    return result;
}

data::LoaderSettings validation_loader_settings(const config::Settings& settings) {
    data::LoaderSettings result = loader_settings(settings, 0);
    if (settings.device.latency && !settings.data.prefetch_depth) result.batches_ahead = 1;
    return result;
}

data::LoaderSettings request_loader_settings(const config::Settings& settings, const std::vector<data::Field>& fields) {
    data::LoaderSettings result = loader_settings(settings, 0);
    let_hold(result, settings.main.inference_threads, fields);
    return result;
}

int compute_threads(const RunSettings& settings) {
    return core_budget(settings).compute_threads;
}

nn::NetworkSettings network_settings(const config::Settings& settings) {
    const data::DatasetInfo& info = data::dataset_info(settings.data.dataset);
    const bool imagenet = info.id == data::DatasetId::imagenet;
    nn::NetworkSettings result{settings.model};
    result.dataset = imagenet ? nn::DatasetKind::imagenet : nn::DatasetKind::cifar;
    result.classes = info.classes;
    result.image_size = settings.data.image_size;
    return result;
}

namespace {

/// A backend that this version does not have is refused when it is made.
void check_placement(const config::Settings& settings) {
    if (settings.run.backend != backend::BackendKind::ipu) placement(settings, *make_backend(settings.run.backend));
}

}  // namespace

void check_network(const config::Settings& settings) {
    check_stages(settings);
    check_placement(settings);
}

void check_stages_of_text(const config::Settings& settings) {
    if (settings.pretraining.evaluates) return;
    const schedule::BatchPlan batch = batch_plan(settings);
    if (settings.training.pipeline) {
        schedule::check_micro_batches({static_cast<std::int32_t>(batch.stages), settings.training.pipeline_schedule},
                                      batch.accumulation);
    }
    check_placement(settings);
}

nn::BuildRequest build_request(const config::Settings& settings, const backend::Backend& backend,
                               const TensorDesc& images) {
    nn::BuildRequest request;
    request.model = network_settings(settings);
    request.numerics = numerics(settings.device, backend);
    request.input.images = images;
    if (const auto normalisation = data::device_normalisation(settings.data))
        request.input.normalise = on_device(*normalisation);
    request.label_smoothing = settings.training.label_smoothing;
    request.mixing = model_mixing(data::effective_mixing(settings.data), images.shape.at(0));
    return request;
}

optim::UpdateSettings update_settings(const config::Settings& settings, const backend::Backend& backend) {
    const schedule::BatchPlan batch = batch_plan(settings);
    optim::UpdateSettings result{settings.optimiser};
    result.micro_batches = batch.global_batch() / placement(settings, backend).samples;
    result.gradients = backend.info().update_types.gradients;
    result.slots = backend.info().update_types.slots;
    result.moving_average_decay = settings.model.bn_decay;
    result.mean_square_decay = optim::rmsprop_decay(settings.optimiser, batch.global_batch());
    return result;
}

namespace {

graph::ValueId output_of(const graph::Graph& graph, std::string_view name) {
    const auto output = std::ranges::find(graph.outputs(), name, &graph::Output::name);
    CNNTRAIN_CHECK(output != graph.outputs().end(), "the graph has no output '" + std::string(name) + "'");
    return output->value;
}

std::vector<graph::ValueId> recompute_points(const graph::Graph& forward, const graph::Objective& objective,
                                             const TrainingSettings& training) {
    if (!training.recomputation) return graph::all_but_cheap_values(forward, objective);
    return training.pipeline ? graph::values_of_last_stage(forward, objective)
                             : graph::choose_recompute_points(forward, objective);
}

}  // namespace

graph::Graph with_update(graph::Graph forward, std::string_view loss, const config::Settings& settings,
                         const backend::Backend& backend) {
    const auto samples = static_cast<double>(placement(settings, backend).samples);
    return with_update(std::move(forward), {{loss, samples}}, settings, backend);
}

graph::Graph with_update(graph::Graph forward, const std::vector<LossTerm>& loss, const config::Settings& settings,
                         const backend::Backend& backend) {
    graph::Graph graph = graph::run_passes(std::move(forward), backend.passes().training);
    graph::Objective objective;
    objective.loss = output_of(graph, loss.at(0).output);
    objective.seed = 1 / loss.at(0).divisor;
    objective.loss_scaling = optim::loss_scaling(graph);
    for (std::size_t i = 1; i < loss.size(); ++i)
        objective.more_losses[output_of(graph, loss[i].output)] = 1 / loss[i].divisor;
    objective.targets = optim::trainable_parameters(graph, settings.optimiser.variable_filter);
    objective.recompute_points = recompute_points(graph, objective, settings.training);
    const graph::Gradients gradients = graph::build_backward(graph, objective);
    optim::append_update(graph, gradients, update_settings(settings, backend));
    return graph::run_passes(std::move(graph), backend.passes().backward);
}

graph::Graph training_graph(const config::Settings& settings, const backend::Backend& backend,
                            const TensorDesc& images) {
    nn::BuildRequest request = build_request(settings, backend, images);
    if (settings.training.pipeline) request.splits = settings.training.pipeline_splits;
    request.model.norm_processes = batch_plan(settings).norm_samples() / placement(settings, backend).samples;
    nn::Model model = nn::build_training(request, ops::op_table());
    warn_of_idle_filters(model.graph, settings.device);
    return with_update(std::move(model.graph), nn::kLoss, settings, backend);
}

graph::Graph evaluation_graph(const config::Settings& settings, const backend::Backend& backend,
                              const TensorDesc& images, bool with_logits) {
    nn::BuildRequest request = build_request(settings, backend, images);
    request.label_smoothing = 0;
    request.counts_top_5 = reports_top_5(settings.data.dataset);
    nn::Model model = nn::build_evaluation(request, ops::op_table());
    if (with_logits) model.graph.mark_output(kLogits, model.values.logits);
    return graph::run_passes(std::move(model.graph), backend.passes().evaluation);
}

std::map<std::string, TensorDesc> variables(const graph::Graph& graph) {
    std::map<std::string, TensorDesc> result;
    for (const graph::ValueId id : graph.variables())
        result.emplace(graph.value(id).name, graph.desc(id));
    return result;
}

}  // namespace cnntrain::train
