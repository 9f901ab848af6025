// The steps from the values of pretraining's options to its settings.
#pragma once

#include "cnntrain/config/task_options.h"
#include "tasks/pretraining/options.h"

namespace cnntrain::tasks {

void fill_pretraining(Resolution& run);
void adjust_pretraining(Resolution& run);
void check_pretraining(Resolution& run);
bool pretraining_trains(const Resolution& run);
void complete_pretraining(Settings& settings, const Resolution& run);

}  // namespace cnntrain::tasks
