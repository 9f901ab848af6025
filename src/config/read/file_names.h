// File names in option values.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/config/option_values.h"
#include "cnntrain/config/parse.h"

namespace cnntrain::config {

/// Replaces environment variables ($NAME, ${NAME}) in options marked Option::expands; the shell does not replace them
/// in files or in single quotes. A relative path that starts with a variable's name, where no such file exists, is
/// assumed to lack its $: it is expanded too, with a notice. Throws Error(usage) if a variable is not set.
void expand_file_names(Layer& layer, const Environment& environment, std::vector<std::string>& notices);

}  // namespace cnntrain::config
