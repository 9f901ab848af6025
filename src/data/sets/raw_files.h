// The files below a folder, for converters and for classifying images.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain::data {

/// ".jpg" for "a/b.JPG"; "" without an extension.
std::string lower_extension(const std::string& path);

/// By its extension: .jpg, .png and so on, in any case.
bool is_named_as_image(const std::string& path);
/// The same, or by its first bytes. A link to nothing is one if its name says so: who reads it reports it.
bool is_image_file(const std::string& path);

struct ListedFiles {
    std::vector<std::string> names;                // paths relative to the folder, sorted as text
    std::map<std::string, std::int64_t> left_out;  // number of other files by extension (".webp", or "" without one)
};

/// The files in and below a folder (following links, but not those that lead back up) with an extension (".xml", lower
/// case; the files' may be in any case). Skips hidden files and folders. Throws Error(data) if a folder cannot be read.
ListedFiles list_files(const std::string& folder, std::string_view extension);

/// The same for files that are images (is_image_file()).
ListedFiles list_images(const std::string& folder);

/// "3 .webp, 1 without an extension"; "" when no file was left out.
std::string left_out_text(const ListedFiles& files);

}  // namespace cnntrain::data
