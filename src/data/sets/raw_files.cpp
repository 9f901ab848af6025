#include "data/sets/raw_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "cnntrain/base/error.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

/// Folders are rarely deeper; greater depth indicates a loop of links.
constexpr int kMaxDepth = 32;

}  // namespace

std::string lower_extension(const std::string& path) {
    std::string extension = fs::path(path).extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return extension;
}

ListedFiles list_files(const std::string& folder, std::initializer_list<std::string_view> extensions) {
    ListedFiles files;
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
            if (entry->is_directory()) continue;
            const std::string extension = lower_extension(path.string());
            if (std::find(extensions.begin(), extensions.end(), extension) == extensions.end()) {
                ++files.left_out[extension];
            } else {
                files.names.push_back(path.lexically_relative(folder).string());
            }
        }
    } catch (const fs::filesystem_error& error) {
        throw Error(ErrorKind::data, "cannot read folder " + error.path1().string() + ": " + error.code().message());
    }
    std::sort(files.names.begin(), files.names.end());
    return files;
}

std::string left_out_text(const ListedFiles& files) {
    std::string text;
    for (const auto& [extension, count] : files.left_out) {
        text += (text.empty() ? "" : ", ") + std::to_string(count) + " ";
        text += extension.empty() ? "without an extension" : extension;
    }
    return text;
}

}  // namespace cnntrain::data
