#include "backend/ipu/slots.h"

#include <algorithm>

#include <gcl/Collectives.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Zero.hpp>
#include <poputil/TileMapping.hpp>

#include "backend/ipu/handles.h"
#include "backend/ipu/lower/types.h"
#include "cnntrain/base/error.h"

namespace cnntrain::ipu {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Phase;
using graph::Role;
using graph::ValueId;
using poplar::program::Copy;

namespace {

/// Site and number of samples of a node that draws random numbers.
std::optional<RandomSite> random_site(const Graph& graph, const Node& node) {
    const auto at = [&](std::uint64_t site) {
        return RandomSite{site, static_cast<std::size_t>(graph.desc(node.inputs.at(0)).shape.at(0))};
    };
    if (const auto* scale = std::get_if<graph::RandomScaleAttrs>(&node.attrs)) return at(scale->site);
    const auto* norm = std::get_if<graph::LayerNormAttrs>(&node.attrs);
    if (norm != nullptr && norm->keep < 1) return at(norm->site);
    const auto* attention = std::get_if<graph::AttentionAttrs>(&node.attrs);
    if (attention != nullptr && attention->keep < 1) return at(attention->site);
    return std::nullopt;
}

/// A ring of `places` tensors like this one.
poplar::Tensor ring_of(poplar::Graph& device, const poplar::Tensor& tensor, std::int64_t places,
                       const std::string& name) {
    std::vector<poplar::Tensor> copies;
    for (std::int64_t i = 0; i < places; ++i)
        copies.push_back(device.clone(tensor, {name}).expand({0}));
    return poplar::concat(copies);
}

}  // namespace

Slots::Slots(const Graph& graph, poplar::Graph& device, const schedule::UpdatePlan& plan)
    : graph_(graph), facts_(graph), device_(device), plan_(plan) {
    const unsigned count = static_cast<unsigned>(std::ranges::max(plan.devices)) + 1;
    const unsigned tiles = device.getTarget().getTilesPerIPU();
    for (unsigned ipu = 0; ipu < count; ++ipu)
        ipus_.push_back(device.createVirtualGraph(ipu * tiles, (ipu + 1) * tiles));
    const std::int32_t stages = plan.stages();
    for (std::int32_t stage = 0; stage < stages; ++stage)
        slots_.emplace_back(graph, Phase::forward, stage, ipu_of(stage));
    for (std::int32_t stage = stages - 1; stage >= 0; --stage)
        slots_.emplace_back(graph, Phase::backward, stage, ipu_of(stage));
    for (std::int32_t stage = 0; stage < stages; ++stage)
        updates_.emplace_back(graph, Phase::update, stage, ipu_of(stage));

    make_scalars();
    make_variables();
    lower_prepare();
    lower_phase(Phase::forward);
    lower_phase(Phase::backward);
    make_output_reads(/*of_update=*/false);
    make_accumulators();
    make_sums();
    lower_update();
    make_output_reads(/*of_update=*/true);
    finish_counts();
}

Slot& Slots::slot_of(const Node& node) {
    const auto stage = static_cast<std::size_t>(node.stage.index);
    if (node.phase == Phase::update) return updates_.at(stage);
    return slots_.at(node.phase == Phase::forward ? stage : slots_.size() - 1 - stage);
}

std::size_t Slots::number_of(const Slot& slot) const {
    const auto stage = static_cast<std::size_t>(slot.stage);
    return slot.phase == Phase::forward ? stage : slots_.size() - 1 - stage;
}

poplar::Tensor Slots::linear(unsigned ipu, const poplar::Type& type, const std::vector<std::size_t>& shape,
                             const std::string& name) {
    const poplar::Tensor tensor = device_.addVariable(type, shape, {name});
    poputil::mapTensorLinearly(ipus_.at(ipu), tensor);
    return tensor;
}

/// A tensor in the layout that its first reader with a preference wants; slots of optimisers lie as their parameters.
poplar::Tensor Slots::allocated(unsigned ipu, ValueId id) {
    const graph::Value& value = graph_.value(id);
    const poplar::Type type = device_type(value.desc.dtype);
    if (value.role == Role::slot && graph_.desc(value.owner).shape == value.desc.shape)
        return device_.clone(type, updates_.front().values.of(value.owner), {value.name});
    for (const NodeId user : value.users) {
        const Node& node = graph_.node(user);
        const LoweringEntry* entry = lowering_of(node.kind);
        if (entry == nullptr || entry->allocate == nullptr) continue;
        const auto index = static_cast<std::size_t>(std::ranges::find(node.inputs, id) - node.inputs.begin());
        const poplar::Tensor tensor = entry->allocate({graph_, node, ipus_.at(ipu), plans_}, index);
        if (tensor.valid()) return tensor;
    }
    return linear(ipu, type, extents(value.desc.shape), value.name);
}

void Slots::make_scalars() {
    const std::vector<ValueId> scalars = graph_.values_with_role(Role::scalar);
    scalars_.resize(ipus_.size());
    if (scalars.empty()) return;
    for (unsigned ipu = 0; ipu < ipus_.size(); ++ipu)
        scalars_[ipu] = linear(ipu, poplar::FLOAT, {scalars.size()}, handle::kScalars);
    for (std::deque<Slot>* all : {&slots_, &updates_}) {
        for (Slot& slot : *all) {
            for (std::size_t i = 0; i < scalars.size(); ++i)
                slot.values.set(scalars[i], scalars_[slot.ipu][i]);
        }
    }
}

poplar::program::Sequence Slots::distribute_scalars() const {
    Sequence program;
    for (std::size_t ipu = 1; ipu < scalars_.size(); ++ipu)
        program.add(Copy(scalars_[0], scalars_[ipu]));
    return program;
}

/// Where its first reader is. An optimiser's state is with its parameter.
unsigned Slots::ipu_of_variable(ValueId variable) const {
    const graph::Value& value = graph_.value(variable);
    if (value.role == Role::slot) return ipu_of_variable(value.owner);
    return value.users.empty() ? 0 : ipu_of(graph_.node(value.users.front()).stage.index);
}

void Slots::make_variables() {
    for (const ValueId variable : graph_.variables()) {
        const std::string name = handle::variable(graph_.value(variable).name);
        const poplar::Tensor tensor = allocated(ipu_of_variable(variable), variable);
        device_.createHostWrite(name, tensor);
        device_.createHostRead(name, tensor);
        for (std::deque<Slot>* all : {&slots_, &updates_}) {
            for (Slot& slot : *all)
                slot.values.set(variable, tensor);
        }
    }
}

bool Slots::follows_weights(const Node& node) const {
    return node.phase != Phase::update && !node.outputs.empty() &&
           std::ranges::all_of(node.outputs, [&](ValueId value) { return facts_.follows_weights(value); });
}

void Slots::lower_prepare() {
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
        const Node& node = graph_.node(NodeId{i});
        if (!follows_weights(node)) continue;
        Slot& maker = slot_of(node);
        lower(node, maker, prepare_);
        for (const ValueId output : node.outputs) {
            for (Slot& slot : slots_)
                slot.values.set(output, maker.values.of(output));
        }
    }
}

