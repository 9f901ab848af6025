// Views, which copy nothing, and the gradient of a slice.
#include <vector>

#include <popops/Zero.hpp>
#include <poputil/TileMapping.hpp>

#include "backend/ipu/lower/support.h"

namespace cnntrain::ipu {

using graph::SliceAttrs;

namespace {

poplar::Tensor part(const SliceAttrs& slice, const poplar::Tensor& whole) {
    return whole.slice(static_cast<std::size_t>(slice.begin), static_cast<std::size_t>(slice.end),
                       static_cast<unsigned>(slice.axis));
}

void lower_reshape(const NodeContext& node) {
    node.set_output(0, node.input(0).reshape(extents(node.output_desc().shape)));
}

void lower_transpose(const NodeContext& node) {
    const std::vector<std::int64_t>& axes = node.attrs<graph::TransposeAttrs>().axes;
    node.set_output(0, node.input(0).dimShuffle(std::vector<unsigned>(axes.begin(), axes.end())));
}

void lower_slice(const NodeContext& node) {
    node.set_output(0, part(node.attrs<SliceAttrs>(), node.input(0)));
}

/// Writes each element once: zeros before and after the part, dy into it.
void lower_slice_grad(const NodeContext& node) {
    const auto& slice = node.attrs<SliceAttrs>();
    const poplar::Tensor dx =
        node.device.addVariable(node.output_type(), extents(node.output_desc().shape), node.debug());
    poputil::mapTensorLinearly(node.device, dx);
    const auto clear = [&](std::int64_t begin, std::int64_t end) {
        if (begin == end) return;
        popops::zero(node.device, part({.axis = slice.axis, .begin = begin, .end = end}, dx), node.program,
                     node.debug());
    };
    clear(0, slice.begin);
    clear(slice.end, slice.extent);
    node.program.add(poplar::program::Copy(node.input(0), part(slice, dx)));
    node.set_output(0, dx);
}

}  // namespace

std::span<const LoweringEntry> view_lowerings() {
    static constexpr LoweringEntry kEntries[] = {
        {OpKind::reshape, lower_reshape},
        {OpKind::transpose, lower_transpose},
        {OpKind::slice, lower_slice},
        {OpKind::slice_grad, lower_slice_grad},
    };
    return kEntries;
}

}  // namespace cnntrain::ipu
