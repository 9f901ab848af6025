#include "cnntrain/run/runs.h"

#include <algorithm>
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
#include "run/evaluator.h"
#include "run/features/features.h"
#include "run/features/solved_head.h"
#include "run/monitor.h"
#include "run/ranks.h"
#include "run/reports/busy_machine.h"
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
                           ", split before";
        for (const std::string& split : training.pipeline_splits)
            what += (split == training.pipeline_splits.front() ? " " : ", ") + split;
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
        line("Weights", settings_.main.restore_path ? weights_to_evaluate(*settings_.main.restore_path) : "random");
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
        std::string names;
        for (const std::string& name : written())
            names += (names.empty() ? "" : ", ") + name;
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
        if (plan_ && settings_.validation.any() && task_.classifier() != nullptr) names.emplace_back(kClassTable);
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

}  // namespace cnntrain::run
