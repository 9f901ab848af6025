// Convolutions and pooling: oneDNN primitives and own kernels on operands in the layouts in which they are kept.
#include <omp.h>

#include <algorithm>

#include "backend/cpu/isa.h"
#include "backend/cpu/kernels/conv.h"
#include "backend/cpu/lower/node_context.h"
#include "backend/cpu/lower/own_conv.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::ConvAttrs;
using graph::PoolAttrs;
using graph::ValueId;

namespace {

/// [O,I,H,W] (or [G,O/G,I,H,W]) of a HWIO kernel, layout open.
Desc open_kernel(const TensorDesc& kernel, DType type, std::int64_t groups) {
    return any_layout(plain_kernel_desc(TensorDesc{type, kernel.shape}, groups));
}

Desc open_activation(const TensorDesc& activation) {
    return any_layout(image_desc(activation));
}

/// The layout of a result that the convolution may choose.
Desc result_layout(const NodeContext& lower, const TensorDesc& activation) {
    return lower.layouts.channels_last() ? image_desc(activation) : open_activation(activation);
}

/// The dims and type of `whole` in the layout of a part of it.
Desc laid_out_as(const Desc& part, const Desc& whole) {
    return dims_of(part) == dims_of(whole) ? part : with_layout_of(whole, part).value();
}

/// The same problem with channels-last activations.
ConvProblem channels_last(const ConvProblem& problem, const TensorDesc& x, const TensorDesc& y) {
    ConvProblem result = problem;
    result.src = image_desc(x);
    result.dst = image_desc(y);
    return result;
}

/// The convolution for the first of these problems with a fast implementation on layouts that the other kernels read,
/// or else for the first problem with any implementation. Operands are reordered to its layouts.
template <typename Make> Primitive fastest(std::initializer_list<ConvProblem> problems, Make make) {
    std::optional<Primitive> usable;
    for (const ConvProblem& problem : problems) {
        try {
            Primitive found = make(problem);
            if (!channel_lanes(found.src) || !channel_lanes(found.dst)) continue;
            if (!found.is_naive()) return found;
            if (!usable) usable = found;
        } catch (const dnnl::error& error) {
            if (error.status != dnnl_unimplemented) throw;
        }
    }
    if (usable) return *usable;
    throw Error(ErrorKind::unsupported,
                "cpu backend: oneDNN has no convolution for these shapes and types on this processor");
}

const char* const kConvReason = "the fastest convolution reads another layout";

void lower_conv2d(const NodeContext& lower) {
    if (lower_winograd_conv(lower)) return;
    if (lower_own_conv(lower)) return;
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    const TensorDesc& y_desc = lower.graph.desc(y);
    const GroupedKernel grouped(lower.graph.desc(inputs[1]), attrs);
    const Desc kernel = open_kernel(grouped.desc, y_desc.dtype, grouped.groups);
    const Placed x = lower.values.operand(inputs[0]);
    const Division division(lower, y_desc.shape[0]);
    const TensorDesc y_part = division.part_of(y_desc);
    const ConvProblem as_it_lies{division.part_of(x.desc), kernel, result_layout(lower, y_part), attrs.stride,
                                 attrs.padding};
    const ConvProblem last = channels_last(as_it_lies, division.part_of(lower.graph.desc(inputs[0])), y_part);
    ConvProblem open = as_it_lies;
    open.src = any_layout(as_it_lies.src);
    const bool plain = !attrs.bias && !attrs.residual && attrs.activation == graph::Activation::none;
    const ConvEpilogue epilogue{attrs.bias, attrs.residual, attrs.activation};
    const Primitive conv = division.plan([&] {
        return fastest({as_it_lies, open, last}, [&](const ConvProblem& problem) {
            return plain ? lower.onednn.conv_forward(problem) : lower.onednn.conv_inference(problem, epilogue);
        });
    });
    const Desc whole_x = laid_out_as(conv.src, x.desc);
    const Desc whole_y = laid_out_as(conv.dst, image_desc(y_desc));

    std::vector<std::pair<int, Placed>> arguments = {
        {DNNL_ARG_SRC, lower.values.operand_as(inputs[0], whole_x, kConvReason)},
        {DNNL_ARG_WEIGHTS, lower.weights.prepared(inputs[1], conv.weights, grouped.merged)},
    };
    if (attrs.bias) arguments.emplace_back(DNNL_ARG_BIAS, lower.values.float_vector(inputs[2]));
    const Placed result =
        place_result(lower, whole_y, attrs.residual ? &inputs[attrs.bias ? 3 : 2] : nullptr, kConvReason);
    lower.values.prefer_activation(whole_y);
    arguments.emplace_back(DNNL_ARG_DST, result);
    division.add(lower, conv, arguments, {{DNNL_ARG_SRC, conv.src}, {DNNL_ARG_DST, conv.dst}}, {DNNL_ARG_DST});
}

/// A 1x1 convolution with a stride reads every stride-th pixel only; oneDNN's gradients of it are slow.
bool is_strided_projection(const ConvAttrs& attrs, const Shape& kernel) {
    return attrs.stride > 1 && kernel[0] == 1 && kernel[1] == 1 && attrs.padding == graph::Padding{};
}

/// The input gradient of a strided projection: the gradient of the unstrided convolution, spread over the pixels that
/// were read.
void lower_projection_input_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId dx = lower.node.outputs[0];
    const TensorDesc& dx_desc = lower.graph.desc(dx);
    TensorDesc read_desc = lower.graph.desc(inputs[0]);  // of the pixels that were read
    read_desc.shape[3] = dx_desc.shape[3];
    const Placed dy = lower.values.operand(inputs[0]);
    const Desc kernel = open_kernel(lower.graph.desc(inputs[1]), dx_desc.dtype, attrs.groups);
    const Division division(lower, dx_desc.shape[0]);
    const Desc dy_part = division.part_of(dy.desc);
    const TensorDesc read_part = division.part_of(read_desc);
    const ConvProblem as_it_lies{like_activation(dy_part, read_part), kernel, dy_part, 1, {}};
    const ConvProblem open{open_activation(read_part), kernel, any_layout(dy_part), 1, {}};
    const Primitive conv = division.plan([&] {
        return fastest({as_it_lies, open},
                       [&](const ConvProblem& problem) { return lower.onednn.conv_input_grad(problem); });
    });
    const Placed gradient = lower.values.operand_as(inputs[0], laid_out_as(conv.dst, dy.desc), kConvReason);
    const Placed weights = lower.weights.prepared(inputs[1], conv.weights);
    const Placed read =
        lower.steps.temporary("read_pixels", laid_out_as(conv.src, image_desc(read_desc)), dx_desc.dtype);
    division.add(lower, conv, {{DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, read}},
                 {{DNNL_ARG_DIFF_DST, conv.dst}, {DNNL_ARG_DIFF_SRC, conv.src}}, {DNNL_ARG_DIFF_SRC});
    const Placed result = lower.values.define(dx, like_activation(conv.src, dx_desc));
    const Picture from{blocks_of(read), read_desc.shape[1], read_desc.shape[2]};
    const Picture to{blocks_of(result), dx_desc.shape[1], dx_desc.shape[2]};
    with_float_type(dx_desc.dtype, [&]<typename T>() {
        lower.steps.add_copy("spread", read, result, [=, stride = attrs.stride](const StepContext&) {
            shortcut_pad_grad(to, from, stride, read.as<T>(), result.as<T>());
        });
    });
}

