#include "nn/layers.h"

#include <algorithm>
#include <utility>

#include "cnntrain/base/error.h"

namespace cnntrain::nn {

using graph::Initialiser;
using graph::NoAttrs;
using graph::OpKind;
using graph::ValueId;

namespace {

constexpr Initialiser kConvWeight{Initialiser::Kind::truncated_normal_fan_in, 1};
constexpr Initialiser kDenseWeight{Initialiser::Kind::glorot_uniform, 0};
constexpr Initialiser kZeros{Initialiser::Kind::constant, 0};
constexpr Initialiser kOnes{Initialiser::Kind::constant, 1};

const std::string* filter_hit(const std::vector<std::string>& filters, const std::string& variable) {
    const auto hit = std::find_if(filters.begin(), filters.end(), [&](const std::string& filter) {
        return variable.find(filter) != std::string::npos;
    });
    return hit == filters.end() ? nullptr : &*hit;
}

}  // namespace

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
    return graph_.add_parameter(variable, {stored_type(variable), std::move(shape)}, initialiser);
}

ValueId Layers::in_compute_type(ValueId x, const std::string& scope) {
    if (graph_.desc(x).dtype == numerics_.compute) return x;
    return graph_.add_one(OpKind::cast, graph::CastAttrs{numerics_.compute}, {x}, scope);
}

/// A per-channel variable as ops read it: f32 or compute type.
ValueId Layers::channel_vector(ValueId vector) {
    if (graph_.desc(vector).dtype == DType::f32) return vector;
    return in_compute_type(vector, graph_.value(vector).name + "/cast");
}

ValueId Layers::prepare_images(ValueId images, const InputSettings& input) {
    if (!input.normalise) return in_compute_type(images, "all/images");
    graph::NormaliseImageAttrs attrs{input.normalise->scale, input.normalise->shift, numerics_.compute};
    return graph_.add_one(OpKind::normalise_image, std::move(attrs), {images}, "all/images");
}

ValueId Layers::conv(ValueId x, const std::string& scope, const ConvShape& shape) {
    const Shape& in = graph_.desc(x).shape;
    graph::ConvAttrs attrs;
    attrs.stride = shape.stride;
    attrs.groups = shape.groups;
    attrs.padding = graph::same_padding(in[1], in[2], shape.kernel, shape.stride);
    const ValueId weight = parameter(
        scope + "/weight", {shape.kernel, shape.kernel, channels(x) / shape.groups, shape.filters}, kConvWeight);
    const ValueId used = in_compute_type(weight, scope + "/weight/cast");
    return graph_.add_one(OpKind::conv2d, std::move(attrs), {x, used}, scope);
}

ValueId Layers::norm(ValueId x, const std::string& scope, const std::string& suffix, Gamma gamma_start) {
    const bool grouped = model_.norm == NormKind::group;
    const std::string node = scope + (grouped ? "/gn" : "/bn") + suffix;
    const std::string leaf = node + (grouped ? "/GroupNorm" : "/batch_norm");
    const ValueId beta = parameter(leaf + "/beta", {channels(x)}, kZeros);
    const ValueId gamma = parameter(leaf + "/gamma", {channels(x)}, gamma_start == Gamma::zero ? kZeros : kOnes);
    graph::NormAttrs attrs;
    attrs.epsilon = model_.epsilon;
    if (!grouped) return batch_norm(x, node, attrs, channel_vector(gamma), channel_vector(beta));
    if (model_.groups < 1 || channels(x) % model_.groups != 0) {
        throw Error(ErrorKind::usage, node + ": " + std::to_string(channels(x)) + " channels cannot be divided into " +
                                          std::to_string(model_.groups) +
                                          " groups; choose --groups so that it divides every channel count");
    }
    attrs.groups = model_.groups;
    return graph_.add(OpKind::group_norm, attrs, {x, channel_vector(gamma), channel_vector(beta)}, node)[0];
}

ValueId Layers::batch_norm(ValueId x, const std::string& scope, const graph::NormAttrs& attrs, ValueId gamma,
                           ValueId beta) {
    const std::string mean_name = scope + "/batch_norm/moving_mean";
    const std::string variance_name = scope + "/batch_norm/moving_variance";
    const ValueId mean = graph_.add_state(mean_name, {stored_type(mean_name), {channels(x)}}, kZeros);
    const ValueId variance = graph_.add_state(variance_name, {stored_type(variance_name), {channels(x)}}, kOnes);
    if (mode_ == Mode::training) return graph_.add(OpKind::batch_norm, attrs, {x, gamma, beta}, scope)[0];
    return graph_.add_one(OpKind::batch_norm_inference, attrs,
                          {x, gamma, beta, channel_vector(mean), channel_vector(variance)}, scope);
}

ValueId Layers::relu(ValueId x, const std::string& scope) {
    return graph_.add_one(OpKind::relu, NoAttrs{}, {x}, scope);
}

ValueId Layers::add(ValueId branch, ValueId shortcut, const std::string& scope) {
    return graph_.add_one(OpKind::add, NoAttrs{}, {branch, shortcut}, scope);
}

ValueId Layers::max_pool(ValueId x, const std::string& scope, std::int64_t kernel, std::int64_t stride) {
    const Shape& in = graph_.desc(x).shape;
    graph::PoolAttrs attrs{kernel, stride, graph::same_padding(in[1], in[2], kernel, stride)};
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

ValueId Layers::dense(ValueId x, const std::string& scope, std::int64_t outputs) {
    const ValueId weight = parameter(scope + "/weight", {channels(x), outputs}, kDenseWeight);
    const ValueId bias = parameter(scope + "/bias", {outputs}, kZeros);
    const ValueId used = in_compute_type(weight, scope + "/weight/cast");
    return graph_.add_one(OpKind::dense, graph::DenseAttrs{}, {x, used, channel_vector(bias)}, scope);
}

}  // namespace cnntrain::nn
