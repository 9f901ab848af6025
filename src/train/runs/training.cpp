#include "train/runs/training.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/cores.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/base/log.h"
#include "cnntrain/checkpoint/averaged_weights.h"
#include "cnntrain/metrics/csv_files.h"
#include "cnntrain/optim/step_rate.h"
#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/compile_request.h"
#include "cnntrain/train/loading.h"
#include "cnntrain/train/machine.h"
#include "cnntrain/train/stages.h"
#include "train/features/solved_head.h"
#include "train/reports/busy_machine.h"
#include "train/reports/describe.h"
#include "train/reports/run_estimate.h"
#include "train/reports/run_report.h"
#include "train/reports/stage_memory.h"
#include "train/runs/averaging.h"
#include "train/runs/evaluator.h"
#include "train/runs/first_weights.h"
#include "train/runs/input_speed.h"
#include "train/runs/kept_update.h"
#include "train/runs/learning_check.h"
#include "train/runs/monitor.h"
#include "train/runs/profiling.h"
#include "train/runs/ranks.h"
#include "train/runs/run_files.h"
#include "train/runs/run_folder.h"
#include "train/runs/timing.h"
#include "train/runs/trainer.h"
#include "train/runs/weight_average.h"
#include "train/runs/weights.h"

namespace cnntrain::train {

namespace {

/// Shared by all steps of one training run.
struct Run {
    const Task& task;
    const backend::Backend& backend;
    const config::ParseResult& arguments;
    const Host& host;
    RunFolder folder;
    metrics::Observers observers;
    std::uint64_t seed = 0;

