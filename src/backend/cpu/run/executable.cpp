#include "backend/cpu/run/executable.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <string_view>

#include "backend/cpu/lower/lowering.h"
#include "backend/cpu/run/placement.h"
#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::cpu {

using graph::Role;
using graph::ValueId;

namespace {

using Clock = std::chrono::steady_clock;

/// Index in memory of the first NaN or infinity, or -1; other types are always finite.
std::int64_t first_bad_index(const Placed& tensor) {
    const std::size_t bytes =
        tensor.buffer->sharded_as >= 0 ? tensor.buffer->bytes : tensor.desc.get_size();  // a piece, or a view
    const std::size_t count = bytes / size_bytes(tensor.dtype);
    if (tensor.dtype == DType::f32) return cpu::first_non_finite(std::span(tensor.as<const float>(), count));
    if (tensor.dtype == DType::bf16) return cpu::first_non_finite(std::span(tensor.as<const BFloat16>(), count));
    return -1;
}

/// The threads that work, of a team that may give way to other programs; nothing: all.
std::optional<WorkingThreads> working_threads(int all) {
    const char* const wanted = std::getenv(kShareVariable);
    const std::string text = wanted == nullptr ? "" : wanted;
    if (text == "off") return std::nullopt;
    std::vector<int> forced;
    for (const std::string_view count : split(text, ',')) {
        if (const auto threads = as_number<int>(count); threads && *threads > 0) forced.push_back(*threads);
    }
    return WorkingThreads(all, count_cores().processors, std::move(forced));
}

bool has_convolutions(const graph::Graph& graph) {
    return std::ranges::any_of(graph.nodes(), [](const graph::Node& node) {
        return node.kind == graph::OpKind::conv2d || node.kind == graph::OpKind::quantised_conv2d;
    });
}

}  // namespace

CpuExecutable::CpuExecutable(const backend::CompileRequest& request, const schedule::Placement& placement, Aim aim)
    : CpuExecutable(request, placement, aim, sub_batches_of(request)) {}

CpuExecutable::CpuExecutable(const backend::CompileRequest& request, const schedule::Placement& placement, Aim aim,
                             SubBatches sub_batches)
    : graph_(std::move(sub_batches.graph)),
      sub_batches_(sub_batches.count),
      samples_apart_(graph::samples_of(graph_).value_or(0)),
      plan_(placement),
      updates_per_call_(request.plan.updates_per_call),
      threads_(compute_threads(request.cpu)),
      lanes_(threads_of_lanes(threads_, plan_.lanes)),
      program_(onednn_, plan_, lanes_of_sites(graph_, plan_)),
      recorder_(program_),
      check_finite_(request.runtime.check_finite),
      stop_requested_(request.runtime.stop_requested),
      contexts_(aim == Aim::run ? static_cast<std::size_t>(plan_.micro_batches) : 0),
      values_(graph_.outputs().size() * contexts_.size()),
      finished_(program_.sections().size() + 1) {
    const Clock::time_point start = Clock::now();
    compile(request, aim);
    report_.seconds = seconds_since(start);
}

