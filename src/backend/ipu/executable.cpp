#include "backend/ipu/executable.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include <poplar/exceptions.hpp>
#include <poputil/exceptions.hpp>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/graph/facts.h"

namespace cnntrain::ipu {

using backend::NamedTensors;
using backend::PartialUpdate;
using backend::StepResult;
using graph::NodeId;
using graph::Role;
using graph::ValueId;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* kNoProfile = "--backend ipu does not time single operations; use --backend cpu";

poplar::OptionFlags engine_options() {
    return {{"exchange.enablePrefetch", "true"}};
}

std::vector<Infeed::Stream> input_streams(const graph::Graph& graph, const std::vector<data::Field>& fields) {
    const std::vector<std::size_t> numbers = backend::match_fields(graph, fields);
    std::vector<Infeed::Stream> streams;
    for (const ValueId input : graph.values_with_role(Role::input))
        streams.push_back({numbers[streams.size()], graph.desc(input)});
    return streams;
}

[[noreturn]] void unknown_name(const char* what, const std::string& name, const std::vector<std::string>& names) {
    const std::string nearest = nearest_name(name, names);
    throw Error(ErrorKind::internal, std::string("the graph has no ") + what + " named '" + name + "'" +
                                         (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
}

float scalar_of(const std::string& name, const backend::StepScalars& scalars) {
    if (name == "learning_rate") return static_cast<float>(scalars.learning_rate);
    if (name == "step") return static_cast<float>(scalars.iteration + 1);
    CNNTRAIN_CHECK(name == "loss_scaling", "a scalar that no step has: " + name);
    return static_cast<float>(scalars.loss_scaling);
}

}  // namespace

IpuExecutable::IpuExecutable(const backend::CompileRequest& request, const poplar::Device& device,
                             std::int64_t micro_batches)
    : graph_(*request.graph),
      micro_batches_(micro_batches),
      updates_per_call_(request.plan.updates_per_call),
      runtime_(request.runtime),
      device_graph_(graph_, device.getTarget(), request.runtime.stochastic_rounding),
      engine_(device_graph_.device(), device_graph_.programs(), engine_options()),
      infeed_(input_streams(graph_, request.fields), device_graph_.sites(), request.runtime.seed),
      evaluation_sums_(device_graph_.sums().size()) {
    connect();
    engine_.load(device);
    make_report();
}

void IpuExecutable::make_report() {
    for (const ValueId id : graph_.variables()) {
        report_.variables.push_back({graph_.value(id).name, graph_.desc(id)});
        report_.parameter_bytes += graph_.desc(id).bytes();
    }
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
        const graph::Node& node = graph_.node(NodeId{i});
        for (const ValueId output : node.outputs)
            report_.arena_bytes += graph_.desc(output).bytes();
        if (node.phase != graph::Phase::update) report_.flops_per_micro_batch += graph_.node_flops(NodeId{i});
    }
    report_.stash_bytes.assign(1, 0);
    report_.partial_form = partial_form();
}

std::string IpuExecutable::partial_form() const {
    Digest digest;
    digest.add("ipu");
    digest.add(static_cast<std::uint64_t>(micro_batches_));
    for (const ValueId id : device_graph_.crossing()) {
        digest.add(graph_.value(id).name);
        digest.add(to_string(graph_.desc(id)));
    }
    return digest.text();
}

void IpuExecutable::connect() {
    const auto give = [](void* buffer, const auto& value) { std::memcpy(buffer, &value, sizeof value); };
    const std::vector<ValueId> inputs = graph_.values_with_role(Role::input);
    engine_.connectStreamToCallback(handle::kGo, infeed_.go());
    for (std::size_t k = 0; k < inputs.size(); ++k)
        engine_.connectStreamToCallback(handle::input(graph_.value(inputs[k]).name), infeed_.input(k));
    if (!device_graph_.sites().empty()) engine_.connectStreamToCallback(handle::kKeys, infeed_.keys());
    engine_.connectStreamToCallback(handle::kCommands, [this, give](void* buffer) { give(buffer, commands_); });
    engine_.connectStreamToCallback(handle::kCommand,
                                    [this, give](void* buffer) { give(buffer, training_->next_command()); });
    engine_.connectStreamToCallback(handle::kVerdict, [this, give](void* buffer) {
        give(buffer, static_cast<std::uint32_t>(training_->verdict() ? 1 : 0));
    });
    engine_.connectStreamToCallback(handle::kBatches, [this, give](void* buffer) { give(buffer, batches_); });
    if (!device_graph_.sums().empty()) {
        engine_.connectStreamToCallback(handle::kSums, [this](const void* buffer) {
            const std::span sums(static_cast<const float*>(buffer), device_graph_.sums().size());
            if (training_) {
                training_->take_sums(sums);
            } else {
                std::ranges::copy(sums, evaluation_sums_.begin());
            }
        });
    }
    const std::vector<ValueId> scalars = graph_.values_with_role(Role::scalar);
    if (scalars.empty()) return;
    engine_.connectStreamToCallback(handle::kScalars, [this, scalars](void* buffer) {
        for (std::size_t i = 0; i < scalars.size(); ++i)
            static_cast<float*>(buffer)[i] = scalar_of(graph_.value(scalars[i]).name, training_->scalars());
    });
}

void IpuExecutable::run(Programs program) {
    try {
        engine_.run(static_cast<unsigned>(program));
    } catch (const poplar::application_runtime_error& error) {
        throw Error(ErrorKind::diverged, std::string("the IPU stopped the program: ") + error.what());
    } catch (const poplar::poplar_error& error) {
        throw Error(ErrorKind::internal, std::string("Poplar: ") + error.what());
    }
}

void IpuExecutable::train(data::BatchSource& source, std::span<const backend::StepScalars> updates,
                          const backend::UpdateDone& done, PartialUpdate* partial) {
    CNNTRAIN_CHECK(std::ssize(updates) <= updates_per_call_, "more updates at once than the plan says");
    if (updates.empty()) return;
    const PartialUpdate continued = partial == nullptr ? PartialUpdate() : std::exchange(*partial, {});
    if (!continued.empty()) load_accumulators(continued);
    const auto leave = [this](TrainingRun*) { training_.reset(); };
    training_.emplace(TrainingRun::Settings{.micro_batches = micro_batches_,
                                            .seed = runtime_.seed,
                                            .check_finite = runtime_.check_finite,
                                            .stop_requested = runtime_.stop_requested},
                      updates, continued, device_graph_.sums(), source, infeed_);
    const std::unique_ptr<TrainingRun, decltype(leave)> run_of_call(&*training_, leave);
    while (training_->updates_left() > 0) {
        const std::size_t left = training_->updates_left();
        commands_ = updates_of_run(left);
        const Clock::time_point start = Clock::now();
        run(Programs::train);
        const std::size_t performed = left - training_->updates_left();
        if (performed > 0) seconds_of_update_ = seconds_since(start) / static_cast<double>(performed);
        if (!training_->stopped_within().empty() && partial != nullptr) {
            *partial = training_->stopped_within();
            partial->accumulators = accumulators();
        }
        for (StepResult& result : training_->take_results())
            done(std::move(result));
        rethrow_failure();
    }
}

/// As many as fit into a second, so that their results are known in time.
std::uint32_t IpuExecutable::updates_of_run(std::size_t left) const {
    if (seconds_of_update_ <= 0) return 1;
    const double fit = std::clamp(1 / seconds_of_update_, 1.0, static_cast<double>(left));
    return static_cast<std::uint32_t>(fit);
}

/// A stop while the source waited is no failure.
void IpuExecutable::rethrow_failure() const {
    if (!infeed_.failure()) return;
    try {
        std::rethrow_exception(infeed_.failure());
    } catch (const Interrupted&) {
    }
}

StepResult IpuExecutable::evaluate(data::BatchSource& source, std::int64_t batches) {
    infeed_.begin(source, 0, [this] { return !backend::stops_before(infeed_.taken(), runtime_.stop_requested); });
    infeed_.expect(batches);
    batches_ = static_cast<std::uint32_t>(batches);
    run(Programs::evaluate);
    rethrow_failure();
    StepResult result;
    for (std::size_t k = 0; k < evaluation_sums_.size(); ++k) {
        const SumOutput& sum = device_graph_.sums()[k];
        if (sum.in_forward) result.sums[sum.name] = static_cast<double>(evaluation_sums_[k]);
    }
    result.samples = infeed_.samples();
    result.input_wait_seconds = infeed_.wait_seconds();
    result.stopped = infeed_.taken() < batches;
    return result;
}

HostTensor IpuExecutable::read(const std::string& handle, const TensorDesc& desc) const {
    HostTensor tensor(desc);
    engine_.readTensor(handle, tensor.bytes().data(), tensor.bytes().data() + tensor.bytes().size());
    return tensor;
}

void IpuExecutable::write(const std::string& handle, const HostTensor& tensor) {
    engine_.writeTensor(handle, tensor.bytes().data(), tensor.bytes().data() + tensor.bytes().size());
}

void IpuExecutable::load(const NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors) {
        const std::optional<ValueId> id = graph_.find(name);
        if (!id || !graph_.is_variable(*id)) unknown_name("parameter or state", name, variable_names());
        if (tensor.desc() != graph_.desc(*id)) {
            throw Error(ErrorKind::internal, name + " is " + to_string(graph_.desc(*id)) +
                                                 ", it cannot be loaded from " + to_string(tensor.desc()));
        }
        write(handle::variable(name), tensor);
    }
}

