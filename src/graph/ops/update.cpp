// Weight updates (graph/update_rule.h), moving averages, and copies of 32-bit masters: ops that overwrite variables.
#include <cmath>

#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::UpdateAttrs;
using graph::UpdateRule;

namespace {

void expect_like_target(const TensorDesc& target, const TensorDesc& other, std::string_view what) {
    expect_floating(other, what);
    expect_shape(other, target.shape, what);
}

// ---- the inputs of an update ----

constexpr std::size_t kTarget = 0;
constexpr std::size_t kGradient = 1;
constexpr std::size_t kLearningRate = 2;
constexpr std::size_t kStep = 3;
constexpr std::size_t kLossScaling = 4;
constexpr std::size_t kFactor = 5;  // of scaled_update; the slots follow

std::vector<TensorDesc> infer_any_update(const UpdateAttrs& attrs, Descs inputs, std::size_t first_slot) {
    expect_inputs(inputs, first_slot + facts_of(attrs.rule).slots);
    expect_floating(inputs[kTarget], "target");
    expect_like_target(inputs[kTarget], inputs[kGradient], "gradient");
    expect_same(inputs[kLearningRate], {DType::f32, {}}, "learning_rate and f32[]");
    expect_same(inputs[kStep], {DType::f32, {}}, "step and f32[]");
    expect_same(inputs[kLossScaling], {DType::f32, {}}, "loss_scaling and f32[]");
    if (first_slot > kFactor) expect_same(inputs[kFactor], {DType::f32, {}}, "factor and f32[]");
    for (std::size_t i = first_slot; i < inputs.size(); ++i)
        expect_like_target(inputs[kTarget], inputs[i], "slot");
    const Shape& shape = inputs[kTarget].shape;
    const bool blocks_fit = shape.size() == 2 && attrs.column_blocks > 0 && shape[1] % attrs.column_blocks == 0;
    if (attrs.column_blocks != 1 && !blocks_fit) {
        reject("only a matrix whose columns it divides has " + std::to_string(attrs.column_blocks) +
               " blocks of columns, got " + to_string(inputs[kTarget]));
    }
    return {};
}

std::vector<TensorDesc> infer_update(const Attrs& attrs, Descs inputs) {
    return infer_any_update(std::get<UpdateAttrs>(attrs), inputs, kFactor);
}

std::vector<TensorDesc> infer_scaled_update(const Attrs& attrs, Descs inputs) {
    return infer_any_update(std::get<UpdateAttrs>(attrs), inputs, kFactor + 1);
}

std::vector<TensorDesc> infer_gradient_factor(const graph::GradientFactorAttrs& /*attrs*/, Descs inputs) {
    if (inputs.size() < 2) reject("there are no gradients");
    expect_same(inputs[0], {DType::f32, {}}, "loss_scaling and f32[]");
    for (const TensorDesc& gradient : inputs.subspan(1))
        expect_floating(gradient, "gradient");
    return {{DType::f32, {}}};
}

std::vector<TensorDesc> infer_round_copy(const NoAttrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 2);
    if (inputs[0].dtype == DType::f32) reject("a master is for 16-bit parameters");
    expect_floating(inputs[0], "parameter");
    expect_type(inputs[1], DType::f32, "master");
    expect_shape(inputs[1], inputs[0].shape, "master");
    return {};
}

std::vector<TensorDesc> infer_moving_average(const graph::MovingAverageAttrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 2);
    expect_floating(inputs[0], "moving");
    expect_like_target(inputs[0], inputs[1], "value");
    return {};
}

// ---- the rules ----

/// An update as its rule sees it: tensors by element.
struct UpdateView {
    const UpdateAttrs& attrs;
    RefInputs inputs;
    RefOutputs outputs;      // the target, the slots
    std::size_t first_slot;  // among the inputs
    double factor;           // of the gradient

    std::size_t count() const { return outputs[0].values.size(); }
    double step() const { return inputs[kStep]->values[0]; }
    double rate() const {
        return inputs[kLearningRate]->values[0] * attrs.learning_rate_scale * step_correction(attrs, step());
    }
    double target(std::size_t i) const { return inputs[kTarget]->values[i]; }
    double gradient(std::size_t i) const {
        const double scale = attrs.gradient_scale * factor / inputs[kLossScaling]->values[0];
        return scale * inputs[kGradient]->values[i] + attrs.weight_decay * target(i);
    }
    double correction(double decay) const { return bias_correction(attrs, decay, step()); }
    double slot(std::size_t k, std::size_t i) const { return inputs[first_slot + k]->values[i]; }
    double& new_target(std::size_t i) const { return outputs[0].values[i]; }
    double& new_slot(std::size_t k, std::size_t i) const { return outputs[1 + k].values[i]; }

