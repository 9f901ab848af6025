// Reading arguments.json.
#pragma once

#include <string_view>

#include "config/option_values.h"

namespace cnntrain::config {

/// The options in an arguments.json; unset values and keys that are no option are left out. Error(data) when damaged.
Layer layer_from_json(std::string_view text);

}  // namespace cnntrain::config
