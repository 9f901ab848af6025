#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>

#include "base/io_messages.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"

namespace cnntrain {
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

}  // namespace cnntrain
