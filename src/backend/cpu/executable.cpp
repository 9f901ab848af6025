#include "backend/cpu/executable.h"

#include <immintrin.h>
#include <omp.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstring>

#include "backend/cpu/lowering.h"
#include "cnntrain/base/cores.h"
#include "cnntrain/base/error.h"

namespace cnntrain::cpu {

using graph::Phase;
using graph::Role;
using graph::ValueId;

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
    return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Index in memory of the first NaN or infinity, or -1; other types are always finite.
std::int64_t first_bad_index(const Placed& tensor) {
    const std::size_t count = tensor.desc.get_size() / size_bytes(tensor.dtype);
    if (tensor.dtype == DType::f32) return cpu::first_non_finite(std::span(tensor.as<const float>(), count));
    if (tensor.dtype == DType::bf16) return cpu::first_non_finite(std::span(tensor.as<const BFloat16>(), count));
    return -1;
}

Phase phase_of(Section section) {
    if (section.kind == Section::Kind::forward) return Phase::forward;
    return section.kind == Section::Kind::backward ? Phase::backward : Phase::update;
}

backend::ProfileRow profile_row(Section section, const Step& step, double seconds, std::int64_t runs) {
    return {step.name,    step.op,          step.implementation,      1e3 * seconds,
            runs,         step.flops / 1e9, step.bytes_moved() / 1e6, phase_of(section),
            section.stage};
}

}  // namespace

CpuExecutable::CpuExecutable(const backend::CompileRequest& request)
    : graph_(*request.graph),
      program_(onednn_, request.plan.stages),
      threads_(request.devices.threads > 0 ? request.devices.threads : available_cores()),
      micro_batches_(request.plan.micro_batches),
      check_finite_(request.runtime.check_finite),
      stop_requested_(request.runtime.stop_requested) {
    const Clock::time_point start = Clock::now();
    compile(request);
    report_.seconds = seconds_since(start);
}

void CpuExecutable::compile(const backend::CompileRequest& request) {
    use_threads();
    Lowering lowering(graph_, request, onednn_, program_);
    lowering.run();
    for (const ValueId id : graph_.variables()) {
        const graph::Value& value = graph_.value(id);
        variables_.push_back({value.name, value.desc, lowering.master(id), lowering.row_major_desc(id)});
        if (const auto gradient = graph::update_gradient(graph_, id)) {
            Desc row_major = lowering.row_major_desc(*gradient);
            gradients_.push_back({value.name, graph_.desc(*gradient), lowering.as_it_lies(*gradient), row_major});
        }
    }
    for (const graph::Output& output : graph_.outputs()) {
        const graph::NodeId producer = graph_.value(output.value).producer;
        outputs_.push_back({output.name, graph_.desc(output.value), lowering.as_it_lies(output.value),
                            lowering.row_major_desc(output.value),
                            producer.valid() ? graph_.node(producer).phase : Phase::forward});
    }
    for (const ValueId id : graph_.values_with_role(Role::input)) {
        inputs_.push_back(
            {graph_.value(id).name, graph_.desc(id), lowering.as_it_lies(id), lowering.row_major_desc(id)});
    }
    input_fields_ = backend::match_fields(graph_, request.fields);
    program_.finish();

    for (std::int32_t i = 0; i < graph_.node_count(); ++i) {
        if (graph_.node(graph::NodeId{i}).phase != graph::Phase::update) {
            report_.flops_per_micro_batch += graph_.node_flops(graph::NodeId{i});
        }
    }
    report_.parameter_bytes = program_.persistent_bytes();
    report_.arena_bytes = program_.arena_bytes();
    report_.stash_bytes = program_.stash_bytes();
    report_.reorders = lowering.reorders();
}

/// Also treats denormal numbers as zero on every compute thread: they carry nothing here and are very slow.
void CpuExecutable::use_threads() const {
    omp_set_num_threads(threads_);
    constexpr unsigned int kFlushToZeroDenormalsAreZero = 0x8040;
#pragma omp parallel
    _mm_setcsr(_mm_getcsr() | kFlushToZeroDenormalsAreZero);
}

const CpuExecutable::Tensor& CpuExecutable::find(const std::vector<Tensor>& tensors, const std::string& name,
                                                 const std::string& kind) {
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const Tensor& candidate) { return candidate.name == name; });
    if (found != tensors.end()) return *found;
    std::vector<std::string> names;
    names.reserve(tensors.size());
    for (const Tensor& candidate : tensors)
        names.push_back(candidate.name);
    throw Error(ErrorKind::internal,
                "cpu backend: no " + kind + " is called " + name + "; the nearest is " + nearest_name(name, names));
}

