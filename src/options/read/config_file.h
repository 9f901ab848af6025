// Reads named configurations from YAML files: mappings from a name to option values, with YAML 1.1 merge keys.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/options/option_values.h"
#include "cnntrain/options/parse.h"

namespace cnntrain::options {

/// The entries of a configuration. `places`: *.yml files, or folders of them, searched in order. Old option names are
/// accepted as keys. Throws Error(usage) with the nearest name for an unknown key, value or configuration.
Layer read_config_layer(const OptionSet& options, const std::string& config, const std::vector<std::string>& places);

/// The names of the configurations in `places`, sorted.
std::vector<std::string> names_in(const std::vector<std::string>& places);

// File names in option values.

/// Replaces environment variables ($NAME, ${NAME}) in options marked Option::expands; the shell does not replace them
/// in files or in single quotes. A relative path that starts with a variable's name, where no such file exists, is
/// assumed to lack its $: it is expanded too, with a notice. Throws Error(usage) if a variable is not set.
void expand_file_names(Layer& layer, const Environment& environment, std::vector<std::string>& notices);

}  // namespace cnntrain::options
