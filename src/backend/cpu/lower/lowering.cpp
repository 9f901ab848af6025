#include "backend/cpu/lower/lowering.h"

#include <algorithm>
#include <array>

#include "backend/cpu/lower/layout_copy.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::Layout;
using graph::Node;
using graph::NodeId;
using graph::OpKind;
using graph::Phase;
using graph::Role;
using graph::ValueId;

namespace {

using Family = std::span<const LoweringEntry> (*)();

constexpr Family kFamilies[] = {
    attention_lowerings, conv_lowerings,   dense_lowerings, gate_lowerings,      loss_lowerings,
    matmul_lowerings,    mixing_lowerings, norm_lowerings,  pointwise_lowerings, proxy_norm_lowerings,
    token_lowerings,     update_lowerings, view_lowerings,
};

}  // namespace

LowerFunction lowering_of(OpKind kind) {
    for (const Family family : kFamilies) {
        for (const LoweringEntry& entry : family()) {
            if (entry.kind == kind) return entry.lower;
        }
    }
    return nullptr;
}

Lowering::Lowering(const graph::Graph& graph, const backend::CompileRequest& request, const OneDnn& onednn,
                   Program& program, GradientExchange* exchange)
    : graph_(graph),
      request_(request),
      onednn_(onednn),
      program_(program),
      exchange_(exchange),
      facts_(graph),
      placed_(static_cast<std::size_t>(graph.value_count())) {
    order_nodes();
    find_kernel_groups();
    find_channels();
    place_inputs();
}

void Lowering::order_nodes() {
    for (std::int32_t i = 0; i < graph_.node_count(); ++i)
        order_.push_back(NodeId{i});
    std::stable_sort(order_.begin(), order_.end(), [&](NodeId a, NodeId b) {
        return program_.position(section_of(a)) < program_.position(section_of(b));
    });
    position_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i)
        position_[static_cast<std::size_t>(order_[i].index)] = static_cast<std::int32_t>(i);
}

void Lowering::check_order() const {
    for (const ValueId input : node().inputs) {
        const graph::Value& value = graph_.value(input);
        if (!value.producer.valid() || position_of(value.producer) < position_of(current_)) continue;
        throw Error(ErrorKind::internal, "cpu backend: " + node().name + ", in stage " +
                                             std::to_string(node().stage.index) + ", reads " + value.name +
                                             ", which a section that runs later computes, in stage " +
                                             std::to_string(graph_.node(value.producer).stage.index));
    }
}

