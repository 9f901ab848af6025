// Cases of operations in 8 bits. Results that are whole numbers may be rounded to the next one in a few places.
#include <cmath>
#include <string>
#include <utility>

#include "support/case_list.h"

namespace cnntrain::test {

namespace {

constexpr double kOneStep = 0.02;  // of a tensor whose numbers are about 100

CaseInput numbers(std::string name, const Shape& shape) {
    return {.name = std::move(name),
            .desc = {DType::u8, shape},
            .low = 0,
            .high = 255,
            .fill = Fill::integers,
            .fed = true};
}

CaseInput weights(const Shape& shape) {
    return {.name = "w", .desc = {DType::i8, shape}, .low = -127, .high = 127, .fill = Fill::integers};
}

}  // namespace

void add_quantised_cases(std::vector<OpCase>& cases, DType type) {
    const graph::EightBits positive{0.02, 0};
    const graph::EightBits both{0.02, 117};
    for (const auto& [name, bits] : {std::pair("positive", positive), std::pair("both", both)}) {
        cases.push_back({.name = std::string("quantise/") + name,
                         .kind = OpKind::quantise,
                         .attrs = graph::QuantiseAttrs{bits, type},
                         .inputs = {{"x", {type, {2, 5, 3, 17}}, -3, 6}},
                         .tolerance = kOneStep});
        cases.push_back({.name = std::string("dequantise/") + name,
                         .kind = OpKind::dequantise,
                         .attrs = graph::QuantiseAttrs{bits, type},
                         .inputs = {numbers("x", {2, 5, 3, 17})},
                         .tolerance = tolerance_of(type)});
    }
    cases.push_back({.name = "quantise_weight/grouped",
                     .kind = OpKind::quantise_weight,
                     .attrs = graph::NoAttrs{},
                     .inputs = {{"w", {type, {3, 3, 10, 17}}}},
                     .tolerance = kOneStep});
    const auto conv = [&](const std::string& name, const Shape& x, const Shape& w, graph::QuantisedConvAttrs attrs) {
        attrs.conv.bias = true;
        attrs.conv.padding = graph::same_padding(x[1], x[2], w[0], attrs.conv.stride);
        // The sums have a deviation of about 100 numbers of the result.
        const double rows = static_cast<double>(w[0] * w[1] * w[2]);
        const double scale = 100 * attrs.y.scale / (attrs.x.scale * 127 * 73 * std::sqrt(rows));
        OpCase made{.name = "quantised_conv2d/" + name,
                    .kind = OpKind::quantised_conv2d,
                    .attrs = attrs,
                    .inputs = {numbers("x", x),
                               weights(w),
                               {"scales", {DType::f32, {w[3]}}, scale / 2, scale},
                               {"bias", {DType::f32, {w[3]}}, -1, 1}},
                    .tolerance = attrs.type == DType::u8 ? kOneStep : 4 * tolerance_of(type)};
        if (attrs.conv.residual) {
            const std::int64_t stride = attrs.conv.stride;
            made.inputs.push_back(
                numbers("residual", {x[0], (x[1] + stride - 1) / stride, (x[2] + stride - 1) / stride, w[3]}));
        }
        cases.push_back(std::move(made));
    };
    using graph::Activation;
    const auto attrs = [&](Activation activation, const graph::EightBits& x, const graph::EightBits& y, bool residual,
                           std::int64_t groups = 1, std::int64_t stride = 1) {
        graph::QuantisedConvAttrs result;
        result.conv.stride = stride;
        result.conv.groups = groups;
        result.conv.residual = residual;
        result.conv.activation = activation;
        result.x = x;
        result.y = y;
        result.residual = residual ? both : graph::EightBits();
        return result;
    };
    conv("3x3_relu", {2, 7, 5, 32}, {3, 3, 32, 48}, attrs(Activation::relu, positive, positive, false));
    conv("1x1_residual_relu", {2, 7, 5, 64}, {1, 1, 64, 32}, attrs(Activation::relu, positive, positive, true));
    conv("1x1_zeros", {2, 7, 5, 40}, {1, 1, 40, 24}, attrs(Activation::none, both, both, true));
    conv("3x3_zeros_stride2", {1, 8, 8, 16}, {3, 3, 16, 16}, attrs(Activation::none, both, both, false, 1, 2));
    conv("3x3_swish", {2, 6, 6, 16}, {3, 3, 16, 32}, attrs(Activation::swish, both, both, false));
    conv("1x1_relu6", {2, 6, 6, 32}, {1, 1, 32, 96}, attrs(Activation::relu6, both, positive, false));
    conv("5x5_depthwise_swish", {2, 6, 7, 48}, {5, 5, 1, 48}, attrs(Activation::swish, both, both, false, 48));
    conv("3x3_depthwise_relu6", {2, 6, 7, 48}, {3, 3, 1, 48},
         attrs(Activation::relu6, positive, positive, false, 48, 2));
    conv("3x3_groups_of_4", {1, 6, 6, 64}, {3, 3, 4, 64}, attrs(Activation::relu, positive, positive, false, 16));
    conv("first_layer", {2, 13, 12, 3}, {7, 7, 3, 64}, attrs(Activation::relu, both, positive, false, 1, 2));
    graph::QuantisedConvAttrs floating = attrs(Activation::swish, both, both, false);
    floating.type = type;
    conv("1x1_to_values", {2, 6, 6, 32}, {1, 1, 32, 16}, floating);
    cases.push_back({.name = "max_pool/numbers",
                     .kind = OpKind::max_pool,
                     .attrs = graph::PoolAttrs{3, 2, {1, 1, 1, 1}},
                     .inputs = {numbers("x", {2, 7, 7, 32})}});
    cases.push_back({.name = "quantise_weight/matrix",
                     .kind = OpKind::quantise_weight,
                     .attrs = graph::NoAttrs{},
                     .inputs = {{"w", {type, {40, 24}}}},
                     .tolerance = kOneStep});
    const auto rows = [&](const std::string& name, Activation activation, double low, double high) {
        cases.push_back({.name = "quantise_rows/" + name,
                         .kind = OpKind::quantise_rows,
                         .attrs = graph::ActivationAttrs{activation},
                         .inputs = {{"x", {type, {3, 11, 70}}, low, high}},
                         .tolerance = kOneStep});
    };
    rows("both", Activation::none, -3, 6);
    rows("positive", Activation::none, 1, 2);
    rows("negative", Activation::none, -2, -1);
    rows("zeros", Activation::none, 0, 0);
    rows("gelu", Activation::gelu, -3, 3);
    rows("gelu_tanh", Activation::gelu_tanh, -3, 3);
    const auto dense = [&](const std::string& name, const Shape& x, std::int64_t outputs, bool bias) {
        const double rows_of_weight = static_cast<double>(x.back());
        const double scale = 1 / (127 * 73 * std::sqrt(rows_of_weight));
        OpCase made{.name = "quantised_dense/" + name,
                    .kind = OpKind::quantised_dense,
                    .attrs = graph::DenseAttrs{.bias = bias, .result_type = type},
                    .inputs = {numbers("x", x),
                               {"bits", {DType::f32, {element_count(x) / x.back(), 2}}, 1, 4},
                               weights({x.back(), outputs}),
                               {"scales", {DType::f32, {outputs}}, scale / 2, scale}},
                    .tolerance = tolerance_of(type)};
        if (bias) made.inputs.push_back({"bias", {type, {outputs}}, -1, 1});
        cases.push_back(std::move(made));
    };
    dense("tiles", {4, 32, 128}, 96, true);
    dense("slices_of_tiles", {32, 3072}, 64, true);
    dense("without_bias", {2, 16, 64}, 32, false);
    dense("uneven", {3, 7, 40}, 24, true);
    graph::QuantisedConvAttrs depthwise = attrs(Activation::swish, both, both, false, 96, 2);
    depthwise.type = type;
    conv("5x5_depthwise_to_values", {2, 9, 7, 96}, {5, 5, 1, 96}, depthwise);
}

}  // namespace cnntrain::test
