// Convolutions in 8 bits, by oneDNN's primitives on channels-last bytes, depthwise ones by own kernels; and dense
// layers in 8 bits, by own kernels or by oneDNN's products. On processors without products of 8 bits, floats hold the
// numbers.
#include <omp.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>
#include <vector>

#include "backend/cpu/isa.h"
#include "backend/cpu/kernels/conv.h"
#include "backend/cpu/kernels/tiles.h"
#include "backend/cpu/lower/node_context.h"
#include "backend/cpu/lower/own_conv.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::ConvAttrs;
using graph::EightBits;
using graph::QuantiseAttrs;
using graph::QuantisedConvAttrs;
using graph::ValueId;

namespace {

const char* const kBytesReason = "bytes are channels-last";

/// Numbers of pixels: `image` normalises them.
void lower_quantised_image(const NodeContext& lower, const graph::Node& image) {
    const EightBits& bits = lower.node.as<QuantiseAttrs>().bits;
    const auto& attrs = image.as<graph::NormaliseImageAttrs>();
    const ValueId y = lower.node.outputs[0];
    const std::int64_t channels = lower.graph.desc(y).shape.back();
    const std::int64_t pixels = lower.graph.desc(y).elements() / channels;
    const Placed source = lower.values.operand(image.inputs[0]);
    const Placed result = lower.values.define(y, image_desc(lower.graph.desc(y)));
    std::vector<float> scale;
    std::vector<float> shift;
    for (std::size_t i = 0; i < attrs.scale.size(); ++i) {
        scale.push_back(static_cast<float>(attrs.scale[i] / bits.scale));
        shift.push_back(static_cast<float>(attrs.shift[i] / bits.scale + static_cast<double>(bits.zero)));
    }
    with_pixel_type(source.dtype, [&]<typename In>() {
        lower.steps.add("kernel", {source}, {result}, [=](const StepContext&) {
            normalise_image(pixels, channels, source.as<In>(), scale.data(), shift.data(), result.as<std::uint8_t>());
        });
    });
}

void lower_quantise(const NodeContext& lower) {
    const EightBits& bits = lower.node.as<QuantiseAttrs>().bits;
    const ValueId x = lower.node.inputs[0];
    const ValueId y = lower.node.outputs[0];
    const graph::NodeId producer = lower.graph.value(x).producer;
    if (producer.valid() && is_left_to_quantise(lower.graph, lower.graph.node(producer)))
        return lower_quantised_image(lower, lower.graph.node(producer));
    const Placed source = lower.values.operand_as(x, image_desc(lower.graph.desc(x)), kBytesReason);
    const Placed result = lower.values.define(y, image_desc(lower.graph.desc(y)));
    const auto inverse = static_cast<float>(1 / bits.scale);
    const auto zero = static_cast<std::int32_t>(bits.zero);
    add_typed(lower, source.dtype, "kernel", {source}, {result},
              [=, count = lower.graph.desc(x).elements()]<typename T>(const StepContext&) {
                  quantise(count, source.as<T>(), inverse, zero, result.as<std::uint8_t>());
              });
}

/// Writes the values of the numbers to `to`, channels-last.
void add_values(const NodeContext& lower, ValueId numbers, const EightBits& bits, const Placed& to) {
    const Placed source = lower.values.operand_as(numbers, image_desc(lower.graph.desc(numbers)), kBytesReason);
    const auto scale = static_cast<float>(bits.scale);
    const auto zero = static_cast<std::int32_t>(bits.zero);
    add_typed(lower, to.dtype, "kernel", {source}, {to},
              [=, count = lower.graph.desc(numbers).elements()]<typename T>(const StepContext&) {
                  dequantise(count, source.as<std::uint8_t>(), scale, zero, to.as<T>());
              });
}

void lower_dequantise(const NodeContext& lower) {
    const ValueId y = lower.node.outputs[0];
    const Placed result = lower.values.define(y, image_desc(lower.graph.desc(y)));
    add_values(lower, lower.node.inputs[0], lower.node.as<QuantiseAttrs>().bits, result);
}

void lower_quantise_weight(const NodeContext& lower) {
    const ValueId numbers = lower.node.outputs[0];
    const ValueId scales = lower.node.outputs[1];
    const ValueId root = graph::strip_casts(lower.graph, lower.node.inputs[0]);
    const Placed weight = lower.graph.is_variable(root) ? lower.weights.master(root) : lower.values.operand(root);
    const TensorDesc& desc = lower.graph.desc(numbers);
    const std::int64_t outputs = desc.shape.back();
    const Placed result = lower.values.define(numbers, lower.layouts.row_major_desc(numbers));
    const Placed factors = lower.values.define(scales);
    add_typed(lower, weight.dtype, "kernel", {weight}, {result, factors},
              [=, rows = desc.elements() / outputs]<typename T>(const StepContext&) {
                  quantise_weight(rows, outputs, weight.as<T>(), result.as<std::int8_t>(), factors.as<float>());
              });
}

/// The arithmetic of a convolution in 8 bits, in the unit of its result where the activation allows that.
struct Arithmetic {
    double unit = 1;          // of the biased sums
    bool folds_zero = false;  // of the input, into the bias: no pixel of padding is read
    EightBitEpilogue epilogue;
    double shift = 0;  // of the bias
};

Arithmetic arithmetic_of(const QuantisedConvAttrs& attrs, const Shape& kernel) {
    Arithmetic result;
    const bool in_bytes = attrs.type == DType::u8;
    const graph::Activation activation = attrs.conv.activation;
    const bool none = activation == graph::Activation::none;
    const bool scales = graph::is_piecewise_linear(activation) && (none || attrs.y.zero == 0);
    if (in_bytes && scales) result.unit = attrs.y.scale;
    if (in_bytes && none) result.shift = static_cast<double>(attrs.y.zero);
    const bool is_pointwise = kernel[0] == 1 && kernel[1] == 1 && attrs.conv.padding == graph::Padding{};
    result.folds_zero = is_pointwise && attrs.x.zero != 0;
    EightBitEpilogue& epilogue = result.epilogue;
    if (attrs.conv.residual) epilogue.residual = static_cast<float>(attrs.residual.scale / result.unit);
    epilogue.activation = activation;
    epilogue.six = static_cast<float>(6 / result.unit);
    if (in_bytes && !scales) {
        epilogue.scale = static_cast<float>(1 / attrs.y.scale);
        epilogue.shift = static_cast<float>(attrs.y.zero);
    }
    epilogue.zero = attrs.x.zero != 0 && !result.folds_zero;
    return result;
}

/// The factors of the sums, f32[1,1,1,O].
Placed factors_of(const NodeContext& lower, const Placed& scales, const Arithmetic& how) {
    const auto& attrs = lower.node.as<QuantisedConvAttrs>();
    const std::int64_t outputs = lower.graph.desc(lower.node.inputs[1]).shape.back();
    return lower.weights.made(lower.node.name + ":factors", {DType::f32, {1, 1, 1, outputs}}, {scales},
                              [=, factor = attrs.x.scale / how.unit](const Placed& to) {
                                  for (std::int64_t o = 0; o < outputs; ++o)
                                      to.as<float>()[o] = static_cast<float>(factor * scales.as<float>()[o]);
                              });
}

std::vector<std::int32_t> sums_of_columns(std::int64_t rows, std::int64_t columns, const Placed& weight) {
    std::vector<std::int32_t> sums(static_cast<std::size_t>(columns));
    sum_columns(rows, columns, weight.as<std::int8_t>(), sums.data());
    return sums;
}

/// The bias in the unit of the sums, f32[O], with what numbers that are no zeros add to them.
Placed bias_of(const NodeContext& lower, const Placed& factors, const Arithmetic& how) {
    const auto& attrs = lower.node.as<QuantisedConvAttrs>();
    const TensorDesc& kernel = lower.graph.desc(lower.node.inputs[1]);
    const std::int64_t outputs = kernel.shape.back();
    const std::int64_t rows = kernel.elements() / outputs;
    const Placed bias = lower.values.float_vector(lower.node.inputs[3]);
    const Placed weight = lower.values.operand(lower.node.inputs[1]);
    const double residual = attrs.conv.residual ? attrs.residual.scale * static_cast<double>(attrs.residual.zero) : 0;
    const double zero = how.folds_zero ? static_cast<double>(attrs.x.zero) : 0;
    return lower.weights.made(lower.node.name + ":bias", {DType::f32, {outputs}}, {factors, bias, weight},
                              [=](const Placed& to) {
                                  const std::vector<std::int32_t> sums = sums_of_columns(rows, outputs, weight);
                                  for (std::int64_t o = 0; o < outputs; ++o) {
                                      const double factor = factors.as<float>()[o];
                                      const double whole = (bias.as<float>()[o] - residual) / how.unit + how.shift -
                                                           zero * factor * sums[static_cast<std::size_t>(o)];
                                      to.as<float>()[o] = static_cast<float>(whole / factor);
                                  }
                              });
}

void lower_quantise_rows(const NodeContext& lower) {
    const auto activation = lower.node.as<graph::ActivationAttrs>().activation;
    const ValueId y = lower.node.outputs[0];
    const ValueId bits = lower.node.outputs[1];
    const TensorDesc& desc = lower.graph.desc(y);
    const RowsInBytes rows{desc.elements() / desc.shape.back(), desc.shape.back()};
    const Placed source = lower.values.in_order(lower.node.inputs[0]);
    const Placed result = lower.values.define(y, row_major(desc));
    const Placed found = lower.values.define(bits);
    const auto scratch = lower.steps.scratch_floats(omp_get_max_threads() * rows.features);
    add_typed(lower, source.dtype, "kernel", {source}, {result, found}, [=]<typename T>(const StepContext&) {
        quantise_rows(rows, activation, source.as<T>(), result.as<std::uint8_t>(), found.as<float>(), scratch());
    });
}

/// The operands of a dense layer in 8 bits, and what its sums' values need.
struct QuantisedDense {
    explicit QuantisedDense(const NodeContext& lower) {
        const auto& inputs = lower.node.inputs;
        const TensorDesc& weight_desc = lower.graph.desc(inputs[2]);
        product.inner = weight_desc.shape[0];
        product.columns = weight_desc.shape[1];
        product.rows = lower.graph.desc(inputs[0]).elements() / product.inner;
        x = lower.values.in_order(inputs[0]);
        bits = lower.values.operand(inputs[1]);
        w = lower.values.operand(inputs[2]);
        scales = lower.values.operand(inputs[3]);
        if (inputs.size() > 4) bias = lower.values.float_vector(inputs[4]);
        sums = lower.weights.made(lower.node.name + ":sums", {DType::f32, {product.columns}}, {w, scales},
                                  [product = product, w = w, scales = scales](const Placed& to) {
                                      const std::vector<std::int32_t> whole =
                                          sums_of_columns(product.inner, product.columns, w);
                                      std::ranges::transform(whole, std::span(scales.as<float>(), whole.size()),
                                                             to.as<float>(), std::multiplies<float>());
                                  });
    }