void Slots::lower_phase(Phase phase) {
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
        const Node& node = graph_.node(NodeId{i});
        if (node.phase != phase || follows_weights(node)) continue;
        Slot& slot = slot_of(node);
        for (const ValueId input : node.inputs) {
            if (!slot.values.has(input)) bring(input, slot);
        }
        take_keys(node, slot);
        lower(node, slot, slot.compute);
    }
}

void Slots::lower(const Node& node, Slot& slot, Sequence& program) {
    const LoweringEntry* entry = lowering_of(node.kind);
    CNNTRAIN_CHECK(entry != nullptr, "no lowering of " + node.name);
    entry->lower({graph_, node, ipus_.at(slot.ipu), program, slot.values, plans_, slot.keys});
}

/// Makes a value of another slot, or of the host, visible in this one.
void Slots::bring(ValueId value, Slot& reader) {
    if (graph_.value(value).role == Role::input) {
        const auto earlier = std::ranges::find_if(
            slots_, [&](const Slot& slot) { return slot.ipu == reader.ipu && slot.values.has(value); });
        if (earlier == slots_.end()) return take_input(value, reader);
        return carry(value, *earlier, reader);
    }
    carry(value, slot_of(graph_.node(graph_.value(value).producer)), reader);
}

void Slots::take_input(ValueId input, Slot& reader) {
    const std::string& name = graph_.value(input).name;
    const poplar::Tensor tensor = allocated(reader.ipu, input);
    streams_.push_back({handle::input(name, number_of(reader)), input, {}});
    reader.take.add(
        Copy(device_.addHostToDeviceFIFO(streams_.back().handle, tensor.elementType(), tensor.numElements()), tensor));
    reader.values.set(input, tensor);
}

