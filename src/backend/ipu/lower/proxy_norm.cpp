// Proxy norm: activations standardised by the moments that they would have, had their input been normal.
#include <vector>

#include <popops/ElementWise.hpp>

#include "backend/ipu/lower/support.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::ipu {

using graph::kProxyRows;
using graph::kProxySamples;
using graph::ProxyNormAttrs;
using graph::StandardiseAttrs;
namespace proxy_row = graph::proxy_row;

namespace {

namespace pe = popops::expr;

/// Sums x over all axes but the last, in float.
poplar::Tensor channel_sums(const NodeContext& node, const poplar::Tensor& x) {
    return node.sum(rows(x), {0}, poplar::FLOAT);
}

// ---- standardise ----

void lower_standardise(const NodeContext& node) {
    const auto& attrs = node.attrs<StandardiseAttrs>();
    std::vector<poplar::Tensor> operands = {node.input(0), node.input(1)};
    pe::Any y = as_float(pe::_1);
    if (attrs.mean) y = y - pe::_2;
    if (attrs.scale) y = y * (attrs.mean ? pe::_3 : pe::_2);
    if (attrs.mean && attrs.scale) operands.push_back(node.input(2));
    node.set_output(0, node.map(pe::Cast(y, node.output_type()), operands));
}

void lower_standardise_grad(const NodeContext& node) {
    const auto& attrs = node.attrs<StandardiseAttrs>();
    const poplar::Tensor& dy = node.input(node.inputs() - 1);
    if (!attrs.scale) {
        node.set_output(0, popops::neg(node.device, channel_sums(node, dy), node.program, node.debug()));
        return;
    }
    const auto map = [&](const pe::Expr& formula, const std::vector<poplar::Tensor>& operands) {
        return node.map(formula, operands);
    };
    const poplar::Tensor& scale = node.input(1);
    node.set_output(0, map(pe::Cast(as_float(pe::_1) * pe::_2, node.output_type()), {dy, scale}));
    if (attrs.mean) node.set_output(1, map(-1.0F * pe::_1 * pe::_2, {channel_sums(node, dy), scale}));
    const poplar::Tensor products = map(as_float(pe::_1) * as_float(pe::_2), {node.input(0), dy});
    node.set_output(attrs.mean ? 2 : 1, map(pe::_1 / pe::_2, {channel_sums(node, products), scale}));
}

// ---- rows ----

/// A row of [6,1,1,C] as [C].
poplar::Tensor row_of(const poplar::Tensor& proxy, std::size_t row) {
    return proxy[row].flatten();
}

/// Rows f32[C] as [6,1,1,C]; an invalid row is 0.
poplar::Tensor stacked(const NodeContext& node, std::vector<poplar::Tensor> stack, std::size_t channels) {
    poplar::Tensor zeros;
    for (poplar::Tensor& row : stack) {
        if (!row.valid()) {
            if (!zeros.valid()) {
                zeros = node.device.addConstant(poplar::FLOAT, {channels}, 0.0F, node.debug());
                node.device.setTileMapping(zeros, 0);
            }
            row = zeros;
        }
        row = row.reshape({1, 1, 1, channels});
    }
    return poplar::concat(stack);
}

void lower_proxy_norm_rows(const NodeContext& node) {
    for (std::size_t row = 0; row < node.node.outputs.size(); ++row)
        node.set_output(row, node.cast(row_of(node.input(0), row), poplar::FLOAT));
}

void lower_proxy_norm_rows_grad(const NodeContext& node) {
    const std::vector<std::int64_t>& given = node.attrs<ProxyNormAttrs>().rows;
    std::vector<poplar::Tensor> stack(kProxyRows);
    for (std::size_t i = 0; i < given.size(); ++i)
        stack[static_cast<std::size_t>(given[i])] = node.input(i);
    node.set_output(0, stacked(node, stack, node.input(0).numElements()));
}

// ---- proxy sample ----

/// The proxy samples of all channels, and their moments.
class ProxySamples {
public:
    ProxySamples(const NodeContext& node, const poplar::Tensor& proxy)
        : node_(node), attrs_(node.attrs<ProxyNormAttrs>()) {
        for (std::size_t row = 0; row < static_cast<std::size_t>(kProxyRows); ++row)
            rows_.push_back(node.cast(row_of(proxy, row), poplar::FLOAT));
        const std::vector<double> quantiles = normal_quantiles(kProxySamples);
        const std::vector<float> floats(quantiles.begin(), quantiles.end());
        quantiles_ = node.device.addConstant(poplar::FLOAT, {floats.size(), 1}, floats.data(), node.debug());
        node.device.setTileMapping(quantiles_, 0);
        before_ = map(pe::_2 * ((pe::_3 + 1.0F) * pe::_5 + pe::_4) + pe::_1,
                      {row(proxy_row::beta), row(proxy_row::gamma), row(proxy_row::proxy_gamma),
                       row(proxy_row::proxy_beta), quantiles_});
        after_ = activated(node, attrs_.activation, before_);
        mean_ = map(pe::_1 * kShare, {sum(after_)});
        // Centred twice: gradients multiply the rounding error of the mean by up to epsilon^-1.5.
        deviation_ = centred(centred(after_));
        const poplar::Tensor squares = sum(map(pe::Square(pe::_1), {deviation_}));
        inverse_deviation_ = map(pe::Rsqrt(pe::_1 * kShare + static_cast<float>(attrs_.epsilon)), {squares});
    }