    Rescaling rescaling() const { return {bits.as<float>(), scales.as<float>(), sums.as<float>(), bias.as<float>()}; }
    /// `operands`, and what rescaling() reads.
    std::vector<Placed> reads(std::vector<Placed> operands) const {
        operands.insert(operands.end(), {bits, scales, sums});
        if (bias) operands.push_back(bias);
        return operands;
    }

    TileProduct product;
    Placed x, bits, w, scales, sums, bias;
};

/// The same numbers in another type.
Placed converted(const NodeContext& lower, const std::string& name, const Placed& from, const Desc& desc, DType type) {
    const Placed to = lower.steps.temporary(name, desc, type);
    lower.steps.add_copy_primitive("copy", lower.onednn.reorder(from.desc, to.desc), from, to);
    return to;
}

/// Own kernels are for AVX512-VNNI; they store bfloat16 by an instruction of AVX512-BF16. AMX's products are faster.
bool is_for_tiles(const TileProduct& product, DType type) {
    const Isa isa = effective_isa();
    return isa.avx512 && !isa.amx && (type == DType::f32 || isa.avx512_bf16) && has(TileUnit::byte_products) &&
           product.is_whole() && product.inner % kByteStep == 0;
}

void lower_quantised_dense(const NodeContext& lower) {
    const ValueId y = lower.node.outputs[0];
    const TensorDesc& y_desc = lower.graph.desc(y);
    const QuantisedDense dense(lower);
    const TileProduct& product = dense.product;
    if (is_for_tiles(product, y_desc.dtype)) {
        const Placed panels = lower.weights.made(
            lower.node.name + ":panels", lower.graph.desc(lower.node.inputs[2]), {dense.w}, [=](const Placed& to) {
                copy_to_byte_panels(product.inner, product.columns, dense.w.as<std::int8_t>(), to.as<std::int8_t>());
            });
        const Placed result = lower.values.define(y, row_major(y_desc));
        const auto scratch =
            lower.steps.scratch_floats(tile_scratch_floats(TileUnit::byte_products, omp_get_max_threads()));
        add_typed(lower, y_desc.dtype, "tiles", dense.reads({dense.x, panels}), {result},
                  [=]<typename T>(const StepContext&) {
                      tile_product(product, dense.x.as<std::uint8_t>(), panels.as<std::int8_t>(), dense.rescaling(),
                                   result.as<T>(), scratch());
                  });
        return;
    }
    const bool in_floats = !multiplies_bytes();
    const auto type = [&](DType whole) { return in_floats ? DType::f32 : whole; };
    const Primitive multiply =
        lower.onednn.matmul(matrix_desc(product.rows, product.inner, type(DType::u8)),
                            any_layout(matrix_desc(product.inner, product.columns, type(DType::i8))),
                            matrix_desc(product.rows, product.columns, type(DType::i32)), false);
    Placed x = dense.x;
    x.desc = matrix_desc(product.rows, product.inner, DType::u8);
    if (in_floats) x = converted(lower, "numbers", x, multiply.src, DType::f32);
    const Placed w = lower.weights.prepared(lower.node.inputs[2], multiply.weights);
    Placed whole = lower.steps.temporary("sums", multiply.dst, type(DType::i32));
    lower.steps.add_primitive(multiply, {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, w}, {DNNL_ARG_DST, whole}},
                              {DNNL_ARG_DST});
    if (in_floats) {
        const Desc desc = matrix_desc(product.rows, product.columns, DType::i32);
        whole = converted(lower, "whole_sums", whole, desc, DType::i32);
    }
    const Placed result = lower.values.define(y, row_major(y_desc));
    add_typed(lower, y_desc.dtype, "kernel", dense.reads({whole}), {result}, [=]<typename T>(const StepContext&) {
        rescale_rows(RowsInBytes{product.rows, product.columns}, whole.as<std::int32_t>(), dense.rescaling(),
                     result.as<T>());
    });
}

