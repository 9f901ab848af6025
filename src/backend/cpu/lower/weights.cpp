#include "backend/cpu/lower/weights.h"

#include <algorithm>

#include "backend/cpu/lower/float_types.h"
#include "backend/cpu/lower/layout_copy.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::Role;
using graph::ValueId;

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
    with_float_type(source.dtype, [&]<typename T>() {
        Step step = prepare_step(result.buffer->name, "merge_groups");
        step.reads = {plain};
        step.writes = {result};
        step.run = [=](const StepContext&) { merge_groups(kernel, plain.as<T>(), result.as<T>()); };
        program_.add_step(Section::prepare(), std::move(step));
    });
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