std::vector<std::string> CpuExecutable::variable_names() const {
    std::vector<std::string> names;
    for (const Tensor& v : variables_)
        names.push_back(v.name);
    return names;
}

void CpuExecutable::copy(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) const {
    if (from_desc == to_desc) {
        std::memcpy(to, from, to_desc.get_size());
        return;
    }
    if (with_type(from_desc, DType::bf16) == from_desc) return copy_as_floats(from_desc, from, to_desc, to);
    reorder(from_desc, from, to_desc, to);
}

/// oneDNN lays out bfloat16 with AVX-512 only.
void CpuExecutable::copy_as_floats(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) const {
    const std::optional<Desc> wide_from = with_type(from_desc, DType::f32);
    const std::optional<Desc> wide_to = with_type(to_desc, DType::f32);
    CNNTRAIN_CHECK(wide_from && wide_to, "a 16-bit tensor lies in an unnamed layout");
    std::vector<float> source(wide_from->get_size() / sizeof(float));
    std::vector<float> target(wide_to->get_size() / sizeof(float));
    cast(static_cast<std::int64_t>(source.size()), static_cast<const BFloat16*>(from), source.data());
    reorder(*wide_from, source.data(), *wide_to, target.data());
    cast(static_cast<std::int64_t>(target.size()), target.data(), static_cast<BFloat16*>(to));
}

void CpuExecutable::reorder(const Desc& from_desc, const void* from, const Desc& to_desc, void* to) const {
    dnnl::memory source(from_desc, onednn_.engine(), const_cast<void*>(from));
    dnnl::memory target(to_desc, onednn_.engine(), to);
    dnnl::stream stream = onednn_.stream();
    dnnl::reorder(onednn_.reorder_desc(from_desc, to_desc)).execute(stream, source, target);
    stream.wait();
}

void CpuExecutable::load(const std::string& name, const HostTensor& tensor) {
    const Tensor& target = find(variables_, name, "parameter or state");
    if (tensor.shape() != target.desc.shape) {
        throw Error(ErrorKind::data,
                    name + ": expected shape " + to_string(target.desc.shape) + ", got " + to_string(tensor.shape()));
    }
    const HostTensor converted = tensor.cast(target.desc.dtype);
    copy(target.row_major, converted.bytes().data(), target.placed.desc, target.placed.buffer->data);
    prepared_is_stale_ = true;
}

HostTensor CpuExecutable::read(const Tensor& tensor) const {
    HostTensor result(tensor.desc);
    copy(tensor.placed.desc, tensor.placed.as<std::byte>(), tensor.row_major, result.bytes().data());
    return result;
}

HostTensor CpuExecutable::store(const std::string& name) const {
    return read(find(variables_, name, "parameter or state"));
}

HostTensor CpuExecutable::output(const std::string& name) const {
    return read(find(outputs_, name, "output"));
}

HostTensor CpuExecutable::gradient(const std::string& parameter_name) const {
    return read(find(gradients_, parameter_name, "gradient that an update reads"));
}

void CpuExecutable::run_section(Section section, const StepContext& context) {
    const std::vector<Step>& steps = program_.steps(section);
    if (!profiling_) {
        for (const Step& step : steps)
            step.run(context);
        return;
    }
    const std::size_t index = program_.position(section);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const Clock::time_point start = Clock::now();
        steps[i].run(context);
        seconds_[index][i] += seconds_since(start);
    }
    ++executions_[index];
}

void CpuExecutable::refresh_prepared() {
    run_section(Section::prepare(), {});
    prepared_is_stale_ = false;
}

std::span<const Section> CpuExecutable::sections_until(Phase last_phase) const {
    const std::size_t forward = program_.forward_sections().size();
    const std::size_t backward = last_phase == Phase::forward ? 0 : program_.backward_sections().size();
    return program_.sections().subspan(1, forward + backward);
}

void CpuExecutable::run_micro_batch(data::BatchSource& source, Phase last_phase, StepContext& context,
                                    backend::StepResult& result) {
    data::Batch batch;
    if (!inputs_.empty()) {
        const Clock::time_point start = Clock::now();
        batch = source.next();
        result.input_wait_seconds += seconds_since(start);
        result.samples += batch.valid_count;
        context.first_sample = batch.first_sample;
        // The program only reads its inputs; oneDNN's handles are not const.
        for (std::size_t i = 0; i < inputs_.size(); ++i) {
            const auto bytes = backend::field_bytes(batch, input_fields_[i], inputs_[i].desc);
            program_.bind(inputs_[i].placed.buffer, const_cast<std::byte*>(bytes.data()));
        }
    }
    for (const Section section : sections_until(last_phase))
        run_section(section, context);
    add_outputs(last_phase, result);
    if (check_finite_) find_non_finite(last_phase, context);
}