    /// The block of columns that an element is in.
    std::size_t block(std::size_t i) const {
        if (attrs.column_blocks == 1) return 0;
        const auto columns = static_cast<std::size_t>(inputs[kTarget]->desc.shape[1]);
        return i % columns / (columns / static_cast<std::size_t>(attrs.column_blocks));
    }
    /// The trust ratio of every column block. `other`: the vector whose norm is compared with the target's.
    template <typename Other> std::vector<double> trusts(Other other) const {
        const auto blocks = static_cast<std::size_t>(attrs.column_blocks);
        std::vector<double> targets(blocks);
        std::vector<double> others(blocks);
        for (std::size_t i = 0; i < count(); ++i) {
            targets[block(i)] += target(i) * target(i);
            others[block(i)] += other(i) * other(i);
        }
        std::vector<double> result;
        for (std::size_t k = 0; k < blocks; ++k)
            result.push_back(trust_ratio(attrs, std::sqrt(targets[k]), std::sqrt(others[k])));
        return result;
    }
};

void sgd(const UpdateView& u) {
    for (std::size_t i = 0; i < u.count(); ++i)
        u.new_target(i) = u.target(i) - u.rate() * u.gradient(i);
}

void momentum(const UpdateView& u) {
    for (std::size_t i = 0; i < u.count(); ++i) {
        u.new_slot(0, i) = u.attrs.momentum * u.slot(0, i) + u.gradient(i);
        u.new_target(i) = u.target(i) - u.rate() * u.new_slot(0, i);
    }
}

void nesterov(const UpdateView& u) {
    for (std::size_t i = 0; i < u.count(); ++i) {
        const double g = u.gradient(i);
        u.new_slot(0, i) = u.attrs.momentum * u.slot(0, i) + g;
        u.new_target(i) = u.target(i) - u.rate() * (g + u.attrs.momentum * u.new_slot(0, i));
    }
}

void rmsprop(const UpdateView& u) {
    for (std::size_t i = 0; i < u.count(); ++i) {
        const double g = u.gradient(i);
        u.new_slot(1, i) = u.attrs.decay * u.slot(1, i) + (1 - u.attrs.decay) * g * g;
        const double change = g == 0 ? 0 : u.rate() * g / std::sqrt(u.new_slot(1, i) + u.attrs.epsilon);
        u.new_slot(0, i) = u.attrs.momentum * u.slot(0, i) + change;
        u.new_target(i) = u.target(i) - u.new_slot(0, i);
    }
}

void lars(const UpdateView& u) {
    const std::vector<double> trusts = u.trusts([&](std::size_t i) { return u.gradient(i); });
    for (std::size_t i = 0; i < u.count(); ++i) {
        const double rate = u.rate() * trusts[u.block(i)];
        const double g = u.gradient(i) + u.attrs.rule_weight_decay * u.target(i);
        u.new_slot(0, i) = u.attrs.momentum * u.slot(0, i) + rate * g;
        u.new_target(i) = u.target(i) - u.new_slot(0, i);
    }
}

/// The new means of Adam's family.
void set_moments(const UpdateView& u, std::size_t i) {
    const double g = u.gradient(i);
    u.new_slot(0, i) = u.attrs.momentum * u.slot(0, i) + (1 - u.attrs.momentum) * g;
    u.new_slot(1, i) = u.attrs.decay * u.slot(1, i) + (1 - u.attrs.decay) * g * g;
}

double adam_direction(const UpdateView& u, std::size_t i) {
    const double mean = u.new_slot(0, i) * u.correction(u.attrs.momentum);
    const double square = u.new_slot(1, i) * u.correction(u.attrs.decay);
    return mean / (std::sqrt(square) + u.attrs.epsilon) + u.attrs.rule_weight_decay * u.target(i);
}

void adamw(const UpdateView& u) {
    for (std::size_t i = 0; i < u.count(); ++i) {
        set_moments(u, i);
        u.new_target(i) = u.target(i) - u.rate() * adam_direction(u, i);
    }
}

void lamb(const UpdateView& u) {
    for (std::size_t i = 0; i < u.count(); ++i)
        set_moments(u, i);
    const std::vector<double> trusts = u.trusts([&](std::size_t i) { return adam_direction(u, i); });
    for (std::size_t i = 0; i < u.count(); ++i)
        u.new_target(i) = u.target(i) - u.rate() * trusts[u.block(i)] * adam_direction(u, i);
}

