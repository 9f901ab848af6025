#include "cnntrain/run/runs.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/elapsed.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/parallel/pipeline.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/text_reports.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/averaging.h"
#include "run/evaluator.h"
#include "run/features/features.h"
#include "run/monitor.h"
#include "run/ranks.h"
#include "run/reports/describe.h"
#include "run/reports/predictions.h"
#include "run/reports/run_estimate.h"
#include "run/request_latency.h"
#include "run/resume.h"
#include "run/run_files.h"

namespace cnntrain::run {
namespace {

using options::Settings;

class Description {
public:
    /// `begin`: iteration of the checkpoint with which a training goes on.
    Description(const Task& task, const options::ParseResult& arguments, const backend::Backend& backend,
                std::int64_t begin)
        : task_(task),
          arguments_(arguments),
          backend_(backend),
          settings_(arguments.settings),
          update_name_(task.description().update),
          begin_(begin) {
        if (!settings_.main.trains) return;
        placement_ = placement(settings_, backend);
        plan_ = task_.plan(task_.samples(data::Split::train, Counted::used));
        checkpoint_count_ = plan_->checkpoint_count();
    }

    std::string whole() {
        const options::Command command = arguments_.command;
        line("Dry run", std::string(options::name(command)) + "; no sample is computed, nothing is written");
        if (backend_.info().emulated) line("Emulator", std::string(kEmulatorNotice));
        if (settings_.main.config) line("Configuration", *settings_.main.config);
        for (const Topic& topic : task_.dry_run_topics(command))
            line(topic.name, topic.text);
        plan_ ? training(*plan_) : evaluation(command);
        precision();
        files();
        if (plan_) resources(*plan_);
        return out_.str();
    }

private:
    void line(const std::string& topic, const std::string& what) {
        constexpr std::size_t kColumn = 16;
        out_ << topic << ": " << std::string(kColumn - std::min(kColumn, topic.size()), ' ') << what << '\n';
    }

    bool measures_inference() const {
        return arguments_.command == options::Command::inference && settings_.training.iterations;
    }

    void training(const schedule::RunPlan& plan) {
        const TrainingSettings& training = settings_.training;
        const schedule::BatchPlan batch = batch_plan(settings_);
        line("Batch", std::to_string(batch.micro_batch) + " (micro-batch) x " + std::to_string(batch.accumulation) +
                          " (accumulated) x " + std::to_string(batch.replicas) + " (replicas)" +
                          (batch.processes > 1 ? " x " + std::to_string(batch.processes) + " (processes)" : "") +
                          " = " + std::to_string(plan.global_batch));
        if (on_ipus()) line("IPUs", ipus_text(update_plan(settings_), backend_.info().emulated));
        if (training.pipeline) line("Pipeline", pipeline(placement_));
        if (batch.replicas > 1 || batch.norm_span > 1) line("Replicas", replicas(batch));
        if (placement_.lanes > 1) line("Lanes", lanes(placement_));
        if (settings_.head.solves() && !settings_.main.restore_path) line("Last layer", last_layer());
        line("Length", std::to_string(plan.iterations) + " iterations, " + short_text(plan.epochs) + " epochs of " +
                           (plan.iterations_per_epoch > 0 ? std::to_string(plan.iterations_per_epoch) + " iterations"
                                                          : "less than an iteration") +
                           "; a log line every " + std::to_string(plan.log_freq) + ", host steps of " +
                           std::to_string(plan.iterations_per_host_step));
        for (const Topic& topic : task_.rate(plan).topics)
            line(topic.name, topic.text);
        const std::string none = "none";
        line("Checkpoints", checkpoint_count_ == 0 ? none : "after " + update_name_ + "s " + checkpoints(plan));
        line("Validation", validates() ? validation_times(plan) + validation_batches() : none);
        if (settings_.main.restore_path) {
            line("Resumes", "the latest checkpoint in " + *settings_.main.restore_path + ", at iteration " +
                                std::to_string(begin_));
        }
        if (!training.init_path) return;
        const bool begins_anew = !settings_.main.restore_path;
        line("Initial weights", begins_anew ? initial_weights(*training.init_path) : *training.init_path);
    }

    /// True for a run that solves its last layer and ends.
    bool solves_only() const { return settings_.head.only && !settings_.main.restore_path; }

    std::string last_layer() const {
        const HeadSettings& head = settings_.head;
        return "solved first, from the features of " + counted(head.views, "view") + " of each sample" +
               (head.only ? "; then the run ends, and restore goes on with the training described here" : "");
    }