void lower_conv2d_input_grad(const NodeContext& lower) {
    if (lower_winograd_input_grad(lower)) return;
    if (lower_own_input_grad(lower)) return;
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    if (is_strided_projection(attrs, lower.graph.desc(inputs[1]).shape)) return lower_projection_input_grad(lower);
    const ValueId dx = lower.node.outputs[0];
    const TensorDesc& dx_desc = lower.graph.desc(dx);
    const Placed dy = lower.values.operand(inputs[0]);
    const GroupedKernel grouped(lower.graph.desc(inputs[1]), attrs);
    const Desc kernel = open_kernel(grouped.desc, dx_desc.dtype, grouped.groups);
    const Division division(lower, dx_desc.shape[0]);
    const TensorDesc dx_part = division.part_of(dx_desc);
    const ConvProblem as_it_lies{result_layout(lower, dx_part), kernel, division.part_of(dy.desc), attrs.stride,
                                 attrs.padding};
    ConvProblem open = as_it_lies;
    open.dst = any_layout(as_it_lies.dst);
    const ConvProblem last = channels_last(as_it_lies, dx_part, division.part_of(lower.graph.desc(inputs[0])));
    const Primitive conv = division.plan([&] {
        return fastest({as_it_lies, open, last},
                       [&](const ConvProblem& problem) { return lower.onednn.conv_input_grad(problem); });
    });
    const Placed gradient = lower.values.operand_as(inputs[0], laid_out_as(conv.dst, dy.desc), kConvReason);
    const Placed weights = lower.weights.prepared(inputs[1], conv.weights, grouped.merged);
    const Placed result = lower.values.define(dx, laid_out_as(conv.src, image_desc(dx_desc)));
    division.add(lower, conv, {{DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DIFF_SRC, result}},
                 {{DNNL_ARG_DIFF_DST, conv.dst}, {DNNL_ARG_DIFF_SRC, conv.src}}, {DNNL_ARG_DIFF_SRC});
}

