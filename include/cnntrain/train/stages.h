// Batches, length and pipeline stages of a training run.
#pragma once

#include <cstdint>

#include "cnntrain/config/settings.h"
#include "cnntrain/schedule/run_plan.h"
#include "cnntrain/train/task.h"

namespace cnntrain::train {

/// The batches of one process.
schedule::BatchPlan batch_plan(const config::Settings& settings);
/// `samples`: number of training samples. Throws Error(usage) like schedule::make_run_plan().
schedule::RunPlan run_plan(const config::Settings& settings, std::int64_t samples);

/// Throws Error(usage) for splits that are not functions of the network (naming the nearest), that are out of order or
/// that do not match --shards; for a number of micro-batches that the pipeline schedule cannot run; and for anything
/// that the backend's placement() refuses. An evaluation has no stages.
void check_stages(const TaskRow& task, const config::Settings& settings);

}  // namespace cnntrain::train
