// The files below a folder, for converters and for classifying photographs.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::data {

/// Paths, relative to the folder, of the files in and below it (following links) that have one of the extensions
/// (".jpg", lower case; files' may be of any case), sorted as text. Hidden files are left out. Error(data) when a
/// folder cannot be read.
std::vector<std::string> list_files(const std::string& folder, std::initializer_list<std::string_view> extensions);

}  // namespace cnntrain::data
