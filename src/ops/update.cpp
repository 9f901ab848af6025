// Weight updates (SGD, momentum, RMSprop, LARS), moving averages, and copies of 32-bit masters: ops that overwrite
// parameters and states.
#include <cmath>
#include <initializer_list>

#include "ops/families.h"
#include "ops/op_support.h"

namespace cnntrain::ops {

using graph::Attrs;
using graph::AttrText;
using graph::OpDef;
using graph::OpKind;
using graph::UpdateAttrs;
using graph::Use;

namespace {

void expect_like_parameter(const TensorDesc& parameter, const TensorDesc& other, std::string_view what) {
    expect_floating(other, what);
    expect_shape(other, parameter.shape, what);
}

/// parameter, gradient, the optimiser's states for each element, learning_rate.
std::vector<TensorDesc> infer_update(Descs inputs, std::initializer_list<std::string_view> states) {
    expect_inputs(inputs, 3 + states.size());
    expect_floating(inputs[0], "parameter");
    expect_like_parameter(inputs[0], inputs[1], "gradient");
    std::size_t next = 2;
    for (const std::string_view state : states)
        expect_like_parameter(inputs[0], inputs[next++], state);
    expect_same(inputs[next], {DType::f32, {}}, "learning_rate and f32[]");
    return {};
}

std::vector<TensorDesc> infer_sgd(const Attrs& attrs, Descs inputs) {
    static_cast<void>(std::get<UpdateAttrs>(attrs));
    return infer_update(inputs, {});
}

std::vector<TensorDesc> infer_momentum(const Attrs& attrs, Descs inputs) {
    static_cast<void>(std::get<UpdateAttrs>(attrs));
    return infer_update(inputs, {"velocity"});
}

std::vector<TensorDesc> infer_rmsprop(const Attrs& attrs, Descs inputs) {
    static_cast<void>(std::get<graph::RmsPropAttrs>(attrs));
    return infer_update(inputs, {"mean_square", "velocity"});
}

std::vector<TensorDesc> infer_lars(const Attrs& attrs, Descs inputs) {
    static_cast<void>(std::get<graph::LarsAttrs>(attrs));
    return infer_update(inputs, {"velocity"});
}

std::vector<TensorDesc> infer_round_copy(const Attrs& attrs, Descs inputs) {
    static_cast<void>(std::get<graph::NoAttrs>(attrs));
    expect_inputs(inputs, 2);
    if (inputs[0].dtype == DType::f32) reject("a master is for 16-bit parameters");
    expect_floating(inputs[0], "parameter");
    expect_type(inputs[1], DType::f32, "master");
    expect_shape(inputs[1], inputs[0].shape, "master");
    return {};
}

std::vector<TensorDesc> infer_moving_average(const Attrs& attrs, Descs inputs) {
    static_cast<void>(std::get<graph::MovingAverageAttrs>(attrs));
    expect_inputs(inputs, 2);
    expect_floating(inputs[0], "moving");
    expect_like_parameter(inputs[0], inputs[1], "value");
    return {};
}

double step_gradient(const UpdateAttrs& a, RefInputs inputs, std::size_t i) {
    return a.gradient_scale * inputs[1]->values[i] + a.weight_decay * inputs[0]->values[i];
}

void evaluate_sgd(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<UpdateAttrs>(attrs);
    const double rate = inputs[2]->values[0] * a.learning_rate_scale;
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
        outputs[0].values[i] = inputs[0]->values[i] - rate * step_gradient(a, inputs, i);
    }
}

void evaluate_momentum(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<UpdateAttrs>(attrs);
    const double rate = inputs[3]->values[0] * a.learning_rate_scale;
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
        const double velocity = a.momentum * inputs[2]->values[i] + step_gradient(a, inputs, i);
        outputs[0].values[i] = inputs[0]->values[i] - rate * velocity;
        outputs[1].values[i] = velocity;
    }
}

void evaluate_rmsprop(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<graph::RmsPropAttrs>(attrs);
    const double rate = inputs[4]->values[0] * a.update.learning_rate_scale;
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
        const double g = step_gradient(a.update, inputs, i);
        const double mean_square = a.decay * inputs[2]->values[i] + (1 - a.decay) * g * g;
        const double change = g == 0 ? 0 : rate * g / std::sqrt(mean_square + a.epsilon);
        const double velocity = a.update.momentum * inputs[3]->values[i] + change;
        outputs[0].values[i] = inputs[0]->values[i] - velocity;
        outputs[1].values[i] = mean_square;
        outputs[2].values[i] = velocity;
    }
}

