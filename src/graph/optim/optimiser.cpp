#include "cnntrain/graph/optimiser.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::optim {
namespace {

using graph::Graph;
using graph::OpKind;
using graph::UpdateRule;
using graph::ValueId;

bool contains_any(const std::string& name, const std::vector<std::string>& parts) {
    return std::ranges::any_of(parts, [&](const std::string& part) { return name.find(part) != std::string::npos; });
}

/// Queries, keys and values.
constexpr std::int64_t kAttentionMatrices = 3;

struct SlotRow {
    std::string_view suffix;
    double start = 0;
};

/// An optimiser: its slots in the rule's order, and its settings as attributes of the rule.
struct OptimiserRow {
    UpdateRule rule;
    bool unscales_gradient;
    std::vector<SlotRow> slots;
    void (*set)(graph::UpdateAttrs&, const UpdateSettings&, const std::string& variable);
    bool keeps_moments = false;
};

void set_nothing(graph::UpdateAttrs& /*attrs*/, const UpdateSettings& /*settings*/, const std::string& /*name*/) {}

void set_momentum(graph::UpdateAttrs& attrs, const UpdateSettings& settings, const std::string& /*name*/) {
    attrs.momentum = settings.momentum;
}

void set_rmsprop(graph::UpdateAttrs& attrs, const UpdateSettings& settings, const std::string& /*name*/) {
    attrs.momentum = settings.momentum;
    attrs.decay = settings.mean_square_decay;
    attrs.epsilon = settings.rmsprop_epsilon;
}

void set_lars(graph::UpdateAttrs& attrs, const UpdateSettings& settings, const std::string& variable) {
    attrs.momentum = settings.momentum;
    attrs.adapts = !contains_any(variable, settings.lars.skip);
    if (!attrs.adapts) return;
    attrs.trust_scale = settings.lars.trust_scale;
    attrs.rule_weight_decay = settings.lars.weight_decay;
    attrs.epsilon = settings.lars.epsilon;
}

void set_adam(graph::UpdateAttrs& attrs, const UpdateSettings& settings, const std::string& /*name*/) {
    attrs.momentum = settings.adam.beta1;
    attrs.decay = settings.adam.beta2;
    attrs.epsilon = settings.adam.epsilon;
    attrs.corrects_bias = settings.adam.corrects_bias;
    attrs.corrects_step = settings.adam.corrects_step;
    attrs.rule_weight_decay = std::exchange(attrs.weight_decay, 0);
}

void set_lamb(graph::UpdateAttrs& attrs, const UpdateSettings& settings, const std::string& variable) {
    set_adam(attrs, settings, variable);
    attrs.adapts = !contains_any(variable, settings.adam.skip);
    if (contains_any(variable, settings.adam.column_blocks)) attrs.column_blocks = kAttentionMatrices;
}

const std::vector<OptimiserRow>& optimisers() {
    static const std::vector<OptimiserRow> rows = {
        {UpdateRule::sgd, false, {}, set_nothing},
        {UpdateRule::momentum, false, {{kMomentumSlot}}, set_momentum},
        {UpdateRule::rmsprop, true, {{kRmsPropMomentumSlot}, {kMeanSquareSlot, 1}}, set_rmsprop},
        {UpdateRule::lars, true, {{kMomentumSlot}}, set_lars},
        {UpdateRule::adamw, true, {{"/adam_m"}, {"/adam_v"}}, set_adam, true},
        {UpdateRule::lamb, true, {{"/lamb_m"}, {"/lamb_v"}}, set_lamb, true},
        {UpdateRule::nesterov, false, {{kMomentumSlot}}, set_momentum},
    };
    return rows;
}

const OptimiserRow& row_of(UpdateRule rule) {
    const auto row = std::ranges::find(optimisers(), rule, &OptimiserRow::rule);
    CNNTRAIN_CHECK(row != optimisers().end(), "every optimiser has a row");
    return *row;
}

std::string update_name(const std::string& variable) {
    return variable + "/update";
}

/// The number of micro-batches by which the gradients of an update are divided.
double divisor(const UpdateSettings& settings) {
    return settings.adds_micro_batches ? 1 : static_cast<double>(settings.micro_batches);
}

/// A block of a network (stage1/unit2, block3a, layer_5), the last layer of an EfficientNet, or else the first two
/// parts of the variable's name.
std::string layer_of(const std::string& variable) {
    constexpr std::array<std::string_view, 4> kBlocks = {"/unit", "/block", "/layer_", "/logits"};
    std::size_t from = variable.find('/') + 1;
    for (const std::string_view block : kBlocks) {
        const std::size_t at = variable.rfind(block);
        if (at != std::string::npos) from = at + 1;
    }
    return variable.substr(0, variable.find('/', from));
}

/// Factors of the learning rate: layer_decay to the power of the number of layers that follow.
class LayerRates {
public:
    LayerRates(const Graph& graph, double decay) : decay_(decay) {
        for (const ValueId id : graph.values_with_role(graph::Role::parameter)) {
            std::string layer = layer_of(graph.value(id).name);
            if (std::ranges::find(layers_, layer) == layers_.end()) layers_.push_back(std::move(layer));
        }
    }
    double of(const std::string& variable) const {
        const auto layer = std::ranges::find(layers_, layer_of(variable));
        return std::pow(decay_, static_cast<double>(layers_.end() - layer - 1));
    }

private:
    double decay_;
    std::vector<std::string> layers_;  // from the input to the last
};

graph::UpdateAttrs update_attrs(const UpdateSettings& settings, const std::string& variable, const LayerRates& rates) {
    const OptimiserRow& row = row_of(settings.rule);
    graph::UpdateAttrs attrs;
    attrs.rule = settings.rule;
    const double left_in_gradient = row.unscales_gradient ? 1 : settings.loss_scaling;
    attrs.gradient_scale = left_in_gradient / divisor(settings);
    if (!contains_any(variable, settings.weight_decay_exclude))
        attrs.weight_decay = settings.weight_decay * left_in_gradient;
    attrs.learning_rate_scale = rates.of(variable) / left_in_gradient;
    row.set(attrs, settings, variable);
    return attrs;
}

/// The graph's scalars that an update reads, and the factors of their rates.
struct UpdateScalars {
    ValueId learning_rate;
    ValueId step;
    ValueId loss_scaling;
    LayerRates rates;
    ValueId gradient_factor{};  // invalid: no factor
};

/// Moments stay in f32: a smaller type would round an update's change away. They are smaller only if the weights are,
/// and if f32_means is off.
DType slot_type(const UpdateSettings& settings, DType target) {
    const bool in_f32 = settings.f32_means || (settings.slots && size_bytes(*settings.slots) < size_bytes(DType::f32));
    return keeps_moments(settings.rule) && in_f32 ? DType::f32 : settings.slots.value_or(target);
}

/// `target`: the parameter, or its master.
void add_update_node(Graph& graph, const UpdateSettings& settings, ValueId parameter, ValueId target, ValueId gradient,
                     const UpdateScalars& scalars) {
    const std::string variable = graph.value(parameter).name;
    const TensorDesc desc = graph.desc(target);
    std::vector<ValueId> inputs = {target, gradient, scalars.learning_rate, scalars.step, scalars.loss_scaling};
    const bool scaled = scalars.gradient_factor.valid();
    if (scaled) inputs.push_back(scalars.gradient_factor);
    for (const SlotRow& slot : row_of(settings.rule).slots) {
        const TensorDesc kept{slot_type(settings, desc.dtype), desc.shape};
        inputs.push_back(graph.add_slot(parameter, variable + std::string(slot.suffix), kept, {.value = slot.start}));
    }
    graph.add(scaled ? OpKind::scaled_update : OpKind::update, update_attrs(settings, variable, scalars.rates),
              std::move(inputs), update_name(variable));
}

/// The 32-bit slot that is updated instead of the parameter; it starts at the parameter's own value.
ValueId add_master(Graph& graph, ValueId parameter) {
    const graph::Value variable = graph.value(parameter);
    return graph.add_slot(parameter, variable.name + std::string(kMasterSlot), {DType::f32, variable.desc.shape},
                          variable.initialiser);
}

/// The attributes of the op by which the network reads a proxy; empty for other parameters.
std::optional<graph::ProxyNormAttrs> proxy_norm_of(const Graph& graph, const graph::Value& variable) {
    const graph::Node& reader = graph.node(variable.users.front());
    if (reader.kind != OpKind::proxy_norm_rows) return std::nullopt;
    return reader.as<graph::ProxyNormAttrs>();
}

/// The gradient of a proxy for its update. Its rows beta' and gamma' are always decayed here, in addition to the decay
/// of the whole proxy unless `weight_decay_exclude` names proxies.
ValueId add_proxy_gradient(Graph& graph, const UpdateSettings& settings, graph::ProxyNormAttrs attrs, ValueId proxy,
                           ValueId gradient, ValueId loss_scaling, const std::string& variable) {
    // Scales the decay to the gradient, which is still a sum.
    attrs.weight_decay = settings.weight_decay * divisor(settings);
    return graph.add_one(OpKind::proxy_norm_gradient, std::move(attrs), {proxy, gradient, loss_scaling},
                         variable + "/gradient");
}

void add_parameter_update(Graph& graph, const UpdateSettings& settings, ValueId parameter, ValueId gradient,
                          const UpdateScalars& scalars) {
    const graph::Value variable = graph.value(parameter);
    const bool has_master = settings.fp32_weight_copy && variable.desc.dtype != DType::f32;
    const ValueId target = has_master ? add_master(graph, parameter) : parameter;
    graph.set_stage(graph.node(variable.users.front()).stage);
    const std::optional<graph::ProxyNormAttrs> proxy_norm = proxy_norm_of(graph, variable);
    if (proxy_norm) {
        gradient =
            add_proxy_gradient(graph, settings, *proxy_norm, target, gradient, scalars.loss_scaling, variable.name);
    }
    add_update_node(graph, settings, parameter, target, gradient, scalars);
    if (proxy_norm) graph.add(OpKind::proxy_norm_statistics, *proxy_norm, {target}, variable.name + "/statistics");
    if (has_master) graph.add(OpKind::round_copy, graph::NoAttrs{}, {parameter, target}, variable.name + "/round");
}

/// The factor of all gradients, in the order of their parameters.
ValueId add_gradient_factor(Graph& graph, const graph::Gradients& gradients, const UpdateSettings& settings,
                            ValueId loss_scaling) {
    std::vector<ValueId> all = {loss_scaling};
    for (const ValueId parameter : graph.values_with_role(graph::Role::parameter)) {
        const auto gradient = gradients.of.find(parameter);
        if (gradient != gradients.of.end()) all.push_back(gradient->second);
    }
    using enum GradientNorm;
    graph::GradientFactorAttrs attrs;
    attrs.gradient_scale = 1 / divisor(settings);
    const bool limits = settings.gradient_norm == limited || settings.gradient_norm == limits_divides;
    attrs.limit = limits ? settings.gradient_norm_limit : 0;
    attrs.divides = settings.gradient_norm == GradientNorm::divides || settings.gradient_norm == limits_divides;
    return graph.add_one(OpKind::gradient_factor, attrs, std::move(all), "gradient_factor");
}

/// Casts the gradients to the type that updates read; sums over micro-batches have this type, too. Empty: each gradient
/// gets the type of its variable.
graph::Gradients in_update_type(Graph& graph, graph::Gradients gradients, std::optional<DType> chosen) {
    graph.set_phase(graph::Phase::backward);
    for (const ValueId parameter : graph.values_with_role(graph::Role::parameter)) {
        const auto gradient = gradients.of.find(parameter);
        const DType type = chosen.value_or(graph.desc(parameter).dtype);
        if (gradient == gradients.of.end() || graph.desc(gradient->second).dtype == type) continue;
        graph.set_stage(graph.node(graph.value(gradient->second).producer).stage);
        gradient->second = graph.add_one(OpKind::cast, graph::CastAttrs{type}, {gradient->second},
                                         graph.value(parameter).name + "/gradient_cast");
    }
    return gradients;
}

/// The backend sums the statistic over the micro-batches.
void add_moving_average(Graph& graph, const UpdateSettings& settings, ValueId moving) {
    const graph::Value average = graph.value(moving);
    if (!average.owner.valid()) return;
    graph::MovingAverageAttrs attrs;
    attrs.decay = settings.moving_average_decay;
    attrs.value_scale = average.correction / static_cast<double>(settings.micro_batches);
    graph.set_stage(graph.node(graph.value(average.owner).producer).stage);
    graph.add(OpKind::moving_average_update, attrs, {moving, average.owner}, update_name(average.name));
}

/// The parts of a name, joined from the first: "all/stage1", "all/stage1/unit1", ...
void add_beginnings(const std::string& name, std::set<std::string>& beginnings) {
    for (std::size_t slash = name.find('/'); slash != std::string::npos; slash = name.find('/', slash + 1))
        beginnings.insert(name.substr(0, slash));
    beginnings.insert(name);
}

/// Names of variables, or beginnings of names, near a pattern that matches none.
std::string near_names(const std::vector<std::string>& names, const std::string& pattern) {
    std::set<std::string> beginnings;
    for (const std::string& name : names)
        add_beginnings(name, beginnings);
    std::vector<std::pair<int, std::string>> by_distance;
    for (const std::string& name : beginnings) {
        const std::size_t slash = name.rfind('/');
        const int last_part = edit_distance(pattern, slash == std::string::npos ? name : name.substr(slash + 1));
        by_distance.emplace_back(std::min(edit_distance(pattern, name), last_part), name);
    }
    std::ranges::stable_sort(by_distance, {}, [](const auto& entry) { return entry.first; });
    constexpr std::size_t kShown = 5;
    by_distance.resize(std::min(kShown, by_distance.size()));
    return joined(by_distance, ", ", [](const auto& entry) { return entry.second; });
}

Patterns frozen_patterns(const Graph& graph, const std::vector<std::string>& expressions) {
    Patterns frozen(expressions, "--freeze");
    std::vector<std::string> names;
    for (const ValueId id : graph.variables()) {
        if (graph.value(id).role != graph::Role::slot) names.push_back(graph.value(id).name);
    }
    const std::vector<std::string> idle = frozen.idle(names);
    if (idle.empty()) return frozen;
    throw Error(ErrorKind::usage, "--freeze '" + idle.front() + "' matches no variable; near it there are " +
                                      near_names(names, idle.front()));
}

}  // namespace

