#include "backend/cpu/lower/values.h"

#include <algorithm>

#include "backend/cpu/lower/layout_copy.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::Layout;
using graph::NodeId;
using graph::OpKind;
using graph::Role;
using graph::ValueId;

Values::Values(const NodeWalk& walk, const GraphLayouts& layouts, const OneDnn& onednn, Program& program,
               StepBuilder& steps, Weights& weights, bool are_summed)
    : walk_(walk),
      layouts_(layouts),
      onednn_(onednn),
      program_(program),
      steps_(steps),
      weights_(weights),
      are_summed_(are_summed),
      placed_(static_cast<std::size_t>(walk.graph().value_count())) {
    place_inputs();
}

void Values::begin_pipeline() {
    preferred_.reset();
    reordered_.clear();
    workspaces_.clear();
    gated_.clear();
    spread_.clear();
    pixel_sums_.clear();
    statistics_.clear();
    for (const NodeId id : walk_.order()) {
        if (!walk_.section_of(id).has_site()) continue;
        for (const ValueId result : graph().node(id).outputs)
            placed(result) = {};
    }
}

void Values::place_inputs() {
    for (const ValueId input : graph().values_with_role(Role::input)) {
        const TensorDesc& desc = graph().desc(input);
        placed(input) =
            steps_.place(graph().value(input).name, layouts_.row_major_desc(input), desc.dtype, Storage::external);
    }
    for (const ValueId scalar : graph().values_with_role(Role::scalar)) {
        placed(scalar) = {program_.add_scalar(graph().value(scalar).name), layouts_.row_major_desc(scalar), DType::f32};
    }
}

Placed Values::as_it_lies(ValueId value) {
    if (graph().is_variable(value)) return weights_.master(value);
    Placed& kept = placed(value);
    if (!kept && graph::strip_casts(graph(), value) != value && walk_.facts().follows_weights(value)) {
        kept = weights_.prepared(value, layouts_.row_major_desc(value));
    }
    CNNTRAIN_CHECK(kept,
                   "value " + graph().value(value).name + " is read before it is placed, by " + walk_.node().name);
    return seen_from(walk_.section(), kept);
}

Placed Values::seen_from(Section section, Placed tensor) const {
    tensor.buffer = program_.seen_from(section, tensor.buffer);
    return tensor;
}

Placed Values::seen_from(Section section, ValueId value) const {
    if (graph().is_variable(value)) return weights_.master(value);
    return seen_from(section, placed(value));
}

bool Values::is_taken_as_image(ValueId value) const {
    const graph::OpDef& def = graph().def(walk_.node());
    for (std::size_t i = 0; i < walk_.node().inputs.size(); ++i) {
        if (walk_.node().inputs[i] != value) continue;
        const Layout wanted = def.input(i).layout;
        const bool like_result = wanted == Layout::same && !walk_.node().outputs.empty();
        if (wanted == Layout::image || (like_result && layouts_.layout(walk_.node().outputs[0]) == Layout::image))
            return true;
    }
    return false;
}

Placed Values::operand(ValueId value) {
    const Placed now = as_it_lies(value);
    const TensorDesc& desc = graph().desc(value);
    const Layout layout = layouts_.layout(value);
    if (layout == Layout::kernel) return now;
    if (layout == Layout::image) {
        const bool is_mixed = graph().def(walk_.node()).result(0) == Layout::same && !walk_.node().outputs.empty() &&
                              layouts_.layout(walk_.node().outputs[0]) != Layout::image;
        return is_mixed ? in_order(value) : now;
    }
    Placed plain = in_order(value);
    if (desc.shape.size() == 4 && is_taken_as_image(value)) plain.desc = image_desc(desc);
    return plain;
}

Placed Values::in_order(ValueId value) {
    const TensorDesc& desc = graph().desc(value);
    const char* const reason = "elements are read in the order of their shape";
    if (layouts_.layout(value) != Layout::image) return reordered(value, as_it_lies(value), row_major(desc), reason);
    Placed plain = reordered(value, as_it_lies(value), image_desc(desc), reason);
    plain.desc = row_major(desc);
    return plain;
}

Placed Values::strided(ValueId value) {
    const Layout layout = layouts_.layout(value);
    return layout == Layout::plain || layout == Layout::rows ? as_it_lies(value) : in_order(value);
}

Placed Values::operand_as(ValueId value, const Desc& wanted, const std::string& reason) {
    return reordered(value, operand(value), wanted, reason);
}

Placed Values::relaid(ValueId value, const Desc& view, const Desc& wanted, const std::string& reason) {
    Placed now = in_order(value);
    now.desc = view;
    return reordered(value, now, wanted, reason);
}

