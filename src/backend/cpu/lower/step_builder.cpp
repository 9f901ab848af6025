#include "backend/cpu/lower/step_builder.h"

#include <algorithm>
#include <utility>

#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::Node;
using graph::NodeId;
using graph::Phase;
using graph::ValueId;

NodeWalk::NodeWalk(const graph::Graph& graph, const Program& program) : graph_(graph), facts_(graph) {
    for (std::int32_t i = 0; i < graph_.node_count(); ++i)
        order_.push_back(NodeId{i});
    std::stable_sort(order_.begin(), order_.end(), [&](NodeId a, NodeId b) {
        return program.position(section_of(a)) < program.position(section_of(b));
    });
    position_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i)
        position_[static_cast<std::size_t>(order_[i].index)] = static_cast<std::int32_t>(i);
}

void NodeWalk::go_to(NodeId id) {
    current_ = id;
    check_order();
}

void NodeWalk::check_order() const {
    for (const ValueId input : node().inputs) {
        const graph::Value& value = graph_.value(input);
        if (!value.producer.valid() || position_of(value.producer) < position_of(current_)) continue;
        throw Error(ErrorKind::internal, "cpu backend: " + node().name + ", in stage " +
                                             std::to_string(node().stage.index) + ", reads " + value.name +
                                             ", which a section that runs later computes, in stage " +
                                             std::to_string(graph_.node(value.producer).stage.index));
    }
}

Section NodeWalk::section_of(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.phase == Phase::update) return Section::update();
    if (!node.outputs.empty() && facts_.follows_weights(node.outputs[0])) return Section::prepare();
    return node.phase == Phase::forward ? Section::forward(node.stage.index, pipeline_)
                                        : Section::backward(node.stage.index, pipeline_);
}

bool is_output(const graph::Graph& graph, ValueId value) {
    return std::ranges::any_of(graph.outputs(), [&](const graph::Output& output) { return output.value == value; });
}

bool is_read(const graph::Graph& graph, ValueId result) {
    return is_output(graph, result) || !graph.value(result).users.empty();
}

namespace {

Step with_operands(Step step, std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes,
                   StepBuilder::Run run) {
    step.implementation = std::move(implementation);
    step.reads = std::move(reads);
    step.writes = std::move(writes);
    step.run = std::move(run);
    return step;
}

}  // namespace

Placed StepBuilder::place(const std::string& name, const Desc& desc, DType dtype, Storage storage) {
    return Placed{program_.add_buffer(name, desc.get_size(), storage, walk_.section()), desc, dtype};
}

Placed StepBuilder::temporary(const std::string& name, const Desc& desc, DType dtype) {
    return place(walk_.node().name + ":" + name, desc, dtype, Storage::arena);
}

Placed StepBuilder::temporary_floats(const std::string& name, std::int64_t count) {
    return temporary(name, row_major({DType::f32, {count}}), DType::f32);
}

std::function<std::span<float>()> StepBuilder::scratch_floats(std::int64_t count) {
    program_.reserve_scratch(walk_.section(), static_cast<std::size_t>(count) * sizeof(float));
    return [count, where = walk_.section(), &program = program_] {
        return std::span<float>(reinterpret_cast<float*>(program.scratch(where)), static_cast<std::size_t>(count));
    };
}

Step StepBuilder::node_step() const {
    const graph::Node& node = walk_.node();
    Step step;
    step.name = node.name;
    step.op = walk_.graph().def(node).name;
    step.implementation = "kernel";
    step.flops = walk_.graph().node_flops(walk_.id());
    step.stage = node.stage.index;
    return step;
}

Step StepBuilder::data_step(const std::string& suffix, const std::string& op) const {
    Step step = node_step();
    step.name += ":" + suffix;
    step.op = op;
    step.flops = 0;
    return step;
}

void StepBuilder::add(Step step) {
    program_.add_step(walk_.section(), std::move(step));
}

void StepBuilder::add(std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes, Run run) {
    add(with_operands(node_step(), std::move(implementation), std::move(reads), std::move(writes), std::move(run)));
}

void StepBuilder::add_late(std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes, Run run) {
    Step step = node_step();
    step.flops = 0;
    late_steps_.push_back(
        with_operands(std::move(step), std::move(implementation), std::move(reads), std::move(writes), std::move(run)));
}

void StepBuilder::add_late_steps() {
    for (Step& step : late_steps_)
        program_.add_step(Section::update(), std::move(step));
    late_steps_.clear();
}

void StepBuilder::add_copy(const std::string& op, const Placed& from, const Placed& to, Run run) {
    add(with_operands(data_step(op, op), "kernel", {from}, {to}, std::move(run)));
}

void StepBuilder::add_copy_primitive(const std::string& op, const Primitive& primitive, const Placed& from,
                                     const Placed& to) {
    program_.add_primitive(walk_.section(), data_step(op, op), primitive, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}},
                           {DNNL_ARG_TO});
}

void StepBuilder::add_primitive(const Primitive& primitive, const Arguments& arguments,
                                const std::vector<int>& written) {
    program_.add_primitive(walk_.section(), node_step(), primitive, arguments, written);
}

void StepBuilder::add_parts(const Primitive& primitive, const std::vector<Arguments>& parts,
                            const std::vector<int>& written) {
    program_.add_parts(walk_.section(), node_step(), primitive, parts, written);
}

using graph::Layout;
using graph::OpKind;
using graph::Role;

GraphLayouts::GraphLayouts(const graph::Graph& graph, const graph::Facts& facts) : graph_(graph), facts_(facts) {
    find_kernel_groups();
    find_channels();
}

/// Only the readers of a kernel say how many groups it has.
void GraphLayouts::find_kernel_groups() {
    for (const Node& reader : graph_.nodes()) {
        if (reader.kind == OpKind::conv2d || reader.kind == OpKind::conv2d_input_grad) {
            set_groups_of_kernel(reader.inputs[1], reader.as<graph::ConvAttrs>().groups);
        } else if (reader.kind == OpKind::quantised_conv2d) {
            set_groups_of_kernel(reader.inputs[1], reader.as<graph::QuantisedConvAttrs>().conv.groups);
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

/// Also of the weights from which the kernel is made.
void GraphLayouts::set_groups_of_kernel(ValueId kernel, std::int64_t groups) {
    for (;;) {
        kernel = graph::strip_casts(graph_, kernel);
        kernel_groups_[kernel] = groups;
        if (graph_.value(kernel).role != Role::intermediate) return;
        const Node& producer = graph_.node(graph_.value(kernel).producer);
        if (producer.kind != OpKind::fold_norm_weight && producer.kind != OpKind::quantise_weight) return;
        kernel = producer.inputs[0];
    }
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
    for (const Node& conv : graph_.nodes()) {
        if (conv.kind != OpKind::conv2d && conv.kind != OpKind::quantised_conv2d) continue;
        for (const ValueId activation : {conv.inputs[0], conv.outputs[0]}) {
            const Shape& shape = graph_.desc(activation).shape;
            const bool is_uneven = shape[3] > kMostColours && shape[3] % kBlockLanes != 0;
            const bool is_text = shape[1] == 1 && shape[2] > 1;  // operations on rows surround it
            channels_last_ = channels_last_ || is_uneven || is_text;
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
