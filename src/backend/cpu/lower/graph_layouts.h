// Layouts that follow from the graph alone, before any primitive has chosen one.
#pragma once

#include <cstdint>
#include <map>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/program/program.h"
#include "cnntrain/graph/facts.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::cpu {

class GraphLayouts {
public:
    GraphLayouts(const graph::Graph& graph, const graph::Facts& facts);

    graph::Layout layout(graph::ValueId value) const { return facts_.layout(value); }
    /// The row-major descriptor in which users see the value: images NHWC, kernels HWIO with their groups.
    Desc row_major_desc(graph::ValueId value) const;
    /// Groups of a kernel that convolutions read.
    std::int64_t groups_of(graph::ValueId kernel) const { return kernel_groups_.at(kernel); }
    /// True if some channel count is no multiple of the block size of blocked layouts. All activations are then
    /// channels-last, so that neighbours agree.
    bool channels_last() const { return channels_last_; }
    /// [n][blocks][pixels][lanes] of an operand of any class whose last axis is its channels.
    Blocks channel_blocks(graph::ValueId value, const Placed& tensor) const;

private:
    void find_kernel_groups();
    void find_slots_of_kernels();
    void find_channels();

    const graph::Graph& graph_;
    const graph::Facts& facts_;
    /// By value that convolutions read as weights; 0: a [1,1,I,O] that dense layers read as a matrix.
    std::map<graph::ValueId, std::int64_t> kernel_groups_;
    bool channels_last_ = false;
};

/// [n][blocks][pixels][lanes] of an image [N,C,H,W] or of [N,C]; Error(internal) for a layout without channel lanes.
Blocks blocks_of(const Placed& tensor);
/// The layout of `like` for other dims (same rank and channel order).
Desc like_activation(const Desc& like, const TensorDesc& tensor);

}  // namespace cnntrain::cpu
