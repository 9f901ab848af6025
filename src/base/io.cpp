#include "cnntrain/base/io.h"

#include <cerrno>
#include <random>
#include <system_error>

#include "base/io_messages.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"

namespace cnntrain {
namespace {

constexpr std::size_t kTagDigits = 12;

/// Nothing when the system does not say.
std::optional<FileKind> known_kind(const FileSystem& files, const std::string& path) {
    try {
        return files.kind(path);
    } catch (const Error&) {
        return std::nullopt;
    }
}

}  // namespace

bool exists(const FileSystem& files, const std::string& path) {
    return known_kind(files, path).value_or(FileKind::absent) != FileKind::absent;
}

bool is_directory(const FileSystem& files, const std::string& path) {
    return known_kind(files, path) == FileKind::directory;
}

std::string read_text(const FileSystem& files, const std::string& path, std::uint64_t most_bytes) {
    const auto file = files.open(path);
    if (file->size_bytes() > most_bytes) {
        throw Error(ErrorKind::data, "'" + path + "' has " + std::to_string(file->size_bytes()) +
                                         " bytes, more than the " + std::to_string(most_bytes) +
                                         " that a file of its kind may have; is it another file?");
    }
    std::string text(file->size_bytes(), '\0');
    file->read_at(0, std::as_writable_bytes(std::span(text)));
    return text;
}

void write_text(FileSystem& files, const std::string& path, std::string_view text) {
    const auto file = files.create(path);
    file->write(std::as_bytes(std::span(text)));
    file->commit();
}

std::string cannot_write(const std::string& path, int error) {
    std::string text = "cannot write '" + path + "': " + std::generic_category().message(error);
    if (error == ENOSPC || error == EDQUOT)
        text +=
            "; a previous file of this name is untouched; free some space, then run the line again (a run: cnntrain "
            "restore)";
    return text;
}

std::string ends_early(const std::string& path, std::uint64_t size_bytes, std::uint64_t offset, std::uint64_t count) {
    return "'" + path + "' ends after " + std::to_string(size_bytes) + " bytes, but bytes " + std::to_string(offset) +
           " to " + std::to_string(offset + count) + " are needed; the file is cut short or still being written";
}

std::string partial_name(const std::string& path) {
    std::random_device device;  // the system's: no other process can guess it
    const std::string tag = hex_text(std::uint32_t{device()}) + hex_text(std::uint32_t{device()});
    return path + "." + tag.substr(0, kTagDigits) + std::string(kPartialSuffix);
}

std::optional<std::string_view> finished_name(std::string_view file_name) {
    if (!file_name.ends_with(kPartialSuffix)) return std::nullopt;
    file_name.remove_suffix(kPartialSuffix.size());
    const std::size_t dot = file_name.rfind('.');
    const bool tagged = dot != std::string_view::npos && file_name.size() - dot - 1 == kTagDigits &&
                        file_name.find_first_not_of("0123456789abcdef", dot + 1) == std::string_view::npos;
    return tagged ? file_name.substr(0, dot) : file_name;
}

std::string without_trailing_slashes(std::string path) {
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
    return path;
}

std::string path_in(const std::string& folder, std::string_view name) {
    return without_trailing_slashes(folder) + "/" + std::string(name);
}

}  // namespace cnntrain
