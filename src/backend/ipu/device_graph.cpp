#include "backend/ipu/device_graph.h"

#include <algorithm>

#include <poplar/CSRFunctions.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Loop.hpp>
#include <popops/ScaledAdd.hpp>
#include <popops/Zero.hpp>
#include <poprand/RandomGen.hpp>
#include <poputil/TileMapping.hpp>

#include "backend/ipu/lower/types.h"
#include "cnntrain/base/error.h"

namespace cnntrain::ipu {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Phase;
using graph::Role;
using graph::ValueId;
using poplar::program::Call;
using poplar::program::Copy;
using poplar::program::If;

namespace handle {
std::string input(const std::string& name) {
    return "input " + name;
}
std::string variable(const std::string& name) {
    return "variable " + name;
}
std::string output(const std::string& name) {
    return "output " + name;
}
std::string accumulator(std::size_t index) {
    return "accumulator " + std::to_string(index);
}
}  // namespace handle

namespace {

/// Site and number of samples of a node that draws random numbers.
std::optional<RandomSite> random_site(const Graph& graph, const Node& node) {
    const auto samples = [&] { return static_cast<std::size_t>(graph.desc(node.inputs.at(0)).shape.at(0)); };
    if (const auto* scale = std::get_if<graph::RandomScaleAttrs>(&node.attrs))
        return RandomSite{scale->site, samples()};
    if (const auto* norm = std::get_if<graph::LayerNormAttrs>(&node.attrs)) {
        if (norm->keep < 1) return RandomSite{norm->site, samples()};
    }
    if (const auto* attention = std::get_if<graph::AttentionAttrs>(&node.attrs)) {
        if (attention->keep < 1) return RandomSite{attention->site, samples()};
    }
    return std::nullopt;
}

poplar::FloatingPointBehaviour behaviour(bool stochastic_rounding) {
    return {/*inv=*/false, /*div0=*/false, /*oflo=*/false, /*esr=*/stochastic_rounding, /*nanoo=*/true};
}

}  // namespace

DeviceGraph::DeviceGraph(const Graph& graph, const poplar::Target& target, bool stochastic_rounding)
    : facts_(graph), device_(target), values_(graph), stochastic_rounding_(stochastic_rounding) {
    find_values(graph);
    find_sites(graph);
    make_values(graph);
    const Sequence prepare = lower_prepare(graph);
    const poplar::Function forward = device_.addFunction(lower_phase(graph, Phase::forward));
    const Sequence inputs = take_inputs(graph);
    make_evaluation(prepare, if_it_goes_on(inputs, {Call(forward), sum_outputs(/*with_backward=*/false)}));

    const Sequence backward = lower_phase(graph, Phase::backward);
    make_host_reads(graph, Phase::backward);
    make_accumulators(graph);
    Sequence training;
    set_seed(training);
    training.add(Call(forward));
    training.add(backward);
    training.add(accumulation());
    training.add(sum_outputs(/*with_backward=*/true));
    popops::mapInPlace(device_, popops::expr::Add(popops::expr::_1, popops::expr::Const(1U)), {command_[3]}, training,
                       {"count"});
    for (std::size_t k = 0; k < crossing_.size(); ++k)
        values_.replace(crossing_[k], accumulators_[k]);
    make_training(prepare, if_it_goes_on(inputs, training), lower_phase(graph, Phase::update));
    make_host_reads(graph, Phase::update);
}

void DeviceGraph::find_values(const Graph& graph) {
    for (std::int32_t i = 0; i < graph.value_count(); ++i) {
        if (facts_.crosses_into_update(ValueId{i})) crossing_.push_back(ValueId{i});
    }
    for (const graph::Output& output : graph.outputs()) {
        if (graph.desc(output.value) != TensorDesc{DType::f32, {}}) continue;
        const NodeId producer = graph.value(output.value).producer;
        const Phase phase = producer.valid() ? graph.node(producer).phase : Phase::forward;
        if (phase == Phase::update) continue;
        sums_.push_back({output.name, phase == Phase::forward});
        sum_values_.push_back(output.value);
    }
}

void DeviceGraph::find_sites(const Graph& graph) {
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const std::optional<RandomSite> site = random_site(graph, graph.node(NodeId{i}));
        if (!site) continue;
        const auto known = std::ranges::find(sites_, site->site, &RandomSite::site);
        if (known == sites_.end()) {
            sites_.push_back(*site);
        } else {
            CNNTRAIN_CHECK(known->samples == site->samples, "a random site has two numbers of samples");
        }
    }
}

