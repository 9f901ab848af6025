#include <omp.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "backend/cpu/isa.h"
#include "backend/cpu/kernels/winograd.h"
#include "backend/cpu/lower/winograd.h"

namespace cnntrain::cpu {

using graph::Activation;
using graph::ConvAttrs;
using graph::ValueId;

namespace {

/// The node's own step. Its work is what is computed, so that rates beside the processor's are real ones.
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

/// Is the filtering faster than a direct convolution? Both are estimated in multiplications of f32 per pair of an
/// input and an output channel. `efficiency`: of the products of transformed tiles, beside a direct convolution.
/// `per_kernel`: for what is done once, whatever the number of tiles, as to transform the kernel. The numbers were
/// fitted to times on Zen 4: 7 x 7 to 56 x 56 pixels, 16 to 512 channels, batches of 1 and 32.
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

/// The transformed kernel. It is four times as large as the kernel. That of a trained kernel, which changes with every
/// update, is therefore made wherever it is read: one piece of memory serves all convolutions.
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

    WinogradEpilogue<T> epilogue() const {
        return {bias ? bias.as<float>() : nullptr, residual ? residual.as<T>() : nullptr, activation};
    }
};

template <typename T>
void add_conv(const NodeContext& lower, const WinogradShape& shape, const ConvOperands<T>& operands) {
    const auto scratch = lower.steps.scratch_floats(winograd_scratch_floats(shape, omp_get_max_threads()));
    std::vector<Placed> reads = {operands.x, operands.filter};
    for (const Placed& optional : {operands.bias, operands.residual}) {
        if (optional) reads.push_back(optional);
    }
    Step step = winograd_step(lower, shape, std::move(reads));
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
