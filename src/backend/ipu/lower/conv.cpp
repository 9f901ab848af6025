// Convolutions and their gradients by poplin. Channels come second there, and a kernel is [G][O/G][I][K][K].
#include <vector>

#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <popnn/Pooling.hpp>
#include <popops/ElementWise.hpp>
#include <poputil/TileMapping.hpp>

#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {

using graph::ConvAttrs;

namespace {

std::size_t size(std::int64_t extent) {
    return static_cast<std::size_t>(extent);
}

/// [K,K,I,O] as [G][O/G][I][K][K].
poplar::Tensor as_poplin_kernel(const poplar::Tensor& kernel, std::size_t groups) {
    return kernel.reshapePartial(3, 4, {groups, kernel.dim(3) / groups}).dimShuffle({3, 4, 2, 0, 1});
}

/// [G][O/G][I][K][K] as [K,K,I,O].
poplar::Tensor as_graph_kernel(const poplar::Tensor& kernel) {
    return kernel.dimShuffle({3, 4, 2, 0, 1}).flatten(3, 5);
}

/// The forward convolution of x[N,H,W,C] with a kernel [K,K,I,O].
poplin::ConvParams conv_params(const ConvAttrs& attrs, const TensorDesc& x, const Shape& kernel, DType result) {
    const auto low = [](std::int64_t a, std::int64_t b) {
        return std::vector<unsigned>{static_cast<unsigned>(a), static_cast<unsigned>(b)};
    };
    poplin::ConvParams::InputTransform input(2);
    input.paddingLower = low(attrs.padding.top, attrs.padding.left);
    input.paddingUpper = low(attrs.padding.bottom, attrs.padding.right);
    poplin::ConvParams::OutputTransform output(2);
    output.stride = low(attrs.stride, attrs.stride);
    return {device_type(x.dtype),
            device_type(result),
            size(x.shape[0]),
            {size(x.shape[1]), size(x.shape[2])},
            {size(kernel[0]), size(kernel[1])},
            size(kernel[2]),
            size(kernel[3] / attrs.groups),
            size(attrs.groups),
            input,
            poplin::ConvParams::InputTransform(2),
            output};
}

void lower_conv2d(const NodeContext& node) {
    const auto& attrs = node.attrs<ConvAttrs>();
    const poplin::ConvParams params =
        conv_params(attrs, node.input_desc(0), node.input_desc(1).shape, node.output_desc().dtype);
    const poplar::Tensor kernel = as_poplin_kernel(node.input(1), size(attrs.groups));
    poplar::Tensor y = channels_last(poplin::convolution(node.device, channels_second(node.input(0)), kernel, params,
                                                         false, node.program, node.debug(),
                                                         node.options.convolution("TRAINING_FWD"), &node.plans));
    if (attrs.bias) {
        const poplar::Tensor bias = node.cast(node.input(2), y.elementType()).expand({0, 0, 0});
        popops::addInPlace(node.device, y, bias, node.program, node.debug());
    }
    if (attrs.residual) popops::addInPlace(node.device, y, node.input(node.inputs() - 1), node.program, node.debug());
    node.set_output(0, activated(node, attrs.activation, y));
}

void lower_conv2d_input_grad(const NodeContext& node) {
    const auto& attrs = node.attrs<ConvAttrs>();
    const TensorDesc& dx = node.output_desc();
    const poplin::ConvParams params =
        poplin::getGradientParams(conv_params(attrs, dx, node.input_desc(1).shape, dx.dtype));
    const poplar::Tensor kernel = as_poplin_kernel(node.input(1), size(attrs.groups));
    node.set_output(0, channels_last(poplin::convolution(node.device, channels_second(node.input(0)), kernel, params,
                                                         true, node.program, node.debug(),
                                                         node.options.convolution("TRAINING_BWD"), &node.plans)));
}

void lower_conv2d_weight_grad(const NodeContext& node) {
    const auto& attrs = node.attrs<ConvAttrs>();
    const TensorDesc& dw = node.output_desc();
    const poplin::ConvParams params = conv_params(attrs, node.input_desc(0), dw.shape, node.input_desc(0).dtype);
    const poplar::Tensor gradient = poplin::calculateWeightDeltas(
        node.device, channels_second(node.input(1)), channels_second(node.input(0)), params, node.program, node.debug(),
        node.options.convolution("TRAINING_WU"), &node.plans);
    node.set_output(0, node.cast(as_graph_kernel(gradient), node.output_type()));
}

poplar::Tensor allocate_conv2d(const AllocationContext& context, std::size_t index) {
    if (index > 1) return {};
    const auto& attrs = context.node.as<ConvAttrs>();
    const TensorDesc& x = context.graph.desc(context.node.inputs[0]);
    const Shape& kernel = context.graph.desc(context.node.inputs[1]).shape;
    const poplin::ConvParams params = conv_params(attrs, x, kernel, x.dtype);
    const poplar::DebugContext debug(context.graph.value(context.node.inputs[index]).name);
    if (index == 0) {
        return channels_last(poplin::createInput(context.device, params, debug,
                                                 context.options.convolution("TRAINING_FWD"), &context.plans));
    }
    return as_graph_kernel(poplin::createWeights(context.device, params, debug,
                                                 context.options.convolution("TRAINING_FWD"), &context.plans));
}

// Pooling by popnn, with channels second.

popnn::pooling::PoolParams pool_params(const graph::PoolAttrs& attrs, const TensorDesc& x) {
    const std::vector<std::size_t> shape = extents(x.shape);
    const auto kernel = static_cast<std::size_t>(attrs.kernel);
    const auto stride = static_cast<unsigned>(attrs.stride);
    return {popnn::PoolingType::MAX,
            {shape[1], shape[2]},
            {kernel, kernel},
            {stride, stride},
            {static_cast<int>(attrs.padding.top), static_cast<int>(attrs.padding.left)},
            {static_cast<int>(attrs.padding.bottom), static_cast<int>(attrs.padding.right)},
            shape[3],
            shape[0],
            device_type(x.dtype)};
}

void lower_max_pool(const NodeContext& node) {
    const auto params = pool_params(node.attrs<graph::PoolAttrs>(), node.input_desc(0));
    node.set_output(0, channels_last(popnn::pooling::pool(node.device, params, channels_second(node.input(0)),
                                                          node.program, node.debug())));
}

void lower_max_pool_grad(const NodeContext& node) {
    const auto params = pool_params(node.attrs<graph::PoolAttrs>(), node.input_desc(0));
    const poplar::Tensor x = channels_second(node.input(0));
    const poplar::Tensor y = popnn::pooling::pool(node.device, params, x, node.program, node.debug());
    node.set_output(
        0, channels_last(popnn::pooling::poolInputGradient(node.device, params, x, y, channels_second(node.input(1)),
                                                           false, node.program, node.debug())));
}

void lower_global_average_pool(const NodeContext& node) {
    const Shape& x = node.input_desc(0).shape;
    const poplar::Tensor sum = node.sum(node.input(0), {1, 2}, poplar::FLOAT);
    popops::mulInPlace(node.device, sum, 1.0F / static_cast<float>(x[1] * x[2]), node.program, node.debug());
    node.set_output(0, node.cast(sum, node.output_type()));
}

void lower_global_average_pool_grad(const NodeContext& node) {
    const std::vector<std::size_t> dx = extents(node.output_desc().shape);
    const poplar::Tensor share =
        popops::mul(node.device, node.input(0), 1.0F / static_cast<float>(dx[1] * dx[2]), node.program, node.debug());
    node.set_output(
        0, share.expand({1, 1}).broadcast(static_cast<unsigned>(dx[1]), 1).broadcast(static_cast<unsigned>(dx[2]), 2));
}

}  // namespace

std::span<const LoweringEntry> conv_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::conv2d, lower_conv2d, allocate_conv2d},
        {OpKind::conv2d_input_grad, lower_conv2d_input_grad},
        {OpKind::conv2d_weight_grad, lower_conv2d_weight_grad},
        {OpKind::max_pool, lower_max_pool},
        {OpKind::max_pool_grad, lower_max_pool_grad},
        {OpKind::global_average_pool, lower_global_average_pool},
        {OpKind::global_average_pool_grad, lower_global_average_pool_grad},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