NamedTensors IpuExecutable::store(std::span<const std::string> names) const {
    NamedTensors tensors;
    for (const std::string& name : names) {
        const std::optional<ValueId> id = graph_.find(name);
        if (!id || !graph_.is_variable(*id)) unknown_name("parameter or state", name, variable_names());
        tensors.emplace(name, read(handle::variable(name), graph_.desc(*id)));
    }
    return tensors;
}

HostTensor IpuExecutable::accumulator(std::size_t k) const {
    return read(handle::accumulator(k), graph_.desc(device_graph_.crossing()[k]));
}

NamedTensors IpuExecutable::accumulators() const {
    NamedTensors tensors;
    for (std::size_t k = 0; k < device_graph_.crossing().size(); ++k)
        tensors.emplace(std::to_string(k), accumulator(k));
    return tensors;
}

void IpuExecutable::load_accumulators(const PartialUpdate& partial) {
    const std::vector<ValueId>& crossing = device_graph_.crossing();
    CNNTRAIN_CHECK(partial.accumulators.size() == crossing.size(), "a partial update of another form");
    for (std::size_t k = 0; k < crossing.size(); ++k) {
        const HostTensor& tensor = partial.accumulators.at(std::to_string(k));
        CNNTRAIN_CHECK(tensor.desc() == graph_.desc(crossing[k]), "a partial update of another form");
        write(handle::accumulator(k), tensor);
    }
}

