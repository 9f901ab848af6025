// Views: the same elements under another shape, order of axes, or a part of them.
#include <algorithm>
#include <numeric>

#include "graph/ops/op_support.h"

namespace cnntrain::ops {

using graph::ReshapeAttrs;
using graph::SliceAttrs;
using graph::TransposeAttrs;

namespace {

std::vector<TensorDesc> infer_reshape(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 1);
    const Shape& shape = std::get<ReshapeAttrs>(attrs).shape;
    if (std::ranges::any_of(shape, [](std::int64_t extent) { return extent < 1; }) ||
        element_count(shape) != inputs[0].elements()) {
        reject(to_string(shape) + " has not as many elements as " + to_string(inputs[0].shape));
    }
    return {{inputs[0].dtype, shape}};
}

void reshape_gradient(GradContext& context) {
    const graph::ReshapeAttrs back{context.desc(context.input(0)).shape};
    context.set_grad(0, context.add_one(OpKind::reshape, back, {context.grad_output(0)}, "reshape_grad"));
}

void describe_reshape(const Attrs& attrs, AttrText& text) {
    text.shape("to", std::get<ReshapeAttrs>(attrs).shape);
}

std::vector<TensorDesc> infer_transpose(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 1);
    const std::vector<std::int64_t>& axes = std::get<TransposeAttrs>(attrs).axes;
    std::vector<std::int64_t> all(inputs[0].shape.size());
    std::iota(all.begin(), all.end(), 0);
    if (!std::ranges::is_permutation(axes, all))
        reject("the axes must be those of " + to_string(inputs[0].shape) + ", each once, not " + to_string(axes));
    TensorDesc y{inputs[0].dtype, {}};
    for (const std::int64_t axis : axes)
        y.shape.push_back(inputs[0].shape[static_cast<std::size_t>(axis)]);
    return {y};
}

void transpose_gradient(GradContext& context) {
    const std::vector<std::int64_t>& axes = context.attrs_as<TransposeAttrs>().axes;
    TransposeAttrs back{std::vector<std::int64_t>(axes.size())};
    for (std::size_t i = 0; i < axes.size(); ++i)
        back.axes[static_cast<std::size_t>(axes[i])] = static_cast<std::int64_t>(i);
    context.set_grad(0, context.add_one(OpKind::transpose, back, {context.grad_output(0)}, "transpose_grad"));
}

/// Row-major distances between neighbours along each axis.
std::vector<std::int64_t> strides_of(const Shape& shape) {
    std::vector<std::int64_t> strides(shape.size(), 1);
    for (std::size_t i = shape.size(); i > 1; --i)
        strides[i - 2] = strides[i - 1] * shape[i - 1];
    return strides;
}

void evaluate_transpose(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    const std::vector<std::int64_t>& axes = std::get<TransposeAttrs>(attrs).axes;
    const std::vector<std::int64_t> from = strides_of(inputs[0]->desc.shape);
    const std::vector<std::int64_t> to = strides_of(outputs[0].desc.shape);
    for (std::size_t i = 0; i < outputs[0].values.size(); ++i) {
        std::int64_t rest = static_cast<std::int64_t>(i);
        std::int64_t source = 0;
        for (std::size_t axis = 0; axis < axes.size(); ++axis) {
            source += rest / to[axis] * from[static_cast<std::size_t>(axes[axis])];
            rest %= to[axis];
        }
        outputs[0].values[i] = inputs[0]->values[static_cast<std::size_t>(source)];
    }
}

void describe_transpose(const Attrs& attrs, AttrText& text) {
    text.shape("axes", std::get<TransposeAttrs>(attrs).axes);
}

/// A tensor as [outer][along the axis][inner].
struct Split {
    Split(const Shape& shape, std::int64_t axis) : extent(shape.at(static_cast<std::size_t>(axis))) {
        for (std::size_t i = 0; i < shape.size(); ++i) {
            if (static_cast<std::int64_t>(i) < axis) outer *= shape[i];
            if (static_cast<std::int64_t>(i) > axis) inner *= shape[i];
        }
    }

    std::int64_t outer = 1, extent, inner = 1;
};

void expect_axis(const TensorDesc& desc, std::int64_t axis) {
    if (axis < 0 || axis >= static_cast<std::int64_t>(desc.shape.size()))
        reject(to_string(desc) + " has no axis " + std::to_string(axis));
}

