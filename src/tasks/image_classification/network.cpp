#include "tasks/image_classification/network.h"

#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/data/sets.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/tasks/tasks.h"
#include "tasks/image_classification/options.h"

namespace cnntrain::tasks {

using run::arithmetic;
using run::batch_plan;
using run::numerics;

data::InputSettings data_settings(const options::Settings& settings, const backend::Backend& backend,
                                  std::uint64_t seed) {
    data::InputSettings result = data_settings_without_folder(settings, backend, seed);
    if (result.kind == data::DataKind::real) result.folder = data::find_data_folder(result.dataset, result.data_dir);
    return result;
}

data::InputSettings data_settings_without_folder(const options::Settings& settings, const backend::Backend& backend,
                                                 std::uint64_t seed) {
    data::InputSettings result{image_settings(settings).data};
    result.compute_dtype = arithmetic(settings.device, backend).type;
    result.seed = seed;
    result.threads = run::core_budget(settings.run).input_threads;
    return result;
}

namespace {

std::int64_t class_count(const ImageSettings& settings) {
    if (!settings.recorded_classes.empty()) return std::ssize(settings.recorded_classes);
    return settings.source_classes > 0 ? settings.source_classes : data::class_count(settings.data);
}

}  // namespace

nn::NetworkSettings network_settings(const options::Settings& settings) {
    const data::DataSettings& images = image_settings(settings).data;
    nn::NetworkSettings result{image_settings(settings).model};
    result.form = network_form(image_settings(settings));
    result.classes = class_count(image_settings(settings));
    if (images.classes && *images.classes != result.classes) {
        throw Error(ErrorKind::usage, "--num-classes " + std::to_string(*images.classes) +
                                          ": the network of the checkpoint has " + std::to_string(result.classes) +
                                          " classes");
    }
    result.image_size = images.image_size;
    return result;
}

bool reports_top_5(const options::Settings& settings) {
    constexpr std::int64_t kAlwaysRight = 5;
    const bool is_usual = data::dataset_info(image_settings(settings).data.dataset).reports_top_5;
    return (is_usual || settings.validation.any()) && network_settings(settings).classes > kAlwaysRight;
}

nn::BuildRequest build_request(const options::Settings& settings, const backend::Backend& backend,
                               const TensorDesc& images) {
    nn::BuildRequest request;
    request.model = network_settings(settings);
    request.numerics = numerics(settings.device, backend);
    request.input.images = images;
    request.input.normalise = data::device_normalisation(image_settings(settings).data);
    request.label_smoothing = image_settings(settings).label_smoothing;
    request.mixing = data::effective_mixing(image_settings(settings).data);
    return request;
}

graph::Graph training_graph(const options::Settings& settings, const backend::Backend& backend,
                            const TensorDesc& images, const std::vector<double>& class_weights) {
    nn::BuildRequest request = build_request(settings, backend, images);
    request.class_weights = class_weights;
    if (settings.training.pipeline) request.splits = settings.training.pipeline_splits;
    request.model.frozen = settings.optimiser.freeze;
    request.model.norm_replicas = run::placement(settings, backend).samples / batch_plan(settings).micro_batch;
    nn::Model model = nn::build_training(request, ops::op_table());
    run::warn_of_idle_filters(model.graph, settings.device);
    graph::Graph graph =
        run::with_update(std::move(model.graph), nn::kLoss, settings, backend, image_settings(settings).model.bn_decay);
    if (settings.training.pipeline || !image_settings(settings).norm_recomputation) return graph;
    return graph::apply_rewrites(std::move(graph), backend.rewrites().one_stage);
}

namespace {

nn::Model evaluation_model(const options::Settings& settings, const backend::Backend& backend, const TensorDesc& images,
                           std::int64_t views) {
    nn::BuildRequest request = build_request(settings, backend, images);
    request.input.views = views;
    request.label_smoothing = 0;
    request.counts_top_5 = reports_top_5(settings);
    return nn::build_evaluation(request, ops::op_table());
}

}  // namespace

graph::Graph evaluation_graph(const options::Settings& settings, const backend::Backend& backend,
                              const TensorDesc& images, bool with_logits, std::int64_t views) {
    nn::Model model = evaluation_model(settings, backend, images, views);
    if (with_logits) model.graph.mark_output(run::kLogits, model.values.logits);
    return graph::apply_rewrites(std::move(model.graph), backend.rewrites().evaluation);
}

run::Classifier::Features features_graph(const options::Settings& settings, const backend::Backend& backend,
                                         const TensorDesc& images) {
    nn::Model model = evaluation_model(settings, backend, images, 1);
    nn::LastLayer last = nn::mark_features(model.graph, model.values.logits, run::kFeatures);
    return {graph::apply_rewrites(std::move(model.graph), backend.rewrites().evaluation), std::move(last)};
}

std::vector<std::string> image_functions(const options::Settings& settings) {
    return nn::split_points(network_settings(settings));
}

std::vector<std::string> usual_image_splits(const options::Settings& settings) {
    const bool all = nn::family_info(image_settings(settings).model.family).splits_before_any_function;
    std::vector<std::string> result;
    for (const std::string& name : image_functions(settings)) {
        if (all || name.ends_with("/relu")) result.push_back(name);
    }
    return result;
}

std::optional<weights::ImageNetwork> image_network(const options::ParseResult& arguments) {
    if (&arguments.task->options() != &image_options()) return std::nullopt;
    return weights::ImageNetwork{network_settings(arguments.settings), image_settings(arguments.settings).data};
}

}  // namespace cnntrain::tasks