HostTensor IpuExecutable::output(const std::string& name) const {
    std::vector<std::string> names;
    for (const graph::Output& output : graph_.outputs()) {
        if (output.name == name) return read(handle::output(name), graph_.desc(output.value));
        names.push_back(output.name);
    }
    unknown_name("output", name, names);
}

std::optional<std::string> IpuExecutable::first_non_finite() const {
    const auto bad = [](const std::string& name, const HostTensor& tensor) -> std::optional<std::string> {
        for (std::int64_t i = 0; i < tensor.elements(); ++i) {
            if (!std::isfinite(tensor.at(i))) return name + "[" + std::to_string(i) + "]";
        }
        return std::nullopt;
    };
    for (const ValueId id : graph_.variables()) {
        const std::string& name = graph_.value(id).name;
        if (auto found = bad(name, read(handle::variable(name), graph_.desc(id)))) return found;
    }
    for (std::size_t k = 0; k < device_graph_.crossing().size(); ++k) {
        if (auto found = bad(graph_.value(device_graph_.crossing()[k]).name, accumulator(k))) return found;
    }
    return std::nullopt;
}

HostTensor IpuExecutable::gradient(const std::string& parameter_name) const {
    const std::optional<ValueId> parameter = graph_.find(parameter_name);
    if (!parameter) unknown_name("parameter", parameter_name, variable_names());
    const std::optional<ValueId> id = graph::update_gradient(graph_, *parameter);
    const auto found = std::ranges::find(device_graph_.crossing(), id);
    if (id && found != device_graph_.crossing().end())
        return accumulator(static_cast<std::size_t>(found - device_graph_.crossing().begin()));
    throw Error(ErrorKind::internal, parameter_name + " is not updated from a gradient");
}

void IpuExecutable::set_profiling(bool enabled) {
    if (enabled) throw Error(ErrorKind::unsupported, kNoProfile);
}

std::vector<backend::ProfileRow> IpuExecutable::profile_alone(int /*repeats*/) {
    throw Error(ErrorKind::unsupported, kNoProfile);
}

}  // namespace cnntrain::ipu