bool is_channels_last(const Placed& tensor) {
    return channel_lanes(tensor.desc) == blocks_of(tensor).channels();
}

/// Every stride-th pixel of x, made once.
Placed read_pixels(const NodeContext& lower, ValueId x, std::int64_t stride) {
    const Placed source = lower.values.operand(x);
    const TensorDesc& x_desc = lower.graph.desc(x);
    if (stride == 1) return source;
    TensorDesc read_desc = x_desc;
    for (const std::size_t axis : {1, 2})
        read_desc.shape[axis] = (x_desc.shape[axis] + stride - 1) / stride;
    const Placed result = lower.steps.temporary("read_pixels", like_activation(source.desc, read_desc), x_desc.dtype);
    const Picture from{blocks_of(source), x_desc.shape[1], x_desc.shape[2]};
    const Picture to{blocks_of(result), read_desc.shape[1], read_desc.shape[2]};
    with_float_type(x_desc.dtype, [&]<typename T>() {
        lower.steps.add_copy("gather", source, result, [=](const StepContext&) {
            shortcut_pad(from, to, stride, source.as<T>(), result.as<T>());
        });
    });
    return result;
}

/// The weight gradient of a 1x1 convolution on channels-last tensors: x[pixels, I] transposed times dy[pixels, O].
/// With AMX, this product was up to five times as fast as oneDNN's convolution, for every shape of ResNet-50; with
/// AVX-512 alone, EfficientNet-B0 as a whole was slower with it (56 against 41 ms a step of 16 images, Zen 4). Each
/// group is a product of its own.
void lower_projection_weight_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId dw = lower.node.outputs[0];
    const TensorDesc& dw_desc = lower.graph.desc(dw);
    Placed x = read_pixels(lower, inputs[0], attrs.stride);
    Placed dy = lower.values.operand(inputs[1]);
    const std::int64_t pixels = element_count(lower.graph.desc(inputs[1]).shape) / dw_desc.shape[3];
    const std::int64_t in = dw_desc.shape[2];
    const std::int64_t all_out = dw_desc.shape[3];
    const std::int64_t out = all_out / attrs.groups;
    x.desc = Desc({attrs.groups, in, pixels}, to_dnnl(x.dtype), Dims{in, 1, in * attrs.groups});
    dy.desc = Desc({attrs.groups, pixels, out}, to_dnnl(dy.dtype), Dims{out, all_out, 1});
    const Desc result({attrs.groups, in, out}, to_dnnl(dw_desc.dtype), Dims{out, all_out, 1});
    const Primitive product = lower.onednn.matmul(x.desc, dy.desc, result, false);
    lower.sums.add_gradient_primitive(lower.sums.define_gradient(dw, plain_kernel_desc(dw_desc, attrs.groups)), product,
                                      {{DNNL_ARG_SRC, x}, {DNNL_ARG_WEIGHTS, dy}}, DNNL_ARG_DST, result);
}

