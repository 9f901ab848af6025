// Reading arguments.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cnntrain/config/parse.h"

namespace cnntrain::config {

/// The options in an arguments.json; unset values and keys that are no option are left out. Error(data) when damaged.
Layer layer_from_json(const OptionSet& options, std::string_view text);

/// A JSON list or object without blanks. Error(data) for what is neither.
std::string compact_json(std::string_view text);

/// Does an arguments.json say that its seed was drawn because none was given?
bool seed_was_drawn(std::string_view text);

/// How many processes the run had that wrote it; 1 where the text does not say.
std::int64_t recorded_processes(std::string_view text);

/// Can the text stand in arguments.json?
bool is_utf8(const std::string& text);

}  // namespace cnntrain::config
