// Reads arguments.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "cnntrain/config/parse.h"

namespace cnntrain::config {

/// A JSON list or object without blanks. Throws Error(data) for any other text.
std::string compact_json(std::string_view text);

/// True if arguments.json records that the seed was drawn because none was given.
bool seed_was_drawn(std::string_view text);

/// The recorded number of processes; 1 if it is not recorded.
std::int64_t recorded_processes(std::string_view text);

}  // namespace cnntrain::config
