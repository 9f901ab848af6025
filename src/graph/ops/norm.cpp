// Batch norm and group norm, with fused residual addition and activation, and their gradients.
// Formulas: Ioffe and Szegedy 2015; Wu and He 2018. Groups are contiguous channels.
#include <algorithm>
#include <cmath>

#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::Activation;
using graph::NormAttrs;

namespace {

constexpr std::size_t kNormGradient = 5;  // dy, among the inputs of a norm's gradient

enum class Family { batch, group };

/// The statistic to which each element belongs.
struct Statistics {
    Statistics(Family family, const NormAttrs& a, const Shape& x)
        : channels(x.at(3)),
          sample(element_count(x) / x.at(0)),
          groups(family == Family::group ? a.groups : 0),
          per_group(family == Family::group ? channels / a.groups : 1),
          shape(family == Family::group ? Shape{x.at(0), a.groups} : Shape{channels}),
          count(static_cast<double>(element_count(x)) / static_cast<double>(element_count(shape))) {}

    std::size_t channel(std::size_t i) const { return i % static_cast<std::size_t>(channels); }
    std::size_t index(std::size_t i) const {
        const auto c = static_cast<std::int64_t>(channel(i));
        if (groups == 0) return static_cast<std::size_t>(c);
        return static_cast<std::size_t>(static_cast<std::int64_t>(i) / sample * groups + c / per_group);
    }

    std::int64_t channels, sample, groups, per_group;
    Shape shape;
    double count;  // elements per statistic
};

// ---- shape rules ----

void expect_groups(Family family, const NormAttrs& a, const TensorDesc& x) {
    if (family == Family::group && (a.groups < 1 || x.shape[3] % a.groups != 0))
        reject(std::to_string(a.groups) + " groups do not divide " + std::to_string(x.shape[3]) + " channels");
}

void expect_norm_inputs(Descs inputs) {
    expect_activation(inputs[0], "x[N,H,W,C]");
    expect_channel_vector(inputs[1], inputs[0].shape[3], inputs[0].dtype, "gamma");
    expect_channel_vector(inputs[2], inputs[0].shape[3], inputs[0].dtype, "beta");
}

template <Family kFamily> std::vector<TensorDesc> infer_norm(const NormAttrs& a, Descs inputs) {
    expect_inputs(inputs, a.residual ? 4 : 3);
    expect_norm_inputs(inputs);
    expect_groups(kFamily, a, inputs[0]);
    if (a.residual) expect_same(inputs[0], inputs[3], "x and residual");
    const TensorDesc statistic{DType::f32, Statistics(kFamily, a, inputs[0].shape).shape};
    return {inputs[0], statistic, statistic};
}

template <Family kFamily> std::vector<TensorDesc> infer_inference(const NormAttrs& a, Descs inputs) {
    expect_inputs(inputs, a.residual ? 6 : 5);
    expect_norm_inputs(inputs);
    expect_groups(kFamily, a, inputs[0]);
    if (kFamily == Family::batch) {
        expect_channel_vector(inputs[3], inputs[0].shape[3], inputs[0].dtype, "moving_mean");
        expect_channel_vector(inputs[4], inputs[0].shape[3], inputs[0].dtype, "moving_variance");
    } else {
        const TensorDesc statistic{DType::f32, Statistics(kFamily, a, inputs[0].shape).shape};
        expect_same(inputs[3], statistic, "mean and the statistics of x");
        expect_same(inputs[4], statistic, "variance and the statistics of x");
    }
    if (a.residual) expect_same(inputs[0], inputs[5], "x and residual");
    return {inputs[0]};
}

bool reads_output(const NormAttrs& a) {
    return a.residual && a.activation != Activation::none;
}

template <Family kFamily> std::vector<TensorDesc> infer_norm_grad(const NormAttrs& a, Descs inputs) {
    if (a.residual && !slope_follows_from_result(a.activation))
        reject(std::string(name(a.activation)) + " after a residual has no gradient");
    expect_inputs(inputs, std::size_t{6} + (a.summed_gradient ? 1 : 0) + (reads_output(a) ? 1 : 0));
    expect_norm_inputs(inputs);
    const TensorDesc& x = inputs[0];
    expect_groups(kFamily, a, x);
    const TensorDesc statistic{DType::f32, Statistics(kFamily, a, x.shape).shape};
    expect_same(inputs[3], statistic, "mean and the statistics of x");
    expect_same(inputs[4], statistic, "variance and the statistics of x");
    for (std::size_t i = kNormGradient; i < inputs.size(); ++i)
        expect_same(x, inputs[i], "x and dy, y");
    std::vector<TensorDesc> results = {x, {DType::f32, {x.shape[3]}}, {DType::f32, {x.shape[3]}}};
    if (a.residual) results.push_back(x);
    return results;
}

// ---- gradient ----

template <OpKind kGradKind> void norm_gradient(GradContext& context) {
    if (!only_first_output_has_gradient(context)) return;
    const auto& a = context.attrs_as<NormAttrs>();
    std::vector<ValueId> inputs = {context.input(0),  context.input(1),  context.input(2),
                                   context.output(1), context.output(2), context.grad_output(0)};
    if (reads_output(a)) inputs.push_back(context.output(0));
    const std::vector<ValueId> gradients = context.add(kGradKind, a, inputs, "grad");
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (context.needs(i)) context.set_grad(i, gradients[i]);
    }
}

