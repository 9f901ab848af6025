#include "data/sets/raw_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cnntrain/base/error.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

/// Folders are seldom deeper; a loop of links is endless.
constexpr int kMaxDepth = 32;

std::string lower_extension(const fs::path& path) {
    std::string extension = path.extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return extension;
}

}  // namespace

std::vector<std::string> list_files(const std::string& folder, std::initializer_list<std::string_view> extensions) {
    std::vector<std::string> names;
    try {
        for (fs::recursive_directory_iterator entry(folder, fs::directory_options::follow_directory_symlink), end;
             entry != end; ++entry) {
            const fs::path& path = entry->path();
            if (entry.depth() > kMaxDepth) {
                throw Error(ErrorKind::data, "folder " + path.parent_path().string() + " is more than " +
                                                 std::to_string(kMaxDepth) + " folders deep; is a link in it a loop?");
            }
            if (path.filename().string().starts_with('.')) {
                entry.disable_recursion_pending();
                continue;
            }
            const bool wanted =
                std::find(extensions.begin(), extensions.end(), lower_extension(path)) != extensions.end();
            if (wanted && !entry->is_directory()) names.push_back(path.lexically_relative(folder).string());
        }
    } catch (const fs::filesystem_error& error) {
        throw Error(ErrorKind::data, "cannot read folder " + error.path1().string() + ": " + error.code().message());
    }
    std::sort(names.begin(), names.end());
    return names;
}

}  // namespace cnntrain::data