/// Extracts a kernel's gradient from the gradient of the merged groups.
void split_merged_gradient(const NodeContext& lower, const Placed& gradient, const GroupedKernel& grouped) {
    const ValueId dw = lower.node.outputs[0];
    const TensorDesc& dw_desc = lower.graph.desc(dw);
    CNNTRAIN_CHECK(dw_desc.dtype == DType::f32, "gradients of kernels are f32, not that of " + lower.node.name);
    const Desc row_major = plain_kernel_desc(grouped.desc, grouped.groups);
    Placed plain = gradient;
    if (gradient.desc != row_major) {
        plain = lower.steps.temporary("merged_rows", row_major, gradient.dtype);
        lower.steps.add_copy_primitive("reorder", lower.onednn.reorder(gradient.desc, row_major), gradient, plain);
    }
    const std::int64_t groups = grouped.groups * grouped.merged;
    const MergedKernel kernel{dw_desc.shape[0] * dw_desc.shape[1], dw_desc.shape[2], dw_desc.shape[3], groups,
                              grouped.merged};
    lower.sums.add_gradient_step(lower.sums.define_gradient(dw, plain_kernel_desc(dw_desc, groups)), "split_groups",
                                 {plain}, [=](float* to) { split_groups(kernel, plain.as<float>(), to); });
}

/// Computed by an own kernel: oneDNN 2.6 computes gradients of 5x5 kernels as if they were dense, 5 to 25 times
/// slower in EfficientNet-B0. For 3x3 kernels the two are equally fast (Zen 4).
void lower_depthwise_weight_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId dw = lower.node.outputs[0];
    const TensorDesc& dw_desc = lower.graph.desc(dw);
    const TensorDesc& x_desc = lower.graph.desc(inputs[0]);
    const TensorDesc& dy_desc = lower.graph.desc(inputs[1]);
    CNNTRAIN_CHECK(dw_desc.dtype == DType::f32, "gradients of kernels are f32, not that of " + lower.node.name);
    const Placed x = lower.values.operand(inputs[0]);
    const Placed dy = lower.values.operand_as(inputs[1], like_activation(x.desc, dy_desc), kConvReason);
    const Sums::Gradient result = lower.sums.define_gradient(dw, plain_kernel_desc(dw_desc, attrs.groups));
    const DepthwiseShape shape{{blocks_of(x), x_desc.shape[1], x_desc.shape[2]},
                               {blocks_of(dy), dy_desc.shape[1], dy_desc.shape[2]},
                               dw_desc.shape[0],
                               attrs.stride,
                               attrs.padding.top,
                               attrs.padding.left};
    const auto scratch = lower.steps.scratch_floats(depthwise_scratch_floats(shape));
    with_float_type(x.dtype, [&]<typename T>() {
        lower.sums.add_gradient_step(result, "", {x, dy}, [=](float* to) {
            depthwise_weight_grad(shape, x.as<T>(), dy.as<T>(), to, scratch());
        });
    });
}

/// Is lower_projection_weight_grad() the faster path?
bool is_matrix_product(const NodeContext& lower, const ConvAttrs& attrs, const Shape& kernel) {
    const Placed x = lower.values.operand(lower.node.inputs[0]);
    const Placed dy = lower.values.operand(lower.node.inputs[1]);
    const bool is_projection = kernel[0] == 1 && kernel[1] == 1 && attrs.padding == graph::Padding{};
    const bool is_faster = attrs.groups > 1 || (effective_isa().amx && x.dtype == DType::bf16);
    return is_projection && is_faster && is_channels_last(x) && is_channels_last(dy);
}

/// The reason why conv_weight_grad() is faster than oneDNN for this shape; empty if it is not. Measured on Zen 4 with
/// 32 samples and 16 to 512 channels, oneDNN's time as a multiple of the kernel's: in bfloat16 1.1 to 2.3 with a stride
/// and 1.0 to 2.2 without one, within the limits below, and 0.75 to 1.0 beyond them; held to AVX2 0.94 to 1.4 without a
/// stride. In f32 with AVX-512 it was 0.8 to 1.2. With AMX nothing was measured.
std::string reason_for_tiles(const WeightGradShape& shape, DType type) {
    constexpr std::int64_t kLeastRow = 128;  // elements: smaller ones do not make up for the partial sums
    const Isa isa = effective_isa();
    const std::int64_t outputs = shape.y.shape.channels();
    const std::int64_t width = shape.y.width;
    if (outputs * width < kLeastRow) return "";
    if (type == DType::f32) return !isa.avx512 && shape.stride == 1 ? "AVX2" : "";
    if (type != DType::bf16 || isa.amx || !isa.avx512_bf16) return "";
    if (shape.stride > 1) return width <= 8 || (width <= 16 && outputs <= 128) ? "stride" : "";
    if (width <= 8 && outputs <= 256) return "small images";
    return width <= 32 && outputs <= 64 ? "few channels" : "";
}

