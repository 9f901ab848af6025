// Reads YAML text and enforces size limits before it is parsed: with anchors, a short file can expand without bound.
#pragma once

#include <string>
#include <string_view>

#include "cnntrain/base/error.h"

namespace cnntrain::options {

/// The text of a file of at most 1 MB, checked by check_yaml(). Throws Error(data) if the file cannot be read, and
/// check_yaml()'s Error(kind) otherwise; both name the file.
std::string yaml_text(const std::string& file, ErrorKind kind);

/// Throws Error(kind), with the line, if `text` is not valid YAML, holds more than one document, has an anchor that
/// contains itself, or, with all references (*name) expanded, holds more than 20000 values or nests deeper than 64
/// levels.
void check_yaml(std::string_view text, ErrorKind kind);

}  // namespace cnntrain::options
