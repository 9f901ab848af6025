// A backend turns a graph into an executable that performs whole weight updates.
//
// Everything is decided in compile(); a step allocates nothing and cannot fail for reasons of shape.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/comm/buckets.h"
#include "cnntrain/comm/communicator.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/schedule/update_plan.h"

namespace cnntrain::backend {

/// What an executable may compute with.
struct Devices {
    int threads = 0;  // of the CPU; 0: all available cores
};

struct RuntimeSettings {
    bool stochastic_rounding = true;  // of 16-bit parameters and states when they are updated
    std::uint64_t seed = 0;           // of the rounding, dropout and drop-connect
    bool check_finite = true;         // look for non-finite values when the loss is one
    bool thread_independent = false;  // the same bits with any number of threads, where that costs time, too
    /// Asked between micro-batches; never again after it has said yes. Empty: never.
    std::function<bool()> stop_requested = {};
};

/// The ranks that perform each weight update together. Each computes micro-batches of its own; what the update reads is
/// summed over all ranks, so that all of them have the same variables after it.
struct Peers {
    comm::Communicator* communicator = nullptr;  // null: this process is alone. Used in compile() and train_step() only
    comm::ReduceOptions reduce = {};
    std::int64_t bucket_bytes = comm::kDefaultBucketBytes;  // what is summed in one operation
    bool overlap = true;                                    // buckets travel while backward goes on
    /// Each rank keeps and updates a part of every parameter's slots and tells the others the new parameters. store() of a
    /// slot is then called by all ranks together.
    bool shard_optimiser = false;
    /// Ranks that follow each other, from a multiple of this on, whose micro-batches share batch-norm statistics. Above 1 there
    /// is one lane.
    std::int32_t norm_ranks = 1;
};

struct CompileRequest {
    const graph::Graph* graph = nullptr;   // only read during compile()
    std::vector<data::Field> fields = {};  // of the sources that will feed it
    schedule::UpdatePlan plan = {};
    Devices devices = {};
    RuntimeSettings runtime = {};
    Peers peers = {};  // of a training
};

struct NamedBytes {
    std::string name;
    std::uint64_t bytes = 0;
};

struct CompileReport {
    double seconds = 0;
    std::uint64_t parameter_bytes = 0;  // parameters, states, and copies derived from them
    std::uint64_t arena_bytes = 0;      // activations and gradients
    /// By pipeline stage: of what its forward pass and the inputs leave in memory for its backward pass.
    std::vector<std::uint64_t> stash_bytes;
    /// By stage: of its parameters and states, and of copies derived from them.
    std::vector<std::uint64_t> stage_variable_bytes;
    /// By stage: of all that one of its passes makes for another pass, its own or another stage's, with a place for each
    /// micro-batch that is on its way.
    std::vector<std::uint64_t> stage_held_bytes;
    /// What lives as long as the executable. A name begins with that of the variable, or of the gradient that is summed in it.
    std::vector<NamedBytes> persistent;
    /// What one pass makes for another one, of one micro-batch. A copy's name begins with that of what it is a copy of.
    std::vector<NamedBytes> held;
    double flops_per_micro_batch = 0;
    std::vector<std::uint64_t> bucket_bytes;  // of what is summed over ranks, in the order of their starts
    std::vector<std::string> reorders;        // each remaining layout change per step, with its reason
};

struct StepScalars {
    double learning_rate = 0;
    std::int64_t iteration = 0;  // weight updates before this one; keys the random numbers
};

/// Of several ranks, sums and samples are those of all of them, and every rank has the same flags.
struct StepResult {
    std::map<std::string, double> sums;   // the graph's f32[] outputs, summed over the micro-batches
    std::int64_t samples = 0;             // valid samples seen
    double input_wait_seconds = 0;        // of this rank
    double exchange_seconds = 0;          // from the first bucket's start until the last one was summed over the ranks
    double exposed_exchange_seconds = 0;  // of that, after the passes: what they did not hide
    bool stopped = false;  // before the last micro-batch, because a stop was requested; sums and samples are of a part
    bool stop_requested = false;  // by the end of the update, on one rank or more
};

/// Where the time of a step went; one row per node (or group of fused nodes) that ran, in order of execution.
struct ProfileRow {
    std::string name;
    std::string op;
    std::string implementation;
    double milliseconds = 0;  // mean of its runs: per micro-batch (update ops: per update)
    std::int64_t runs = 0;
    double gflops = 0;     // work, not rate
    double megabytes = 0;  // memory read and written at least once
    graph::Phase phase = graph::Phase::forward;
    std::int32_t stage = 0;
};

/// A look inside an executable: for reports of what went wrong, measurements and tests.
class Inspection {
public:
    virtual ~Inspection() = default;

