// Layer norm after the residual addition and dropout of its sublayer, and its gradient.
#include <popops/ElementWise.hpp>

#include "backend/ipu/lower/node_context.h"
#include "backend/ipu/lower/norm.h"
#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {

using graph::LayerNormAttrs;

namespace {

/// The input of the normalisation: x, or random_scale(x) + residual.
poplar::Tensor normalised_sum(const NodeContext& node) {
    const auto& attrs = node.attrs<LayerNormAttrs>();
    if (!attrs.residual) return node.input(0);
    if (attrs.keep < 1) return randomly_scaled_sum(node, attrs.site, attrs.keep, node.input(0), node.input(3));
    return popops::add(node.device, node.input(0), node.input(3), node.program, node.debug());
}

Norm norm_of(const NodeContext& node) {
    return {node, NormKind::layer, rows(node.input(0)), 1, node.attrs<LayerNormAttrs>().epsilon};
}

void lower_layer_norm(const NodeContext& node) {
    const poplar::Tensor z = normalised_sum(node);
    const Norm norm = norm_of(node);
    const Norm::Moments moments = norm.moments(rows(z));
    const poplar::Tensor y = norm.normalised(rows(z), moments, node.input(1), node.input(2), {});
    const std::vector<std::size_t> statistics = extents(node.output_desc(1).shape);
    node.set_output(0, y.reshape(z.shape()));
    node.set_output(1, moments.mean.reshape(statistics));
    node.set_output(2, moments.variance.reshape(statistics));
    if (node.attrs<LayerNormAttrs>().residual) node.set_output(3, z);
}

void lower_layer_norm_grad(const NodeContext& node) {
    const auto& attrs = node.attrs<LayerNormAttrs>();
    const Norm norm = norm_of(node);
    const Norm::Moments moments = norm.moments(node.input(2).flatten(), node.input(3).flatten());
    const poplar::Tensor whitened = norm.whitened(rows(node.input(0)), moments);
    const poplar::Tensor dy = rows(arriving_gradient(node, 4, attrs.summed_gradient));
    const Norm::ParameterGradients parameters = norm.parameter_gradients(whitened, dy);
    const poplar::Tensor dz =
        norm.input_gradient(whitened, dy, moments, node.input(1)).reshape(extents(node.output_desc().shape));
    node.set_output(0, dz);
    node.set_output(1, parameters.gamma);
    node.set_output(2, parameters.beta);
    if (attrs.keep < 1) node.set_output(3, randomly_scaled(node, attrs.site, attrs.keep, dz));
}

}  // namespace

std::span<const LoweringEntry> layer_norm_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::layer_norm, lower_layer_norm},
        {OpKind::layer_norm_grad, lower_layer_norm_grad},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
