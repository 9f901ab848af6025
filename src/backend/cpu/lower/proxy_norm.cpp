// Proxy norm: own kernels. The rows that the network reads are copied out of the proxy once per weight update.
#include <algorithm>
#include <utility>
#include <vector>

#include "backend/cpu/lower/node_context.h"
#include "cnntrain/base/rng.h"

namespace cnntrain::cpu {

using graph::ProxyNormAttrs;
using graph::StandardiseAttrs;
using graph::ValueId;

namespace {

const char* const kStandardiseReason = "operands of one elementwise sweep lie alike";

std::vector<float> proxy_quantiles() {
    const std::vector<double> values = normal_quantiles(graph::kProxySamples);
    return {values.begin(), values.end()};
}

std::int64_t channels_of(const NodeContext& lower, ValueId proxy) {
    return lower.graph.desc(proxy).shape.at(3);
}

template <typename T> Proxy<T> proxy_at(const Placed& placed, std::int64_t channels, std::span<const float> quantiles,
                                        const ProxyNormAttrs& attrs) {
    return {channels, placed.as<T>(), quantiles, attrs.activation, static_cast<float>(attrs.epsilon)};
}

void lower_standardise(const NodeContext& lower) {
    const auto& attrs = lower.node.as<StandardiseAttrs>();
    const auto& inputs = lower.node.inputs;
    const Placed x = lower.values.operand(inputs[0]);
    const Placed mean = attrs.mean ? lower.values.float_vector(inputs[1]) : Placed{};
    const Placed scale = attrs.scale ? lower.values.float_vector(inputs.back()) : Placed{};
    const Placed y = lower.values.define_or_reuse(lower.node.outputs[0], x.desc, inputs[0]);
    const Blocks shape = lower.layouts.channel_blocks(inputs[0], x);
    const auto scratch = lower.steps.scratch_floats(standardise_scratch_floats(shape));
    add_typed(lower, x.dtype, "kernel", present({x, mean, scale}), {y}, [=]<typename T>(const StepContext&) {
        standardise(shape, x.as<T>(), mean.as<float>(), scale.as<float>(), y.as<T>(), scratch());
    });
}

/// dmean = -sum of dy.
void lower_mean_grad(const NodeContext& lower) {
    const Placed dy = lower.values.operand(lower.node.inputs[0]);
    const ValueId result = lower.node.outputs[0];
    const Placed dmean = lower.values.define(result);
    const Blocks shape = lower.layouts.channel_blocks(lower.node.inputs[0], dy);
    const auto scratch = lower.steps.scratch_floats(norm_scratch_floats(shape));
    add_typed(lower, dy.dtype, "kernel", {dy}, {dmean}, [=]<typename T>(const StepContext&) {
        bias_grad(shape, dy.as<T>(), dmean.as<float>(), scratch());
        std::transform(dmean.as<float>(), dmean.as<float>() + shape.channels(), dmean.as<float>(), std::negate<>());
    });
}

void lower_standardise_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<StandardiseAttrs>();
    if (!attrs.scale) return lower_mean_grad(lower);
    const auto& inputs = lower.node.inputs;
    const auto& outputs = lower.node.outputs;
    const Placed y = lower.values.operand(inputs[0]);
    const Placed scale = lower.values.float_vector(inputs[1]);
    const Placed dy = lower.values.operand_as(inputs[2], y.desc, kStandardiseReason);
    const Placed dx = lower.values.dies_here(inputs[2], y.desc)
                          ? lower.values.define_over(outputs[0], y.desc, inputs[2])
                          : lower.values.define_or_reuse(outputs[0], y.desc, inputs[0]);
    const auto vector = [&](ValueId value) { return lower.values.define(value); };
    const Placed dmean = attrs.mean ? vector(outputs[1]) : Placed{};
    const Placed dscale = vector(outputs.back());
    const Blocks shape = lower.layouts.channel_blocks(inputs[0], y);
    const auto scratch = lower.steps.scratch_floats(standardise_scratch_floats(shape));
    add_typed(lower, y.dtype, "kernel", {y, scale, dy}, present({dx, dmean, dscale}),
              [=]<typename T>(const StepContext&) {
                  standardise_grad<T>(shape,
                                      {.y = y.as<T>(),
                                       .dy = dy.as<T>(),
                                       .scale = scale.as<float>(),
                                       .dx = dx.as<T>(),
                                       .dmean = dmean.as<float>(),
                                       .dscale = dscale.as<float>()},
                                      scratch());
              });
}

void lower_proxy_norm_rows(const NodeContext& lower) {
    const ValueId proxy = lower.node.inputs[0];
    const Placed from = lower.weights.master(proxy);
    const std::int64_t channels = channels_of(lower, proxy);
    std::vector<Placed> rows;
    for (const ValueId row : lower.node.outputs)
        rows.push_back(lower.values.define(row));
    add_typed(lower, from.dtype, "kernel", {from}, rows, [=]<typename T>(const StepContext&) {
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const T* row = from.as<T>() + static_cast<std::int64_t>(i) * channels;
            if constexpr (std::is_same_v<T, float>) {
                std::copy_n(row, channels, rows[i].as<float>());
            } else {
                cast(channels, row, rows[i].as<float>());
            }
        }
    });
}

