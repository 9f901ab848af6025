#include "backend/cpu/lower/own_conv.h"

#include <omp.h>

#include <algorithm>
#include <optional>
#include <string>

#include "backend/cpu/kernels/forward_conv.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::ConvAttrs;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

namespace {

const char* const kChannelsLastReason = "own 1x1 convolutions are channels-last";

/// A convolution of inference in f32: one with a bias. It may have gates, a residual and an activation.
bool is_for_own_kernels(const NodeContext& lower, const Node& conv) {
    return conv.as<ConvAttrs>().bias && lower.graph.desc(conv.outputs[0]).dtype == DType::f32;
}

/// A 1x1 convolution on channels-last activations.
bool is_pointwise(const NodeContext& lower, const ConvAttrs& attrs, const Shape& kernel) {
    return attrs.stride == 1 && attrs.groups == 1 && attrs.padding == graph::Padding{} && kernel[0] == 1 &&
           kernel[1] == 1 && lower.layouts.channels_last();
}

bool is_pointwise(const NodeContext& lower, const Node& conv) {
    return is_pointwise(lower, conv.as<ConvAttrs>(), lower.graph.desc(conv.inputs[1]).shape);
}

/// oneDNN computes swish in twice the time of own kernels (AVX-512, Zen 4).
bool is_slow_in_onednn(Activation activation) {
    return activation != Activation::none && activation != Activation::relu;
}

/// A 1x1 convolution, or an input gradient of one, of so few channels that own kernels are faster.
bool has_few_channels(const NodeContext& lower) {
    const Shape& kernel = lower.graph.desc(lower.node.inputs[1]).shape;
    return lower.graph.desc(lower.node.outputs[0]).dtype == DType::f32 && is_pointwise(lower, lower.node) &&
           kernel[2] * kernel[3] <= kMostCachedPointwiseWeights;
}

/// Memory for the statistics of the current convolution's result; empty if no norm wants them.
Placed statistics_for_norm(const NodeContext& lower, std::vector<std::int64_t> pixels) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const ValueId y = lower.node.outputs[0];
    const bool is_plain = !attrs.residual && attrs.activation == Activation::none;
    return is_plain && lower.values.is_normalised(y) ? lower.values.define_statistics(y, std::move(pixels)) : Placed{};
}

void lower_pointwise(const NodeContext& lower, const std::optional<GatedValue>& gated) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    const TensorDesc& y_desc = lower.graph.desc(y);
    const TensorDesc& kernel = lower.graph.desc(inputs[1]);
    const Placed x =
        gated ? gated->x
              : lower.values.operand_as(inputs[0], image_desc(lower.graph.desc(inputs[0])), kChannelsLastReason);
    const Placed gate = gated ? gated->gate : Placed{};
    const Placed weights = lower.weights.prepared(inputs[1], pointwise_kernel_desc(kernel));
    const Placed bias = attrs.bias ? lower.values.float_vector(inputs[2]) : Placed{};
    const Placed residual =
        attrs.residual ? lower.values.operand_as(inputs[attrs.bias ? 3 : 2], image_desc(y_desc), kChannelsLastReason)
                       : Placed{};
    const Placed result = lower.values.define(y, image_desc(y_desc));
    lower.values.prefer_activation(result.desc);
    const PointwiseShape shape{y_desc.shape[0], y_desc.shape[1] * y_desc.shape[2], kernel.shape[2], kernel.shape[3]};
    const auto scratch = lower.steps.scratch_floats(gate ? pointwise_scratch_floats(shape, omp_get_max_threads()) : 0);
    std::vector<Placed> reads = {x, weights};
    if (bias) reads.push_back(bias);
    if (gate) reads.push_back(gate);
    if (residual) reads.push_back(residual);
    std::vector<Placed> writes = {result};
    const Placed statistics = gate ? Placed{} : statistics_for_norm(lower, pointwise_part_pixels(shape));
    if (statistics) writes.push_back(statistics);
    const std::string reason = gate ? "gates" : is_slow_in_onednn(attrs.activation) ? "activation" : "few channels";
    lower.steps.add("tiles: " + reason, reads, writes, [=, activation = attrs.activation](const StepContext&) {
        pointwise_conv(shape,
                       {.x = x.as<float>(),
                        .gate = gate ? gate.as<float>() : nullptr,
                        .weights = weights.as<float>(),
                        .bias = bias ? bias.as<float>() : nullptr,
                        .residual = residual ? residual.as<float>() : nullptr,
                        .y = result.as<float>(),
                        .statistics = statistics ? statistics.as<float>() : nullptr},
                       activation, scratch());
    });
}

