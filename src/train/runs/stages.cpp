#include "cnntrain/train/stages.h"

#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/listed.h"
#include "cnntrain/nn/model.h"
#include "cnntrain/schedule/pipeline.h"
#include "cnntrain/train/backends.h"
#include "cnntrain/train/compile_request.h"

namespace cnntrain::train {
namespace {

void check_splits(const TaskRow& task, const config::Settings& settings, const std::vector<std::string>& functions) {
    const TrainingSettings& training = settings.training;
    const auto count = static_cast<std::int64_t>(training.pipeline_splits.size());
    const bool right_count = count > 0 && (training.shards <= 1 || count == training.shards - 1);
    if (training.pipeline && !right_count) {
        const std::string needed = training.shards > 1 ? std::to_string(training.shards - 1) : "at least 1";
        throw Error(ErrorKind::usage,
                    "--pipeline with --shards " + std::to_string(training.shards) + " needs " + needed +
                        " --pipeline-splits, got " + std::to_string(count) + "; choose from: " +
                        joined(task.usual_splits != nullptr ? task.usual_splits(settings) : functions));
    }
    nn::check_splits(functions, training.pipeline_splits);
}

}  // namespace

schedule::BatchPlan batch_plan(const config::Settings& settings) {
    return schedule::batch_plan(settings.training);
}

schedule::RunPlan run_plan(const config::Settings& settings, std::int64_t images) {
    return schedule::make_run_plan({settings.training, settings.checkpoint, images, settings.validation.enabled});
}

void check_stages(const TaskRow& task, const config::Settings& settings) {
    const std::vector<std::string> functions = task.functions(settings);  // refuses sizes that the family does not have
    if (!settings.main.trains) return;
    check_splits(task, settings, functions);
    if (settings.training.pipeline) {
        const schedule::BatchPlan batch = batch_plan(settings);
        schedule::check_micro_batches({static_cast<std::int32_t>(batch.stages), settings.training.pipeline_schedule},
                                      batch.accumulation);
    }
    // A missing backend is refused later, when it is made.
    if (const auto backend = available_backend(settings.run.backend)) placement(settings, *backend);
}

}  // namespace cnntrain::train
