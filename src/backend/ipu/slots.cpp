#include "backend/ipu/slots.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include <gcl/Collectives.hpp>
#include <popops/DynamicSlice.hpp>
#include <popops/ElementWise.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Zero.hpp>
#include <poputil/TileMapping.hpp>

#include "backend/ipu/device.h"
#include "backend/ipu/lower/support.h"
#include "cnntrain/base/error.h"
#include "cnntrain/graph/optimiser.h"

namespace cnntrain::ipu {

using poplar::program::Copy;

namespace {

bool is_update(const Node& node) {
    return node.kind == OpKind::update || node.kind == OpKind::scaled_update;
}

/// True if all nodes of the update that read the value are of these kinds.
bool update_reads_by(const Graph& graph, ValueId value, std::initializer_list<OpKind> kinds) {
    return std::ranges::all_of(graph.value(value).users, [&](NodeId user) {
        const Node& node = graph.node(user);
        return node.phase != Phase::update || std::ranges::find(kinds, node.kind) != kinds.end();
    });
}

poplar::Tensor scattered(poplar::Graph& device, const poplar::Tensor& tensor, gcl::CollectiveOperator op,
                         poplar::program::Sequence& program, const poplar::DebugContext& debug) {
    return gcl::reduceScatterCrossReplica(device, tensor.flatten(), op, program, gcl::CommGroup(), debug);
}

}  // namespace

OptimiserState::OptimiserState(const Graph& graph, const graph::Facts& facts, unsigned replicas,
                               const StateSettings& settings)
    : graph_(graph), facts_(facts), replicas_(replicas), settings_(settings) {
    if (!settings_.shards || replicas_ == 1) return;
    for (std::int32_t i = 0; i < graph_.node_count(); ++i)
        shard(NodeId{i});
}

/// Shards the node if it has a state and all its tensors can be divided anywhere. The trust ratios of column blocks
/// need whole rows, and the gradient of a proxy the whole sum. The zeros at the end of the last shard would be 0 / 0 in
/// the quotients of moments without an epsilon.
void OptimiserState::shard(NodeId id) {
    const Node& node = graph_.node(id);
    if (!is_update(node)) return;
    const ValueId target = node.inputs.at(update_input::kTarget);
    const ValueId gradient = node.inputs.at(update_input::kGradient);
    std::vector<ValueId> states;
    for (const ValueId input : node.inputs) {
        if (graph_.value(input).role == Role::slot) states.push_back(input);
    }
    const bool divides = node.as<graph::UpdateAttrs>().column_blocks == 1 && facts_.crosses_into_update(gradient) &&
                         update_reads_by(graph_, gradient, {node.kind, OpKind::gradient_factor});
    const auto& attrs = node.as<graph::UpdateAttrs>();
    const bool divides_by_states = optim::keeps_moments(attrs.rule);
    if (states.empty() || !divides || (divides_by_states && attrs.epsilon == 0)) return;
    const bool has_master = graph_.value(target).role == Role::slot;
    if (has_master && !update_reads_by(graph_, target, {node.kind, OpKind::round_copy})) return;
    sharded_nodes_.insert(id.index);
    sharded_values_.insert(gradient.index);
    for (const ValueId state : states)
        sharded_values_.insert(state.index);
    if (!has_master) return;
    for (const NodeId user : graph_.value(target).users) {
        if (graph_.node(user).kind == OpKind::round_copy) sharded_nodes_.insert(user.index);
    }
}

std::size_t OptimiserState::shard_elements(ValueId value) const {
    return (static_cast<std::size_t>(graph_.desc(value).elements()) + replicas_ - 1) / replicas_;
}

/// Only the update reads a slot.
bool OptimiserState::is_remote(ValueId variable) const {
    if (!settings_.offloads || graph_.value(variable).role != Role::slot) return false;
    const std::int64_t least = settings_.least_remote_bytes * (sharded(variable) ? replicas_ : 1);
    return static_cast<std::int64_t>(graph_.desc(variable).bytes()) >= least;
}

Storage OptimiserState::storage(ValueId variable) const {
    return {handle::variable(graph_.value(variable).name), sharded(variable), is_remote(variable)};
}

void OptimiserState::connect(poplar::Graph& device, ValueId variable, const poplar::Tensor& tensor) {
    const Storage where = storage(variable);
    if (!where.remote) {
        device.createHostWrite(where.handle, tensor);
        device.createHostRead(where.handle, tensor);
        return;
    }
    const std::vector<NodeId>& users = graph_.value(variable).users;
    CNNTRAIN_CHECK(!users.empty() && graph_.node(users.front()).phase == Phase::update,
                   "the passes read an optimiser's state: " + graph_.value(variable).name);
    remote_.emplace(variable.index,
                    Remote{device.addRemoteBuffer(where.handle, tensor.elementType(), tensor.numElements()),
                           tensor.flatten(), users.front(), users.back()});
}

poplar::program::Sequence OptimiserState::loads(NodeId node) const {
    poplar::program::Sequence program;
    for (const auto& [variable, remote] : remote_) {
        if (remote.first == node) program.add(Copy(remote.buffer, remote.landing));
    }
    return program;
}

poplar::program::Sequence OptimiserState::stores(NodeId node) const {
    poplar::program::Sequence program;
    for (const auto& [variable, remote] : remote_) {
        if (remote.last == node) program.add(Copy(remote.landing, remote.buffer));
    }
    return program;
}

poplar::Tensor own_shard(poplar::Graph& device, const poplar::Tensor& whole, poplar::program::Sequence& program,
                         const poplar::DebugContext& debug) {
    return scattered(device, whole, gcl::CollectiveOperator::LOCAL, program, debug);
}

poplar::Tensor shard_of_sum(poplar::Graph& device, const poplar::Tensor& addend, poplar::program::Sequence& program,
                            const poplar::DebugContext& debug) {
    return scattered(device, addend, gcl::CollectiveOperator::ADD, program, debug);
}

void gather_shards(poplar::Graph& device, const poplar::Tensor& shard, const poplar::Tensor& whole,
                   poplar::program::Sequence& program, const poplar::DebugContext& debug) {
    const poplar::Tensor all = gcl::allGatherCrossReplica(device, shard, program, gcl::CommGroup(), debug);
    program.add(Copy(all.flatten().slice(0, whole.numElements()), whole.flatten()));
}

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

std::optional<double> memory_proportion(const backend::IpuSettings& settings, std::size_t ipus, std::int32_t stages,
                                        const Slot& slot) {
    const std::vector<double>& all = settings.available_memory_proportion;
    if (all.empty()) return std::nullopt;
    if (all.size() == 1) return all[0];
    if (all.size() == ipus) return all[slot.ipu];
    if (all.size() == 2 * ipus) return all[2 * slot.ipu + (slot.phase == Phase::backward ? 1 : 0)];
    if (std::ssize(all) == stages) return all[static_cast<std::size_t>(slot.stage)];
    throw Error(ErrorKind::usage, "--available-memory-proportion has " + std::to_string(all.size()) +
                                      " values, the network is on " + std::to_string(ipus) +
                                      " IPUs: give one value, one for each IPU or stage, or two for each IPU");
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

poplar::OptionFlags stream_options(const backend::IpuSettings& settings) {
    if (!settings.prefetch_depth) return {};
    return {{"bufferingDepth", std::to_string(*settings.prefetch_depth)}};
}

Slots::Slots(const Graph& graph, poplar::Graph& device, const backend::CompileRequest& request)
    : graph_(graph),
      facts_(graph),
      device_(device),
      plan_(request.plan),
      settings_(request.ipu),
      state_(graph_, facts_, static_cast<unsigned>(plan_.replicas),
             {request.peers.shard_optimiser, settings_.offload_variables, settings_.min_remote_tensor_bytes}),
      replicas_{static_cast<unsigned>(plan_.replicas), static_cast<unsigned>(plan_.norm_span), state_.sharded_values()},
      shards_(graph) {
    const unsigned count = static_cast<unsigned>(std::ranges::max(plan_.devices)) + 1;
    const unsigned tiles = device.getTarget().getTilesPerIPU();
    for (unsigned ipu = 0; ipu < count; ++ipu)
        ipus_.push_back(device.createVirtualGraph(ipu * tiles, (ipu + 1) * tiles));
    update_scalars_.resize(count);
    const std::int32_t stages = plan_.stages();
    for (std::int32_t stage = 0; stage < stages; ++stage)
        slots_.emplace_back(graph, Phase::forward, stage, ipu_of(stage));
    for (std::int32_t stage = stages - 1; stage >= 0; --stage)
        slots_.emplace_back(graph, Phase::backward, stage, ipu_of(stage));
    for (std::int32_t stage = 0; stage < stages; ++stage)
        updates_.emplace_back(graph, Phase::update, stage, ipu_of(stage));
    for (std::deque<Slot>* all : {&slots_, &updates_}) {
        for (Slot& slot : *all)
            slot.options = lowering_options(slot);
    }

    make_scalars();
    make_variables();
    find_sums_over_stages();
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

LoweringOptions Slots::lowering_options(const Slot& slot) const {
    LoweringOptions options;
    options.stable_norm = settings_.stable_norm;
    options.table_slices = static_cast<std::size_t>(settings_.matmul_serialize_factor);
    for (poplar::OptionFlags* products : {&options.convolutions, &options.products}) {
        if (settings_.half_partials) products->set("partialsType", "half");
        if (const auto share = memory_proportion(settings_, ipus_.size(), plan_.stages(), slot))
            products->set("availableMemoryProportion", std::to_string(*share));
    }
    if (settings_.conv_dithering) options.convolutions.set("enableConvDithering", "true");
    if (settings_.gather_conv_output) options.convolutions.set("gatherConvOutput", "true");
    return options;
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
    poplar::Tensor tensor = device_.addVariable(type, shape, {name});
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
        poplar::Tensor tensor = entry->allocate({graph_, node, ipus_.at(ipu), plans_, slot_of(node).options}, index);
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

/// Returns the IPU of the variable's first reader. An optimiser's state is with its parameter.
unsigned Slots::ipu_of_variable(ValueId variable) const {
    const graph::Value& value = graph_.value(variable);
    if (value.role == Role::slot) return ipu_of_variable(value.owner);
    return value.users.empty() ? 0 : ipu_of(graph_.node(value.users.front()).stage.index);
}

void Slots::make_variables() {
    for (const ValueId variable : graph_.variables()) {
        const graph::Value& value = graph_.value(variable);
        const unsigned ipu = ipu_of_variable(variable);
        const poplar::Tensor tensor = state_.sharded(variable) ? linear(ipu, device_type(value.desc.dtype),
                                                                        {state_.shard_elements(variable)}, value.name)
                                                               : allocated(ipu, variable);
        state_.connect(device_, variable, tensor);
        for (std::deque<Slot>* all : {&slots_, &updates_}) {
            for (Slot& slot : *all)
                slot.values.replace(variable, tensor);
        }
    }
}

bool Slots::follows_weights(const Node& node) const {
    return node.phase != Phase::update && !node.outputs.empty() &&
           std::ranges::all_of(node.outputs, [&](ValueId value) { return facts_.follows_weights(value); });
}

void Slots::lower_prepare() {
    for (const Node& node : graph_.nodes()) {
        if (!follows_weights(node)) continue;
        Slot& maker = slot_of(node);
        lower(node, maker, maker.values, prepare_);
        for (const ValueId output : node.outputs) {
            for (Slot& slot : slots_)
                slot.values.set(output, maker.values.of(output));
        }
    }
}

void Slots::lower_phase(Phase phase) {
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
        const Node& node = graph_.node(NodeId{i});
        if (node.phase != phase || follows_weights(node) || left_to_accumulators_.contains(i)) continue;
        Slot& slot = slot_of(node);
        for (const ValueId input : node.inputs) {
            if (!slot.values.has(input)) bring(input, slot);
        }
        take_keys(node, slot);
        lower(node, slot, slot.values, slot.compute);
    }
}

void Slots::lower(const Node& node, const Slot& slot, DeviceValues& values, Sequence& program) {
    const LoweringEntry* entry = lowering_of(node.kind);
    CNNTRAIN_CHECK(entry != nullptr, "no lowering of " + node.name);
    entry->lower({graph_, node, ipus_.at(slot.ipu), program, values, plans_, slot.keys, replicas_, slot.options,
                  update_scalars_.at(slot.ipu)});
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
    streams_.push_back({handle::input(name, number_of(reader)), input, settings_.inputs_stay, {}});
    reader.values.set(input, tensor);
    if (settings_.inputs_stay) {
        device_.createHostWrite(streams_.back().handle, tensor);
        return;
    }
    reader.take.add(
        Copy(device_.addHostToDeviceFIFO(streams_.back().handle, tensor.elementType(), tensor.numElements(),
                                         poplar::ReplicatedStreamMode::REPLICATE, stream_options(settings_)),
             tensor));
}

void Slots::take_keys(const Node& node, Slot& slot) {
    const std::optional<RandomSite> site = random_site(graph_, node);
    if (!site || slot.keys.contains(site->site)) return;
    const std::string name = handle::keys(site->site, number_of(slot));
    const poplar::Tensor keys = linear(slot.ipu, poplar::UNSIGNED_INT, {site->samples, 2}, name);
    slot.keys.emplace(site->site, keys);
    streams_.push_back({name, {}, false, *site});
    slot.take.add(Copy(device_.addHostToDeviceFIFO(name, poplar::UNSIGNED_INT, keys.numElements(),
                                                   poplar::ReplicatedStreamMode::REPLICATE, stream_options(settings_)),
                       keys));
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
    poplar::Tensor made = maker.values.of(value);
    const bool is_borrowed = std::ranges::any_of(maker.borrowed, [&](const poplar::Tensor& other) {
        return other.elementType() == made.elementType() &&
               poplar::concat(made.flatten(), other.flatten()).containsAliases();
    });
    if (!is_borrowed) return made;
    poplar::Tensor own = linear(maker.ipu, made.elementType(), made.shape(), graph_.value(value).name);
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

/// Takes the value's sum apart, through casts. False where something else reads a part of it.
bool Slots::find_summands(ValueId value, std::vector<ValueId>& summands, std::vector<std::int32_t>& nodes) const {
    const NodeId producer = graph_.value(value).producer;
    if (!producer.valid() || facts_.follows_weights(value)) return false;
    const Node& node = graph_.node(producer);
    if (node.kind != graph::OpKind::add && node.kind != graph::OpKind::cast) {
        summands.push_back(value);
        return true;
    }
    const auto& outputs = graph_.outputs();
    if (std::ranges::find(outputs, value, &graph::Output::value) != outputs.end()) return false;
    nodes.push_back(producer.index);
    return std::ranges::all_of(node.inputs, [&](ValueId input) {
        return graph_.value(input).users.size() == 1 && find_summands(input, summands, nodes);
    });
}

/// Finds sums over several stages of one IPU.
void Slots::find_sums_over_stages() {
    for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
        const ValueId value{i};
        if (!facts_.crosses_into_update(value)) continue;
        const bool only_by_update = std::ranges::all_of(
            graph_.value(value).users, [&](NodeId user) { return graph_.node(user).phase == Phase::update; });
        std::vector<ValueId> summands;
        std::vector<std::int32_t> nodes;
        if (!only_by_update || !find_summands(value, summands, nodes)) continue;
        std::set<unsigned> ipus = {slot_of(graph_.node(graph_.value(value).producer)).ipu};
        std::set<std::size_t> slots;
        for (const ValueId summand : summands) {
            const Slot& maker = slot_of(graph_.node(graph_.value(summand).producer));
            ipus.insert(maker.ipu);
            slots.insert(number_of(maker));
        }
        if (slots.size() == 1 || ipus.size() > 1) continue;
        summands_.emplace(i, summands);
        left_to_accumulators_.insert(nodes.begin(), nodes.end());
    }
}

void Slots::make_accumulators() {
    for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
        const ValueId value{i};
        if (!facts_.crosses_into_update(value)) continue;
        Slot& maker = slot_of(graph_.node(graph_.value(value).producer));
        const std::string name = handle::accumulator(accumulators_.size());
        // A value may be a view in which elements occur twice; its sum may not.
        const TensorDesc& desc = graph_.desc(value);
        const poplar::Tensor sum = linear(maker.ipu, device_type(desc.dtype), extents(desc.shape), name);
        device_.createHostWrite(name, sum);
        device_.createHostRead(name, sum);
        const auto apart = summands_.find(i);
        for (const ValueId summand : apart == summands_.end() ? std::vector{value} : apart->second) {
            Slot& slot = slot_of(graph_.node(graph_.value(summand).producer));
            popops::scaledAddTo(ipus_.at(slot.ipu), sum, slot.values.of(summand), 1.0F, slot.compute, {name});
        }
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

/// Accumulators whose sums over replicas are made by one all-reduce: of one IPU and type.
struct Slots::Together {
    unsigned ipu = 0;
    std::vector<const Accumulator*> accumulators = {};
    std::vector<poplar::Tensor> flat = {};
    std::size_t bytes = 0;
};

void Slots::reduce_together(Together& together) {
    if (together.flat.empty()) return;
    const poplar::Tensor sums = gcl::allReduceCrossReplica(ipus_.at(together.ipu), poplar::concat(together.flat),
                                                           gcl::CollectiveOperator::ADD, update_, {"all-reduce"});
    std::size_t begin = 0;
    for (const Accumulator* accumulator : together.accumulators) {
        const std::size_t end = begin + accumulator->sum.numElements();
        update_slot(*accumulator)
            .values.set(accumulator->value, sums.slice(begin, end).reshape(accumulator->sum.shape()));
        begin = end;
    }
    together = {};
}

Slot& Slots::update_slot(const Accumulator& accumulator) {
    const Slot& maker = slot_of(graph_.node(graph_.value(accumulator.value).producer));
    return updates_.at(static_cast<std::size_t>(maker.stage));
}

/// Gives the update its sums over the replicas. Neighbours share all-reduces of at most settings_.all_reduce_bytes.
void Slots::reduce_accumulators() {
    Together together;
    for (const Accumulator& accumulator : accumulators_) {
        Slot& slot = update_slot(accumulator);
        if (state_.sharded(accumulator.value)) {
            slot.values.replace(accumulator.value,
                                shard_of_sum(ipus_.at(slot.ipu), accumulator.sum, update_, {"reduce-scatter"}));
            continue;
        }
        if (plan_.replicas == 1) {
            slot.values.set(accumulator.value, accumulator.sum);
            continue;
        }
        const std::size_t bytes = graph_.desc(accumulator.value).bytes();
        const bool fits = !together.flat.empty() && together.bytes + bytes <= settings_.all_reduce_bytes &&
                          together.ipu == slot.ipu && together.flat[0].elementType() == accumulator.sum.elementType();
        if (!fits) reduce_together(together);
        together.ipu = slot.ipu;
        together.accumulators.push_back(&accumulator);
        together.flat.push_back(accumulator.sum.flatten());
        together.bytes += bytes;
    }
    reduce_together(together);
}

void Slots::lower_update() {
    reduce_accumulators();
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
            slot.values.replace(input, copy);
        }
        update_.add(state_.loads(NodeId{i}));
        if (state_.sharded(NodeId{i})) {
            lower_on_shard(node, slot);
        } else {
            lower(node, slot, slot.values, update_);
        }
        update_.add(state_.stores(NodeId{i}));
    }
}

/// Gradient and states are shards already; only the target may be whole.
void Slots::lower_on_shard(const Node& node, const Slot& slot) {
    poplar::Graph& device = ipus_.at(slot.ipu);
    const ValueId target = node.inputs.at(update_input::kTarget);
    const bool whole = !state_.sharded(target);
    for (const ValueId input : node.inputs)
        shards_.replace(input, slot.values.of(input));
    if (whole) shards_.replace(target, own_shard(device, slot.values.of(target), update_, {node.name}));
    lower(node, slot, shards_, update_);
    if (whole) gather_shards(device, shards_.of(target), slot.values.of(target), update_, {node.name});
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
