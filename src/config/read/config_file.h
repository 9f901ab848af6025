// Reads named configurations from YAML files: mappings from a name to option values, with YAML 1.1 merge keys.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/config/option_values.h"

namespace cnntrain::config {

/// The entries of a configuration. `places`: *.yml files, or folders of them, searched in order. Old option names are
/// accepted as keys. Throws Error(usage) with the nearest name for an unknown key, value or configuration.
Layer read_config_layer(const OptionSet& options, const std::string& config, const std::vector<std::string>& places);

/// The names of the configurations in `places`, sorted.
std::vector<std::string> names_in(const std::vector<std::string>& places);

}  // namespace cnntrain::config
