// Converts words to option values.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/options/option.h"

namespace cnntrain::options {

/// The option's value from words of a command line, or from the scalars of a file's entry. Throws Error(usage) stating
/// what the option expects.
Value convert(const Option& option, const std::vector<std::string>& words);

}  // namespace cnntrain::options
