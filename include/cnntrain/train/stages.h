// Batches, length and pipeline stages of a training.
#pragma once

#include <cstdint>

#include "cnntrain/config/settings.h"
#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

/// Of one process.
schedule::BatchPlan batch_plan(const config::Settings& settings);
/// `samples`: of the training data. Error(usage) as schedule::make_run_plan().
schedule::RunPlan run_plan(const config::Settings& settings, std::int64_t samples);

/// Error(usage) for splits that are not functions of the network (naming the nearest), not in its order, or not as many
/// as --shards asks for; for micro-batches that the pipeline's schedule cannot take, and what the backend's placement()
/// refuses. An evaluation has no stages.
void check_stages(const TaskRow& task, const config::Settings& settings);

}  // namespace cnntrain::train
