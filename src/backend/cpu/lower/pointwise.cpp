// Elementwise ops, image normalisation and the parameter-free shortcut: own kernels.
#include "backend/cpu/kernels/conv.h"
#include "backend/cpu/lower/node_context.h"
#include "backend/cpu/lower/sums.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::ConstantAttrs;
using graph::NormaliseImageAttrs;
using graph::ShortcutPadAttrs;
using graph::ValueId;

namespace {

const char* const kElementwiseReason = "operands of one elementwise sweep lie alike";

Picture picture_of(const Placed& tensor, const TensorDesc& desc) {
    return Picture{blocks_of(tensor), desc.shape[1], desc.shape[2]};
}

void lower_constant(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ConstantAttrs>();
    const ValueId y = lower.node.outputs[0];
    const Placed result = lower.values.define(y, lower.layouts.row_major_desc(y));
    with_float_type(result.dtype, [&]<typename T>() {
        const std::int64_t count = result.stored_elements();
        lower.steps.add("kernel", {}, {result},
                        [result, count, value = static_cast<float>(attrs.value)](const StepContext&) {
                            if constexpr (std::is_same_v<T, float>) {
                                std::fill_n(result.as<float>(), count, value);
                            } else {
                                std::fill_n(result.as<BFloat16>(), count, to_bfloat16(value));
                            }
                        });
    });
}

void lower_scale(const NodeContext& lower) {
    const Placed x = lower.values.operand(lower.node.inputs[0]);
    const ValueId y = lower.node.outputs[0];
    const Placed result = lower.values.define(y);
    lower.steps.add("kernel", {x}, {result},
                    [x, result, factor = lower.node.as<graph::ScaleAttrs>().factor](const StepContext&) {
                        *result.as<float>() = static_cast<float>(factor * static_cast<double>(*x.as<float>()));
                    });
}

void lower_cast(const NodeContext& lower) {
    const ValueId x = lower.node.inputs[0];
    const ValueId y = lower.node.outputs[0];
    // Casts of weights are folded into their prepared copies.
    if (lower.walk.section() == Section::prepare()) return;
    const Placed source = lower.values.operand(x);
    const DType to = lower.graph.desc(y).dtype;
    if (source.dtype == to) {
        throw Error(ErrorKind::internal, "cpu backend: cast of " + lower.node.name + " to its own type");
    }
    const std::optional<Desc> desc = with_type(source.desc, to);
    CNNTRAIN_CHECK(desc.has_value(), "cast of a tensor in an unnamed layout: " + lower.node.name);
    const Placed result = lower.values.define(y, *desc);
    const std::int64_t count = source.stored_elements();
    if (source.dtype == DType::f32 && to == DType::bf16) {
        lower.steps.add("kernel", {source}, {result}, [source, result, count](const StepContext&) {
            cast(count, source.as<float>(), result.as<BFloat16>());
        });
    } else if (source.dtype == DType::bf16 && to == DType::f32) {
        lower.steps.add("kernel", {source}, {result}, [source, result, count](const StepContext&) {
            cast(count, source.as<BFloat16>(), result.as<float>());
        });
    } else {
        lower.steps.add_primitive(lower.onednn.reorder(source.desc, result.desc),
                                  {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, result}}, {DNNL_ARG_TO});
    }
}

void lower_add(const NodeContext& lower) {
    const auto& inputs = lower.node.inputs;
    const ValueId y = lower.node.outputs[0];
    const Placed a = lower.values.operand(inputs[0]);
    const Placed b = lower.values.operand_as(inputs[1], a.desc, kElementwiseReason);
    const Placed result = lower.values.dies_here(inputs[1], a.desc) && !lower.values.dies_here(inputs[0], a.desc)
                              ? lower.values.define_over(y, a.desc, inputs[1])
                              : lower.values.define_or_reuse(y, a.desc, inputs[0]);
    const std::int64_t count = a.stored_elements();
    add_typed(lower, a.dtype, "kernel", {a, b}, {result}, [a, b, result, count]<typename T>(const StepContext&) {
        add(count, a.as<T>(), b.as<T>(), result.as<T>());
    });
}

void lower_normalise_image(const NodeContext& lower) {
    if (is_left_to_quantise(lower.graph, lower.node)) return;
    const auto& attrs = lower.node.as<NormaliseImageAttrs>();
    const ValueId x = lower.node.inputs[0];
    const ValueId y = lower.node.outputs[0];
    const TensorDesc& desc = lower.graph.desc(y);
    const Placed source = lower.values.operand(x);
    const Placed result = lower.values.define(y, image_desc(desc));
    const std::int64_t channels = desc.shape.back();
    const std::int64_t pixels = desc.elements() / channels;
    const std::vector<float> scale(attrs.scale.begin(), attrs.scale.end());
    const std::vector<float> shift(attrs.shift.begin(), attrs.shift.end());
    with_float_type(result.dtype, [&]<typename Out>() {
        with_pixel_type(source.dtype, [&]<typename In>() {
            lower.steps.add("kernel", {source}, {result}, [=](const StepContext&) {
                normalise_image(pixels, channels, source.as<In>(), scale.data(), shift.data(), result.as<Out>());
            });
        });
    });
}

void lower_shortcut_pad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ShortcutPadAttrs>();
    const ValueId x = lower.node.inputs[0];
    const ValueId y = lower.node.outputs[0];
    const Placed source = lower.values.operand(x);
    const Placed result = lower.values.define(y, like_activation(source.desc, lower.graph.desc(y)));
    const Picture from = picture_of(source, lower.graph.desc(x));
    const Picture to = picture_of(result, lower.graph.desc(y));
    add_typed(lower, source.dtype, "kernel", {source}, {result},
              [=, stride = attrs.stride]<typename T>(const StepContext&) {
                  shortcut_pad(from, to, stride, source.as<T>(), result.as<T>());
              });
}

void lower_shortcut_pad_grad(const NodeContext& lower) {
    const auto& attrs = lower.node.as<ShortcutPadAttrs>();
    const ValueId dy = lower.node.inputs[0];
    const ValueId dx = lower.node.outputs[0];
    const Placed source = lower.values.operand(dy);
    const Placed result = lower.values.define(dx, like_activation(source.desc, lower.graph.desc(dx)));
    const Picture from = picture_of(source, lower.graph.desc(dy));
    const Picture to = picture_of(result, lower.graph.desc(dx));
    add_typed(lower, source.dtype, "kernel", {source}, {result},
              [=, stride = attrs.stride]<typename T>(const StepContext&) {
                  shortcut_pad_grad(to, from, stride, source.as<T>(), result.as<T>());
              });
}

}  // namespace

std::span<const LoweringEntry> pointwise_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::constant, lower_constant},
        {graph::OpKind::scale, lower_scale},
        {graph::OpKind::cast, lower_cast},
        {graph::OpKind::add, lower_add},
        {graph::OpKind::normalise_image, lower_normalise_image},
        {graph::OpKind::shortcut_pad, lower_shortcut_pad},
        {graph::OpKind::shortcut_pad_grad, lower_shortcut_pad_grad},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