    /// Weights to evaluate: the newest of a folder. Errors are the run's; a training may still have to make them.
    std::string weights_to_evaluate(const std::string& given) const {
        const FileSystem& files = posix_files();
        std::vector<weights::Found> found;
        try {
            found = weights::find_checkpoints(files, given);
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::not_found) throw;
            return given + ", where there is no checkpoint yet";
        }
        const std::string& path = found.back().path;
        const graph::Graph graph = validation_graph(
            task_, settings_, task_.batch_fields(data::Split::validation, settings_.training.micro_batch_size));
        expect_finite(model_variables(graph, checkpoint_weights(files, path, settings_), path), path);
        return given;
    }

    void expect_finite(const std::map<std::string, HostTensor>& variables, const std::string& path) const {
        const auto bad = settings_.run.stop_on_nan ? first_bad_number(variables) : std::nullopt;
        if (bad) fail_not_finite("'" + path + "'", *bad);
    }

    /// Reads them as the run would. Errors are the run's.
    std::string initial_weights(const std::string& given) const {
        const FileSystem& files = posix_files();
        const std::string path = weights::find_checkpoint(files, arguments_.flag_of_shared("--init-path"), given).path;
        const graph::Graph graph =
            task_.graph(GraphUse::training, task_.batch_fields(data::Split::train, placement_.samples));
        weights::Checkpoint read = first_checkpoint(files, path, settings_);
        const CompletedWeights first =
            completed(in_own_layout(std::move(read), graph, path), graph, task_.first_weights(), /*seed=*/0, path);
        const bool with_state = task_.traits().takes_over_optimiser && holds_slots(graph, first.checkpoint);
        if (with_state) {
            weights::match(variables(graph), first.checkpoint, path);
        } else {
            expect_finite(model_variables(graph, first.checkpoint, path), path);
        }
        const std::string state = with_state ? "with the optimiser's state" : state_left_out(graph, first.checkpoint);
        return path + (state.empty() ? "" : "; " + state) +
               (first.drawn.empty() ? "" : "; drawn anew: " + joined(first.drawn));
    }

    std::string checkpoints(const schedule::RunPlan& plan) const {
        std::vector<std::int64_t> first;
        for (auto step = plan.next_checkpoint(0); step && first.size() < kShown;
             step = plan.next_checkpoint(step->end()))
            first.push_back(step->end() - task_.traits().checkpoint_lag);
        return some_of(first, checkpoint_count_, plan.iterations - task_.traits().checkpoint_lag);
    }

    bool on_ipus() const { return settings_.run.backend == backend::BackendKind::ipu; }

    std::string pipeline(const schedule::Placement& update) const {
        const TrainingSettings& training = settings_.training;
        const schedule::Pipeline stages = update.pipeline();
        const std::int64_t devices = on_ipus() ? ipus_of_replica(update_plan(settings_)) : training.shards;
        const std::string device = on_ipus() ? "IPU" : "device";
        std::string what = std::to_string(stages.stages) + " stages on " +
                           (devices == 1 ? "one " + device : std::to_string(devices) + " " + device + "s") +
                           ", split before " + joined(training.pipeline_splits);
        what += "; " + std::string(spelling(stages.schedule)) + ", stash depths ";
        for (std::int32_t stage = 0; stage < stages.stages; ++stage)
            what += (stage == 0 ? "" : ", ") + std::to_string(schedule::stash_depth(stages, stage));
        constexpr schedule::StageTimes kUsual{.forward_ms = 1, .backward_ms = 2};
        const double bubble = schedule::bubble(stages, update.micro_batches / update.pipelines, kUsual);
        return what + ", bubble " + formatted("%.1f", 100 * bubble) + " % with " + (on_ipus() ? "an IPU" : "a lane") +
               " for each stage";
    }

    std::string replicas(const schedule::BatchPlan& batch) const {
        std::string what = std::to_string(batch.replicas) + " in this process, with " +
                           (on_ipus() ? "equal weights on the IPUs of each" : "one set of weights");
        if (batch.norm_span == 1) return what;
        std::string shared = what + "; " + std::to_string(batch.norm_span) + " share batch-norm statistics";
        const std::int64_t processes = batch.norm_span / batch.replicas;
        if (processes > 1) return shared + ", in " + std::to_string(processes) + " processes";
        if (placement_.samples == batch.micro_batch) return shared;
        return shared + ", in micro-batches of " + std::to_string(placement_.samples);
    }

