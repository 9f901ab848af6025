#pragma once

#include <string>
#include <vector>

namespace cnntrain::data {

/// Paths, relative to the folder, of every .jpg and .jpeg file (any case) in and below it, sorted as text. Error(data)
/// when there is none.
std::vector<std::string> list_jpeg_files(const std::string& folder);

}  // namespace cnntrain::data
