#include "cnntrain/base/io.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <system_error>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"

namespace cnntrain {
namespace {

/// Equal for two names of one place: device and number of what exists, otherwise the path without links and "..".
std::string identity(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) == 0) return std::to_string(status.st_dev) + " " + std::to_string(status.st_ino);
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    const std::filesystem::path canonical = std::filesystem::weakly_canonical(absolute, error);
    return error ? path : canonical.lexically_normal().string();
}

bool is_link(const std::string& path) {
    std::error_code error;
    return std::filesystem::is_symlink(std::filesystem::symlink_status(path, error));
}

std::string described(const NamedPath& place) {
    return place.name + " " + place.path;
}

[[noreturn]] void refuse(const NamedPath& place, const std::string& why) {
    throw Error(ErrorKind::usage, described(place) + ": " + why);
}

void check_replaceable(const FileSystem& files, const Output& output) {
    if (output.path.empty() || output.path.ends_with('/')) refuse(output, "expected the name of a file");
    switch (files.kind(output.path)) {
        case FileKind::absent:
            if (is_link(output.path))
                refuse(output, "a link that leads nowhere is there; remove it, or choose another name");
            return;
        case FileKind::directory:
            refuse(output, "a folder is there; give the name of a file");
        case FileKind::other:
            refuse(output, "a device, a pipe or a socket is there, which is never replaced; choose another name");
        case FileKind::file:
            break;
    }
    if (output.overwrite || (output.is_own && output.is_own(files, output.path))) return;
    const std::string option =
        output.overwrite_option.empty() ? "remove it" : "replace it with " + output.overwrite_option;
    refuse(output, "the file exists already; choose another name, or " + option);
}

}  // namespace

void FileContent::add(std::span<const std::byte> more) {
    bytes += more.size();
    checksum = crc32c(more, checksum);
}

FileContent content_of(std::string_view text) {
    FileContent content;
    content.add(std::as_bytes(std::span(text)));
    return content;
}

bool holds(const FileSystem& files, const std::string& path, const FileContent& content) {
    constexpr std::uint64_t kAtOnce = 1 << 20;
    if (files.kind(path) != FileKind::file) return false;
    const std::unique_ptr<InputFile> file = files.open(path);
    if (file->size_bytes() != content.bytes) return false;
    FileContent found;
    std::vector<std::byte> part;
    while (found.bytes < content.bytes) {
        part.resize(std::min(kAtOnce, content.bytes - found.bytes));
        file->read_at(found.bytes, part);
        found.add(part);
    }
    return found == content;
}

void check_outputs(const FileSystem& files, const std::vector<Output>& outputs, const std::vector<NamedPath>& inputs) {
    std::map<std::string, std::string> taken;  // identity -> what it is
    for (const NamedPath& input : inputs)
        taken.emplace(identity(input.path), described(input) + ", which is read");
    for (const Output& output : outputs) {
        const auto [place, is_new] = taken.emplace(identity(output.path), described(output) + ", which is written");
        if (!is_new) refuse(output, "this is also " + place->second + "; choose another name");
        check_replaceable(files, output);
    }
}

}  // namespace cnntrain
