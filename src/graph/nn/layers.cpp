#include "graph/nn/layers.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/graph/model.h"

namespace cnntrain::nn {

using graph::Initialiser;
using graph::NoAttrs;
using graph::OpKind;
using graph::ValueId;

namespace {

const Initialiser kDenseWeight{.kind = Initialiser::Kind::glorot_uniform};
const Initialiser kZeros{.value = 0};
const Initialiser kOnes{.value = 1};

/// Initial rows of a proxy: gamma is 1; beta, beta' and gamma' are 0; the moments follow from the activation of the
/// normal quantiles.
Initialiser proxy_start(const graph::ProxyNormAttrs& attrs) {
    constexpr auto kCount = static_cast<double>(graph::kProxySamples);
    std::vector<double> sample = normal_quantiles(graph::kProxySamples);
    for (double& value : sample)
        value = graph::activated(attrs.activation, value);
    const double mean = std::accumulate(sample.begin(), sample.end(), 0.0) / kCount;
    double variance = 0;
    for (const double value : sample)
        variance += (value - mean) * (value - mean) / kCount;
    Initialiser start{.kind = Initialiser::Kind::rows, .rows = std::vector<double>(graph::kProxyRows)};
    start.rows[graph::proxy_row::gamma] = 1;
    start.rows[graph::proxy_row::mean] = mean;
    start.rows[graph::proxy_row::inverse_deviation] = 1 / std::sqrt(variance + attrs.epsilon);
    return start;
}

const std::string* filter_hit(const std::vector<std::string>& filters, const std::string& variable) {
    const auto hit = std::find_if(filters.begin(), filters.end(), [&](const std::string& filter) {
        return variable.find(filter) != std::string::npos;
    });
    return hit == filters.end() ? nullptr : &*hit;
}

}  // namespace

ValueId in_type(graph::Graph& graph, ValueId x, DType type, const std::string& name) {
    return graph.desc(x).dtype == type ? x : graph.add_one(OpKind::cast, graph::CastAttrs{type}, {x}, name);
}

DType Layers::stored_type(const std::string& variable) const {
    const std::string* to_16 = filter_hit(numerics_.force_weight_to_fp16, variable);
    const std::string* to_32 = filter_hit(numerics_.force_weight_to_fp32, variable);
    if (to_16 != nullptr && to_32 != nullptr) {
        throw Error(ErrorKind::usage, "variable '" + variable + "': --force-weight-to-fp16 '" + *to_16 +
                                          "' and --force-weight-to-fp32 '" + *to_32 +
                                          "' both match its name; make one of them more specific");
    }
    if (to_16 != nullptr) return numerics_.half;
    if (to_32 != nullptr) return DType::f32;
    return numerics_.parameters;
}

ValueId Layers::parameter(const std::string& variable, Shape shape, Initialiser initialiser) {
    return graph_.add_parameter(variable, {stored_type(variable), std::move(shape)}, std::move(initialiser));
}

ValueId Layers::in_compute_type(ValueId x, const std::string& scope) {
    return in_type(graph_, x, numerics_.compute, scope);
}

/// A per-channel variable in the type that ops read: f32 or the compute type.
ValueId Layers::channel_vector(ValueId vector) {
    if (graph_.desc(vector).dtype == DType::f32) return vector;
    return in_compute_type(vector, graph_.value(vector).name + "/cast");
}

std::string Layers::kernel_name(const std::string& scope) const {
    return scope + (model_.family == Family::efficientnet ? "/kernel" : "/weight");
}

graph::Padding Layers::padding(ValueId x, std::int64_t kernel, std::int64_t stride) const {
    const Shape& in = graph_.desc(x).shape;
    const auto rule = model_.padding == PaddingRule::symmetric ? graph::symmetric_padding : graph::same_padding;
    return rule(in[1], in[2], kernel, stride);
}

ValueId Layers::prepare_images(ValueId images, const InputSettings& input) {
    const bool integers = graph_.desc(images).dtype == DType::u8;
    if (!input.normalise && !integers) return in_compute_type(images, "all/images");
    const Normalisation how = input.normalise.value_or(Normalisation{{1, 1, 1}, {0, 0, 0}});
    graph::NormaliseImageAttrs attrs{
        {how.scale.begin(), how.scale.end()}, {how.shift.begin(), how.shift.end()}, numerics_.compute};
    return graph_.add_one(OpKind::normalise_image, std::move(attrs), {images}, "all/images");
}

ValueId Layers::conv(ValueId x, const std::string& scope, const ConvShape& shape) {
    graph::ConvAttrs attrs;
    attrs.stride = shape.stride;
    attrs.groups = shape.groups;
    attrs.padding = padding(x, shape.kernel, shape.stride);
    const std::string name = kernel_name(scope);
    const ValueId weight =
        parameter(name, {shape.kernel, shape.kernel, channels(x) / shape.groups, shape.filters}, shape.initialiser);
    const ValueId used = in_compute_type(weight, name + "/cast");
    return graph_.add_one(OpKind::conv2d, std::move(attrs), {x, used}, scope);
}

ValueId Layers::norm(ValueId x, const std::string& scope, const std::string& suffix, Gamma gamma) {
    const std::string node = scope + (grouped() ? "/gn" : "/bn") + suffix;
    const std::string leaf = norm_leaf(node);
    const ValueId beta = channel_vector(parameter(leaf + "/beta", {channels(x)}, kZeros));
    return norm_node(x, node, leaf, gamma_of(leaf, channels(x), gamma), beta);
}

ValueId Layers::norm(ValueId x, const std::string& scope) {
    const std::string leaf = norm_leaf(scope);
    const ValueId beta = channel_vector(parameter(leaf + "/beta", {channels(x)}, kZeros));
    return norm_node(x, scope + "/norm", leaf, gamma_of(leaf, channels(x), Gamma::one), beta);
}

ValueId Layers::norm_without_shift(ValueId x, const std::string& scope) {
    const std::string leaf = norm_leaf(scope);
    const graph::ConstantAttrs zeros{0, {DType::f32, {channels(x)}}};
    const ValueId beta = graph_.add_one(OpKind::constant, zeros, {}, scope + "/norm/no_shift");
    return norm_node(x, scope + "/norm", leaf, gamma_of(leaf, channels(x), Gamma::one), beta);
}

ValueId Layers::norm_with(ValueId x, const std::string& scope, ValueId gamma, ValueId beta) {
    return norm_node(x, scope + "/norm", norm_leaf(scope), gamma, beta);
}

ValueId Layers::gamma_of(const std::string& leaf, std::int64_t channels, Gamma gamma) {
    return channel_vector(parameter(leaf + "/gamma", {channels}, gamma == Gamma::zero ? kZeros : kOnes));
}

std::int64_t Layers::norm_groups(std::int64_t channels, const std::string& scope) const {
    std::int64_t groups = model_.groups;
    if (model_.family == Family::efficientnet) groups = std::min(groups, channels);
    if (groups < 1 || channels % groups != 0) {
        throw Error(ErrorKind::usage, scope + ": " + std::to_string(channels) + " channels cannot be divided into " +
                                          std::to_string(groups) +
                                          " groups; choose --groups so that it divides every channel count");
    }
    return groups;
}

ValueId Layers::norm_node(ValueId x, const std::string& scope, const std::string& leaf, ValueId gamma, ValueId beta) {
    if (!grouped()) return batch_norm(x, scope, leaf, gamma, beta);
    graph::NormAttrs attrs;
    attrs.epsilon = model_.epsilon;
    attrs.groups = norm_groups(channels(x), scope);
    return graph_.add(OpKind::group_norm, attrs, {x, gamma, beta}, scope)[0];
}

ValueId Layers::batch_norm(ValueId x, const std::string& scope, const std::string& leaf, ValueId gamma, ValueId beta) {
    const std::string mean_name = leaf + "/moving_mean";
    const std::string variance_name = leaf + std::string(kMovingVariance);
    const ValueId mean = graph_.add_moving_average(mean_name, {stored_type(mean_name), {channels(x)}}, kZeros);
    const ValueId variance =
        graph_.add_moving_average(variance_name, {stored_type(variance_name), {channels(x)}}, kOnes);
    graph::NormAttrs attrs;
    attrs.epsilon = model_.epsilon;
    const bool frozen = mode_ == Mode::training && frozen_.match(mean_name) && frozen_.match(variance_name);
    if (frozen) {  // gradients of norms read statistics in f32
        return graph_.add_one(OpKind::batch_norm_inference, attrs,
                              {x, gamma, beta, in_type(graph_, mean, DType::f32, mean_name + "/cast"),
                               in_type(graph_, variance, DType::f32, variance_name + "/cast")},
                              scope);
    }
    if (mode_ == Mode::evaluation) {
        return graph_.add_one(OpKind::batch_norm_inference, attrs,
                              {x, gamma, beta, channel_vector(mean), channel_vector(variance)}, scope);
    }
    const std::vector<ValueId> outputs = graph_.add(OpKind::batch_norm, attrs, {x, gamma, beta}, scope);
    // Elements per channel in a replica's own micro-batch, even if replicas share their statistics.
    const auto count = static_cast<double>(graph_.desc(x).elements() / channels(x) / model_.norm_replicas);
    graph_.set_followed(mean, outputs[1], 1);
    graph_.set_followed(variance, outputs[2], count / std::max(1.0, count - 1));
    return outputs[0];
}

ValueId Layers::activation(ValueId x, const std::string& scope, graph::Activation activation) {
    return graph_.add_one(OpKind::activation, graph::ActivationAttrs{activation}, {x}, scope);
}

ValueId Layers::add(ValueId branch, ValueId shortcut, const std::string& scope) {
    return graph_.add_one(OpKind::add, NoAttrs{}, {branch, shortcut}, scope);
}

ValueId Layers::max_pool(ValueId x, const std::string& scope, std::int64_t kernel, std::int64_t stride) {
    const graph::PoolAttrs attrs{kernel, stride, padding(x, kernel, stride)};
    return graph_.add_one(OpKind::max_pool, attrs, {x}, scope);
}

ValueId Layers::shortcut_pad(ValueId x, const std::string& scope, std::int64_t channels, std::int64_t stride) {
    graph::ShortcutPadAttrs attrs;
    attrs.stride = stride;
    attrs.channels = channels;
    return graph_.add_one(OpKind::shortcut_pad, std::move(attrs), {x}, scope);
}

ValueId Layers::global_average_pool(ValueId x, const std::string& scope) {
    return graph_.add_one(OpKind::global_average_pool, NoAttrs{}, {x}, scope);
}

ValueId Layers::affine(ValueId x, const std::string& scope, Shape shape, Initialiser initialiser) {
    const std::string name = kernel_name(scope);
    const std::int64_t outputs = shape.back();
    const ValueId weight = parameter(name, std::move(shape), std::move(initialiser));
    const ValueId bias = parameter(scope + "/bias", {outputs}, kZeros);
    const ValueId used = in_compute_type(weight, name + "/cast");
    return graph_.add_one(OpKind::dense, graph::DenseAttrs{}, {x, used, channel_vector(bias)}, scope);
}

ValueId Layers::dense(ValueId x, const std::string& scope, std::int64_t outputs) {
    return affine(x, scope, {channels(x), outputs}, kDenseWeight);
}

ValueId Layers::pixel_conv(ValueId x, const std::string& scope, std::int64_t filters, Initialiser initialiser) {
    return affine(x, scope, {1, 1, channels(x), filters}, std::move(initialiser));
}

ValueId Layers::scale_channels(ValueId x, ValueId gate, const std::string& scope) {
    return graph_.add_one(OpKind::scale_channels, NoAttrs{}, {x, gate}, scope);
}

ProxyRows Layers::proxy_rows(const std::string& scope, std::int64_t channels, const graph::ProxyNormAttrs& attrs) {
    const std::string name = scope + "/proxy";
    const ValueId proxy = parameter(name, {graph::kProxyRows, 1, 1, channels}, proxy_start(attrs));
    const std::vector<ValueId> rows = graph_.add(OpKind::proxy_norm_rows, attrs, {proxy}, name + "/rows");
    return {rows[0], rows[1], rows[2], rows[3]};
}

ValueId Layers::standardise(ValueId x, const std::string& scope, ValueId mean, ValueId scale) {
    std::vector<ValueId> inputs = {x};
    if (mean.valid()) inputs.push_back(mean);
    if (scale.valid()) inputs.push_back(scale);
    const graph::StandardiseAttrs attrs{mean.valid(), scale.valid()};
    return graph_.add_one(OpKind::standardise, attrs, std::move(inputs), scope);
}

ValueId Layers::drop(ValueId x, const std::string& scope, graph::RandomScaleAttrs attrs) {
    if (mode_ == Mode::evaluation || attrs.keep <= 0 || attrs.keep >= 1) return x;
    attrs.site = hash_text(scope);
    return graph_.add_one(OpKind::random_scale, attrs, {x}, scope);
}

}  // namespace cnntrain::nn
