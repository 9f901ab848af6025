// Sigmoid and what is built of it: swish (Ramachandran et al. 2017) and the gate of squeeze-excite (Hu et al. 2018).
#include <algorithm>
#include <cmath>

#include "ops/families.h"
#include "ops/op_support.h"

namespace cnntrain::ops {

using graph::Attrs;
using graph::GradContext;
using graph::NoAttrs;
using graph::OpDef;
using graph::OpKind;

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

double swish(double x) {
    return x * sigmoid(x);
}

double swish_slope(double x) {
    const double s = sigmoid(x);
    return s * (1 + x * (1 - s));
}

double activated(graph::Activation activation, double x) {
    switch (activation) {
        case graph::Activation::relu:
            return x < 0 ? 0 : x;
        case graph::Activation::swish:
            return swish(x);
        case graph::Activation::none:
            break;
    }
    return x;
}

namespace {

// ---- swish ----

void swish_gradient(GradContext& context) {
    const std::vector<graph::ValueId> inputs = {context.input(0), context.grad_output(0)};
    context.set_grad(0, context.add_one(OpKind::swish_grad, NoAttrs{}, inputs, "grad"));
}

void evaluate_swish(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    std::ranges::transform(inputs[0]->values, outputs[0].values.begin(), swish);
}

void evaluate_swish_grad(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    std::ranges::transform(inputs[0]->values, inputs[1]->values, outputs[0].values.begin(),
                           [](double x, double dy) { return dy * swish_slope(x); });
}

// ---- sigmoid ----

void sigmoid_gradient(GradContext& context) {
    const std::vector<graph::ValueId> inputs = {context.output(0), context.grad_output(0)};
    context.set_grad(0, context.add_one(OpKind::sigmoid_grad, NoAttrs{}, inputs, "grad"));
}

void evaluate_sigmoid(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    std::ranges::transform(inputs[0]->values, outputs[0].values.begin(), sigmoid);
}

void evaluate_sigmoid_grad(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    std::ranges::transform(inputs[0]->values, inputs[1]->values, outputs[0].values.begin(),
                           [](double y, double dy) { return dy * y * (1 - y); });
}

// ---- scale_channels ----

void expect_gate(const TensorDesc& x, const TensorDesc& gate) {
    expect_activation(x, "x[N,H,W,C]");
    expect_same_type(x, gate, "x and gate");
    expect_shape(gate, {x.shape[0], x.shape[3]}, "gate");
}

std::vector<TensorDesc> infer_scale_channels(const Attrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 2);
    expect_gate(inputs[0], inputs[1]);
    return {inputs[0]};
}

void scale_channels_gradient(GradContext& context) {
    const std::vector<graph::ValueId> inputs = {context.input(0), context.input(1), context.grad_output(0)};
    const std::vector<graph::ValueId> gradients = context.add(OpKind::scale_channels_grad, NoAttrs{}, inputs, "grad");
    for (std::size_t i = 0; i < gradients.size(); ++i)
        context.set_grad(i, gradients[i]);
}

std::vector<TensorDesc> infer_scale_channels_grad(const Attrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 3);
    expect_gate(inputs[0], inputs[1]);
    expect_same(inputs[0], inputs[2], "x and dy");
    return {inputs[0], inputs[1]};
}

/// Calls pair(index in x[N,H,W,C], index in gate[N,C]).
template <typename Pair> void for_each_gated(const Shape& shape, Pair pair) {
    const Nhwc x(shape);
    for (std::int64_t i = 0; i < element_count(shape); ++i) {
        pair(static_cast<std::size_t>(i), static_cast<std::size_t>(i / (x.h * x.w * x.c) * x.c + i % x.c));
    }
}

void evaluate_scale_channels(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    for_each_gated(inputs[0]->desc.shape, [&](std::size_t i, std::size_t g) {
        outputs[0].values[i] = inputs[0]->values[i] * inputs[1]->values[g];
    });
}

void evaluate_scale_channels_grad(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    for_each_gated(inputs[0]->desc.shape, [&](std::size_t i, std::size_t g) {
        outputs[0].values[i] = inputs[2]->values[i] * inputs[1]->values[g];
        outputs[1].values[g] += inputs[2]->values[i] * inputs[0]->values[i];
    });
}

}  // namespace

OpDef swish_op() {
    return {.kind = OpKind::swish,
            .name = "swish",
            .infer = infer_elementwise,
            .gradient = swish_gradient,
            .flops = flops_per_input<4>,
            .evaluate = evaluate_swish};
}

OpDef swish_grad_op() {
    return {.kind = OpKind::swish_grad,
            .name = "swish_grad",
            .infer = infer_elementwise_grad,
            .flops = flops_per_input<7>,
            .evaluate = evaluate_swish_grad};
}

OpDef sigmoid_op() {
    return {.kind = OpKind::sigmoid,
            .name = "sigmoid",
            .infer = infer_elementwise,
            .gradient = sigmoid_gradient,
            .flops = flops_per_input<3>,
            .evaluate = evaluate_sigmoid};
}

OpDef sigmoid_grad_op() {
    return {.kind = OpKind::sigmoid_grad,
            .name = "sigmoid_grad",
            .infer = infer_elementwise_grad,
            .flops = flops_per_input<3>,
            .evaluate = evaluate_sigmoid_grad};
}

OpDef scale_channels_op() {
    return {.kind = OpKind::scale_channels,
            .name = "scale_channels",
            .infer = infer_scale_channels,
            .gradient = scale_channels_gradient,
            .flops = flops_per_input<1>,
            .evaluate = evaluate_scale_channels};
}

OpDef scale_channels_grad_op() {
    return {.kind = OpKind::scale_channels_grad,
            .name = "scale_channels_grad",
            .infer = infer_scale_channels_grad,
            .flops = flops_per_input<3>,
            .evaluate = evaluate_scale_channels_grad};
}

}  // namespace cnntrain::ops