DepthwiseShape depthwise_shape(const NodeContext& lower, const Placed& x, ValueId x_value, const Placed& y,
                               ValueId y_value) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const Shape& x_shape = lower.graph.desc(x_value).shape;
    const Shape& y_shape = lower.graph.desc(y_value).shape;
    return {{blocks_of(x), x_shape[1], x_shape[2]},
            {blocks_of(y), y_shape[1], y_shape[2]},
            lower.graph.desc(lower.node.inputs[1]).shape[0],
            attrs.stride,
            attrs.padding.top,
            attrs.padding.left};
}

/// The kernel as own depthwise convolutions read it.
Placed depthwise_weights(const NodeContext& lower) {
    const ValueId kernel = lower.node.inputs[1];
    const TensorDesc desc{DType::f32, lower.graph.desc(kernel).shape};
    return lower.weights.prepared(kernel, plain_kernel_desc(desc, lower.node.as<ConvAttrs>().groups));
}

/// Own kernels take half of oneDNN's time for a depthwise convolution and for its input gradient (Zen 4, f32, shapes of
/// EfficientNet-B0, 16 samples).
bool is_own_depthwise(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const Shape& kernel = lower.graph.desc(lower.node.inputs[1]).shape;
    return !attrs.residual && is_depthwise(attrs, kernel) && has_depthwise_conv(kernel[0], attrs.stride) &&
           lower.graph.desc(lower.node.outputs[0]).dtype == DType::f32;
}

void lower_depthwise(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    const TensorDesc& y_desc = lower.graph.desc(y);
    const Placed x = lower.values.operand(inputs[0]);
    const Placed weights = depthwise_weights(lower);
    const Placed bias = attrs.bias ? lower.values.float_vector(inputs[2]) : Placed{};
    const Placed result = lower.values.define(y, like_activation(x.desc, y_desc));
    lower.values.prefer_activation(result.desc);
    const DepthwiseShape shape = depthwise_shape(lower, x, inputs[0], result, y);
    std::vector<Placed> reads = {x, weights};
    if (bias) reads.push_back(bias);
    std::vector<Placed> writes = {result};
    Placed sums;
    if (lower.values.is_averaged(y)) {
        const std::int64_t parts = depthwise_sum_parts(shape);
        sums = lower.steps.temporary_floats("sums", parts * y_desc.shape[0] * y_desc.shape[3]);
        lower.values.pixel_sums(y) = {sums, parts};
        writes.push_back(sums);
    }
    const Placed statistics = statistics_for_norm(lower, depthwise_part_pixels(shape));
    if (statistics) writes.push_back(statistics);
    lower.steps.add("kernel", reads, writes, [=, activation = attrs.activation](const StepContext&) {
        depthwise_conv(shape,
                       {.x = x.as<float>(),
                        .weights = weights.as<float>(),
                        .bias = bias ? bias.as<float>() : nullptr,
                        .y = result.as<float>(),
                        .sums = sums ? sums.as<float>() : nullptr,
                        .statistics = statistics ? statistics.as<float>() : nullptr},
                       activation);
    });
}

void lower_depthwise_input_grad(const NodeContext& lower) {
    const ValueId dy = lower.node.inputs[0];
    const ValueId dx = lower.node.outputs[0];
    const Placed gradient = lower.values.operand(dy);
    const Placed weights = depthwise_weights(lower);
    const Placed result = lower.values.define(dx, like_activation(gradient.desc, lower.graph.desc(dx)));
    const DepthwiseShape shape = depthwise_shape(lower, result, dx, gradient, dy);
    lower.steps.add("kernel", {gradient, weights}, {result}, [=](const StepContext&) {
        depthwise_input_grad(shape, gradient.as<float>(), weights.as<float>(), result.as<float>());
    });
}