void Slots::take_keys(const Node& node, Slot& slot) {
    const std::optional<RandomSite> site = random_site(graph_, node);
    if (!site || slot.keys.contains(site->site)) return;
    const std::string name = handle::keys(site->site, number_of(slot));
    const poplar::Tensor keys = linear(slot.ipu, poplar::UNSIGNED_INT, {site->samples, 2}, name);
    slot.keys.emplace(site->site, keys);
    streams_.push_back({name, {}, *site});
    slot.take.add(Copy(device_.addHostToDeviceFIFO(name, poplar::UNSIGNED_INT, keys.numElements()), keys));
}

void Slots::carry(ValueId value, Slot& maker, Slot& reader) {
    const schedule::Pipeline pipeline{plan_.stages(), plan_.schedule};
    const auto first = static_cast<std::int32_t>(number_of(maker));
    const auto last = static_cast<std::int32_t>(number_of(reader));
    const std::int64_t places = schedule::in_flight(pipeline, first, last, schedule::Workers::one);
    if (places > 1) return carry_in_ring(value, maker, reader, places);
    const poplar::Tensor made = lasting(value, maker);
    poplar::Tensor brought = made;
    if (maker.ipu != reader.ipu) {
        brought = linear(reader.ipu, made.elementType(), made.shape(), graph_.value(value).name);
        maker.give.add(Copy(made, brought));
    }
    reader.values.set(value, brought);
    if (pipeline.schedule != schedule::PipelineSchedule::sequential) reader.borrowed.push_back(brought);
}

/// The tensor of a value, which only the maker overwrites. If it is a view of what another slot overwrites, the value
/// gets a tensor of its own.
poplar::Tensor Slots::lasting(ValueId value, Slot& maker) {
    const poplar::Tensor made = maker.values.of(value);
    const bool is_borrowed = std::ranges::any_of(maker.borrowed, [&](const poplar::Tensor& other) {
        return other.elementType() == made.elementType() &&
               poplar::concat(made.flatten(), other.flatten()).containsAliases();
    });
    if (!is_borrowed) return made;
    const poplar::Tensor own = linear(maker.ipu, made.elementType(), made.shape(), graph_.value(value).name);
    maker.compute.add(Copy(made, own));
    maker.values.replace(value, own);
    return own;
}

void Slots::carry_in_ring(ValueId value, Slot& maker, Slot& reader, std::int64_t places) {
    namespace pe = popops::expr;
    const std::string name = "ring of " + graph_.value(value).name;
    const poplar::Tensor made = lasting(value, maker);
    const poplar::Tensor like = linear(reader.ipu, made.elementType(), made.shape(), name);
    const poplar::Tensor ring = ring_of(ipus_.at(reader.ipu), like, places, name);
    const auto place = [&](Slot& slot, Sequence& program) {
        count(slot);
        return popops::map(ipus_.at(slot.ipu), pe::Rem(pe::_1, pe::Const(static_cast<unsigned>(places))), {slot.count},
                           program, {name});
    };
    maker.give.add(Copy(made, like));
    popops::dynamicUpdate(ipus_.at(reader.ipu), ring, like.expand({0}), place(maker, maker.give), {0}, {1}, maker.give,
                          {name});
    const poplar::Tensor taken =
        popops::dynamicSlice(ipus_.at(reader.ipu), ring, place(reader, reader.take), {0}, {1}, reader.take, {name});
    reader.values.set(value, taken.squeeze({0}));
}

