#include "backend/cpu/lower/own_conv.h"

#include <omp.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "backend/cpu/isa.h"
#include "backend/cpu/kernels/conv.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

Division::Division(const NodeContext& lower, std::int64_t length) : is_on_(lower.request.cpu.thread_independent) {
    constexpr std::int64_t kMost = 16;
    if (!is_on_) return;
    count_ = std::clamp<std::int64_t>(length, 1, kMost);
    while (length % count_ != 0)
        --count_;
}

TensorDesc Division::part_of(TensorDesc whole) const {
    whole.shape[0] /= count_;
    return whole;
}

Desc Division::part_of(const Desc& whole) const {
    if (count_ == 1) return whole;
    Dims dims = dims_of(whole);
    dims[0] /= count_;
    return whole.submemory_desc(dims, Dims(dims.size(), 0));
}

void Division::add(const NodeContext& lower, const Primitive& primitive, const Arguments& arguments,
                   const std::vector<DividedArgument>& divided, const std::vector<int>& written) const {
    if (!is_on_) return lower.steps.add_primitive(primitive, arguments, written);
    std::vector<Arguments> parts(static_cast<std::size_t>(count_), arguments);
    for (std::int64_t part = 0; part < count_; ++part) {
        for (auto& [argument, tensor] : parts[static_cast<std::size_t>(part)]) {
            const auto own = std::ranges::find(divided, argument, &DividedArgument::argument);
            if (own == divided.end()) continue;
            const std::int64_t apart = own->apart > 0 ? own->apart : dims_of(own->piece)[0] * strides_of(own->piece)[0];
            tensor.desc = own->piece;
            tensor.offset += static_cast<std::size_t>(part * apart) * size_bytes(tensor.dtype);
        }
    }
    lower.steps.add_parts(primitive, parts, written);
}

using graph::ConvAttrs;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::ValueId;

