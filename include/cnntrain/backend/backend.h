// A backend turns a graph into an executable that performs whole weight updates.
//
// compile() decides everything; a step allocates nothing and cannot fail for reasons of shape.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cnntrain/backend/settings.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/passes.h"
#include "cnntrain/parallel/communicator.h"
#include "cnntrain/parallel/pipeline.h"

namespace cnntrain::backend {

struct RuntimeSettings {
    bool stochastic_rounding = true;  // when updates write 16-bit parameters and states
    std::uint64_t seed = 0;           // of the rounding, dropout and drop-connect
    bool check_finite = true;         // skip updates with a non-finite loss and report the cause
    /// Called between micro-batches and between updates, and never again after it has returned true. Empty: never
    /// stops.
    std::function<bool()> stop_requested = {};
};

/// The user's settings for CPUs; other backends ignore them.
struct CpuSettings {
    int threads = 0;                  // compute threads; 0: one per available core
    std::int64_t lanes = 0;           // groups of threads that work in parallel; 0: chosen by the backend
    bool thread_independent = false;  // bit-identical results with any number of threads, even where that costs time
    std::int64_t sub_batch = 0;       // samples that an evaluation computes at a time; 0: chosen by the backend
    std::int64_t bucket_bytes = comm::kDefaultBucketBytes;  // gradients that one operation sums over ranks
    bool overlap_exchange = true;                           // buckets are sent during the backward pass
};

/// The ranks that perform each weight update together. Each computes its own micro-batches. The update's inputs are
/// summed over all ranks, so that all ranks have the same variables after it.
struct Peers {
    comm::Communicator* communicator = nullptr;  // null: a single process. Used in compile() and train() only
    comm::ReduceOptions reduce = {};
    /// Each rank keeps and updates a part of every parameter's slots and sends the new parameters to the others.
    /// store() of slots is then collective. On IPUs, replicas do so instead of ranks.
    bool shard_optimiser = false;
};

class Executable;

struct CompileRequest {
    const graph::Graph* graph = nullptr;   // read in compile() only; built for micro-batches of Placement::samples
    std::vector<data::Field> fields = {};  // of the sources of its inputs
    schedule::UpdatePlan plan = {};
    CpuSettings cpu = {};
    IpuSettings ipu = {};
    RuntimeSettings runtime = {};
    Peers peers = {};  // for training; compile() of a backend that ignores them refuses more than one rank
    /// An executable of the same graph. A backend may let the new one read its variables, and copies of them, instead
    /// of having its own: each is then loaded as before, but not while the other one runs. Null: none.
    const Executable* weights = nullptr;
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

struct CompileReport {
    double seconds = 0;
    std::vector<Variable> variables;    // in the order of the graph
    std::uint64_t parameter_bytes = 0;  // parameters, states, and copies derived from them
    std::uint64_t arena_bytes = 0;      // activations and gradients
    /// Inputs and forward results that are kept for the backward pass of one micro-batch, by pipeline stage.
    std::vector<std::uint64_t> stash_bytes;
    /// Parameters, states, and copies derived from them, by stage.
    std::vector<std::uint64_t> stage_variable_bytes;
    /// Results of a stage's passes that another pass of any stage reads, for all micro-batches in flight, by stage.
    std::vector<std::uint64_t> stage_held_bytes;
    /// Tensors that live as long as the executable. Their names begin with the name of the variable, or of the gradient
    /// that they accumulate.
    std::vector<NamedBytes> persistent;
    /// Results of one pass that another pass reads, for one micro-batch. The name of a copy begins with the name of its
    /// original.
    std::vector<NamedBytes> held;
    double flops_per_micro_batch = 0;
    std::vector<std::uint64_t> bucket_bytes;  // of reductions over ranks, in the order in which they start
    /// The layout changes that are left in the steps, with their reasons. Empty where tensors have one layout.
    std::vector<std::string> reorders = {};
    /// Form of the partial updates of this executable, which takes those of the same form only. Empty: it keeps none.
    std::string partial_form = {};
};

/// Names of the scalars that a graph may have. "step" is the number of the update, from 1.
inline constexpr std::array<std::string_view, 3> kScalarNames = {"learning_rate", "step", "loss_scaling"};
/// Values of scalars in the order of kScalarNames.
using ScalarValues = std::array<double, kScalarNames.size()>;
/// The position of a graph's scalar in kScalarNames. Error(internal) for another name, which compile() refuses.
std::size_t scalar_position(std::string_view name);

/// The values of the graph's scalars in one weight update.
struct StepScalars {
    double learning_rate = 0;
    std::int64_t iteration = 0;  // weight updates before this one; also keys the random numbers
    double loss_scaling = 1;     // by which the graph multiplies the loss and divides the gradients

