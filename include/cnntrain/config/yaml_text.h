// YAML files, held against limits before anything is made of them: anchors let a short file stand for an endless one.
#pragma once

#include <string>
#include <string_view>

#include "cnntrain/base/error.h"

namespace cnntrain::config {

/// The text of a file of at most 1 MB. Error(data) when it cannot be read, Error(kind) as check_yaml(), naming the
/// file.
std::string yaml_text(const std::string& file, ErrorKind kind);

/// Error(kind) saying what and in which line, unless the first document of `text` is YAML without an anchor that
/// contains itself and, with every reference (*name) replaced by what it stands for, holds at most 20000 values, nested
/// at most 64 deep.
void check_yaml(std::string_view text, ErrorKind kind);

}  // namespace cnntrain::config
