// Batch norm and group norm, with fused residual addition and activation, and their gradients.
#include "backend/ipu/lower/node_context.h"
#include "backend/ipu/lower/norm.h"
#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {

using graph::NormAttrs;

namespace {

Norm norm_of(const NodeContext& node, NormKind kind) {
    const auto& attrs = node.attrs<NormAttrs>();
    return {node, kind, node.input(0), static_cast<std::size_t>(attrs.groups), attrs.epsilon};
}

void set_normalised(const NodeContext& node, const Norm& norm, const Norm::Moments& moments) {
    const auto& attrs = node.attrs<NormAttrs>();
    const poplar::Tensor residual = attrs.residual ? node.input(node.inputs() - 1) : poplar::Tensor();
    const poplar::Tensor sum = norm.normalised(node.input(0), moments, node.input(1), node.input(2), residual);
    node.set_output(0, activated(node, attrs.activation, sum));
}

template <NormKind kKind> void lower_norm(const NodeContext& node) {
    const Norm norm = norm_of(node, kKind);
    const Norm::Moments moments = norm.moments(node.input(0));
    set_normalised(node, norm, moments);
    const std::vector<std::size_t> shape = extents(node.output_desc(1).shape);
    node.set_output(1, moments.mean.reshape(shape));
    node.set_output(2, moments.variance.reshape(shape));
}

template <NormKind kKind> void lower_norm_inference(const NodeContext& node) {
    const Norm norm = norm_of(node, kKind);
    set_normalised(node, norm, norm.moments(node.input(3), node.input(4)));
}

/// The argument of the activation's slope: after a residual the norm's result, else recomputed from the whitened x.
poplar::Tensor slope_operand(const NodeContext& node, const Norm& norm, const poplar::Tensor& whitened) {
    const auto& attrs = node.attrs<NormAttrs>();
    if (attrs.residual) return node.input(node.inputs() - 1);
    const poplar::Tensor before = norm.scaled(whitened, node.input(1), node.input(2));
    return graph::slope_follows_from_result(attrs.activation) ? activated(node, attrs.activation, before) : before;
}

template <NormKind kKind> void lower_norm_grad(const NodeContext& node) {
    const auto& attrs = node.attrs<NormAttrs>();
    const Norm norm = norm_of(node, kKind);
    const Norm::Moments moments = norm.moments(node.input(3), node.input(4));
    const poplar::Tensor whitened = norm.whitened(node.input(0), moments);
    poplar::Tensor dy = arriving_gradient(node, 5, attrs.summed_gradient);
    if (attrs.activation != graph::Activation::none)
        dy = times_slope(node, attrs.activation, slope_operand(node, norm, whitened), dy);
    const Norm::ParameterGradients parameters = norm.parameter_gradients(whitened, dy);
    node.set_output(0, attrs.given_statistics ? norm.input_gradient_of_given(dy, moments, node.input(1))
                                              : norm.input_gradient(whitened, dy, moments, node.input(1)));
    node.set_output(1, parameters.gamma);
    node.set_output(2, parameters.beta);
    if (attrs.residual) node.set_output(3, dy);
}

}  // namespace

std::span<const LoweringEntry> norm_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::batch_norm, lower_norm<NormKind::batch>},
        {OpKind::batch_norm_inference, lower_norm_inference<NormKind::batch>},
        {OpKind::batch_norm_grad, lower_norm_grad<NormKind::batch>},
        {OpKind::group_norm, lower_norm<NormKind::group>},
        {OpKind::group_norm_inference, lower_norm_inference<NormKind::group>},
        {OpKind::group_norm_grad, lower_norm_grad<NormKind::group>},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
