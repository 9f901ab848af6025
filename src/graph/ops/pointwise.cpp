// Elementwise ops and ops that only move elements: constant, scale, cast, add, normalise_image, shortcut_pad.
#include <algorithm>

#include "graph/ops/op_support.h"

namespace cnntrain::ops {
namespace {

// ---- constant ----

std::vector<TensorDesc> infer_constant(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 0);
    const TensorDesc& desc = std::get<graph::ConstantAttrs>(attrs).desc;
    expect_floating(desc, "a constant");
    return {desc};
}

void evaluate_constant(const Attrs& attrs, RefInputs /*inputs*/, RefOutputs outputs) {
    std::ranges::fill(outputs[0].values, std::get<graph::ConstantAttrs>(attrs).value);
}

// ---- scale ----

std::vector<TensorDesc> infer_scale(const graph::ScaleAttrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_same(inputs[0], {DType::f32, {}}, "x and f32[]");
    return {inputs[0]};
}

void scale_gradient(GradContext& context) {
    context.set_grad(0, context.add_one(OpKind::scale, context.attrs(), {context.grad_output(0)}, "scale_grad"));
}

void evaluate_scale(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    outputs[0].values[0] = std::get<graph::ScaleAttrs>(attrs).factor * inputs[0]->values[0];
}

// ---- cast ----

std::vector<TensorDesc> infer_cast(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_floating(inputs[0], "the input");
    TensorDesc result{std::get<graph::CastAttrs>(attrs).type, inputs[0].shape};
    expect_floating(result, "the result");
    return {result};
}

/// The gradient of a 16-bit weight that was widened stays as wide as it is: updates compute in f32.
void cast_gradient(GradContext& context) {
    const ValueId x = context.input(0);
    const ValueId dy = context.grad_output(0);
    const DType type = context.desc(x).dtype;
    const bool is_wide = context.is_variable(x) && context.desc(dy).dtype == DType::f32;
    const bool fits = is_wide || context.desc(dy).dtype == type;
    context.set_grad(0, fits ? dy : context.add_one(OpKind::cast, graph::CastAttrs{type}, {dy}, "grad"));
}

// ---- add ----

std::vector<TensorDesc> infer_add(const Attrs& /*attrs*/, Descs inputs) {
    expect_inputs(inputs, 2);
    expect_floating(inputs[0], "the summands");
    expect_same(inputs[0], inputs[1], "the summands");
    return {inputs[0]};
}

void add_gradient(GradContext& context) {
    context.set_grad(0, context.grad_output(0));
    context.set_grad(1, context.grad_output(0));
}

void evaluate_add(const Attrs& /*attrs*/, RefInputs inputs, RefOutputs outputs) {
    std::ranges::transform(inputs[0]->values, inputs[1]->values, outputs[0].values.begin(), std::plus<>());
}

// ---- normalise_image ----

std::vector<TensorDesc> infer_normalise_image(const graph::NormaliseImageAttrs& a, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_rank(inputs[0], 4, "x[N,H,W,C]");
    if (inputs[0].dtype != DType::u8) expect_floating(inputs[0], "x, where it is not u8,");
    const auto channels = static_cast<std::size_t>(inputs[0].shape[3]);
    if (a.scale.size() != channels || a.shift.size() != channels) {
        reject("needs scale and shift for " + std::to_string(channels) + " channels, got " +
               std::to_string(a.scale.size()) + " and " + std::to_string(a.shift.size()));
    }
    TensorDesc result{a.type, inputs[0].shape};
    expect_floating(result, "the result");
    return {result};
}

void evaluate_normalise_image(const graph::NormaliseImageAttrs& a, RefInputs inputs, RefOutputs outputs) {
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
        const std::size_t c = i % a.scale.size();
        outputs[0].values[i] = inputs[0]->values[i] * a.scale[c] + a.shift[c];
    }
}

// ---- shortcut_pad ----

Shape shortcut_shape(const Shape& x, std::int64_t stride, std::int64_t channels) {
    if (stride < 1) reject("the stride must be at least 1, not " + std::to_string(stride));
    if (channels < x[3]) reject("cannot pad " + std::to_string(x[3]) + " channels to " + std::to_string(channels));
    return {x[0], (x[1] + stride - 1) / stride, (x[2] + stride - 1) / stride, channels};
}

std::vector<TensorDesc> infer_shortcut_pad(const graph::ShortcutPadAttrs& a, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_activation(inputs[0], "x[N,H,W,C]");
    return {{inputs[0].dtype, shortcut_shape(inputs[0].shape, a.stride, a.channels)}};
}

void shortcut_pad_gradient(GradContext& context) {
    auto attrs = context.attrs_as<graph::ShortcutPadAttrs>();
    attrs.input_shape = context.desc(context.input(0)).shape;
    attrs.channels = attrs.input_shape.at(3);
    context.set_grad(0, context.add_one(OpKind::shortcut_pad_grad, attrs, {context.grad_output(0)}, "grad"));
}