/// Gradient of a norm by the moving averages, which do not depend on x and get no gradients.
void inference_gradient(GradContext& context) {
    if (!only_first_output_has_gradient(context)) return;
    auto a = context.attrs_as<NormAttrs>();
    a.given_statistics = true;
    std::vector<ValueId> inputs = {context.input(0), context.input(1), context.input(2),
                                   context.input(3), context.input(4), context.grad_output(0)};
    if (reads_output(a)) inputs.push_back(context.output(0));
    const std::vector<ValueId> gradients = context.add(OpKind::batch_norm_grad, a, inputs, "grad");
    constexpr std::size_t kInputs[] = {0, 1, 2, 5};  // x, gamma, beta, residual
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        if (context.needs(kInputs[i])) context.set_grad(kInputs[i], gradients[i]);
    }
}

// ---- evaluation ----

struct Moments {
    std::vector<double> mean;
    std::vector<double> variance;
};

Moments moments(const Statistics& statistics, const std::vector<double>& x) {
    const auto size = static_cast<std::size_t>(element_count(statistics.shape));
    Moments m{std::vector<double>(size), std::vector<double>(size)};
    for (std::size_t i = 0; i < x.size(); ++i)
        m.mean[statistics.index(i)] += x[i] / statistics.count;
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t s = statistics.index(i);
        m.variance[s] += (x[i] - m.mean[s]) * (x[i] - m.mean[s]) / statistics.count;
    }
    return m;
}

/// y = activation(gamma * (x - mean) / sqrt(variance + epsilon) + beta + residual); residual may be null.
void apply(const NormAttrs& a, const Statistics& statistics, RefInputs inputs, const Moments& m,
           const std::vector<double>* residual, std::vector<double>& y) {
    for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t s = statistics.index(i);
        const std::size_t c = statistics.channel(i);
        const double normalised = (inputs[0]->values[i] - m.mean[s]) / std::sqrt(m.variance[s] + a.epsilon);
        y[i] = inputs[1]->values[c] * normalised + inputs[2]->values[c];
        if (residual != nullptr) y[i] += (*residual)[i];
        y[i] = activated(a.activation, y[i]);
    }
}

template <Family kFamily> void evaluate_norm(const NormAttrs& a, RefInputs inputs, RefOutputs outputs) {
    const Statistics statistics(kFamily, a, inputs[0]->desc.shape);
    Moments m = moments(statistics, inputs[0]->values);
    apply(a, statistics, inputs, m, a.residual ? &inputs[3]->values : nullptr, outputs[0].values);
    outputs[1].values = std::move(m.mean);
    outputs[2].values = std::move(m.variance);
}

template <Family kFamily> void evaluate_inference(const NormAttrs& a, RefInputs inputs, RefOutputs outputs) {
    const Moments m{inputs[3]->values, inputs[4]->values};
    apply(a, Statistics(kFamily, a, inputs[0]->desc.shape), inputs, m, a.residual ? &inputs[5]->values : nullptr,
          outputs[0].values);
}