/// Own kernels are for AVX512-VNNI.
bool is_depthwise_in_bytes(const NodeContext& lower) {
    const ConvAttrs& attrs = lower.node.as<QuantisedConvAttrs>().conv;
    const Shape& kernel = lower.graph.desc(lower.node.inputs[1]).shape;
    return effective_isa().avx512 && has(TileUnit::byte_products) && !attrs.residual && is_depthwise(attrs, kernel) &&
           has_depthwise_conv(kernel[0], attrs.stride);
}

void lower_depthwise_in_bytes(const NodeContext& lower) {
    const auto& attrs = lower.node.as<QuantisedConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    const TensorDesc& x_desc = lower.graph.desc(inputs[0]);
    const TensorDesc& y_desc = lower.graph.desc(y);
    const std::int64_t channels = y_desc.shape.back();
    Arithmetic how = arithmetic_of(attrs, lower.graph.desc(inputs[1]).shape);
    how.folds_zero = attrs.x.zero != 0;  // as pixels around the image are numbers of 0
    const Placed factors = factors_of(lower, lower.values.operand(inputs[2]), how);
    const Placed bias = bias_of(lower, factors, how);
    const TensorDesc ordered{DType::f32, {ceil_div(channels, kDepthwiseChunk) * kDepthwiseChunk}};
    const Placed in_order = lower.weights.made(lower.node.name + ":ordered", ordered, {factors}, [=](const Placed& to) {
        copy_in_depthwise_order(channels, factors.as<float>(), to.as<float>());
    });
    const Placed shifts =
        lower.weights.made(lower.node.name + ":shifts", ordered, {bias, in_order}, [=](const Placed& to) {
            copy_in_depthwise_order(channels, bias.as<float>(), to.as<float>());
            std::ranges::transform(std::span(in_order.as<float>(), static_cast<std::size_t>(ordered.elements())),
                                   std::span(to.as<float>(), static_cast<std::size_t>(ordered.elements())),
                                   to.as<float>(), std::multiplies<float>());
        });
    const Placed w = lower.values.operand(inputs[1]);
    const Placed x = lower.values.operand_as(inputs[0], image_desc(x_desc), kBytesReason);
    const Placed result = lower.values.define(y, image_desc(y_desc));
    lower.values.prefer_activation(result.desc);
    const DepthwiseShape shape{{blocks_of(x), x_desc.shape[1], x_desc.shape[2]},
                               {blocks_of(result), y_desc.shape[1], y_desc.shape[2]},
                               lower.graph.desc(inputs[1]).shape[0],
                               attrs.conv.stride,
                               attrs.conv.padding.top,
                               attrs.conv.padding.left};
    const Placed panels =
        lower.weights.made(lower.node.name + ":panels", {DType::i8, {depthwise_panel_bytes(channels, shape.kernel)}},
                           {w}, [=, kernel = shape.kernel](const Placed& to) {
                               copy_to_depthwise_panels(channels, kernel, w.as<std::int8_t>(), to.as<std::int8_t>());
                           });
    const auto scratch = lower.steps.scratch_floats(depthwise_bytes_scratch_floats(shape, omp_get_max_threads()));
    const EightBitEpilogue& epilogue = how.epilogue;
    const auto add = [&]<typename T>() {
        DepthwiseBytes<T> args;
        args.zero = static_cast<std::uint8_t>(attrs.x.zero);
        args.in_unit = attrs.type == DType::u8 && graph::is_piecewise_linear(epilogue.activation) &&
                       epilogue.scale == 1 && epilogue.shift == 0;
        if (epilogue.activation == graph::Activation::relu6)
            args.most = static_cast<std::uint8_t>(std::clamp(std::nearbyint(epilogue.six), 0.0F, 255.0F));
        args.activation = epilogue.activation;
        args.scale = epilogue.scale;
        args.shift = epilogue.shift;
        lower.steps.add("kernel", {x, panels, in_order, shifts}, {result}, [=](const StepContext&) {
            DepthwiseBytes<T> now = args;
            now.x = x.as<std::uint8_t>();
            now.panels = panels.as<std::int8_t>();
            now.factors = in_order.as<float>();
            now.shifts = shifts.as<float>();
            now.y = result.as<T>();
            depthwise_bytes(shape, now, scratch());
        });
    };
    with_pixel_type(attrs.type, add);
}

