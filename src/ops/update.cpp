// Weight updates (SGD, momentum) and moving averages: ops that overwrite parameters and states.
#include "ops/families.h"
#include "ops/op_support.h"

namespace cnntrain::ops {

using graph::Attrs;
using graph::OpDef;
using graph::OpKind;
using graph::UpdateAttrs;

namespace {

void expect_like_parameter(const TensorDesc& parameter, const TensorDesc& other, std::string_view what) {
    expect_floating(other, what);
    expect_shape(other, parameter.shape, what);
}

void expect_learning_rate(const TensorDesc& desc) {
    expect_same(desc, {DType::f32, {}}, "learning_rate and f32[]");
}

std::vector<TensorDesc> infer_sgd(const Attrs& attrs, Descs inputs) {
    static_cast<void>(std::get<UpdateAttrs>(attrs));
    expect_inputs(inputs, 3);
    expect_floating(inputs[0], "parameter");
    expect_like_parameter(inputs[0], inputs[1], "gradient");
    expect_learning_rate(inputs[2]);
    return {};
}

std::vector<TensorDesc> infer_momentum(const Attrs& attrs, Descs inputs) {
    static_cast<void>(std::get<UpdateAttrs>(attrs));
    expect_inputs(inputs, 4);
    expect_floating(inputs[0], "parameter");
    expect_like_parameter(inputs[0], inputs[1], "gradient");
    expect_like_parameter(inputs[0], inputs[2], "velocity");
    expect_learning_rate(inputs[3]);
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

void evaluate_moving_average(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<graph::MovingAverageAttrs>(attrs);
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
        outputs[0].values[i] = a.decay * inputs[0]->values[i] + (1 - a.decay) * a.value_scale * inputs[1]->values[i];
    }
}

}  // namespace

OpDef sgd_update_op() {
    return {.kind = OpKind::sgd_update,
            .name = "sgd_update",
            .infer = infer_sgd,
            .flops = flops_per_input<5>,
            .evaluate = evaluate_sgd,
            .mutates = {0}};
}

OpDef momentum_update_op() {
    return {.kind = OpKind::momentum_update,
            .name = "momentum_update",
            .infer = infer_momentum,
            .flops = flops_per_input<7>,
            .evaluate = evaluate_momentum,
            .mutates = {0, 2}};
}

OpDef moving_average_update_op() {
    return {.kind = OpKind::moving_average_update,
            .name = "moving_average_update",
            .infer = infer_moving_average,
            .flops = flops_per_input<4>,
            .evaluate = evaluate_moving_average,
            .mutates = {0}};
}

}  // namespace cnntrain::ops
