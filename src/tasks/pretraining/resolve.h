// The steps from the values of pretraining's options to its settings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/options/parse.h"
#include "cnntrain/options/task_options.h"
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

// Configurations of pretraining: one JSON file each, with the options' keys.

/// `config` as typed: a path, or a name with or without folder and ".json", which is searched for in the folders and in
/// their sub-folder bert. Names from older documents are accepted, and paths with trailing text after misplaced
/// quotation marks. Error(usage) with the nearest name if there is no such file; Error(unsupported) for configurations
/// of other networks and tasks.
options::NamedConfig read_pretraining_config(const std::string& config, const options::Environment& environment);

/// The names in the folders, sorted, without ".json".
std::vector<std::string> pretraining_config_names(const std::vector<std::string>& folders);

}  // namespace cnntrain::tasks
