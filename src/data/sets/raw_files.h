// The files below a folder, for converters and for classifying photographs.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::data {

/// ".jpg" of "a/b.JPG"; "" without one.
std::string lower_extension(const std::string& path);

struct ListedFiles {
    std::vector<std::string> names;                // paths relative to the folder, sorted as text
    std::map<std::string, std::int64_t> left_out;  // other files, counted by extension (".webp", or "" without one)
};

/// The files in and below a folder (following links) that have one of the extensions (".jpg", lower case; files' may be
/// of any case). Hidden files and folders do not count. Error(data) when a folder cannot be read.
ListedFiles list_files(const std::string& folder, std::initializer_list<std::string_view> extensions);

/// "3 .webp, 1 without an extension"; "" when no file was left out.
std::string left_out_text(const ListedFiles& files);

}  // namespace cnntrain::data
