// `cnntrain validation`: the accuracy of checkpoints that are already there.
#include <string>
#include <utility>
#include <vector>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"
#include "cnntrain/checkpoint/folder.h"
#include "cnntrain/data/input.h"
#include "cnntrain/metrics/run_log.h"
#include "cnntrain/train/assemble.h"
#include "cnntrain/train/runs.h"
#include "train/evaluator.h"
#include "train/external_logs.h"
#include "train/input_benchmark.h"
#include "train/run_folder.h"
#include "train/stopwatch.h"

namespace cnntrain::train {

namespace {

/// Epoch of a checkpoint: as it says itself, unless the user gives the global batch.
double epoch_of(const checkpoint::Checkpoint& checkpoint, const config::Settings& settings) {
    if (!settings.main.total_batch_size) return checkpoint.epoch;
    const std::int64_t images = data::dataset_info(settings.data.dataset).train_images;
    return static_cast<double>(*settings.main.total_batch_size * checkpoint.iteration) / static_cast<double>(images);
}

/// `--repeat` runs of the weights that are loaded; false when a stop was asked for.
bool run_repeatedly(Evaluator& evaluator, const metrics::ValidationRow& point, const config::Settings& settings,
                    const Host& host, metrics::RunLog& log) {
    for (std::int64_t i = 0; i < settings.main.repeat; ++i) {
        const auto row = evaluator.run(point, log, host.stop_requested);
        if (!row) {
            log.line("Validation of " + point.name + " stopped by a signal.");
            return false;
        }
        log.validation(*row);
    }
    return true;
}

}  // namespace

int run_validation(const config::ParseResult& arguments, const Host& host) {
    const Stopwatch since_start;
    const config::Settings& settings = arguments.settings;
    FileSystem& files = *host.files;
    const std::uint64_t seed = static_cast<std::uint64_t>(settings.device.seed.value_or(0));
    std::vector<checkpoint::Found> points;
    if (settings.main.restore_path) points = checkpoint::find_checkpoints(files, *settings.main.restore_path);

    const auto backend = make_backend(settings.run.backend);
    const data::InputData data(data_settings(settings, backend->half_type(), seed), data::Split::validation);
    const RunFolder folder = new_run_folder(settings, files);
    const auto run_log = open_evaluation_log(arguments, folder, host);
    metrics::RunLog& log = *run_log;
    if (settings.device.dataset_benchmark) {
        const auto stream = data.stream(loader_settings(settings, 0));
        benchmark_input(*stream, stream->batches_per_pass(), log, host.stop_requested);
        return 0;
    }
    log.expect_validations(record(metrics::ValidationRow{}));

    log.status("compilation_status", "in progress");
    Evaluator evaluator(settings, *backend, data, seed);
    log.line(metrics::compilation_line(since_start.seconds()));
    log.status("compilation_status", "compiled");
    if (settings.device.compile_only) {
        log.line("Compilation successful; stopping because of --compile-only.");
        return 0;
    }
    const bool all_alike = settings.data.kind != data::DataKind::real;
    if (all_alike && settings.training.iterations) evaluator.cut_short(*settings.training.iterations);
    if (points.empty()) {
        log::warning("no --restore-path: the weights are random, and so is the accuracy");
        evaluator.load_random(seed);
        metrics::ValidationRow row;
        row.name = "random";
        return run_repeatedly(evaluator, row, settings, host, log) ? 0 : kInterruptedExitCode;
    }
    for (const checkpoint::Found& point : points) {
        checkpoint::Checkpoint checkpoint = checkpoint::load(files, point.path);
        metrics::ValidationRow row;
        row.name = point.name;
        row.iteration = checkpoint.iteration;
        row.epoch = epoch_of(checkpoint, settings);
        if (settings.device.analyse_nans) log.nans(count_nans(checkpoint.iteration, checkpoint.tensors));
        evaluator.load(std::move(checkpoint), point.path);
        if (!run_repeatedly(evaluator, row, settings, host, log)) return kInterruptedExitCode;
    }
    return 0;
}

}  // namespace cnntrain::train
