// Checks on every JSON text before it is parsed, because parsers accept texts whose trees exhaust stack or memory.
#pragma once

#include <string_view>

namespace cnntrain {

/// Error(data) with line and column, unless `text` is one JSON value, nested at most 64 deep, with at most two million
/// values and without duplicate keys.
void check_json(std::string_view text);

}  // namespace cnntrain
