#include "run/training.h"

#include <algorithm>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/processor.h"
#include "cnntrain/base/text.h"
#include "cnntrain/parallel/run_plan.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/rows.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/average.h"
#include "run/averaging.h"
#include "run/evaluator.h"
#include "run/features/features.h"
#include "run/metrics/csv_files.h"
#include "run/monitor.h"
#include "run/profiling.h"
#include "run/ranks.h"
#include "run/reports/describe.h"
#include "run/reports/run_estimate.h"
#include "run/reports/run_report.h"
#include "run/run_files.h"
#include "run/trainer.h"

namespace cnntrain::run {
namespace {

// Work after the last update of a training: averages of its checkpoints, and their validation.

/// A checkpoint to validate.
struct ValidatedPoint {
    metrics::ValidationRow row;
    std::string path;
};

weights::Edited edited_checkpoints(const TrainingRun& run) {
    return weights::edited_if(run.settings().checkpoint.trust_edited);
}

/// A training that ends early may have none of the checkpoints that are averaged.
std::vector<AveragedCheckpoint> average(TrainingRun& run, const schedule::RunPlan& plan) {
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

/// The planned checkpoints that still exist, unless they were validated during the training, and the averages.
/// Checkpoints written at a stop are not included.
std::vector<ValidatedPoint> validation_points(const TrainingRun& run, const schedule::RunPlan& plan,
                                              const std::vector<AveragedCheckpoint>& averages) {
    std::vector<ValidatedPoint> points;
    const auto add = [&](const std::string& name, const std::string& path, std::int64_t iteration) {
        metrics::ValidationRow row;
        row.name = name;
        row.iteration = iteration;
        points.push_back({row, path});
    };
    const bool during_training = run.settings().validation.any();
    for (const schedule::HostStep& step : plan.checkpoint_steps()) {
        const std::string path = weights::checkpoint_path(run.folder.checkpoints, step.end());
        if (!during_training && step.validate && exists(run.files(), path))
            add(weights::checkpoint_prefix("", step.end()).substr(1), path, step.end());
    }
    for (const AveragedCheckpoint& average : averages)
        add(average.name, average.path, plan.iterations);
    const std::string name(kAverageName);
    if (!during_training && run.settings().training.ema_decay > 0)
        add(name, weights::average_path(run.folder.checkpoints, name), plan.iterations);
    return points;
}

/// The points without a validation row. Rank 0 decides; the others take its list.
std::vector<ValidatedPoint> points_to_do(TrainingRun& run, std::vector<ValidatedPoint> points) {
    std::erase_if(points, [&](const ValidatedPoint& point) {
        const bool done =
            !run.folder.logs.empty() && metrics::is_validated(run.files(), run.folder.logs, point.row.name);
        if (done) run.observers.line(metrics::skipped_validation_line(point.row.name));
        return done;
    });
    comm::Communicator& all = *run.host.communicator;
    points.resize(std::stoul(broadcast_text(all, std::to_string(points.size()), "number of validations")));
    for (ValidatedPoint& point : points) {
        metrics::ValidationRow& row = point.row;
        row.name = broadcast_text(all, row.name, "checkpoint to validate");
        row.iteration = std::stoll(broadcast_text(all, std::to_string(row.iteration), "checkpoint to validate"));
    }
    return points;
}

/// Returns false if a stop was requested.
bool validate_points(TrainingRun& run, const TrainingData& data, std::vector<ValidatedPoint> points) {
    points = points_to_do(run, std::move(points));
    if (points.empty()) return true;
    Evaluator evaluator(run.task, run.backend, *data.validation, run.settings(), run.seed, run.host);
    run.observers.on(metrics::ValidationBegan{});
    for (ValidatedPoint& point : points) {
        point.row.epoch = data.plan.epoch_at(point.row.iteration);
        if (is_first(run.host))
            evaluator.load(weights::load(run.files(), point.path, edited_checkpoints(run)), point.path);
        evaluator.share_weights();
        run.observers.on(metrics::EvaluationBegan{point.row.epoch});
        const auto result = evaluator.run(point.row, run.observers);
        if (!result) {
            run.observers.on(
                metrics::Result{"Validation stopped by a signal; " + how_to_continue(run.folder, run.arguments)});
            return false;
        }
        run.observers.on(metrics::Row{reported(run.task, *result)});
    }
    run.observers.on(metrics::ValidationEnded{});
    return true;
}

/// Writes the averages. Validates them and the planned checkpoints that still exist, unless these were validated during
/// the training, and those that have a row already. Returns false if a stop was requested.
bool average_and_validate(TrainingRun& run, const TrainingData& data) {
    std::vector<ValidatedPoint> points;
    if (is_first(run.host)) points = validation_points(run, data.plan, average(run, data.plan));
    return !data.validation || validate_points(run, data, std::move(points));
}

/// True if the run writes weights: checkpoints, the best ones, or an average.
bool writes_weights(const options::Settings& settings) {
    return wants_checkpoints(settings.checkpoint) || settings.validation.keep_best || settings.training.ema_decay > 0;
}

TrainingData data_and_graph(const Task& task, const backend::Backend& backend, const options::Settings& settings) {
    TrainingData data{open_data(task, settings), batch_plan(settings), placement(settings, backend), {}};
    data.graph.emplace(task.graph(GraphUse::training, data.training->fields(data.placement.samples)));
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
    path = weights::find_checkpoint(*host.files, init_flag(start.arguments), *path).path;
}

/// The run folder, locked by this process and without results of another run.
RunFolder own_folder(const Task& task, RunStart& start, const Host& host) {
    const options::Settings& settings = start.arguments.settings;
    if (start.resume) {
        RunFolder folder = resumed_run_folder(settings.logging, *settings.main.restore_path);
        folder.lock = std::move(start.lock);
        return folder;
    }
    const bool writes = !settings.logging.no_logs || writes_weights(settings);
    if (!writes) return new_run_folder(task, settings.logging, *host.files);
    return begin_run_folder(task, start.arguments, host.command_line, *host.files);
}

/// Folder of the run on rank 0. Other ranks write nothing, or into folders of their own if --log-all-instances or
/// --ckpt-all-instances is given.
RunFolder run_folder(const Task& task, RunStart& start, const Host& host) {
    RunFolder folder;
    if (is_first(host)) folder = own_folder(task, start, host);
    comm::Communicator& all = *host.communicator;
    const std::string name = broadcast_text(all, folder.name, "name of the run");
    const std::string checkpoints = broadcast_text(all, folder.checkpoints, "folder of the run");
    if (is_first(host)) return folder;
    const options::Settings& settings = start.arguments.settings;
    const bool logs = settings.logging.all_instances && !settings.logging.no_logs;
    if (start.resume || !(logs || settings.checkpoint.all_instances)) return {name, "", checkpoints};
    options::ParseResult own = start.arguments;
    std::optional<std::string>& logs_path = own.settings.logging.logs_path;
    if (logs_path) *logs_path += "-instance" + std::to_string(all.rank());
    folder = begin_run_folder(task, own, host.command_line, *host.files);
    if (!logs) folder.logs.clear();
    return folder;
}

void log_size(TrainingRun& run, const TrainingData& data) {
    run.observers.on(metrics::TrainingSize{
        data.plan.iterations, data.plan.epochs, data.plan.global_batch, data.training->count(),
        data.validation ? data.validation->count() : run.task.samples(data::Split::validation, Counted::published)});
}

/// Said before the training, which a full disk would end at a checkpoint.
void warn_of_full_disk(const std::string& folder, const CheckpointTotal& checkpoints) {
    std::error_code failed;
    const std::filesystem::space_info space = std::filesystem::space(folder, failed);
    if (failed) return;
    const std::string warning = disk_warning(checkpoints, space.available, folder);
    if (!warning.empty()) log::warning(warning);
}

/// A last layer that is trained alone learns little in the epochs of a whole network.
void warn_of_lone_head(const TrainingRun& run, const graph::Graph& graph) {
    if (run.settings().optimiser.freeze.empty() || run.settings().head.solves()) return;
    const Patterns frozen(run.settings().optimiser.freeze, "--freeze");
    const std::vector<std::string> head = run.task.first_weights().last_layer;
    const auto is_of_head = [&](const std::string& name) {
        return std::ranges::any_of(head, [&](const std::string& scope) { return name.starts_with(scope); });
    };
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter)) {
        const std::string& name = graph.value(id).name;
        if (!is_of_head(name) && !frozen.match(name)) return;
    }
    log::warning(
        "--freeze leaves only the last layer to be trained: --head-only solves it in seconds, and "
        "--head-first begins with it solved");
}

/// Returns the text of arguments.json.
std::string introduce_training(TrainingRun& run, const TrainingData& data, const std::optional<ResumePoint>& resume) {
    const TaskDescription description = run.task.description();
    Introduction introduction;
    introduction.facts = gather_facts(run.folder, resume.has_value());
    introduction.facts.names_ipus = names_ipus(run.settings(), run.host);
    introduction.machine = machine_lines(run.backend, run.settings().run);
    introduction.io_bits = description.io_bits;
    introduction.events_folder = description.events_folder;
    std::optional<std::int64_t> validation_samples;
    if (data.validation) validation_samples = data.validation->count();
    introduction.derived = derived_arguments(run.arguments, description, introduction.facts, validation_samples);
    introduction.derived[kPlannedUpdatesKey] = data.plan.iterations;
    const CheckpointTotal checkpoints = checkpoint_total(*data.graph, run.settings(), data.plan);
    introduction.summary =
        summary_block(run.arguments, description, introduction.facts, &data.plan, checkpoint_text(checkpoints));
    introduction.title = network_title(description, &*data.graph);
    introduction.topics =
        training_topics(run.task, run.settings(), data.plan, data.training->count(), validation_samples);
    if (resume) introduction.resumed_at = resume->checkpoint.iteration;
    if (!resume && is_first(run.host)) warn_of_full_disk(run.folder.checkpoints, checkpoints);
    std::string arguments_text = introduce(run.observers, run.arguments, std::move(introduction), run.host);
    if (run.settings().logging.no_logs && !resume && checkpoints.written > 0) {
        run.observers.line("--no-logs keeps checkpoints all the same, in " + run.folder.checkpoints + ": " +
                           checkpoint_text(checkpoints) + "; --ckpts-per-epoch 0 writes none");
    }
    return arguments_text;
}

/// Updates a resumed run's files: results that do not match its checkpoint or options are removed. `arguments_text`:
/// the new arguments.json.
void continue_records(TrainingRun& run, const std::string& arguments_text, const TrainingParts& parts,
                      const schedule::RunPlan& plan) {
    const std::string& folder = run.folder.checkpoints;
    const std::int64_t iteration = parts.iteration;
    drop_rows_after(run.files(), folder, iteration);
    if (parts.monitor && parts.monitor->is_due(iteration)) drop_validations_at(run.files(), folder, iteration);
    if (iteration < plan.iterations) drop_averages(run.files(), folder);
    const bool recorded = !run.folder.logs.empty() || exists(run.files(), folder + "/" + kArgumentsFile);
    if (recorded)
        record_arguments(run.files(), folder, arguments_text, options::arguments_json(run.arguments, {}), true);
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
Trainer::End train_parts(TrainingRun& run, const TrainingData& data, TrainingParts parts, bool begins_anew,
                         Stopwatch& loop_watch) {
    TrainerSettings settings = trainer_settings(run, data);
    Trainer trainer(run.task, std::move(parts), std::move(settings), run.folder, run.files(), run.observers,
                    run.host.stop_requested, *run.host.communicator);
    if (begins_anew && wants_checkpoints(run.settings().checkpoint)) trainer.save();
    loop_watch = Stopwatch();
    const HeldExit held(run.host);
    return trainer.run();
}

/// Begins with a last layer that is solved from features.
void begin_with_last_layer(TrainingRun& run, const TrainingData& data, TrainingParts& parts) {
    const EvaluationWork work{run.task, run.backend, run.arguments, run.seed, run.host, run.observers};
    backend::Executable& executable = *parts.executable;
    solve_last_layer(work, executable, *data.graph, run.folder.checkpoints, data.validation != nullptr);
    share_variables(*run.host.communicator, executable, "last layer");
    if (parts.average) parts.average->start(executable);
}

/// The run ends with its last layer solved; `restore` trains.
int end_with_last_layer(TrainingRun& run, const TrainingData& data, TrainingParts parts) {
    Trainer trainer(run.task, std::move(parts), trainer_settings(run, data), run.folder, run.files(), run.observers,
                    run.host.stop_requested, *run.host.communicator);
    trainer.save();
    run.observers.line("The run ends here because of --head-only. To train the whole network from here, " +
                       how_to_continue(run.folder, run.arguments));
    run.observers.on(metrics::RunEnded{});
    return 0;
}

int train_and_validate(TrainingRun& run, const TrainingData& data, TrainingParts parts, bool begins_anew) {
    Stopwatch loop_watch;
    if (train_parts(run, data, std::move(parts), begins_anew, loop_watch) == Trainer::End::stopped)
        return kInterruptedExitCode;
    run.observers.on(metrics::TrainingFinished{});
    if (!average_and_validate(run, data)) return kInterruptedExitCode;
    if (data.validation) {
        const double seconds = loop_watch.seconds();
        run.observers.on(metrics::Duration{metrics::kTimeToTrain, seconds, metrics::time_to_train_line(seconds)});
    }
    return 0;
}

std::unique_ptr<BusyMachine> busy_machine(const RunSettings& settings) {
    return std::make_unique<BusyMachine>(compute_threads(settings), available_processors(),
                                         [](const std::string& warning) { log::warning(warning); });
}

int measure_training_input(TrainingRun& run, const TrainingData& data) {
    const std::vector<data::Field> fields = data.training->fields(data.placement.samples);
    data::LoaderSettings loader =
        for_rank(training_loader_settings(run.settings(), data.placement, fields, 0), *run.host.communicator);
    loader.stop_requested = run.host.stop_requested;
    const auto stream = data.training->stream(loader);
    const std::int64_t batches = data.plan.iterations_per_host_step * data.placement.micro_batches;
    return measure_input_speed(*stream, batches, run.task.columns().unit, run.observers, run.host.stop_requested);
}

void log_compile_time(TrainingRun& run, double seconds, std::int64_t iteration) {
    run.observers.on(metrics::Duration{metrics::kCompilation, seconds, metrics::compilation_line(seconds)});
    const metrics::Columns& columns = run.task.columns();
    if (columns.curves.compile_time.empty()) return;
    run.observers.on(metrics::Row{metrics::compile_time_point(seconds, iteration, columns), metrics::Row::Use::drawn});
}

/// A finished run that is resumed trains nothing.
void log_finished(TrainingRun& run, const schedule::RunPlan& plan) {
    const std::string flag =
        run.settings().training.iterations ? run.arguments.flag_of_shared("--iterations") : std::string("--epochs");
    run.observers.on(metrics::Result{"The run is finished: all " + std::to_string(plan.iterations) +
                                     " iterations are done; to train on, restore with a larger " + flag});
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
    const options::Settings& settings = start.arguments.settings;
    if (settings.head.solves() && !task.has_real_data())
        throw Error(ErrorKind::usage, "--head-only and --head-first need real data");
    if (settings.head.solves() && task.solvable() == nullptr)
        throw Error(ErrorKind::usage, "--head-only and --head-first need classes or labels; they solve no scores");
    const TrainingData data =
        done_by_all(*host.communicator, "data of the run", [&] { return data_and_graph(task, backend, settings); });
    agree_on_data(data.origin, task.description().arithmetic, host);
    done_by_all(*host.communicator, "checkpoint to go on from", [&] {
        check_data(start, data.origin, task, is_first(host));
        refuse_shorter_run(start, data.plan);
        return true;
    });
    find_first_weights(start, host);
    RunFolder folder = run_folder(task, start, host);
    if (host.run_folder != nullptr) *host.run_folder = folder.checkpoints;
    UnusedFolder unused(folder, *host.files);  // outlives the observers, which write there
    metrics::Observers observers = report_training(task, start.arguments, folder, host);
    TrainingRun run{task, backend, start.arguments, host, std::move(folder), std::move(observers), seed_of(start)};
    if (is_first(host)) record_unused_files(run.files(), run.folder.logs, data.training->unused_files());
    const std::string arguments_text = introduce_training(run, data, start.resume);
    log_size(run, data);
    report_moment(task, &data.plan, run.observers);
    if (is_first(host) && !start.resume) warn_of_lone_head(run, *data.graph);
    if (settings.device.dataset_benchmark) {
        unused.keep();
        return measure_training_input(run, data);
    }

    const bool begins_anew = !start.resume.has_value();
    TrainingParts parts = training_parts(run, data, std::move(start.resume));
    unused.keep();
    log_compile_time(run, since_start.seconds(), parts.iteration);
    const std::string slow = begins_anew ? slow_statistics(task, settings, data.plan, *data.graph) : "";
    if (!slow.empty()) run.observers.line(slow);
    if (settings.device.compile_only) {
        run.observers.line("Compilation successful; stopping because of --compile-only.");
        return 0;
    }
    if (begins_anew && settings.head.solves()) begin_with_last_layer(run, data, parts);
    if (begins_anew && settings.head.only) return end_with_last_layer(run, data, std::move(parts));
    if (!begins_anew && is_first(host)) continue_records(run, arguments_text, parts, data.plan);
    // A single lane of a single process gives way by itself.
    const bool gives_way = data.placement.lanes == 1 && host.communicator->size() == 1;
    if (is_first(host) && !gives_way) run.observers.add(busy_machine(settings.run));
    if (parts.iteration >= data.plan.iterations) log_finished(run, data.plan);
    announce<metrics::TrainingRow>(task, &metrics::Columns::training, run.observers);
    run.observers.on(metrics::TrainingBegan{parts.iteration});
    const int exit_code = train_and_validate(run, data, std::move(parts), begins_anew);
    run.observers.on(metrics::RunEnded{});
    return exit_code;
}

int run_training(const TaskRow& task, const options::ParseResult& arguments, const Host& host) {
    agree_on_options(arguments, host);
    RunStart start = is_first(host) ? run_start(arguments, host) : RunStart{with_absolute_paths(arguments), {}, {}};
    return train_task(task, agreed_start(std::move(start), host), host);
}

int run_restored(const TaskRow& task, const options::ParseResult& restore_line, const Host& host) {
    const bool alone = host.communicator->size() == 1;
    if (!alone) agree_on_options(restored_arguments(task, restore_line, *host.files), host);
    RunStart start = is_first(host)
                         ? restored_run_start(task, restore_line, host)
                         : RunStart{with_absolute_paths(restored_arguments(task, restore_line, *host.files)), {}, {}};
    return train_task(task, agreed_start(std::move(start), host), host);
}

}  // namespace cnntrain::run