/// The values of the weight, f32[K,L,I,O], in this layout.
Placed weight_values(const NodeContext& lower, const Desc& wanted) {
    const TensorDesc desc{DType::f32, lower.graph.desc(lower.node.inputs[1]).shape};
    const Placed w = lower.values.operand(lower.node.inputs[1]);
    const Placed scales = lower.values.operand(lower.node.inputs[2]);
    Placed values = lower.weights.made(lower.node.name + ":values", desc, {w, scales}, [=](const Placed& to) {
        for (std::int64_t i = 0; i < desc.elements(); ++i)
            to.as<float>()[i] = scales.as<float>()[i % desc.shape.back()] * w.as<std::int8_t>()[i];
    });
    values.desc = plain_kernel_desc(desc, lower.node.as<QuantisedConvAttrs>().conv.groups);
    return lower.weights.laid_out(values, wanted);
}

/// The convolution of the values, for processors without products of 8 bits.
void lower_conv_in_floats(const NodeContext& lower) {
    const auto& attrs = lower.node.as<QuantisedConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const TensorDesc& y_desc = lower.graph.desc(lower.node.outputs[0]);
    const auto in_floats = [&](ValueId value) { return TensorDesc{DType::f32, lower.graph.desc(value).shape}; };
    const ConvProblem problem{image_desc(in_floats(inputs[0])),
                              any_layout(plain_kernel_desc(in_floats(inputs[1]), attrs.conv.groups)),
                              image_desc({DType::f32, y_desc.shape}), attrs.conv.stride, attrs.conv.padding};
    const Primitive conv = lower.onednn.conv_inference(problem, {true, attrs.conv.residual, attrs.conv.activation});
    const Placed x = lower.steps.temporary("values", conv.src, DType::f32);
    add_values(lower, inputs[0], attrs.x, x);
    const Placed result = lower.values.define(lower.node.outputs[0], image_desc(y_desc));
    const Placed values = attrs.type == DType::f32 ? result : lower.steps.temporary("results", conv.dst, DType::f32);
    // The primitive adds to what is in its output, so the residual goes there first.
    if (attrs.conv.residual) add_values(lower, inputs[4], attrs.residual, values);
    lower.steps.add_primitive(conv,
                              {{DNNL_ARG_SRC, x},
                               {DNNL_ARG_WEIGHTS, weight_values(lower, conv.weights)},
                               {DNNL_ARG_BIAS, lower.values.float_vector(inputs[3])},
                               {DNNL_ARG_DST, values}},
                              {DNNL_ARG_DST});
    if (attrs.type == DType::f32) return;
    const auto inverse = static_cast<float>(1 / attrs.y.scale);
    const auto zero = static_cast<std::int32_t>(attrs.y.zero);
    lower.steps.add("kernel", {values}, {result}, [=, count = y_desc.elements()](const StepContext&) {
        if (result.dtype == DType::u8) {
            quantise(count, values.as<float>(), inverse, zero, result.as<std::uint8_t>());
        } else {
            cast(count, values.as<float>(), result.as<BFloat16>());
        }
    });
}

