#include "cnntrain/base/io.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <random>
#include <system_error>

#include "base/io_messages.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"

namespace cnntrain {
namespace {

constexpr std::size_t kTagDigits = 12;

/// The kind of a file; nothing when the system does not report it.
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

void for_each_piece(const InputFile& file, std::uint64_t begin, std::uint64_t bytes,
                    const std::function<void(std::span<const std::byte>)>& visit) {
    constexpr std::uint64_t kAtOnce = 1 << 20;
    std::vector<std::byte> piece;
    for (std::uint64_t at = 0; at < bytes; at += piece.size()) {
        piece.resize(std::min(kAtOnce, bytes - at));
        file.read_at(begin + at, piece);
        visit(piece);
    }
}

std::string text_in(const InputFile& file, std::uint64_t begin, std::uint64_t bytes) {
    std::string text(bytes, '\0');
    file.read_at(begin, std::as_writable_bytes(std::span(text)));
    return text;
}

std::string whole_text(const InputFile& file, std::uint64_t most_bytes) {
    if (file.size_bytes() > most_bytes) {
        throw Error(ErrorKind::data, "'" + file.path() + "' has " + std::to_string(file.size_bytes()) +
                                         " bytes, more than the " + std::to_string(most_bytes) +
                                         " that a file of its kind may have; is it another file?");
    }
    return text_in(file, 0, file.size_bytes());
}

std::string read_text(const FileSystem& files, const std::string& path, std::uint64_t most_bytes) {
    return whole_text(*files.open(path), most_bytes);
}

std::string beginning_of(const FileSystem& files, const std::string& path, std::uint64_t most_bytes) {
    const auto file = files.open(path);
    return text_in(*file, 0, std::min(most_bytes, file->size_bytes()));
}

void write_text(FileSystem& files, const std::string& path, std::string_view text) {
    const auto file = files.create(path);
    file->write(std::as_bytes(std::span(text)));
    file->commit();
}

std::string cannot_write(const std::string& path, int error) {
    std::string text = "cannot write '" + path + "': " + std::generic_category().message(error);
    if (error == ENOSPC || error == EDQUOT) {
        text +=
            "; a previous file of this name is untouched; free some space, then run the line again (a run: cnntrain "
            "restore)";
    }
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

namespace {

class MemoryInput : public InputFile {
public:
    MemoryInput(std::string path, std::string content, std::int64_t modified_ns)
        : path_(std::move(path)), content_(std::move(content)), modified_ns_(modified_ns) {}

    const std::string& path() const override { return path_; }
    std::uint64_t size_bytes() const override { return content_.size(); }
    std::int64_t modified_ns() const override { return modified_ns_; }
    void will_need(std::uint64_t /*offset*/, std::uint64_t /*count*/) const noexcept override {}

    void read_at(std::uint64_t offset, std::span<std::byte> out) const override {
        if (offset > content_.size() || out.size() > content_.size() - offset)
            throw Error(ErrorKind::data, ends_early(path_, content_.size(), offset, out.size()));
        if (!out.empty()) std::memcpy(out.data(), content_.data() + offset, out.size());
    }

private:
    std::string path_;
    std::string content_;
    std::int64_t modified_ns_;
};

/// A folder is an empty entry whose name ends in a slash, or the beginning of another entry's name.
std::string folder_key(const std::string& path) {
    const std::string folder = without_trailing_slashes(path);
    return folder == "/" ? folder : folder + "/";
}

}  // namespace

/// Grows under the partial name, as on a disk, so that capacity and left-overs behave alike.
class MemoryOutput : public OutputFile {
public:
    MemoryOutput(MemoryFiles& files, const std::string& path)
        : files_(files), path_(path), partial_(partial_name(path)) {
        files_.files_[partial_] = {};
    }
    MemoryOutput(const MemoryOutput&) = delete;
    MemoryOutput& operator=(const MemoryOutput&) = delete;

    ~MemoryOutput() override {
        if (!committed_) files_.files_.erase(partial_);
    }

    void write(std::span<const std::byte> data) override {
        if (data.size() > files_.capacity_bytes_ - std::min(files_.capacity_bytes_, files_.used_bytes()))
            throw Error(ErrorKind::storage, cannot_write(path_, ENOSPC));
        files_.files_[partial_].bytes.append(reinterpret_cast<const char*>(data.data()), data.size());
    }

    void commit() override {
        files_.files_[path_] = {std::move(files_.files_[partial_].bytes), ++files_.changes_};
        files_.files_.erase(partial_);
        committed_ = true;
    }

private:
    MemoryFiles& files_;
    std::string path_;
    std::string partial_;
    bool committed_ = false;
};

/// A lock is taken while its file has content.
class MemoryLock : public FileLock {
public:
    MemoryLock(MemoryFiles& files, const std::string& path) : files_(files), path_(path) {}
    ~MemoryLock() override {
        const auto found = files_.files_.find(path_);  // absent: the file was removed while it was locked
        if (found != files_.files_.end()) found->second.bytes.clear();
    }
    MemoryLock(const MemoryLock&) = delete;
    MemoryLock& operator=(const MemoryLock&) = delete;

private:
    MemoryFiles& files_;
    std::string path_;
};

std::unique_ptr<InputFile> MemoryFiles::open(const std::string& path) const {
    const auto found = files_.find(path);
    if (found == files_.end())
        throw Error(ErrorKind::data, "cannot read '" + path + "': " + std::generic_category().message(ENOENT));
    return std::make_unique<MemoryInput>(path, found->second.bytes, found->second.modified_ns);
}

std::unique_ptr<OutputFile> MemoryFiles::create(const std::string& path) {
    return std::make_unique<MemoryOutput>(*this, path);
}

void MemoryFiles::append(const std::string& path, std::string_view text) {
    if (text.size() > capacity_bytes_ - std::min(capacity_bytes_, used_bytes()))
        throw Error(ErrorKind::storage, cannot_write(path, ENOSPC));
    Content& content = files_[path];
    content.bytes += text;
    content.modified_ns = ++changes_;
}

FileKind MemoryFiles::kind(const std::string& path) const {
    const std::string folder = folder_key(path);
    const auto found = files_.lower_bound(folder);
    if (found != files_.end() && found->first.starts_with(folder)) return FileKind::directory;
    return files_.contains(path) ? FileKind::file : FileKind::absent;
}

std::vector<std::string> MemoryFiles::list(const std::string& directory) const {
    if (kind(directory) != FileKind::directory)
        throw Error(ErrorKind::data, "cannot read '" + directory + "': " + std::generic_category().message(ENOENT));
    const std::string folder = folder_key(directory);
    std::vector<std::string> names;
    for (auto it = files_.lower_bound(folder); it != files_.end() && it->first.starts_with(folder); ++it) {
        const std::string rest = it->first.substr(folder.size());
        const std::string name = rest.substr(0, rest.find('/'));
        if (!name.empty()) names.push_back(name);
    }
    std::ranges::sort(names);
    names.erase(std::unique(names.begin(), names.end()), names.end());
    return names;
}

void MemoryFiles::make_directories(const std::string& path) {
    files_.try_emplace(folder_key(path));
}

void MemoryFiles::remove(const std::string& path) {
    if (kind(path) == FileKind::directory) {
        if (!list(path).empty()) throw Error(ErrorKind::storage, cannot_write(path, ENOTEMPTY));
        files_.erase(folder_key(path));
    }
    files_.erase(path);
}

LockAttempt MemoryFiles::try_lock(const std::string& path, std::string_view holder) {
    std::string& there = files_[path].bytes;
    if (!there.empty()) return {nullptr, there};
    there = holder;
    return {std::make_unique<MemoryLock>(*this, path)};
}

std::uint64_t MemoryFiles::used_bytes() const {
    std::uint64_t total = 0;
    for (const auto& [path, content] : files_)
        total += content.bytes.size();
    return total;
}

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

FileContent content_of(const InputFile& file) {
    FileContent content;
    for_each_piece(file, 0, file.size_bytes(), [&](std::span<const std::byte> piece) { content.add(piece); });
    return content;
}

bool holds(const FileSystem& files, const std::string& path, const FileContent& content) {
    if (files.kind(path) != FileKind::file) return false;
    const std::unique_ptr<InputFile> file = files.open(path);
    return file->size_bytes() == content.bytes && content_of(*file) == content;
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
