#include "cnntrain/train/weight_update.h"
#include "cnntrain/train/compile_request.h"

#include <algorithm>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/graph/autodiff.h"
#include "cnntrain/graph/rewrites.h"
#include "cnntrain/train/stages.h"

namespace cnntrain::train {
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

optim::UpdateSettings update_settings(const config::Settings& settings, const backend::Backend& backend,
                                      double moving_average_decay) {
    const schedule::BatchPlan batch = batch_plan(settings);
    optim::UpdateSettings result{settings.optimiser};
    result.micro_batches = batch.global_batch() / placement(settings, backend).samples;
    result.gradients = backend.info().update_types.gradients;
    result.slots = backend.info().update_types.slots;
    result.f32_means = backend.info().update_types.f32_means;
    result.moving_average_decay = moving_average_decay;
    result.mean_square_decay = optim::rmsprop_decay(settings.optimiser, batch.global_batch());
    return result;
}

graph::Graph with_update(graph::Graph forward, std::string_view loss, const config::Settings& settings,
                         const backend::Backend& backend, double moving_average_decay) {
    const auto samples = static_cast<double>(placement(settings, backend).samples);
    return with_update(std::move(forward), {{loss, samples}}, settings, backend, moving_average_decay);
}

graph::Graph with_update(graph::Graph forward, const std::vector<LossTerm>& loss, const config::Settings& settings,
                         const backend::Backend& backend, double moving_average_decay) {
    graph::Graph graph = graph::apply_rewrites(std::move(forward), backend.rewrites().training);
    graph::Objective objective;
    objective.loss = output_of(graph, loss.at(0).output);
    objective.seed = 1 / loss.at(0).divisor;
    objective.loss_scaling = optim::loss_scaling(graph);
    for (std::size_t i = 1; i < loss.size(); ++i)
        objective.more_losses[output_of(graph, loss[i].output)] = 1 / loss[i].divisor;
    objective.targets = optim::trainable_parameters(graph, settings.optimiser);
    objective.recompute_points = recompute_points(graph, objective, settings.training);
    const graph::Gradients gradients = graph::build_backward(graph, objective);
    optim::append_update(graph, gradients, update_settings(settings, backend, moving_average_decay));
    return graph::apply_rewrites(std::move(graph), backend.rewrites().backward);
}

std::map<std::string, TensorDesc> variables(const graph::Graph& graph) {
    std::map<std::string, TensorDesc> result;
    for (const graph::ValueId id : graph.variables())
        result.emplace(graph.value(id).name, graph.desc(id));
    return result;
}

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

}  // namespace cnntrain::train
