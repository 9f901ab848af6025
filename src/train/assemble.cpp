#include "cnntrain/train/assemble.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/backend/cpu.h"
#include "cnntrain/backend/ref.h"
#include "cnntrain/base/cores.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/data/mixing.h"
#include "cnntrain/data/resolve.h"
#include "cnntrain/graph/autodiff.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/ops/op_table.h"

namespace cnntrain::train {

namespace {

data::DatasetId dataset_id(config::Dataset dataset) {
    return data::dataset_info(config::name(dataset)).id;
}

data::DataKind data_kind(config::DataSource source) {
    switch (source) {
        case config::DataSource::real:
            return data::DataKind::real;
        case config::DataSource::generated:
            return data::DataKind::generated;
        case config::DataSource::synthetic:
            return data::DataKind::synthetic;
    }
    throw Error(ErrorKind::internal, "unknown data source");
}

CoreBudget core_budget(const config::RunSettings& settings) {
    return plan_cores(available_cores(), static_cast<int>(settings.threads), static_cast<int>(settings.input_threads));
}

nn::DeviceNormalisation on_device(const data::Normalisation& normalisation) {
    return {{normalisation.scale.begin(), normalisation.scale.end()},
            {normalisation.shift.begin(), normalisation.shift.end()}};
}

data::MixingSettings mixing_settings(const config::Settings& settings) {
    data::MixingSettings mixing;
    if (settings.data.source != config::DataSource::real) return mixing;
    mixing.mixup_alpha = settings.data.mixup_alpha;
    mixing.cutmix_lambda = settings.data.cutmix_lambda;
    mixing.cutmix_version = static_cast<int>(settings.data.cutmix_version);
    mixing.on_host = settings.data.hostside_image_mixing;
    return mixing;
}

nn::MixingSettings model_mixing(const data::MixingSettings& mixing, std::int64_t micro_batch) {
    nn::MixingSettings result;
    if (!mixing.any()) return result;
    result.target_distances = data::target_distances(mixing, micro_batch);
    result.mixup = mixing.mixup() && !mixing.on_host;
    if (mixing.cutmix() && !mixing.on_host) result.cutmix_distance = data::cutmix_distance(micro_batch);
    return result;
}

nn::EfficientnetSettings efficientnet_settings(const config::ModelSettings& model) {
    nn::EfficientnetSettings result;
    result.width_coefficient = model.width_coefficient;
    result.depth_coefficient = model.depth_coefficient;
    result.depth_divisor = model.depth_divisor;
    result.top_width = model.top_width;
    result.expand_ratio = model.expand_ratio;
    result.group_dim = model.group_dim;
    result.squeeze_excite = !model.no_squeeze_excite;
    result.swish = !model.use_relu;
    result.proxy_norm = model.proxy_norm;
    result.proxy_epsilon = model.proxy_epsilon;
    result.dropout_rate = model.dropout_rate;
    result.block_survival_prob = model.block_survival_prob;
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

/// --force-weight-to-fp16 and --force-weight-to-fp32 match parts of names; one that matches nothing is likely a slip.
void warn_of_idle_filters(const graph::Graph& graph, const config::DeviceSettings& settings) {
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

}  // namespace

std::unique_ptr<backend::Backend> make_backend(config::BackendKind kind) {
    switch (kind) {
        case config::BackendKind::cpu:
            return backend::make_cpu_backend();
        case config::BackendKind::ref:
            return backend::make_ref_backend();
        case config::BackendKind::ipu:
            throw Error(ErrorKind::unsupported, "not available yet: --backend ipu; use --backend cpu");
    }
    throw Error(ErrorKind::internal, "unknown backend");
}

std::int64_t global_batch_size(const config::TrainingSettings& settings) {
    return settings.micro_batch_size * settings.gradient_accumulation_count * settings.replicas;
}

nn::NumericsSettings numerics(const config::DeviceSettings& settings, DType half) {
    nn::NumericsSettings result;
    result.compute = settings.precision == config::Precision::p32_32 ? DType::f32 : half;
    result.parameters = settings.precision == config::Precision::p16_16 ? half : DType::f32;
    result.half = half;
    result.force_weight_to_fp16 = settings.force_weight_to_fp16;
    result.force_weight_to_fp32 = settings.force_weight_to_fp32;
    return result;
}

data::DataSettings data_settings(const config::Settings& settings, DType half, std::uint64_t seed) {
    data::DataSettings result = data_settings_without_folder(settings, half, seed);
    if (result.kind == data::DataKind::real) {
        result.folder = data::find_data_folder(result.dataset, settings.data.data_dir);
    }
    return result;
}

data::DataSettings data_settings_without_folder(const config::Settings& settings, DType half, std::uint64_t seed) {
    data::DataSettings result;
    result.dataset = dataset_id(settings.data.dataset);
    result.kind = data_kind(settings.data.source);
    result.image_size = settings.data.image_size;
    result.compute_dtype = numerics(settings.device, half).compute;
    result.eight_bit_io = settings.data.eight_bit_io;
    result.hostside_norm = settings.data.hostside_norm;
    result.normalise_input = settings.data.normalise_input;
    result.train_with_valid_preprocessing = settings.data.train_with_valid_preprocessing;
    result.percentage_to_use = static_cast<double>(settings.data.percentage_to_use);
    result.seed = seed;
    result.threads = core_budget(settings.run).input_threads;
    result.cache_bytes = static_cast<std::int64_t>(settings.data.cache_gb * 1e9);
    result.strict = settings.data.strict;
    result.mixing = mixing_settings(settings);
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

data::LoaderSettings validation_loader_settings(const config::Settings& settings) {
    data::LoaderSettings result = loader_settings(settings, 0);
    if (settings.device.latency && !settings.data.prefetch_depth) result.batches_ahead = 1;
    return result;
}

data::LoaderSettings request_loader_settings(const config::Settings& settings, const TensorDesc& images) {
    data::LoaderSettings result = loader_settings(settings, 0);
    const std::int64_t held = settings.main.inference_threads;
    result.batches_ahead = std::max(result.batches_ahead, held + 1);
    result.ring_bytes = std::max(result.ring_bytes, (held + 3) * static_cast<std::int64_t>(images.bytes()));
    return result;
}

nn::ModelSettings model_settings(const config::Settings& settings) {
    const config::ModelSettings& model = settings.model;
    const data::DatasetInfo& info = data::dataset_info(dataset_id(settings.data.dataset));
    nn::ModelSettings result;
    result.family = nn::family_named(config::name(model.family));
    result.size = model.size;
    result.dataset = info.id == data::DatasetId::imagenet ? nn::DatasetKind::imagenet : nn::DatasetKind::cifar;
    result.classes = info.classes;
    result.image_size = settings.data.image_size;
    result.norm = model.norm == config::Norm::batch ? nn::NormKind::batch : nn::NormKind::group;
    result.groups = model.groups;
    result.bn_decay = model.batch_norm_decay;
    if (result.family == nn::Family::resnext) {
        result.resnext = {model.convolution_groups, model.group_dim, model.widenet};
    }
    if (result.family == nn::Family::efficientnet) {
        result.epsilon = model.norm_epsilon;
        result.efficientnet = efficientnet_settings(model);
    }
    return result;
}

void check_network(const config::Settings& settings) {
    const config::TrainingSettings& training = settings.training;
    const nn::ModelSettings model = model_settings(settings);
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
}

nn::BuildRequest build_request(const config::Settings& settings, DType half, const TensorDesc& images) {
    nn::BuildRequest request;
    request.model = model_settings(settings);
    request.numerics = numerics(settings.device, half);
    request.input.images = images;

    data::DataSettings data;
    data.dataset = dataset_id(settings.data.dataset);
    data.kind = data_kind(settings.data.source);
    data.eight_bit_io = settings.data.eight_bit_io;
    data.hostside_norm = settings.data.hostside_norm;
    data.normalise_input = settings.data.normalise_input;
    if (const auto normalisation = data::device_normalisation(data))
        request.input.normalise = on_device(*normalisation);

    request.label_smoothing = settings.training.label_smoothing;
    request.mixing = model_mixing(mixing_settings(settings), images.shape.at(0));
    return request;
}

optim::OptimiserSettings optimiser_settings(const config::Settings& settings) {
    optim::OptimiserSettings result;
    result.kind = settings.training.optimiser;
    result.momentum = settings.training.momentum;
    result.weight_decay = settings.training.weight_decay;
    result.weight_decay_exclude = settings.training.weight_decay_exclude;
    result.loss_scaling = settings.training.loss_scaling;
    result.micro_batches = settings.training.gradient_accumulation_count;
    result.replicas = settings.training.replicas;
    result.moving_average_decay = settings.model.batch_norm_decay;
    result.rmsprop_decay = config::rmsprop_decay(settings.training, global_batch_size(settings.training));
    result.rmsprop_epsilon = settings.training.rmsprop_epsilon;
    result.lars = {settings.training.lars_trust_scale, settings.training.lars_weight_decay,
                   settings.training.lars_epsilon, settings.training.lars_skip};
    result.fp32_weight_copy = settings.training.offload_fp32_weight_copy;
    return result;
}

backend::CompileRequest compile_request(const graph::Graph& graph, const config::Settings& settings,
                                        std::int64_t micro_batches, std::uint64_t seed) {
    backend::CompileRequest result{&graph};
    result.plan.micro_batches = micro_batches;
    result.devices.threads = core_budget(settings.run).compute_threads;
    result.runtime.stochastic_rounding = settings.device.stochastic_rounding != config::StochasticRounding::off;
    result.runtime.seed = seed;
    result.runtime.check_finite = settings.run.stop_on_nan;
    return result;
}

graph::Graph training_graph(const config::Settings& settings, const backend::Backend& backend,
                            const TensorDesc& images) {
    nn::Model model = nn::build_training(build_request(settings, backend.half_type(), images), ops::op_table());
    warn_of_idle_filters(model.graph, settings.device);
    graph::Graph graph = graph::run_passes(std::move(model.graph), backend.passes().training);

    const nn::ModelValues values = nn::model_values(graph);
    graph::Objective objective;
    objective.loss = values.loss;
    objective.seed = settings.training.loss_scaling / static_cast<double>(settings.training.micro_batch_size);
    objective.targets = optim::trainable_parameters(graph, settings.training.variable_filter);
    if (settings.training.recomputation) objective.recompute_points = graph::choose_recompute_points(graph, objective);
    const graph::Gradients gradients = graph::build_backward(graph, objective);
    optim::append_update(graph, gradients, optimiser_settings(settings));
    return graph::run_passes(std::move(graph), backend.passes().backward);
}

graph::Graph evaluation_graph(const config::Settings& settings, const backend::Backend& backend,
                              const TensorDesc& images, bool with_logits) {
    nn::BuildRequest request = build_request(settings, backend.half_type(), images);
    request.label_smoothing = 0;
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