/// Adds the step if conv_weight_grad() is the faster implementation.
bool lower_tiled_weight_grad(const NodeContext& lower, const GroupedKernel& grouped) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const Placed x = lower.values.operand(inputs[0]);
    const Placed dy = lower.values.operand(inputs[1]);
    const bool is_square = grouped.desc.shape[0] == grouped.desc.shape[1];
    if (grouped.desc.shape[1] != kWeightGradColumns || !is_square || grouped.merged > 1) return false;
    if (!channel_lanes(x.desc) || !channel_lanes(dy.desc)) return false;
    const TensorDesc& x_desc = lower.graph.desc(inputs[0]);
    const TensorDesc& dy_desc = lower.graph.desc(inputs[1]);
    const WeightGradShape shape{{blocks_of(x), x_desc.shape[1], x_desc.shape[2]},
                                {blocks_of(dy), dy_desc.shape[1], dy_desc.shape[2]},
                                attrs.groups,
                                grouped.desc.shape[0],
                                attrs.stride,
                                attrs.padding.top,
                                attrs.padding.left};
    const std::string reason = reason_for_tiles(shape, x.dtype);
    if (reason.empty()) return false;
    bool is_added = false;
    with_float_type(x.dtype, [&]<typename T>() {
        if (!has_weight_grad<T>(shape)) return;
        const auto scratch = lower.steps.scratch_floats(weight_grad_scratch_floats<T>(shape, omp_get_max_threads()));
        const Sums::Gradient result =
            lower.sums.define_gradient(lower.node.outputs[0], tiled_kernel_desc(grouped.desc, attrs.groups));
        lower.sums.add_gradient_step(
            result, "", {x, dy}, [=](float* to) { conv_weight_grad(shape, x.as<T>(), dy.as<T>(), to, scratch()); },
            "tiles: " + reason);
        is_added = true;
    });
    return is_added;
}

/// Computes the weight gradient of each part of the batch, then their sum in this order.
void lower_weight_grad_by_parts(const NodeContext& lower, const GroupedKernel& grouped) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const TensorDesc& x_desc = lower.graph.desc(inputs[0]);
    const TensorDesc& dy_desc = lower.graph.desc(inputs[1]);
    const ValueId dw = lower.node.outputs[0];
    const Division division(lower, x_desc.shape[0]);
    const TensorDesc x_part = division.part_of(x_desc);
    const TensorDesc dy_part = division.part_of(dy_desc);
    const ConvProblem as_it_lies{like_activation(lower.values.operand(inputs[0]).desc, x_part),
                                 open_kernel(grouped.desc, DType::f32, grouped.groups),
                                 like_activation(lower.values.operand(inputs[1]).desc, dy_part), attrs.stride,
                                 attrs.padding};
    ConvProblem open = as_it_lies;
    open.src = open_activation(x_part);
    const Primitive conv = division.plan([&] {
        return fastest({as_it_lies, open, channels_last(as_it_lies, x_part, dy_part)},
                       [&](const ConvProblem& problem) { return lower.onednn.conv_weight_grad(problem); });
    });
    const Placed source = lower.values.operand_as(inputs[0], like_activation(conv.src, x_desc), kConvReason);
    const Placed gradient = lower.values.operand_as(inputs[1], like_activation(conv.dst, dy_desc), kConvReason);
    const auto count = static_cast<std::int64_t>(conv.weights.get_size() / sizeof(float));
    const Placed sums = lower.steps.temporary_floats("parts", division.count() * count);
    division.add(
        lower, conv, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DIFF_DST, gradient}, {DNNL_ARG_DIFF_WEIGHTS, sums}},
        {{DNNL_ARG_SRC, conv.src}, {DNNL_ARG_DIFF_DST, conv.dst}, {DNNL_ARG_DIFF_WEIGHTS, conv.weights, count}},
        {DNNL_ARG_DIFF_WEIGHTS});
    const auto sum = [=, parts = division.count()](float* to) { sum_parts(parts, count, sums.as<float>(), to); };
    if (grouped.merged == 1)
        return lower.sums.add_gradient_step(lower.sums.define_gradient(dw, conv.weights), "sum", {sums}, sum);
    const Placed merged = lower.steps.temporary("merged", conv.weights, DType::f32);
    lower.steps.add_copy("sum", sums, merged, [=](const StepContext&) { sum(merged.as<float>()); });
    split_merged_gradient(lower, merged, grouped);
}

