#include "backend/ipu/device.h"

#include <popops/ElementWise.hpp>
#include <popops/Loop.hpp>
#include <popops/Zero.hpp>
#include <poprand/RandomGen.hpp>

namespace cnntrain::ipu {

using poplar::program::Call;
using poplar::program::Copy;
using poplar::program::If;
using poplar::program::Repeat;
namespace pe = popops::expr;

DeviceGraph::DeviceGraph(const graph::Graph& graph, const poplar::Target& target,
                         const backend::CompileRequest& request)
    : device_(target, poplar::replication_factor(static_cast<unsigned>(request.plan.replicas))),
      pipeline_{request.plan.stages(), request.plan.schedule},
      micro_batches_(request.plan.accumulation),
      stochastic_rounding_(request.runtime.stochastic_rounding),
      settings_(request.ipu),
      slots_(graph, device_, request),
      command_(words(handle::kCommand, sizeof(Command) / sizeof(std::uint32_t))),
      go_(words(handle::kGo, 1)) {
    for (const Slot& slot : slots_.all()) {
        takes_.push_back(device_.addFunction(slot.take));
        computations_.push_back(device_.addFunction(slot.compute));
    }
    if (request.plan.replicas > 1) {
        replica_ = device_.addReplicationIndexConstant();
        device_.setTileMapping(replica_, 0);
    }
    take_go_ = from_host(handle::kGo, go_, stream_options(settings_));
    make_sums_stream();
    make_training();
    make_evaluation();
}

poplar::Tensor DeviceGraph::words(const char* name, std::size_t count) {
    poplar::Tensor tensor = device_.addVariable(poplar::UNSIGNED_INT, {count}, {name});
    device_.setTileMapping(tensor, 0);
    return tensor;
}

/// The same for all replicas.
DeviceGraph::Sequence DeviceGraph::from_host(const char* name, const poplar::Tensor& to,
                                             const poplar::OptionFlags& options) {
    return {Copy(device_.addHostToDeviceFIFO(name, to.elementType(), to.numElements(),
                                             poplar::ReplicatedStreamMode::BROADCAST, options),
                 to)};
}

poplar::FloatingPointBehaviour DeviceGraph::behaviour(bool stochastic_rounding) const {
    const bool traps = settings_.fp_exceptions;
    return {/*inv=*/traps, /*div0=*/traps, /*oflo=*/traps, /*esr=*/stochastic_rounding,
            /*nanoo=*/!settings_.saturate_on_overflow};
}

DeviceGraph::Sequence DeviceGraph::cleared(const std::vector<poplar::Tensor>& tensors) {
    Sequence program;
    for (const poplar::Tensor& tensor : tensors)
        popops::zero(device_, tensor, program, {"clear"});
    return program;
}

void DeviceGraph::make_sums_stream() {
    if (slots_.sums().empty()) return;
    sums_stream_ = device_.addDeviceToHostFIFO(handle::kSums, poplar::FLOAT, slots_.sums().size());
}

DeviceGraph::Sequence DeviceGraph::with_sums(const Sequence& micro_batches) {
    std::vector<poplar::Tensor> sums;
    for (const SumOutput& output : slots_.sums())
        sums.push_back(output.sum.expand({0}));
    Sequence program;
    if (!sums.empty()) program.add(cleared(sums));
    program.add(micro_batches);
    if (!sums.empty()) program.add(Copy(poplar::concat(sums), *sums_stream_));
    return program;
}

DeviceGraph::Sequence DeviceGraph::if_it_goes_on(const Sequence& micro_batch) {
    return {take_go_, If(go_[0], micro_batch, Sequence())};
}

/// Seeds follow from the command and the number of the micro-batch, so that a continued run has the same numbers.
DeviceGraph::Sequence DeviceGraph::begin_micro_batch() {
    Sequence program;
    if (rounds_passes()) {
        poplar::Tensor seed = command_.slice(2, 4);
        if (replica_.valid() && !settings_.identical_replica_seeding) {
            const poplar::Tensor own =
                popops::map(device_, pe::_1 + pe::_2 * pe::Const(0x9e3779b9U), {seed[0], replica_}, program, {"seed"});
            seed = poplar::concat(own.expand({0}), command_.slice(3, 4));
        }
        poprand::setSeed(device_, seed, 0, program, {"seed"});
    }
    popops::mapInPlace(device_, pe::_1 + pe::Const(1U), {command_[3]}, program, {"count"});
    return program;
}

/// The first slots, or all, for one micro-batch.
DeviceGraph::Sequence DeviceGraph::one_by_one(std::size_t slots) {
    Sequence program;
    for (std::size_t s = 0; s < slots; ++s) {
        program.add(Call(takes_[s]));
        program.add(Call(computations_[s]));
        program.add(slots_.all()[s].give);
    }
    return program;
}

DeviceGraph::Sequence DeviceGraph::tick(std::int64_t number) {
    Sequence program = begin_micro_batch();
    const std::vector<schedule::StageWork> work = schedule::work_at(pipeline_, micro_batches_, number);
    const auto slot = [&](const schedule::StageWork& piece) {
        return static_cast<std::size_t>(schedule::slot_of(pipeline_, piece.stage, piece.backward));
    };
    for (const schedule::StageWork& piece : work) {
        program.add(Call(takes_[slot(piece)]));
        program.add(Call(computations_[slot(piece)]));
    }
    for (const schedule::StageWork& piece : work)
        program.add(slots_.all()[slot(piece)].give);
    return program;
}

/// The ticks of an update. Between the ramps the same ticks repeat.
DeviceGraph::Sequence DeviceGraph::pipelined() {
    const std::int64_t period = pipeline_.schedule == schedule::PipelineSchedule::interleaved ? 2 : 1;
    const std::int64_t full = pipeline_.slots() - 1;  // the first tick in which every slot that can work does
    const std::int64_t repeats = std::max<std::int64_t>(0, (period * (micro_batches_ - 1) + 1 - full) / period);
    const std::int64_t ramp_down = full + repeats * period;
    Sequence program;
    for (std::int64_t t = 0; t < full; ++t)
        program.add(tick(t));
    if (repeats > 0) {
        Sequence block;
        for (std::int64_t t = full; t < full + period; ++t)
            block.add(tick(t));
        program.add(Repeat(static_cast<unsigned>(repeats), block));
    }
    for (std::int64_t t = ramp_down; t < schedule::tick_count(pipeline_, micro_batches_); ++t)
        program.add(tick(t));
    return program;
}

/// The same on all replicas, whose variables stay equal.
DeviceGraph::Sequence DeviceGraph::update() {
    if (!stochastic_rounding_) return slots_.update();
    Sequence program;
    poprand::setSeed(device_, command_.slice(2, 4), 0, program, {"seed"});
    if (!rounds_passes()) poplar::setStochasticRounding(device_, program, true, {"round updates"});
    program.add(slots_.update());
    if (!rounds_passes()) poplar::setStochasticRounding(device_, program, false, {"round updates"});
    return program;
}

void DeviceGraph::make_training() {
    Sequence micro_batches;
    if (stops_within_updates()) {
        Sequence micro_batch = begin_micro_batch();
        micro_batch.add(one_by_one(slots_.all().size()));
        micro_batches = popops::countedForLoop(device_, 0, command_[0], 1, if_it_goes_on(micro_batch));
    } else {
        micro_batches = Sequence{If(command_[0], pipelined(), Sequence())};
    }

    std::vector<poplar::Tensor> accumulators;
    for (const Accumulator& accumulator : slots_.accumulators())
        accumulators.push_back(accumulator.sum);
    const poplar::Tensor verdict = words(handle::kVerdict, 1);
    Sequence one = from_host(handle::kCommand, command_);
    if (slots_.scalars().valid()) {
        one.add(from_host(handle::kScalars, slots_.scalars()));
        one.add(slots_.distribute_scalars());
    }
    one.add(If(command_[1], cleared(accumulators), Sequence()));
    one.add(slots_.start_counting());
    one.add(slots_.prepare());
    one.add(with_sums(micro_batches));
    one.add(from_host(handle::kVerdict, verdict));
    one.add(If(verdict[0], update(), Sequence()));

    const poplar::Tensor updates = words(handle::kUpdates, 1);
    poplar::setFloatingPointBehaviour(device_, train_, behaviour(rounds_passes()));
    train_.add(from_host(handle::kUpdates, updates));
    train_.add(popops::countedForLoop(device_, 0, updates[0], 1, one));
}

void DeviceGraph::make_evaluation() {
    const poplar::Tensor batches = words(handle::kBatches, 1);
    poplar::setFloatingPointBehaviour(device_, evaluate_, behaviour(false));
    evaluate_.add(from_host(handle::kBatches, batches));
    evaluate_.add(slots_.start_counting());
    evaluate_.add(slots_.prepare());
    const Sequence forward = if_it_goes_on(one_by_one(slots_.all().size() / 2));
    evaluate_.add(with_sums(popops::countedForLoop(device_, 0, batches[0], 1, forward)));
}

}  // namespace cnntrain::ipu
