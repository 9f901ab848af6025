// Activation functions (graph/activation.h) as operations.
#include <algorithm>

#include "graph/ops/families.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::ActivationAttrs;

namespace {

std::vector<TensorDesc> infer_activation(const Attrs& attrs, Descs inputs) {
    static_cast<void>(std::get<ActivationAttrs>(attrs));
    expect_inputs(inputs, 1);
    expect_floating(inputs[0], "x");
    return {inputs[0]};
}

std::vector<TensorDesc> infer_activation_grad(const Attrs& attrs, Descs inputs) {
    static_cast<void>(std::get<ActivationAttrs>(attrs));
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

}  // namespace

std::vector<OpDef> activation_ops() {
    return {
        {.kind = OpKind::activation,
         .inputs = {{Layout::same}},
         .results = {Layout::same},
         .cheap_to_recompute = true,
         .infer = infer_activation,
         .gradient = activation_gradient,
         .flops = activation_flops,
         .evaluate = evaluate_activation,
         .describe = describe_activation},
        {.kind = OpKind::activation_grad,
         .inputs = {{Layout::same}},
         .results = {Layout::same},
         .infer = infer_activation_grad,
         .flops = activation_grad_flops,
         .evaluate = evaluate_activation_grad,
         .describe = describe_activation},
    };
}

}  // namespace cnntrain::ops
