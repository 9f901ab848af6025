// The steps from the values of text classification's options to its settings.
#pragma once

#include "cnntrain/options/task_options.h"
#include "tasks/text_classification/options.h"

namespace cnntrain::tasks {

/// Fills in options that are not given: those of the run whose checkpoints are read, the model of --init-checkpoint,
/// the length of the run.
void fill_text_options(Resolution& run);
/// Rules between options.
void check_text_options(Resolution& run);
/// Sets members that depend on several options.
void complete_text_settings(Settings& settings, Resolution& run);

}  // namespace cnntrain::tasks
