// Values, weights, convolutions and dense layers in 8 bits.
#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <utility>

#include "cnntrain/base/text.h"
#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::DenseAttrs;
using graph::EightBits;
using graph::QuantiseAttrs;
using graph::QuantisedConvAttrs;

namespace {

constexpr double kMostActivation = 255;
constexpr double kMostWeight = 127;

/// The convolution, and the dense layer, of values.
const OpDef& conv2d() {
    return op_table().at(static_cast<std::size_t>(OpKind::conv2d));
}
const OpDef& dense() {
    return op_table().at(static_cast<std::size_t>(OpKind::dense));
}

void expect_bits(const EightBits& bits) {
    if (!(bits.scale > 0) || !std::isfinite(bits.scale)) reject("the scale of 8 bits must be above 0");
    if (bits.zero < 0 || bits.zero > kMostActivation) reject("the zero of 8 bits must be in 0..255");
}

double quantised(const EightBits& bits, double x) {
    return std::clamp(std::nearbyint(x / bits.scale) + static_cast<double>(bits.zero), 0.0, kMostActivation);
}

double value_of(const EightBits& bits, double number) {
    return bits.scale * (number - static_cast<double>(bits.zero));
}

std::vector<TensorDesc> infer_quantise(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_floating(inputs[0], "x");
    expect_bits(std::get<QuantiseAttrs>(attrs).bits);
    return {{DType::u8, inputs[0].shape}};
}

std::vector<TensorDesc> infer_dequantise(const QuantiseAttrs& a, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_type(inputs[0], DType::u8, "x");
    expect_bits(a.bits);
    const TensorDesc y{a.type, inputs[0].shape};
    expect_floating(y, "y");
    return {y};
}

std::vector<TensorDesc> infer_quantise_rows(const Attrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_rows(inputs[0], "x[...,I]");
    return {{DType::u8, inputs[0].shape}, {DType::f32, {count_rows(inputs[0]), 2}}};
}

std::vector<TensorDesc> infer_quantise_weight(const Attrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_floating(inputs[0], "w");
    if (inputs[0].shape.size() != 2) expect_rank(inputs[0], 4, "w[K,L,I,O] or w[I,O]");
    return {{DType::i8, inputs[0].shape}, {DType::f32, {inputs[0].shape.back()}}};
}

/// The dense layer of the values in the type of the result, from which the shape follows.
std::vector<TensorDesc> infer_quantised_dense(const DenseAttrs& a, Descs inputs) {
    if (a.transposed) reject("a dense layer in 8 bits has a weight w[I,O]");
    expect_inputs(inputs, std::size_t{4} + (a.bias ? 1 : 0));
    expect_type(inputs[0], DType::u8, "x");
    expect_type(inputs[2], DType::i8, "w");
    if (inputs[2].shape.size() != 2) reject("w must have the axes w[I,O]");
    std::vector<TensorDesc> values = {{a.result_type, inputs[0].shape}, {a.result_type, inputs[2].shape}};
    if (a.bias) values.push_back(inputs[4]);
    const TensorDesc y = dense().infer(DenseAttrs{.bias = a.bias}, values).front();
    expect_shape(inputs[1], {count_rows(inputs[0]), 2}, "bits");
    expect_type(inputs[1], DType::f32, "bits");
    expect_shape(inputs[3], {y.shape.back()}, "scales");
    expect_type(inputs[3], DType::f32, "scales");
    return {y};
}

double quantised_dense_flops(const Attrs& attrs, Descs inputs, Descs outputs) {
    return dense().flops(attrs, inputs, outputs);
}

/// The convolution of the values in f32, from which the shape follows.
std::vector<TensorDesc> infer_quantised_conv2d(const QuantisedConvAttrs& a, Descs inputs) {
    if (!a.conv.bias) reject("a convolution in 8 bits has a bias");
    expect_inputs(inputs, std::size_t{4} + (a.conv.residual ? 1 : 0));
    expect_type(inputs[0], DType::u8, "x");
    expect_type(inputs[1], DType::i8, "w");
    std::vector<TensorDesc> values = {{DType::f32, inputs[0].shape}, {DType::f32, inputs[1].shape}, inputs[3]};
    if (a.conv.residual) {
        expect_type(inputs[4], DType::u8, "residual");
        values.push_back({DType::f32, inputs[4].shape});
    }
    TensorDesc y = conv2d().infer(a.conv, values).front();
    expect_shape(inputs[2], {y.shape[3]}, "scales");
    expect_type(inputs[2], DType::f32, "scales");
    for (const EightBits& bits : {a.x, a.residual, a.y})
        expect_bits(bits);
    y.dtype = a.type;
    if (a.type != DType::u8) expect_floating(y, "y");
    return {y};
}

double quantised_conv2d_flops(const Attrs& attrs, Descs inputs, Descs outputs) {
    return conv2d().flops(std::get<QuantisedConvAttrs>(attrs).conv, inputs, outputs);
}

void evaluate_quantise(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    std::ranges::transform(inputs[0]->values, outputs[0].values.begin(),
                           [&](double x) { return quantised(std::get<QuantiseAttrs>(attrs).bits, x); });
}

void evaluate_dequantise(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    std::ranges::transform(inputs[0]->values, outputs[0].values.begin(),
                           [&](double number) { return value_of(std::get<QuantiseAttrs>(attrs).bits, number); });
}

void evaluate_quantise_weight(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    const std::vector<double>& w = inputs[0]->values;
    std::vector<double>& scales = outputs[1].values;
    for (std::size_t i = 0; i < w.size(); ++i)
        scales[i % scales.size()] = std::max(scales[i % scales.size()], std::abs(w[i]) / kMostWeight);
    for (double& scale : scales) {
        if (scale == 0) scale = 1;
    }
    for (std::size_t i = 0; i < w.size(); ++i)
        outputs[0].values[i] = std::clamp(std::nearbyint(w[i] / scales[i % scales.size()]), -kMostWeight, kMostWeight);
}

void evaluate_quantise_rows(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    std::vector<double> x = inputs[0]->values;
    for (double& value : x)
        value = graph::activated(std::get<graph::ActivationAttrs>(attrs).activation, value);
    const auto features = static_cast<std::size_t>(inputs[0]->desc.shape.back());
    for (std::size_t row = 0; row < x.size() / features; ++row) {
        const auto own = std::span<const double>(x).subspan(row * features, features);
        const auto [least, most] = std::ranges::minmax(own);
        const double low = std::min(0.0, least);
        EightBits bits{(std::max(0.0, most) - low) / kMostActivation, 0};
        if (bits.scale == 0) bits.scale = 1;
        if (!std::ranges::all_of(own, [](double value) { return std::isfinite(value); })) bits.scale = std::nan("");
        bits.zero = static_cast<std::int64_t>(std::nearbyint(-low / bits.scale));
        outputs[1].values[2 * row] = bits.scale;
        outputs[1].values[2 * row + 1] = static_cast<double>(bits.zero);
        for (std::size_t i = 0; i < features; ++i)
            outputs[0].values[row * features + i] = quantised(bits, own[i]);
    }
}

/// Numbers as values: value(index) is one of them.
template <typename Value> graph::RefTensor valued(const graph::RefTensor& numbers, const Value& value) {
    graph::RefTensor result{{DType::f32, numbers.desc.shape}, numbers.values};
    for (std::size_t i = 0; i < result.values.size(); ++i)
        result.values[i] = value(i);
    return result;
}

graph::RefTensor valued_weight(const graph::RefTensor& numbers, const std::vector<double>& scales) {
    return valued(numbers, [&](std::size_t i) { return numbers.values[i] * scales[i % scales.size()]; });
}

void evaluate_quantised_dense(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const bool has_bias = std::get<DenseAttrs>(attrs).bias;
    const auto features = static_cast<std::size_t>(inputs[0]->desc.shape.back());
    const std::vector<double>& bits = inputs[1]->values;
    const graph::RefTensor x = valued(*inputs[0], [&](std::size_t i) {
        const std::size_t row = i / features;
        return bits[2 * row] * (inputs[0]->values[i] - bits[2 * row + 1]);
    });
    const graph::RefTensor w = valued_weight(*inputs[2], inputs[3]->values);
    std::vector<const graph::RefTensor*> operands = {&x, &w};
    if (has_bias) operands.push_back(inputs[4]);
    dense().evaluate(DenseAttrs{.bias = has_bias}, operands, outputs);
}

void evaluate_quantised_conv2d(const QuantisedConvAttrs& a, RefInputs inputs, RefOutputs outputs) {
    const auto of_bits = [&](const graph::RefTensor& numbers, const EightBits& bits) {
        return valued(numbers, [&](std::size_t i) { return value_of(bits, numbers.values[i]); });
    };
    const graph::RefTensor x = of_bits(*inputs[0], a.x);
    const graph::RefTensor w = valued_weight(*inputs[1], inputs[2]->values);
    const graph::RefTensor residual = a.conv.residual ? of_bits(*inputs[4], a.residual) : graph::RefTensor();
    std::vector<const graph::RefTensor*> operands = {&x, &w, inputs[3]};
    if (a.conv.residual) operands.push_back(&residual);
    conv2d().evaluate(a.conv, operands, outputs);
    if (a.type != DType::u8) return;
    for (double& y : outputs[0].values)
        y = quantised(a.y, y);
}

std::string text_of(const EightBits& bits) {
    return formatted("%.6g", bits.scale) + "*(q-" + std::to_string(bits.zero) + ")";
}

void describe_quantise_rows(const Attrs& attrs, AttrText& text) {
    text.item("activation", name(std::get<graph::ActivationAttrs>(attrs).activation));
}

void describe_quantise(const Attrs& attrs, AttrText& text) {
    text.item("bits", text_of(std::get<QuantiseAttrs>(attrs).bits));
}

void describe_quantised_conv2d(const QuantisedConvAttrs& a, AttrText& text) {
    conv2d().describe(a.conv, text);
    text.item("x", text_of(a.x));
    if (a.conv.residual) text.item("residual_bits", text_of(a.residual));
    if (a.type == DType::u8) text.item("y", text_of(a.y));
}

void describe_quantised_dense(const Attrs& attrs, AttrText& text) {
    dense().describe(attrs, text);
}

}  // namespace

