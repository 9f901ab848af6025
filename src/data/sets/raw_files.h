// The files below a folder, for converters and for classifying images.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::data {

/// ".jpg" for "a/b.JPG"; "" without an extension.
std::string lower_extension(const std::string& path);

struct ListedFiles {
    std::vector<std::string> names;                // paths relative to the folder, sorted as text
    std::map<std::string, std::int64_t> left_out;  // number of other files by extension (".webp", or "" without one)
};

/// The files in and below a folder (following links) with one of `extensions` (".jpg", lower case; the files' may be in
/// any case). Skips hidden files and folders. Throws Error(data) if a folder cannot be read.
ListedFiles list_files(const std::string& folder, std::initializer_list<std::string_view> extensions);

/// "3 .webp, 1 without an extension"; "" when no file was left out.
std::string left_out_text(const ListedFiles& files);

}  // namespace cnntrain::data
