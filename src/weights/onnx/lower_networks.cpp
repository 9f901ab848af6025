// The operations and their table. Images are [N,C,H,W] in the model.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/tensor.h"
#include "weights/onnx/lowering.h"

namespace cnntrain::weights {

using graph::Node;
using graph::OpKind;
using graph::ValueId;

namespace {

std::vector<std::int64_t> pads(const graph::Padding& padding) {
    return {padding.top, padding.left, padding.bottom, padding.right};
}

/// Adds the residual, if there is one, and applies the activation.
void finish(Lowering& to, const Node& node, std::string x, bool residual, graph::Activation activation) {
    if (residual) x = to.builder().add("Add", node.name + "/sum", {x, to.at(node.inputs.back())});
    to.set(node.outputs[0], to.activated(x, activation, node.name + "/activation"));
}

std::map<std::string, OnnxAttribute> conv_attributes(const graph::ConvAttrs& attrs, const Shape& kernel) {
    return {{"kernel_shape", std::vector{kernel[0], kernel[1]}},
            {"strides", std::vector{attrs.stride, attrs.stride}},
            {"pads", pads(attrs.padding)},
            {"group", attrs.groups}};
}

void require_floats(Lowering& to) {
    if (!to.builder().computes_in_f32())
        throw Error(ErrorKind::unsupported, "a network in 8 bits is exported with the other numbers in f32");
}

/// QuantizeLinear, or DequantizeLinear, of a value.
std::string in_bits(Lowering& to, std::string_view op, const std::string& name, const std::string& x,
                    const graph::EightBits& bits) {
    require_floats(to);
    OnnxBuilder& b = to.builder();
    return b.add(op, name,
                 {x, b.stored(name + "/scale", HostTensor::of<float>({}, {static_cast<float>(bits.scale)})),
                  b.stored(name + "/zero", HostTensor::of<std::uint8_t>({}, {static_cast<std::uint8_t>(bits.zero)}))});
}

std::string reshape(Lowering& to, const std::string& name, const std::string& x,
                    const std::vector<std::int64_t>& shape) {
    return to.builder().add("Reshape", name, {x, to.builder().integers(name + "/shape", shape)});
}

void lower_conv2d(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::ConvAttrs>();
    const HostTensor& kernel = to.constant(node.inputs[1]);
    std::vector<std::string> inputs = {
        to.at(node.inputs[0]), to.builder().weight(to.name_of(node.inputs[1]), with_axes(kernel, {3, 2, 0, 1}))};
    if (attrs.bias) inputs.push_back(to.at(node.inputs[2]));
    const std::string y =
        to.builder().add("Conv", node.name, std::move(inputs), conv_attributes(attrs, kernel.shape()));
    finish(to, node, y, attrs.residual, attrs.activation);
}

/// Numbers to 8 bits, or back.
void lower_quantise(Lowering& to, const Node& node) {
    const char* op = node.kind == OpKind::quantise ? "QuantizeLinear" : "DequantizeLinear";
    to.set(node.outputs[0], in_bits(to, op, node.name, to.at(node.inputs[0]), node.as<graph::QuantiseAttrs>().bits));
}

/// A convolution between nodes that make values of numbers and numbers of the result: other programs fuse them. They
/// want the bias in numbers of the products' scales, too.
void lower_quantised_conv2d(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::QuantisedConvAttrs>();
    OnnxBuilder& b = to.builder();
    const HostTensor& kernel = to.constant(node.inputs[1]);
    const HostTensor& scales = to.constant(node.inputs[2]);
    const HostTensor& bias = to.constant(node.inputs[3]);
    const std::string x = in_bits(to, "DequantizeLinear", node.name + "/x", to.at(node.inputs[0]), attrs.x);
    const std::map<std::string, OnnxAttribute> first_axis = {{"axis", std::int64_t{0}}};
    const std::string w = b.add("DequantizeLinear", node.name + "/w",
                                {b.stored(node.name + "/w/numbers", with_axes(kernel, {3, 2, 0, 1})),
                                 b.stored(node.name + "/w/scales", scales)},
                                first_axis);
    HostTensor bias_scales(scales.desc());
    HostTensor bias_numbers({DType::i32, scales.shape()});
    for (std::int64_t i = 0; i < scales.elements(); ++i) {
        bias_scales.set(i, attrs.x.scale * scales.at(i));
        bias_numbers.set(i, std::nearbyint(bias.at(i) / bias_scales.at(i)));
    }
    const std::string shift =
        b.add("DequantizeLinear", node.name + "/bias",
              {b.stored(node.name + "/bias/numbers", bias_numbers), b.stored(node.name + "/bias/scales", bias_scales)},
              first_axis);
    std::string y = b.add("Conv", node.name, {x, w, shift}, conv_attributes(attrs.conv, kernel.shape()));
    if (attrs.conv.residual) {
        const std::string residual =
            in_bits(to, "DequantizeLinear", node.name + "/residual", to.at(node.inputs[4]), attrs.residual);
        y = b.add("Add", node.name + "/sum", {y, residual});
    }
    y = to.activated(y, attrs.conv.activation, node.name + "/activation");
    if (attrs.type == DType::u8) y = in_bits(to, "QuantizeLinear", node.name + "/y", y, attrs.y);
    to.set(node.outputs[0], y);
}

void lower_batch_norm(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::NormAttrs>();
    std::vector<std::string> inputs;
    for (std::size_t i = 0; i < 5; ++i)
        inputs.push_back(to.at(node.inputs[i]));
    const std::string y = to.builder().add("BatchNormalization", node.name, std::move(inputs),
                                           {{"epsilon", static_cast<float>(attrs.epsilon)}});
    finish(to, node, y, attrs.residual, attrs.activation);
}

/// An instance norm of [N,G,everything else], then gamma and beta.
void lower_group_norm(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::NormAttrs>();
    const Shape& shape = to.shape(node.inputs[0]);
    const auto filled = [&](double value) {
        HostTensor tensor({DType::f32, {attrs.groups}});
        for (std::int64_t i = 0; i < attrs.groups; ++i)
            tensor.set(i, value);
        return tensor;
    };
    const std::string grouped = reshape(to, node.name + "/groups", to.at(node.inputs[0]), {0, attrs.groups, -1});
    const std::string normed = to.builder().add("InstanceNormalization", node.name + "/normalised",
                                                {grouped, to.builder().weight(node.name + "/ones", filled(1)),
                                                 to.builder().weight(node.name + "/zeros", filled(0))},
                                                {{"epsilon", static_cast<float>(attrs.epsilon)}});
    const std::string image = reshape(to, node.name + "/image", normed, {0, shape[3], shape[1], shape[2]});
    const std::string scaled =
        to.builder().add("Mul", node.name + "/scaled", {image, to.per_channel(node.inputs[1], node.inputs[0])});
    const std::string y = to.builder().add("Add", node.name, {scaled, to.per_channel(node.inputs[2], node.inputs[0])});
    finish(to, node, y, attrs.residual, attrs.activation);
}

void lower_standardise(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::StandardiseAttrs>();
    std::string x = to.at(node.inputs[0]);
    if (attrs.mean)
        x = to.builder().add("Sub", node.name + "/centred", {x, to.per_channel(node.inputs[1], node.inputs[0])});
    if (attrs.scale) x = to.builder().add("Mul", node.name, {x, to.per_channel(node.inputs.back(), node.inputs[0])});
    to.set(node.outputs[0], x);
}

void lower_scale_channels(Lowering& to, const Node& node) {
    const std::string axes = to.builder().integers(node.name + "/axes", {2, 3});
    const std::string gate = to.builder().add("Unsqueeze", node.name + "/gate", {to.at(node.inputs[1]), axes});
    to.set(node.outputs[0], to.builder().add("Mul", node.name, {to.at(node.inputs[0]), gate}));
}

void lower_max_pool(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::PoolAttrs>();
    to.set(node.outputs[0], to.builder().add("MaxPool", node.name, {to.at(node.inputs[0])},
                                             {{"kernel_shape", std::vector{attrs.kernel, attrs.kernel}},
                                              {"strides", std::vector{attrs.stride, attrs.stride}},
                                              {"pads", pads(attrs.padding)}}));
}

void lower_global_average_pool(Lowering& to, const Node& node) {
    const std::string mean = to.builder().add("GlobalAveragePool", node.name + "/mean", {to.at(node.inputs[0])});
    to.set(node.outputs[0], to.builder().add("Flatten", node.name, {mean}, {{"axis", std::int64_t{1}}}));
}

void lower_shortcut_pad(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::ShortcutPadAttrs>();
    const Shape& from = to.shape(node.inputs[0]);
    OnnxBuilder& b = to.builder();
    std::string x = to.at(node.inputs[0]);
    if (attrs.stride > 1) {
        x = b.add(
            "Slice", node.name + "/pixels",
            {x, b.integers(node.name + "/begin", {0, 0}), b.integers(node.name + "/end", {from[1], from[2]}),
             b.integers(node.name + "/axes", {2, 3}), b.integers(node.name + "/steps", {attrs.stride, attrs.stride})});
    }
    const std::int64_t added = attrs.channels - from[3];
    if (added > 0) {
        x = b.add("Pad", node.name, {x, b.integers(node.name + "/pads", {0, 0, 0, 0, 0, added, 0, 0}), b.number(0)},
                  {{"mode", std::string("constant")}});
    }
    to.set(node.outputs[0], x);
}

// Operations of BERT, and those that all networks share.

const std::int64_t kLast = -1;

std::string slice(Lowering& to, const std::string& name, const std::string& x, const graph::SliceAttrs& range) {
    OnnxBuilder& b = to.builder();
    return b.add("Slice", name,
                 {x, b.integers(name + "/begin", {range.begin}), b.integers(name + "/end", {range.end}),
                  b.integers(name + "/axis", {range.axis})});
}

/// 1 where the mask is 1, as a number of the type in which the model computes.
std::string to_number(Lowering& to, const std::string& name, const std::string& x) {
    return to.builder().add("Cast", name, {x}, {{"to", to.builder().compute_number()}});
}

/// Summand for the scores of keys: those with a 1 in `visible` are visible, those with a 0 are not.
std::string added_to_scores(Lowering& to, const std::string& name, const std::string& visible) {
    OnnxBuilder& b = to.builder();
    const std::string hidden = b.add("Sub", name + "/hidden", {b.number(1), visible});
    return b.add("Mul", name, {hidden, b.number(graph::kMaskedScore)});
}

/// Summand for the scores: a mask of keys, [B,S], as [B,1,1,S]. With numbers of tokens, i32[B,S], tokens see those of
/// the same number: [B,1,S,S].
std::string mask_of_scores(Lowering& to, const std::string& name, graph::ValueId mask) {
    OnnxBuilder& b = to.builder();
    const auto unsqueezed = [&](const std::string& part, const std::vector<std::int64_t>& axes) {
        return b.add("Unsqueeze", name + part, {to.at(mask), b.integers(name + part + "/axes", axes)});
    };
    std::string of_keys = unsqueezed("/of_keys", {1, 2});
    if (to.type(mask) != DType::i32) return of_keys;
    const std::string same = b.add("Equal", name + "/same", {unsqueezed("/of_queries", {1, 3}), of_keys});
    return added_to_scores(to, name + "/mask", to_number(to, name + "/visible", same));
}

void lower_add(Lowering& to, const Node& node) {
    to.set(node.outputs[0], to.builder().add("Add", node.name, {to.at(node.inputs[0]), to.at(node.inputs[1])}));
}

void lower_activation(Lowering& to, const Node& node) {
    const auto activation = node.as<graph::ActivationAttrs>().activation;
    to.set(node.outputs[0], to.activated(to.at(node.inputs[0]), activation, node.name));
}

void lower_dense(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::DenseAttrs>();
    const Shape& from = to.shape(node.inputs[0]);
    const Shape& stored = to.shape(node.inputs[1]);
    std::string kernel;
    if (stored.size() > 2) {
        const HostTensor& values = to.constant(node.inputs[1]);
        kernel = to.builder().weight(to.name_of(node.inputs[1]) + "/matrix", reshaped(values, {stored[2], stored[3]}));
    } else {
        kernel = to.at(node.inputs[1]);
    }
    if (from.size() == 2) {
        std::vector<std::string> inputs = {to.at(node.inputs[0]), kernel};
        if (attrs.bias) inputs.push_back(to.at(node.inputs[2]));
        to.set(node.outputs[0], to.builder().add("Gemm", node.name, std::move(inputs),
                                                 {{"transB", std::int64_t{attrs.transposed ? 1 : 0}}}));
        return;
    }
    if (attrs.transposed) {
        kernel = to.builder().add("Transpose", node.name + "/transposed", {kernel},
                                  {{"perm", std::vector<std::int64_t>{1, 0}}});
    }
    const std::string product = to.builder().add("MatMul", node.name, {to.at(node.inputs[0]), kernel});
    to.set(node.outputs[0],
           attrs.bias ? to.builder().add("Add", node.name + "/sum", {product, to.at(node.inputs[2])}) : product);
}

/// The zero of each row, [...,1]. Their scales have the name of the node's second result.
std::string zeros_of_rows(const Node& rows) {
    return rows.name + "/zero";
}

/// ONNX's own quantisation of the kind has one scale for all rows, so this is made of elementary operators.
void lower_quantise_rows(Lowering& to, const Node& node) {
    require_floats(to);
    constexpr double kMost = 255;
    constexpr double kLeastScale = 1e-30;  // rows of zeros
    OnnxBuilder& b = to.builder();
    const auto name = [&](const char* part) { return node.name + "/" + part; };
    const std::string x =
        to.activated(to.at(node.inputs[0]), node.as<graph::ActivationAttrs>().activation, name("activation"));
    const std::string axis = b.integers(name("axis"), {-1});
    const std::string least = b.add("ReduceMin", name("least"), {x, axis});
    const std::string low = b.add("Min", name("low"), {least, b.number(0)});
    const std::string high = b.add("Max", name("high"), {b.add("ReduceMax", name("most"), {x, axis}), b.number(0)});
    const std::string range = b.add("Sub", name("range"), {high, low});
    const std::string step = b.add("Mul", name("step"), {range, b.number(1 / kMost)});
    const std::string scale = b.add("Max", name("scale"), {step, b.number(kLeastScale)});
    const std::string shift = b.add("Div", name("shift"), {low, scale});
    b.add_named("Round", zeros_of_rows(node), {b.add("Sub", name("minus_shift"), {b.number(0), shift})});
    const std::string rounded = b.add("Round", name("rounded"), {b.add("Div", name("scaled"), {x, scale})});
    const std::string numbers = b.add("Add", name("numbers"), {rounded, zeros_of_rows(node)});
    const std::string limited = b.add("Clip", name("limited"), {numbers, b.number(0), b.number(kMost)});
    to.set(node.outputs[0], b.add("Cast", node.name, {limited}, {{"to", kOnnxUint8}}));
    to.set(node.outputs[1], scale);
}

void lower_quantised_dense(Lowering& to, const Node& node) {
    OnnxBuilder& b = to.builder();
    const auto name = [&](const char* part) { return node.name + "/" + part; };
    const HostTensor& w = to.constant(node.inputs[2]);
    const HostTensor& scales = to.constant(node.inputs[3]);
    HostTensor sums(scales.desc());
    for (std::int64_t i = 0; i < w.elements(); ++i)
        sums.set(i % scales.elements(), sums.at(i % scales.elements()) + w.at(i));
    for (std::int64_t o = 0; o < scales.elements(); ++o)
        sums.set(o, sums.at(o) * scales.at(o));
    const std::string whole = b.add("MatMulInteger", name("whole"), {to.at(node.inputs[0]), b.stored(name("w"), w)});
    const std::string scaled =
        b.add("Mul", name("scaled"),
              {b.add("Cast", name("sums"), {whole}, {{"to", kOnnxFloat}}), b.stored(name("w/scales"), scales)});
    const Node& rows = to.graph().node(to.graph().value(node.inputs[0]).producer);
    const std::string shift = b.add("Mul", name("shift"), {zeros_of_rows(rows), b.stored(name("w/sums"), sums)});
    const std::string products =
        b.add("Mul", name("products"), {b.add("Sub", name("shifted"), {scaled, shift}), to.at(node.inputs[1])});
    const bool has_bias = node.as<graph::DenseAttrs>().bias;
    to.set(node.outputs[0], has_bias ? b.add("Add", node.name, {products, to.at(node.inputs[4])}) : products);
}

/// Networks are exported in 32 bits: only casts between equal types are left.
void lower_cast(Lowering& to, const Node& node) {
    CNNTRAIN_CHECK(
        to.graph().desc(node.inputs[0]).dtype == DType::f32 && node.as<graph::CastAttrs>().type == DType::f32,
        node.name + " casts between types");
    to.set(node.outputs[0], to.at(node.inputs[0]));
}

/// Images have other axes in the model than in the graph: the elements are put in the graph's order and back.
void lower_reshape(Lowering& to, const Node& node) {
    const auto turned = [&](const std::string& name, const std::string& x, std::vector<std::int64_t> axes) {
        return to.builder().add("Transpose", name, {x}, {{"perm", std::move(axes)}});
    };
    std::vector<std::int64_t> shape = node.as<graph::ReshapeAttrs>().shape;
    CNNTRAIN_CHECK(!shape.empty(), node.name + " joins all samples");
    const bool to_image = shape.size() == kImageRank;
    shape.front() = -1;  // the samples, or the rows of all samples
    std::string x = to.at(node.inputs[0]);
    if (to.shape(node.inputs[0]).size() == kImageRank) x = turned(node.name + "/pixels", x, {0, 2, 3, 1});
    x = reshape(to, node.name, x, shape);
    to.set(node.outputs[0], to_image ? turned(node.name + "/image", x, {0, 3, 1, 2}) : x);
}

void lower_slice(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::SliceAttrs>();
    CNNTRAIN_CHECK(attrs.axis > 0, node.name + " takes some samples");
    to.set(node.outputs[0], slice(to, node.name, to.at(node.inputs[0]), attrs));
}

void lower_transpose(Lowering& to, const Node& node) {
    const std::vector<std::int64_t>& axes = node.as<graph::TransposeAttrs>().axes;
    CNNTRAIN_CHECK(axes.size() < kImageRank && axes.front() == 0, node.name + " turns images, or mixes samples");
    to.set(node.outputs[0], to.builder().add("Transpose", node.name, {to.at(node.inputs[0])}, {{"perm", axes}}));
}

void lower_embedding(Lowering& to, const Node& node) {
    to.set(node.outputs[0], to.builder().add("Gather", node.name, {to.at(node.inputs[1]), to.at(node.inputs[0])},
                                             {{"axis", std::int64_t{0}}}));
}

/// x[B,S,C], positions[B,M] -> y[B,M,C].
void lower_gather_rows(Lowering& to, const Node& node) {
    OnnxBuilder& b = to.builder();
    const std::string wide = b.add("Cast", node.name + "/positions", {to.at(node.inputs[1])}, {{"to", kOnnxInt64}});
    const std::string indices =
        b.add("Unsqueeze", node.name + "/indices", {wide, b.integers(node.name + "/axis", {2})});
    to.set(node.outputs[0],
           b.add("GatherND", node.name, {to.at(node.inputs[0]), indices}, {{"batch_dims", std::int64_t{1}}}));
}

void lower_layer_norm(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::LayerNormAttrs>();
    CNNTRAIN_CHECK(attrs.keep >= 1, node.name + " drops elements");
    std::string x = to.at(node.inputs[0]);
    if (attrs.residual) x = to.builder().add("Add", node.name + "/sum", {x, to.at(node.inputs[3])});
    to.set(node.outputs[0],
           to.builder().add("LayerNormalization", node.name, {x, to.at(node.inputs[1]), to.at(node.inputs[2])},
                            {{"axis", kLast}, {"epsilon", static_cast<float>(attrs.epsilon)}}));
}

void lower_attention_mask(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::AttentionMaskAttrs>();
    OnnxBuilder& b = to.builder();
    std::string visible;
    if (attrs.sequence == 0) {
        visible = to_number(to, node.name + "/visible", to.at(node.inputs[0]));
    } else {
        HostTensor places({DType::i32, {1, attrs.sequence}});
        for (std::int64_t i = 0; i < attrs.sequence; ++i)
            places.set(i, static_cast<double>(i));
        HostTensor first({DType::i32, {1, 1}});
        first.set(0, static_cast<double>(attrs.predictions));
        const std::string keys = b.weight(node.name + "/keys", places);
        const std::string masked = b.add("Less", node.name + "/masked_words", {keys, to.at(node.inputs[0])});
        const std::string hidden =
            b.add("Less", node.name + "/of_masked", {keys, b.weight(node.name + "/first", first)});
        const std::string others = b.add("Not", node.name + "/others", {hidden});
        const std::string words = b.add("Or", node.name + "/words", {masked, others});
        const std::string inside = b.add("Less", node.name + "/inside", {keys, to.at(node.inputs[1])});
        visible = to_number(to, node.name + "/visible", b.add("And", node.name + "/both", {words, inside}));
    }
    to.set(node.outputs[0], added_to_scores(to, node.name, visible));
}

void lower_attention(Lowering& to, const Node& node) {
    const auto& attrs = node.as<graph::AttentionAttrs>();
    OnnxBuilder& b = to.builder();
    const Shape& y = to.shape(node.outputs[0]);
    const std::int64_t hidden = y[2];
    const std::int64_t width = hidden / attrs.heads;
    const bool joined = node.inputs.size() == 2;
    const auto part = [&](std::int64_t index, const std::string& name) {
        if (!joined) return to.at(node.inputs[static_cast<std::size_t>(index)]);
        return slice(to, node.name + name, to.at(node.inputs[0]),
                     {.axis = 2, .begin = index * hidden, .end = (index + 1) * hidden});
    };
    const auto heads = [&](std::int64_t index, const std::string& name, const std::vector<std::int64_t>& axes) {
        const std::string split =
            reshape(to, node.name + name + "_heads", part(index, name), {0, 0, attrs.heads, width});
        return b.add("Transpose", node.name + name + "_by_head", {split}, {{"perm", axes}});
    };
    const std::string queries = heads(0, "/queries", {0, 2, 1, 3});
    const std::string keys = heads(1, "/keys", {0, 2, 3, 1});
    const std::string values = heads(2, "/values", {0, 2, 1, 3});
    const std::string products = b.add("MatMul", node.name + "/products", {queries, keys});
    const std::string scores = b.add("Mul", node.name + "/scores", {products, b.number(attrs.scale)});
    const std::string masked =
        b.add("Add", node.name + "/masked", {scores, mask_of_scores(to, node.name, node.inputs.back())});
    const std::string shares = b.add("Softmax", node.name + "/shares", {masked}, {{"axis", kLast}});
    const std::string sums = b.add("MatMul", node.name + "/sums", {shares, values});
    const std::string by_token =
        b.add("Transpose", node.name + "/by_token", {sums}, {{"perm", std::vector<std::int64_t>{0, 2, 1, 3}}});
    to.set(node.outputs[0], reshape(to, node.name, by_token, {0, 0, hidden}));
}

struct LoweringRow {
    OpKind kind;
    LowerFunction lower;
};

/// Operations whose results depend on weights alone need no row.
constexpr auto kLowerings = std::to_array<LoweringRow>({
    {OpKind::conv2d, lower_conv2d},
    {OpKind::batch_norm_inference, lower_batch_norm},
    {OpKind::group_norm, lower_group_norm},
    {OpKind::standardise, lower_standardise},
    {OpKind::scale_channels, lower_scale_channels},
    {OpKind::max_pool, lower_max_pool},
    {OpKind::quantise, lower_quantise},
    {OpKind::dequantise, lower_quantise},
    {OpKind::quantised_conv2d, lower_quantised_conv2d},
    {OpKind::global_average_pool, lower_global_average_pool},
    {OpKind::shortcut_pad, lower_shortcut_pad},
    {OpKind::add, lower_add},
    {OpKind::activation, lower_activation},
    {OpKind::dense, lower_dense},
    {OpKind::quantise_rows, lower_quantise_rows},
    {OpKind::quantised_dense, lower_quantised_dense},
    {OpKind::cast, lower_cast},
    {OpKind::reshape, lower_reshape},
    {OpKind::slice, lower_slice},
    {OpKind::transpose, lower_transpose},
    {OpKind::embedding, lower_embedding},
    {OpKind::gather_rows, lower_gather_rows},
    {OpKind::layer_norm, lower_layer_norm},
    {OpKind::attention_mask, lower_attention_mask},
    {OpKind::attention, lower_attention},
});

}  // namespace

LowerFunction lowering_of(OpKind kind) {
    const auto* const row = std::ranges::find(kLowerings, kind, &LoweringRow::kind);
    return row == kLowerings.end() ? nullptr : row->lower;
}

}  // namespace cnntrain::weights
