#include "backend/ipu/executable.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include <poplar/exceptions.hpp>
#include <poputil/exceptions.hpp>

#include "backend/ipu/device.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::ipu {

using backend::NamedTensors;
using backend::PartialUpdate;
using backend::StepResult;
using Clock = std::chrono::steady_clock;

namespace {

constexpr const char* kNoProfile = "--backend ipu does not time single operations; use --backend cpu";

poplar::OptionFlags engine_options(const backend::IpuSettings& settings) {
    poplar::OptionFlags options = {{"exchange.enablePrefetch", "true"}};
    if (!settings.exchange_target.empty())
        options.set("opt.internalExchangeOptimisationTarget", settings.exchange_target);
    if (settings.sync_replicas_independently) options.set("target.syncReplicasIndependently", "true");
    return options;
}

}  // namespace

IpuExecutable::IpuExecutable(const backend::CompileRequest& request, poplar::Device device)
    : graph_(*request.graph),
      plan_(request.plan),
      runtime_(request.runtime),
      device_(std::move(device)),  // NOLINT(performance-move-const-arg): an SDK's devices can only be moved
      fp_exceptions_(request.ipu.fp_exceptions),
      device_graph_(graph_, device_.getTarget(), request),
      engine_(device_graph_.device(), device_graph_.programs(), engine_options(request.ipu)),
      infeed_(infeed_settings(request)),
      evaluation_sums_(device_graph_.slots().sums().size()) {
    connect();
    engine_.load(device_);
    make_report();
}

Infeed::Settings IpuExecutable::infeed_settings(const backend::CompileRequest& request) const {
    const std::vector<ValueId> inputs = graph_.values_with_role(Role::input);
    const std::vector<std::size_t> numbers = backend::match_fields(graph_, request.fields);
    Infeed::Settings settings{.streams = device_graph_.slots().streams(),
                              .fields = {},
                              .bytes = {},
                              .replicas = plan_.replicas,
                              .takes_go = device_graph_.stops_within_updates(),
                              .seed = runtime_.seed};
    for (const HostStream& stream : settings.streams) {
        const auto k = std::ranges::find(inputs, stream.input) - inputs.begin();
        settings.fields.push_back(stream.input ? numbers.at(static_cast<std::size_t>(k)) : 0);
        settings.bytes.push_back(stream.input ? graph_.desc(*stream.input).bytes()
                                              : stream.site.samples * 2 * sizeof(std::uint32_t));
    }
    return settings;
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
    report_.stash_bytes.assign(static_cast<std::size_t>(plan_.stages()), 0);
    report_.partial_form = partial_form();
    report_.seconds = seconds_since(begun_);
}

std::string IpuExecutable::partial_form() const {
    Digest digest;
    digest.add("ipu");
    digest.add(static_cast<std::uint64_t>(plan_.accumulation));
    for (std::size_t k = 0; k < device_graph_.slots().accumulators().size(); ++k) {
        digest.add(graph_.value(device_graph_.slots().accumulators()[k].value).name);
        digest.add(to_string(accumulator_desc(k)));
    }
    return digest.text();
}

void IpuExecutable::connect() {
    const auto give = [](void* buffer, const auto& value) { std::memcpy(buffer, &value, sizeof value); };
    const std::vector<HostStream>& streams = device_graph_.slots().streams();
    engine_.connectStreamToCallback(handle::kGo, infeed_.go());
    for (std::size_t k = 0; k < streams.size(); ++k) {
        for (std::int64_t r = 0; r < plan_.replicas && !streams[k].stays; ++r)
            engine_.connectStreamToCallback(streams[k].handle, static_cast<unsigned>(r), infeed_.stream(k, r));
    }
    engine_.connectStreamToCallback(handle::kUpdates, [this, give](void* buffer) { give(buffer, updates_); });
    engine_.connectStreamToCallback(handle::kCommand,
                                    [this, give](void* buffer) { give(buffer, training_->next_command()); });
    engine_.connectStreamToCallback(handle::kVerdict, [this, give](void* buffer) {
        give(buffer, static_cast<std::uint32_t>(training_->verdict() ? 1 : 0));
    });
    engine_.connectStreamToCallback(handle::kBatches, [this, give](void* buffer) { give(buffer, batches_); });
    for (std::int64_t r = 0; r < plan_.replicas && !evaluation_sums_.empty(); ++r) {
        engine_.connectStreamToCallback(handle::kSums, static_cast<unsigned>(r), [this](const void* buffer) {
            const std::span sums(static_cast<const float*>(buffer), evaluation_sums_.size());
            if (training_) return training_->take_sums(sums);
            for (std::size_t k = 0; k < sums.size(); ++k)
                evaluation_sums_[k] += static_cast<double>(sums[k]);
        });
    }
    std::vector<std::size_t> positions;
    for (const ValueId scalar : graph_.values_with_role(Role::scalar))
        positions.push_back(backend::scalar_position(graph_.value(scalar).name));
    if (positions.empty()) return;
    engine_.connectStreamToCallback(handle::kScalars, [this, positions](void* buffer) {
        const backend::ScalarValues values = training_->scalars().values();
        for (std::size_t i = 0; i < positions.size(); ++i)
            static_cast<float*>(buffer)[i] = static_cast<float>(values.at(positions[i]));
    });
}

