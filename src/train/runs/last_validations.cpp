#include "train/runs/last_validations.h"

#include <string>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/checkpoint/averaged_weights.h"
#include "cnntrain/metrics/csv_files.h"
#include "cnntrain/metrics/rows.h"
#include "train/reports/describe.h"
#include "train/runs/averaging.h"
#include "train/runs/evaluator.h"
#include "train/runs/ranks.h"
#include "train/runs/run_files.h"

namespace cnntrain::train {
namespace {

/// A checkpoint to validate.
struct ValidatedPoint {
    metrics::ValidationRow row;
    std::string path;
};

checkpoint::Edited edited_checkpoints(const TrainingRun& run) {
    return checkpoint::edited_if(run.settings().checkpoint.trust_edited);
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
std::vector<ValidatedPoint> points_to_do(TrainingRun& run, std::vector<ValidatedPoint> points) {
    std::erase_if(points, [&](const ValidatedPoint& point) {
        const bool done =
            !run.folder.logs.empty() && metrics::is_validated(run.files(), run.folder.logs, point.row.name);
        if (done) run.observers.line(metrics::skipped_validation_line(point.row.name));
        return done;
    });
    comm::Communicator& all = *run.host.communicator;
    points.resize(std::stoul(told(all, std::to_string(points.size()), "number of validations")));
    for (ValidatedPoint& point : points) {
        metrics::ValidationRow& row = point.row;
        row.name = told(all, row.name, "checkpoint to validate");
        row.iteration = std::stoll(told(all, std::to_string(row.iteration), "checkpoint to validate"));
    }
    return points;
}

/// Returns false if a stop was requested.
bool validate_points(TrainingRun& run, const TrainingData& data, std::vector<ValidatedPoint> points) {
    points = points_to_do(run, std::move(points));
    if (points.empty()) return true;
    Evaluator evaluator(run.task, run.backend, *data.validation, run.settings(), run.seed, run.host);
    run.observers.validation_began();
    for (ValidatedPoint& point : points) {
        point.row.epoch = data.plan.epoch_at(point.row.iteration);
        if (is_first(run.host))
            evaluator.load(checkpoint::load(run.files(), point.path, edited_checkpoints(run)), point.path);
        evaluator.share_weights();
        run.observers.evaluation_began(point.row.epoch);
        const auto result = evaluator.run(point.row, run.observers);
        if (!result) {
            run.observers.result({"Validation stopped by a signal; " + how_to_continue(run.folder, run.arguments)});
            return false;
        }
        run.observers.row(reported(run.task, *result));
    }
    run.observers.validation_ended();
    return true;
}

}  // namespace

bool average_and_validate(TrainingRun& run, const TrainingData& data) {
    std::vector<ValidatedPoint> points;
    if (is_first(run.host)) points = validation_points(run, data.plan, average(run, data.plan));
    return !data.validation || validate_points(run, data, std::move(points));
}

}  // namespace cnntrain::train
