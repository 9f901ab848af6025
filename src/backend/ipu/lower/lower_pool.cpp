// Pooling by popnn, with channels second, and the parameter-free shortcut.
#include <vector>

#include <popnn/Pooling.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <popops/Zero.hpp>
#include <poputil/TileMapping.hpp>

#include "backend/ipu/lower/node_context.h"
#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {
namespace {

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
    const poplar::Tensor sum = popops::reduce(node.device, node.input(0), poplar::FLOAT, {1, 2}, popops::Operation::ADD,
                                              node.program, node.debug());
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

/// Zeros in the shape of the node's result.
poplar::Tensor zeros(const NodeContext& node) {
    poplar::Tensor tensor =
        node.device.addVariable(node.output_type(), extents(node.output_desc().shape), node.debug());
    poputil::mapTensorLinearly(node.device, tensor);
    popops::zero(node.device, tensor, node.program, node.debug());
    return tensor;
}

/// The pixels and channels of the larger image that the smaller one has, too.
poplar::Tensor kept_part(const graph::ShortcutPadAttrs& attrs, const poplar::Tensor& image, std::size_t channels) {
    const auto stride = static_cast<unsigned>(attrs.stride);
    return image.subSample(stride, 1).subSample(stride, 2).slice(0, channels, 3);
}

void lower_shortcut_pad(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::ShortcutPadAttrs>();
    const std::size_t channels = node.input(0).dim(3);
    const poplar::Tensor y = zeros(node);
    node.program.add(poplar::program::Copy(kept_part(attrs, node.input(0), channels), y.slice(0, channels, 3)));
    node.set_output(0, y);
}

void lower_shortcut_pad_grad(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::ShortcutPadAttrs>();
    const poplar::Tensor dx = zeros(node);
    const std::size_t channels = dx.dim(3);
    node.program.add(poplar::program::Copy(node.input(0).slice(0, channels, 3), kept_part(attrs, dx, channels)));
    node.set_output(0, dx);
}

}  // namespace

std::span<const LoweringEntry> pool_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::max_pool, lower_max_pool},
        {OpKind::max_pool_grad, lower_max_pool_grad},
        {OpKind::global_average_pool, lower_global_average_pool},
        {OpKind::global_average_pool_grad, lower_global_average_pool_grad},
        {OpKind::shortcut_pad, lower_shortcut_pad},
        {OpKind::shortcut_pad_grad, lower_shortcut_pad_grad},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
