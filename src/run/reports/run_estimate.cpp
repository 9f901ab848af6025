#include "run/reports/run_estimate.h"

#include <algorithm>
#include <chrono>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/weights.h"
#include "run/averaging.h"
#include "run/evaluator.h"

namespace cnntrain::run {
namespace {

/// Variables are written one at a time; with several processes, all are gathered first.
std::uint64_t copied_bytes(const backend::CompileReport& report, const options::Settings& settings) {
    std::uint64_t all = 0;
    std::uint64_t largest = 0;
    for (const backend::Variable& variable : report.variables) {
        const std::uint64_t elements = static_cast<std::uint64_t>(variable.desc.elements());
        const std::uint64_t widened = settings.checkpoint.in_f32 ? elements * sizeof(float) : 0;
        all += variable.desc.bytes();
        largest = std::max(largest, variable.desc.bytes() + widened);
    }
    return settings.training.processes > 1 ? all + largest : largest;
}

/// Validation during training has an executable and a ring of batches of its own; the data set is shared.
std::uint64_t validation_bytes(const Task& task, const options::Settings& settings, const backend::Backend& backend) {
    if (!settings.validation.any()) return 0;
    const std::vector<data::Field> fields =
        task.batch_fields(data::Split::validation, settings.training.micro_batch_size);
    const graph::Graph graph = validation_graph(task, settings, fields);
    const auto report = backend.describe(compile_request(graph, settings, fields, /*seed=*/0));
    if (!report) return 0;
    const std::uint64_t ring =
        data::ring_size(task.batch_fields(data::Split::validation, 1), validation_loader_settings(settings)).bytes;
    return report->parameter_bytes + report->arena_bytes + ring;
}

/// The model in float32.
std::uint64_t model_bytes(const graph::Graph& graph) {
    std::uint64_t bytes = 0;
    for (const ModelVariable& variable : averaged_variables(graph))
        bytes += static_cast<std::uint64_t>(variable.desc.elements()) * sizeof(float);
    return bytes;
}

/// The average, and the copies of variables that are added to it together.
std::uint64_t average_bytes(const graph::Graph& graph, const options::Settings& settings) {
    if (settings.training.ema_decay <= 0) return 0;
    const std::uint64_t bytes = model_bytes(graph);
    return bytes + std::min<std::uint64_t>(bytes, std::uint64_t{32} << 20);
}

MemoryEstimate memory_of(const Task& task, const options::Settings& settings, const schedule::Placement& placement,
                         const std::vector<data::Field>& fields, const backend::CompileReport& report) {
    constexpr std::uint64_t kThreadBytes = 256 << 10;  // used part of a stack, small buffers
    constexpr std::uint64_t kRunBytes = 5 << 20;       // code that only a run executes, its logs and tables
    const data::LoaderSettings loader = training_loader_settings(settings, placement, fields, 0);
    const auto threads =
        static_cast<std::uint64_t>(loader.threads) + static_cast<std::uint64_t>(compute_threads(settings.run));
    MemoryEstimate memory;
    memory.program = resident_bytes() + threads * kThreadBytes + kRunBytes;
    memory.variables = report.parameter_bytes;
    memory.activations = report.arena_bytes;
    memory.input = task.input_bytes(loader);
    if (settings.checkpoint.ckpts_per_epoch > 0 || settings.checkpoint.epochs_per_ckpt > 0)
        memory.copies = copied_bytes(report, settings);
    return memory;
}

/// A request for few micro-batches of the run, as many as its pipelines need.
backend::CompileRequest short_request(const options::Settings& settings, const backend::Backend& backend) {
    backend::CompileRequest request;
    request.plan = update_plan(settings);
    request.plan.norm_span = std::min(request.plan.norm_span, request.plan.replicas);
    request.plan.replicas = request.plan.norm_span;
    request.plan.accumulation = run::placement(settings, backend).pipelines;
    request.plan.schedule = schedule::PipelineSchedule::sequential;  // takes any number of micro-batches
    request.cpu = cpu_settings(settings);
    request.runtime.stochastic_rounding = settings.device.stochastic_rounding != backend::StochasticRounding::off;
    request.runtime.check_finite = false;  // made-up samples may make the loss diverge
    return request;
}

/// Makes the micro-batches of a request so small that a slow machine computes them in some seconds.
void shorten(schedule::UpdatePlan& plan, double flops_per_sample, int threads) {
    constexpr double kMostFlops = 1e11;  // of a thread; AVX2 computes 3e10 to 1e11 in a second
    const auto samples = static_cast<double>(plan.accumulation * plan.norm_span * plan.micro_batch);
    const double share = kMostFlops * threads / (flops_per_sample * samples);
    if (share >= 1) return;
    constexpr std::int64_t kLeast = 2;  // mixing needs pairs
    const auto fit = static_cast<std::int64_t>(share * static_cast<double>(plan.micro_batch));
    plan.micro_batch = std::min(plan.micro_batch, std::max(kLeast, fit));
}

double update_seconds(const backend::StepTimes& times) {
    double ms = 0;
    for (const backend::ProfileRow& row : times.rows)
        ms += row.phase == graph::Phase::update ? row.milliseconds : 0;
    return ms / 1e3;
}

/// Seconds of a weight update: of one, or the mean over those that begin within some seconds.
double measured_updates(backend::Executable& executable, data::BatchSource& batches, double seconds) {
    executable.set_profiling(true);
    std::int64_t updates = 0;
    const auto begin = std::chrono::steady_clock::now();
    do {
        executable.train_step(batches, {});
        ++updates;
    } while (seconds_since(begin) < seconds);
    return seconds_since(begin) / static_cast<double>(updates);
}

/// Runs weight updates of few micro-batches of made-up samples for about two seconds.
TimeEstimate measured(const Task& task, const options::Settings& settings, const backend::Backend& backend,
                      double flops_per_sample) {
    constexpr double kSeconds = 2;
    constexpr double kPatience = 3;
    backend::CompileRequest request = short_request(settings, backend);
    shorten(request.plan, flops_per_sample, compute_threads(settings.run));
    const schedule::Placement few = backend.placement(request.plan, request.cpu);
    const graph::Graph graph = task.graph(GraphUse::training, task.batch_fields(data::Split::train, few.samples));
    MadeUpBatches batches(graph);
    request.graph = &graph;
    request.fields = batches.fields();
    const auto executable = backend.compile(request);
    for (const backend::Variable& variable : executable->report().variables)
        executable->load(variable.name, HostTensor(variable.desc));  // zeros take the time of other weights
    double each = measured_updates(*executable, batches, 0);
    if (each < kPatience) each = measured_updates(*executable, batches, kSeconds);  // the first one was cold
    const double update = std::min(each, update_seconds(executable->profile()));
    const schedule::Placement all = run::placement(settings, backend);
    const auto samples = static_cast<double>(all.micro_batches * all.samples);
    const double per_sample = (each - update) / static_cast<double>(few.micro_batches * few.samples);
    return {samples * flops_per_sample, samples * per_sample + update, few.samples};
}

}  // namespace

std::optional<RunEstimate> estimate_run(const Task& task, const options::Settings& settings,
                                        const backend::Backend& backend, const graph::Graph& graph,
                                        const std::vector<data::Field>& fields) {
    const schedule::Placement placement = run::placement(settings, backend);
    const auto report = backend.describe(training_request(graph, settings, fields, /*seed=*/0));
    if (!report) return std::nullopt;
    RunEstimate estimate;
    estimate.memory = memory_of(task, settings, placement, fields, *report);
    estimate.memory.validation = validation_bytes(task, settings, backend);
    estimate.memory.average = average_bytes(graph, settings);
    const double flops = report->flops_per_micro_batch / static_cast<double>(placement.samples);
    if (estimate.memory.total() <= machine_memory_bytes()) estimate.time = measured(task, settings, backend, flops);
    return estimate;
}

namespace {

/// "1.53 GB": one digit more than size_text(), which rounds by up to 3 %.
std::string precise_size(std::uint64_t bytes) {
    constexpr std::uint64_t kGiga = 1'000'000'000;
    return bytes < kGiga ? size_text(bytes) : decimal(static_cast<double>(bytes) / kGiga, 2) + " GB";
}

}  // namespace

std::string memory_text(const MemoryEstimate& memory, std::uint64_t machine_bytes) {
    std::string text = "about " + precise_size(memory.total()) + " at most: variables " + size_text(memory.variables) +
                       ", activations and gradients " + size_text(memory.activations) + ", input " +
                       size_text(memory.input) + ", program " + size_text(memory.program) +
                       (memory.copies > 0 ? ", a checkpoint's copies " + size_text(memory.copies) : "") +
                       (memory.validation > 0 ? ", validation " + size_text(memory.validation) : "") +
                       (memory.average > 0 ? ", the average of the weights " + size_text(memory.average) : "");
    if (memory.total() <= machine_bytes) return text;
    return text + "; that is more than the " + size_text(machine_bytes) +
           " of this machine: use a smaller --micro-batch-size";
}

std::string duration_text(double seconds) {
    constexpr double kMinute = 60;
    constexpr double kHour = 60 * kMinute;
    constexpr double kDay = 24 * kHour;
    constexpr double kYear = 365.25 * kDay;
    struct Unit {
        double seconds;
        const char* name;
    };
    constexpr Unit kUnits[] = {{kYear, " years"}, {kDay, " days"}, {kHour, " hours"}, {kMinute, " minutes"}};
    for (const Unit& unit : kUnits) {
        if (seconds >= 2 * unit.seconds) return formatted("%.3g", seconds / unit.seconds) + unit.name;
    }
    if (seconds >= 1) return formatted("%.3g s", seconds);
    return formatted(seconds < 0.01 ? "%.2g ms" : "%.0f ms", 1e3 * seconds);
}

std::string time_text(const TimeEstimate& time, std::int64_t updates, std::int64_t global_batch,
                      const std::string& samples) {
    constexpr double kMostShort = 1000;  // written with three digits
    const double whole = time.seconds * static_cast<double>(updates);
    const double rate = static_cast<double>(global_batch) / time.seconds;
    return "about " + formatted(rate < kMostShort ? "%.3g " : "%.0f ", rate) + samples + "/s, " +
           duration_text(time.seconds) + " an update, " + duration_text(whole) +
           " in all without validation and waiting for input; measured here on " + std::to_string(time.samples) +
           " made-up " + samples + formatted(" at a time, %.3g GFLOP an update", time.flops / 1e9);
}

std::int64_t CheckpointTotal::kept() const {
    return keep > 0 ? std::min(keep, written) : written;
}

CheckpointTotal checkpoint_total(const graph::Graph& graph, const options::Settings& settings,
                                 const schedule::RunPlan& plan) {
    const auto stored_bytes = [&](const TensorDesc& desc) {
        const bool widened = settings.checkpoint.in_f32 && size_bytes(desc.dtype) < sizeof(float);
        return TensorDesc{widened ? DType::f32 : desc.dtype, desc.shape}.bytes();
    };
    CheckpointTotal total;
    const std::int64_t planned = plan.checkpoint_count();
    total.written = planned > 0 ? planned + 1 : 0;  // and the first weights
    total.keep = settings.checkpoint.keep;
    for (const auto& [name, desc] : variables(graph))
        total.bytes += stored_bytes(desc);
    if (settings.training.ema_decay > 0) {
        total.average_bytes = model_bytes(graph);
        total.bytes += total.average_bytes;
    }
    if (!settings.validation.keep_best) return total;
    total.best_bytes = total.average_bytes;  // the best weights are those of the average
    for (const ModelVariable& variable : averaged_variables(graph))
        total.best_bytes += total.average_bytes > 0 ? 0 : stored_bytes(variable.desc);
    return total;
}

namespace {

std::string numbered_checkpoints(const CheckpointTotal& total) {
    if (total.written == 0) return "none";
    std::string text = std::to_string(total.written) + " of " + size_text(total.bytes);
    if (total.kept() < total.written) text += ", of which the newest " + std::to_string(total.kept()) + " are kept";
    constexpr double kMost = 9e18;  // below 2^63
    const double all = static_cast<double>(total.kept()) * static_cast<double>(total.bytes);
    return text + ": " + size_text(static_cast<std::uint64_t>(std::min(all, kMost)));
}

}  // namespace

/// A new checkpoint is complete before an old one is removed.
std::string disk_warning(const CheckpointTotal& total, std::uint64_t free_bytes, const std::string& folder) {
    const bool replaces = total.kept() < total.written;
    const double count = static_cast<double>(total.kept()) + (replaces ? 1 : 0);
    const double needed = count * static_cast<double>(total.bytes) + 2 * static_cast<double>(total.best_bytes) +
                          static_cast<double>(total.average_bytes);
    if (needed <= static_cast<double>(free_bytes)) return "";
    constexpr double kMost = 1e19;
    const std::string size = size_text(static_cast<std::uint64_t>(std::min(needed, kMost)));
    return "the run's checkpoints take " + size + ", and " + folder + " has " + size_text(free_bytes) +
           " free; free some space, give another --logs-path, or keep fewer checkpoints with --keep-ckpts";
}

std::string checkpoint_text(const CheckpointTotal& total) {
    return numbered_checkpoints(total) +
           (total.best_bytes > 0 ? "; the best weights: " + size_text(total.best_bytes) : "") +
           (total.average_bytes > 0 ? "; the average of the weights: " + size_text(total.average_bytes) : "");
}

}  // namespace cnntrain::run