bool keeps_moments(UpdateRule rule) {
    return row_of(rule).keeps_moments;
}

bool unscales_gradient(UpdateRule rule) {
    return row_of(rule).unscales_gradient;
}

std::vector<ValueId> trainable_parameters(const Graph& graph, const OptimiserSettings& settings) {
    const Patterns frozen = frozen_patterns(graph, settings.freeze);
    const std::vector<std::string>& filter = settings.variable_filter;
    std::vector<ValueId> parameters = graph.values_with_role(graph::Role::parameter);
    std::erase_if(parameters, [&](ValueId id) {
        const std::string& name = graph.value(id).name;
        return (!filter.empty() && !contains_any(name, filter)) || frozen.match(name);
    });
    if (!parameters.empty()) return parameters;
    std::string wanted;
    for (const std::string& part : filter)
        wanted += " '" + part + "'";
    throw Error(ErrorKind::usage,
                settings.freeze.empty()
                    ? "--variable-filter leaves nothing to train: no variable's name contains any of" + wanted
                    : "--freeze " + joined(settings.freeze, " ") + " leaves nothing to train" +
                          (filter.empty() ? "" : " of the variables with" + wanted));
}

ValueId loss_scaling(Graph& graph) {
    const std::optional<ValueId> there = graph.find(kLossScaling);
    return there ? *there : graph.add_scalar(std::string(kLossScaling));
}

