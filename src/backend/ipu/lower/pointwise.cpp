// Element by element: constants, scaling, casts, sums, activations, image normalisation.
#include <popops/ElementWise.hpp>
#include <vector>

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

void lower_activation(const NodeContext& node) {
    node.set_output(0, activated(node, node.attrs<graph::ActivationAttrs>().activation, node.input(0)));
}

void lower_activation_grad(const NodeContext& node) {
    const graph::Activation activation = node.attrs<graph::ActivationAttrs>().activation;
    node.set_output(0, times_slope(node, activation, node.input(0), node.input(1)));
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
    const poplar::Tensor y = popops::map(node.device, pe::Add(pe::Mul(pe::_1, pe::_2), pe::_3),
                                         {x, row(attrs.scale), row(attrs.shift)}, node.program, node.debug());
    node.set_output(0, node.cast(y, node.output_type()));
}

}  // namespace

std::span<const LoweringEntry> pointwise_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::constant, lower_constant},
        {OpKind::scale, lower_scale},
        {OpKind::cast, lower_cast},
        {OpKind::add, lower_add},
        {OpKind::activation, lower_activation},
        {OpKind::activation_grad, lower_activation_grad},
        {OpKind::normalise_image, lower_normalise_image},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
