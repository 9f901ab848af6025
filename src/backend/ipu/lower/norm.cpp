#include "backend/ipu/lower/norm.h"

#include <utility>
#include <vector>

#include <gcl/Collectives.hpp>
#include <popnn/BatchNorm.hpp>
#include <popnn/GroupNorm.hpp>
#include <popnn/LayerNorm.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>

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
    return popops::map(node_.device, pe::Cast(formula, type_), operands, node_.program, node_.debug()).reshape(shape_);
}

poplar::Tensor Norm::whitened(const poplar::Tensor& x, const Moments& moments) const {
    return popops::map(node_.device, pe::Cast((as_float(pe::_1) - pe::_2) * pe::_3, type_),
                       {elements(x), statistic(moments.mean), statistic(moments.inverse_deviation)}, node_.program,
                       node_.debug())
        .reshape(shape_);
}

poplar::Tensor Norm::scaled(const poplar::Tensor& whitened, const poplar::Tensor& gamma,
                            const poplar::Tensor& beta) const {
    return popops::map(node_.device,
                       pe::Cast(as_float(pe::_1) * as_float(pe::_2) + as_float(pe::_3), whitened.elementType()),
                       {whitened, gamma, beta}, node_.program, node_.debug());
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
    return popops::map(node_.device, pe::Cast(as_float(pe::_1) * pe::_2 * as_float(pe::_3), type_),
                       {elements(dy), statistic(moments.inverse_deviation), parameter(gamma)}, node_.program,
                       node_.debug())
        .reshape(shape_);
}

Norm::ParameterGradients Norm::parameter_gradients(const poplar::Tensor& whitened, const poplar::Tensor& dy) const {
    const poplar::Tensor product =
        popops::map(node_.device, as_float(pe::_1) * as_float(pe::_2), {whitened, dy}, node_.program, node_.debug());
    const auto sum = [&](const poplar::Tensor& t) {
        return popops::reduce(node_.device, rows(t), poplar::FLOAT, {0}, popops::Operation::ADD, node_.program,
                              node_.debug());
    };
    return {sum(product), sum(dy)};
}

poplar::Tensor arriving_gradient(const NodeContext& node, std::size_t first, bool summed_gradient) {
    if (!summed_gradient) return node.input(first);
    return popops::add(node.device, node.input(first), node.input(first + 1), node.program, node.debug());
}

}  // namespace cnntrain::ipu
