// Rules of the layers: which room may include which.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::layers {

/// Returns the faults of one file, one text per finding ("<path>:<line>: ..."). `path` is relative to the repository:
/// "src/data/loading/loader.cpp", "include/cnntrain/data/loader.h".
std::vector<std::string> findings(const std::string& path, std::string_view text);

}  // namespace cnntrain::layers