void Slots::count(Slot& slot) {
    if (!slot.count.valid()) slot.count = linear(slot.ipu, poplar::UNSIGNED_INT, {1}, "micro-batches of a slot");
}

void Slots::finish_counts() {
    namespace pe = popops::expr;
    for (Slot& slot : slots_) {
        if (slot.count.valid())
            popops::mapInPlace(ipus_.at(slot.ipu), pe::Add(pe::_1, pe::Const(1U)), {slot.count}, slot.give, {"count"});
    }
}

poplar::program::Sequence Slots::start_counting() {
    Sequence program;
    for (Slot& slot : slots_) {
        if (slot.count.valid()) popops::zero(ipus_.at(slot.ipu), slot.count, program, {"count"});
    }
    return program;
}

void Slots::make_accumulators() {
    for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
        const ValueId value{i};
        if (!facts_.crosses_into_update(value)) continue;
        Slot& maker = slot_of(graph_.node(graph_.value(value).producer));
        const poplar::Tensor& made = maker.values.of(value);
        const std::string name = handle::accumulator(accumulators_.size());
        // A value may be a view in which elements occur twice; its sum may not.
        const poplar::Tensor sum = linear(maker.ipu, made.elementType(), made.shape(), name);
        device_.createHostWrite(name, sum);
        device_.createHostRead(name, sum);
        popops::scaledAddTo(ipus_.at(maker.ipu), sum, made, 1.0F, maker.compute, {name});
        accumulators_.push_back({value, name, sum});
    }
}

void Slots::make_sums() {
    for (const graph::Output& output : graph_.outputs()) {
        if (graph_.desc(output.value) != TensorDesc{DType::f32, {}}) continue;
        const NodeId producer = graph_.value(output.value).producer;
        if (producer.valid() && graph_.node(producer).phase == Phase::update) continue;
        Slot& maker = producer.valid() ? slot_of(graph_.node(producer)) : slots_.front();
        const poplar::Tensor sum = linear(maker.ipu, poplar::FLOAT, {}, "sum of " + output.name);
        popops::addInPlace(ipus_.at(maker.ipu), sum, maker.values.of(output.value), maker.compute, {output.name});
        sums_.push_back({output.name, maker.phase == Phase::forward, sum});
    }
}

void Slots::lower_update() {
    for (const Accumulator& accumulator : accumulators_) {
        const Slot& maker = slot_of(graph_.node(graph_.value(accumulator.value).producer));
        const poplar::Tensor sum =
            plan_.replicas == 1 ? accumulator.sum
                                : gcl::allReduceCrossReplica(ipus_.at(maker.ipu), accumulator.sum,
                                                             gcl::CollectiveOperator::ADD, update_, {"all-reduce"});
        updates_.at(static_cast<std::size_t>(maker.stage)).values.set(accumulator.value, sum);
    }
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
        const Node& node = graph_.node(NodeId{i});
        if (node.phase != Phase::update) continue;
        Slot& slot = slot_of(node);
        for (const ValueId input : node.inputs) {
            if (slot.values.has(input)) continue;
            const Slot& maker =
                updates_.at(static_cast<std::size_t>(graph_.node(graph_.value(input).producer).stage.index));
            const poplar::Tensor& made = maker.values.of(input);
            const poplar::Tensor copy =
                maker.ipu == slot.ipu ? made
                                      : linear(slot.ipu, made.elementType(), made.shape(), graph_.value(input).name);
            if (maker.ipu != slot.ipu) update_.add(Copy(made, copy));
            slot.values.set(input, copy);
        }
        lower(node, slot, update_);
    }
}

void Slots::make_output_reads(bool of_update) {
    for (const graph::Output& output : graph_.outputs()) {
        const NodeId producer = graph_.value(output.value).producer;
        const bool by_update = producer.valid() && graph_.node(producer).phase == Phase::update;
        if (by_update != of_update) continue;
        Slot& maker = producer.valid() ? slot_of(graph_.node(producer)) : slots_.front();
        if (!maker.values.has(output.value)) bring(output.value, maker);
        device_.createHostRead(handle::output(output.name), maker.values.of(output.value));
    }
}

}  // namespace cnntrain::ipu
