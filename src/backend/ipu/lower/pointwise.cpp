// Element by element: constants, scaling, casts, sums, image normalisation; the parameter-free shortcut.
#include <vector>

#include <popops/ElementWise.hpp>
#include <popops/Zero.hpp>
#include <poputil/TileMapping.hpp>

#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {
namespace {

void lower_constant(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::ConstantAttrs>();
    const poplar::Tensor constant = node.device.addConstant(device_type(attrs.desc.dtype), extents(attrs.desc.shape),
                                                            static_cast<float>(attrs.value), node.debug());
    node.device.setTileMapping(constant, 0);
    node.set_output(0, constant);
}

void lower_scale(const NodeContext& node) {
    const auto factor = static_cast<float>(node.attrs<graph::ScaleAttrs>().factor);
    node.set_output(0, popops::mul(node.device, node.input(0), factor, node.program, node.debug()));
}

void lower_cast(const NodeContext& node) {
    node.set_output(0, node.cast(node.input(0), node.output_type()));
}

void lower_add(const NodeContext& node) {
    node.set_output(0, popops::add(node.device, node.input(0), node.input(1), node.program, node.debug()));
}

void lower_normalise_image(const NodeContext& node) {
    namespace pe = popops::expr;
    const auto& attrs = node.attrs<graph::NormaliseImageAttrs>();
    const std::size_t channels = attrs.scale.size();
    const auto row = [&](const std::vector<double>& values) {
        const std::vector<float> floats(values.begin(), values.end());
        poplar::Tensor constant =
            node.device.addConstant(poplar::FLOAT, {1, 1, 1, channels}, floats.data(), node.debug());
        node.device.setTileMapping(constant, 0);
        return constant;
    };
    const poplar::Tensor x = node.cast(node.input(0), poplar::FLOAT);
    const poplar::Tensor y =
        node.map(pe::Add(pe::Mul(pe::_1, pe::_2), pe::_3), {x, row(attrs.scale), row(attrs.shift)});
    node.set_output(0, node.cast(y, node.output_type()));
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

std::span<const LoweringEntry> pointwise_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::constant, lower_constant},
        {OpKind::scale, lower_scale},
        {OpKind::cast, lower_cast},
        {OpKind::add, lower_add},
        {OpKind::normalise_image, lower_normalise_image},
        {OpKind::shortcut_pad, lower_shortcut_pad},
        {OpKind::shortcut_pad_grad, lower_shortcut_pad_grad},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
