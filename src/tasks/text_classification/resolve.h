// The steps from the values of text classification's options to its settings.
#pragma once

#include "cnntrain/config/task_options.h"
#include "tasks/text_classification/options.h"

namespace cnntrain::tasks {

/// What is not given: the options of the run whose checkpoints are read, the model of the first checkpoint, the length.
void fill_text_options(Resolution& run);
/// Rules between options.
void check_text_options(Resolution& run);
/// Members that more than one option decides.
void complete_text_settings(Settings& settings, const Resolution& run);

}  // namespace cnntrain::tasks