/// The gradient that reaches gamma * normalised + beta: dy summed, times the activation's derivative.
std::vector<double> inner_gradient(const NormAttrs& a, const Statistics& statistics, RefInputs inputs,
                                   const std::vector<double>& normalised) {
    std::vector<double> dy = inputs[5]->values;
    for (std::size_t i = 0; i < dy.size(); ++i) {
        if (a.summed_gradient) dy[i] += inputs[6]->values[i];
        if (a.activation == Activation::none) continue;
        const std::size_t c = statistics.channel(i);
        const double slope =
            reads_output(a)
                ? graph::slope(a.activation, inputs.back()->values[i])
                : graph::slope_at_input(a.activation, inputs[1]->values[c] * normalised[i] + inputs[2]->values[c]);
        dy[i] = slope == 0 ? 0 : dy[i] * slope;
    }
    return dy;
}

template <Family kFamily> void evaluate_norm_grad(const NormAttrs& a, RefInputs inputs, RefOutputs outputs) {
    const std::vector<double>& x = inputs[0]->values;
    const std::vector<double>& gamma = inputs[1]->values;
    const Statistics statistics(kFamily, a, inputs[0]->desc.shape);

    std::vector<double> normalised(x.size());
    std::vector<double> scale(inputs[4]->values.size());
    for (std::size_t s = 0; s < scale.size(); ++s)
        scale[s] = 1 / std::sqrt(inputs[4]->values[s] + a.epsilon);
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t s = statistics.index(i);
        normalised[i] = (x[i] - inputs[3]->values[s]) * scale[s];
    }

    const std::vector<double> dy = inner_gradient(a, statistics, inputs, normalised);
    std::vector<double> sum(scale.size());         // of gamma * dy
    std::vector<double> projection(scale.size());  // of gamma * dy * normalised
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t s = statistics.index(i);
        const std::size_t c = statistics.channel(i);
        sum[s] += gamma[c] * dy[i];
        projection[s] += gamma[c] * dy[i] * normalised[i];
        outputs[1].values[c] += dy[i] * normalised[i];
        outputs[2].values[c] += dy[i];
    }
    for (std::size_t i = 0; i < x.size(); ++i) {
        const std::size_t s = statistics.index(i);
        const double mean_part = a.given_statistics ? 0 : (sum[s] + normalised[i] * projection[s]) / statistics.count;
        outputs[0].values[i] = scale[s] * (gamma[statistics.channel(i)] * dy[i] - mean_part);
    }
    if (a.residual) outputs[3].values = dy;
}

void describe_norm(const NormAttrs& a, AttrText& text) {
    text.item("epsilon", a.epsilon);
    text.item("groups", a.groups);
    text.flag("residual", a.residual);
    text.activation(a.activation);
    text.flag("summed gradient", a.summed_gradient);
    text.flag("given statistics", a.given_statistics);
}

// Layer norm (Ba et al. 2016) after the residual addition of its sublayer, and its gradient.

using graph::LayerNormAttrs;

constexpr std::size_t kLayerNormGradient = 4;  // dy, among the inputs of the gradient

void expect_attrs(const LayerNormAttrs& a) {
    expect_probability(a.keep, "keep");
    if (a.keep < 1 && !a.residual) reject("random scaling is for x before a residual; there is none");
    if (!(a.epsilon >= 0)) reject("epsilon must not be negative");
}

TensorDesc statistic_of(const TensorDesc& x) {
    return {DType::f32, {x.shape.begin(), x.shape.end() - 1}};
}

std::vector<TensorDesc> infer_layer_norm(const LayerNormAttrs& a, Descs inputs) {
    expect_attrs(a);
    expect_inputs(inputs, a.residual ? 4 : 3);
    const TensorDesc& x = inputs[0];
    expect_rows(x, "x[N,...,C]");
    expect_channel_vector(inputs[1], x.shape.back(), x.dtype, "gamma");
    expect_channel_vector(inputs[2], x.shape.back(), x.dtype, "beta");
    std::vector<TensorDesc> results = {x, statistic_of(x), statistic_of(x)};
    if (a.residual) {
        expect_same(x, inputs[3], "x and residual");
        results.push_back(x);
    }
    if (a.keep < 1) expect_random_words(x.elements() / x.shape[0], x.shape);
    return results;
}

