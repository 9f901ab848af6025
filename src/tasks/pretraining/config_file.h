// Configurations of pretraining: one JSON file each, with the options' keys.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/config/parse.h"

namespace cnntrain::tasks {

/// `config` as it is typed: a path, or a name with or without folder and ".json", looked for in the folders and in
/// their sub-folder bert. Older documents' names and a path that has grown into another by a slip of quotation marks
/// are understood. Error(usage) with the nearest name when there is none; Error(unsupported) for those of other
/// networks and tasks.
config::NamedConfig read_pretraining_config(const std::string& config, const config::Environment& environment);

/// The names in the folders, sorted, without ".json".
std::vector<std::string> pretraining_config_names(const std::vector<std::string>& folders);

}  // namespace cnntrain::tasks