void CpuExecutable::compile(const backend::CompileRequest& request, Aim aim) {
    set_threads(threads_);
    if (aim == Aim::run) prepare_team();
    if (request.peers.communicator != nullptr && request.peers.communicator->size() > 1)
        exchange_.emplace(request.peers, request.cpu);
    const std::int64_t norm_ranks = schedule::norm_processes(request.plan);
    if (exchange_ && norm_ranks > 1) share_norms(exchange_->communicator(), norm_ranks);
    Lowering lowering(graph_, request, onednn_, program_, exchange_ ? &*exchange_ : nullptr);
    lowering.lower_prepare();
    for (std::int32_t pipeline = 0; pipeline < plan_.pipelines; ++pipeline) {
        lowering.lower_pipeline(pipeline, lanes_);
        outputs_.push_back(outputs_of(lowering, pipeline));
    }
    lowering.lower_update();
    if (plan_.lanes == 1 && threads_ > 1 && !exchange_) working_ = working_threads(threads_);
    report_.reorders = lowering.reorders();
    for (const ValueId id : graph_.variables()) {
        const graph::Value& value = graph_.value(id);
        variables_.push_back({value.name, value.desc, lowering.master(id), lowering.row_major_desc(id)});
        report_.variables.push_back({value.name, value.desc});
        if (const auto gradient = graph::update_gradient(graph_, id)) {
            Desc row_major = lowering.row_major_desc(*gradient);
            gradients_.push_back({value.name, graph_.desc(*gradient), lowering.as_it_lies(*gradient), row_major});
        }
    }
    for (const ValueId id : graph_.values_with_role(Role::input)) {
        inputs_.push_back({graph_.value(id).name, request.graph->desc(id), lowering.seen_from(Section::prepare(), id),
                           lowering.row_major_desc(id)});
    }
    input_fields_ = backend::match_fields(graph_, request.fields);
    if (aim == Aim::description) {
        program_.count_memory();
        return fill_report();
    }
    const auto* const owner = dynamic_cast<const CpuExecutable*>(request.weights);
    const bool shares = owner != nullptr && owner->threads_ == threads_;  // on which layouts of copies depend
    program_.finish(exchange_ ? Copies::all : Copies::one, shares ? &owner->program_ : nullptr);
    if (sub_batches_ > 1) {
        for (const graph::Output& output : graph_.outputs())
            whole_outputs_.emplace_back(request.graph->desc(output.value));
    }
    if (exchange_) exchange_->use(program_.exchanged());
    held_.resize(static_cast<std::size_t>(plan_.pipelines * program_.batches_in_flight()));
    turns_.emplace(program_.turns());
    fill_report();
}

void CpuExecutable::share_norms(comm::Communicator& communicator, std::int64_t ranks) {
    CNNTRAIN_CHECK(plan_.lanes == 1, "ranks that share statistics have one lane each");
    norms_.emplace(communicator, static_cast<std::int32_t>(ranks));
    for (const graph::Node& node : graph_.nodes()) {
        if (node.kind == graph::OpKind::batch_norm) norms_->reserve(graph_.desc(node.outputs[1]).elements());
    }
}

/// Outputs that no micro-batch computes are read after the last forward section.
std::vector<CpuExecutable::Tensor> CpuExecutable::outputs_of(const Lowering& lowering, std::int32_t pipeline) const {
    std::vector<Tensor> outputs;
    for (const graph::Output& output : graph_.outputs()) {
        const graph::NodeId producer = graph_.value(output.value).producer;
        Section section = producer.valid() ? lowering.section_of(producer) : Section::prepare();
        if (section == Section::prepare()) section = program_.forward_sections(pipeline).back();
        outputs.push_back({output.name, graph_.desc(output.value), lowering.seen_from(section, output.value),
                           lowering.row_major_desc(output.value), section});
    }
    return outputs;
}

void CpuExecutable::fill_report() {
    const auto parts = static_cast<double>(sub_batches_);
    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
        if (graph_.node(graph::NodeId{i}).phase != graph::Phase::update) {
            report_.flops_per_micro_batch += parts * graph_.node_flops(graph::NodeId{i});
        }
    }
    report_.parameter_bytes = program_.persistent_bytes();
    report_.arena_bytes = program_.arena_bytes();
    for (const StageBytes& stage : program_.stage_bytes()) {
        report_.stash_bytes.push_back(stage.stash);
        report_.stage_variable_bytes.push_back(stage.variables);
        report_.stage_held_bytes.push_back(stage.held);
    }
    for (const auto& [name, bytes] : program_.persistent_tensors())
        report_.persistent.push_back({name, bytes});
    for (const auto& [name, bytes] : program_.held_tensors())
        report_.held.push_back({name, bytes});
    if (exchange_) {
        for (const comm::Bucket& bucket : exchange_->buckets().buckets)
            report_.bucket_bytes.push_back(static_cast<std::uint64_t>(bucket.elements) * sizeof(float));
    }
    report_.partial_form = partial_form();
}

void CpuExecutable::use_threads() const {
    set_threads(lanes_.count() == 1 ? lanes_.threads(0) : threads_);
    prepare_team();
}