void layer_norm_gradient(GradContext& context) {
    const auto& a = context.attrs_as<LayerNormAttrs>();
    if (!only_first_output_has_gradient(context)) return;
    const ValueId z = a.residual ? context.output(3) : context.input(0);
    const std::vector<ValueId> inputs = {z, context.input(1), context.output(1), context.output(2),
                                         context.grad_output(0)};
    const std::vector<ValueId> gradients = context.add(OpKind::layer_norm_grad, a, inputs, "grad");
    if (context.needs(0)) context.set_grad(0, a.keep < 1 ? gradients[3] : gradients[0]);
    if (context.needs(1)) context.set_grad(1, gradients[1]);
    if (context.needs(2)) context.set_grad(2, gradients[2]);
    if (a.residual && context.needs(3)) context.set_grad(3, gradients[0]);
}

std::vector<TensorDesc> infer_layer_norm_grad(const LayerNormAttrs& a, Descs inputs) {
    expect_attrs(a);
    expect_inputs(inputs, a.summed_gradient ? 6 : 5);
    const TensorDesc& z = inputs[0];
    expect_rows(z, "z[N,...,C]");
    expect_channel_vector(inputs[1], z.shape.back(), z.dtype, "gamma");
    expect_same(inputs[2], statistic_of(z), "mean and the statistics of z");
    expect_same(inputs[3], statistic_of(z), "variance and the statistics of z");
    for (std::size_t i = kLayerNormGradient; i < inputs.size(); ++i)
        expect_same(z, inputs[i], "z and dy");
    const TensorDesc vector{DType::f32, {z.shape.back()}};
    std::vector<TensorDesc> results = {z, vector, vector};
    if (a.keep < 1) {
        expect_random_words(z.elements() / z.shape[0], z.shape);
        results.push_back(z);
    }
    return results;
}

void scale_randomly(const LayerNormAttrs& a, const graph::RandomKey& random, const TensorDesc& desc,
                    std::vector<double>& values) {
    const RandomScale scale(random, a.keep, a.site, desc.shape[0]);
    const std::size_t elements = values.size() / static_cast<std::size_t>(desc.shape[0]);
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = scale(i / elements, i % elements, values[i]);
}

void evaluate_layer_norm(const LayerNormAttrs& a, const graph::RandomKey& random, RefInputs inputs,
                         RefOutputs outputs) {
    std::vector<double> z = inputs[0]->values;
    if (a.residual) {
        scale_randomly(a, random, inputs[0]->desc, z);
        for (std::size_t i = 0; i < z.size(); ++i)
            z[i] += inputs[3]->values[i];
        outputs[3].values = z;
    }
    const std::vector<double>& gamma = inputs[1]->values;
    const std::size_t features = gamma.size();
    for (std::size_t row = 0; row < outputs[1].values.size(); ++row) {
        double mean = 0;
        for (std::size_t c = 0; c < features; ++c)
            mean += z[row * features + c] / static_cast<double>(features);
        double variance = 0;
        for (std::size_t c = 0; c < features; ++c) {
            const double deviation = z[row * features + c] - mean;
            variance += deviation * deviation / static_cast<double>(features);
        }
        for (std::size_t c = 0; c < features; ++c) {
            const double normalised = (z[row * features + c] - mean) / std::sqrt(variance + a.epsilon);
            outputs[0].values[row * features + c] = gamma[c] * normalised + inputs[2]->values[c];
        }
        outputs[1].values[row] = mean;
        outputs[2].values[row] = variance;
    }
}