void apply_rule(const UpdateView& view) {
    switch (view.attrs.rule) {
        case UpdateRule::sgd:
            return sgd(view);
        case UpdateRule::momentum:
            return momentum(view);
        case UpdateRule::nesterov:
            return nesterov(view);
        case UpdateRule::rmsprop:
            return rmsprop(view);
        case UpdateRule::lars:
            return lars(view);
        case UpdateRule::adamw:
            return adamw(view);
        case UpdateRule::lamb:
            return lamb(view);
    }
}

void evaluate_update(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    apply_rule({std::get<UpdateAttrs>(attrs), inputs, outputs, kFactor, 1});
}

void evaluate_scaled_update(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    apply_rule({std::get<UpdateAttrs>(attrs), inputs, outputs, kFactor + 1, inputs[kFactor]->values[0]});
}

void evaluate_gradient_factor(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    double squares = 0;
    for (const graph::RefTensor* gradient : inputs.subspan(1)) {
        for (const double value : gradient->values)
            squares += value * value;
    }
    const double scaling = inputs[0]->values[0];
    outputs[0].values[0] = gradient_factor(std::get<graph::GradientFactorAttrs>(attrs), squares / (scaling * scaling));
}

void evaluate_round_copy(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    outputs[0].values = inputs[1]->values;
}

void evaluate_moving_average(const graph::MovingAverageAttrs& a, RefInputs inputs, RefOutputs outputs) {
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i)
        outputs[0].values[i] = a.decay * inputs[0]->values[i] + (1 - a.decay) * a.value_scale * inputs[1]->values[i];
}

// ---- attributes as text ----

void describe_update(const UpdateAttrs& a, AttrText& text) {
    text.flag(facts_of(a.rule).name, true);
    text.item("gradient scale", a.gradient_scale, 1.0);
    text.item("weight decay", a.weight_decay);
    text.item("learning rate scale", a.learning_rate_scale, 1.0);
    text.item("momentum", a.momentum);
    text.item("decay", a.decay);
    text.item("epsilon", a.epsilon);
    text.item("the rule's weight decay", a.rule_weight_decay);
    text.item("trust scale", a.trust_scale);
    text.flag("does not adapt", !a.adapts);
    text.flag("corrects bias", a.corrects_bias);
    text.flag("corrects step", a.corrects_step);
    text.item("column blocks", a.column_blocks, std::int64_t{1});
}

void describe_gradient_factor(const graph::GradientFactorAttrs& a, AttrText& text) {
    text.item("gradient scale", a.gradient_scale, 1.0);
    text.item("limit", a.limit);
    text.flag("divides", a.divides);
}

void describe_moving_average(const graph::MovingAverageAttrs& a, AttrText& text) {
    text.item("decay", a.decay);
    text.item("value scale", a.value_scale, 1.0);
}

}  // namespace

std::vector<OpDef> update_ops() {
    return {
        {.kind = OpKind::update,
         .inputs = {{.use = Use::target}, {.use = Use::gradient}, {}, {}, {}, {.use = Use::slot}},
         .infer = infer_update,
         .flops = flops_per_input<10>,
         .evaluate = evaluate_update,
         .describe = typed<describe_update>},
        {.kind = OpKind::scaled_update,
         .inputs = {{.use = Use::target}, {.use = Use::gradient}, {}, {}, {}, {}, {.use = Use::slot}},
         .infer = infer_scaled_update,
         .flops = flops_per_input<11>,
         .evaluate = evaluate_scaled_update,
         .describe = typed<describe_update>},
        {.kind = OpKind::gradient_factor,
         .infer = typed<infer_gradient_factor>,
         .flops = flops_of_all_inputs<2>,
         .evaluate = evaluate_gradient_factor,
         .describe = typed<describe_gradient_factor>},
        {.kind = OpKind::round_copy,
         .inputs = {{.use = Use::target}, {}},
         .infer = typed<infer_round_copy>,
         .flops = flops_per_input<1>,
         .evaluate = evaluate_round_copy},
        {.kind = OpKind::moving_average_update,
         .inputs = {{.use = Use::target}, {.use = Use::gradient}},
         .infer = typed<infer_moving_average>,
         .flops = flops_per_input<4>,
         .evaluate = typed<evaluate_moving_average>,
         .describe = typed<describe_moving_average>},
    };
}

}  // namespace cnntrain::ops