void CpuExecutable::share_processors() {
    if (!working_) return;
    const int threads = working_->now();
    if (threads == lanes_.threads(0)) return;
    lanes_.set_working(threads);
    use_threads();
}

void CpuExecutable::run_section(Section section, const StepContext& context) {
    if (recorder_.is_on()) return recorder_.run(section, context);
    for (const Step& step : program_.steps(section)) {
        if (step.by_update && context.follows_update) continue;
        step.run(context);
        if (context.exchange != nullptr) context.exchange->progress();
    }
}

void CpuExecutable::refresh_prepared(bool follows_update) {
    run_section(Section::prepare(), {.follows_update = follows_update});
}

void CpuExecutable::prepare_once() {
    program_.prepare_once([this] {
        refresh_prepared(false);
        is_watched_ = check_finite_ && has_convolutions(graph_);
    });
}

data::Batch& CpuExecutable::held_batch(std::int32_t pipeline, std::int64_t number) {
    const std::int64_t places = program_.batches_in_flight();
    return held_[static_cast<std::size_t>(pipeline * places + number % places)];
}

void CpuExecutable::bind_batch(data::Batch batch, std::int32_t pipeline, std::int64_t number) {
    held_batch(pipeline, number) = std::move(batch);
    bind_part(pipeline, number, 0);
}

void CpuExecutable::bind_part(std::int32_t pipeline, std::int64_t number, std::int64_t part) {
    const data::Batch& held = held_batch(pipeline, number);
    // The program only reads its inputs, but oneDNN's handles are not const.
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
        const auto bytes = backend::field_bytes(held, input_fields_[i], inputs_[i].desc);
        const std::byte* const begin = bytes.data() + part * (std::ssize(bytes) / sub_batches_);
        program_.bind(inputs_[i].placed.buffer, pipeline, number, const_cast<std::byte*>(begin));
    }
}

/// Shared state of the lanes during a weight update. Lanes work on different micro-batches or take turns.
struct CpuExecutable::Update {
    data::BatchSource& source;
    StepContext base;        // common to all micro-batches
    std::int64_t first = 0;  // micro-batch; the sums already contain those before it
    /// The micro-batch before which the update was stopped. Earlier ones are completed, on all lanes.
    std::atomic<std::int64_t> end;
    backend::StepResult result{};  // the lane that takes a batch writes samples and waiting
    std::mutex mutex{};
    std::optional<std::int64_t> not_finite{};  // micro-batch
    std::exception_ptr failure{};              // first failure of a lane

    bool has(std::int64_t micro_batch) const {
        return micro_batch >= first && micro_batch < end.load(std::memory_order_acquire);
    }
};

data::Batch CpuExecutable::next_batch(data::BatchSource& source, Section section, backend::StepResult& result) {
    const StepRecorder::Waiting waiting(recorder_, section, StepRecorder::Wait::input);
    const Clock::time_point start = Clock::now();
    data::Batch batch = source.next();
    result.input_wait_seconds += seconds_since(start);
    return batch;
}

/// True if this rank and all ranks that share statistics with it can continue.
bool CpuExecutable::all_go_on(bool this_rank, Section section) {
    if (!norms_) return this_rank;
    const StepRecorder::Waiting waiting(recorder_, section, StepRecorder::Wait::ranks);
    return norms_->all_go_on(this_rank);
}

bool CpuExecutable::take_batch(std::int32_t pipeline, std::int64_t number, Update& update) {
    const std::int64_t micro_batch = number * plan_.pipelines + pipeline;
    if (backend::stops_before(micro_batch, stop_requested_)) return false;
    StepContext& context = contexts_[static_cast<std::size_t>(micro_batch)];
    context = update.base;
    context.micro_batch = micro_batch;
    context.first_sample = context.iteration * plan_.micro_batches + micro_batch;  // of a graph without inputs
    if (inputs_.empty()) return true;
    try {
        data::Batch batch = next_batch(update.source, Section::forward(0, pipeline), update.result);
        context.first_sample = batch.first_sample;
        bind_batch(std::move(batch), pipeline, number);
    } catch (const Interrupted&) {
        return false;
    }
    return true;
}