std::vector<TensorDesc> infer_shortcut_pad_grad(const graph::ShortcutPadAttrs& a, Descs inputs) {
    expect_inputs(inputs, 1);
    expect_activation(inputs[0], "dy[N,H,W,C]");
    const TensorDesc dx{inputs[0].dtype, a.input_shape};
    expect_activation(dx, "dx[N,H,W,C]");
    if (a.channels != dx.shape[3])
        reject("dx has " + std::to_string(dx.shape[3]) + " channels, not " + std::to_string(a.channels));
    expect_shape(inputs[0], shortcut_shape(dx.shape, a.stride, inputs[0].shape[3]), "dy");
    return {dx};
}

/// Calls copy(offset in the large x, offset in the small y, channels) for every pixel that survives.
template <typename Copy>
void for_each_kept_pixel(const Shape& x_shape, const Shape& y_shape, std::int64_t stride, Copy copy) {
    const Nhwc x(x_shape);
    const Nhwc y(y_shape);
    for (std::int64_t n = 0; n < y.n; ++n) {
        for (std::int64_t h = 0; h < y.h; ++h) {
            for (std::int64_t w = 0; w < y.w; ++w)
                copy(x.pixel(n, h * stride, w * stride), y.pixel(n, h, w), x.c);
        }
    }
}

void evaluate_shortcut_pad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const std::int64_t stride = std::get<graph::ShortcutPadAttrs>(attrs).stride;
    const auto copy = [&](std::int64_t x, std::int64_t y, std::int64_t channels) {
        std::copy_n(inputs[0]->values.begin() + x, channels, outputs[0].values.begin() + y);
    };
    for_each_kept_pixel(inputs[0]->desc.shape, outputs[0].desc.shape, stride, copy);
}

void evaluate_shortcut_pad_grad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const std::int64_t stride = std::get<graph::ShortcutPadAttrs>(attrs).stride;
    const auto copy = [&](std::int64_t x, std::int64_t y, std::int64_t channels) {
        std::copy_n(inputs[0]->values.begin() + y, channels, outputs[0].values.begin() + x);
    };
    for_each_kept_pixel(outputs[0].desc.shape, inputs[0]->desc.shape, stride, copy);
}

void describe_constant(const Attrs& attrs, AttrText& text) {
    text.item("value", std::to_string(std::get<graph::ConstantAttrs>(attrs).value));
}

void describe_scale(const Attrs& attrs, AttrText& text) {
    text.item("factor", std::get<graph::ScaleAttrs>(attrs).factor);
}

void describe_cast(const Attrs& attrs, AttrText& text) {
    text.type("to", std::get<graph::CastAttrs>(attrs).type);
}

void describe_normalise_image(const Attrs& attrs, AttrText& text) {
    text.type("to", std::get<graph::NormaliseImageAttrs>(attrs).type);
}

void describe_shortcut_pad(const graph::ShortcutPadAttrs& a, AttrText& text) {
    text.item("stride", a.stride, std::int64_t{1});
    text.item("channels", a.channels);
    text.shape("result", a.input_shape);
}

}  // namespace

std::vector<OpDef> pointwise_ops() {
    return {
        {.kind = OpKind::constant,
         .follows_weights = true,
         .infer = infer_constant,
         .evaluate = evaluate_constant,
         .describe = describe_constant},
        {.kind = OpKind::scale,
         .infer = typed<infer_scale>,
         .gradient = scale_gradient,
         .flops = flops_per_input<1>,
         .evaluate = evaluate_scale,
         .describe = describe_scale},
        {.kind = OpKind::cast,
         .inputs = {{Layout::same}},
         .results = {Layout::same},
         .follows_weights = true,
         .infer = infer_cast,
         .gradient = cast_gradient,
         .evaluate = evaluate_copy,
         .describe = describe_cast,
         .by_sample = always},
        {.kind = OpKind::add,
         .inputs = {{Layout::same}},
         .results = {Layout::same},
         .infer = infer_add,
         .gradient = add_gradient,
         .flops = flops_per_output<1>,
         .evaluate = evaluate_add,
         .by_sample = always},
        {.kind = OpKind::normalise_image,
         .inputs = {{Layout::image}},
         .results = {Layout::image},
         .infer = typed<infer_normalise_image>,
         .flops = flops_per_output<2>,
         .evaluate = typed<evaluate_normalise_image>,
         .describe = describe_normalise_image,
         .by_sample = always},
        {.kind = OpKind::shortcut_pad,
         .inputs = {{Layout::image}},
         .results = {Layout::image},
         .infer = typed<infer_shortcut_pad>,
         .gradient = shortcut_pad_gradient,
         .evaluate = evaluate_shortcut_pad,
         .describe = typed<describe_shortcut_pad>,
         .by_sample = always},
        {.kind = OpKind::shortcut_pad_grad,
         .inputs = {{Layout::image}},
         .results = {Layout::image},
         .infer = typed<infer_shortcut_pad_grad>,
         .evaluate = evaluate_shortcut_pad_grad,
         .describe = typed<describe_shortcut_pad>},
    };
}

}  // namespace cnntrain::ops