    const poplar::Tensor& row(std::size_t index) const { return rows_[index]; }
    const poplar::Tensor& mean() const { return mean_; }
    const poplar::Tensor& inverse_deviation() const { return inverse_deviation_; }

    /// Sums over the samples of du and of du * z, where du is the gradient that reaches the activation's input.
    struct Gradient {
        poplar::Tensor sum, projection;
    };
    Gradient gradient(const poplar::Tensor& dmean, const poplar::Tensor& dinverse_deviation) const {
        // The variance's gradient is -dinverse / 2 * inverse^3; an activation's gradient is 2 * deviation times it.
        const poplar::Tensor dp = map((pe::_1 - pe::_2 * pe::_3 * pe::_3 * pe::_3 * pe::_4) * kShare,
                                      {dmean, dinverse_deviation, inverse_deviation_, deviation_});
        const bool from_result = graph::slope_follows_from_result(attrs_.activation);
        const poplar::Tensor du = times_slope(node_, attrs_.activation, from_result ? after_ : before_, dp);
        return {sum(du), sum(map(pe::_1 * pe::_2, {du, quantiles_}))};
    }

private:
    static constexpr float kShare = 1.0F / static_cast<float>(kProxySamples);

    poplar::Tensor map(const pe::Expr& formula, const std::vector<poplar::Tensor>& operands) const {
        return node_.map(formula, operands);
    }
    poplar::Tensor sum(const poplar::Tensor& samples) const { return channel_sums(node_, samples); }
    poplar::Tensor centred(const poplar::Tensor& samples) const {
        return map(pe::_1 - pe::_2 * kShare, {samples, sum(samples)});
    }

    const NodeContext& node_;
    const ProxyNormAttrs& attrs_;
    std::vector<poplar::Tensor> rows_;                       // FLOAT [C]
    poplar::Tensor quantiles_, before_, after_, deviation_;  // FLOAT [kProxySamples][C] or [kProxySamples][1]
    poplar::Tensor mean_, inverse_deviation_;                // FLOAT [C]
};

void lower_proxy_norm_gradient(const NodeContext& node) {
    const auto decay = static_cast<float>(node.attrs<ProxyNormAttrs>().weight_decay);
    const ProxySamples samples(node, node.input(0));
    const poplar::Tensor& arriving = node.input(1);
    const ProxySamples::Gradient through =
        samples.gradient(row_of(arriving, proxy_row::mean), row_of(arriving, proxy_row::inverse_deviation));
    const poplar::Tensor& gamma = samples.row(proxy_row::gamma);
    const poplar::Tensor& proxy_beta = samples.row(proxy_row::proxy_beta);
    const poplar::Tensor& proxy_gamma = samples.row(proxy_row::proxy_gamma);
    const auto map = [&](std::size_t row, const pe::Expr& formula, std::vector<poplar::Tensor> operands) {
        operands.insert(operands.begin(), row_of(arriving, row));
        return node.map(formula, operands);
    };
    const pe::Any decayed = pe::_1 + pe::_2 * pe::_3 + pe::_4 * pe::_5 * decay;
    std::vector<poplar::Tensor> stack(kProxyRows);
    stack[proxy_row::beta] = map(proxy_row::beta, pe::_1 + pe::_2, {through.sum});
    stack[proxy_row::gamma] = map(proxy_row::gamma, pe::_1 + (pe::_2 + 1.0F) * pe::_3 + pe::_4 * pe::_5,
                                  {proxy_gamma, through.projection, proxy_beta, through.sum});
    stack[proxy_row::proxy_beta] = map(proxy_row::proxy_beta, decayed, {gamma, through.sum, proxy_beta, node.input(2)});
    stack[proxy_row::proxy_gamma] =
        map(proxy_row::proxy_gamma, decayed, {gamma, through.projection, proxy_gamma, node.input(2)});
    node.set_output(0, stacked(node, stack, gamma.numElements()));
}

void lower_proxy_norm_statistics(const NodeContext& node) {
    const poplar::Tensor& proxy = node.input(0);
    const ProxySamples samples(node, proxy);
    const auto overwrite = [&](std::size_t row, const poplar::Tensor& value) {
        node.program.add(poplar::program::Copy(node.cast(value, proxy.elementType()), row_of(proxy, row)));
    };
    overwrite(proxy_row::mean, samples.mean());
    overwrite(proxy_row::inverse_deviation, samples.inverse_deviation());
}

}  // namespace

std::span<const LoweringEntry> proxy_norm_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::standardise, lower_standardise},
        {OpKind::standardise_grad, lower_standardise_grad},
        {OpKind::proxy_norm_rows, lower_proxy_norm_rows},
        {OpKind::proxy_norm_rows_grad, lower_proxy_norm_rows_grad},
        {OpKind::proxy_norm_gradient, lower_proxy_norm_gradient},
        {OpKind::proxy_norm_statistics, lower_proxy_norm_statistics},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
