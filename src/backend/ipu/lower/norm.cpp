#include "backend/ipu/lower/norm.h"

#include <utility>
#include <vector>

#include <gcl/Collectives.hpp>
#include <popnn/BatchNorm.hpp>
#include <popnn/GroupNorm.hpp>
#include <popnn/LayerNorm.hpp>
#include <popops/ElementWise.hpp>

#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {

namespace pe = popops::expr;

namespace {

const poplar::OptionFlags& group_options() {
    static const poplar::OptionFlags options = {{"groupNormStridedChannelGrouping", "false"}};
    return options;
}

/// poplin::DistributedNormReduceCallback over consecutive replicas.
std::vector<poplar::Tensor> sums_over_replicas(poplar::Graph& device, const std::vector<poplar::Tensor>& inputs,
                                               poplar::program::Sequence& program, unsigned span,
                                               const poplar::DebugContext& debug, const poplar::OptionFlags& options) {
    std::vector<poplar::Tensor> sums;
    sums.reserve(inputs.size());
    for (const poplar::Tensor& input : inputs) {
        sums.push_back(gcl::allReduceCrossReplica(device, input, gcl::CollectiveOperator::ADD, program,
                                                  {gcl::CommGroupType::CONSECUTIVE, span}, debug, options));
    }
    return sums;
}

}  // namespace

Norm::Norm(const NodeContext& node, NormKind kind, const poplar::Tensor& x, std::size_t groups, double epsilon)
    : node_(node),
      kind_(kind),
      type_(x.elementType()),
      shape_(x.shape()),
      groups_(groups),
      epsilon_(static_cast<float>(epsilon)) {}

poplar::Tensor Norm::elements(const poplar::Tensor& x) const {
    return kind_ == NormKind::group ? x.reshapePartial(3, 4, {groups_, shape_[3] / groups_}) : x;
}

poplar::Tensor Norm::statistic(const poplar::Tensor& t) const {
    if (kind_ == NormKind::batch) return t;
    return kind_ == NormKind::group ? t.reshape({shape_[0], 1, 1, groups_, 1}) : t.reshape({shape_[0], 1});
}

poplar::Tensor Norm::parameter(const poplar::Tensor& t) const {
    return kind_ == NormKind::group ? t.reshape({groups_, shape_[3] / groups_}) : t;
}

poplar::Tensor Norm::activations(const poplar::Tensor& x) const {
    return kind_ == NormKind::layer ? x : channels_second(x);
}

Norm::Moments Norm::moments(const poplar::Tensor& x) const {
    constexpr bool kUnbiased = false;
    const bool stable = node_.options.stable_norm;
    const poplar::Tensor acts = activations(node_.cast(x, poplar::FLOAT));
    std::pair<poplar::Tensor, poplar::Tensor> result;
    switch (kind_) {
        case NormKind::batch:
            result = popnn::bn::distributedBatchNormStatistics(node_.device, acts, epsilon_, node_.program, kUnbiased,
                                                               sums_over_replicas, shared_samples(), stable,
                                                               poplar::FLOAT, node_.debug());
            break;
        case NormKind::group:
            result = popnn::gn::groupNormStatistics(node_.device, acts, epsilon_, node_.program,
                                                    static_cast<unsigned>(groups_), kUnbiased, stable, poplar::FLOAT,
                                                    node_.debug(), group_options());
            break;
        case NormKind::layer:
            result = popnn::ln::layerNormStatistics(node_.device, acts, epsilon_, node_.program, kUnbiased, stable,
                                                    poplar::FLOAT, node_.debug());
            break;
    }
    const poplar::Tensor variance =
        popops::invStdDevToVariance(node_.device, result.second, epsilon_, node_.program, node_.debug());
    return {result.first, variance, result.second};
}

Norm::Moments Norm::moments(const poplar::Tensor& mean, const poplar::Tensor& variance) const {
    const poplar::Tensor in_float = node_.cast(variance, poplar::FLOAT);
    return {node_.cast(mean, poplar::FLOAT), in_float,
            popops::varianceToInvStdDev(node_.device, in_float, epsilon_, node_.program, node_.debug())};
}

poplar::Tensor Norm::normalised(const poplar::Tensor& x, const Moments& moments, const poplar::Tensor& gamma,
                                const poplar::Tensor& beta, const poplar::Tensor& addend) const {
    std::vector<poplar::Tensor> operands = {elements(x), statistic(moments.mean), statistic(moments.inverse_deviation),
                                            parameter(gamma), parameter(beta)};
    pe::Any formula = (as_float(pe::_1) - pe::_2) * pe::_3 * as_float(pe::_4) + as_float(pe::_5);
    if (addend.valid()) {
        operands.push_back(elements(addend));
        formula = formula + as_float(pe::_6);
    }
    return node_.map(pe::Cast(formula, type_), operands).reshape(shape_);
}

