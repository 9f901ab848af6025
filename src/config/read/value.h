// Words to values and back.
#pragma once

#include <string>
#include <vector>

#include "cnntrain/config/option.h"

namespace cnntrain::config {

/// The value of an option written as these words (a command line's, or the scalars of a file's entry).
/// Error(usage) says what the option expects.
Value convert(const Option& option, const std::vector<std::string>& words);

}  // namespace cnntrain::config
