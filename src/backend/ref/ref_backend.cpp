#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::backend {

using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::Phase;
using graph::RefTensor;
using graph::Role;
using graph::Value;
using graph::ValueId;

void evaluate_node(const Graph& graph, NodeId id, std::vector<RefTensor>& values, const graph::RandomKey& random) {
    const auto slot = [&](ValueId value) -> RefTensor& { return values.at(static_cast<std::size_t>(value.index)); };
    const Node& node = graph.node(id);
    const graph::OpDef& def = graph.def(node);
    std::vector<const RefTensor*> inputs;
    for (const ValueId input : node.inputs)
        inputs.push_back(&slot(input));

    std::vector<ValueId> targets = node.outputs;
    for (const std::size_t index : def.overwritten_inputs(node.inputs.size()))
        targets.push_back(node.inputs.at(index));
    std::vector<RefTensor> outputs;
    for (const ValueId target : targets) {
        const TensorDesc& desc = graph.desc(target);
        outputs.push_back({desc, std::vector<double>(static_cast<std::size_t>(desc.elements()))});
    }
    if (def.evaluate_random != nullptr) {
        def.evaluate_random(node.attrs, random, inputs, outputs);
    } else {
        def.evaluate(node.attrs, inputs, outputs);
    }
    for (std::size_t i = 0; i < targets.size(); ++i)
        slot(targets[i]) = std::move(outputs[i]);
}

namespace {

using Clock = std::chrono::steady_clock;

HostTensor to_host(const RefTensor& tensor) {
    HostTensor host(tensor.desc);
    for (std::size_t i = 0; i < tensor.values.size(); ++i)
        host.set(static_cast<std::int64_t>(i), tensor.values[i]);
    return host;
}

bool is_scalar_sum(const TensorDesc& desc) {
    return desc == TensorDesc{DType::f32, {}};
}

class RefExecutable : public Executable {
public:
    RefExecutable(const CompileRequest& request, const schedule::Placement& placement, bool rounds);

    const CompileReport& report() const override { return report_; }

    void load(const NamedTensors& tensors) override;
    NamedTensors store(std::span<const std::string> names) const override;

    void train(data::BatchSource& source, std::span<const StepScalars> updates, const UpdateDone& done,
               PartialUpdate* partial) override;
    StepResult evaluate(data::BatchSource& source, std::int64_t batches) override;
    HostTensor read(Result result, const std::string& name) const override;
    std::optional<std::string> first_non_finite() const override;
    void set_profiling(bool enabled, Timeline* timeline) override;
    StepTimes profile() const override;

private:
    HostTensor read_output(const std::string& name) const;
    HostTensor read_gradient(const std::string& parameter) const;

    RefTensor& at(ValueId id) { return values_[static_cast<std::size_t>(id.index)]; }
    const RefTensor& at(ValueId id) const { return values_[static_cast<std::size_t>(id.index)]; }
    ValueId variable(const std::string& name) const;
    void load_one(const std::string& name, const HostTensor& tensor);
    void set_scalars(const StepScalars& scalars);
    StepResult update(data::BatchSource& source, const StepScalars& scalars, PartialUpdate* partial);
    std::string partial_form() const;
    void continue_with(const PartialUpdate& partial, StepResult& result);
    PartialUpdate part_of(std::int64_t iteration, std::int64_t micro_batches, const StepResult& result) const;
    void run_update();
    double rounded(DType type, double value) const { return rounds_ ? rounded_to(type, value) : value; }
    void round(NodeId id);
    void find_crossing();
    void find_stash(std::int32_t stages);
    void feed(data::BatchSource& source, StepResult& result);
    bool take_batch(data::BatchSource& source, std::int64_t iteration, std::int64_t micro_batch, StepResult& result);
    void run_phase(Phase phase);
    void add_outputs(Phase last_phase, StepResult& result) const;
    void start_sums();
    void add_to_sums();
    ProfileRow profile_row(NodeId id, double seconds, std::int64_t runs) const;