void expect_range(const SliceAttrs& slice, std::int64_t extent) {
    if (slice.begin < 0 || slice.begin >= slice.end || slice.end > extent) {
        reject("no part " + std::to_string(slice.begin) + " to " + std::to_string(slice.end) + " of " +
               std::to_string(extent) + " elements");
    }
}

std::vector<TensorDesc> infer_slice(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 1);
    const auto& slice = std::get<SliceAttrs>(attrs);
    expect_axis(inputs[0], slice.axis);
    TensorDesc y = inputs[0];
    std::int64_t& extent = y.shape[static_cast<std::size_t>(slice.axis)];
    expect_range(slice, extent);
    extent = slice.end - slice.begin;
    return {y};
}

void slice_gradient(GradContext& context) {
    auto attrs = context.attrs_as<SliceAttrs>();
    attrs.extent = context.desc(context.input(0)).shape[static_cast<std::size_t>(attrs.axis)];
    context.set_grad(0, context.add_one(OpKind::slice_grad, attrs, {context.grad_output(0)}, "slice_grad"));
}

void slice_grad_gradient(GradContext& context) {
    auto attrs = context.attrs_as<SliceAttrs>();
    attrs.extent = 0;
    context.set_grad(0, context.add_one(OpKind::slice, attrs, {context.grad_output(0)}, "slice"));
}

std::vector<TensorDesc> infer_slice_grad(const Attrs& attrs, Descs inputs) {
    expect_inputs(inputs, 1);
    const auto& slice = std::get<SliceAttrs>(attrs);
    expect_axis(inputs[0], slice.axis);
    expect_range(slice, slice.extent);
    TensorDesc dx = inputs[0];
    std::int64_t& extent = dx.shape[static_cast<std::size_t>(slice.axis)];
    if (extent != slice.end - slice.begin) reject("dy must have the extent of the part along the axis");
    extent = slice.extent;
    return {dx};
}

/// Calls copy(offset in the part, offset in the whole, elements) for every run of neighbours.
template <typename Copy> void for_each_run(const Shape& whole, const SliceAttrs& slice, Copy copy) {
    const Split split(whole, slice.axis);
    const std::int64_t run = (slice.end - slice.begin) * split.inner;
    for (std::int64_t i = 0; i < split.outer; ++i)
        copy(i * run, (i * split.extent + slice.begin) * split.inner, run);
}

void evaluate_slice(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    for_each_run(inputs[0]->desc.shape, std::get<SliceAttrs>(attrs),
                 [&](std::int64_t part, std::int64_t whole, std::int64_t run) {
                     std::copy_n(inputs[0]->values.begin() + whole, run, outputs[0].values.begin() + part);
                 });
}

void evaluate_slice_grad(const Attrs& attrs, RefInputs inputs, RefOutputs outputs) {
    for_each_run(outputs[0].desc.shape, std::get<SliceAttrs>(attrs),
                 [&](std::int64_t part, std::int64_t whole, std::int64_t run) {
                     std::copy_n(inputs[0]->values.begin() + part, run, outputs[0].values.begin() + whole);
                 });
}

void describe_slice(const SliceAttrs& slice, AttrText& text) {
    text.item("axis", slice.axis, std::int64_t{-1});
    text.item("from", slice.begin);
    text.item("to", slice.end);
    text.item("of", slice.extent);
}

}  // namespace

std::vector<OpDef> view_ops() {
    return {
        {.kind = OpKind::reshape,
         .follows_weights = true,
         .infer = infer_reshape,
         .gradient = reshape_gradient,
         .flops = flops_per_output<0>,
         .evaluate = evaluate_copy,
         .describe = describe_reshape},
        {.kind = OpKind::transpose,
         .infer = infer_transpose,
         .gradient = transpose_gradient,
         .flops = flops_per_output<0>,
         .evaluate = evaluate_transpose,
         .describe = describe_transpose},
        {.kind = OpKind::slice,
         .infer = infer_slice,
         .gradient = slice_gradient,
         .flops = flops_per_output<0>,
         .evaluate = evaluate_slice,
         .describe = typed<describe_slice>},
        {.kind = OpKind::slice_grad,
         .infer = infer_slice_grad,
         .gradient = slice_grad_gradient,
         .flops = flops_per_output<0>,
         .evaluate = evaluate_slice_grad,
         .describe = typed<describe_slice>},
    };
}

}  // namespace cnntrain::ops
