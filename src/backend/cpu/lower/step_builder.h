// Adds steps and memory to a program on behalf of the node that is being lowered.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "backend/cpu/kernels/kernels.h"
#include "backend/cpu/onednn.h"
#include "backend/cpu/program/program.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::cpu {

// The order in which the nodes of a graph are lowered, and the node that is being lowered.

class NodeWalk {
public:
    NodeWalk(const graph::Graph& graph, const Program& program);

    const graph::Graph& graph() const { return graph_; }
    const graph::Facts& facts() const { return facts_; }
    /// All nodes in the order in which their sections run, so that memory is reused only after its last reader.
    std::span<const graph::NodeId> order() const { return order_; }

    /// Makes this pipeline the current one: forward and backward nodes then belong to its sections.
    void begin_pipeline(std::int32_t pipeline) { pipeline_ = pipeline; }
    std::int32_t pipeline() const { return pipeline_; }
    /// Makes this node the current one. Error(internal) if it reads what a later section writes.
    void go_to(graph::NodeId id);

    graph::NodeId id() const { return current_; }
    const graph::Node& node() const { return graph_.node(current_); }
    /// The section of the current node; prepare before the first node.
    Section section() const { return current_.valid() ? section_of(current_) : Section::prepare(); }
    Section section_of(graph::NodeId id) const;
    /// Does the node run after the current one?
    bool is_later(graph::NodeId id) const { return position_of(id) > position_of(current_); }

private:
    std::int32_t position_of(graph::NodeId id) const { return position_[static_cast<std::size_t>(id.index)]; }
    void check_order() const;

    const graph::Graph& graph_;
    graph::Facts facts_;
    std::vector<graph::NodeId> order_;
    std::vector<std::int32_t> position_;  // in order_, by node
    graph::NodeId current_;
    std::int32_t pipeline_ = 0;
};

/// Is the value an output of the graph?
bool is_output(const graph::Graph& graph, graph::ValueId value);
/// False for a result that is neither read nor an output: it needs no memory.
bool is_read(const graph::Graph& graph, graph::ValueId result);

class StepBuilder {
public:
    using Run = std::function<void(const StepContext&)>;

    StepBuilder(const NodeWalk& walk, Program& program) : walk_(walk), program_(program) {}

    /// Memory that the node's section uses first.
    Placed place(const std::string& name, const Desc& desc, DType dtype, Storage storage);
    /// Memory between steps of the node.
    Placed temporary(const std::string& name, const Desc& desc, DType dtype);
    Placed temporary_floats(const std::string& name, std::int64_t count);
    /// Room for `count` floats while a step runs, valid once the program is finished. All steps share this memory, so a
    /// step asks once for all that it needs.
    std::function<std::span<float>()> scratch_floats(std::int64_t count);

    /// The node's own step, still without operands and function.
    Step node_step() const;
    /// A step that moves data for the node; `suffix` is added to the node's name.
    Step data_step(const std::string& suffix, const std::string& op) const;
    /// Appends the step to the node's section.
    void add(Step step);
    void add(std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes, Run run);
    /// Like add(), for a step that runs after all other steps of the optimiser.
    void add_late(std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes, Run run);
    /// Appends the late steps.
    void add_late_steps();
    bool has_late_steps() const { return !late_steps_.empty(); }
    void add_copy(const std::string& op, const Placed& from, const Placed& to, Run run);
    void add_copy_primitive(const std::string& op, const Primitive& primitive, const Placed& from, const Placed& to);
    void add_primitive(const Primitive& primitive, const Arguments& arguments, const std::vector<int>& written);
    /// Adds a step that runs a single-threaded primitive on several lists of arguments side by side.
    void add_parts(const Primitive& primitive, const std::vector<Arguments>& parts, const std::vector<int>& written);

private:
    const NodeWalk& walk_;
    Program& program_;
    std::vector<Step> late_steps_;  // of the update
};

// Layouts that follow from the graph alone, before any primitive has chosen one.

class GraphLayouts {
public:
    GraphLayouts(const graph::Graph& graph, const graph::Facts& facts);

    graph::Layout layout(graph::ValueId value) const { return facts_.layout(value); }
    /// The row-major descriptor in which users see the value: images NHWC, kernels HWIO with their groups.
    Desc row_major_desc(graph::ValueId value) const;
    /// Groups of a kernel that convolutions read.
    std::int64_t groups_of(graph::ValueId kernel) const { return kernel_groups_.at(kernel); }
    /// True if some channel count is no multiple of the block size of blocked layouts, or if images are texts. All
    /// activations are then channels-last, so that neighbours agree.
    bool channels_last() const { return channels_last_; }
    /// [n][blocks][pixels][lanes] of an operand of any class whose last axis is its channels.
    Blocks channel_blocks(graph::ValueId value, const Placed& tensor) const;

private:
    void find_kernel_groups();
    void set_groups_of_kernel(graph::ValueId kernel, std::int64_t groups);
    void find_slots_of_kernels();
    void find_channels();

    const graph::Graph& graph_;
    const graph::Facts& facts_;
    /// Groups of each kernel, of its gradient and of its slots; 0: a kernel [1,1,I,O] that dense layers read as a
    /// matrix.
    std::map<graph::ValueId, std::int64_t> kernel_groups_;
    bool channels_last_ = false;
};

/// [n][blocks][pixels][lanes] of an image [N,C,H,W] or of [N,C]; Error(internal) for a layout without channel lanes.
Blocks blocks_of(const Placed& tensor);
/// The layout of `like` for other dims (same rank and channel order).
Desc like_activation(const Desc& like, const TensorDesc& tensor);

// Calls templates with the type of a tensor's elements.

/// Calls f.template operator()<float>() or <BFloat16>.
template <typename F> void with_float_type(DType type, F&& f) {
    if (type == DType::f32) {
        f.template operator()<float>();
    } else {
        CNNTRAIN_CHECK(type == DType::bf16, "the cpu backend computes in f32 and bf16");
        f.template operator()<BFloat16>();
    }
}

/// The same for pixels, which may be bytes.
template <typename F> void with_pixel_type(DType type, F&& f) {
    if (type == DType::u8) {
        f.template operator()<std::uint8_t>();
    } else {
        with_float_type(type, std::forward<F>(f));
    }
}

}  // namespace cnntrain::cpu