/// Writes inputs that stay on the device, once, before the first program of this executable runs.
void IpuExecutable::write_staying() {
    if (std::exchange(has_staying_, true)) return;
    const std::vector<HostStream>& streams = device_graph_.slots().streams();
    for (std::size_t k = 0; k < streams.size(); ++k) {
        if (!streams[k].stays) continue;
        const std::vector<std::byte> bytes = infeed_.staying(k);
        engine_.writeTensor(streams[k].handle, bytes.data(), bytes.data() + bytes.size());
    }
}

void IpuExecutable::run(Programs program) {
    try {
        engine_.run(static_cast<unsigned>(program));
    } catch (const poplar::application_runtime_error& error) {
        std::string text = std::string("the IPU stopped the program: ") + error.what();
        if (fp_exceptions_) {
            text +=
                "; use a smaller learning rate or --loss-scaling, or leave out --fp-exceptions to go on with what "
                "follows from it";
        }
        throw Error(ErrorKind::diverged, text);
    } catch (const poplar::poplar_error& error) {
        throw Error(ErrorKind::internal, std::string("Poplar: ") + error.what());
    }
}

void IpuExecutable::train(data::BatchSource& source, std::span<const backend::StepScalars> updates,
                          const backend::UpdateDone& done, PartialUpdate* partial) {
    CNNTRAIN_CHECK(std::ssize(updates) <= plan_.updates_per_call, "more updates at once than the plan says");
    if (updates.empty()) return;
    const PartialUpdate continued = partial == nullptr ? PartialUpdate() : std::exchange(*partial, {});
    if (!continued.empty()) load_accumulators(continued);
    const auto leave = [this](TrainingRun*) { training_.reset(); };
    training_.emplace(TrainingRun::Settings{.micro_batches = plan_.accumulation,
                                            .replicas = plan_.replicas,
                                            .stops_within_updates = device_graph_.stops_within_updates(),
                                            .seed = runtime_.seed,
                                            .check_finite = runtime_.check_finite,
                                            .stop_requested = runtime_.stop_requested},
                      updates, continued, device_graph_.slots().sums(), source, infeed_);
    const std::unique_ptr<TrainingRun, decltype(leave)> run_of_call(&*training_, leave);
    write_staying();
    while (training_->updates_left() > 0) {
        const std::size_t left = training_->updates_left();
        updates_ = updates_of_run(left);
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

/// Returns the number of updates that fit into a second, so that their results are known in time.
std::uint32_t IpuExecutable::updates_of_run(std::size_t left) const {
    if (seconds_of_update_ <= 0) return 1;
    const double fit = std::clamp(1 / seconds_of_update_, 1.0, static_cast<double>(left));
    return static_cast<std::uint32_t>(fit);
}

/// Throws the source's failure again. A stop while the source waited is no failure.
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
    if (batches > 0) write_staying();
    batches_ = static_cast<std::uint32_t>(batches);
    std::ranges::fill(evaluation_sums_, 0);
    run(Programs::evaluate);
    rethrow_failure();
    StepResult result;
    for (std::size_t k = 0; k < evaluation_sums_.size(); ++k) {
        const SumOutput& sum = device_graph_.slots().sums()[k];
        if (sum.in_forward) result.sums[sum.name] = evaluation_sums_[k];
    }
    result.samples = infeed_.samples();
    result.input_wait_seconds = infeed_.wait_seconds();
    result.stopped = infeed_.taken() < batches;
    return result;
}

HostTensor IpuExecutable::read_all(const std::string& handle, const TensorDesc& desc) const {
    TensorDesc all = desc;
    all.shape.insert(all.shape.begin(), plan_.replicas);
    HostTensor tensor(all);
    engine_.readTensor(handle, tensor.bytes().data(), tensor.bytes().data() + tensor.bytes().size());
    return tensor;
}

HostTensor IpuExecutable::read(const std::string& handle, const TensorDesc& desc) const {
    const HostTensor all = read_all(handle, desc);
    HostTensor tensor(desc);
    std::ranges::copy(all.bytes().first(tensor.bytes().size()), tensor.bytes().begin());
    return tensor;
}

void IpuExecutable::write(const std::string& handle, const HostTensor& tensor) {
    engine_.writeTensor(handle, tensor.bytes().data(), tensor.bytes().data() + tensor.bytes().size());
}

TensorDesc IpuExecutable::shard_desc(ValueId variable) const {
    const TensorDesc& desc = graph_.desc(variable);
    if (!device_graph_.slots().storage(variable).sharded) return desc;
    return {desc.dtype, {(desc.elements() + plan_.replicas - 1) / plan_.replicas}};
}

HostTensor IpuExecutable::read_variable(ValueId variable) const {
    const Storage storage = device_graph_.slots().storage(variable);
    const TensorDesc kept = shard_desc(variable);
    const std::size_t replicas = storage.sharded ? static_cast<std::size_t>(plan_.replicas) : 1;
    HostTensor all = storage.remote ? HostTensor({kept.dtype, {static_cast<std::int64_t>(replicas), kept.elements()}})
                                    : read_all(storage.handle, kept);
    for (std::size_t r = 0; storage.remote && r < replicas; ++r) {
        engine_.copyFromRemoteBuffer(storage.handle, all.bytes().data() + r * kept.bytes(), 0,
                                     static_cast<unsigned>(r));
    }
    HostTensor tensor(graph_.desc(variable));
    std::ranges::copy(all.bytes().first(tensor.bytes().size()), tensor.bytes().begin());
    return tensor;
}

void IpuExecutable::write_variable(ValueId variable, const HostTensor& tensor) {
    const Storage storage = device_graph_.slots().storage(variable);
    if (!storage.sharded && !storage.remote) return write(storage.handle, tensor);
    const TensorDesc kept = shard_desc(variable);
    HostTensor all({kept.dtype, {plan_.replicas, kept.elements()}});
    for (std::size_t r = 0; r < (storage.sharded ? 1 : static_cast<std::size_t>(plan_.replicas)); ++r)
        std::ranges::copy(tensor.bytes(), all.bytes().subspan(r * kept.bytes()).begin());
    if (!storage.remote) return write(storage.handle, all);
    for (std::size_t r = 0; r < static_cast<std::size_t>(plan_.replicas); ++r)
        engine_.copyToRemoteBuffer(all.bytes().data() + r * kept.bytes(), storage.handle, 0, static_cast<unsigned>(r));
}

void IpuExecutable::load(const NamedTensors& tensors) {
    for (const auto& [name, tensor] : tensors) {
        const std::optional<ValueId> id = graph_.find(name);
        if (!id || !graph_.is_variable(*id)) backend::refuse_name("parameter or state", name, variable_names());
        if (tensor.desc() != graph_.desc(*id)) {
            throw Error(ErrorKind::data, name + " is " + to_string(graph_.desc(*id)) + ", it cannot be loaded from " +
                                             to_string(tensor.desc()));
        }
        write_variable(*id, tensor);
    }
}

NamedTensors IpuExecutable::store(std::span<const std::string> names) const {
    NamedTensors tensors;
    for (const std::string& name : names) {
        const std::optional<ValueId> id = graph_.find(name);
        if (!id || !graph_.is_variable(*id)) backend::refuse_name("parameter or state", name, variable_names());
        tensors.emplace(name, read_variable(*id));
    }
    return tensors;
}

TensorDesc IpuExecutable::accumulator_desc(std::size_t k) const {
    TensorDesc desc = graph_.desc(device_graph_.slots().accumulators()[k].value);
    desc.shape.insert(desc.shape.begin(), plan_.replicas);
    return desc;
}

HostTensor IpuExecutable::accumulator(std::size_t k) const {
    const Accumulator& about = device_graph_.slots().accumulators()[k];
    const HostTensor all = read_all(about.handle, graph_.desc(about.value));
    HostTensor sum(graph_.desc(about.value));
    for (std::int64_t i = 0; i < all.elements(); ++i)
        sum.set(i % sum.elements(), sum.at(i % sum.elements()) + all.at(i));
    return sum;
}

NamedTensors IpuExecutable::accumulators() const {
    NamedTensors tensors;
    for (const Accumulator& about : device_graph_.slots().accumulators())
        tensors.emplace(std::to_string(tensors.size()), read_all(about.handle, graph_.desc(about.value)));
    return tensors;
}

void IpuExecutable::load_accumulators(const PartialUpdate& partial) {
    const std::vector<Accumulator>& all = device_graph_.slots().accumulators();
    CNNTRAIN_CHECK(partial.accumulators.size() == all.size(), "a partial update of another form");
    for (std::size_t k = 0; k < all.size(); ++k) {
        const HostTensor& tensor = partial.accumulators.at(std::to_string(k));
        CNNTRAIN_CHECK(tensor.desc() == accumulator_desc(k), "a partial update of another form");
        write(all[k].handle, tensor);
    }
}

HostTensor IpuExecutable::read(backend::Result result, const std::string& name) const {
    return result == backend::Result::output ? read_output(name) : read_gradient(name);
}

HostTensor IpuExecutable::read_output(const std::string& name) const {
    std::vector<std::string> names;
    for (const graph::Output& output : graph_.outputs()) {
        if (output.name == name) return read(handle::output(name), graph_.desc(output.value));
        names.push_back(output.name);
    }
    backend::refuse_name("output", name, names);
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
        if (auto found = bad(name, read_variable(id))) return found;
    }
    for (std::size_t k = 0; k < device_graph_.slots().accumulators().size(); ++k) {
        const std::string& name = graph_.value(device_graph_.slots().accumulators()[k].value).name;
        if (auto found = bad(name, accumulator(k))) return found;
    }
    return std::nullopt;
}