bool CpuExecutable::take_batch_in_turn(std::int32_t pipeline, std::int64_t number, Update& update) {
    const std::int64_t micro_batch = number * plan_.pipelines + pipeline;
    const std::size_t taken = program_.sections().size();
    if (!finished_.wait_for(taken, micro_batch)) return false;
    if (update.has(micro_batch)) {
        bool is_there = false;
        try {
            is_there = take_batch(pipeline, number, update);
        } catch (...) {
            all_go_on(false, Section::forward(0, pipeline));
            throw;
        }
        if (all_go_on(is_there, Section::forward(0, pipeline))) {
            update.result.samples += held_batch(pipeline, number).valid_count;
            if (exchange_ && micro_batch == plan_.micro_batches - 1) exchange_->last_micro_batch_begins();
        } else {
            update.end.store(micro_batch, std::memory_order_release);
        }
    }
    finished_.finish(taken);
    return true;
}

/// Micro-batches that the update does not have count as finished at once, so that nobody waits for them.
bool CpuExecutable::run_work(Section section, std::int64_t number, Update& update) {
    for (const Wait& wait : program_.waits(section)) {
        if (!finished_.wait_for(wait.section, number + 1 - wait.behind)) return false;
    }
    if (section == Section::forward(0, section.pipeline) && !take_batch_in_turn(section.pipeline, number, update))
        return false;
    if (update.has(number * plan_.pipelines + section.pipeline) && !compute(section, number, update)) return false;
    finished_.finish(program_.position(section));
    return true;
}

/// False when a result is not finite.
bool CpuExecutable::compute(Section section, std::int64_t number, Update& update) {
    const std::int64_t micro_batch = number * plan_.pipelines + section.pipeline;
    program_.turn_to(section, number);
    run_section(section, contexts_[static_cast<std::size_t>(micro_batch)]);
    const std::vector<Tensor>& outputs = outputs_[static_cast<std::size_t>(section.pipeline)];
    bool has_sums = false;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (outputs[i].section != section || !outputs[i].is_sum()) continue;
        has_sums = true;
        values_[i * contexts_.size() + static_cast<std::size_t>(micro_batch)] = *outputs[i].placed.as<float>();
    }
    const bool finite = !check_finite_ || is_finite(section);
    if (!finite) {
        const std::lock_guard lock(update.mutex);
        if (!update.not_finite) update.not_finite = micro_batch;
    }
    if (!(has_sums && check_finite_ ? all_go_on(finite, section) : finite)) return false;
    if (section == Section::backward(0, section.pipeline)) held_batch(section.pipeline, number) = {};
    return true;
}

void CpuExecutable::run_lane(std::int32_t lane, Update& update) {
    try {
        schedule::WorkOrder order(plan_.pipeline(), plan_.micro_batches / plan_.pipelines);
        while (const auto work = order()) {
            for (std::int32_t pipeline = 0; pipeline < plan_.pipelines; ++pipeline) {
                const Section section =
                    work->backward ? Section::backward(work->stage, pipeline) : Section::forward(work->stage, pipeline);
                if (program_.lane(section) == lane && !run_work(section, work->micro_batch, update))
                    throw LaneStopped();
            }
        }
        return;
    } catch (const LaneStopped&) {
        // `update` has the reason.
    } catch (...) {
        const std::lock_guard lock(update.mutex);
        if (!update.failure) update.failure = std::current_exception();
    }
    finished_.stop();
    turns_->stop();
}

/// Micro-batches whose outputs are not known add nothing.
void CpuExecutable::add_sums(backend::StepResult& result) const {
    const std::vector<Tensor>& outputs = outputs_.front();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        if (!outputs[i].is_sum()) continue;
        double& sum = result.sums[outputs[i].name];
        for (std::size_t b = 0; b < contexts_.size(); ++b)
            sum += values_[i * contexts_.size() + b];
    }
}

bool CpuExecutable::is_finite(Section section) const {
    return std::ranges::all_of(outputs_[static_cast<std::size_t>(section.pipeline)], [&](const Tensor& output) {
        return output.section != section || !output.is_sum() || std::isfinite(*output.placed.as<float>());
    });
}