    ScalarValues values() const { return {learning_rate, static_cast<double>(iteration + 1), loss_scaling}; }
};

/// The result of one weight update, or of the batches of an evaluation. With several ranks, sums, samples and flags are
/// the same on all of them; sums and samples are totals over all ranks.
struct StepResult {
    std::map<std::string, double> sums;   // the graph's f32[] outputs, summed over the micro-batches
    std::int64_t samples = 0;             // valid samples seen
    double input_wait_seconds = 0;        // of this rank
    double exchange_seconds = 0;          // from the start of the first bucket to the end of the last one
    double exposed_exchange_seconds = 0;  // the part of exchange_seconds after the end of the passes
    bool stopped = false;         // by a request, before the last micro-batch; sums and samples cover the finished ones
    bool stop_requested = false;  // by the end of the update, on any rank
    bool counts = true;           // settle(); if false, the update has not changed the variables
};

using NamedTensors = std::map<std::string, HostTensor>;

/// The complete micro-batches of a weight update that was stopped. Another executable of the same request continues
/// with them, and the results are those of the undisturbed update, bit for bit. With several ranks, each has its own.
struct PartialUpdate {
    std::int64_t iteration = 0;               // StepScalars::iteration of the update
    std::int64_t micro_batches = 0;           // complete ones, from the first one on; 0: nothing is kept
    std::int64_t samples = 0;                 // valid samples in them
    std::map<std::string, double> sums = {};  // StepResult::sums of them
    NamedTensors accumulators = {};           // what the update reads, summed over them; in layouts of the backend

    bool empty() const { return micro_batches == 0; }
};

/// True if a weight update counts: it was not stopped before its last micro-batch, and, with `check_finite`, all its
/// sums are finite. Every backend uses it; with several ranks, on the totals.
bool settle(const StepResult& result, bool check_finite);

/// Time of one node or of a group of fused nodes. Rows are in the order of execution.
struct ProfileRow {
    std::string name;
    std::string op;
    std::string implementation;
    double milliseconds = 0;  // mean over the runs: per micro-batch (update ops: per update)
    std::int64_t runs = 0;
    double gflops = 0;     // work, not rate
    double megabytes = 0;  // least memory traffic: every operand read or written once
    graph::Phase phase = graph::Phase::forward;
    std::int32_t stage = 0;
    double occupied = 1;  // share of the lanes that it keeps busy
};

/// Waiting time of the lanes, averaged over all lanes, in seconds of the whole measurement.
struct WaitSeconds {
    double input = 0;  // for the next micro-batch
    double lanes = 0;  // for other lanes
    double ranks = 0;  // for other ranks, after the passes or between them
};

/// A measurement since set_profiling(true).
struct StepTimes {
    std::vector<ProfileRow> rows;
    WaitSeconds waits;
};

/// A tensor that an executable has after a step: a marked output of any shape in the last micro-batch, or the last sum
/// over micro-batches of the gradient from which an update op changes a parameter.
enum class Result : std::uint8_t { output, gradient };

/// Receives the result of each update, in order. An exception that it throws ends the updates.
using UpdateDone = std::function<void(StepResult result)>;

class Executable {
public:
    virtual ~Executable() = default;

