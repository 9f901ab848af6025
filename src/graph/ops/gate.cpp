// Channels scaled by a gate of their own in each sample: squeeze-excite (Hu et al. 2018).
#include "graph/ops/families.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {
namespace {

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
    const std::vector<ValueId> inputs = {context.input(0), context.input(1), context.grad_output(0)};
    const std::vector<ValueId> gradients = context.add(OpKind::scale_channels_grad, NoAttrs{}, inputs, "grad");
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
    for (std::int64_t i = 0; i < element_count(shape); ++i)
        pair(static_cast<std::size_t>(i), static_cast<std::size_t>(i / (x.h * x.w * x.c) * x.c + i % x.c));
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

std::vector<OpDef> gate_ops() {
    return {
        {.kind = OpKind::scale_channels,
         .inputs = {{Layout::image}, {Layout::rows}},
         .results = {Layout::image},
         .infer = infer_scale_channels,
         .gradient = scale_channels_gradient,
         .flops = flops_per_input<1>,
         .evaluate = evaluate_scale_channels},
        {.kind = OpKind::scale_channels_grad,
         .inputs = {{Layout::image}, {Layout::rows}, {Layout::image}},
         .results = {Layout::image, Layout::rows},
         .infer = infer_scale_channels_grad,
         .flops = flops_per_input<3>,
         .evaluate = evaluate_scale_channels_grad},
    };
}

}  // namespace cnntrain::ops
