// Views: the operand's memory read with other strides. A copy is made only if no strides describe the result, or if
// it must outlive the operand.
#include "backend/cpu/lower/node_context.h"

namespace cnntrain::cpu {

using graph::SliceAttrs;
using graph::TransposeAttrs;
using graph::ValueId;

namespace {

void define_view(const NodeContext& lower, const Placed& view) {
    const ValueId y = lower.node.outputs[0];
    if (lower.values.may_alias(y)) return lower.values.define_alias(y, view);
    const Placed result = lower.values.define(y);
    lower.steps.add_primitive(lower.onednn.reorder(view.desc, result.desc),
                              {{DNNL_ARG_FROM, view}, {DNNL_ARG_TO, result}}, {DNNL_ARG_TO});
}

void lower_reshape(const NodeContext& lower) {
    Placed view = lower.values.in_order(lower.node.inputs[0]);
    view.desc = row_major(lower.graph.desc(lower.node.outputs[0]));
    define_view(lower, view);
}

void lower_transpose(const NodeContext& lower) {
    const std::vector<std::int64_t>& axes = lower.node.as<TransposeAttrs>().axes;
    std::vector<int> place(axes.size());  // the place of each axis in the result
    for (std::size_t i = 0; i < axes.size(); ++i)
        place[static_cast<std::size_t>(axes[i])] = static_cast<int>(i);
    Placed view = lower.values.strided(lower.node.inputs[0]);
    if (!axes.empty()) view.desc = view.desc.permute_axes(place);
    define_view(lower, view);
}

void lower_slice(const NodeContext& lower) {
    const auto& slice = lower.node.as<SliceAttrs>();
    const Shape& part = lower.graph.desc(lower.node.outputs[0]).shape;
    Placed view = lower.values.strided(lower.node.inputs[0]);
    const Dims strides = strides_of(view.desc);
    const std::int64_t skipped = slice.begin * strides[static_cast<std::size_t>(slice.axis)];
    view.offset += static_cast<std::size_t>(skipped) * size_bytes(view.dtype);
    view.desc = Desc(Dims(part.begin(), part.end()), to_dnnl(view.dtype), strides);
    define_view(lower, view);
}

void lower_slice_grad(const NodeContext& lower) {
    const auto& slice = lower.node.as<SliceAttrs>();
    const ValueId dx = lower.node.outputs[0];
    const TensorDesc& desc = lower.graph.desc(dx);
    const Placed dy = lower.values.in_order(lower.node.inputs[0]);
    const Placed result = lower.values.define(dx, row_major(desc));
    auto inner = static_cast<std::int64_t>(size_bytes(desc.dtype));  // bytes of one step along the axis
    for (std::size_t i = static_cast<std::size_t>(slice.axis) + 1; i < desc.shape.size(); ++i)
        inner *= desc.shape[i];
    const PartShape shape{static_cast<std::int64_t>(desc.bytes()) / (slice.extent * inner), slice.begin * inner,
                          (slice.end - slice.begin) * inner, slice.extent * inner};
    lower.steps.add("kernel", {dy}, {result},
                    [=](const StepContext&) { place_part(shape, dy.as<std::byte>(), result.as<std::byte>()); });
}

}  // namespace

std::span<const LoweringEntry> view_lowerings() {
    static constexpr LoweringEntry kLowerings[] = {
        {graph::OpKind::reshape, lower_reshape},
        {graph::OpKind::transpose, lower_transpose},
        {graph::OpKind::slice, lower_slice},
        {graph::OpKind::slice_grad, lower_slice_grad},
    };
    return kLowerings;
}

}  // namespace cnntrain::cpu