poplar::Tensor Norm::whitened(const poplar::Tensor& x, const Moments& moments) const {
    return node_
        .map(pe::Cast((as_float(pe::_1) - pe::_2) * pe::_3, type_),
             {elements(x), statistic(moments.mean), statistic(moments.inverse_deviation)})
        .reshape(shape_);
}

poplar::Tensor Norm::scaled(const poplar::Tensor& whitened, const poplar::Tensor& gamma,
                            const poplar::Tensor& beta) const {
    return node_.map(pe::Cast(as_float(pe::_1) * as_float(pe::_2) + as_float(pe::_3), whitened.elementType()),
                     {whitened, gamma, beta});
}

poplar::Tensor Norm::input_gradient(const poplar::Tensor& whitened, const poplar::Tensor& dy, const Moments& moments,
                                    const poplar::Tensor& gamma) const {
    const poplar::Tensor inverse = node_.cast(moments.inverse_deviation.flatten(), type_);
    const poplar::Tensor scale = node_.cast(gamma, type_);
    switch (kind_) {
        case NormKind::batch:
            return channels_last(popnn::bn::distributedBatchNormGradients(
                node_.device, activations(whitened), activations(dy), inverse, scale, node_.program, sums_over_replicas,
                shared_samples(), poplar::FLOAT, node_.debug()));
        case NormKind::group:
            return channels_last(popnn::gn::groupNormGradients(node_.device, activations(whitened), activations(dy),
                                                               inverse, scale, node_.program, poplar::FLOAT,
                                                               node_.debug(), group_options()));
        case NormKind::layer:
            break;
    }
    return popnn::ln::layerNormGradients(node_.device, whitened, dy, inverse, scale, node_.program, poplar::FLOAT,
                                         node_.debug());
}

poplar::Tensor Norm::input_gradient_of_given(const poplar::Tensor& dy, const Moments& moments,
                                             const poplar::Tensor& gamma) const {
    return node_
        .map(pe::Cast(as_float(pe::_1) * pe::_2 * as_float(pe::_3), type_),
             {elements(dy), statistic(moments.inverse_deviation), parameter(gamma)})
        .reshape(shape_);
}

Norm::ParameterGradients Norm::parameter_gradients(const poplar::Tensor& whitened, const poplar::Tensor& dy) const {
    const poplar::Tensor product = node_.map(as_float(pe::_1) * as_float(pe::_2), {whitened, dy});
    const auto sum = [&](const poplar::Tensor& t) { return node_.sum(rows(t), {0}, poplar::FLOAT); };
    return {sum(product), sum(dy)};
}

poplar::Tensor arriving_gradient(const NodeContext& node, std::size_t first, bool summed_gradient) {
    if (!summed_gradient) return node.input(first);
    return popops::add(node.device, node.input(first), node.input(first + 1), node.program, node.debug());
}

// Batch norm and group norm, with fused residual addition and activation, and their gradients.

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

// Layer norm after the residual addition and dropout of its sublayer, and its gradient.

using graph::LayerNormAttrs;

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

// Moving statistics of a batch norm, folded into the convolution before it.

namespace pe = popops::expr;

/// gamma / sqrt(variance + epsilon), f32[O].
poplar::Tensor scale_of(const NodeContext& node, const poplar::Tensor& gamma, const poplar::Tensor& variance) {
    const auto epsilon = static_cast<float>(node.attrs<graph::FoldNormAttrs>().epsilon);
    return node.map(pe::Cast(pe::_1, poplar::FLOAT) * pe::Rsqrt(pe::Cast(pe::_2, poplar::FLOAT) + epsilon),
                    {gamma, variance});
}

void lower_fold_norm_weight(const NodeContext& node) {
    const poplar::Tensor scale = scale_of(node, node.input(1), node.input(2));
    node.set_output(
        0, node.map(pe::Cast(pe::Cast(pe::_1, poplar::FLOAT) * pe::_2, node.output_type()), {node.input(0), scale}));
}

void lower_fold_norm_bias(const NodeContext& node) {
    const poplar::Tensor scale = scale_of(node, node.input(0), node.input(3));
    node.set_output(0, node.map(pe::Cast(pe::_1, poplar::FLOAT) - pe::Cast(pe::_2, poplar::FLOAT) * pe::_3,
                                {node.input(1), node.input(2), scale}));
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
        {OpKind::layer_norm, lower_layer_norm},
        {OpKind::layer_norm_grad, lower_layer_norm_grad},
        {OpKind::fold_norm_weight, lower_fold_norm_weight},
        {OpKind::fold_norm_bias, lower_fold_norm_bias},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
