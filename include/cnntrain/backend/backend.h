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

struct RuntimeSettings {
    bool stochastic_rounding = true;  // of 16-bit parameters and states when they are updated
    std::uint64_t seed = 0;           // of the rounding, dropout and drop-connect
    bool check_finite = true;         // an update whose loss is not finite does not count, and the cause is looked for
    /// Asked between micro-batches and between updates; never again after it has said yes. Empty: never.
    std::function<bool()> stop_requested = {};
};

/// What the user says about CPUs; other backends ignore it.
struct CpuSettings {
    int threads = 0;                  // that compute; 0: one for each available core
    std::int64_t lanes = 0;           // groups of threads that work side by side; 0: chosen
    bool thread_independent = false;  // the same bits with any number of threads, where that costs time, too
    std::int64_t bucket_bytes = comm::kDefaultBucketBytes;  // of gradients that are summed over ranks in one operation
    bool overlap_exchange = true;                           // buckets travel while the backward pass goes on
};

/// The ranks that perform each weight update together. Each computes micro-batches of its own; what the update reads is
/// summed over all ranks, so that all of them have the same variables after it.
struct Peers {
    comm::Communicator* communicator = nullptr;  // null: this process is alone. Used in compile() and train() only
    comm::ReduceOptions reduce = {};
    /// Each rank keeps and updates a part of every parameter's slots and tells the others the new parameters. All ranks
    /// then call store() together when it is asked for slots.
    bool shard_optimiser = false;
};

struct CompileRequest {
    const graph::Graph* graph = nullptr;   // only read during compile(); built for micro-batches of Placement::samples
    std::vector<data::Field> fields = {};  // of the sources that will feed it
    schedule::UpdatePlan plan = {};
    CpuSettings cpu = {};
    RuntimeSettings runtime = {};
    Peers peers = {};  // of a training
};

/// A parameter or state without its data.
struct Variable {
    std::string name;
    TensorDesc desc;  // plain row-major, in the graph's element type
};

struct NamedBytes {
    std::string name;
    std::uint64_t bytes = 0;
};

/// Work of one step of a compiled graph.
struct StepWork {
    double flops = 0;         // floating-point operations
    double bytes = 0;         // of memory that it reads and writes
    bool per_update = false;  // runs once in a weight update, not in every micro-batch
};

struct CompileReport {
    double seconds = 0;
    std::vector<Variable> variables;    // in the order in which the graph was given them
    std::uint64_t parameter_bytes = 0;  // parameters, states, and copies derived from them
    std::uint64_t arena_bytes = 0;      // activations and gradients
    /// By pipeline stage, of one micro-batch: what the forward pass and the inputs leave in memory for the backward
    /// pass.
    std::vector<std::uint64_t> stash_bytes;
    /// By stage: parameters, states, and copies derived from them.
    std::vector<std::uint64_t> stage_variable_bytes;
    /// By stage: results of its passes that another pass reads, of this stage or another one, with a place for each
    /// micro-batch that is on its way.
    std::vector<std::uint64_t> stage_held_bytes;
    /// Tensors that live as long as the executable. A name begins with the name of its variable, or of the gradient
    /// that is summed in it.
    std::vector<NamedBytes> persistent;
    /// Results of one pass that another pass reads, of one micro-batch. The name of a copy begins with the name of its
    /// original.
    std::vector<NamedBytes> held;
    double flops_per_micro_batch = 0;
    std::vector<StepWork> work;               // of one micro-batch and of the update; empty: not known
    std::vector<std::uint64_t> bucket_bytes;  // of sums over ranks, in the order in which they start
    std::vector<std::string> reorders;        // each remaining layout change per step, with its reason
};

/// The values of the graph's scalars in one weight update. The scalar "step" is the number of the update, from 1.
struct StepScalars {
    double learning_rate = 0;
    std::int64_t iteration = 0;  // weight updates before this one; also keys the random numbers
    double loss_scaling = 1;     // by which the graph multiplies the loss and divides the gradients
};