/// Computes dz = (g - mean(g) - n * mean(g * n)) / sqrt(variance + epsilon), where n is the normalised z and g = gamma
/// * dy.
void evaluate_layer_norm_grad(const LayerNormAttrs& a, const graph::RandomKey& random, RefInputs inputs,
                              RefOutputs outputs) {
    const std::vector<double>& gamma = inputs[1]->values;
    const std::size_t features = gamma.size();
    std::vector<double> dy = inputs[kLayerNormGradient]->values;
    for (std::size_t i = 0; a.summed_gradient && i < dy.size(); ++i)
        dy[i] += inputs[kLayerNormGradient + 1]->values[i];
    std::vector<double> normalised(features);
    for (std::size_t row = 0; row < inputs[2]->values.size(); ++row) {
        const double scale = 1 / std::sqrt(inputs[3]->values[row] + a.epsilon);
        double mean = 0;
        double projection = 0;
        for (std::size_t c = 0; c < features; ++c) {
            const std::size_t i = row * features + c;
            normalised[c] = (inputs[0]->values[i] - inputs[2]->values[row]) * scale;
            mean += gamma[c] * dy[i] / static_cast<double>(features);
            projection += gamma[c] * dy[i] * normalised[c] / static_cast<double>(features);
            outputs[1].values[c] += dy[i] * normalised[c];
            outputs[2].values[c] += dy[i];
        }
        for (std::size_t c = 0; c < features; ++c) {
            const std::size_t i = row * features + c;
            outputs[0].values[i] = scale * (gamma[c] * dy[i] - mean - normalised[c] * projection);
        }
    }
    if (a.keep >= 1) return;
    outputs[3].values = outputs[0].values;
    scale_randomly(a, random, inputs[0]->desc, outputs[3].values);
}

void describe_layer_norm(const LayerNormAttrs& a, AttrText& text) {
    text.item("epsilon", a.epsilon);
    text.flag("residual", a.residual);
    text.item("keep", a.keep, 1.0);
    text.item("site", a.site);
    text.flag("summed gradient", a.summed_gradient);
}

// Folding a batch norm's moving statistics into the convolution before it (inference only).

using graph::FoldNormAttrs;

void expect_channels(const TensorDesc& desc, std::int64_t channels, std::string_view what) {
    expect_floating(desc, what);
    expect_shape(desc, {channels}, what);
}

std::vector<TensorDesc> infer_weight(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 3);
    expect_activation(inputs[0], "w[K,K,I,O]");
    expect_channels(inputs[1], inputs[0].shape[3], "gamma");
    expect_channels(inputs[2], inputs[0].shape[3], "moving_variance");
    TensorDesc result{std::get<FoldNormAttrs>(attrs).type, inputs[0].shape};
    expect_floating(result, "the result");
    return {result};
}

std::vector<TensorDesc> infer_bias(const Attrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 4);
    expect_rank(inputs[0], 1, "gamma[O]");
    const std::int64_t channels = inputs[0].shape[0];
    expect_channels(inputs[0], channels, "gamma");
    expect_channels(inputs[1], channels, "beta");
    expect_channels(inputs[2], channels, "moving_mean");
    expect_channels(inputs[3], channels, "moving_variance");
    return {{DType::f32, {channels}}};
}

void evaluate_weight(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const double epsilon = std::get<FoldNormAttrs>(attrs).epsilon;
    const std::size_t channels = inputs[1]->values.size();
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
        const std::size_t c = i % channels;
        outputs[0].values[i] = inputs[0]->values[i] * inputs[1]->values[c] / std::sqrt(inputs[2]->values[c] + epsilon);
    }
}

void evaluate_bias(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const double epsilon = std::get<FoldNormAttrs>(attrs).epsilon;
    for (std::size_t c = 0; c < outputs[0].values.size(); ++c) {
        const double scale = inputs[0]->values[c] / std::sqrt(inputs[3]->values[c] + epsilon);
        outputs[0].values[c] = inputs[1]->values[c] - inputs[2]->values[c] * scale;
    }
}

void describe_fold(const FoldNormAttrs& a, AttrText& text) {
    text.item("epsilon", a.epsilon);
    text.type("to", a.type);
}

}  // namespace