poplar::Tensor DeviceGraph::linear(const poplar::Type& type, const std::vector<std::size_t>& shape,
                                   const std::string& name) {
    const poplar::Tensor tensor = device_.addVariable(type, shape, poplar::DebugContext(name));
    poputil::mapTensorLinearly(device_, tensor);
    return tensor;
}

/// A tensor in the layout that its first reader with a preference wants; slots are laid out as their parameters.
poplar::Tensor DeviceGraph::allocated(const Graph& graph, ValueId id) {
    const graph::Value& value = graph.value(id);
    const poplar::Type type = device_type(value.desc.dtype);
    if (value.role == Role::slot && graph.desc(value.owner).shape == value.desc.shape)
        return device_.clone(type, values_.of(value.owner), poplar::DebugContext(value.name));
    for (const NodeId user : value.users) {
        const Node& node = graph.node(user);
        const LoweringEntry* entry = lowering_of(node.kind);
        if (entry == nullptr || entry->allocate == nullptr) continue;
        const auto index = static_cast<std::size_t>(std::ranges::find(node.inputs, id) - node.inputs.begin());
        const poplar::Tensor tensor = entry->allocate({graph, node, device_, plans_}, index);
        if (tensor.valid()) return tensor;
    }
    return linear(type, extents(value.desc.shape), value.name);
}

void DeviceGraph::make_values(const Graph& graph) {
    command_ = linear(poplar::UNSIGNED_INT, {4}, handle::kCommand);
    if (!sums_.empty()) {
        all_sums_ = linear(poplar::FLOAT, {sums_.size()}, handle::kSums);
        sums_stream_ = device_.addDeviceToHostFIFO(handle::kSums, poplar::FLOAT, sums_.size());
    }
    const std::vector<ValueId> scalars = graph.values_with_role(Role::scalar);
    if (!scalars.empty()) all_scalars_ = linear(poplar::FLOAT, {scalars.size()}, handle::kScalars);
    for (std::size_t i = 0; i < scalars.size(); ++i)
        values_.set(scalars[i], all_scalars_[i]);
    for (const ValueId input : graph.values_with_role(Role::input))
        values_.set(input, allocated(graph, input));
    for (const ValueId variable : graph.variables()) {
        const std::string name = handle::variable(graph.value(variable).name);
        const poplar::Tensor tensor = allocated(graph, variable);
        values_.set(variable, tensor);
        device_.createHostWrite(name, tensor);
        device_.createHostRead(name, tensor);
    }
    go_ = linear(poplar::UNSIGNED_INT, {1}, handle::kGo);
    take_go_.add(from_host(handle::kGo, go_));
    make_keys();
}

void DeviceGraph::make_keys() {
    if (sites_.empty()) return;
    std::size_t samples = 0;
    for (const RandomSite& site : sites_)
        samples += site.samples;
    all_keys_ = linear(poplar::UNSIGNED_INT, {samples, 2}, handle::kKeys);
    std::size_t first = 0;
    for (const RandomSite& site : sites_) {
        keys_.emplace(site.site, all_keys_.slice(first, first + site.samples));
        first += site.samples;
    }
}

void DeviceGraph::lower(const Graph& graph, const Node& node, Sequence& program) {
    const LoweringEntry* entry = lowering_of(node.kind);
    CNNTRAIN_CHECK(entry != nullptr, "no lowering of " + node.name);
    entry->lower({graph, node, device_, program, values_, plans_, keys_});
}

bool DeviceGraph::follows_weights(const Node& node) const {
    return !node.outputs.empty() &&
           std::ranges::all_of(node.outputs, [&](ValueId value) { return facts_.follows_weights(value); });
}

/// What changes with the variables only, before the micro-batches.
DeviceGraph::Sequence DeviceGraph::lower_prepare(const Graph& graph) {
    Sequence program;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const Node& node = graph.node(NodeId{i});
        if (node.phase != Phase::update && follows_weights(node)) lower(graph, node, program);
    }
    return program;
}

DeviceGraph::Sequence DeviceGraph::lower_phase(const Graph& graph, Phase phase) {
    Sequence program;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const Node& node = graph.node(NodeId{i});
        if (node.phase != phase || (phase != Phase::update && follows_weights(node))) continue;
        lower(graph, node, program);
    }
    return program;
}

void DeviceGraph::make_accumulators(const Graph& graph) {
    for (std::size_t k = 0; k < crossing_.size(); ++k) {
        const std::string name = handle::accumulator(k);
        // A value may be a view in which elements occur twice; its sum may not.
        const poplar::Tensor sum =
            linear(device_type(graph.desc(crossing_[k]).dtype), extents(graph.desc(crossing_[k]).shape), name);
        device_.createHostWrite(name, sum);
        device_.createHostRead(name, sum);
        accumulators_.push_back(sum);
    }
}