/// What became of one weight update, or of the batches of an evaluation. With several ranks, sums, samples and flags
/// are the same on all of them: sums and samples are totals over all ranks.
struct StepResult {
    std::map<std::string, double> sums;  // the graph's f32[] outputs, summed over the micro-batches
    std::int64_t samples = 0;            // valid samples seen
    double input_wait_seconds = 0;       // of this rank
    double exchange_seconds = 0;  // from the start of the first bucket until the last one was summed over the ranks
    double exposed_exchange_seconds = 0;  // the part of exchange_seconds after the passes, which they did not hide
    bool stopped = false;  // before the last micro-batch, because a stop was requested; sums and samples are of a part
    bool stop_requested = false;  // by the end of the update, on one rank or more
    bool counts = true;           // settle(); when false, the variables are as they were before the update
};

/// Does a weight update count? Not when it was stopped before its last micro-batch, nor, with `check_finite`, when one
/// of its sums is not finite. For all backends; with several ranks, after the results are totals.
bool settle(const StepResult& result, bool check_finite);

/// Time of one node, or of a group of fused nodes, that ran; rows are in the order of execution.
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

/// A look inside an executable: for reports of what went wrong, measurements and tests. No run needs its results to go
/// on.
class Inspection {
public:
    virtual ~Inspection() = default;

    /// Name and first bad index of the first non-finite parameter, state or gradient, in graph order; for NaN reports.
    virtual std::optional<std::string> first_non_finite() const = 0;
    /// A gradient (value consumed by an update op) of the last micro-batch sum, by parameter name.
    virtual HostTensor gradient(const std::string& parameter_name) const = 0;

    /// Starts (with counts and times of zero) or stops the measurement whose rows profile() returns.
    virtual void set_profiling(bool enabled) = 0;
    virtual std::vector<ProfileRow> profile() const = 0;
    /// Runs every step of a micro-batch by itself, `repeats` times in a row on whatever its memory holds. A row has the
    /// least time, which is the best that the step could cost within a micro-batch.
    virtual std::vector<ProfileRow> profile_alone(int repeats) = 0;
};

using NamedTensors = std::map<std::string, HostTensor>;
/// Is told the result of each update, in their order. It may throw, which ends the updates.
using UpdateDone = std::function<void(StepResult result)>;

class Executable {
public:
    virtual ~Executable() = default;

    virtual const CompileReport& report() const = 0;

    /// Parameters and states by name. Error(internal) for a name that is not among report().variables, Error(data) for
    /// another shape.
    virtual void load(const NamedTensors& tensors) = 0;
    virtual NamedTensors store(std::span<const std::string> names) const = 0;

    /// Weight updates, one for each of `updates`, of which there are at most UpdatePlan::updates_per_call. Each pulls
    /// as many batches as the plan has micro-batches from a source with the fields of the compile request; a graph
    /// without inputs never touches the source. `done` is told each result as soon as the backend has it. The updates
    /// end early, after their result was told, with one that does not count and with a stop that was requested.
    virtual void train(data::BatchSource& source, std::span<const StepScalars> updates, const UpdateDone& done) = 0;
    /// Forward only, over `batches` micro-batches.
    virtual StepResult evaluate(data::BatchSource& source, std::int64_t batches) = 0;

    /// The last micro-batch's value of a marked output of any shape, row-major, in its own element type.
    virtual HostTensor output(const std::string& name) const = 0;

    /// As long as the executable lives.
    virtual Inspection& inspection() = 0;

    // A single one of the above ---------------------------------------------------------------------------------------
    void load(const std::string& name, HostTensor tensor);
    HostTensor store(const std::string& name) const;
    StepResult train_step(data::BatchSource& source, const StepScalars& scalars);
    std::vector<std::string> variable_names() const;
};

/// Type in which a 16-bit precision computes.
struct Arithmetic {
    DType type = DType::f32;  // of activations and their gradients
    std::string reason;       // for people, as in "f32: <reason>"
};

