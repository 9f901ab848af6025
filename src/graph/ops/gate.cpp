// Channels scaled by a gate of their own in each sample: squeeze-excite (Hu et al. 2018).
#include <algorithm>

#include "graph/ops/op_support.h"

namespace cnntrain::ops {

// Activation functions (graph/activation.h) as operations.

using graph::ActivationAttrs;

namespace {

std::vector<TensorDesc> infer_activation(const ActivationAttrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_floating(inputs[0], "x");
    return {inputs[0]};
}

std::vector<TensorDesc> infer_activation_grad(const ActivationAttrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 2);
    expect_floating(inputs[1], "dy");
    expect_same(inputs[0], inputs[1], "the operands");
    return {inputs[0]};
}

void activation_gradient(GradContext& context) {
    const auto& a = context.attrs_as<ActivationAttrs>();
    const ValueId at = slope_follows_from_result(a.activation) ? context.output(0) : context.input(0);
    context.set_grad(0, context.add_one(OpKind::activation_grad, a, {at, context.grad_output(0)}, "grad"));
}

double activation_flops(const Attrs& attrs, Descs inputs, Descs /*outputs*/) {
    return flops(std::get<ActivationAttrs>(attrs).activation).value * static_cast<double>(inputs[0].elements());
}

double activation_grad_flops(const Attrs& attrs, Descs inputs, Descs /*outputs*/) {
    return flops(std::get<ActivationAttrs>(attrs).activation).gradient * static_cast<double>(inputs[0].elements());
}

void evaluate_activation(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const graph::Activation activation = std::get<ActivationAttrs>(attrs).activation;
    std::ranges::transform(inputs[0]->values, outputs[0].values.begin(),
                           [&](double x) { return activated(activation, x); });
}

void evaluate_activation_grad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const graph::Activation activation = std::get<ActivationAttrs>(attrs).activation;
    std::ranges::transform(inputs[0]->values, inputs[1]->values, outputs[0].values.begin(),
                           [&](double at, double dy) { return dy * slope(activation, at); });
}

void describe_activation(const Attrs& attrs, AttrText& text) {
    text.activation(std::get<ActivationAttrs>(attrs).activation);
}

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

std::vector<TensorDesc> infer_scale_channels_grad(const Attrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 3);
    expect_gate(inputs[0], inputs[1]);
    expect_same(inputs[0], inputs[2], "x and dy");
    return {inputs[0], inputs[1]};
}

void evaluate_scale_channels(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    for_each_of_images(inputs[0]->desc.shape, [&](std::size_t i, std::size_t g) {
        outputs[0].values[i] = inputs[0]->values[i] * inputs[1]->values[g];
    });
}

void evaluate_scale_channels_grad(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    for_each_of_images(inputs[0]->desc.shape, [&](std::size_t i, std::size_t g) {
        outputs[0].values[i] = inputs[2]->values[i] * inputs[1]->values[g];
        outputs[1].values[g] += inputs[2]->values[i] * inputs[0]->values[i];
    });
}

// Dropout (Srivastava et al. 2014) and drop-connect of whole samples (stochastic depth: Huang et al. 2016), inverted
// scaling.

using graph::RandomScaleAttrs;

std::vector<TensorDesc> infer_random_scale(const RandomScaleAttrs& a, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_floating(inputs[0], "x");
    if (inputs[0].shape.empty()) reject("x needs an axis of samples");
    expect_probability(a.keep, "keep");
    expect_random_words(inputs[0].elements() / std::max<std::int64_t>(inputs[0].shape[0], 1), inputs[0].shape);
    return {inputs[0]};
}

void random_scale_gradient(GradContext& context) {
    context.set_grad(0, context.add_one(OpKind::random_scale, context.attrs(), {context.grad_output(0)}, "grad"));
}

void evaluate_random_scale(const RandomScaleAttrs& a, const graph::RandomKey& random, RefInputs inputs,
                           RefOutputs outputs) {
    const std::int64_t samples = inputs[0]->desc.shape[0];
    const RandomScale scale(random, a.keep, a.site, samples);
    const std::size_t elements = inputs[0]->values.size() / static_cast<std::size_t>(samples);
    for (std::size_t i = 0; i < inputs[0]->values.size(); ++i)
        outputs[0].values[i] = scale(i / elements, a.per_sample ? 0 : i % elements, inputs[0]->values[i]);
}

void describe_random_scale(const RandomScaleAttrs& a, AttrText& text) {
    text.item("keep", a.keep);
    text.flag("per sample", a.per_sample);
    text.item("site", a.site);
}

}  // namespace

std::vector<OpDef> gate_ops() {
    return {
        {.kind = OpKind::activation,
         .inputs = {{Layout::same}},
         .results = {Layout::same},
         .cheap_to_recompute = true,
         .infer = typed<infer_activation>,
         .gradient = activation_gradient,
         .flops = activation_flops,
         .evaluate = evaluate_activation,
         .describe = describe_activation,
         .by_sample = always},
        {.kind = OpKind::activation_grad,
         .inputs = {{Layout::same}},
         .results = {Layout::same},
         .infer = typed<infer_activation_grad>,
         .flops = activation_grad_flops,
         .evaluate = evaluate_activation_grad,
         .describe = describe_activation},
        {.kind = OpKind::scale_channels,
         .inputs = {{Layout::image}, {Layout::rows}},
         .results = {Layout::image},
         .infer = infer_scale_channels,
         .gradient = gradient_by_op<OpKind::scale_channels_grad>,
         .flops = flops_per_input<1>,
         .evaluate = evaluate_scale_channels,
         .by_sample = always},
        {.kind = OpKind::scale_channels_grad,
         .inputs = {{Layout::image}, {Layout::rows}, {Layout::image}},
         .results = {Layout::image, Layout::rows},
         .infer = infer_scale_channels_grad,
         .flops = flops_per_input<3>,
         .evaluate = evaluate_scale_channels_grad},
        {.kind = OpKind::random_scale,
         .inputs = {{Layout::same}},
         .results = {Layout::same},
         .infer = typed<infer_random_scale>,
         .gradient = random_scale_gradient,
         .flops = flops_per_input<1>,
         .evaluate_random = typed<evaluate_random_scale>,
         .describe = typed<describe_random_scale>},
    };
}

}  // namespace cnntrain::ops
