// `cnntrain validation`: evaluates existing checkpoints.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/evaluator.h"
#include "run/ranks.h"
#include "run/reports/run_report.h"
#include "run/run_files.h"
#include "run/timing.h"

namespace cnntrain::run {
namespace {

/// The checkpoint's recorded epoch, or, if the user gives the global batch, the epoch computed from it.
double epoch_of(const weights::Checkpoint& checkpoint, const Task& task, const options::Settings& settings) {
    if (!settings.main.total_batch_size) return checkpoint.epoch;
    const std::int64_t samples = task.samples(data::Split::train, Counted::published);
    const double seen =
        static_cast<double>(*settings.main.total_batch_size) * static_cast<double>(checkpoint.iteration);
    return seen / static_cast<double>(samples);
}

/// A validation and everything it needs.
class Validation {
public:
    Validation(const Task& task, Evaluator& evaluator, const options::Settings& settings, const Host& host,
               metrics::Observers& observers)
        : task_(task), evaluator_(evaluator), settings_(settings), host_(host), observers_(observers) {}

    /// Both functions return the exit code.
    int of_random_weights(std::uint64_t seed) {
        if (is_first(host_)) log::warning("no --restore-path: the weights are random, and so is the accuracy");
        evaluator_.load_random(seed);
        metrics::ValidationRow row;
        row.name = "random";
        return run_repeatedly(row) ? 0 : kInterruptedExitCode;
    }
    int of_checkpoints(const std::vector<weights::Found>& points) {
        for (const weights::Found& point : points) {
            metrics::ValidationRow row;
            row.name = point.name;
            if (is_first(host_)) load(point, row);
            log_position(row);
            evaluator_.share_weights();
            if (!run_repeatedly(row)) return kInterruptedExitCode;
        }
        return 0;
    }

private:
    void load(const weights::Found& point, metrics::ValidationRow& row) {
        weights::Checkpoint checkpoint = checkpoint_weights(*host_.files, point.path, settings_);
        row.iteration = checkpoint.iteration;
        row.epoch = epoch_of(checkpoint, task_, settings_);
        if (settings_.device.analyse_nans) {
            observers_.on(metrics::Row{
                metrics::record(count_nans(checkpoint.iteration, weights::source_of(checkpoint.tensors)))});
        }
        evaluator_.load(std::move(checkpoint), point.path);
    }

    /// Sends the checkpoint's place in its run from rank 0 to the ranks that have not read it.
    void log_position(metrics::ValidationRow& row) const {
        comm::Communicator& all = *host_.communicator;
        row.iteration = std::stoll(broadcast_text(all, std::to_string(row.iteration), "checkpoint to validate"));
        row.epoch = std::stod(broadcast_text(all, formatted("%.17g", row.epoch), "checkpoint to validate"));
    }

    /// Evaluates the loaded weights `--repeat` times; returns false if a stop was requested.
    bool run_repeatedly(const metrics::ValidationRow& point) {
        for (std::int64_t i = 0; i < settings_.main.repeat; ++i) {
            const auto row = evaluator_.run(point, observers_);
            if (!row) {
                observers_.on(metrics::Result{"Validation of " + point.name + " stopped by a signal."});
                return false;
            }
            if (evaluator_.not_finite() && settings_.run.stop_on_nan)
                fail_not_finite("validation of " + point.name, *evaluator_.not_finite());
            observers_.on(metrics::Row{reported(task_, *row)});
        }
        return true;
    }

    const Task& task_;
    Evaluator& evaluator_;
    const options::Settings& settings_;
    const Host& host_;
    metrics::Observers& observers_;
};

/// Rank 0's list, on all ranks.
std::vector<weights::Found> points_to_validate(const options::Settings& settings, const Host& host) {
    std::vector<weights::Found> points;
    if (!settings.main.restore_path) return points;
    if (is_first(host)) points = weights::find_checkpoints(*host.files, *settings.main.restore_path);
    comm::Communicator& all = *host.communicator;
    points.resize(std::stoul(broadcast_text(all, std::to_string(points.size()), "number of checkpoints")));
    for (weights::Found& point : points)
        point.name = broadcast_text(all, point.name, "checkpoint to validate");
    return points;
}

/// Rank 0 writes there; the others use the same name.
RunFolder folder_of_all(const Task& task, const options::ParseResult& arguments, const Host& host) {
    RunFolder folder;
    if (is_first(host)) folder = results_folder(task, arguments, host.command_line, *host.files);
    folder.name = broadcast_text(*host.communicator, folder.name, "name of the run");
    return folder;
}

/// An example row with all columns that will be written.
metrics::Record expected_validation_row(const Task& task) {
    metrics::ValidationRow row;
    row.results.resize(task.columns().validation.size());
    return metrics::record(row, task.columns());
}

}  // namespace

int run_validation(const TaskRow& row, const options::ParseResult& arguments, const Host& host) {
    const Stopwatch since_start;
    agree_on_options(arguments, host);
    const options::Settings& settings = arguments.settings;
    const std::uint64_t seed = static_cast<std::uint64_t>(settings.device.seed.value_or(0));
    const std::vector<weights::Found> points = points_to_validate(settings, host);
    const auto backend = make_backend(settings.run.backend);
    const std::unique_ptr<Task> made = row.make(arguments, *backend, seed);
    const Task& task = *made;
    const auto data =
        done_by_all(*host.communicator, "data to validate on", [&] { return task.open(data::Split::validation); });
    agree_on_data({{}, data->origin()}, task.description().arithmetic, host);
    const RunFolder folder = folder_of_all(task, arguments, host);
    metrics::Observers observers = report_evaluation(task, *backend, arguments, folder, data->count(), host);
    if (settings.device.dataset_benchmark) {
        data::LoaderSettings loader = for_rank(loader_settings(settings, 0), *host.communicator);
        loader.stop_requested = host.stop_requested;
        const auto stream = data->stream(loader);
        return measure_input_speed(*stream, stream->batches_per_sweep(), task.columns().unit, observers,
                                   host.stop_requested);
    }
    observers.on(metrics::Row{expected_validation_row(task), metrics::Row::Use::announced});

    observers.on(metrics::Status{metrics::kCompilationStatus, metrics::kCompiling});
    Evaluator evaluator(task, *backend, *data, settings, seed, host);
    const double seconds = since_start.seconds();
    observers.on(metrics::Duration{metrics::kCompilation, seconds, metrics::compilation_line(seconds)});
    observers.on(metrics::Status{metrics::kCompilationStatus, "compiled"});
    if (settings.device.compile_only) {
        observers.line("Compilation successful; stopping because of --compile-only.");
        return 0;
    }
    if (!task.has_real_data() && settings.training.iterations) evaluator.cut_short(*settings.training.iterations);
    Validation validation(task, evaluator, settings, host, observers);
    return points.empty() ? validation.of_random_weights(seed) : validation.of_checkpoints(points);
}

}  // namespace cnntrain::run