    virtual const CompileReport& report() const = 0;

    /// Sets parameters and states by name, converted to their element types. Error(internal) if a name is not among
    /// report().variables, Error(data) for another shape.
    virtual void load(const NamedTensors& tensors) = 0;
    virtual NamedTensors store(std::span<const std::string> names) const = 0;

    /// Performs one weight update for each element of `updates`, at most UpdatePlan::updates_per_call. An update takes
    /// one batch per micro-batch of the plan from `source`, which has the fields of the compile request; a graph
    /// without inputs never reads the source. `done` receives each result as soon as it is known. Returns early, after
    /// reporting, when an update does not count or a stop is requested.
    ///
    /// `partial` (null: nothing is kept): if an update is stopped, it receives the complete micro-batches of that
    /// update before `done` is called; a backend that cannot keep them leaves it empty. If it is not empty at the call,
    /// the first update continues it, and the source begins with the next micro-batch. Error(internal) if it is of
    /// another update or form.
    virtual void train(data::BatchSource& source, std::span<const StepScalars> updates, const UpdateDone& done,
                       PartialUpdate* partial) = 0;
    /// Forward only, over `batches` micro-batches.
    virtual StepResult evaluate(data::BatchSource& source, std::int64_t batches) = 0;

    /// An output by its name or a gradient by its parameter's, row-major, in its own element type.
    virtual HostTensor read(Result result, const std::string& name) const = 0;

    // Error reports, measurements and tests use these. Steps do not depend on them.
    /// Name and first bad index of the first non-finite parameter, state or gradient, in graph order; for NaN reports.
    virtual std::optional<std::string> first_non_finite() const = 0;
    /// Starts (with counts and times of zero) or stops a measurement. `timeline` (null: none) gets a track for each
    /// lane, on which this measurement and later ones record every step; it must outlive them.
    virtual void set_profiling(bool enabled, Timeline* timeline) = 0;
    virtual StepTimes profile() const = 0;

    HostTensor output(const std::string& name) const { return read(Result::output, name); }
    HostTensor gradient(const std::string& parameter) const { return read(Result::gradient, parameter); }
    void set_profiling(bool enabled) { set_profiling(enabled, nullptr); }
    // The same for a single tensor or update
    void load(const std::string& name, HostTensor tensor);
    HostTensor store(const std::string& name) const;
    void train(data::BatchSource& source, std::span<const StepScalars> updates, const UpdateDone& done) {
        train(source, updates, done, nullptr);
    }
    StepResult train_step(data::BatchSource& source, const StepScalars& scalars, PartialUpdate* partial = nullptr);
    std::vector<std::string> variable_names() const;
};

/// Type in which a 16-bit precision computes.
struct Arithmetic {
    DType type = DType::f32;  // of activations and their gradients
    std::string reason;       // shown to users: "f32: <reason>"
};

/// Element types of a weight update other than the weights' own. A type below f32 chosen here does not apply to the
/// means of AdamW and LAMB, in which the change of an update would be rounded away.
struct UpdateTypes {
    std::optional<DType> gradients = DType::f32;  // of parameters, as read by the update; empty: their own types
    std::optional<DType> slots = {};              // empty: each has the type of its variable
    bool f32_means = false;                       // those of AdamW and LAMB are f32, whatever the type of slots
};

/// Properties that do not depend on a graph, and what some backends can do besides.
struct BackendInfo {
    std::string name;                   // value of --backend: "cpu"
    std::string library;                // with version and instruction set: "oneDNN 2.6.3 with AVX2"
    DType half_type = DType::bf16;      // the 16-bit type, in which 16-bit weights are kept
    Arithmetic fastest = {};            // for a 16-bit precision: half_type or f32, depending on the processor
    graph::RewriteLists rewrites = {};  // optimisations of graphs, and changes without which they cannot run
    UpdateTypes update_types = {};
    /// False: this processor has no products of 8 bits, and networks in 8 bits are computed in floats.
    bool multiplies_bytes = true;
    bool emulated = false;  // the device is emulated: its times say nothing about the device
    /// The reason why a node cannot be executed here; empty if it can.
    std::function<std::string(const graph::Graph& graph, const graph::Node& node)> why_unsupported = {};
    /// The report of compile(), which takes no memory for parameters and activations: a run of any size has one. Null:
    /// the backend does not know before it runs.
    std::function<CompileReport(const CompileRequest& request)> describe = {};
    /// FLOPs a second of large matrix products in f32 or bf16, or operations a second of u8 times i8, measured for an
    /// eighth of a second. Null: not measured.
    double (*measure_products)(DType type, int threads) = nullptr;
};

class Backend {
public:
    virtual ~Backend() = default;

