#include "data/sets/raw_files.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <iterator>
#include <memory>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "data/images/file_format.h"

namespace cnntrain::data {
namespace {

namespace fs = std::filesystem;

/// Folders are rarely deeper; greater depth indicates a loop of links.
constexpr int kMaxRawDepth = 32;

bool holds_image(const std::string& path) {
    try {
        const std::unique_ptr<InputFile> file = posix_files().open(path);
        std::vector<std::byte> head(std::min<std::uint64_t>(file->size_bytes(), kFormatBytes));
        file->read_at(0, head);
        return file_format(head).has_value();
    } catch (const Error&) {
        return false;
    }
}

}  // namespace

std::string lower_extension(const std::string& path) {
    std::string extension = fs::path(path).extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return extension;
}

bool is_named_as_image(const std::string& path) {
    static constexpr std::string_view kExtensions[] = {".jpg", ".jpeg", ".jpe", ".png", ".webp",
                                                       ".bmp", ".gif",  ".tif", ".tiff"};
    return std::ranges::find(kExtensions, lower_extension(path)) != std::end(kExtensions);
}

bool is_image_file(const std::string& path) {
    return is_named_as_image(path) || holds_image(path);
}

namespace {

/// True if a link leads to a folder in which it lies itself.
bool is_loop(const fs::path& link) {
    std::error_code failed;
    const fs::path target = fs::canonical(link, failed);
    const fs::path here = fs::canonical(link.parent_path(), failed);
    return !failed && std::mismatch(target.begin(), target.end(), here.begin(), here.end()).first == target.end();
}

template <typename Wanted> ListedFiles list_if(const std::string& folder, const Wanted& wanted) {
    ListedFiles files;
    try {
        for (fs::recursive_directory_iterator entry(folder, fs::directory_options::follow_directory_symlink), end;
             entry != end; ++entry) {
            const fs::path& path = entry->path();
            if (entry.depth() > kMaxRawDepth) {
                throw Error(ErrorKind::data, "folder " + path.parent_path().string() + " is more than " +
                                                 std::to_string(kMaxRawDepth) +
                                                 " folders deep; is a link in it a loop?");
            }
            std::error_code failed;  // a link that leads to itself
            const bool is_hidden = path.filename().string().starts_with('.');
            const bool is_folder = entry->is_directory(failed);
            const bool loops = is_folder && entry->is_symlink(failed) && is_loop(path);
            if (is_hidden || !is_folder || loops) entry.disable_recursion_pending();
            if (is_hidden || (is_folder && !loops)) continue;
            const bool is_special = entry->exists(failed) && !entry->is_regular_file(failed);  // a pipe, say
            if (!is_special && wanted(path.string())) {
                files.names.push_back(path.lexically_relative(folder).string());
            } else {
                ++files.left_out[lower_extension(path.string())];
            }
        }
    } catch (const fs::filesystem_error& error) {
        throw Error(ErrorKind::data, "cannot read folder " + error.path1().string() + ": " + error.code().message());
    }
    std::sort(files.names.begin(), files.names.end());
    return files;
}

}  // namespace

ListedFiles list_files(const std::string& folder, std::string_view extension) {
    return list_if(folder, [&](const std::string& path) { return lower_extension(path) == extension; });
}

ListedFiles list_images(const std::string& folder) {
    return list_if(folder, is_image_file);
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
