#include "backend/cpu/lower/values.h"

#include <algorithm>

#include "backend/cpu/lower/layout_copy.h"
#include "backend/cpu/lower/step_builder.h"
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
    Placed plain = reordered(value, as_it_lies(value), layouts_.row_major_desc(value), reason);
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

Placed Values::define(ValueId result) {
    return define(result, row_major(graph().desc(result)));
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

namespace {

/// A step of the prepare section.
Step prepare_step(std::string name, std::string op) {
    Step step;
    step.name = std::move(name);
    step.op = std::move(op);
    step.implementation = "kernel";
    return step;
}
}  // namespace

Weights::Weights(const NodeWalk& walk, const GraphLayouts& layouts, const OneDnn& onednn, Program& program,
                 StepBuilder& steps)
    : walk_(walk), layouts_(layouts), onednn_(onednn), program_(program), steps_(steps) {}

Placed Weights::master(ValueId value, std::optional<Desc> wish) {
    const auto found = masters_.find(value);
    if (found != masters_.end()) return found->second;
    const graph::Value& v = graph().value(value);
    const Desc desc = wish ? *wish : layouts_.row_major_desc(value);
    return masters_[value] = steps_.place(v.name, desc, v.desc.dtype, Storage::persistent);
}

Placed Weights::slot_master(ValueId slot, ValueId parameter) {
    CNNTRAIN_CHECK(graph().desc(slot) == graph().desc(parameter),
                   "a slot differs from its parameter: " + walk_.node().name);
    return master(slot, master(parameter).desc);
}

Placed Weights::sharded_slot(ValueId slot, ValueId parameter, std::size_t sum) {
    const Placed placed = slot_master(slot, parameter);
    placed.buffer->sharded_as = static_cast<int>(sum);
    placed.buffer->bytes = size_bytes(placed.dtype);
    sharded_slots_.push_back(placed.buffer);
    return placed;
}

void Weights::size_pieces(const GradientExchange& exchange) {
    for (Buffer* slot : sharded_slots_) {
        const auto piece = exchange.own_piece(static_cast<std::size_t>(slot->sharded_as));
        slot->bytes = static_cast<std::size_t>(piece.count) * slot->bytes;  // until here the bytes of one element
    }
}

Placed Weights::prepared(ValueId value, const Desc& wanted, std::int64_t merged) {
    const ValueId root = graph::strip_casts(graph(), value);
    for (const PreparedCopy& known : prepared_) {
        if (known.root == root && known.copy.desc == wanted) return known.copy;
    }
    const std::string name = graph().value(root).name + ":" + layout_name(wanted);
    prepared_.push_back({root, steps_.place(name, wanted, graph().desc(value).dtype, Storage::persistent), merged});
    return prepared_.back().copy;
}

Placed Weights::computed(ValueId value, const Desc& from, const std::string& name, std::int64_t count, Make make) {
    const Placed copy = prepared(value, from);
    const std::string full_name = copy.buffer->name + ":" + name;
    for (const Computed& known : computed_) {
        if (known.to.buffer->name == full_name) return known.to;
    }
    const Desc floats = row_major({DType::f32, {count}});
    computed_.push_back({copy, steps_.place(full_name, floats, DType::f32, Storage::persistent), std::move(make)});
    return computed_.back().to;
}

Placed Weights::made(const std::string& name, const TensorDesc& desc, std::vector<Placed> reads,
                     std::function<void(const Placed& to)> make) {
    const Placed to = steps_.place(name, image_desc(desc), desc.dtype, Storage::persistent);
    Step step = prepare_step(name, "vector");
    step.reads = std::move(reads);
    step.writes = {to};
    step.run = [to, make = std::move(make)](const StepContext&) { make(to); };
    program_.add_step(Section::prepare(), std::move(step));
    return to;
}

Placed Weights::laid_out(const Placed& made, const Desc& wanted) {
    if (made.desc == wanted) return made;
    const std::string name = made.buffer->name + ":" + layout_name(wanted);
    const Placed to = steps_.place(name, wanted, made.dtype, Storage::persistent);
    add_layout_copy(program_, Section::prepare(), prepare_step(name, "reorder"), onednn_, made, to);
    return to;
}

Placed Weights::float_vector(ValueId value) {
    const ValueId root = graph::strip_casts(graph(), value);
    const Placed kept = master(root);
    if (kept.dtype == DType::f32) return kept;
    const auto found = float_vectors_.find(root);
    if (found != float_vectors_.end()) return found->second;
    TensorDesc desc = graph().desc(root);
    desc.dtype = DType::f32;
    const Placed copy = steps_.place(kept.buffer->name + ":f32", row_major(desc), DType::f32, Storage::persistent);
    emit_cast_to_floats(kept, copy);
    return float_vectors_[root] = copy;
}

/// Adds a step that widens a bfloat16 tensor to a tensor in the same layout.
void Weights::emit_cast_to_floats(const Placed& from, const Placed& to) {
    const auto count = static_cast<std::int64_t>(from.desc.get_size() / sizeof(BFloat16));
    Step step = prepare_step(from.buffer->name, "cast");
    step.reads = {from};
    step.writes = {to};
    step.run = [from, to, count](const StepContext&) { cast(count, from.as<BFloat16>(), to.as<float>()); };
    program_.add_step(Section::prepare(), std::move(step));
}

/// Adds a step that merges groups of a kernel; the result is row-major.
Placed Weights::emit_merged_kernel(ValueId root, const Placed& source, std::int64_t merged) {
    const TensorDesc desc{source.dtype, graph().desc(root).shape};
    const std::int64_t groups = layouts_.groups_of(root);
    Placed plain = source;
    if (const Desc row_major = plain_kernel_desc(desc, groups); source.desc != row_major) {
        plain = steps_.place(source.buffer->name + ":row_major", row_major, source.dtype, Storage::persistent);
        program_.add_primitive(Section::prepare(), prepare_step(plain.buffer->name, "reorder"),
                               onednn_.reorder(source.desc, row_major), {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, plain}},
                               {DNNL_ARG_TO});
    }
    const MergedKernel kernel{desc.shape[0] * desc.shape[1], desc.shape[2], desc.shape[3], groups, merged};
    TensorDesc merged_desc = desc;
    merged_desc.shape[2] *= merged;
    const Placed result = steps_.place(source.buffer->name + ":merged", plain_kernel_desc(merged_desc, groups / merged),
                                       source.dtype, Storage::persistent);
    const auto merge = [&]<typename T>() {
        Step step = prepare_step(result.buffer->name, "merge_groups");
        step.reads = {plain};
        step.writes = {result};
        step.run = [=](const StepContext&) { merge_groups(kernel, plain.as<T>(), result.as<T>()); };
        program_.add_step(Section::prepare(), std::move(step));
    };
    if (source.dtype == DType::i8) {
        merge.template operator()<std::int8_t>();
    } else {
        with_float_type(source.dtype, merge);
    }
    return result;
}