    std::string lanes(const schedule::Placement& update) const {
        std::string what = std::to_string(update.lanes) + " side by side on " +
                           std::to_string(compute_threads(settings_.run)) + " threads";
        if (update.pipelines == 1) return what;
        return what + ", with " + std::to_string(update.pipelines) +
               (update.stages > 1 ? " pipelines" : " micro-batches");
    }

    bool validates() const { return settings_.validation.any() || (plan_->validate && checkpoint_count_ > 0); }

    std::string validation_times(const schedule::RunPlan& plan) const {
        const ValidationSettings& settings = settings_.validation;
        if (!settings.any()) return "of each of them, ";
        const schedule::PlannedValidations planned(settings, plan);
        std::string text = "during training, every " + short_text(planned.period()) + " " + update_name_ + "s, " +
                           counted(planned.count(), "time") + ", ";
        if (settings_.training.ema_decay > 0) text += "each of the weights and of their average, ";
        compared_metric(task_, settings);  // with its errors
        if (settings.keep_best) text += "the best kept by " + std::string(spelling(*settings.keep_best)) + ", ";
        if (settings.early_stop > 0) text += "at most " + std::to_string(settings.early_stop) + " without a better, ";
        return text;
    }

    std::string validation_batches() const {
        const schedule::ValidationPlan plan = schedule::make_validation_plan(
            task_.samples(data::Split::validation, Counted::used), settings_.training.micro_batch_size);
        return std::to_string(plan.batches) + " batches of " + std::to_string(plan.batch);
    }

    void evaluation(options::Command command) {
        const bool validates = command != options::Command::inference;
        const bool all_alike = !task_.has_real_data();
        std::string what = validation_batches();
        if (settings_.training.iterations && (all_alike || !validates)) {
            what = std::to_string(*settings_.training.iterations) + " batches of " +
                   std::to_string(settings_.training.micro_batch_size);
        }
        if (settings_.main.repeat > 1) what += ", " + std::to_string(settings_.main.repeat) + " times";
        line(validates ? "Validation" : "Inference", what);
        // A phase of a training's line evaluates the weights with which the training would begin.
        const std::optional<std::string>& weights =
            settings_.main.restore_path ? settings_.main.restore_path : settings_.training.init_path;
        line("Weights", weights ? weights_to_evaluate(*weights) : "random");
    }

    void precision() {
        std::string what(spelling(settings_.device.precision));
        if (plan_) what += ", stochastic rounding " + std::string(spelling(settings_.device.stochastic_rounding));
        line("Precision", what + ", backend " + std::string(spelling(settings_.run.backend)));
        if (settings_.device.seed) line("Seed", std::to_string(*settings_.device.seed));
    }

    void files() {
        const LoggingSettings& logging = settings_.logging;
        const bool resumes = plan_ && settings_.main.restore_path;
        std::string folder = logging.no_logs ? "/tmp" : logging.log_dir;
        if (!folder.ends_with('/')) folder += '/';
        folder += task_.run_name("???");
        if (!logging.no_logs && logging.logs_path) folder = *logging.logs_path;
        if (resumes) folder = *settings_.main.restore_path;
        if (!folder.ends_with('/')) folder += '/';
        const std::string names = joined(written());
        if (!plan_ && arguments_.command == options::Command::train) return;  // the task says what its phases write
        const bool keeps_results = plan_ || !checked_results_folder(task_, arguments_, posix_files()).logs.empty();
        line("Files", names.empty() || !keeps_results ? "none" : folder + ": " + names);
        if (!measures_inference()) return;
        line("Compiled model", "model_*" + std::string(kCompiledModelSuffix) + " in " +
                                   (settings_.main.temporary_executable ? "the current folder, removed at the end"
                                                                        : "the current folder"));
    }

    /// Disk, memory and time of a training.
    void resources(const schedule::RunPlan& plan) {
        const std::vector<data::Field> fields = task_.batch_fields(data::Split::train, placement_.samples);
        const graph::Graph graph = task_.graph(GraphUse::training, fields);
        CheckpointTotal checkpoints = checkpoint_total(graph, settings_, plan);
        if (solves_only()) checkpoints.written = 1;
        line("Disk", "checkpoints: " + checkpoint_text(checkpoints));
        const char* const wanted = std::getenv(kEstimateVariable);
        if (wanted != nullptr && std::string_view(wanted) == "off") return;
        const ProcessorTimes before = processor_times();
        const auto estimate = estimate_run(task_, settings_, backend_, graph, fields);
        if (estimate) estimates(*estimate, plan);
        const std::string busy = busy_machine_warning(competition(before, processor_times()),
                                                      compute_threads(settings_.run), available_processors());
        if (!busy.empty()) line("Busy machine", busy);
    }