namespace {

const char* const kChannelsLastReason = "own 1x1 convolutions are channels-last";

/// True for a convolution of inference in f32, which is one with a bias. It may have gates, a residual and an
/// activation.
bool is_for_own_kernels(const NodeContext& lower, const Node& conv) {
    return conv.as<ConvAttrs>().bias && lower.graph.desc(conv.outputs[0]).dtype == DType::f32;
}

/// True for a 1x1 convolution on channels-last activations.
bool is_pointwise(const NodeContext& lower, const ConvAttrs& attrs, const Shape& kernel) {
    return attrs.stride == 1 && attrs.groups == 1 && attrs.padding == graph::Padding{} && kernel[0] == 1 &&
           kernel[1] == 1 && lower.layouts.channels_last();
}

bool is_pointwise(const NodeContext& lower, const Node& conv) {
    return is_pointwise(lower, conv.as<ConvAttrs>(), lower.graph.desc(conv.inputs[1]).shape);
}

/// oneDNN computes swish in twice the time of own kernels (AVX-512, Zen 4).
bool is_slow_in_onednn(Activation activation) {
    return !graph::is_piecewise_linear(activation);
}

/// True for a 1x1 convolution, or an input gradient of one, of so few channels that own kernels are faster.
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
    const std::vector<Placed> reads = present({x, weights, bias, gate, residual});
    const Placed statistics = gate ? Placed{} : statistics_for_norm(lower, pointwise_part_pixels(shape));
    const std::vector<Placed> writes = present({result, statistics});
    const std::string reason = gate ? "gates" : is_slow_in_onednn(attrs.activation) ? "activation" : "few channels";
    lower.steps.add("tiles: " + reason, reads, writes, [=, activation = attrs.activation](const StepContext&) {
        pointwise_conv(shape,
                       {.x = x.as<float>(),
                        .gate = gate.as<float>(),
                        .weights = weights.as<float>(),
                        .bias = bias.as<float>(),
                        .residual = residual.as<float>(),
                        .y = result.as<float>(),
                        .statistics = statistics.as<float>()},
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
    Placed sums;
    if (lower.values.is_averaged(y)) {
        const std::int64_t parts = depthwise_sum_parts(shape);
        sums = lower.steps.temporary_floats("sums", parts * y_desc.shape[0] * y_desc.shape[3]);
        lower.values.pixel_sums(y) = {sums, parts};
    }
    const Placed statistics = statistics_for_norm(lower, depthwise_part_pixels(shape));
    lower.steps.add("kernel", present({x, weights, bias}), present({result, sums, statistics}),
                    [=, activation = attrs.activation](const StepContext&) {
                        depthwise_conv(shape,
                                       {.x = x.as<float>(),
                                        .weights = weights.as<float>(),
                                        .bias = bias.as<float>(),
                                        .y = result.as<float>(),
                                        .sums = sums.as<float>(),
                                        .statistics = statistics.as<float>()},
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

Placed place_result(const NodeContext& lower, const Desc& desc, const ValueId* residual, const char* reason) {
    const ValueId y = lower.node.outputs[0];
    if (residual == nullptr) return lower.values.define(y, desc);
    const Placed addend = lower.values.operand_as(*residual, desc, reason);
    const bool is_input = *residual == lower.node.inputs[0];  // the input is read to the end
    if (!is_input && lower.values.dies_here(*residual, desc)) return lower.values.define_over(y, desc, *residual);
    const Placed result = lower.values.define(y, desc);
    lower.steps.add_copy_primitive("copy", lower.onednn.reorder(addend.desc, result.desc), addend, result);
    return result;
}

bool is_depthwise(const ConvAttrs& attrs, const Shape& kernel) {
    return attrs.groups > 1 && kernel[2] == 1 && kernel[3] == attrs.groups && kernel[0] == kernel[1];
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

using graph::Activation;

namespace {

/// The node's own step. Its work counts the operations that are computed, so that its rate can be compared with the
/// processor's.
Step winograd_step(const NodeContext& lower, const WinogradShape& shape, std::vector<Placed> reads) {
    Step step = lower.steps.node_step();
    step.implementation = "winograd 4x4";
    step.flops = shape.flops();
    step.reads = std::move(reads);
    return step;
}

/// Tensors in these layouts.
WinogradShape shape_of(const ConvAttrs& attrs, const TensorDesc& x, const Desc& x_layout, const TensorDesc& y,
                       const Desc& y_layout) {
    const auto picture = [](const TensorDesc& tensor, const Desc& layout) {
        return Picture{blocks_of(Placed{nullptr, layout, tensor.dtype}), tensor.shape[1], tensor.shape[2]};
    };
    return {picture(x, x_layout), picture(y, y_layout), attrs.padding.top, attrs.padding.left};
}

/// The filtering takes 3x3 kernels and multiplies f32; AMX multiplies bfloat16 many times faster.
bool may_be_winograd(const ConvAttrs& attrs, const Shape& kernel, DType type) {
    const bool has_arithmetic = type == DType::f32 || (type == DType::bf16 && !effective_isa().amx);
    return has_arithmetic && kernel[0] == 3 && kernel[1] == 3 && attrs.stride == 1 && attrs.groups == 1;
}

/// Is the filtering faster than a direct convolution? Both are estimated in multiplications of f32 per pair of an input
/// and an output channel. `efficiency`: of the products of transformed tiles, compared with a direct convolution.
/// `per_kernel`: the cost of work that is done once, whatever the number of tiles, such as the transform of the kernel.
/// The numbers were fitted to times on Zen 4: 7 x 7 to 56 x 56 pixels, 16 to 512 channels, batches of 1 and 32.
bool is_faster(const WinogradShape& shape, DType type, double efficiency, double per_kernel) {
    constexpr double kTransform = 9;  // of a tile, in multiplications of each of its places
    const auto inputs = static_cast<double>(shape.inputs());
    const auto outputs = static_cast<double>(shape.outputs());
    const double per_tile = 36 * (1 + kTransform / inputs + kTransform / outputs) / efficiency;
    const double rate = type == DType::bf16 && effective_isa().avx512_bf16 ? 2 : 1;  // of a direct convolution
    const double direct = 9 / rate * static_cast<double>(shape.y.shape.n * shape.y.shape.pixels);
    return has_winograd(shape) && per_tile * static_cast<double>(shape.tiles()) + per_kernel < direct;
}

bool is_trained(const graph::Graph& graph, ValueId kernel) {
    const auto& users = graph.value(graph::strip_casts(graph, kernel)).users;
    return std::ranges::any_of(users,
                               [&](graph::NodeId user) { return graph.node(user).phase == graph::Phase::update; });
}

/// The choice for kernels that do not change is the same for all numbers of samples, so that an answer does not depend
/// on the other samples of its batch.
bool is_faster_conv(const NodeContext& lower, ValueId kernel, DType type, const WinogradShape& shape) {
    constexpr double kEfficiency = 0.9;
    if (is_trained(lower.graph, kernel)) return is_faster(shape, type, kEfficiency, 2500);
    WinogradShape sample = shape;
    sample.x.shape.n = sample.y.shape.n = 1;
    return is_faster(sample, type, kEfficiency, 250);
}

/// The transformed kernel. It is four times as large as the kernel. A trained kernel changes with every update, so its
/// transform is made wherever it is read: one piece of memory serves all convolutions.
Placed filter_of(const NodeContext& lower, ValueId kernel, DType type, const WinogradShape& shape, bool turned) {
    const TensorDesc plain{type, lower.graph.desc(kernel).shape};
    const std::int64_t count = winograd_filter_floats(shape);
    const auto transform = [=](const Placed& from, const Placed& to) {
        with_float_type(type, [&]<typename T>() { winograd_filter(shape, turned, from.as<T>(), to.as<float>()); });
    };
    const Desc row_major = plain_kernel_desc(plain, 1);
    if (!is_trained(lower.graph, kernel))
        return lower.weights.computed(kernel, row_major, turned ? "turned_filter" : "filter", count, transform);
    const Placed weights = lower.weights.prepared(kernel, row_major);
    const Placed filter = lower.steps.temporary_floats("filter", count);
    lower.steps.add_copy("filter", weights, filter, [=](const StepContext&) { transform(weights, filter); });
    return filter;
}

template <typename T> struct ConvOperands {
    Placed x, filter, bias, residual, y;
    Activation activation = Activation::none;

    WinogradEpilogue<T> epilogue() const { return {bias.as<float>(), residual.as<T>(), activation}; }
};

template <typename T>
void add_conv(const NodeContext& lower, const WinogradShape& shape, const ConvOperands<T>& operands) {
    const auto scratch = lower.steps.scratch_floats(winograd_scratch_floats(shape, omp_get_max_threads()));
    Step step = winograd_step(lower, shape, present({operands.x, operands.filter, operands.bias, operands.residual}));
    step.writes = {operands.y};
    step.run = [=](const StepContext&) {
        winograd_conv(shape, operands.x.template as<T>(), operands.filter.template as<float>(), operands.epilogue(),
                      operands.y.template as<T>(), scratch());
    };
    lower.steps.add(std::move(step));
}

}  // namespace

bool lower_winograd_conv(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    const TensorDesc& x_desc = lower.graph.desc(inputs[0]);
    const TensorDesc& y_desc = lower.graph.desc(y);
    if (!may_be_winograd(attrs, lower.graph.desc(inputs[1]).shape, y_desc.dtype)) return false;
    const Placed x = lower.values.operand(inputs[0]);
    if (!channel_lanes(x.desc)) return false;
    const Desc y_layout = like_activation(x.desc, y_desc);
    const WinogradShape shape = shape_of(attrs, x_desc, x.desc, y_desc, y_layout);
    if (!is_faster_conv(lower, inputs[1], y_desc.dtype, shape)) return false;
    with_float_type(y_desc.dtype, [&]<typename T>() {
        ConvOperands<T> operands;
        operands.x = x;
        operands.activation = attrs.activation;
        operands.filter = filter_of(lower, inputs[1], y_desc.dtype, shape, false);
        if (attrs.bias) operands.bias = lower.values.float_vector(inputs[2]);
        if (attrs.residual) {
            const ValueId residual = inputs[attrs.bias ? 3 : 2];
            operands.residual = lower.values.operand_as(residual, y_layout, "the convolution adds it to its result");
            const bool is_input = residual == inputs[0];  // the input is read to the end
            operands.y = !is_input && lower.values.dies_here(residual, y_layout)
                             ? lower.values.define_over(y, y_layout, residual)
                             : lower.values.define(y, y_layout);
        } else {
            operands.y = lower.values.define(y, y_layout);
        }
        lower.values.prefer_activation(y_layout);
        add_conv(lower, shape, operands);
    });
    return true;
}

bool lower_winograd_input_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId dx = lower.node.outputs[0];
    const TensorDesc& dx_desc = lower.graph.desc(dx);
    const TensorDesc& dy_desc = lower.graph.desc(inputs[0]);
    if (!may_be_winograd(attrs, lower.graph.desc(inputs[1]).shape, dx_desc.dtype)) return false;
    const Placed dy = lower.values.operand(inputs[0]);
    if (!channel_lanes(dy.desc)) return false;
    const Desc dx_layout = like_activation(dy.desc, dx_desc);
    const WinogradShape shape = shape_of(attrs, dx_desc, dx_layout, dy_desc, dy.desc).input_grad();
    if (!is_faster_conv(lower, inputs[1], dx_desc.dtype, shape)) return false;
    with_float_type(dx_desc.dtype, [&]<typename T>() {
        ConvOperands<T> operands;
        operands.x = dy;
        operands.filter = filter_of(lower, inputs[1], dx_desc.dtype, shape, true);
        operands.y = lower.values.define(dx, dx_layout);
        add_conv(lower, shape, operands);
    });
    return true;
}

bool lower_winograd_weight_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId dw = lower.node.outputs[0];
    const TensorDesc& dw_desc = lower.graph.desc(dw);
    const Placed x = lower.values.operand(inputs[0]);
    const Placed dy = lower.values.operand(inputs[1]);
    if (!may_be_winograd(attrs, dw_desc.shape, x.dtype) || !channel_lanes(x.desc) || !channel_lanes(dy.desc))
        return false;
    const WinogradShape shape =
        shape_of(attrs, lower.graph.desc(inputs[0]), x.desc, lower.graph.desc(inputs[1]), dy.desc);
    if (!is_faster(shape, x.dtype, 0.83, 1500)) return false;
    const auto scratch = lower.steps.scratch_floats(winograd_weight_grad_scratch_floats(shape));
    const Sums::Gradient result = lower.sums.define_gradient(dw, plain_kernel_desc(dw_desc, 1));
    with_float_type(x.dtype, [&]<typename T>() {
        lower.sums.add_gradient_step(result, winograd_step(lower, shape, {x, dy}), [=](float* to) {
            winograd_weight_grad(shape, x.as<T>(), dy.as<T>(), to, scratch());
        });
    });
    return true;
}

}  // namespace cnntrain::cpu
