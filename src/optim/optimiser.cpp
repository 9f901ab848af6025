#include "cnntrain/optim/optimiser.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "cnntrain/base/error.h"

namespace cnntrain::optim {
namespace {

using graph::Graph;
using graph::OpKind;
using graph::ValueId;

bool contains_any(const std::string& name, const std::vector<std::string>& parts) {
    return std::ranges::any_of(parts, [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

struct ParameterUpdate {
    ValueId parameter;
    std::string variable;  // its name
    ValueId target;        // the variable, or its master
    ValueId gradient;
    ValueId learning_rate;
    graph::UpdateAttrs attrs;
};

/// A slot like the target, everywhere `value` at the start.
ValueId add_slot(Graph& graph, const ParameterUpdate& update, std::string_view suffix, double value = 0) {
    return graph.add_slot(update.parameter, update.variable + std::string(suffix),
                          TensorDesc(graph.desc(update.target)), {.value = value});
}

std::string update_name(const std::string& variable) {
    return variable + "/update";
}

void add_sgd(Graph& graph, const ParameterUpdate& update, const OptimiserSettings& /*settings*/) {
    graph.add(OpKind::sgd_update, update.attrs, {update.target, update.gradient, update.learning_rate},
              update_name(update.variable));
}

void add_momentum(Graph& graph, const ParameterUpdate& update, const OptimiserSettings& settings) {
    graph::UpdateAttrs attrs = update.attrs;
    attrs.momentum = settings.momentum;
    const ValueId velocity = add_slot(graph, update, kMomentumSlot);
    graph.add(OpKind::momentum_update, attrs, {update.target, update.gradient, velocity, update.learning_rate},
              update_name(update.variable));
}

void add_rmsprop(Graph& graph, const ParameterUpdate& update, const OptimiserSettings& settings) {
    graph::RmsPropAttrs attrs{update.attrs, settings.rmsprop_decay, settings.rmsprop_epsilon};
    attrs.update.momentum = settings.momentum;
    const ValueId mean_square = add_slot(graph, update, kMeanSquareSlot, 1);
    const ValueId velocity = add_slot(graph, update, kRmsPropMomentumSlot);
    graph.add(OpKind::rmsprop_update, attrs,
              {update.target, update.gradient, mean_square, velocity, update.learning_rate},
              update_name(update.variable));
}

void add_lars(Graph& graph, const ParameterUpdate& update, const OptimiserSettings& settings) {
    graph::LarsAttrs attrs;
    attrs.update = update.attrs;
    attrs.update.momentum = settings.momentum;
    attrs.adapts = !contains_any(update.variable, settings.lars.skip);
    if (attrs.adapts) {
        attrs.trust_scale = settings.lars.trust_scale;
        attrs.weight_decay = settings.lars.weight_decay;
        attrs.epsilon = settings.lars.epsilon;
    }
    const ValueId velocity = add_slot(graph, update, kMomentumSlot);
    graph.add(OpKind::lars_update, attrs, {update.target, update.gradient, velocity, update.learning_rate},
              update_name(update.variable));
}

struct OptimiserEntry {
    config::Optimiser kind;
    bool scales_gradient;
    void (*add_update)(Graph&, const ParameterUpdate&, const OptimiserSettings&);
};
constexpr OptimiserEntry kOptimisers[] = {
    {config::Optimiser::sgd, false, add_sgd},
    {config::Optimiser::momentum, false, add_momentum},
    {config::Optimiser::rmsprop, true, add_rmsprop},
    {config::Optimiser::lars, true, add_lars},
};

const OptimiserEntry& entry_of(config::Optimiser kind) {
    const auto* entry = std::ranges::find(kOptimisers, kind, &OptimiserEntry::kind);
    CNNTRAIN_CHECK(entry != std::end(kOptimisers), "unknown optimiser");
    return *entry;
}

graph::UpdateAttrs update_attrs(const OptimiserSettings& settings, const std::string& name) {
    graph::UpdateAttrs attrs;
    const double left_in_gradient = scales_gradient(settings.kind) ? 1 : settings.loss_scaling;
    attrs.gradient_scale =
        left_in_gradient / (static_cast<double>(settings.micro_batches * settings.replicas) * settings.loss_scaling);
    if (!contains_any(name, settings.weight_decay_exclude)) {
        attrs.weight_decay = settings.weight_decay * left_in_gradient;
    }
    attrs.learning_rate_scale = 1 / left_in_gradient;
    return attrs;
}

/// The 32-bit slot that is updated instead of the parameter; it starts at the parameter's own value.
ValueId add_master(Graph& graph, ValueId parameter) {
    const graph::Value variable = graph.value(parameter);
    return graph.add_slot(parameter, variable.name + std::string(kMasterSlot), {DType::f32, variable.desc.shape},
                          variable.initialiser);
}

/// How the network reads a proxy; empty for other parameters.
std::optional<graph::ProxyNormAttrs> proxy_norm_of(const Graph& graph, const graph::Value& variable) {
    const graph::Node& reader = graph.node(variable.users.front());
    if (reader.kind != OpKind::proxy_norm_rows) return std::nullopt;
    return reader.as<graph::ProxyNormAttrs>();
}

/// The gradient of a proxy as its update reads it. Its rows beta' and gamma' are decayed even where `weight_decay_exclude`
/// names proxies; where it does not, this decay comes on top.
ValueId add_proxy_gradient(Graph& graph, const OptimiserSettings& settings, graph::ProxyNormAttrs attrs, ValueId proxy,
                           ValueId gradient, const std::string& variable) {
    // Brings the decay to the scale of a gradient that is still a sum and still multiplied with the loss scaling.
    attrs.weight_decay =
        settings.weight_decay * settings.loss_scaling * static_cast<double>(settings.micro_batches * settings.replicas);
    return graph.add_one(OpKind::proxy_norm_gradient, std::move(attrs), {proxy, gradient}, variable + "/gradient");
}

void add_parameter_update(Graph& graph, const OptimiserSettings& settings, ValueId parameter, ValueId gradient,
                          ValueId learning_rate) {
    const graph::Value variable = graph.value(parameter);
    const bool has_master = settings.fp32_weight_copy && variable.desc.dtype != DType::f32;
    const ValueId target = has_master ? add_master(graph, parameter) : parameter;
    graph.set_stage(graph.node(variable.users.front()).stage);
    const std::optional<graph::ProxyNormAttrs> proxy_norm = proxy_norm_of(graph, variable);
    if (proxy_norm) gradient = add_proxy_gradient(graph, settings, *proxy_norm, target, gradient, variable.name);
    entry_of(settings.kind)
        .add_update(graph,
                    {parameter, variable.name, target, gradient, learning_rate, update_attrs(settings, variable.name)},
                    settings);
    if (proxy_norm) {
        graph.add(OpKind::proxy_norm_statistics, *proxy_norm, {target}, variable.name + "/statistics");
    }
    if (has_master) {
        graph.add(OpKind::round_copy, graph::NoAttrs{}, {parameter, target}, variable.name + "/round");
    }
}

/// The backend sums the statistic over the micro-batches.
void add_moving_average(Graph& graph, const OptimiserSettings& settings, ValueId moving) {
    const graph::Value average = graph.value(moving);
    if (!average.owner.valid()) return;
    graph::MovingAverageAttrs attrs;
    attrs.decay = settings.moving_average_decay;
    attrs.value_scale = average.correction / static_cast<double>(settings.micro_batches * settings.replicas);
    graph.set_stage(graph.node(graph.value(average.owner).producer).stage);
    graph.add(OpKind::moving_average_update, attrs, {moving, average.owner}, update_name(average.name));
}

}  // namespace

bool scales_gradient(config::Optimiser kind) {
    return entry_of(kind).scales_gradient;
}

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

void append_update(Graph& graph, const graph::Gradients& gradients, const OptimiserSettings& settings) {
    CNNTRAIN_CHECK(settings.micro_batches >= 1 && settings.replicas >= 1 && settings.loss_scaling > 0,
                   "batch factors and loss scaling must be positive");
    const graph::StageId stage = graph.stage();
    graph.set_phase(graph::Phase::update);
    const ValueId learning_rate = graph.add_scalar(std::string(kLearningRate));
    for (const ValueId parameter : graph.values_with_role(graph::Role::parameter)) {
        const auto gradient = gradients.of.find(parameter);
        if (gradient == gradients.of.end()) continue;
        add_parameter_update(graph, settings, parameter, gradient->second, learning_rate);
    }
    for (const ValueId moving : graph.values_with_role(graph::Role::moving_average))
        add_moving_average(graph, settings, moving);
    graph.set_stage(stage);
}

std::vector<Master> masters(const Graph& graph) {
    std::vector<Master> result;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node({i});
        if (node.kind == OpKind::round_copy) result.push_back({node.inputs[0], node.inputs[1]});
    }
    return result;
}

}  // namespace cnntrain::optim
