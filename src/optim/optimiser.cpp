#include "cnntrain/optim/optimiser.h"

#include <algorithm>
#include <iterator>

#include "cnntrain/base/error.h"

namespace cnntrain::optim {
namespace {

using graph::Graph;
using graph::OpKind;
using graph::ValueId;

struct ParameterUpdate {
    ValueId parameter;
    ValueId gradient;
    ValueId learning_rate;
    graph::UpdateAttrs attrs;
};

/// A state like the parameter, all 0 at the start.
ValueId add_slot(Graph& graph, ValueId parameter, std::string_view suffix) {
    const graph::Value& variable = graph.value(parameter);
    const std::string name = variable.name + std::string(suffix);
    return graph.add_state(name, TensorDesc(variable.desc), {});
}

std::string update_name(const Graph& graph, ValueId variable) {
    return graph.value(variable).name + "/update";
}

void add_sgd(Graph& graph, const ParameterUpdate& update) {
    graph.add(OpKind::sgd_update, update.attrs, {update.parameter, update.gradient, update.learning_rate},
              update_name(graph, update.parameter));
}

void add_momentum(Graph& graph, const ParameterUpdate& update) {
    const ValueId velocity = add_slot(graph, update.parameter, kMomentumSlot);
    graph.add(OpKind::momentum_update, update.attrs,
              {update.parameter, update.gradient, velocity, update.learning_rate},
              update_name(graph, update.parameter));
}

struct OptimiserEntry {
    config::Optimiser kind;
    std::string_view name;
    void (*add_update)(Graph&, const ParameterUpdate&);  // null: not available yet
};
constexpr OptimiserEntry kOptimisers[] = {
    {config::Optimiser::sgd, "SGD", add_sgd},
    {config::Optimiser::momentum, "momentum", add_momentum},
    {config::Optimiser::rmsprop, "RMSprop", nullptr},
    {config::Optimiser::lars, "LARS", nullptr},
};

const OptimiserEntry& entry_of(config::Optimiser kind) {
    const auto* entry = std::ranges::find(kOptimisers, kind, &OptimiserEntry::kind);
    CNNTRAIN_CHECK(entry != std::end(kOptimisers), "unknown optimiser");
    if (entry->add_update == nullptr) {
        throw Error(ErrorKind::unsupported,
                    "not available yet: --optimiser " + std::string(entry->name) + "; use SGD or momentum");
    }
    return *entry;
}

bool contains_any(const std::string& name, const std::vector<std::string>& parts) {
    return std::ranges::any_of(parts, [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

graph::UpdateAttrs update_attrs(const OptimiserSettings& settings, const std::string& name) {
    graph::UpdateAttrs attrs;
    attrs.gradient_scale = 1 / static_cast<double>(settings.micro_batches * settings.replicas);
    if (!contains_any(name, settings.weight_decay_exclude)) {
        attrs.weight_decay = settings.weight_decay * settings.loss_scaling;
    }
    attrs.learning_rate_scale = 1 / settings.loss_scaling;
    if (settings.kind == config::Optimiser::momentum) attrs.momentum = settings.momentum;
    return attrs;
}

/// The backend sums the batch values over the micro-batches.
void add_moving_average(Graph& graph, const OptimiserSettings& settings, const MovingAverage& average) {
    const auto count = static_cast<double>(average.bessel_count);
    const double bessel = count / std::max(1.0, count - 1);
    graph::MovingAverageAttrs attrs;
    attrs.decay = settings.moving_average_decay;
    attrs.value_scale = bessel / static_cast<double>(settings.micro_batches * settings.replicas);
    graph.set_stage(graph.node(graph.value(average.batch_value).producer).stage);
    graph.add(OpKind::moving_average_update, attrs, {average.moving, average.batch_value},
              update_name(graph, average.moving));
}

}  // namespace

std::vector<ValueId> trainable_parameters(const Graph& graph, const std::vector<std::string>& filter) {
    std::vector<ValueId> parameters = graph.values_with_role(graph::Role::parameter);
    if (filter.empty()) return parameters;
    std::erase_if(parameters, [&](ValueId id) { return !contains_any(graph.value(id).name, filter); });
    if (parameters.empty()) {
        std::string wanted;
        for (const std::string& part : filter)
            wanted += " '" + part + "'";
        throw Error(ErrorKind::usage,
                    "--variable-filter leaves nothing to train: no variable's name contains any of" + wanted);
    }
    return parameters;
}

void append_update(Graph& graph, const graph::Gradients& gradients, const OptimiserSettings& settings,
                   std::span<const MovingAverage> moving_averages) {
    CNNTRAIN_CHECK(settings.micro_batches >= 1 && settings.replicas >= 1 && settings.loss_scaling > 0,
                   "batch factors and loss scaling must be positive");
    const OptimiserEntry& optimiser = entry_of(settings.kind);
    const graph::StageId stage = graph.stage();
    graph.set_phase(graph::Phase::update);
    const ValueId learning_rate = graph.add_scalar(std::string(kLearningRate));
    for (const ValueId parameter : graph.values_with_role(graph::Role::parameter)) {
        const auto gradient = gradients.of.find(parameter);
        if (gradient == gradients.of.end()) continue;
        const graph::Value& variable = graph.value(parameter);
        graph.set_stage(graph.node(variable.users.front()).stage);
        optimiser.add_update(graph,
                             {parameter, gradient->second, learning_rate, update_attrs(settings, variable.name)});
    }
    for (const MovingAverage& average : moving_averages)
        add_moving_average(graph, settings, average);
    graph.set_stage(stage);
}

}  // namespace cnntrain::optim