HostTensor IpuExecutable::read_gradient(const std::string& name) const {
    const std::optional<ValueId> parameter = graph_.find(name);
    if (!parameter) backend::refuse_name("parameter", name, variable_names());
    const std::optional<ValueId> id = graph::update_gradient(graph_, *parameter);
    const std::vector<Accumulator>& all = device_graph_.slots().accumulators();
    for (std::size_t k = 0; k < all.size(); ++k) {
        if (id == all[k].value) return accumulator(k);
    }
    throw Error(ErrorKind::internal, name + " is not updated from a gradient");
}

void IpuExecutable::set_profiling(bool enabled, Timeline* /*timeline*/) {
    if (enabled) throw Error(ErrorKind::unsupported, kNoProfile);
}

TrainingRun::TrainingRun(const Settings& settings, std::span<const backend::StepScalars> updates,
                         const backend::PartialUpdate& partial, const std::vector<SumOutput>& sums,
                         data::BatchSource& source, Infeed& infeed)
    : settings_(settings), updates_(updates), sums_(sums), infeed_(infeed), ended_(updates.empty()) {
    if (ended_) return;
    const std::int64_t batches = settings_.micro_batches * settings_.replicas;
    backend::check_partial(partial, updates_[0].iteration, batches);
    infeed_.begin(source, updates_[0].iteration * batches + partial.micro_batches, [this] {
        return !settings_.stops_within_updates ||
               !backend::stops_before(first_ + infeed_.taken() - taken_, settings_.stop_requested);
    });
    begin_update();
    first_ = partial.micro_batches / settings_.replicas;
    result_.samples = partial.samples;
    result_.sums = partial.sums;
}

