// The device that executes programs: the only part of the backend that depends on whether a Poplar SDK or the emulator
// is linked. device_sdk.cpp and device_emulated.cpp both define it; the build takes one of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <poplar/CSRFunctions.hpp>
#include <poplar/Device.hpp>
#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>

#include "backend/ipu/slots.h"
#include "cnntrain/parallel/pipeline.h"

namespace cnntrain::ipu::handle {

// Names of streams and of tensors that the host reads and writes.

inline constexpr const char* kUpdates = "updates";  // UNSIGNED_INT[1]: their number in a run of Programs::train
inline constexpr const char* kCommand = "command";  // Command
inline constexpr const char* kBatches = "batches";  // UNSIGNED_INT[1]: micro-batches of a run of Programs::evaluate
inline constexpr const char* kGo = "go";            // UNSIGNED_INT[1]: 1 before each micro-batch, 0 at the end
inline constexpr const char* kScalars = "scalars";  // FLOAT: the graph's scalars in order of creation
inline constexpr const char* kSums = "sums";        // FLOAT: Slots::sums()
inline constexpr const char* kVerdict = "verdict";  // UNSIGNED_INT[1]: whether the update changes the variables

inline std::string input(const std::string& name, std::size_t slot) {
    return "input " + name + " of slot " + std::to_string(slot);
}
inline std::string keys(std::uint64_t site, std::size_t slot) {
    return "keys of site " + std::to_string(site) + " of slot " + std::to_string(slot);
}
inline std::string variable(const std::string& name) {
    return "variable " + name;
}
inline std::string output(const std::string& name) {
    return "output " + name;
}
inline std::string accumulator(std::size_t index) {
    return "accumulator " + std::to_string(index);
}

}  // namespace cnntrain::ipu::handle

namespace cnntrain::ipu {

/// Names the library that executes programs, for logs: "an emulator of IPUs", "Poplar SDK 3.2.0".
std::string executed_by();

bool is_emulated();

/// Attaches a device with `ipus` IPUs that nobody else uses. `tiles_per_ipu`: the size of emulated IPUs; empty: the
/// size of real ones. Real devices ignore it. Error(unsupported) if there is no such device, or all are in use.
poplar::Device attach_device(unsigned ipus, std::optional<unsigned> tiles_per_ipu);

// A graph of weight updates as a Poplar graph and its two programs.
//
// Programs::train repeats: take a command from the host, clear the sums if an update begins, compute micro-batches in
// the order of the pipeline's schedule, send the sums, ask for the verdict, update if it is positive.
// Programs::evaluate computes the forward phase.

/// Indices of the engine's programs.
enum class Programs : unsigned { train, evaluate };

/// Data that the device reads before the micro-batches of an update.
struct Command {
    std::uint32_t micro_batches = 0;  // of each replica; 0: nothing is computed
    std::uint32_t begins_update = 0;  // 1: the sums that the update reads start at 0
    std::uint32_t seed = 0;           // of stochastic rounding, with the number of the micro-batch in the update
    std::uint32_t micro_batch = 0;
};

class DeviceGraph {
public:
    /// `graph`: the request's graph, or a copy; it lives as long as this. The target has the IPUs of all replicas.
    DeviceGraph(const graph::Graph& graph, const poplar::Target& target, const backend::CompileRequest& request);

    const poplar::Graph& device() const { return device_; }
    /// The programs, indexed by Programs.
    std::vector<poplar::program::Program> programs() const { return {train_, evaluate_}; }
    const Slots& slots() const { return slots_; }
    /// True if the host can end an update before any micro-batch. Otherwise the pipeline computes all of them.
    bool stops_within_updates() const { return pipeline_.schedule == schedule::PipelineSchedule::sequential; }

private:
    using Sequence = poplar::program::Sequence;

    poplar::Tensor words(const char* name, std::size_t count);
    Sequence from_host(const char* name, const poplar::Tensor& to, const poplar::OptionFlags& options = {});
    poplar::FloatingPointBehaviour behaviour(bool stochastic_rounding) const;
    bool rounds_passes() const { return stochastic_rounding_ && !settings_.rounds_updates_only; }
    Sequence update();
    Sequence cleared(const std::vector<poplar::Tensor>& tensors);
    void make_sums_stream();
    Sequence if_it_goes_on(const Sequence& micro_batch);
    /// Starts the rounding of a micro-batch and counts it.
    Sequence begin_micro_batch();
    Sequence one_by_one(std::size_t slots);
    Sequence tick(std::int64_t number);
    Sequence pipelined();
    /// Computes micro-batches and sends the sums of their scalar outputs to the host.
    Sequence with_sums(const Sequence& micro_batches);
    void make_training();
    void make_evaluation();

    poplar::Graph device_;
    schedule::Pipeline pipeline_;
    std::int64_t micro_batches_;  // of an update and replica
    bool stochastic_rounding_;
    backend::IpuSettings settings_;
    Slots slots_;
    std::vector<poplar::Function> takes_, computations_;  // by slot
    poplar::Tensor command_, go_, replica_;               // replica_: invalid for a single one
    std::optional<poplar::DataStream> sums_stream_;
    Sequence take_go_, train_, evaluate_;
};

}  // namespace cnntrain::ipu