    Graph graph_;
    std::int64_t micro_batches_;
    std::int64_t updates_per_call_;
    bool rounds_;
    bool check_finite_;
    std::function<bool()> stop_requested_;
    graph::RandomKey random_;  // of the micro-batch that is computed
    CompileReport report_;
    std::vector<RefTensor> values_;   // by ValueId
    std::vector<ValueId> variables_;  // parameters and states, in order of creation
    std::vector<ValueId> inputs_;
    std::vector<std::size_t> input_fields_;  // by input: its field of a batch
    std::vector<ValueId> crossing_;          // computed per micro-batch, read by the update phase
    std::vector<RefTensor> sums_;            // of crossing_, over the micro-batches of an update
    bool profiling_ = false;
    std::vector<double> node_seconds_;  // by NodeId
    std::vector<std::int64_t> node_runs_;
};

RefExecutable::RefExecutable(const CompileRequest& request, const schedule::Placement& placement, bool rounds)
    : graph_(*request.graph),
      micro_batches_(placement.micro_batches),
      updates_per_call_(request.plan.updates_per_call),
      rounds_(rounds),
      check_finite_(request.runtime.check_finite),
      stop_requested_(request.runtime.stop_requested),
      random_{.seed = request.runtime.seed},
      inputs_(graph_.values_with_role(Role::input)),
      input_fields_(match_fields(graph_, request.fields)),
      node_seconds_(static_cast<std::size_t>(graph_.node_count())),
      node_runs_(static_cast<std::size_t>(graph_.node_count())) {
    const Clock::time_point start = Clock::now();
    for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
        const Value& value = graph_.value(ValueId{i});
        values_.push_back({value.desc, std::vector<double>(static_cast<std::size_t>(value.desc.elements()))});
        const bool stored = graph_.is_variable(ValueId{i});
        if (stored) {
            variables_.push_back(ValueId{i});
            report_.variables.push_back({value.name, value.desc});
        }
        (stored ? report_.parameter_bytes : report_.arena_bytes) += values_.back().values.size() * sizeof(double);
    }
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
        if (graph_.node(NodeId{i}).phase != Phase::update)
            report_.flops_per_micro_batch += graph_.node_flops(NodeId{i});
    }
    find_crossing();
    find_stash(placement.stages);
    start_sums();
    report_.partial_form = partial_form();
    report_.seconds = seconds_since(start);
}

ValueId RefExecutable::variable(const std::string& name) const {
    const std::optional<ValueId> id = graph_.find(name);
    if (id && graph_.is_variable(*id)) return *id;
    backend::refuse_name("parameter or state", name, variable_names());
}

void RefExecutable::load(const NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors)
        load_one(name, tensor);
}

void RefExecutable::load_one(const std::string& name, const HostTensor& tensor) {
    RefTensor& value = at(variable(name));
    if (tensor.shape() != value.desc.shape) {
        throw Error(ErrorKind::data,
                    name + ": expected shape " + to_string(value.desc.shape) + ", got " + to_string(tensor.shape()));
    }
    const HostTensor converted = tensor.cast(value.desc.dtype);
    for (std::size_t i = 0; i < value.values.size(); ++i)
        value.values[i] = converted.at(static_cast<std::int64_t>(i));
}

NamedTensors RefExecutable::store(std::span<const std::string> names) const {
    NamedTensors tensors;
    for (const std::string& name : names)
        tensors.emplace(name, to_host(at(variable(name))));
    return tensors;
}

void RefExecutable::find_crossing() {
    const graph::Facts facts(graph_);
    for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
        if (facts.crosses_into_update(ValueId{i})) crossing_.push_back(ValueId{i});
    }
}

/// Finds the inputs and forward values that the backward nodes of each stage read.
void RefExecutable::find_stash(std::int32_t stages) {
    std::set<std::pair<std::int32_t, ValueId>> stashed;
    for (const Node& node : graph_.nodes()) {
        if (node.phase != Phase::backward) continue;
        for (const ValueId input : node.inputs) {
            const Value& value = graph_.value(input);
            const bool computed = value.producer.valid() && graph_.node(value.producer).phase == Phase::forward;
            if (computed || value.role == Role::input) stashed.emplace(node.stage.index, input);
        }
    }
    report_.stash_bytes.assign(static_cast<std::size_t>(stages), 0);
    for (const auto& [stage, value] : stashed)
        report_.stash_bytes[static_cast<std::size_t>(stage)] += at(value).values.size() * sizeof(double);
}