    void estimates(const RunEstimate& estimate, const schedule::RunPlan& plan) {
        line("Memory", memory_text(estimate.memory, machine_memory_bytes()));
        if (!estimate.time) return;
        if (solves_only()) return;
        line("Time", time_text(*estimate.time, plan.iterations - begin_, plan.global_batch, task_.columns().unit.many));
        if (estimate.time->seconds <= kLongUpdateSeconds) return;
        line("Long updates", "an update takes longer than " + short_text(kLongUpdateSeconds) +
                                 " seconds; with a smaller global batch there are more and shorter ones");
    }

    std::vector<std::string> files_of_solved_layer() const {
        if (settings_.logging.no_logs) return {"ckpt-0.safetensors"};
        std::vector<std::string> names = {"arguments.json", "log.txt", "ckpt-0.safetensors"};
        if (!settings_.head.cache) names.emplace_back(kFeatureCacheName);
        return names;
    }

    std::vector<std::string> written() const {
        const LoggingSettings& logging = settings_.logging;
        const bool classifies = arguments_.command == options::Command::inference && !measures_inference();
        std::vector<std::string> names;
        if (solves_only()) return files_of_solved_layer();
        if (checkpoint_count_ > 0) names = {"ckpt-<" + update_name_ + ">.safetensors"};
        if (plan_ && settings_.validation.keep_best) names.emplace_back("ckpt-best.safetensors");
        if (plan_ && settings_.training.ema_decay > 0) names.emplace_back("ckpt/weight_avg_ema.safetensors");
        if (logging.no_logs) return names;
        names.insert(names.begin(), {"arguments.json", "log.txt"});
        if (plan_) names.emplace_back("training.csv");
        if (classifies && settings_.main.predictions.empty()) names.emplace_back("predictions.csv");
        if (plan_ ? validates() : !classifies) names.emplace_back("validation.csv");
        const bool counts =
            task_.classifier() != nullptr || (task_.scorer() != nullptr && task_.scorer()->counts_labels());
        if (plan_ && settings_.validation.any() && counts) names.emplace_back(kClassTable);
        if (logging.tensorboard) {
            const std::string folder = task_.description().events_folder;
            names.push_back((folder.empty() ? "" : folder + "/") + "events.out.tfevents.*");
        }
        if (plan_ && logging.mlperf) names.emplace_back("result_<seed>.txt");
        return names;
    }

    const Task& task_;
    const options::ParseResult& arguments_;
    const backend::Backend& backend_;
    const Settings& settings_;
    std::string update_name_;                // name of a weight update
    std::int64_t begin_ = 0;                 // iteration at which a training begins
    schedule::Placement placement_;          // for training
    std::optional<schedule::RunPlan> plan_;  // for training
    std::int64_t checkpoint_count_ = 0;
    std::ostringstream out_;
};

/// Throws the errors of the run about its output files.
void check_outputs_of(const Task& task, const options::ParseResult& arguments) {
    const Settings& settings = arguments.settings;
    FileSystem& files = posix_files();
    if (!settings.main.trains) {
        const RunFolder folder = checked_results_folder(task, arguments, files);
        const bool classifies = arguments.command == options::Command::inference && !settings.training.iterations;
        if (classifies) check_predictions_file(predictions_file(folder.logs, arguments), arguments, files);
    } else if (!settings.main.restore_path) {
        if (!settings.logging.no_logs) check_new_run_folder(task, arguments, files);
        if (settings.head.solves()) FeatureCache(files, feature_cache_path(settings, ""), "--feature-cache");
    }
}

}  // namespace

std::string dry_run_text(const TaskRow& row, const options::ParseResult& arguments) {
    const auto backend = make_backend(arguments.settings.run.backend);
    const std::unique_ptr<Task> task = row.make(arguments, *backend, 0);
    const std::int64_t begin = check_resumption(*task, arguments, posix_files());
    check_outputs_of(*task, arguments);
    return Description(*task, arguments, *backend, begin).whole();
}

void print_dry_run(const TaskRow& row, const options::ParseResult& arguments, const Host& host) {
    agree_on_options(arguments, host);  // so that ranks that run learn of one that does not
    const std::string text = done_by_all(*host.communicator, "dry run", [&] { return dry_run_text(row, arguments); });
    if (is_first(host)) *host.console << text;
}

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
    data::FixedBatch batches = made_up_batches(graph);
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
