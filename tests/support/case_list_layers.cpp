// Cases of convolution, pooling, dense and norms.
#include "support/case_list.h"

namespace cnntrain::test {

using graph::Activation;
using graph::ConvAttrs;
using graph::NormAttrs;
using graph::PoolAttrs;

namespace {

struct ConvRow {
    const char* name;
    std::int64_t size, in, out, kernel, stride, groups;
};

constexpr ConvRow kConvRows[] = {
    // name, image, in, out, kernel, stride, groups
    {"1x1", 5, 16, 32, 1, 1, 1},
    {"1x1_stride2", 6, 16, 17, 1, 2, 1},
    {"3x3", 6, 16, 16, 3, 1, 1},
    {"3x3_odd_channels", 5, 10, 17, 3, 1, 1},
    {"3x3_stride2_even", 8, 16, 32, 3, 2, 1},
    {"3x3_stride2_odd", 7, 10, 16, 3, 2, 1},
    {"3x3_image", 8, 3, 16, 3, 1, 1},
    {"7x7_stride2_image", 14, 3, 10, 7, 2, 1},
    {"3x3_groups", 5, 16, 32, 3, 1, 4},
    {"3x3_groups_stride2", 6, 12, 12, 3, 2, 3},
    {"1x1_one_pixel", 1, 17, 3, 1, 1, 1},
    {"groups_of_4", 5, 32, 32, 3, 1, 8},
    {"groups_of_4_stride2", 6, 16, 16, 3, 2, 4},
    {"groups_of_8", 5, 32, 32, 3, 1, 4},
    {"groups_of_16", 5, 48, 48, 5, 1, 3},
    {"groups_of_16_stride2", 8, 32, 32, 3, 2, 2},
    {"groups_of_20", 6, 40, 40, 3, 1, 2},
    {"depthwise_3x3", 6, 32, 32, 3, 1, 32},
    {"depthwise_3x3_stride2", 7, 36, 36, 3, 2, 36},
    {"depthwise_3x3_stride2_even", 8, 24, 24, 3, 2, 24},
    {"depthwise_5x5", 5, 40, 40, 5, 1, 40},
    {"depthwise_5x5_stride2", 8, 16, 16, 5, 2, 16},
    {"depthwise_5x5_small_image", 2, 17, 17, 5, 1, 17},
    {"depthwise_7x7", 6, 18, 18, 7, 1, 18},
    {"depthwise_1x1", 3, 16, 16, 1, 1, 16},
};

OpCase conv_case(const ConvRow& row, DType type) {
    const TensorDesc x{type, {2, row.size, row.size, row.in}};
    const TensorDesc w{type, {row.kernel, row.kernel, row.in / row.groups, row.out}};
    ConvAttrs attrs;
    attrs.stride = row.stride;
    attrs.padding = graph::same_padding(row.size, row.size, row.kernel, row.stride);
    attrs.groups = row.groups;
    return {.name = std::string("conv2d/") + row.name,
            .kind = OpKind::conv2d,
            .attrs = attrs,
            .inputs = {{"x", x}, {"w", w}},
            .tolerance = tolerance_of(type)};
}

}  // namespace

void add_conv_cases(std::vector<OpCase>& cases, DType type) {
    for (const ConvRow& row : kConvRows)
        cases.push_back(conv_case(row, type));

    OpCase symmetric = conv_case({"3x3_stride2_symmetric", 8, 16, 16, 3, 2, 1}, type);
    std::get<ConvAttrs>(symmetric.attrs).padding = {1, 1, 1, 1};
    cases.push_back(symmetric);
    OpCase unpadded = conv_case({"3x3_unpadded", 6, 3, 10, 3, 1, 1}, type);
    std::get<ConvAttrs>(unpadded.attrs).padding = {};
    cases.push_back(unpadded);

    // Windows that are not square: texts as images of one row, and a column.
    const auto add_window = [&](const char* name, const Shape& x, const Shape& w, bool bias) {
        ConvAttrs attrs;
        attrs.groups = x[3] / w[2];
        attrs.bias = bias;
        attrs.padding = {(w[0] - 1) / 2, w[0] / 2, (w[1] - 1) / 2, w[1] / 2};
        OpCase window{.name = std::string("conv2d/") + name,
                      .kind = OpKind::conv2d,
                      .attrs = attrs,
                      .inputs = {{"x", {type, x}}, {"w", {type, w}}},
                      .tolerance = tolerance_of(type)};
        if (bias) window.inputs.push_back({"bias", {DType::f32, {w[3]}}});
        cases.push_back(window);
    };
    add_window("text_groups_of_16", {2, 1, 9, 48}, {1, 7, 16, 48}, false);
    add_window("text_groups_of_4", {2, 1, 9, 16}, {1, 3, 4, 16}, false);
    add_window("text_depthwise", {2, 1, 9, 16}, {1, 7, 1, 16}, false);
    add_window("text_even", {2, 1, 5, 16}, {1, 4, 16, 16}, false);
    add_window("text_projection", {2, 1, 9, 64}, {1, 1, 16, 32}, true);
    add_window("column", {2, 6, 5, 16}, {3, 1, 16, 16}, false);
}

void add_pool_cases(std::vector<OpCase>& cases, DType type) {
    const auto add = [&](const char* name, std::int64_t size, std::int64_t kernel, std::int64_t stride, Fill fill) {
        const PoolAttrs attrs{kernel, stride, graph::same_padding(size, size, kernel, stride)};
        // The spacing of distinct values keeps the order of any two through a step of the numeric gradient.
        cases.push_back({.name = std::string("max_pool/") + name,
                         .kind = OpKind::max_pool,
                         .attrs = attrs,
                         .inputs = {{.name = "x", .desc = {type, {2, size, size, 3}}, .fill = fill}},
                         .tolerance = tolerance_of(type),
                         .gradient_step = fill == Fill::distinct ? 1e-4 : 0});
    };
    add("3x3_stride2_even", 8, 3, 2, Fill::distinct);
    add("3x3_stride2_odd", 7, 3, 2, Fill::distinct);
    add("2x2_stride2", 4, 2, 2, Fill::distinct);
    add("ties", 8, 3, 2, Fill::coarse);

    OpCase all_negative{
        .name = "max_pool/negative",
        .kind = OpKind::max_pool,
        .attrs = PoolAttrs{3, 2, {1, 1, 1, 1}},
        .inputs = {{.name = "x", .desc = {type, {1, 6, 5, 17}}, .low = -3, .high = -1, .fill = Fill::distinct}},
        .tolerance = tolerance_of(type),
        .gradient_step = 0};
    cases.push_back(all_negative);

    for (const std::int64_t channels : {10, 64}) {
        cases.push_back({.name = "global_average_pool/" + std::to_string(channels),
                         .kind = OpKind::global_average_pool,
                         .attrs = graph::NoAttrs{},
                         .inputs = {{"x", {type, {3, 5, 7, channels}}}},
                         .tolerance = tolerance_of(type)});
    }
}

void add_dense_cases(std::vector<OpCase>& cases, DType type) {
    const auto add = [&](const char* name, std::int64_t in, std::int64_t out, DType bias) {
        cases.push_back({.name = std::string("dense/") + name,
                         .kind = OpKind::dense,
                         .attrs = graph::DenseAttrs{},
                         .inputs = {{"x", {type, {4, in}}}, {"w", {type, {in, out}}}, {"bias", {bias, {out}}}},
                         .tolerance = tolerance_of(type)});
    };
    add("17_to_10", 17, 10, type);
    add("64_to_100", 64, 100, DType::f32);
    add("3_to_1", 3, 1, DType::f32);
    cases.push_back({.name = "dense/kernel_40_to_10",
                     .kind = OpKind::dense,
                     .attrs = graph::DenseAttrs{},
                     .inputs = {{"x", {type, {4, 40}}}, {"w", {type, {1, 1, 40, 10}}}, {"bias", {type, {10}}}},
                     .tolerance = tolerance_of(type)});
    for (const Shape& rows : {Shape{2, 5}, Shape{2, 3, 4}}) {
        Shape x = rows;
        x.push_back(24);
        cases.push_back({.name = "dense/rank_" + std::to_string(x.size()),
                         .kind = OpKind::dense,
                         .attrs = graph::DenseAttrs{},
                         .inputs = {{"x", {type, x}}, {"w", {type, {24, 17}}}, {"bias", {type, {17}}}},
                         .tolerance = tolerance_of(type)});
    }
}

namespace {

struct NormRow {
    const char* name;
    std::int64_t channels;
    std::int64_t groups;  // 0: batch norm
    bool residual;
    Activation activation;
};

constexpr NormRow kNormRows[] = {
    {"plain", 16, 0, false, Activation::none},        {"plain_odd", 3, 0, false, Activation::none},
    {"relu", 17, 0, false, Activation::relu},         {"residual", 10, 0, true, Activation::none},
    {"residual_relu", 16, 0, true, Activation::relu}, {"plain", 16, 4, false, Activation::none},
    {"one_group", 3, 1, false, Activation::none},     {"relu", 10, 5, false, Activation::relu},
    {"residual", 12, 3, true, Activation::none},      {"residual_relu", 16, 2, true, Activation::relu},
    {"instance", 17, 17, false, Activation::relu},    {"swish", 16, 0, false, Activation::swish},
    {"swish_odd", 17, 0, false, Activation::swish},   {"swish", 12, 3, false, Activation::swish},
};

std::string norm_name(const NormRow& row, const char* suffix) {
    return std::string(row.groups == 0 ? "batch_norm" : "group_norm") + suffix + "/" + row.name;
}

NormAttrs norm_attrs(const NormRow& row) {
    return {.epsilon = 1e-3, .groups = row.groups, .activation = row.activation, .residual = row.residual};
}

/// Descriptor of a statistic over the 3 samples of each case.
TensorDesc statistic_of(const NormRow& row) {
    return {DType::f32, row.groups == 0 ? Shape{row.channels} : Shape{3, row.groups}};
}

OpCase norm_case(const NormRow& row, DType type, DType vector_type) {
    const TensorDesc x{type, {3, 4, 5, row.channels}};
    const TensorDesc vector{vector_type, {row.channels}};
    OpCase result{.name = norm_name(row, ""),
                  .kind = row.groups == 0 ? OpKind::batch_norm : OpKind::group_norm,
                  .attrs = norm_attrs(row),
                  .inputs = {{"x", x, -1, 3}, {"gamma", vector, 0.5, 1.5}, {"beta", vector, -0.5, 0.5}},
                  .tolerance = tolerance_of(type),
                  .gradient_step = 1e-5};
    if (row.residual) result.inputs.push_back({"residual", x});
    return result;
}

/// The gradient ops themselves with a second dy, which no forward node leads to.
OpCase summed_gradient_case(const NormRow& row, DType type) {
    const TensorDesc x{type, {3, 4, 5, row.channels}};
    const TensorDesc vector{DType::f32, {row.channels}};
    const TensorDesc statistic = statistic_of(row);
    NormAttrs attrs = norm_attrs(row);
    attrs.summed_gradient = true;
    OpCase result{.name = norm_name(row, "_grad_of_sum"),
                  .kind = row.groups == 0 ? OpKind::batch_norm_grad : OpKind::group_norm_grad,
                  .attrs = attrs,
                  .inputs = {{"x", x, -1, 3},
                             {"gamma", vector, 0.5, 1.5},
                             {"beta", vector, -0.5, 0.5},
                             {"mean", statistic, 0.8, 1.2},
                             {"variance", statistic, 0.9, 1.6},
                             {"dy", x},
                             {"dy2", x}},
                  .tolerance = tolerance_of(type)};
    if (row.residual && row.activation != Activation::none)
        result.inputs.push_back({.name = "y", .desc = x, .gap = 0.01});
    return result;
}

OpCase given_statistics_case(const NormRow& row, DType type) {
    OpCase result = norm_case(row, type, DType::f32);
    result.name = norm_name(row, "_inference");
    result.kind = row.groups == 0 ? OpKind::batch_norm_inference : OpKind::group_norm_inference;
    const TensorDesc statistic = statistic_of(row);
    result.inputs.insert(result.inputs.begin() + 3,
                         {{.name = "mean", .desc = statistic, .low = -1, .high = 1, .fixed = true},
                          {.name = "variance", .desc = statistic, .low = 0.1, .high = 2, .fixed = true}});
    return result;
}

}  // namespace

void add_norm_cases(std::vector<OpCase>& cases, DType type) {
    for (const NormRow& row : kNormRows) {
        cases.push_back(norm_case(row, type, DType::f32));
        cases.push_back(summed_gradient_case(row, type));
    }
    for (const Activation activation : graph::kActivations) {
        for (const std::int64_t groups : {0, 4}) {
            // A norm with a residual has a gradient only where the slope follows from the result; the slopes of the
            // sigmoid and of tanh have too few digits in 16 bits where the result is near 1.
            const bool levels_off = activation == Activation::sigmoid || activation == Activation::tanh;
            const bool exact = type == DType::f32 || !levels_off;
            const bool residual = slope_follows_from_result(activation) && exact;
            const NormRow row{graph::name(activation).data(), 32, groups, residual, activation};
            for (OpCase op_case : {norm_case(row, type, DType::f32), summed_gradient_case(row, type)}) {
                op_case.name += "_c32";
                cases.push_back(std::move(op_case));
            }
        }
    }
    if (type == DType::f32) return;
    for (const NormRow& row : {kNormRows[4], kNormRows[9]}) {
        OpCase half_vectors = norm_case(row, type, type);
        half_vectors.name += "_half_vectors";
        cases.push_back(half_vectors);
    }
}

namespace {

constexpr ConvRow kBiasRows[] = {
    {"bias", 6, 16, 17, 3, 1, 1},
    {"bias_1x1", 5, 18, 37, 1, 1, 1},
    {"bias_1x1_one_pixel", 1, 33, 70, 1, 1, 1},
    {"bias_depthwise_3x3_stride2", 8, 17, 17, 3, 2, 17},
    {"bias_depthwise_5x5", 15, 36, 36, 5, 1, 36},
};

OpCase inference_conv(const ConvRow& row, bool residual, Activation activation, DType type) {
    OpCase conv = conv_case(row, type);
    auto& attrs = std::get<ConvAttrs>(conv.attrs);
    attrs.bias = true;
    attrs.residual = residual;
    attrs.activation = activation;
    conv.inputs.push_back({"bias", {DType::f32, {row.out}}});
    const std::int64_t size = row.size / row.stride;
    if (residual) conv.inputs.push_back({"residual", {type, {2, size, size, row.out}}});
    return conv;
}

}  // namespace

void add_inference_cases(std::vector<OpCase>& cases, DType type) {
    for (const bool residual : {false, true}) {
        for (const Activation activation : graph::kActivations) {
            const std::string name = activation == Activation::none ? "" : "_" + std::string(graph::name(activation));
            const std::string variant = (residual ? "_residual" : "") + name;
            for (const ConvRow& row : kBiasRows) {
                cases.push_back(inference_conv(row, residual, activation, type));
                cases.back().name += variant;
            }

            cases.push_back(given_statistics_case({("c10" + variant).c_str(), 10, 0, residual, activation}, type));
        }
    }
}

void add_group_inference_cases(std::vector<OpCase>& cases, DType type) {
    for (const NormRow& row : kNormRows) {
        if (row.groups > 0) cases.push_back(given_statistics_case(row, type));
    }
}

namespace {

/// Convolutions that are padded by the rule of PyTorch.
constexpr ConvRow kSymmetricRows[] = {
    {"3x3_stride2_symmetric_even", 8, 16, 16, 3, 2, 1},       {"3x3_stride2_symmetric_odd", 7, 10, 16, 3, 2, 1},
    {"7x7_stride2_symmetric_image", 14, 3, 10, 7, 2, 1},      {"groups_of_4_stride2_symmetric", 6, 16, 16, 3, 2, 4},
    {"depthwise_3x3_stride2_symmetric", 8, 24, 24, 3, 2, 24}, {"depthwise_5x5_stride2_symmetric", 8, 17, 17, 5, 2, 17},
};

}  // namespace

void add_symmetric_cases(std::vector<OpCase>& cases, DType type) {
    for (const ConvRow& row : kSymmetricRows) {
        OpCase symmetric = conv_case(row, type);
        std::get<ConvAttrs>(symmetric.attrs).padding =
            graph::symmetric_padding(row.size, row.size, row.kernel, row.stride);
        cases.push_back(std::move(symmetric));
    }
    cases.push_back({.name = "max_pool/3x3_stride2_symmetric",
                     .kind = OpKind::max_pool,
                     .attrs = PoolAttrs{3, 2, graph::symmetric_padding(8, 8, 3, 2)},
                     .inputs = {{.name = "x", .desc = {type, {2, 8, 8, 3}}, .fill = Fill::distinct}},
                     .tolerance = tolerance_of(type),
                     .gradient_step = 1e-4});
}

}  // namespace cnntrain::test
