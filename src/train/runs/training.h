// A whole training: opened, compiled, trained, averaged and validated.
#pragma once

#include "cnntrain/backend/backend.h"
#include "cnntrain/train/runs.h"
#include "train/runs/resume.h"
#include "train/tasks/task.h"

namespace cnntrain::train {

/// Returns and throws what run_training() does, for any task.
int train(const Task& task, const backend::Backend& backend, RunStart start, const Host& host);

}  // namespace cnntrain::train