    /// Name and first bad index of the first non-finite parameter, state or gradient, in graph order; for NaN reports.
    virtual std::optional<std::string> first_non_finite() const = 0;
    /// A gradient (value consumed by an update op) of the last micro-batch sum, by parameter name.
    virtual HostTensor gradient(const std::string& parameter_name) const = 0;

    /// Starts (with counts and times of zero) or stops the measurement that profile() tells of.
    virtual void set_profiling(bool enabled) = 0;
    virtual std::vector<ProfileRow> profile() const = 0;
    /// Every step of a micro-batch by itself, run `repeats` times in a row on whatever its memory holds: the least time of
    /// each. What the step could cost at best; a whole step cannot be faster than its convolutions alone.
    virtual std::vector<ProfileRow> profile_alone(int repeats) = 0;
};

class Executable {
public:
    virtual ~Executable() = default;

    virtual const CompileReport& report() const = 0;

    /// Parameters and states by name, in plain row-major layout and their own element type.
    virtual void load(const std::string& name, const HostTensor& tensor) = 0;
    virtual HostTensor store(const std::string& name) const = 0;
    virtual std::vector<std::string> variable_names() const = 0;

    /// One weight update: pulls as many batches as the plan has micro-batches, of a source with the fields of the compile
    /// request. The graph's scalar is "learning_rate"; a graph without inputs never touches the source. A stopped update
    /// leaves parameters and states as they were.
    virtual StepResult train_step(data::BatchSource& source, const StepScalars& scalars) = 0;
    /// Forward only, over `batches` micro-batches.
    virtual StepResult evaluate(data::BatchSource& source, std::int64_t batches) = 0;

    /// The last micro-batch's value of a marked output of any shape, row-major, in its own element type.
    virtual HostTensor output(const std::string& name) const = 0;

    /// As long as the executable lives.
    virtual Inspection& inspection() = 0;
};

/// What a 16-bit precision computes in.
struct Arithmetic {
    DType type = DType::f32;  // of activations and their gradients
    std::string reason;       // for people, as in "f32: <reason>"
};

class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string_view name() const = 0;
    /// What executes its graphs, with version and instruction set, for people: "oneDNN 2.6.3 with AVX2".
    virtual std::string library() const = 0;
    /// The type that `16` means here: weights of 16 bits are kept in it.
    virtual DType half_type() const = 0;
    /// What is fastest here for a 16-bit precision: half_type() or f32. Follows from the processor's features.
    virtual Arithmetic fastest_arithmetic() const = 0;
    /// The passes that make graphs fast here, or fit to run at all.
    virtual graph::PassLists passes() const = 0;
    /// Why a node cannot be executed here; empty when it can.
    virtual std::string why_unsupported(const graph::Graph& graph, const graph::Node& node) const = 0;
    /// Error(unsupported) lists at once every unsupported node and every input that the request's fields do not fill.
    virtual std::unique_ptr<Executable> compile(const CompileRequest& request) const = 0;
};

/// What every compile() refuses: Error(unsupported) lists all nodes that the backend cannot execute with their reasons,
/// every input without a field of its name, or with one of another descriptor, and every scalar that a step does not know.
void check_supported(const Backend& backend, const CompileRequest& request);
/// The same, and Error(internal) for a request without a graph or with a plan that is not the graph's.
void check_request(const Backend& backend, const CompileRequest& request);

/// The number of the field that fills each input of the graph, in the order of values_with_role(Role::input). For graphs
/// that check_supported() has let pass.
std::vector<std::size_t> match_fields(const graph::Graph& graph, const std::vector<data::Field>& fields);

/// Is the run asked to stop before this micro-batch of a step? Not before the first: who runs steps asks between them.
bool stops_before(std::int64_t micro_batch, const std::function<bool()>& stop_requested);

/// The bytes of a field of a batch. Error(internal) when they are not as many as `desc` has: the batch is not of a source
/// with the fields that the graph was compiled for.
std::span<const std::byte> field_bytes(const data::Batch& batch, std::size_t field, const TensorDesc& desc);

}  // namespace cnntrain::backend