void RefExecutable::start_sums() {
    sums_.clear();
    for (const ValueId id : crossing_)
        sums_.push_back({graph_.desc(id), std::vector<double>(at(id).values.size())});
}

void RefExecutable::add_to_sums() {
    for (std::size_t k = 0; k < crossing_.size(); ++k) {
        const std::vector<double>& value = at(crossing_[k]).values;
        for (std::size_t i = 0; i < value.size(); ++i)
            sums_[k].values[i] = rounded(sums_[k].desc.dtype, sums_[k].values[i] + value[i]);
    }
}

void RefExecutable::feed(data::BatchSource& source, StepResult& result) {
    if (inputs_.empty()) return;
    const Clock::time_point start = Clock::now();
    const data::Batch batch = source.next();
    result.input_wait_seconds += seconds_since(start);
    result.samples += batch.valid_count;
    random_.first_sample = batch.first_sample;
    for (std::size_t k = 0; k < inputs_.size(); ++k) {
        RefTensor& to = at(inputs_[k]);
        const std::span<const std::byte> bytes = field_bytes(batch, input_fields_[k], to.desc);
        HostTensor host(to.desc);
        std::copy(bytes.begin(), bytes.end(), host.bytes().begin());
        for (std::size_t i = 0; i < to.values.size(); ++i)
            to.values[i] = host.at(static_cast<std::int64_t>(i));
    }
}

void RefExecutable::run_phase(Phase phase) {
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
        if (graph_.node(NodeId{i}).phase != phase) continue;
        const Clock::time_point start = Clock::now();
        evaluate_node(graph_, NodeId{i}, values_, random_);
        if (rounds_) round(NodeId{i});
        if (!profiling_) continue;
        node_seconds_[static_cast<std::size_t>(i)] += seconds_since(start);
        ++node_runs_[static_cast<std::size_t>(i)];
    }
}

/// Rounds the results of the node to their types.
void RefExecutable::round(NodeId id) {
    const Node& node = graph_.node(id);
    const auto round_value = [&](ValueId value) {
        RefTensor& tensor = at(value);
        for (double& element : tensor.values)
            element = rounded(tensor.desc.dtype, element);
    };
    for (const ValueId output : node.outputs)
        round_value(output);
    for (const std::size_t index : graph_.def(node).overwritten_inputs(node.inputs.size()))
        round_value(node.inputs.at(index));
}

void RefExecutable::add_outputs(Phase last_phase, StepResult& result) const {
    for (const graph::Output& output : graph_.outputs()) {
        const Value& value = graph_.value(output.value);
        if (!is_scalar_sum(value.desc)) continue;
        if (value.producer.valid() && graph_.node(value.producer).phase > last_phase) continue;
        result.sums[output.name] += at(output.value).values.front();
    }
}

void RefExecutable::set_scalars(const StepScalars& scalars) {
    const ScalarValues values = scalars.values();
    for (const ValueId scalar : graph_.values_with_role(Role::scalar))
        at(scalar).values = {rounded(DType::f32, values.at(scalar_position(graph_.value(scalar).name)))};
}

void RefExecutable::train(data::BatchSource& source, std::span<const StepScalars> updates, const UpdateDone& done,
                          PartialUpdate* partial) {
    CNNTRAIN_CHECK(std::ssize(updates) <= updates_per_call_, "more updates at once than the plan says");
    train_one_by_one(
        updates, [&](const StepScalars& scalars) { return update(source, scalars, partial); }, stop_requested_, done);
}

std::string RefExecutable::partial_form() const {
    Digest digest;
    digest.add(static_cast<std::uint64_t>(micro_batches_));
    digest.add(rounds_ ? "rounded" : "float64");
    for (const ValueId id : crossing_) {
        digest.add(graph_.value(id).name);
        digest.add(to_string(graph_.desc(id)));
    }
    return digest.text();
}

