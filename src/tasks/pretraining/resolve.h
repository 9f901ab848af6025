// The steps from the values of pretraining's options to its settings.
#pragma once

#include <cstdint>

#include "cnntrain/config/task_options.h"
#include "tasks/pretraining/options.h"

namespace cnntrain::tasks {

/// The number of micro-batches per weight update must be a multiple of this. As in the original programs, it depends on
/// the number of stages but not on the schedule.
std::int64_t micro_batch_unit(std::int64_t stages);

void fill_pretraining(Resolution& run);
void adjust_pretraining(Resolution& run);
void check_pretraining(Resolution& run);
bool pretraining_trains(const Resolution& run);
void complete_pretraining(Settings& settings, Resolution& run);

}  // namespace cnntrain::tasks