void lower_conv2d_weight_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ConvAttrs>();
    const auto& inputs = lower.node.inputs;
    const ValueId dw = lower.node.outputs[0];
    const TensorDesc& dw_desc = lower.graph.desc(dw);
    if (is_depthwise(attrs, dw_desc.shape)) return lower_depthwise_weight_grad(lower);
    if (lower_winograd_weight_grad(lower)) return;
    if (lower_own_weight_grad(lower)) return;
    const GroupedKernel grouped(dw_desc, attrs);
    if (lower_tiled_weight_grad(lower, grouped)) return;
    if (lower.request.cpu.thread_independent) return lower_weight_grad_by_parts(lower, grouped);
    if (is_matrix_product(lower, attrs, dw_desc.shape)) return lower_projection_weight_grad(lower);
    const Placed x = lower.values.operand(inputs[0]);
    const Placed dy = lower.values.operand(inputs[1]);
    const ConvProblem as_it_lies{x.desc, open_kernel(grouped.desc, dw_desc.dtype, grouped.groups), dy.desc,
                                 attrs.stride, attrs.padding};
    ConvProblem open = as_it_lies;
    open.src = any_layout(x.desc);
    const ConvProblem last = channels_last(as_it_lies, lower.graph.desc(inputs[0]), lower.graph.desc(inputs[1]));
    const Primitive conv = fastest({as_it_lies, open, last},
                                   [&](const ConvProblem& problem) { return lower.onednn.conv_weight_grad(problem); });
    const Placed source = lower.values.operand_as(inputs[0], conv.src, kConvReason);
    const Placed gradient = lower.values.operand_as(inputs[1], conv.dst, kConvReason);
    Arguments arguments = {{DNNL_ARG_SRC, source}, {DNNL_ARG_DIFF_DST, gradient}};
    if (grouped.merged == 1) {
        return lower.sums.add_gradient_primitive(lower.sums.define_gradient(dw, conv.weights), conv, arguments,
                                                 DNNL_ARG_DIFF_WEIGHTS, conv.weights);
    }
    const Placed merged = lower.steps.temporary("merged", conv.weights, dw_desc.dtype);
    arguments.emplace_back(DNNL_ARG_DIFF_WEIGHTS, merged);
    lower.steps.add_primitive(conv, arguments, {DNNL_ARG_DIFF_WEIGHTS});
    split_merged_gradient(lower, merged, grouped);
}

/// Runs the forward pooling into `y` and returns its workspace.
Placed add_max_pool(const NodeContext& lower, const Placed& x, const Placed& y, const PoolAttrs& attrs) {
    const Primitive pool = lower.onednn.max_pool(x.desc, y.desc, attrs);
    const Placed workspace = lower.steps.temporary("workspace", pool.workspace, DType::u8);
    lower.steps.add_primitive(pool, {{DNNL_ARG_SRC, x}, {DNNL_ARG_DST, y}, {DNNL_ARG_WORKSPACE, workspace}},
                              {DNNL_ARG_DST, DNNL_ARG_WORKSPACE});
    return workspace;
}