std::vector<OpDef> quantise_ops() {
    return {
        {.kind = OpKind::quantise,
         .inputs = {{Layout::image}},
         .results = {Layout::image},
         .infer = infer_quantise,
         .flops = flops_per_output<2>,
         .evaluate = evaluate_quantise,
         .describe = describe_quantise,
         .by_sample = always},
        {.kind = OpKind::dequantise,
         .inputs = {{Layout::image}},
         .results = {Layout::image},
         .infer = typed<infer_dequantise>,
         .flops = flops_per_output<2>,
         .evaluate = evaluate_dequantise,
         .describe = describe_quantise,
         .by_sample = always},
        {.kind = OpKind::quantise_rows,
         .inputs = {{Layout::rows}},
         .results = {Layout::rows, Layout::plain},
         .infer = infer_quantise_rows,
         .flops = flops_per_output<4>,
         .evaluate = evaluate_quantise_rows,
         .describe = describe_quantise_rows,
         .by_sample = always},
        {.kind = OpKind::quantise_weight,
         .inputs = {{Layout::kernel}},
         .results = {Layout::kernel, Layout::plain},
         .follows_weights = true,
         .infer = infer_quantise_weight,
         .flops = flops_per_output<2>,
         .evaluate = evaluate_quantise_weight},
        {.kind = OpKind::quantised_conv2d,
         .inputs = {{Layout::image}, {Layout::kernel}, {}, {}, {Layout::image}},
         .results = {Layout::image},
         .infer = typed<infer_quantised_conv2d>,
         .flops = quantised_conv2d_flops,
         .evaluate = typed<evaluate_quantised_conv2d>,
         .describe = typed<describe_quantised_conv2d>,
         .by_sample = always},
        {.kind = OpKind::quantised_dense,
         .inputs = {{Layout::rows}, {}, {Layout::kernel}, {}, {}},
         .results = {Layout::rows},
         .infer = typed<infer_quantised_dense>,
         .flops = quantised_dense_flops,
         .evaluate = evaluate_quantised_dense,
         .describe = describe_quantised_dense,
         .by_sample = always},
    };
}

}  // namespace cnntrain::ops
