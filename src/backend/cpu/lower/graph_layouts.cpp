#include "backend/cpu/lower/graph_layouts.h"

#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::Layout;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Role;
using graph::ValueId;

GraphLayouts::GraphLayouts(const graph::Graph& graph, const graph::Facts& facts) : graph_(graph), facts_(facts) {
    find_kernel_groups();
    find_channels();
}

/// Only the readers of a kernel say how many groups it has.
void GraphLayouts::find_kernel_groups() {
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
        const Node& reader = graph_.node(NodeId{i});
        if (reader.kind == OpKind::conv2d || reader.kind == OpKind::conv2d_input_grad) {
            const std::int64_t groups = reader.as<graph::ConvAttrs>().groups;
            const ValueId kernel = graph::strip_casts(graph_, reader.inputs[1]);
            kernel_groups_[kernel] = groups;
            if (graph_.value(kernel).role != Role::intermediate) continue;
            const Node& producer = graph_.node(graph_.value(kernel).producer);
            if (producer.kind == OpKind::fold_norm_weight)
                kernel_groups_[graph::strip_casts(graph_, producer.inputs[0])] = groups;
        } else if (reader.kind == OpKind::conv2d_weight_grad) {
            kernel_groups_[reader.outputs[0]] = reader.as<graph::ConvAttrs>().groups;
        } else if (reader.kind == OpKind::dense || reader.kind == OpKind::dense_input_grad) {
            if (graph_.desc(reader.inputs[1]).shape.size() == 4)
                kernel_groups_[graph::strip_casts(graph_, reader.inputs[1])] = 0;
        } else if (reader.kind == OpKind::dense_weight_grad) {
            if (reader.as<graph::DenseAttrs>().kernel) kernel_groups_[reader.outputs[0]] = 0;
        }
    }
    find_slots_of_kernels();
}

/// Slots of kernels are laid out as kernels, too.
void GraphLayouts::find_slots_of_kernels() {
    for (const ValueId slot : graph_.values_with_role(Role::slot)) {
        const auto kernel = kernel_groups_.find(graph_.value(slot).owner);
        if (kernel != kernel_groups_.end()) kernel_groups_[slot] = kernel->second;
    }
}

void GraphLayouts::find_channels() {
    constexpr std::int64_t kBlockLanes = 16;
    constexpr std::int64_t kMostColours = 4;
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
        const Node& conv = graph_.node(NodeId{i});
        if (conv.kind != OpKind::conv2d) continue;
        for (const ValueId activation : {conv.inputs[0], conv.outputs[0]}) {
            const std::int64_t channels = graph_.desc(activation).shape[3];
            channels_last_ = channels_last_ || (channels > kMostColours && channels % kBlockLanes != 0);
        }
    }
}

Desc GraphLayouts::row_major_desc(ValueId value) const {
    const TensorDesc& desc = graph_.desc(value);
    const Layout layout = facts_.layout(value);
    if (layout == Layout::image) return image_desc(desc);
    if (layout != Layout::kernel || desc.shape.size() != 4) return row_major(desc);
    auto groups = kernel_groups_.find(value);
    if (groups == kernel_groups_.end()) groups = kernel_groups_.find(graph::strip_casts(graph_, value));
    if (groups == kernel_groups_.end()) return plain_kernel_desc(desc, 1);  // no convolution reads it
    if (groups->second == 0) return row_major(TensorDesc{desc.dtype, {desc.shape[2], desc.shape[3]}});
    return plain_kernel_desc(desc, groups->second);
}

Blocks GraphLayouts::channel_blocks(ValueId value, const Placed& tensor) const {
    if (facts_.layout(value) == Layout::image) return blocks_of(tensor);
    const TensorDesc& desc = graph_.desc(value);
    return Blocks{desc.elements() / desc.shape.back(), 1, 1, desc.shape.back()};
}

Blocks blocks_of(const Placed& tensor) {
    const auto lanes = channel_lanes(tensor.desc);
#if DNNL_VERSION_MAJOR >= 3
    const Dims dims = tensor.desc.get_dims();
#else
    const Dims dims = tensor.desc.dims();
#endif
    if (dims.size() == 2) return Blocks{dims[0], 1, 1, dims[1]};
    CNNTRAIN_CHECK(lanes.has_value(), tensor.buffer->name + " lies in a layout without channel lanes");
    return Blocks{dims[0], dims[1] / *lanes, dims[2] * dims[3], *lanes};
}

Desc like_activation(const Desc& like, const TensorDesc& tensor) {
    const Desc plain = image_desc(tensor);
    return with_layout_of(plain, like).value_or(plain);
}

}  // namespace cnntrain::cpu