void lower_max_pool(const NodeContext& lower) {
    const ValueId x = lower.node.inputs[0];
    const ValueId y = lower.node.outputs[0];
    const Placed source = lower.values.operand(x);
    const Placed result = lower.values.define(y, like_activation(source.desc, lower.graph.desc(y)));
    if (source.dtype == DType::u8) {
        const Primitive pool = lower.onednn.max_pool(source.desc, result.desc, lower.node.as<PoolAttrs>());
        return lower.steps.add_primitive(pool, {{DNNL_ARG_SRC, source}, {DNNL_ARG_DST, result}}, {DNNL_ARG_DST});
    }
    lower.values.workspace(x) = add_max_pool(lower, source, result, lower.node.as<PoolAttrs>());
}

void lower_max_pool_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<PoolAttrs>();
    const ValueId x = lower.node.inputs[0];
    const TensorDesc& dy_desc = lower.graph.desc(lower.node.inputs[1]);
    const ValueId dx = lower.node.outputs[0];
    const Placed source = lower.values.operand(x);
    const Placed dy = lower.values.operand_as(lower.node.inputs[1], like_activation(source.desc, dy_desc),
                                              "the pooling's gradient is laid out like its input");
    if (!lower.values.workspace(x)) {
        const Placed y = lower.steps.temporary("y", dy.desc, dy.dtype);
        lower.values.workspace(x) = add_max_pool(lower, source, y, attrs);
    }
    const Primitive pool = lower.onednn.max_pool_grad(source.desc, dy.desc, attrs);
    const Placed result = lower.values.define(dx, source.desc);
    lower.steps.add_primitive(
        pool, {{DNNL_ARG_DIFF_DST, dy}, {DNNL_ARG_WORKSPACE, lower.values.workspace(x)}, {DNNL_ARG_DIFF_SRC, result}},
        {DNNL_ARG_DIFF_SRC});
}

void lower_global_average_pool(const NodeContext& lower) {
    const ValueId y = lower.node.outputs[0];
    const Placed x = lower.values.operand(lower.node.inputs[0]);
    const Placed result = lower.values.define(y);
    const Blocks shape = blocks_of(x);
    if (const PixelSums summed = lower.values.pixel_sums(lower.node.inputs[0]); summed.sums) {
        const std::int64_t count = shape.n * shape.channels();
        Step step = lower.steps.node_step();
        step.implementation = "sums";
        step.flops = static_cast<double>(summed.parts * count);
        step.reads = {summed.sums};
        step.writes = {result};
        with_float_type(result.dtype, [&]<typename T>() {
            step.run = [=](const StepContext&) {
                const float factor = 1 / static_cast<float>(shape.pixels);
                scaled_sum_of_parts(summed.parts, count, summed.sums.as<float>(), factor, result.as<T>());
            };
        });
        return lower.steps.add(std::move(step));
    }
    add_typed(lower, x.dtype, "kernel", {x}, {result}, [x, result, shape]<typename T>(const StepContext&) {
        global_average_pool(shape, x.as<T>(), result.as<T>());
    });
}

void lower_global_average_pool_grad(const NodeContext& lower) {
    const ValueId dx = lower.node.outputs[0];
    const Placed dy = lower.values.operand(lower.node.inputs[0]);
    if (is_left_to_norm(lower, dx)) return lower.values.define_spread(dx, dy);
    const Placed result = lower.values.define(dx, lower.values.preferred_activation(lower.graph.desc(dx)));
    const Blocks shape = blocks_of(result);
    add_typed(lower, dy.dtype, "kernel", {dy}, {result}, [dy, result, shape]<typename T>(const StepContext&) {
        global_average_pool_grad(shape, dy.as<T>(), result.as<T>());
    });
}

}  // namespace

std::span<const LoweringEntry> conv_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::conv2d, lower_conv2d, kPrimitive},
        {graph::OpKind::conv2d_input_grad, lower_conv2d_input_grad, kPrimitive},
        {graph::OpKind::conv2d_weight_grad, lower_conv2d_weight_grad, kPrimitive},
        {graph::OpKind::max_pool, lower_max_pool, kPrimitive},
        {graph::OpKind::max_pool_grad, lower_max_pool_grad, kPrimitive},
        {graph::OpKind::global_average_pool, lower_global_average_pool},
        {graph::OpKind::global_average_pool_grad, lower_global_average_pool_grad},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