void CpuExecutable::add_outputs(Phase last_phase, backend::StepResult& result) {
    for (const Tensor& output : outputs_) {
        if (output.phase <= last_phase && output.desc.shape.empty() && output.desc.dtype == DType::f32) {
            result.sums[output.name] += *output.placed.as<float>();
        }
    }
}

/// Only when an output is not finite: looks at the variables, then runs the micro-batch again and looks at every result
/// when it has just been written.
void CpuExecutable::find_non_finite(Phase last_phase, const StepContext& context) {
    bool finite = true;
    for (const Tensor& output : outputs_) {
        if (output.phase > last_phase) continue;
        finite = finite && (!output.desc.shape.empty() || std::isfinite(*output.placed.as<float>()));
    }
    if (finite) return;
    for (const Tensor& candidate : variables_) {
        const std::int64_t index = first_bad_index(candidate.placed);
        if (index < 0) continue;
        first_non_finite_ = candidate.name + " (variable, before the update), element " + std::to_string(index);
        return;
    }
    for (const Section section : sections_until(last_phase)) {
        if (rerun_until_non_finite(section, context)) return;
    }
}

bool CpuExecutable::rerun_until_non_finite(Section section, const StepContext& context) {
    for (const Step& step : program_.steps(section)) {
        step.run(context);
        for (const Placed& written : step.writes) {
            const std::int64_t index = first_bad_index(written);
            if (index < 0) continue;
            first_non_finite_ = "the result of " + step.name + " (" + step.op + "), element " + std::to_string(index);
            return true;
        }
    }
    return false;
}

backend::StepResult CpuExecutable::train_step(data::BatchSource& source, const backend::StepScalars& scalars) {
    use_threads();
    first_non_finite_.reset();
    if (prepared_is_stale_) refresh_prepared();
    backend::StepResult result;
    StepContext context{.learning_rate = static_cast<float>(scalars.learning_rate), .iteration = scalars.iteration};
    for (std::int64_t i = 0; i < micro_batches_; ++i) {
        result.stopped = backend::stops_before(i, stop_requested_);
        if (result.stopped) return result;  // the variables stay as they were
        context.micro_batch = i;
        context.first_sample = scalars.iteration * micro_batches_ + i;  // of a graph without inputs
        run_micro_batch(source, Phase::backward, context, result);
        if (first_non_finite_) return result;  // the variables stay as they were
    }
    run_section(Section::update(), context);
    refresh_prepared();
    return result;
}

backend::StepResult CpuExecutable::evaluate(data::BatchSource& source, std::int64_t batches) {
    use_threads();
    first_non_finite_.reset();
    if (prepared_is_stale_) refresh_prepared();
    backend::StepResult result;
    for (std::int64_t i = 0; i < batches; ++i) {
        result.stopped = backend::stops_before(i, stop_requested_);
        if (result.stopped) return result;
        StepContext context{.first_sample = i};
        run_micro_batch(source, Phase::forward, context, result);
    }
    return result;
}

void CpuExecutable::set_profiling(bool enabled) {
    profiling_ = enabled;
    seconds_.clear();
    for (const Section section : program_.sections())
        seconds_.emplace_back(program_.steps(section).size());
    executions_.assign(seconds_.size(), 0);
}

std::vector<backend::ProfileRow> CpuExecutable::profile() const {
    std::vector<backend::ProfileRow> rows;
    for (std::size_t i = 0; i < executions_.size(); ++i) {
        if (executions_[i] == 0) continue;
        const std::vector<Step>& steps = program_.steps(program_.sections()[i]);
        for (std::size_t k = 0; k < steps.size(); ++k) {
            const double seconds = seconds_[i][k] / static_cast<double>(executions_[i]);
            rows.push_back(profile_row(program_.sections()[i], steps[k], seconds, executions_[i]));
        }
    }
    return rows;
}

std::vector<backend::ProfileRow> CpuExecutable::profile_alone(int repeats) {
    use_threads();
    std::vector<backend::ProfileRow> rows;
    for (const Section section : sections_until(Phase::backward)) {
        for (const Step& step : program_.steps(section)) {
            double least = std::numeric_limits<double>::infinity();
            for (int i = 0; i < repeats; ++i) {
                const Clock::time_point start = Clock::now();
                step.run({});
                least = std::min(least, seconds_since(start));
            }
            rows.push_back(profile_row(section, step, least, repeats));
        }
    }
    return rows;
}

}  // namespace cnntrain::cpu