void CpuExecutable::find_non_finite(std::span<const Section> sections, std::int64_t number, StepContext context) {
    if ((first_non_finite_ = bad_variable())) return;
    context.turns = nullptr;
    context.exchange = nullptr;
    context.norms = nullptr;
    for (const Section section : sections) {
        const Threads team(lanes_.threads(program_.lane(section)));
        program_.turn_to(section, number);
        if (rerun_until_non_finite(section, context)) return;
    }
}

bool CpuExecutable::rerun_until_non_finite(Section section, const StepContext& context) {
    for (const Step& step : program_.steps(section)) {
        step.run(context);
        if ((first_non_finite_ = bad_result(step))) return true;
    }
    return false;
}

std::optional<std::string> CpuExecutable::bad_variable() const {
    for (const Tensor& candidate : variables_) {
        const std::int64_t index = first_bad_index(candidate.placed);
        if (index >= 0) return candidate.name + " (variable, before the update), element " + std::to_string(index);
    }
    return std::nullopt;
}

std::optional<std::string> CpuExecutable::bad_result(const Step& step) {
    for (const Placed& written : step.writes) {
        const std::int64_t index = first_bad_index(written);
        if (index >= 0) return "the result of " + step.name + " (" + step.op + "), element " + std::to_string(index);
    }
    return std::nullopt;
}

void CpuExecutable::look_at_weights() {
    first_non_finite_ = bad_variable();
    for (const Step& step : program_.steps(Section::prepare())) {
        if (first_non_finite_) return;
        first_non_finite_ = bad_result(step);
    }
}

void CpuExecutable::run_watched(Section section, const StepContext& context) {
    for (const Step& step : program_.steps(section)) {
        step.run(context);
        if (!first_non_finite_) first_non_finite_ = bad_result(step);
    }
}

/// Performs updates one by one. With several ranks, a stop takes effect through an update's result.
void CpuExecutable::train(data::BatchSource& source, std::span<const backend::StepScalars> updates,
                          const backend::UpdateDone& done, backend::PartialUpdate* partial) {
    CNNTRAIN_CHECK(std::ssize(updates) <= updates_per_call_, "more updates at once than the plan says");
    static const std::function<bool()> never;
    use_threads();
    const auto one = [&](const backend::StepScalars& scalars) { return update(source, scalars, partial); };
    // std::ref, because a std::function with a copy of `one` would need memory in every call.
    backend::train_one_by_one(updates, std::ref(one), exchange_ ? never : stop_requested_, done);
}

void CpuExecutable::begin_update(Update& update, const backend::PartialUpdate* partial) {
    finished_.reset();
    std::ranges::fill(values_, 0.0);
    if (partial != nullptr && !partial->empty()) {
        backend::check_partial(*partial, update.base.iteration, plan_.micro_batches);
        load_sums(*partial);
        update.first = partial->micro_batches;
        update.result.samples = partial->samples;
    }
    turns_->reset(update.first);
    if (!exchange_) return;
    exchange_->begin(plan_.micro_batches > 1);
    if (update.first == plan_.micro_batches) exchange_->last_micro_batch_begins();
}

backend::PartialUpdate CpuExecutable::complete_part(const Update& update, std::int64_t samples) const {
    if (!update.result.stopped || update.failure || update.not_finite) return {};
    backend::StepResult own;  // update.result is of all ranks
    add_sums(own);
    backend::PartialUpdate partial{update.base.iteration, update.end, samples, std::move(own.sums), {}};
    if (!partial.empty()) store_accumulators(partial);
    return partial;
}