void lower_quantised_conv2d(const NodeContext& lower) {
    if (!multiplies_bytes()) return lower_conv_in_floats(lower);
    if (is_depthwise_in_bytes(lower)) return lower_depthwise_in_bytes(lower);
    const auto& attrs = lower.node.as<QuantisedConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    const TensorDesc& x_desc = lower.graph.desc(inputs[0]);
    const TensorDesc& y_desc = lower.graph.desc(y);
    const GroupedKernel grouped(lower.graph.desc(inputs[1]), attrs.conv);
    const Arithmetic how = arithmetic_of(attrs, lower.graph.desc(inputs[1]).shape);
    const ConvProblem problem{image_desc(x_desc), any_layout(plain_kernel_desc(grouped.desc, grouped.groups)),
                              image_desc(y_desc), attrs.conv.stride, attrs.conv.padding};
    const Primitive conv = lower.onednn.conv_in_eight_bits(problem, how.epilogue);
    const Placed factors = factors_of(lower, lower.values.operand(inputs[2]), how);
    Arguments arguments = {{DNNL_ARG_SRC, lower.values.operand_as(inputs[0], conv.src, kBytesReason)},
                           {DNNL_ARG_WEIGHTS, lower.weights.prepared(inputs[1], conv.weights, grouped.merged)},
                           {DNNL_ARG_BIAS, bias_of(lower, factors, how)},
                           {kEightBitFactors, factors}};
    if (how.epilogue.zero) {
        const auto zero = static_cast<std::int32_t>(attrs.x.zero);
        arguments.emplace_back(kEightBitZero,
                               lower.weights.made(lower.node.name + ":zero", {DType::i32, {1}}, {},
                                                  [zero](const Placed& to) { *to.as<std::int32_t>() = zero; }));
    }
    const Placed result = place_result(lower, conv.dst, attrs.conv.residual ? &inputs[4] : nullptr, kBytesReason);
    lower.values.prefer_activation(conv.dst);
    arguments.emplace_back(DNNL_ARG_DST, result);
    lower.steps.add_primitive(conv, arguments, {DNNL_ARG_DST});
}

}  // namespace

bool is_left_to_quantise(const graph::Graph& graph, const graph::Node& normalised) {
    if (normalised.kind != graph::OpKind::normalise_image) return false;
    const ValueId image = normalised.outputs[0];
    const std::vector<graph::NodeId>& users = graph.value(image).users;
    return users.size() == 1 && graph.node(users.front()).kind == graph::OpKind::quantise &&
           std::ranges::find(graph.outputs(), image, &graph::Output::value) == graph.outputs().end();
}

std::span<const LoweringEntry> quantised_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::quantise, lower_quantise},
        {graph::OpKind::dequantise, lower_dequantise},
        {graph::OpKind::quantise_rows, lower_quantise_rows},
        {graph::OpKind::quantise_weight, lower_quantise_weight},
        {graph::OpKind::quantised_conv2d, lower_quantised_conv2d, kPrimitive},
        {graph::OpKind::quantised_dense, lower_quantised_dense},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