void TrainingRun::begin_update() {
    first_ = 0;
    result_ = {};
    taken_ = infeed_.taken();
    samples_ = infeed_.samples();
    wait_seconds_ = infeed_.wait_seconds();
}

Command TrainingRun::next_command() {
    ended_ = ended_ || (update_ > 0 && stop_requested());
    if (ended_) return {};
    const std::int64_t count = settings_.micro_batches - first_;
    infeed_.expect(count);
    const auto iteration = static_cast<std::uint64_t>(updates_[update_].iteration);
    return {.micro_batches = static_cast<std::uint32_t>(count),
            .begins_update = first_ == 0 ? 1U : 0U,
            .seed = word_key(settings_.seed, RngStream::rounding, 0, iteration).first,
            .micro_batch = static_cast<std::uint32_t>(first_)};
}

void TrainingRun::take_sums(std::span<const float> sums) {
    if (ended_) return;
    for (std::size_t k = 0; k < sums_.size(); ++k)
        result_.sums[sums_[k].name] += static_cast<double>(sums[k]);
}

bool TrainingRun::verdict() {
    if (ended_) return false;
    std::int64_t complete = first_ + infeed_.taken() - taken_;
    if (!settings_.stops_within_updates) {
        infeed_.take_expected();
        complete = infeed_.failure() ? 0 : settings_.micro_batches;
    }
    result_.samples += infeed_.samples() - samples_;
    result_.input_wait_seconds = infeed_.wait_seconds() - wait_seconds_;
    result_.stopped = complete < settings_.micro_batches;
    if (result_.stopped && complete > 0) {
        stopped_within_ = {
            updates_[update_].iteration, complete * settings_.replicas, result_.samples, result_.sums, {}};
    }
    result_.stop_requested = result_.stopped || stop_requested();
    result_.counts = backend::settle(result_, settings_.check_finite);
    const bool counts = result_.counts;
    ended_ = !counts || result_.stop_requested || update_ + 1 == updates_.size();
    results_.push_back(std::move(result_));
    if (!ended_) {
        ++update_;
        begin_update();
    }
    return counts;
}

std::vector<backend::StepResult> TrainingRun::take_results() {
    return std::exchange(results_, {});
}

}  // namespace cnntrain::ipu
