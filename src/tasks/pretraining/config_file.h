// Configurations of pretraining: one JSON file each, with the options' keys.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/config/parse.h"

namespace cnntrain::tasks {

/// `config` as typed: a path, or a name with or without folder and ".json", which is searched for in the folders and in
/// their sub-folder bert. Names from older documents are accepted, and paths with trailing text after misplaced
/// quotation marks. Error(usage) with the nearest name if there is no such file; Error(unsupported) for configurations
/// of other networks and tasks.
config::NamedConfig read_pretraining_config(const std::string& config, const config::Environment& environment);

/// The names in the folders, sorted, without ".json".
std::vector<std::string> pretraining_config_names(const std::vector<std::string>& folders);

}  // namespace cnntrain::tasks
