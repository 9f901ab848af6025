// Named configurations in YAML files: a mapping from name to option values, with YAML 1.1 merge keys.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/config/option_values.h"

namespace cnntrain::config {

/// The entries of a configuration. `places` are files or folders of *.yml files, searched in order. Keys may be old
/// names; an unknown key, value or configuration is Error(usage) with the nearest name.
Layer read_config_layer(const OptionSet& options, const std::string& config, const std::vector<std::string>& places);

/// The configurations in `places`, sorted.
std::vector<std::string> names_in(const std::vector<std::string>& places);

}  // namespace cnntrain::config