/// The product of dy with the turned weights.
void lower_pointwise_input_grad(const NodeContext& lower) {
    const ValueId kernel = lower.node.inputs[1];
    const ValueId dx = lower.node.outputs[0];
    const TensorDesc& dx_desc = lower.graph.desc(dx);
    const TensorDesc& dy_desc = lower.graph.desc(lower.node.inputs[0]);
    const Placed dy = lower.values.operand_as(lower.node.inputs[0], image_desc(dy_desc), kChannelsLastReason);
    const Placed weights = lower.weights.prepared(kernel, plain_kernel_desc(lower.graph.desc(kernel), 1));
    const PointwiseShape shape{dx_desc.shape[0], dx_desc.shape[1] * dx_desc.shape[2], dy_desc.shape[3],
                               dx_desc.shape[3]};
    const Placed turned = lower.steps.temporary_floats("turned", pointwise_weight_floats(shape));
    lower.steps.add_copy("turn", weights, turned, [=](const StepContext&) {
        turn_pointwise_weights(shape, weights.as<float>(), turned.as<float>());
    });
    const Placed result = lower.values.define(dx, image_desc(dx_desc));
    lower.steps.add("tiles: few channels", {dy, turned}, {result}, [=](const StepContext&) {
        pointwise_conv(shape, {.x = dy.as<float>(), .weights = turned.as<float>(), .y = result.as<float>()},
                       Activation::none, {});
    });
}

/// The shape of the current node's weight gradient, if it is one of a 1x1 convolution that own kernels compute faster.
std::optional<PointwiseShape> own_weight_grad_shape(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const TensorDesc& x_desc = lower.graph.desc(lower.node.inputs[0]);
    const Shape& kernel = lower.graph.desc(lower.node.outputs[0]).shape;
    const PointwiseShape shape{x_desc.shape[0], x_desc.shape[1] * x_desc.shape[2], kernel[2], kernel[3]};
    const bool is_own = x_desc.dtype == DType::f32 && is_pointwise(lower, attrs, kernel) &&
                        shape.inputs * shape.outputs <= kMostPointwiseGradients && has_pointwise_weight_grad(shape);
    return is_own ? std::optional(shape) : std::nullopt;
}

}  // namespace

bool is_depthwise(const ConvAttrs& attrs, const Shape& kernel) {
    return attrs.groups > 1 && kernel[2] == 1 && kernel[3] == attrs.groups;
}

bool lower_own_conv(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    if (is_own_depthwise(lower)) {
        lower_depthwise(lower);
        return true;
    }
    const std::optional<GatedValue> gated = lower.values.gated(lower.node.inputs[0]);
    const bool is_slow =
        is_for_own_kernels(lower, lower.node) && is_slow_in_onednn(attrs.activation) && is_pointwise(lower, lower.node);
    if (!gated && !is_slow && !has_few_channels(lower)) return false;
    lower_pointwise(lower, gated);
    return true;
}

bool lower_own_input_grad(const NodeContext& lower) {
    if (has_few_channels(lower)) {
        lower_pointwise_input_grad(lower);
        return true;
    }
    if (!is_own_depthwise(lower)) return false;
    lower_depthwise_input_grad(lower);
    return true;
}

bool lower_own_weight_grad(const NodeContext& lower) {
    const std::optional<PointwiseShape> shape = own_weight_grad_shape(lower);
    if (!shape) return false;
    const auto operand = [&](std::size_t input) {
        const ValueId value = lower.node.inputs[input];
        return lower.values.operand_as(value, image_desc(lower.graph.desc(value)), kChannelsLastReason);
    };
    const Placed x = operand(0);
    const Placed dy = operand(1);
    const ValueId dw = lower.node.outputs[0];
    const auto scratch = lower.steps.scratch_floats(pointwise_weight_grad_scratch_floats(*shape));
    lower.sums.add_gradient_step(
        lower.sums.define_gradient(dw, plain_kernel_desc(lower.graph.desc(dw), 1)), "", {x, dy},
        [=, shape = *shape](float* to) { pointwise_weight_grad(shape, x.as<float>(), dy.as<float>(), to, scratch()); },
        "tiles: few channels");
    return true;
}

bool is_left_to_conv(const NodeContext& lower) {
    const ValueId y = lower.node.outputs[0];
    const std::vector<NodeId>& users = lower.graph.value(y).users;
    if (users.size() != 1 || !lower.values.may_alias(y)) return false;
    const Node& reader = lower.graph.node(users.front());
    return reader.kind == OpKind::conv2d && reader.inputs[0] == y &&
           lower.walk.section_of(users.front()) == lower.walk.section() && is_for_own_kernels(lower, reader) &&
           is_pointwise(lower, reader);
}

}  // namespace cnntrain::cpu