void append_update(Graph& graph, const graph::Gradients& computed, const UpdateSettings& settings) {
    CNNTRAIN_CHECK(settings.micro_batches >= 1 && settings.loss_scaling > 0,
                   "batch factors and loss scaling must be positive");
    const graph::StageId stage = graph.stage();
    const graph::Gradients gradients = in_update_type(graph, computed, settings.gradients);
    graph.set_phase(graph::Phase::update);
    UpdateScalars scalars{graph.add_scalar(std::string(kLearningRate)), graph.add_scalar(std::string(kStep)),
                          loss_scaling(graph), LayerRates(graph, settings.layer_decay)};
    if (settings.gradient_norm != GradientNorm::ignored)
        scalars.gradient_factor = add_gradient_factor(graph, gradients, settings, scalars.loss_scaling);
    for (const ValueId parameter : graph.values_with_role(graph::Role::parameter)) {
        const auto gradient = gradients.of.find(parameter);
        if (gradient == gradients.of.end()) continue;
        add_parameter_update(graph, settings, parameter, gradient->second, scalars);
    }
    for (const ValueId moving : graph.values_with_role(graph::Role::moving_average))
        add_moving_average(graph, settings, moving);
    graph.set_stage(stage);
}

std::vector<Master> masters(const Graph& graph) {
    std::vector<Master> result;
    for (const graph::Node& node : graph.nodes()) {
        if (node.kind == OpKind::round_copy) result.push_back({node.inputs[0], node.inputs[1]});
    }
    return result;
}

}  // namespace cnntrain::optim