/// How many groups a kernel has is told by its readers alone.
void Lowering::find_kernel_groups() {
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

/// A kernel's slots are kernels too.
void Lowering::find_slots_of_kernels() {
    for (const ValueId slot : graph_.values_with_role(Role::slot)) {
        const auto kernel = kernel_groups_.find(graph_.value(slot).owner);
        if (kernel != kernel_groups_.end()) kernel_groups_[slot] = kernel->second;
    }
}

void Lowering::find_channels() {
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

void Lowering::lower(NodeId id) {
    current_ = id;
    check_order();
    lowering_of(node().kind)(*this);
    accumulate_crossing_results();
}

void Lowering::lower_prepare() {
    for (const NodeId id : order_) {
        if (section_of(id) == Section::prepare()) lower(id);
    }
}

void Lowering::lower_copy(std::int32_t copy, const Lanes& lanes) {
    copy_ = copy;
    preferred_.reset();
    reordered_.clear();
    pool_workspaces_.clear();
    for (const NodeId id : order_) {
        if (!section_of(id).has_site()) continue;
        for (const ValueId result : graph_.node(id).outputs)
            placed_[static_cast<std::size_t>(result.index)] = {};
    }
    for (const NodeId id : order_) {
        if (!section_of(id).has_site()) continue;
        const Threads team(lanes.threads(program_.lane(section_of(id))));
        lower(id);
    }
    for (const graph::Output& output : graph_.outputs())
        program_.keep_to_end(as_it_lies(output.value).buffer);
}

void Lowering::lower_update() {
    const auto lower_nodes = [&](bool round_copies) {
        for (const NodeId id : order_) {
            if (section_of(id) == Section::update() && (graph_.node(id).kind == OpKind::round_copy) == round_copies)
                lower(id);
        }
    };
    lower_nodes(false);
    if (exchange_ != nullptr) add_shared_steps();
    lower_nodes(true);
    emit_prepared_copies();
}

/// What the pieces of all ranks make together: norms before the updates that read them, whole parameters behind all.
void Lowering::add_shared_steps() {
    exchange_->plan();
    for (Buffer* slot : sharded_slots_) {
        const auto piece = exchange_->own_piece(static_cast<std::size_t>(slot->sharded_as));
        slot->bytes = static_cast<std::size_t>(piece.count) * slot->bytes;  // were those of an element
    }
    if (!exchange_->shards()) return;
    const auto add = [&](const char* name, auto run) {
        Step step;
        step.name = name;
        step.op = "exchange";
        step.implementation = "comm";
        step.run = [exchange = exchange_, run](const StepContext&) { (exchange->*run)(); };
        program_.add_step(Section::update(), std::move(step));
    };
    if (!late_steps_.empty()) add("norms", &GradientExchange::share_squares);
    for (Step& step : late_steps_)
        program_.add_step(Section::update(), std::move(step));
    add("parameters", &GradientExchange::share_parameters);
}

std::optional<std::size_t> Lowering::sharded_sum(ValueId gradient, const Placed& as_read) const {
    if (exchange_ == nullptr || !exchange_->shards()) return std::nullopt;
    const auto sum = sums_.find(gradient);
    if (sum == sums_.end() || sum->second.placed.buffer != as_read.buffer) return std::nullopt;
    return sum->second.number;
}

Placed Lowering::sharded_slot(ValueId slot, ValueId parameter, std::size_t sum) {
    const Placed placed = slot_master(slot, parameter);
    placed.buffer->sharded_as = static_cast<int>(sum);
    placed.buffer->bytes = size_bytes(placed.dtype);
    sharded_slots_.push_back(placed.buffer);
    return placed;
}

Section Lowering::section_of(NodeId id) const {
    const Node& node = graph_.node(id);
    if (node.phase == Phase::update) return Section::update();
    if (!node.outputs.empty() && facts_.follows_weights(node.outputs[0])) return Section::prepare();
    return node.phase == Phase::forward ? Section::forward(node.stage.index, copy_)
                                        : Section::backward(node.stage.index, copy_);
}

Placed Lowering::place(const std::string& name, const Desc& desc, DType dtype, Storage storage) {
    const Section where = current_.valid() ? section() : Section::prepare();
    return Placed{program_.add_buffer(name, desc.get_size(), storage, where), desc, dtype};
}

void Lowering::place_inputs() {
    for (const ValueId input : graph_.values_with_role(Role::input)) {
        const TensorDesc& desc = graph_.desc(input);
        placed_[static_cast<std::size_t>(input.index)] =
            place(graph_.value(input).name, row_major_desc(input), desc.dtype, Storage::external);
    }
    for (const ValueId scalar : graph_.values_with_role(Role::scalar)) {
        placed_[static_cast<std::size_t>(scalar.index)] = {program_.add_scalar(graph_.value(scalar).name),
                                                           row_major_desc(scalar), DType::f32};
    }
}

Placed Lowering::as_it_lies(ValueId value) {
    if (graph_.is_variable(value)) return master(value);
    // Backward still reads this micro-batch's own: the statistics of a batch norm, for one.
    const auto sum = sums_.find(value);
    if (sum != sums_.end() && section() == Section::update()) return sum->second.placed;
    Placed& placed = placed_[static_cast<std::size_t>(value.index)];
    if (!placed && graph::strip_casts(graph_, value) != value && facts_.follows_weights(value)) {
        placed = prepared(value, row_major_desc(value));
    }
    CNNTRAIN_CHECK(placed, "value " + graph_.value(value).name + " is read before it is placed, by " + node().name);
    return seen_from(section(), placed);
}

Placed Lowering::seen_from(Section section, Placed placed) const {
    placed.buffer = program_.seen_from(section, placed.buffer);
    return placed;
}

Placed Lowering::seen_from(Section section, ValueId value) const {
    if (graph_.is_variable(value)) return masters_.at(value);
    return seen_from(section, placed_[static_cast<std::size_t>(value.index)]);
}

bool Lowering::is_taken_as_image(ValueId value) const {
    const graph::OpDef& def = graph_.def(node());
    for (std::size_t i = 0; i < node().inputs.size(); ++i) {
        if (node().inputs[i] != value) continue;
        const Layout wanted = def.input(i).layout;
        const bool like_result = wanted == Layout::same && !node().outputs.empty();
        if (wanted == Layout::image || (like_result && facts_.layout(node().outputs[0]) == Layout::image)) return true;
    }
    return false;
}

Placed Lowering::operand(ValueId value) {
    const Placed now = as_it_lies(value);
    const TensorDesc& desc = graph_.desc(value);
    const Layout layout = facts_.layout(value);
    if (layout == Layout::kernel) return now;
    if (layout == Layout::image) {
        const bool is_mixed = graph_.def(node()).result(0) == Layout::same && !node().outputs.empty() &&
                              facts_.layout(node().outputs[0]) != Layout::image;
        return is_mixed ? in_order(value) : now;
    }
    Placed plain = in_order(value);
    if (desc.shape.size() == 4 && is_taken_as_image(value)) plain.desc = image_desc(desc);
    return plain;
}

Placed Lowering::in_order(ValueId value) {
    const TensorDesc& desc = graph_.desc(value);
    const char* const reason = "elements are read in the order of their shape";
    if (facts_.layout(value) != Layout::image) return reordered(value, as_it_lies(value), row_major(desc), reason);
    Placed plain = reordered(value, as_it_lies(value), image_desc(desc), reason);
    plain.desc = row_major(desc);
    return plain;
}

Placed Lowering::strided(ValueId value) {
    const Layout layout = facts_.layout(value);
    return layout == Layout::plain || layout == Layout::rows ? as_it_lies(value) : in_order(value);
}

Placed Lowering::operand_as(ValueId value, const Desc& wanted, const std::string& reason) {
    return reordered(value, operand(value), wanted, reason);
}

Placed Lowering::relaid(ValueId value, const Desc& view, const Desc& wanted, const std::string& reason) {
    Placed now = in_order(value);
    now.desc = view;
    return reordered(value, now, wanted, reason);
}

Placed Lowering::reordered(ValueId value, const Placed& now, const Desc& wanted, const std::string& reason) {
    if (now.desc == wanted) return now;
    for (const Placed& copy : reordered_[value]) {
        if (copy.desc == wanted) return seen_from(section(), copy);
    }
    const Placed copy = define_copy(value, wanted);
    add_layout_copy(program_, section(), empty_step(node().name + ":reorder", "reorder", 0), onednn_, now, copy);
    if (copy_ == 0)
        reorders_.push_back(node().name + ": " + layout_name(now.desc) + " -> " + layout_name(wanted) + ", " + reason);
    return copy;
}

Placed Lowering::define_copy(ValueId value, const Desc& wanted) {
    const Placed now = as_it_lies(value);
    const Placed copy = place(now.buffer->name + ":" + layout_name(wanted), wanted, now.dtype, Storage::arena);
    reordered_[value].push_back(copy);
    return copy;
}

Placed Lowering::master(ValueId value, std::optional<Desc> wish) {
    const auto found = masters_.find(value);
    if (found != masters_.end()) return found->second;
    const graph::Value& v = graph_.value(value);
    const Desc desc = wish ? *wish : row_major_desc(value);
    return masters_[value] = place(v.name, desc, v.desc.dtype, Storage::persistent);
}

Placed Lowering::slot_master(ValueId slot, ValueId parameter) {
    CNNTRAIN_CHECK(graph_.desc(slot) == graph_.desc(parameter), "a slot differs from its parameter: " + node().name);
    return master(slot, master(parameter).desc);
}

Desc Lowering::row_major_desc(ValueId value) const {
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

Desc Lowering::preferred_activation(const TensorDesc& tensor) const {
    return preferred_ ? like_activation(*preferred_, tensor) : image_desc(tensor);
}

Placed Lowering::define(ValueId result, const Desc& desc) {
    const graph::Value& v = graph_.value(result);
    const Storage storage = section() == Section::prepare() ? Storage::persistent : Storage::arena;
    const Placed placed = place(v.name, desc, v.desc.dtype, storage);
    if (is_read_at_end(result) || section() == Section::update()) program_.keep_to_end(placed.buffer);
    return placed_[static_cast<std::size_t>(result.index)] = placed;
}

bool Lowering::dies_here(ValueId value, const Desc& desc) const {
    const graph::Value& v = graph_.value(value);
    if (v.role != Role::intermediate) return false;
    const bool read_later = std::any_of(v.users.begin(), v.users.end(),
                                        [&](NodeId user) { return position_of(user) > position_of(current_); });
    if (read_later || v.users.empty()) return false;
    const Placed& placed = placed_[static_cast<std::size_t>(value.index)];
    if (!placed || placed.buffer->storage != Storage::arena || placed.desc != desc) return false;
    return may_alias(value) && !viewed_.contains(&placed.buffer->origin());
}

bool Lowering::is_output(ValueId value) const {
    return std::ranges::any_of(graph_.outputs(), [&](const graph::Output& output) { return output.value == value; });
}

bool Lowering::is_read(ValueId result) const {
    return is_output(result) || !graph_.value(result).users.empty();
}

/// Gradients are read again after the update, by tests and by the search for non-finite values. Of several micro-batches it is
/// their sums.
bool Lowering::is_read_at_end(ValueId result) const {
    return facts_.crosses_into_update(result) && !updates_from_sums();
}

bool Lowering::may_alias(ValueId result) const {
    return !is_output(result) && !facts_.crosses_into_update(result);
}

void Lowering::define_alias(ValueId result, const Placed& view) {
    viewed_.insert(&view.buffer->origin());
    placed_[static_cast<std::size_t>(result.index)] = view;
}

Placed Lowering::define_over(ValueId result, const Desc& desc, ValueId dying) {
    CNNTRAIN_CHECK(dies_here(dying, desc), "a value that is still needed would be overwritten by " + node().name);
    const Placed placed = operand(dying);
    if (is_read_at_end(result)) program_.keep_to_end(placed.buffer);
    return placed_[static_cast<std::size_t>(result.index)] = placed;
}

Placed Lowering::define_or_reuse(ValueId result, const Desc& desc, ValueId candidate) {
    return dies_here(candidate, desc) ? define_over(result, desc, candidate) : define(result, desc);
}

Placed Lowering::temporary(const std::string& name, const Desc& desc, DType dtype) {
    return place(node().name + ":" + name, desc, dtype, Storage::arena);
}

Placed Lowering::temporary_floats(const std::string& name, std::int64_t count) {
    return temporary(name, row_major({DType::f32, {count}}), DType::f32);
}

Step Lowering::empty_step(std::string name, std::string op, double flops) const {
    Step step;
    step.name = std::move(name);
    step.op = std::move(op);
    step.implementation = "kernel";
    step.flops = flops;
    step.stage = node().stage.index;
    return step;
}

void Lowering::add_step(std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes,
                        std::function<void(const StepContext&)> run) {
    Step step = empty_step(node().name, std::string(graph_.def(node()).name), graph_.node_flops(current_));
    step.implementation = std::move(implementation);
    step.reads = std::move(reads);
    step.writes = std::move(writes);
    step.run = std::move(run);
    program_.add_step(section(), std::move(step));
}

void Lowering::add_late_step(std::string implementation, std::vector<Placed> reads, std::vector<Placed> writes,
                             std::function<void(const StepContext&)> run) {
    Step step = empty_step(node().name, std::string(graph_.def(node()).name), 0);
    step.implementation = std::move(implementation);
    step.reads = std::move(reads);
    step.writes = std::move(writes);
    step.run = std::move(run);
    late_steps_.push_back(std::move(step));
}

void Lowering::add_copy_step(const std::string& op, const Placed& from, const Placed& to,
                             std::function<void(const StepContext&)> run) {
    Step step = empty_step(node().name + ":" + op, op, 0);
    step.reads = {from};
    step.writes = {to};
    step.run = std::move(run);
    program_.add_step(section(), std::move(step));
}

void Lowering::add_primitive(const Primitive& primitive, const Arguments& arguments, const std::vector<int>& written) {
    program_.add_primitive(section(),
                           empty_step(node().name, std::string(graph_.def(node()).name), graph_.node_flops(current_)),
                           primitive, arguments, written);
}

void Lowering::add_copy_primitive(const std::string& op, const Primitive& primitive, const Placed& from,
                                  const Placed& to) {
    program_.add_primitive(section(), empty_step(node().name + ":" + op, op, 0), primitive,
                           {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}}, {DNNL_ARG_TO});
}

void Lowering::add_parts(const Primitive& primitive, const std::vector<Arguments>& parts,
                         const std::vector<int>& written) {
    program_.add_parts(section(),
                       empty_step(node().name, std::string(graph_.def(node()).name), graph_.node_flops(current_)),
                       primitive, parts, written);
}

std::function<std::span<float>()> Lowering::scratch_floats(std::int64_t count) {
    program_.reserve_scratch(section(), static_cast<std::size_t>(count) * sizeof(float));
    return [count, where = section(), &program = program_] {
        return std::span<float>(reinterpret_cast<float*>(program.scratch(where)), static_cast<std::size_t>(count));
    };
}

void Lowering::accumulate_crossing_results() {
    if (!updates_from_sums() || !section().has_site()) return;
    for (const ValueId result : node().outputs) {
        const auto sum = sums_.find(result);
        const bool is_summed = sum != sums_.end() && sum->second.is_added_to;
        if (facts_.crosses_into_update(result) && !is_summed) accumulate(result);
    }
}

Blocks Lowering::channel_blocks(ValueId value, const Placed& tensor) const {
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
