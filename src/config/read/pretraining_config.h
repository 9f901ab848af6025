// Configurations of pretraining: one JSON file each, with the options' keys.
#pragma once

#include <string>
#include <vector>

#include "config/read/option_values.h"

namespace cnntrain::config {

struct PretrainingConfig {
    std::string name = {};  // as it was typed, without what a slip has added
    Layer layer = {};
    std::string notice = {};  // for the user; empty: nothing to say
};

/// `config` as it is typed: a path, or a name with or without folder and ".json", looked for in the folders and in their
/// sub-folder bert. Older documents' names and a path that has grown into another by a slip of quotation marks are
/// understood. Error(usage) with the nearest name when there is none; Error(unsupported) for those of other
/// networks and tasks.
PretrainingConfig read_pretraining_config(const std::string& config, const std::vector<std::string>& folders);

/// The names in the folders, sorted, without ".json".
std::vector<std::string> pretraining_config_names(const std::vector<std::string>& folders);

}  // namespace cnntrain::config