std::vector<OpDef> norm_ops() {
    return {
        {.kind = OpKind::batch_norm,
         .inputs = {{Layout::image}, {}, {}, {Layout::image}},
         .results = {Layout::image, Layout::plain},
         .absorbs_activation = true,
         .infer = typed<infer_norm<Family::batch>>,
         .gradient = norm_gradient<OpKind::batch_norm_grad>,
         .flops = flops_per_input<7>,
         .evaluate = typed<evaluate_norm<Family::batch>>,
         .describe = typed<describe_norm>},
        {.kind = OpKind::batch_norm_inference,
         .inputs = {{Layout::image}, {}, {}, {}, {}, {Layout::image}},
         .results = {Layout::image},
         .absorbs_activation = true,
         .infer = typed<infer_inference<Family::batch>>,
         .gradient = inference_gradient,
         .flops = flops_per_input<2>,
         .evaluate = typed<evaluate_inference<Family::batch>>,
         .describe = typed<describe_norm>,
         .by_sample = always},
        {.kind = OpKind::batch_norm_grad,
         .inputs = {{Layout::image}, {}, {}, {}, {}, {Layout::image}},
         .results = {Layout::image, Layout::plain, Layout::plain, Layout::image},
         .sum_operand = kNormGradient,
         .infer = typed<infer_norm_grad<Family::batch>>,
         .flops = flops_per_input<11>,
         .evaluate = typed<evaluate_norm_grad<Family::batch>>,
         .describe = typed<describe_norm>},
        {.kind = OpKind::group_norm,
         .inputs = {{Layout::image}, {}, {}, {Layout::image}},
         .results = {Layout::image, Layout::plain},
         .absorbs_activation = true,
         .infer = typed<infer_norm<Family::group>>,
         .gradient = norm_gradient<OpKind::group_norm_grad>,
         .flops = flops_per_input<7>,
         .evaluate = typed<evaluate_norm<Family::group>>,
         .describe = typed<describe_norm>,
         .by_sample = always},
        {.kind = OpKind::group_norm_inference,
         .inputs = {{Layout::image}, {}, {}, {}, {}, {Layout::image}},
         .results = {Layout::image},
         .infer = typed<infer_inference<Family::group>>,
         .flops = flops_per_input<2>,
         .evaluate = typed<evaluate_inference<Family::group>>,
         .describe = typed<describe_norm>},
        {.kind = OpKind::group_norm_grad,
         .inputs = {{Layout::image}, {}, {}, {}, {}, {Layout::image}},
         .results = {Layout::image, Layout::plain, Layout::plain, Layout::image},
         .sum_operand = kNormGradient,
         .infer = typed<infer_norm_grad<Family::group>>,
         .flops = flops_per_input<11>,
         .evaluate = typed<evaluate_norm_grad<Family::group>>,
         .describe = typed<describe_norm>},
        {.kind = OpKind::layer_norm,
         .inputs = {{Layout::rows}, {}, {}, {Layout::rows}},
         .results = {Layout::rows, Layout::plain, Layout::plain, Layout::rows},
         .infer = typed<infer_layer_norm>,
         .gradient = layer_norm_gradient,
         .flops = flops_per_input<7>,
         .evaluate_random = typed<evaluate_layer_norm>,
         .describe = typed<describe_layer_norm>},
        {.kind = OpKind::layer_norm_grad,
         .inputs = {{Layout::rows}, {}, {}, {}, {Layout::rows}},
         .results = {Layout::rows, Layout::plain, Layout::plain, Layout::rows},
         .sum_operand = kLayerNormGradient,
         .infer = typed<infer_layer_norm_grad>,
         .flops = flops_per_input<11>,
         .evaluate_random = typed<evaluate_layer_norm_grad>,
         .describe = typed<describe_layer_norm>},
        {.kind = OpKind::fold_norm_weight,
         .inputs = {{Layout::kernel}, {}},
         .results = {Layout::kernel},
         .follows_weights = true,
         .infer = infer_weight,
         .flops = flops_per_output<1>,
         .evaluate = evaluate_weight,
         .describe = typed<describe_fold>},
        {.kind = OpKind::fold_norm_bias,
         .follows_weights = true,
         .infer = infer_bias,
         .flops = flops_per_output<4>,
         .evaluate = evaluate_bias,
         .describe = typed<describe_fold>},
    };
}

}  // namespace cnntrain::ops