    virtual const BackendInfo& info() const = 0;
    /// Division of the plan's weight updates over lanes and pipelines. Called before the graph is built for
    /// Placement::samples. Depends on the arguments and the machine only. Error(usage) for an impossible plan or
    /// settings.
    virtual schedule::Placement placement(const schedule::UpdatePlan& plan, const CpuSettings& cpu) const = 0;
    /// Error(unsupported) lists all unsupported nodes and all inputs that the request's fields do not fill.
    virtual std::unique_ptr<Executable> compile(const CompileRequest& request) const = 0;

    std::optional<CompileReport> describe(const CompileRequest& request) const {
        return info().describe ? std::optional(info().describe(request)) : std::nullopt;
    }
    std::optional<double> measure_products(DType type, int threads) const {
        return info().measure_products != nullptr ? std::optional(info().measure_products(type, threads))
                                                  : std::nullopt;
    }
    const std::string& name() const { return info().name; }
    const std::string& library() const { return info().library; }
    DType half_type() const { return info().half_type; }
    const Arithmetic& fastest_arithmetic() const { return info().fastest; }
    const graph::RewriteLists& rewrites() const { return info().rewrites; }
};

/// Checks of every compile(). Error(unsupported) lists all nodes that the backend cannot execute with their reasons,
/// all inputs without a field of their name and descriptor, and all scalars that are not in StepScalars.
void check_supported(const Backend& backend, const CompileRequest& request);
/// The same, and Error(internal) for a request without a graph or with too few stages in its plan.
void check_request(const Backend& backend, const CompileRequest& request);

/// Error(internal): the graph has no parameter, output, ... (`kind`) of this name. Says which of `names` is meant.
[[noreturn]] void refuse_name(const std::string& kind, const std::string& name, const std::vector<std::string>& names);

/// Index of the field for each input of the graph, in the order of values_with_role(Role::input). The request must have
/// passed check_supported().
std::vector<std::size_t> match_fields(const graph::Graph& graph, const std::vector<data::Field>& fields);

/// Executable::train() of a backend that performs updates one by one. Calls `stop_requested` between updates, too; if
/// it is empty, all ranks learn of a stop from the updates' results.
void train_one_by_one(std::span<const StepScalars> updates, const std::function<StepResult(const StepScalars&)>& update,
                      const std::function<bool()>& stop_requested, const UpdateDone& done);

/// True if a stop is requested before this micro-batch of an update. Always false for the first one, because stops are
/// also checked between updates.
bool stops_before(std::int64_t micro_batch, const std::function<bool()>& stop_requested);

/// Error(internal) unless the partial update, if it is not empty, is the beginning of the update `iteration` and has at
/// most `micro_batches`.
void check_partial(const PartialUpdate& partial, std::int64_t iteration, std::int64_t micro_batches);

/// The bytes of a field of a batch. Error(internal) if their number differs from that of `desc`: the batch is not from
/// a source with the fields of the compile request.
std::span<const std::byte> field_bytes(const data::Batch& batch, std::size_t field, const TensorDesc& desc);

}  // namespace cnntrain::backend