void RefExecutable::continue_with(const PartialUpdate& partial, StepResult& result) {
    CNNTRAIN_CHECK(partial.accumulators.size() == crossing_.size(), "a partial update of another form");
    result.samples = partial.samples;
    result.sums = partial.sums;
    for (std::size_t k = 0; k < crossing_.size(); ++k) {
        const std::span<const double> values = partial.accumulators.at(std::to_string(k)).as<double>();
        CNNTRAIN_CHECK(values.size() == sums_[k].values.size(), "a partial update of another form");
        std::ranges::copy(values, sums_[k].values.begin());
    }
}

PartialUpdate RefExecutable::part_of(std::int64_t iteration, std::int64_t micro_batches,
                                     const StepResult& result) const {
    PartialUpdate partial{iteration, micro_batches, result.samples, result.sums, {}};
    for (std::size_t k = 0; k < crossing_.size(); ++k) {
        HostTensor tensor({DType::f64, {std::ssize(sums_[k].values)}});
        std::ranges::copy(sums_[k].values, tensor.as<double>().begin());
        partial.accumulators.emplace(std::to_string(k), std::move(tensor));
    }
    return partial;
}

/// False when the run is asked to stop before the micro-batch.
bool RefExecutable::take_batch(data::BatchSource& source, std::int64_t iteration, std::int64_t micro_batch,
                               StepResult& result) {
    if (stops_before(micro_batch, stop_requested_)) return false;
    random_.first_sample = iteration * micro_batches_ + micro_batch;  // of a graph without inputs
    try {
        feed(source, result);
    } catch (const Interrupted&) {
        return false;
    }
    return true;
}

StepResult RefExecutable::update(data::BatchSource& source, const StepScalars& scalars, PartialUpdate* partial) {
    StepResult result;
    set_scalars(scalars);
    start_sums();
    std::int64_t i = 0;
    if (partial != nullptr && !partial->empty()) {
        check_partial(*partial, scalars.iteration, micro_batches_);
        continue_with(*partial, result);
        i = partial->micro_batches;
    }
    for (; i < micro_batches_; ++i) {
        result.stopped = !take_batch(source, scalars.iteration, i, result);
        if (result.stopped) break;
        run_phase(Phase::forward);
        run_phase(Phase::backward);
        add_outputs(Phase::backward, result);
        add_to_sums();
    }
    if (partial != nullptr)
        *partial = result.stopped && i > 0 ? part_of(scalars.iteration, i, result) : PartialUpdate();
    result.stop_requested = result.stopped || (stop_requested_ && stop_requested_());
    result.counts = settle(result, check_finite_);
    if (result.counts) run_update();
    return result;
}

void RefExecutable::run_update() {
    // The update reads sums; output() afterwards still gives the last micro-batch's own values.
    std::vector<RefTensor> last;
    for (std::size_t k = 0; k < crossing_.size(); ++k) {
        last.push_back(std::move(at(crossing_[k])));
        at(crossing_[k]) = sums_[k];
    }
    run_phase(Phase::update);
    for (std::size_t k = 0; k < crossing_.size(); ++k)
        at(crossing_[k]) = std::move(last[k]);
}

StepResult RefExecutable::evaluate(data::BatchSource& source, std::int64_t batches) {
    StepResult result;
    for (std::int64_t i = 0; i < batches; ++i) {
        result.stopped = stops_before(i, stop_requested_);
        if (result.stopped) return result;
        random_.first_sample = i;
        feed(source, result);
        run_phase(Phase::forward);
        add_outputs(Phase::forward, result);
    }
    return result;
}

HostTensor RefExecutable::read(Result result, const std::string& name) const {
    return result == Result::output ? read_output(name) : read_gradient(name);
}

HostTensor RefExecutable::read_output(const std::string& name) const {
    std::vector<std::string> names;
    for (const graph::Output& output : graph_.outputs()) {
        if (output.name == name) return to_host(at(output.value));
        names.push_back(output.name);
    }
    backend::refuse_name("output", name, names);
}

std::optional<std::string> RefExecutable::first_non_finite() const {
    const auto bad = [](const std::string& name, const RefTensor& tensor) -> std::optional<std::string> {
        for (std::size_t i = 0; i < tensor.values.size(); ++i) {
            if (!std::isfinite(tensor.values[i])) return name + "[" + std::to_string(i) + "]";
        }
        return std::nullopt;
    };
    for (const ValueId id : variables_) {
        if (auto found = bad(graph_.value(id).name, at(id))) return found;
    }
    for (std::size_t k = 0; k < crossing_.size(); ++k) {
        if (auto found = bad(graph_.value(crossing_[k]).name, sums_[k])) return found;
    }
    return std::nullopt;
}

