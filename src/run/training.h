// A complete training run: open the data, compile, train, average, validate.
#pragma once

#include "cnntrain/backend/backend.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "run/resume.h"

namespace cnntrain::run {

/// Returns and throws like run_training(), for any task.
int train(const Task& task, const backend::Backend& backend, RunStart start, const Host& host);

}  // namespace cnntrain::run