void Weights::emit_computed() {
    for (const Computed& wanted : computed_) {
        Step step = prepare_step(wanted.to.buffer->name, "filter");
        step.reads = {wanted.from};
        step.writes = {wanted.to};
        step.run = [wanted](const StepContext&) { wanted.make(wanted.from, wanted.to); };
        program_.add_step(Section::prepare(), std::move(step));
    }
}

/// A 16-bit weight as floats, in the same layout. If that is a prepared copy itself, the cast writes it directly.
Placed Weights::as_floats(ValueId root, const Placed& kept) {
    const auto found = floats_.find(root);
    if (found != floats_.end()) return found->second;
    const std::optional<Desc> desc = with_type(kept.desc, DType::f32);
    CNNTRAIN_CHECK(desc.has_value(), kept.buffer->name + " lies in an unnamed layout");
    const auto same = std::ranges::find_if(prepared_, [&](const PreparedCopy& wanted) {
        return wanted.root == root && wanted.merged == 1 && wanted.copy.desc == *desc;
    });
    const Placed floats = same != prepared_.end()
                              ? same->copy
                              : steps_.place(kept.buffer->name + ":f32", *desc, DType::f32, Storage::persistent);
    emit_cast_to_floats(kept, floats);
    return floats_[root] = floats;
}

/// The copy of the transpose that is made together with this one, or null.
const Weights::PreparedCopy* Weights::turned_partner(const Placed& source, const PreparedCopy& right) const {
    const auto found = std::ranges::find_if(prepared_, [&](const PreparedCopy& other) {
        return other.root == right.root && are_both_tiles(source, right.copy, other.copy);
    });
    return found != prepared_.end() ? &*found : nullptr;
}

std::optional<Weights::TileCopies> Weights::take_tile_copies(ValueId parameter) {
    const Placed source = master(parameter);
    for (PreparedCopy& right : prepared_) {
        if (right.root != parameter) continue;
        const PreparedCopy* const turned = turned_partner(source, right);
        if (turned == nullptr) continue;
        right.by_update = true;
        return TileCopies{right.copy, turned->copy};
    }
    return std::nullopt;
}

/// False where the copy is made together with another one.
bool Weights::emit_copy(const Placed& source, const PreparedCopy& wanted) {
    Step step = prepare_step(wanted.copy.buffer->name, "reorder");
    if (const PreparedCopy* const turned = turned_partner(source, wanted)) {
        step.by_update = wanted.by_update;
        add_both_tiles_copy(program_, Section::prepare(), std::move(step), source, wanted.copy, turned->copy);
        return true;
    }
    const bool is_partner = std::ranges::any_of(prepared_, [&](const PreparedCopy& other) {
        return other.root == wanted.root && turned_partner(source, other) == &wanted;
    });
    if (is_partner) return false;
    add_layout_copy(program_, Section::prepare(), std::move(step), onednn_, source, wanted.copy);
    return true;
}

void Weights::emit_copies(const std::function<Placed(ValueId)>& folded) {
    for (const PreparedCopy& wanted : prepared_) {
        const bool is_variable = graph().value(wanted.root).role != Role::intermediate;
        Placed source = is_variable ? master(wanted.root) : folded(wanted.root);
        if (source.dtype == DType::bf16 && wanted.copy.dtype == DType::f32) source = as_floats(wanted.root, source);
        if (source.buffer == wanted.copy.buffer) continue;
        // A convolution reads a view as its kernel: the copy has a kernel's axes, and the view those of its shape.
        const bool is_viewed = !is_variable && layouts_.layout(wanted.root) != Layout::kernel;
        if (is_viewed && dims_of(wanted.copy.desc).size() > 3) {
            source.desc =
                plain_kernel_desc({source.dtype, graph().desc(wanted.root).shape}, layouts_.groups_of(wanted.root));
        }
        if (wanted.merged > 1) source = emit_merged_kernel(wanted.root, source, wanted.merged);
        if (source.desc == wanted.copy.desc) {
            wanted.copy.buffer->same_as = source.buffer;
            continue;
        }
        if (emit_copy(source, wanted) && is_variable) {
            reorders_.push_back(wanted.copy.buffer->name + ": " + layout_name(source.desc) +
                                ", once per weight update: the copy of a weight that convolutions and products read");
        }
    }
    emit_computed();
}

}  // namespace cnntrain::cpu