void lower_proxy_norm_rows_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ProxyNormAttrs>();
    const ValueId result = lower.node.outputs[0];
    std::vector<Placed> rows;
    for (const ValueId row : lower.node.inputs)
        rows.push_back(lower.values.operand(row));
    const Placed to = lower.values.define(result);
    const std::int64_t channels = channels_of(lower, result);
    lower.steps.add("kernel", rows, {to}, [=, numbers = attrs.rows](const StepContext&) {
        std::fill_n(to.as<float>(), graph::kProxyRows * channels, 0.0F);
        for (std::size_t i = 0; i < rows.size(); ++i)
            std::copy_n(rows[i].as<float>(), channels, to.as<float>() + numbers[i] * channels);
    });
}

void lower_proxy_norm_gradient(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ProxyNormAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId result = lower.node.outputs[0];
    const Placed proxy = lower.values.operand(inputs[0]);
    const Placed gradient = lower.values.operand(inputs[1]);
    const Placed loss_scaling = lower.values.operand(inputs[2]);
    const Placed to = lower.values.define(result);
    const std::int64_t channels = channels_of(lower, result);
    with_float_type(proxy.dtype, [&]<typename T>() {
        const std::vector<Placed> reads = {proxy, gradient, loss_scaling};
        lower.steps.add("kernel", reads, {to}, [=, quantiles = proxy_quantiles()](const StepContext&) {
            const double weight_decay = attrs.weight_decay * static_cast<double>(*loss_scaling.as<float>());
            proxy_norm_gradient<T>(proxy_at<const T>(proxy, channels, quantiles, attrs),
                                   static_cast<float>(weight_decay), gradient.as<float>(), to.as<float>());
        });
    });
}

void lower_proxy_norm_statistics(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ProxyNormAttrs>();
    const Placed proxy = lower.values.operand(lower.node.inputs[0]);
    const std::int64_t channels = channels_of(lower, lower.node.inputs[0]);
    add_typed(lower, proxy.dtype, "kernel", {proxy}, {proxy},
              [=, quantiles = proxy_quantiles()]<typename T>(const StepContext&) {
                  proxy_norm_statistics(proxy_at<T>(proxy, channels, quantiles, attrs));
              });
}

}  // namespace

std::span<const LoweringEntry> proxy_norm_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::standardise, lower_standardise},
        {graph::OpKind::standardise_grad, lower_standardise_grad},
        {graph::OpKind::proxy_norm_rows, lower_proxy_norm_rows},
        {graph::OpKind::proxy_norm_rows_grad, lower_proxy_norm_rows_grad},
        {graph::OpKind::proxy_norm_gradient, lower_proxy_norm_gradient},
        {graph::OpKind::proxy_norm_statistics, lower_proxy_norm_statistics},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
