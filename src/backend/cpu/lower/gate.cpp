// Activation functions without a norm before them, channel gates and random scales: own kernels.
#include "backend/cpu/lower/node_context.h"
#include "backend/cpu/lower/own_conv.h"
#include "backend/cpu/lower/sums.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::ValueId;

namespace {

const char* const kGateReason = "operands of one elementwise sweep lie alike";

void lower_activation(const NodeContext& lower) {
    const Activation activation = lower.node.as<graph::ActivationAttrs>().activation;
    const ValueId x = lower.node.inputs[0];
    const Placed source = lower.values.operand(x);
    const Placed result = lower.values.define_or_reuse(lower.node.outputs[0], source.desc, x);
    const std::int64_t count = source.stored_elements();
    add_typed(lower, source.dtype, "kernel", {source}, {result},
              [source, result, count, activation]<typename T>(const StepContext&) {
                  activate(count, activation, source.as<T>(), result.as<T>());
              });
}

void lower_activation_grad(const NodeContext& lower) {
    const Activation activation = lower.node.as<graph::ActivationAttrs>().activation;
    const auto& inputs = lower.node.inputs;
    const Placed at = lower.values.operand(inputs[0]);
    const Placed dy = lower.values.operand_as(inputs[1], at.desc, kGateReason);
    const Placed result = lower.values.define_or_reuse(lower.node.outputs[0], at.desc, inputs[1]);
    const std::int64_t count = at.stored_elements();
    add_typed(lower, at.dtype, "kernel", {at, dy}, {result},
              [at, dy, result, count, activation]<typename T>(const StepContext&) {
                  activation_grad(count, activation, at.as<T>(), dy.as<T>(), result.as<T>());
              });
}

void lower_scale_channels(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const Placed x = lower.values.operand(inputs[0]);
    const Placed gate = lower.values.operand(inputs[1]);
    if (is_left_to_conv(lower)) return lower.values.define_gated(lower.node.outputs[0], {x, gate});
    const Placed y = lower.values.define_or_reuse(lower.node.outputs[0], x.desc, inputs[0]);
    const Blocks shape = blocks_of(x);
    add_typed(lower, x.dtype, "kernel", {x, gate}, {y},
              [=]<typename T>(const StepContext&) { scale_channels(shape, x.as<T>(), gate.as<T>(), y.as<T>()); });
}

void lower_scale_channels_grad(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const auto& outputs = lower.node.outputs;
    const Placed x = lower.values.operand(inputs[0]);
    const Placed gate = lower.values.operand(inputs[1]);
    const Placed dy = lower.values.operand_as(inputs[2], x.desc, kGateReason);
    const bool dy_dies = lower.values.dies_here(inputs[2], x.desc);
    const bool is_left = dy_dies && is_left_to_norm(lower, outputs[0]);  // dx is dy until the norm has read it
    const Placed dx = dy_dies ? lower.values.define_over(outputs[0], x.desc, inputs[2])
                              : lower.values.define_or_reuse(outputs[0], x.desc, inputs[0]);
    const Placed dgate = lower.values.define(outputs[1]);
    if (is_left) lower.values.define_gated(outputs[0], {dx, gate});
    const Blocks shape = blocks_of(x);
    const auto scratch = lower.steps.scratch_floats(scale_channels_scratch_floats(shape));
    with_float_type(x.dtype, [&]<typename T>() {
        const auto run = [=](const StepContext&) {
            scale_channels_grad(shape, x.as<T>(), gate.as<T>(), dy.as<T>(), is_left ? nullptr : dx.as<T>(),
                                dgate.as<T>(), scratch());
        };
        if (is_left) return lower.steps.add("sums", {x, dy}, {dgate}, run);
        lower.steps.add("kernel", {x, gate, dy}, {dx, dgate}, run);
    });
}

void lower_random_scale(const NodeContext& lower) {
    const auto& attrs = lower.node.as<graph::RandomScaleAttrs>();
    const ValueId input = lower.node.inputs[0];
    const Placed x = lower.values.operand(input);
    const Placed y = lower.values.define_or_reuse(lower.node.outputs[0], x.desc, input);
    const TensorDesc& desc = lower.graph.desc(input);
    const std::int64_t samples = desc.shape.front();
    const Blocks in_order{samples, 1, 1, desc.elements() / samples};
    const Blocks shape = lower.layouts.layout(input) == graph::Layout::image ? blocks_of(x) : in_order;
    RandomScale base{.seed = lower.request.runtime.seed, .site = attrs.site};
    base.last_kept = last_word_within(attrs.keep);
    base.factor = static_cast<float>(1 / attrs.keep);
    base.per_sample = attrs.per_sample;
    add_typed(lower, x.dtype, "kernel", {x}, {y}, [x, y, shape, base]<typename T>(const StepContext& context) {
        RandomScale scale = base;
        scale.first_sample = context.first_sample;
        random_scale(shape, scale, x.as<T>(), y.as<T>());
    });
}

}  // namespace

std::span<const LoweringEntry> gate_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::activation, lower_activation},
        {graph::OpKind::activation_grad, lower_activation_grad},
        {graph::OpKind::random_scale, lower_random_scale},
        {graph::OpKind::scale_channels, lower_scale_channels},
        {graph::OpKind::scale_channels_grad, lower_scale_channels_grad},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