Placed Values::reordered(ValueId value, const Placed& now, const Desc& wanted, const std::string& reason) {
    if (now.desc == wanted) return now;
    for (const Placed& copy : reordered_[value]) {
        if (copy.desc == wanted) return seen_from(walk_.section(), copy);
    }
    const Placed copy = define_copy(value, wanted);
    add_layout_copy(program_, walk_.section(), steps_.data_step("reorder", "reorder"), onednn_, now, copy);
    if (walk_.pipeline() == 0) {
        reorders_.push_back(walk_.node().name + ": " + layout_name(now.desc) + " -> " + layout_name(wanted) + ", " +
                            reason);
    }
    return copy;
}

Placed Values::define_copy(ValueId value, const Desc& wanted) {
    const Placed now = as_it_lies(value);
    const Placed copy = steps_.place(now.buffer->name + ":" + layout_name(wanted), wanted, now.dtype, Storage::arena);
    reordered_[value].push_back(copy);
    return copy;
}

Desc Values::preferred_activation(const TensorDesc& tensor) const {
    return preferred_ ? like_activation(*preferred_, tensor) : image_desc(tensor);
}

Placed Values::define(ValueId result, const Desc& desc) {
    const graph::Value& v = graph().value(result);
    const Storage storage = walk_.section() == Section::prepare() ? Storage::persistent : Storage::arena;
    const Placed memory = steps_.place(v.name, desc, v.desc.dtype, storage);
    if (is_read_at_end(result) || walk_.section() == Section::update()) program_.keep_to_end(memory.buffer);
    return placed(result) = memory;
}

bool Values::dies_here(ValueId value, const Desc& desc) const {
    const graph::Value& v = graph().value(value);
    if (v.role != Role::intermediate) return false;
    const bool read_later = std::ranges::any_of(v.users, [&](NodeId user) { return walk_.is_later(user); });
    if (read_later || v.users.empty()) return false;
    const Placed& kept = placed(value);
    if (!kept || kept.buffer->storage != Storage::arena || kept.desc != desc) return false;
    return may_alias(value) && !viewed_.contains(&kept.buffer->origin());
}

/// Gradients are read again after the update, by tests and by the search for non-finite values. If the update reads
/// sums, these are read instead.
bool Values::is_read_at_end(ValueId result) const {
    return walk_.facts().crosses_into_update(result) && !are_summed_;
}

bool Values::may_alias(ValueId result) const {
    return !is_output(graph(), result) && !walk_.facts().crosses_into_update(result);
}

void Values::define_alias(ValueId result, const Placed& view) {
    viewed_.insert(&view.buffer->origin());
    placed(result) = view;
}

std::optional<GatedValue> Values::gated(ValueId value) const {
    const auto found = gated_.find(value);
    return found == gated_.end() ? std::nullopt : std::optional(found->second);
}

Placed Values::spread(ValueId value) const {
    const auto found = spread_.find(value);
    return found == spread_.end() ? Placed{} : found->second;
}

template <typename Matches> bool Values::has_reader(ValueId value, const Matches& matches) const {
    return std::ranges::any_of(graph().value(value).users, [&](NodeId user) {
        return walk_.section_of(user) == walk_.section() && matches(graph().node(user));
    });
}

bool Values::is_averaged(ValueId value) const {
    return has_reader(value, [](const graph::Node& node) { return node.kind == OpKind::global_average_pool; });
}

bool Values::is_normalised(ValueId value) const {
    return has_reader(value, [&](const graph::Node& node) {
        const bool is_norm = node.kind == OpKind::batch_norm || node.kind == OpKind::group_norm;
        return is_norm && node.inputs[0] == value;
    });
}

Placed Values::define_statistics(ValueId y, std::vector<std::int64_t> pixels) {
    const Shape& shape = graph().desc(y).shape;
    const std::int64_t floats = static_cast<std::int64_t>(pixels.size()) * shape.front() * 3 * shape.back();
    const Placed values = steps_.temporary_floats("statistics", floats);
    statistics_[y] = {values, std::move(pixels)};
    return values;
}

PlacedStatistics Values::statistics(ValueId value) const {
    const auto found = statistics_.find(value);
    if (found == statistics_.end()) return {};
    return {seen_from(walk_.section(), found->second.values), found->second.pixels};
}

Placed Values::define_over(ValueId result, const Desc& desc, ValueId dying) {
    CNNTRAIN_CHECK(dies_here(dying, desc), "a value that is still needed would be overwritten by " + walk_.node().name);
    const Placed memory = operand(dying);
    if (is_read_at_end(result)) program_.keep_to_end(memory.buffer);
    return placed(result) = memory;
}

Placed Values::define_or_reuse(ValueId result, const Desc& desc, ValueId candidate) {
    return dies_here(candidate, desc) ? define_over(result, desc, candidate) : define(result, desc);
}

Placed Values::float_vector(ValueId value) {
    const graph::Value& v = graph().value(value);
    const bool is_computed = v.role == Role::intermediate && graph().node(v.producer).kind != OpKind::cast;
    return is_computed ? operand(value) : weights_.float_vector(value);
}

}  // namespace cnntrain::cpu