/// Element types of a weight update beside those of the weights. The means of gradients and squares that AdamW and LAMB
/// keep are never of a type below f32 that is chosen here.
struct UpdateTypes {
    DType gradients = DType::f32;     // of parameters, as the update reads them
    std::optional<DType> slots = {};  // empty: each like the variable that it belongs to
};

/// What does not depend on a graph.
struct BackendInfo {
    std::string name;               // as users choose it: "cpu"
    std::string library;            // that executes graphs, with version and instruction set: "oneDNN 2.6.3 with AVX2"
    DType half_type = DType::bf16;  // that `16` means here: weights of 16 bits are kept in it
    Arithmetic fastest = {};        // for a 16-bit precision: half_type or f32; follows from the processor's features
    graph::PassLists passes = {};   // that make graphs fast here, or fit to run at all
    UpdateTypes update_types = {};
};

/// Measured on this machine.
struct Speeds {
    double flops_per_second = 0;  // of large matrix products
    double bytes_per_second = 0;  // read and written in memory
};

class Backend {
public:
    virtual ~Backend() = default;

    virtual const BackendInfo& info() const = 0;
    /// Why a node cannot be executed here; empty when it can.
    virtual std::string why_unsupported(const graph::Graph& graph, const graph::Node& node) const = 0;
    /// How weight updates of this plan are computed here, asked before the graph is built for Placement::samples. A
    /// function of its arguments and the machine. Error(usage) for a plan or settings that cannot be.
    virtual schedule::Placement placement(const schedule::UpdatePlan& plan, const CpuSettings& cpu) const = 0;
    /// Error(unsupported) lists at once every unsupported node and every input that the request's fields do not fill.
    virtual std::unique_ptr<Executable> compile(const CompileRequest& request) const = 0;
    /// The report of compile(), which takes no memory for parameters and activations: a run of any size has one. Empty:
    /// the backend does not know before it runs.
    virtual std::optional<CompileReport> describe(const CompileRequest& /*request*/) const { return std::nullopt; }
    /// Measures for a fifth of a second. `type`: f32 or bf16, in which products are computed. Empty: not measured.
    virtual std::optional<Speeds> measure_speeds(DType /*type*/, int /*threads*/) const { return std::nullopt; }

    const std::string& name() const { return info().name; }
    const std::string& library() const { return info().library; }
    DType half_type() const { return info().half_type; }
    const Arithmetic& fastest_arithmetic() const { return info().fastest; }
    const graph::PassLists& passes() const { return info().passes; }
};

/// What every compile() refuses: Error(unsupported) lists all nodes that the backend cannot execute with their reasons,
/// every input without a field of its name, or with one of another descriptor, and every scalar that a step does not
/// know.
void check_supported(const Backend& backend, const CompileRequest& request);
/// The same, and Error(internal) for a request without a graph or with a plan that has too few stages for it.
void check_request(const Backend& backend, const CompileRequest& request);

/// The number of the field that fills each input of the graph, in the order of values_with_role(Role::input). For
/// graphs that check_supported() has let pass.
std::vector<std::size_t> match_fields(const graph::Graph& graph, const std::vector<data::Field>& fields);

/// Executable::train() of a backend that performs updates one by one. `stop_requested` is asked between updates, too;
/// empty: all ranks learn of a stop from the updates' results.
void train_one_by_one(std::span<const StepScalars> updates, const std::function<StepResult(const StepScalars&)>& update,
                      const std::function<bool()>& stop_requested, const UpdateDone& done);

/// Is the run asked to stop before this micro-batch of an update? Never before the first one: that is asked between
/// updates.
bool stops_before(std::int64_t micro_batch, const std::function<bool()>& stop_requested);

/// The bytes of a field of a batch. Error(internal) when they are not as many as `desc` has: the batch is not of a
/// source with the fields that the graph was compiled for.
std::span<const std::byte> field_bytes(const data::Batch& batch, std::size_t field, const TensorDesc& desc);

}  // namespace cnntrain::backend
