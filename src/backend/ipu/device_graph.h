// A graph of weight updates as a Poplar graph and its two programs.
//
// Programs::train repeats: take a command from the host, clear the sums if an update begins, compute micro-batches as
// long as the host lets it, send the sums, ask for the verdict, update if it is positive. Programs::evaluate computes
// the forward phase.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <poplar/Graph.hpp>
#include <poplar/Program.hpp>
#include <poplin/Convolution.hpp>

#include "backend/ipu/lower/node_context.h"
#include "cnntrain/graph/facts.h"

namespace cnntrain::ipu {

/// Indices of the engine's programs.
enum class Programs : unsigned { train, evaluate };

/// What the device reads before micro-batches, as UNSIGNED_INT[4].
struct Command {
    std::uint32_t micro_batches = 0;
    std::uint32_t begins_update = 0;  // 1: the sums that the update reads start at 0
    std::uint32_t seed = 0;           // of stochastic rounding, with the number of the micro-batch in the update
    std::uint32_t micro_batch = 0;
};

/// Names of the streams that are not named after a value.
namespace handle {
inline constexpr const char* kCommands = "commands";  // UNSIGNED_INT[1]: their number in a run of Programs::train
inline constexpr const char* kCommand = "command";
inline constexpr const char* kBatches = "batches";  // UNSIGNED_INT[1]: micro-batches of a run of Programs::evaluate
inline constexpr const char* kGo = "go";            // UNSIGNED_INT[1]: 1 before each micro-batch, 0 at the end
inline constexpr const char* kScalars = "scalars";  // FLOAT: the graph's scalars in order of creation
inline constexpr const char* kKeys = "keys";        // UNSIGNED_INT [2] for each sample of each random site
inline constexpr const char* kSums = "sums";        // FLOAT: DeviceGraph::sums()
inline constexpr const char* kVerdict = "verdict";  // UNSIGNED_INT[1]: whether the update changes the variables
std::string input(const std::string& name);
std::string variable(const std::string& name);
std::string output(const std::string& name);
std::string accumulator(std::size_t index);  // of DeviceGraph::crossing()
}  // namespace handle

/// A place of dropout or drop-connect, and the samples of a micro-batch there.
struct RandomSite {
    std::uint64_t site = 0;
    std::size_t samples = 0;
};

/// A scalar output that is summed over micro-batches.
struct SumOutput {
    std::string name;
    bool in_forward = true;  // known without the backward phase
};

class DeviceGraph {
public:
    /// The graph is read in the constructor only.
    DeviceGraph(const graph::Graph& graph, const poplar::Target& target, bool stochastic_rounding);

    const poplar::Graph& device() const { return device_; }
    /// By Programs.
    std::vector<poplar::program::Program> programs() const { return {train_, evaluate_}; }

    /// Values that the update reads as sums over the micro-batches.
    const std::vector<graph::ValueId>& crossing() const { return crossing_; }
    const std::vector<SumOutput>& sums() const { return sums_; }
    const std::vector<RandomSite>& sites() const { return sites_; }

private:
    using Sequence = poplar::program::Sequence;

    void find_values(const graph::Graph& graph);
    void find_sites(const graph::Graph& graph);
    poplar::Tensor linear(const poplar::Type& type, const std::vector<std::size_t>& shape, const std::string& name);
    poplar::Tensor allocated(const graph::Graph& graph, graph::ValueId value);
    void make_values(const graph::Graph& graph);
    void make_keys();
    void lower(const graph::Graph& graph, const graph::Node& node, Sequence& program);
    Sequence lower_phase(const graph::Graph& graph, graph::Phase phase);
    Sequence lower_prepare(const graph::Graph& graph);
    bool follows_weights(const graph::Node& node) const;
    void make_accumulators(const graph::Graph& graph);
    Sequence accumulation();
    Sequence sum_outputs(bool with_backward);
    void make_host_reads(const graph::Graph& graph, graph::Phase phase);
    /// Takes the data of a micro-batch and computes, unless the host wants no more.
    Sequence if_it_goes_on(const Sequence& inputs, const Sequence& computation);
    Sequence take_inputs(const graph::Graph& graph);
    Sequence cleared(const std::vector<poplar::Tensor>& tensors);
    poplar::program::Copy from_host(const char* name, const poplar::Tensor& to);
    /// The micro-batches, whose scalar outputs are summed and sent to the host.
    void add_scalar_sums(Sequence& program, const Sequence& micro_batches);
    void set_seed(Sequence& program);
    void make_training(const Sequence& prepare, const Sequence& micro_batch, const Sequence& update);
    void make_evaluation(const Sequence& prepare, const Sequence& micro_batch);

    graph::Facts facts_;
    poplar::Graph device_;
    poplin::PlanningCache plans_;
    DeviceValues values_;
    bool stochastic_rounding_;
    std::vector<graph::ValueId> crossing_;
    std::vector<SumOutput> sums_;
    std::vector<graph::ValueId> sum_values_;  // by sums_
    std::vector<RandomSite> sites_;
    SiteKeys keys_;
    poplar::Tensor command_, all_scalars_, all_keys_, all_sums_;  // invalid: the graph has none
    std::optional<poplar::DataStream> sums_stream_;
    poplar::Tensor go_;
    Sequence take_go_;
    std::vector<poplar::Tensor> accumulators_;  // by crossing_
    Sequence train_, evaluate_;
};

}  // namespace cnntrain::ipu
