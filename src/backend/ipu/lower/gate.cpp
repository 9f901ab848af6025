// Activations, and channels scaled by a gate of their own in each sample: squeeze-excite.
#include <popops/ElementWise.hpp>

#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {
namespace {

namespace pe = popops::expr;

void lower_activation(const NodeContext& node) {
    node.set_output(0, activated(node, node.attrs<graph::ActivationAttrs>().activation, node.input(0)));
}

void lower_activation_grad(const NodeContext& node) {
    const graph::Activation activation = node.attrs<graph::ActivationAttrs>().activation;
    node.set_output(0, times_slope(node, activation, node.input(0), node.input(1)));
}

/// gate[N,C] in a shape that broadcasts to x[N,H,W,C].
poplar::Tensor beside_image(const poplar::Tensor& gate) {
    return gate.expand({1, 1});
}

void lower_scale_channels(const NodeContext& node) {
    node.set_output(0,
                    popops::mul(node.device, node.input(0), beside_image(node.input(1)), node.program, node.debug()));
}

void lower_scale_channels_grad(const NodeContext& node) {
    const poplar::Tensor& x = node.input(0);
    const poplar::Tensor& dy = node.input(2);
    node.set_output(0, popops::mul(node.device, dy, beside_image(node.input(1)), node.program, node.debug()));
    const poplar::Tensor product = node.map(pe::Cast(pe::_1, poplar::FLOAT) * pe::Cast(pe::_2, poplar::FLOAT), {x, dy});
    const poplar::Tensor dgate = node.sum(product, {1, 2}, node.output_type(1));
    node.set_output(1, dgate);
}

// Dropout and drop-connect.

void lower_random_scale(const NodeContext& node) {
    const auto& attrs = node.attrs<graph::RandomScaleAttrs>();
    node.set_output(0, randomly_scaled(node, attrs.site, attrs.keep, node.input(0),
                                       attrs.per_sample ? Draw::per_sample : Draw::per_element));
}

}  // namespace

std::span<const LoweringEntry> gate_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::activation, lower_activation},         {OpKind::activation_grad, lower_activation_grad},
        {OpKind::scale_channels, lower_scale_channels}, {OpKind::scale_channels_grad, lower_scale_channels_grad},
        {OpKind::random_scale, lower_random_scale},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