/// The trust ratio of the whole tensor.
double trust_of(const graph::LarsAttrs& a, RefInputs inputs) {
    double parameters = 0;
    double gradients = 0;
    for (std::size_t i = 0; i < inputs[0]->values.size(); ++i) {
        const double g = step_gradient(a.update, inputs, i);
        parameters += inputs[0]->values[i] * inputs[0]->values[i];
        gradients += g * g;
    }
    if (!a.adapts || parameters <= 0 || gradients <= 0) return 1;
    const double norm = std::sqrt(parameters);
    return a.trust_scale * norm / (std::sqrt(gradients) + a.weight_decay * norm + a.epsilon);
}

void evaluate_lars(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<graph::LarsAttrs>(attrs);
    const double rate = inputs[3]->values[0] * a.update.learning_rate_scale * trust_of(a, inputs);
    const double weight_decay = a.adapts ? a.weight_decay : 0;
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
        const double parameter = inputs[0]->values[i];
        const double g = step_gradient(a.update, inputs, i) + weight_decay * parameter;
        const double velocity = a.update.momentum * inputs[2]->values[i] + rate * g;
        outputs[0].values[i] = parameter - velocity;
        outputs[1].values[i] = velocity;
    }
}

void evaluate_round_copy(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    outputs[0].values = inputs[1]->values;
}

void evaluate_moving_average(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<graph::MovingAverageAttrs>(attrs);
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
        outputs[0].values[i] = a.decay * inputs[0]->values[i] + (1 - a.decay) * a.value_scale * inputs[1]->values[i];
    }
}

// ---- attributes as text ----

void describe(const UpdateAttrs& a, AttrText& text) {
    text.item("gradient scale", a.gradient_scale, 1.0);
    text.item("weight decay", a.weight_decay);
    text.item("learning rate scale", a.learning_rate_scale, 1.0);
    text.item("momentum", a.momentum);
}

void describe_update(const Attrs& attrs, AttrText& text) {
    describe(std::get<UpdateAttrs>(attrs), text);
}

void describe_rmsprop(const Attrs& attrs, AttrText& text) {
    const auto& a = std::get<graph::RmsPropAttrs>(attrs);
    describe(a.update, text);
    text.item("decay", a.decay);
    text.item("epsilon", a.epsilon);
}

void describe_lars(const Attrs& attrs, AttrText& text) {
    const auto& a = std::get<graph::LarsAttrs>(attrs);
    describe(a.update, text);
    text.item("trust scale", a.trust_scale);
    text.item("LARS weight decay", a.weight_decay);
    text.item("epsilon", a.epsilon);
    text.flag("skipped", !a.adapts);
}

void describe_moving_average(const Attrs& attrs, AttrText& text) {
    const auto& a = std::get<graph::MovingAverageAttrs>(attrs);
    text.item("decay", a.decay);
    text.item("value scale", a.value_scale, 1.0);
}

}  // namespace

std::vector<OpDef> update_ops() {
    return {
        {.kind = OpKind::sgd_update,
         .name = "sgd_update",
         .inputs = {{.use = Use::target}, {.use = Use::gradient}, {}},
         .infer = infer_sgd,
         .flops = flops_per_input<5>,
         .evaluate = evaluate_sgd,
         .describe = describe_update},
        {.kind = OpKind::momentum_update,
         .name = "momentum_update",
         .inputs = {{.use = Use::target}, {.use = Use::gradient}, {.use = Use::slot}, {}},
         .infer = infer_momentum,
         .flops = flops_per_input<7>,
         .evaluate = evaluate_momentum,
         .describe = describe_update},
        {.kind = OpKind::rmsprop_update,
         .name = "rmsprop_update",
         .inputs = {{.use = Use::target}, {.use = Use::gradient}, {.use = Use::slot}, {.use = Use::slot}, {}},
         .infer = infer_rmsprop,
         .flops = flops_per_input<13>,
         .evaluate = evaluate_rmsprop,
         .describe = describe_rmsprop},
        {.kind = OpKind::lars_update,
         .name = "lars_update",
         .inputs = {{.use = Use::target}, {.use = Use::gradient}, {.use = Use::slot}, {}},
         .infer = infer_lars,
         .flops = flops_per_input<14>,
         .evaluate = evaluate_lars,
         .describe = describe_lars},
        {.kind = OpKind::round_copy,
         .name = "round_copy",
         .inputs = {{.use = Use::target}, {}},
         .infer = infer_round_copy,
         .flops = flops_per_input<1>,
         .evaluate = evaluate_round_copy},
        {.kind = OpKind::moving_average_update,
         .name = "moving_average_update",
         .inputs = {{.use = Use::target}, {.use = Use::gradient}},
         .infer = infer_moving_average,
         .flops = flops_per_input<4>,
         .evaluate = evaluate_moving_average,
         .describe = describe_moving_average},
    };
}

}  // namespace cnntrain::ops