    const config::Settings& settings() const { return arguments.settings; }
    FileSystem& files() const { return *host.files; }
};

struct RunData : OpenedData {
    schedule::BatchPlan batch;
    schedule::Placement placement;
    std::optional<graph::Graph> graph;  // of the training
};

bool wants_checkpoints(const CheckpointSettings& settings) {
    return settings.ckpts_per_epoch > 0 || settings.epochs_per_ckpt > 0;
}

/// True if the run writes weights: checkpoints, the best ones, or an average.
bool writes_weights(const config::Settings& settings) {
    return wants_checkpoints(settings.checkpoint) || settings.validation.keep_best || settings.training.ema_decay > 0;
}

RunData data_and_graph(const Task& task, const backend::Backend& backend, const config::Settings& settings) {
    RunData data{open_data(task, settings), batch_plan(settings), placement(settings, backend), {}};
    data.graph.emplace(task.training_graph(data.training->fields(data.placement.samples)));
    check_columns(*data.graph, task.columns().training);
    if (data.validation) {
        const std::int64_t samples = settings.training.micro_batch_size;
        check_columns(validation_graph(task, settings, data.validation->fields(samples)), task.columns().validation);
    }
    return data;
}

/// Finds the file with the initial weights of a new run, so that a missing file is reported before a run folder is
/// created.
void find_first_weights(RunStart& start, const Host& host) {
    std::optional<std::string>& path = start.arguments.settings.training.init_path;
    if (start.resume || !path || !is_first(host)) return;
    path = checkpoint::find_checkpoint(*host.files, init_flag(start.arguments), *path).path;
}

/// The run folder, locked by this process and without results of another run.
RunFolder own_folder(const Task& task, RunStart& start, const Host& host) {
    const config::Settings& settings = start.arguments.settings;
    if (start.resume) {
        RunFolder folder = resumed_run_folder(settings.logging, *settings.main.restore_path);
        folder.lock = std::move(start.lock);
        return folder;
    }
    const bool writes = !settings.logging.no_logs || writes_weights(settings);
    if (!writes) return new_run_folder(task, settings.logging, *host.files);
    return begin_run_folder(task, start.arguments, host.command_line, *host.files);
}

/// On rank 0, the run's folder. Other ranks write nothing, or into folders of their own if --log-all-instances or
/// --ckpt-all-instances is given.
RunFolder run_folder(const Task& task, RunStart& start, const Host& host) {
    RunFolder folder;
    if (is_first(host)) folder = own_folder(task, start, host);
    comm::Communicator& all = *host.communicator;
    const std::string name = told(all, folder.name, "name of the run");
    const std::string checkpoints = told(all, folder.checkpoints, "folder of the run");
    if (is_first(host)) return folder;
    const config::Settings& settings = start.arguments.settings;
    const bool logs = settings.logging.all_instances && !settings.logging.no_logs;
    if (start.resume || !(logs || settings.checkpoint.all_instances)) return {name, "", checkpoints};
    config::ParseResult own = start.arguments;
    std::optional<std::string>& logs_path = own.settings.logging.logs_path;
    if (logs_path) *logs_path += "-instance" + std::to_string(all.rank());
    folder = begin_run_folder(task, own, host.command_line, *host.files);
    if (!logs) folder.logs.clear();
    return folder;
}

void tell_size(Run& run, const RunData& data) {
    run.observers.training_planned(
        {data.plan.iterations, data.plan.epochs, data.plan.global_batch, data.training->count(),
         data.validation ? data.validation->count() : run.task.published_samples(data::Split::validation)});
}

/// Returns the text of arguments.json.
std::string introduce_training(Run& run, const RunData& data, const std::optional<ResumePoint>& resume) {
    const TaskDescription description = run.task.description();
    Introduction introduction;
    introduction.facts = gather_facts(run.folder, resume.has_value());
    introduction.machine = machine_lines(run.backend, run.settings().run);
    introduction.io_bits = description.io_bits;
    introduction.events_folder = description.events_folder;
    std::optional<std::int64_t> validation_samples;
    if (data.validation) validation_samples = data.validation->count();
    introduction.derived = derived_arguments(run.arguments, description, introduction.facts, validation_samples);
    introduction.derived[kPlannedUpdatesKey] = data.plan.iterations;
    const CheckpointTotal checkpoints =
        checkpoint_total(*data.graph, run.settings().checkpoint, data.plan, run.settings().training.ema_decay > 0);
    introduction.summary =
        summary_block(run.arguments, description, introduction.facts, &data.plan, checkpoint_text(checkpoints));
    if (resume) introduction.resumed_at = resume->checkpoint.iteration;
    std::string json = introduce(run.observers, run.arguments, std::move(introduction), run.host);
    if (run.settings().logging.no_logs && !resume && checkpoints.written > 0) {
        run.observers.line("--no-logs keeps checkpoints all the same, in " + run.folder.checkpoints + ": " +
                           checkpoint_text(checkpoints) + "; --ckpts-per-epoch 0 writes none");
    }
    return json;
}

/// Updates a resumed run's files: results that do not match its checkpoint or options are removed. `json`: the new
/// arguments.json.
void continue_records(Run& run, const std::string& json, const TrainingParts& parts, const schedule::RunPlan& plan) {
    const std::string& folder = run.folder.checkpoints;
    const std::int64_t iteration = parts.iteration;
    drop_rows_after(run.files(), folder, iteration);
    if (parts.monitor && parts.monitor->is_due(iteration)) drop_validations_at(run.files(), folder, iteration);
    if (iteration < plan.iterations) drop_averages(run.files(), folder);
    const bool recorded = !run.folder.logs.empty() || exists(run.files(), folder + "/" + kArgumentsFile);
    if (recorded) record_arguments(run.files(), folder, json, config::arguments_json(run.arguments, {}), true);
}

checkpoint::Edited edited_checkpoints(const Run& run) {
    return checkpoint::edited_if(run.settings().checkpoint.trust_edited);
}

void load_resumed_weights(Run& run, backend::Executable& executable, const graph::Graph& graph,
                          const ResumePoint& resume) {
    run.observers.line(
        metrics::restoring_line(checkpoint::checkpoint_prefix(run.folder.checkpoints, resume.found.iteration)));
    load_all(executable, graph, resume.checkpoint, resume.found.path);
}

metrics::Meters make_meters(const Run& run, const RunData& data, const std::optional<ResumePoint>& resume) {
    metrics::Meters meters(run.task.columns().training, data.plan.global_batch, data.plan.averaging_window(),
                           run.settings().training.pipeline ? 1 : data.batch.accumulation);
    const std::string state = resume ? metadata(resume->checkpoint, kMetersKey) : "";
    if (!state.empty()) meters.restore(state);
    return meters;
}

/// Compiles the training graph and loads the run's initial weights.
std::unique_ptr<backend::Executable> make_executable(Run& run, const std::vector<data::Field>& fields,
                                                     const RunData& data, const std::optional<ResumePoint>& resume) {
    run.observers.status("compilation_status", "in progress");
    const graph::Graph& graph = *data.graph;
    backend::CompileRequest request = training_request(graph, run.settings(), fields, run.seed);
    request.plan.updates_per_call = std::max<std::int64_t>(1, data.plan.iterations_per_host_step);
    request.runtime.stop_requested = run.host.stop_requested;
    request.peers = peers(run.settings(), *run.host.communicator);
    auto executable = run.backend.compile(request);
    run.observers.status("compilation_status", "compiled");
    run.observers.line(variable_list(graph));
    const std::string memory = stage_memory(executable->report(), data.placement);
    if (!memory.empty()) run.observers.line(memory);
    if (run.host.communicator->size() > 1) run.observers.line(exchange_line(executable->report(), request));
    if (resume) {
        load_resumed_weights(run, *executable, graph, *resume);
    } else {
        load_first_weights(*executable, graph, {run.task, run.settings(), run.seed, run.host, run.observers});
        share_variables(*run.host.communicator, *executable, "first weights");
    }
    return executable;
}

/// What belongs to all checkpoints and kept updates of this run.
std::map<std::string, std::string> metadata_of(const Run& run, const RunData& data) {
    return run_metadata(run.arguments, run.task.description().arithmetic, data.origin, run.task.class_names());
}

/// This process's part of the update behind `iteration`, in which an earlier process was stopped.
KeptUpdate kept_update(Run& run, const RunData& data, std::int64_t iteration, const backend::Executable& executable) {
    const std::string name = run.task.description().update;
    const auto tell = [&](const std::string& why) {
        run.observers.line("The stopped " + name + " is repeated from its first micro-batch: " + why);
    };
    KeptUpdate kept = load_kept_update(run.files(), run.folder.checkpoints, iteration, metadata_of(run, data),
                                       executable, *run.host.communicator, tell);
    const KeptShare share = kept_share(*run.host.communicator, kept);
    if (share.most > 0)
        run.observers.line("The stopped " + name + " continues after " +
                           share_text(share, data.placement.micro_batches));
    return kept;
}

/// The moving average of the weights; null if none is kept. `there`: the averages in the checkpoint, moved out of it.
std::unique_ptr<WeightAverage> make_average(Run& run, const RunData& data, const backend::Executable& executable,
                                            const std::optional<ResumePoint>& resume,
                                            std::map<std::string, HostTensor> there) {
    const double decay = run.settings().training.ema_decay;
    if (decay <= 0) return nullptr;
    auto average = std::make_unique<WeightAverage>(averaged_variables(*data.graph), decay);
    if (!there.empty()) {
        average->restore(std::move(there), resume->found.path);
        return average;
    }
    average->start(executable);
    if (resume) run.observers.line("The checkpoint has no moving average of the weights; one starts at its weights");
    return average;
}

/// The validation during training; null if it follows the training.
std::unique_ptr<Monitor> make_monitor(Run& run, const RunData& data, const std::optional<ResumePoint>& resume) {
    const ValidationSettings& settings = run.settings().validation;
    if (!data.validation || !settings.any() || data.plan.iterations == 0) return nullptr;
    auto evaluator =
        std::make_unique<Evaluator>(run.task, run.backend, *data.validation, run.settings(), run.seed, run.host);
    auto monitor = std::make_unique<Monitor>(run.task, std::move(evaluator), settings, data.plan, run.observers,
                                             run.files(), run.folder.logs);
    const std::string state = resume ? metadata(resume->checkpoint, kValidationsKey) : "";
    if (!state.empty()) monitor->restore(state);
    return monitor;
}

/// The report goes to the log, and its files into the run's folder.
void tell_profile(metrics::Observers& observers, const RunFolder& folder, FileSystem& files,
                  const profile::Report& report) {
    if (report.json.empty()) return;  // not the first rank
    observers.line(report.table);
    if (folder.logs.empty()) return;
    profile::write_report(files, folder.logs, report);
    observers.line("Saved " + joined(profile::profile_files(folder.logs, report.json.size())));
}

/// Null if the run is not profiled.
std::unique_ptr<ProfiledWindow> profiled_window(Run& run, const RunData& data, backend::Executable& executable,
                                                const data::Stream& stream, std::int64_t iteration) {
    if (!run.host.timeline) return nullptr;
    const std::int64_t updates = data.plan.iterations - iteration;
    const Window window = train::profiled_window(updates, updates_before_profile(stream, data.placement),
                                                 run.settings().logging.profile_steps);
    if (window.steps == 0) {
        run.observers.line("--profile: the training has too few " + run.task.description().update + "s to measure any");
        return nullptr;
    }
    const profile::Subject subject{run.backend,       executable, *data.graph, stream, *run.host.communicator,
                                   *run.host.timeline};
    profile::Profile facts =
        profile_facts(run.task, run.backend, run.settings(), run.host, true, data.placement, stream.fields());
    return std::make_unique<ProfiledWindow>(
        std::make_unique<profile::Session>(subject, std::move(facts)), window,
        data.placement.samples * data.placement.micro_batches,
        [&run](const profile::Report& report) { tell_profile(run.observers, run.folder, run.files(), report); });
}

/// Consumes the resume point to release its tensors.
TrainingParts make_parts(Run& run, const RunData& data, std::optional<ResumePoint> resume) {
    const std::vector<data::Field> fields = data.training->fields(data.placement.samples);
    std::map<std::string, HostTensor> averages;
    if (resume) averages = checkpoint::take_averages(resume->checkpoint);
    auto executable = make_executable(run, fields, data, resume);
    auto average = make_average(run, data, *executable, resume, std::move(averages));
    auto monitor = make_monitor(run, data, resume);
    std::optional<DescentCheck> descent;
    if (!resume) descent = descent_check(run.task, run.settings(), data.plan);
    metrics::Meters meters = make_meters(run, data, resume);
    std::int64_t iteration = 0;
    std::optional<std::int64_t> last_saved;
    KeptUpdate kept;
    if (resume) {
        if (is_first(run.host)) warn_of_other_numbers(*resume, run.arguments);
        compare_arithmetic(*resume, run.task.description().arithmetic);
        iteration = resume->checkpoint.iteration;
        last_saved = iteration;
        kept = kept_update(run, data, iteration, *executable);
    }
    const std::int64_t round = data.placement.samples * run.host.communicator->size();
    const std::int64_t first_sample = iteration * data.plan.global_batch + kept.part.micro_batches * round;
    data::LoaderSettings loader = for_rank(
        training_loader_settings(run.settings(), data.placement, fields, first_sample), *run.host.communicator);
    loader.stop_requested = run.host.stop_requested;
    loader.timeline = run.host.timeline;
    auto stream = data.training->stream(loader);
    auto profiled = profiled_window(run, data, *executable, *stream, iteration);
    return {data.plan,
            run.task.learning_rate(data.plan),
            [how = run.settings().optimiser](std::int64_t update) { return optim::loss_scaling_at(how, update); },
            std::move(executable),
            std::move(stream),
            std::move(meters),
            iteration,
            last_saved,
            std::move(kept),
            averaged_variables(*data.graph),
            std::move(average),
            std::move(monitor),
            descent,
            std::move(profiled)};
}

std::int64_t iterations_per_sync(const train::TrainingSettings& settings, const schedule::RunPlan& plan) {
    const auto epoch = static_cast<double>(plan.iterations_per_epoch);
    double iterations = settings.epochs_per_sync * epoch;
    if (settings.syncs_per_epoch > 0) iterations = epoch / static_cast<double>(settings.syncs_per_epoch);
    return iterations > 0 ? std::max<std::int64_t>(1, std::llround(iterations)) : 0;
}

TrainerSettings trainer_settings(const Run& run, const RunData& data) {
    const config::Settings& settings = run.settings();
    const bool saves = is_first(run.host) || (settings.checkpoint.all_instances && run.folder.lock != nullptr);
    return {settings.checkpoint.keep,
            settings.checkpoint.in_f32,
            settings.device.analyse_nans,
            settings.run.stop_on_nan,
            saves,
            wants_checkpoints(settings.checkpoint),
            iterations_per_sync(settings.training, data.plan),
            run.task.checkpoint_lag(),
            metadata_of(run, data),
            how_to_continue(run.folder, run.arguments),
            data.placement.micro_batches,
            run.host.least_kept_seconds};
}

/// A training that ends early may have none of the checkpoints that are averaged.
std::vector<AveragedCheckpoint> average(Run& run, const schedule::RunPlan& plan) {
    std::vector<AveragedCheckpoint> averages;
    try {
        averages = average_checkpoints(run.files(), run.folder.checkpoints, plan, run.settings().checkpoint);
    } catch (const Error& error) {
        if (error.kind() != ErrorKind::not_found || run.settings().validation.early_stop == 0) throw;
        run.observers.line(std::string("No average of checkpoints: ") + error.what());
    }
    for (const AveragedCheckpoint& average : averages)
        run.observers.line("Saved weight average to " + average.path);
    return averages;
}

/// A checkpoint to validate.
struct Point {
    metrics::ValidationRow row;
    std::string path;
};

/// The planned checkpoints that still exist, unless they were validated during the training, and the averages.
/// Checkpoints written at a stop are not included.
std::vector<Point> validation_points(const Run& run, const schedule::RunPlan& plan,
                                     const std::vector<AveragedCheckpoint>& averages) {
    std::vector<Point> points;
    const auto add = [&](const std::string& name, const std::string& path, std::int64_t iteration) {
        metrics::ValidationRow row;
        row.name = name;
        row.iteration = iteration;
        points.push_back({row, path});
    };
    const bool during_training = run.settings().validation.any();
    for (const schedule::HostStep& step : plan.checkpoint_steps()) {
        const std::string path = checkpoint::checkpoint_path(run.folder.checkpoints, step.end());
        if (!during_training && step.validate && exists(run.files(), path))
            add(checkpoint::checkpoint_prefix("", step.end()).substr(1), path, step.end());
    }
    for (const AveragedCheckpoint& average : averages)
        add(average.name, average.path, plan.iterations);
    const std::string name(kAverageName);
    if (!during_training && run.settings().training.ema_decay > 0)
        add(name, checkpoint::average_path(run.folder.checkpoints, name), plan.iterations);
    return points;
}

/// The points without a validation row. Rank 0 decides; the others take its list.
std::vector<Point> points_to_do(Run& run, std::vector<Point> points) {
    std::erase_if(points, [&](const Point& point) {
        const bool done =
            !run.folder.logs.empty() && metrics::is_validated(run.files(), run.folder.logs, point.row.name);
        if (done) run.observers.line(metrics::skipped_validation_line(point.row.name));
        return done;
    });
    comm::Communicator& all = *run.host.communicator;
    points.resize(std::stoul(told(all, std::to_string(points.size()), "number of validations")));
    for (Point& point : points) {
        metrics::ValidationRow& row = point.row;
        row.name = told(all, row.name, "checkpoint to validate");
        row.iteration = std::stoll(told(all, std::to_string(row.iteration), "checkpoint to validate"));
    }
    return points;
}

/// Returns false if a stop was requested.
bool validate_points(Run& run, const RunData& data, std::vector<Point> points) {
    points = points_to_do(run, std::move(points));
    if (points.empty()) return true;
    Evaluator evaluator(run.task, run.backend, *data.validation, run.settings(), run.seed, run.host);
    run.observers.validation_began();
    for (Point& point : points) {
        point.row.epoch = data.plan.epoch_at(point.row.iteration);
        if (is_first(run.host))
            evaluator.load(checkpoint::load(run.files(), point.path, edited_checkpoints(run)), point.path);
        evaluator.share_weights();
        run.observers.evaluation_began(point.row.epoch);
        const auto result = evaluator.run(point.row, run.observers);
        if (!result) {
            run.observers.line("Validation stopped by a signal; " + how_to_continue(run.folder, run.arguments));
            return false;
        }
        run.observers.row(reported(run.task, *result));
    }
    run.observers.validation_ended();
    return true;
}

/// While an object of this class exists, a stop waits until the work is saved.
class HeldExit {
public:
    explicit HeldExit(const Host& host) : hold_(host.hold_exit) {
        if (hold_) hold_(true);
    }
    ~HeldExit() {
        if (hold_) hold_(false);
    }
    HeldExit(const HeldExit&) = delete;
    HeldExit& operator=(const HeldExit&) = delete;

private:
    const std::function<void(bool)>& hold_;
};

/// Destroys the trainer before it returns, to free its memory for the evaluation.
Trainer::End train_parts(Run& run, const RunData& data, TrainingParts parts, bool begins_anew, Stopwatch& loop_watch) {
    TrainerSettings settings = trainer_settings(run, data);
    Trainer trainer(run.task, std::move(parts), std::move(settings), run.folder, run.files(), run.observers,
                    run.host.stop_requested, *run.host.communicator);
    if (begins_anew && wants_checkpoints(run.settings().checkpoint)) trainer.save();
    loop_watch = Stopwatch();
    const HeldExit held(run.host);
    return trainer.run();
}

/// Begins with a last layer that is solved from features.
void begin_with_last_layer(Run& run, const RunData& data, TrainingParts& parts) {
    const FeatureWork work{run.task, run.backend, run.arguments, run.seed, run.host, run.observers};
    backend::Executable& executable = *parts.executable;
    solve_last_layer(work, executable, *data.graph, run.folder.checkpoints, data.validation != nullptr);
    share_variables(*run.host.communicator, executable, "last layer");
    if (parts.average) parts.average->start(executable);
}

/// The run ends with its last layer solved; `restore` trains.
int end_with_last_layer(Run& run, const RunData& data, TrainingParts parts) {
    Trainer trainer(run.task, std::move(parts), trainer_settings(run, data), run.folder, run.files(), run.observers,
                    run.host.stop_requested, *run.host.communicator);
    trainer.save();
    run.observers.line("The run ends here because of --head-only. To train the whole network from here, " +
                       how_to_continue(run.folder, run.arguments));
    run.observers.run_ended();
    return 0;
}

int train_and_validate(Run& run, const RunData& data, TrainingParts parts, bool begins_anew) {
    Stopwatch loop_watch;
    if (train_parts(run, data, std::move(parts), begins_anew, loop_watch) == Trainer::End::stopped)
        return kInterruptedExitCode;
    run.observers.training_finished();
    std::vector<Point> points;
    if (is_first(run.host)) points = validation_points(run, data.plan, average(run, data.plan));
    if (!data.validation) return 0;
    if (!validate_points(run, data, std::move(points))) return kInterruptedExitCode;
    run.observers.line(metrics::time_to_train_line(loop_watch.seconds()));
    return 0;
}

/// An example row with all columns that will be written.
metrics::Record expected_row(const Task& task) {
    metrics::TrainingRow row;
    row.results.resize(task.columns().training.size());
    return metrics::record(row, task.columns());
}

std::unique_ptr<BusyMachine> busy_machine(const RunSettings& settings) {
    return std::make_unique<BusyMachine>(compute_threads(settings), available_processors(),
                                         [](const std::string& warning) { log::warning(warning); });
}

int measure_training_input(Run& run, const RunData& data) {
    const std::vector<data::Field> fields = data.training->fields(data.placement.samples);
    data::LoaderSettings loader =
        for_rank(training_loader_settings(run.settings(), data.placement, fields, 0), *run.host.communicator);
    loader.stop_requested = run.host.stop_requested;
    const auto stream = data.training->stream(loader);
    const std::int64_t batches = data.plan.iterations_per_host_step * data.placement.micro_batches;
    return measure_input_speed(*stream, batches, run.task.columns().unit, run.observers, run.host.stop_requested);
}

void tell_compile_time(Run& run, double seconds, std::int64_t iteration) {
    run.observers.line(metrics::compilation_line(seconds));
    const metrics::Columns& columns = run.task.columns();
    if (columns.curves.compile_time.empty()) return;
    run.observers.curve_point(metrics::compile_time_point(seconds, iteration, columns));
}

int train_task(const TaskRow& row, RunStart start, const Host& host) {
    const auto backend = make_backend(start.arguments.settings.run.backend);
    const std::unique_ptr<Task> task = row.make(start.arguments, *backend, seed_of(start));
    const Host here = wants_profile(start.arguments.settings) ? recorded(host) : host;
    return train(*task, *backend, std::move(start), here);
}

}  // namespace

int train(const Task& task, const backend::Backend& backend, RunStart start, const Host& host) {
    const Stopwatch since_start;
    const config::Settings& settings = start.arguments.settings;
    if (settings.head.solves() && !task.has_real_data())
        throw Error(ErrorKind::usage, "--head-only and --head-first need real data");
    const RunData data =
        done_by_all(*host.communicator, "data of the run", [&] { return data_and_graph(task, backend, settings); });
    agree_on_data(data.origin, task.description().arithmetic, host);
    done_by_all(*host.communicator, "checkpoint to go on from", [&] {
        check_data(start, data.origin, task, is_first(host));
        refuse_shorter_run(start, data.plan);
        return true;
    });
    find_first_weights(start, host);
    RunFolder folder = run_folder(task, start, host);
    UnusedFolder unused(folder, *host.files);  // outlives the observers, which write there
    metrics::Observers observers = report_training(task, start.arguments, folder, host);
    Run run{task, backend, start.arguments, host, std::move(folder), std::move(observers), seed_of(start)};
    tell_size(run, data);
    if (is_first(host)) record_unused_files(run.files(), run.folder.logs, data.training->unused_files());
    const std::string json = introduce_training(run, data, start.resume);
    if (settings.device.dataset_benchmark) {
        unused.keep();
        return measure_training_input(run, data);
    }

    const bool begins_anew = !start.resume.has_value();
    TrainingParts parts = make_parts(run, data, std::move(start.resume));
    unused.keep();
    tell_compile_time(run, since_start.seconds(), parts.iteration);
    const std::string slow = begins_anew ? slow_statistics(task, settings, data.plan, *data.graph) : "";
    if (!slow.empty()) run.observers.line(slow);
    if (settings.device.compile_only) {
        run.observers.line("Compilation successful; stopping because of --compile-only.");
        return 0;
    }
    if (begins_anew && settings.head.solves()) begin_with_last_layer(run, data, parts);
    if (begins_anew && settings.head.only) return end_with_last_layer(run, data, std::move(parts));
    if (!begins_anew && is_first(host)) continue_records(run, json, parts, data.plan);
    if (is_first(host)) run.observers.add(busy_machine(settings.run));
    run.observers.expect(expected_row(task));
    run.observers.training_began(parts.iteration);
    const int exit_code = train_and_validate(run, data, std::move(parts), begins_anew);
    run.observers.run_ended();
    return exit_code;
}

int run_training(const TaskRow& task, const config::ParseResult& arguments, const Host& host) {
    agree_on_options(arguments, host);
    RunStart start = is_first(host) ? run_start(arguments, host) : RunStart{with_absolute_paths(arguments), {}, {}};
    return train_task(task, agreed_start(std::move(start), host), host);
}

int run_restored(const TaskRow& task, const config::ParseResult& restore_line, const Host& host) {
    const bool alone = host.communicator->size() == 1;
    if (!alone) agree_on_options(restored_arguments(task, restore_line, *host.files), host);
    RunStart start = is_first(host)
                         ? restored_run_start(task, restore_line, host)
                         : RunStart{with_absolute_paths(restored_arguments(task, restore_line, *host.files)), {}, {}};
    return train_task(task, agreed_start(std::move(start), host), host);
}

}  // namespace cnntrain::train