DeviceGraph::Sequence DeviceGraph::accumulation() {
    Sequence program;
    for (std::size_t k = 0; k < crossing_.size(); ++k)
        popops::scaledAddTo(device_, accumulators_[k], values_.of(crossing_[k]), 1.0F, program, {"accumulate"});
    return program;
}

DeviceGraph::Sequence DeviceGraph::sum_outputs(bool with_backward) {
    Sequence program;
    for (std::size_t k = 0; k < sums_.size(); ++k) {
        if (!with_backward && !sums_[k].in_forward) continue;
        popops::addInPlace(device_, all_sums_[k], values_.of(sum_values_[k]), program, {"sum"});
    }
    return program;
}

/// Of the outputs that this phase makes, or for Phase::backward an earlier one.
void DeviceGraph::make_host_reads(const Graph& graph, Phase phase) {
    for (const graph::Output& output : graph.outputs()) {
        const NodeId producer = graph.value(output.value).producer;
        const bool by_update = producer.valid() && graph.node(producer).phase == Phase::update;
        if (by_update != (phase == Phase::update)) continue;
        device_.createHostRead(handle::output(output.name), values_.of(output.value));
    }
}

DeviceGraph::Sequence DeviceGraph::take_inputs(const Graph& graph) {
    Sequence program;
    for (const ValueId input : graph.values_with_role(Role::input)) {
        const poplar::Tensor& tensor = values_.of(input);
        program.add(Copy(device_.addHostToDeviceFIFO(handle::input(graph.value(input).name), tensor.elementType(),
                                                     tensor.numElements()),
                         tensor));
    }
    if (!sites_.empty()) program.add(from_host(handle::kKeys, all_keys_));
    return program;
}

DeviceGraph::Sequence DeviceGraph::cleared(const std::vector<poplar::Tensor>& tensors) {
    Sequence program;
    for (const poplar::Tensor& tensor : tensors)
        popops::zero(device_, tensor, program, {"clear"});
    return program;
}

Copy DeviceGraph::from_host(const char* name, const poplar::Tensor& to) {
    return Copy(device_.addHostToDeviceFIFO(name, to.elementType(), to.numElements()), to);
}

void DeviceGraph::add_scalar_sums(Sequence& program, const Sequence& micro_batches) {
    if (sums_.empty()) {
        program.add(micro_batches);
        return;
    }
    program.add(cleared({all_sums_}));
    program.add(micro_batches);
    program.add(Copy(all_sums_, *sums_stream_));
}

DeviceGraph::Sequence DeviceGraph::if_it_goes_on(const Sequence& inputs, const Sequence& computation) {
    return {take_go_, If(go_[0], Sequence{inputs, computation}, Sequence())};
}

/// From the command and the number of the micro-batch, so that a continued run has the same numbers.
void DeviceGraph::set_seed(Sequence& program) {
    if (stochastic_rounding_) poprand::setSeed(device_, command_.slice(2, 4), 0, program, {"rounding seed"});
}

void DeviceGraph::make_training(const Sequence& prepare, const Sequence& micro_batch, const Sequence& update) {
    Sequence changes;
    set_seed(changes);
    changes.add(update);

    const poplar::Tensor verdict = linear(poplar::UNSIGNED_INT, {1}, handle::kVerdict);
    Sequence command;
    command.add(from_host(handle::kCommand, command_));
    if (all_scalars_.valid()) command.add(from_host(handle::kScalars, all_scalars_));
    command.add(If(command_[1], cleared(accumulators_), Sequence()));
    command.add(prepare);
    add_scalar_sums(command, popops::countedForLoop(device_, 0, command_[0], 1, micro_batch));
    command.add(from_host(handle::kVerdict, verdict));
    command.add(If(verdict[0], changes, Sequence()));

    const poplar::Tensor commands = linear(poplar::UNSIGNED_INT, {1}, handle::kCommands);
    poplar::setFloatingPointBehaviour(device_, train_, behaviour(stochastic_rounding_));
    train_.add(from_host(handle::kCommands, commands));
    train_.add(popops::countedForLoop(device_, 0, commands[0], 1, command));
}

void DeviceGraph::make_evaluation(const Sequence& prepare, const Sequence& micro_batch) {
    const poplar::Tensor batches = linear(poplar::UNSIGNED_INT, {1}, handle::kBatches);
    poplar::setFloatingPointBehaviour(device_, evaluate_, behaviour(false));
    evaluate_.add(from_host(handle::kBatches, batches));
    evaluate_.add(prepare);
    add_scalar_sums(evaluate_, popops::countedForLoop(device_, 0, batches[0], 1, micro_batch));
}

}  // namespace cnntrain::ipu