backend::StepResult CpuExecutable::update(data::BatchSource& source, const backend::StepScalars& scalars,
                                          backend::PartialUpdate* partial) {
    share_processors();
    first_non_finite_.reset();
    program_.set_scalars(scalars.values());
    prepare_once();
    Update update{.source = source,
                  .base = {.iteration = scalars.iteration,
                           .turns = plan_.pipelines > 1 ? &*turns_ : nullptr,
                           .exchange = exchange_ ? &*exchange_ : nullptr,
                           .norms = norms_ ? &*norms_ : nullptr},
                  .end = plan_.micro_batches};
    begin_update(update, partial);
    const Clock::time_point start = Clock::now();
    lanes_.run([this, &update](std::int32_t lane) { run_lane(lane, update); });
    recorder_.lanes_worked_since(start);
    update.result.stopped = update.end < plan_.micro_batches;
    if (update.not_finite) {
        const auto pipeline = static_cast<std::int32_t>(*update.not_finite % plan_.pipelines);
        find_non_finite(program_.micro_batch_sections(pipeline), *update.not_finite / plan_.pipelines,
                        contexts_[static_cast<std::size_t>(*update.not_finite)]);
    }
    for (data::Batch& batch : held_)
        batch = {};
    last_pipeline_ = plan_.pipelines - 1;
    add_sums(update.result);
    const std::int64_t samples = update.result.samples;
    settle_update(update);
    if (partial != nullptr) *partial = complete_part(update, samples);
    if (!update.result.counts) return std::move(update.result);
    run_section(Section::update(), update.base);
    refresh_prepared(true);
    return std::move(update.result);
}

/// Collective if there are several ranks.
void CpuExecutable::settle_update(Update& update) {
    update.result.stop_requested = update.result.stopped || (stop_requested_ && stop_requested_());
    if (exchange_) {
        const StepRecorder::Waiting waiting(recorder_, Section::update(), StepRecorder::Wait::ranks);
        exchange_->agree({update.failure, update.not_finite.has_value()}, update.result, first_non_finite_);
    } else if (update.failure) {
        std::rethrow_exception(update.failure);
    }
    update.result.counts = backend::settle(update.result, check_finite_);
}

backend::StepResult CpuExecutable::evaluate(data::BatchSource& source, std::int64_t batches) {
    use_threads();
    first_non_finite_.reset();
    prepare_once();
    last_pipeline_ = 0;
    backend::StepResult result;
    for (std::int64_t i = 0; i < batches; ++i) {
        result.stopped = backend::stops_before(i, stop_requested_);
        if (result.stopped) return result;
        evaluate_batch(source, i, result);
    }
    return result;
}

void CpuExecutable::evaluate_batch(data::BatchSource& source, std::int64_t number, backend::StepResult& result) {
    share_processors();
    StepContext context{.first_sample = number};
    if (!inputs_.empty()) {
        data::Batch batch = next_batch(source, Section::forward(0, 0), result);
        result.samples += batch.valid_count;
        context.first_sample = batch.first_sample;
        bind_batch(std::move(batch), 0, 0);
    }
    if (is_watched_) look_at_weights();
    for (std::int64_t part = 0; part < sub_batches_; ++part) {
        if (part > 0) bind_part(0, 0, part);
        const bool finite_part = evaluate_part(part, context, result);
        if (check_finite_ && !first_non_finite_ && !finite_part)
            find_non_finite(program_.forward_sections(0), 0, context);
        is_watched_ = false;
        context.first_sample += samples_apart_;
    }
    held_batch(0, 0) = {};
}

bool CpuExecutable::evaluate_part(std::int64_t part, const StepContext& context, backend::StepResult& result) {
    bool finite = true;
    for (const Section section : program_.forward_sections(0)) {
        const Threads team(lanes_.threads(program_.lane(section)));
        program_.turn_to(section, 0);
        if (is_watched_ && !recorder_.is_on()) {
            run_watched(section, context);
        } else {
            run_section(section, context);
        }
        for (const Tensor& output : outputs_.front()) {
            if (output.section == section && output.is_sum()) result.sums[output.name] += *output.placed.as<float>();
        }
        finite = finite && is_finite(section);
    }
    keep_outputs(part);
    return finite;
}

std::vector<backend::ProfileRow> CpuExecutable::of_whole_batch(std::vector<backend::ProfileRow> rows) const {
    const auto parts = static_cast<double>(sub_batches_);
    for (backend::ProfileRow& row : rows) {
        if (row.phase == graph::Phase::update) continue;  // also the copies of weights
        row.milliseconds *= parts;
        row.gflops *= parts;
        row.megabytes *= parts;
        row.runs /= sub_batches_;
    }
    return rows;
}

}  // namespace cnntrain::cpu
