// Layer norm (Ba et al. 2016) after the residual addition of its sublayer, and its gradient.
#include <cmath>

#include "graph/ops/families.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::LayerNormAttrs;

namespace {

constexpr std::size_t kLayerNormGradient = 4;  // dy, among the inputs of the gradient

void expect_attrs(const LayerNormAttrs& a) {
    expect_probability(a.keep, "keep");
    if (a.keep < 1 && !a.residual) reject("random scaling is for x before a residual; there is none");
    if (!(a.epsilon >= 0)) reject("epsilon must not be negative");
}

TensorDesc statistic_of(const TensorDesc& x) {
    return {DType::f32, {x.shape.begin(), x.shape.end() - 1}};
}

void expect_token_rows(const TensorDesc& x, std::string_view axes) {
    expect_floating(x, axes);
    if (x.shape.size() < 2) reject(std::string(axes) + " must have at least two axes");
    expect_rank(x, x.shape.size(), axes);
}

std::vector<TensorDesc> infer_layer_norm(const Attrs& attrs, Descs inputs) {
    const auto& a = std::get<LayerNormAttrs>(attrs);
    expect_attrs(a);
    expect_inputs(inputs, a.residual ? 4 : 3);
    const TensorDesc& x = inputs[0];
    expect_token_rows(x, "x[N,...,C]");
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
    if (!only_first_output_has_gradient(context, a.residual ? 4 : 3)) return;
    const ValueId z = a.residual ? context.output(3) : context.input(0);
    const std::vector<ValueId> inputs = {z, context.input(1), context.output(1), context.output(2),
                                         context.grad_output(0)};
    const std::vector<ValueId> gradients = context.add(OpKind::layer_norm_grad, a, inputs, "grad");
    if (context.needs(0)) context.set_grad(0, a.keep < 1 ? gradients[3] : gradients[0]);
    if (context.needs(1)) context.set_grad(1, gradients[1]);
    if (context.needs(2)) context.set_grad(2, gradients[2]);
    if (a.residual && context.needs(3)) context.set_grad(3, gradients[0]);
}

std::vector<TensorDesc> infer_layer_norm_grad(const Attrs& attrs, Descs inputs) {
    const auto& a = std::get<LayerNormAttrs>(attrs);
    expect_attrs(a);
    expect_inputs(inputs, a.summed_gradient ? 6 : 5);
    const TensorDesc& z = inputs[0];
    expect_token_rows(z, "z[N,...,C]");
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

void evaluate_layer_norm(const Attrs& attrs, const graph::RandomKey& random, RefInputs inputs, RefOutputs outputs) {
    const auto& a = std::get<LayerNormAttrs>(attrs);
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
void evaluate_layer_norm_grad(const Attrs& attrs, const graph::RandomKey& random, RefInputs inputs,
                              RefOutputs outputs) {
    const auto& a = std::get<LayerNormAttrs>(attrs);
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

void describe_layer_norm(const Attrs& attrs, AttrText& text) {
    const auto& a = std::get<LayerNormAttrs>(attrs);
    text.item("epsilon", a.epsilon);
    text.flag("residual", a.residual);
    text.item("keep", a.keep, 1.0);
    text.item("site", a.site);
    text.flag("summed gradient", a.summed_gradient);
}

}  // namespace

std::vector<OpDef> layer_norm_ops() {
    return {
        {.kind = OpKind::layer_norm,
         .inputs = {{Layout::rows}, {}, {}, {Layout::rows}},
         .results = {Layout::rows, Layout::plain, Layout::plain, Layout::rows},
         .infer = infer_layer_norm,
         .gradient = layer_norm_gradient,
         .flops = flops_per_input<7>,
         .evaluate_random = evaluate_layer_norm,
         .describe = describe_layer_norm},
        {.kind = OpKind::layer_norm_grad,
         .inputs = {{Layout::rows}, {}, {}, {}, {Layout::rows}},
         .results = {Layout::rows, Layout::plain, Layout::plain, Layout::rows},
         .sum_operand = kLayerNormGradient,
         .infer = infer_layer_norm_grad,
         .flops = flops_per_input<11>,
         .evaluate_random = evaluate_layer_norm_grad,
         .describe = describe_layer_norm},
    };
}

}  // namespace cnntrain::ops
