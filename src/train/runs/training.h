// A whole training: opened, compiled, trained, averaged and validated.
#pragma once

#include "cnntrain/backend/backend.h"
#include "cnntrain/train/runs.h"
#include "cnntrain/train/task.h"
#include "train/runs/resume.h"

namespace cnntrain::train {

/// Returns and throws what run_training() does, for any task.
int train(const Task& task, const backend::Backend& backend, RunStart start, const Host& host);

}  // namespace cnntrain::train
