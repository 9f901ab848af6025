#include "backend/ipu/optimiser_state.h"

#include <algorithm>
#include <initializer_list>
#include <vector>

#include <gcl/Collectives.hpp>

#include "backend/ipu/handles.h"
#include "cnntrain/base/error.h"

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
/// the quotients of AdamW and LAMB without an epsilon.
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
    const bool divides_by_states = attrs.rule == graph::UpdateRule::adamw || attrs.rule == graph::UpdateRule::lamb;
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

}  // namespace cnntrain::ipu
