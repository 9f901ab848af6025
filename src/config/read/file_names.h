// Names of files in the values of options.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/config/option_values.h"
#include "cnntrain/config/parse.h"

namespace cnntrain::config {

/// Replaces variables of the environment ($NAME, ${NAME}) in the options that say so (Option::expands): no shell has
/// done it where a line has them in single quotes or in a file. A relative name that begins with a variable's name, and
/// not with that of a file, has lost its $: it is replaced, too, and a notice says so. Error(usage) for a variable that
/// is not set.
void expand_file_names(Layer& layer, const Environment& environment, std::vector<std::string>& notices);

}  // namespace cnntrain::config