HostTensor RefExecutable::read_gradient(const std::string& parameter) const {
    const std::optional<ValueId> id = graph::update_gradient(graph_, variable(parameter));
    for (std::size_t k = 0; k < crossing_.size(); ++k) {
        if (id == crossing_[k]) return to_host(sums_[k]);
    }
    if (id && graph_.value(*id).role == Role::intermediate) return to_host(at(*id));  // made in the update phase
    throw Error(ErrorKind::internal, parameter + " is not updated from a gradient");
}

void RefExecutable::set_profiling(bool enabled, Timeline* /*timeline*/) {
    profiling_ = enabled;
    node_seconds_.assign(node_seconds_.size(), 0);
    node_runs_.assign(node_runs_.size(), 0);
}

ProfileRow RefExecutable::profile_row(NodeId id, double seconds, std::int64_t runs) const {
    const Node& node = graph_.node(id);
    double bytes = 0;
    for (const ValueId input : node.inputs)
        bytes += static_cast<double>(graph_.desc(input).bytes());
    for (const ValueId result : node.outputs)
        bytes += static_cast<double>(graph_.desc(result).bytes());
    return {.name = node.name,
            .op = std::string(graph_.def(node).name),
            .implementation = "naive float64",
            .milliseconds = seconds * 1e3,
            .runs = runs,
            .gflops = graph_.node_flops(id) * 1e-9,
            .megabytes = bytes * 1e-6,
            .phase = node.phase,
            .stage = node.stage.index};
}

StepTimes RefExecutable::profile() const {
    std::vector<ProfileRow> rows;
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
        const auto k = static_cast<std::size_t>(i);
        if (node_runs_[k] == 0) continue;
        rows.push_back(profile_row(NodeId{i}, node_seconds_[k] / static_cast<double>(node_runs_[k]), node_runs_[k]));
    }
    return {std::move(rows), {}};
}

class RefBackend : public Backend {
public:
    explicit RefBackend(const RefSettings& settings) : rounds_(settings.rounds) {
        CNNTRAIN_CHECK(settings.half == DType::bf16 || settings.half == DType::f16, "16 bits are bf16 or f16");
        const std::string type(settings.half == DType::bf16 ? "bfloat16" : "float16");
        // No fusions: other backends are compared with single nodes.
        static constexpr std::array kDeadCode{graph::kRemoveDeadNodes};
        info_ = {.name = "ref",
                 .library = "naive float64",
                 .half_type = settings.half,
                 .fastest = {settings.half, "results are rounded as " + type + " would be"},
                 .rewrites = {{}, kDeadCode, kDeadCode, {}},
                 .why_unsupported = [](const Graph& graph, const Node& node) -> std::string {
                     const graph::OpDef& def = graph.def(node);
                     const bool has = def.evaluate != nullptr || def.evaluate_random != nullptr;
                     return has ? "" : "the op has no naive evaluator";
                 }};
    }

    const BackendInfo& info() const override { return info_; }

    std::unique_ptr<Executable> compile(const CompileRequest& request) const override {
        check_request(*this, request);
        if (request.peers.communicator != nullptr && request.peers.communicator->size() > 1) {
            throw Error(ErrorKind::unsupported, "the ref backend trains in a single process, not in " +
                                                    std::to_string(request.peers.communicator->size()) +
                                                    "; use --backend cpu");
        }
        return std::make_unique<RefExecutable>(request, placement(request.plan, request.cpu), rounds_);
    }

    schedule::Placement placement(const schedule::UpdatePlan& plan, const CpuSettings& /*cpu*/) const override {
        return schedule::in_one_lane(plan);
    }

private:
    bool rounds_;
    BackendInfo info_;
};

}  // namespace

std::unique_ptr<Backend> make_ref_backend(const RefSettings& settings) {
    return std::make_unique<RefBackend>(settings);
}

}  // namespace cnntrain::backend
