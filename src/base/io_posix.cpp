#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>

#include "base/io_messages.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/log.h"
#include "cnntrain/base/text.h"

namespace cnntrain {
namespace {

class Descriptor {
public:
    explicit Descriptor(int number) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    Descriptor& operator=(Descriptor&&) = delete;
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }

    int get() const { return number_; }
    bool valid() const { return number_ >= 0; }
    /// Some file systems report a failed write only here.
    bool close() { return ::close(std::exchange(number_, -1)) == 0; }

private:
    int number_;
};

// Locks of the process's real file system.

constexpr off_t kLockedByte = off_t{1} << 20;

/// The system gives the lock back when the last descriptor of the opened file is closed, by whatever end of the
/// process.
class PosixLock : public FileLock {
public:
    explicit PosixLock(Descriptor&& file) : file_(std::move(file)) {}
    PosixLock(const PosixLock&) = delete;
    PosixLock& operator=(const PosixLock&) = delete;
    /// The file stays: somebody who has it open already would lock a file that nobody else finds.
    ~PosixLock() override { write(""); }

    /// The text is only a help for others, so that a full disk is no reason to stop.
    void write(std::string_view holder) const {
        if (::ftruncate(file_.get(), 0) != 0) return;
        if (::pwrite(file_.get(), holder.data(), holder.size(), 0) < 0) return;
    }

private:
    Descriptor file_;
};

Descriptor open_lock_file(const std::string& path) {
    Descriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666));
    if (!file.valid()) throw Error(ErrorKind::storage, cannot_write(path, errno));
    struct stat status {};
    if (::fstat(file.get(), &status) == 0 && S_ISREG(status.st_mode)) return file;
    throw Error(ErrorKind::storage, "cannot write '" + path + "': it is not a regular file; remove it");
}

/// Time for the process that has just taken the lock to write its name.
std::string read_holder(const Descriptor& file) {
    constexpr std::chrono::milliseconds kMoment(50);
    constexpr int kAttempts = 10;
    std::array<char, 4096> text{};
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        std::this_thread::sleep_for(kMoment);
        const ssize_t count = ::pread(file.get(), text.data(), text.size(), 0);
        if (count > 0) return {text.data(), static_cast<std::size_t>(count)};
    }
    return {};
}

bool has_no_locks(int error) {
    return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP || error == EINVAL;
}

/// FileSystem::try_lock(). The lock is on a byte far beyond the text: on some network file systems nobody can read
/// bytes that another has locked. NFS (from version 4, and 3 with its lock service), SMB, CephFS and GPFS keep such
/// locks between hosts; Lustre with its mount option `flock`. A mount with `nolock` or `localflock` keeps them within
/// one host.
LockAttempt lock_posix_file(const std::string& path, std::string_view holder) {
    Descriptor file = open_lock_file(path);
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = kLockedByte;
    range.l_len = 1;
    const int error = ::fcntl(file.get(), F_OFD_SETLK, &range) == 0 ? 0 : errno;
    if (error == EAGAIN || error == EACCES) return {nullptr, read_holder(file)};
    if (error == 0) {
        auto lock = std::make_unique<PosixLock>(std::move(file));
        lock->write(holder);
        return {std::move(lock)};
    }
    if (!has_no_locks(error)) throw Error(ErrorKind::storage, cannot_write(path, error));
    log::warning("'" + path + "' cannot be locked (" + std::generic_category().message(error) +
                 "): nothing keeps a second process from writing into its folder, so start only one");
    return {std::make_unique<FileLock>()};
}

Descriptor open_descriptor(const std::string& path, int flags) {
    int number = -1;
    do {
        number = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    } while (number < 0 && errno == EINTR);
    return Descriptor(number);
}

[[noreturn]] void fail_reading(const std::string& path, int error) {
    throw Error(ErrorKind::data, "cannot read '" + path + "': " + std::generic_category().message(error));
}

[[noreturn]] void fail_writing(const std::string& path, int error) {
    throw Error(ErrorKind::storage, cannot_write(path, error));
}

[[noreturn]] void fail_link(const std::string& path) {
    throw Error(ErrorKind::storage,
                "cannot write '" + path + "': it is a link, which is not followed; put the file itself there");
}

void write_all(const Descriptor& file, const std::string& path, std::span<const std::byte> data) {
    while (!data.empty()) {
        const ssize_t written = ::write(file.get(), data.data(), data.size());
        if (written < 0) {
            if (errno == EINTR) continue;
            fail_writing(path, errno);
        }
        data = data.subspan(static_cast<std::size_t>(written));
    }
}

/// The number of hard links to a file.
nlink_t names_of(const Descriptor& file) {
    struct stat status {};
    return ::fstat(file.get(), &status) == 0 ? status.st_nlink : 0;
}

/// Removes temporary files of the same target that killed processes left; a living writer holds a lock on its own.
void remove_left_overs(const std::string& path) {
    namespace fs = std::filesystem;
    const fs::path target = path;
    std::error_code error;
    for (fs::directory_iterator entry(target.has_parent_path() ? target.parent_path() : ".", error), end;
         !error && entry != end; entry.increment(error)) {
        const std::string name = entry->path().filename().string();
        if (finished_name(name) != target.filename().string()) continue;
        const Descriptor file = open_descriptor(entry->path().string(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
        if (file.valid() && ::flock(file.get(), LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
    }
}

/// Creates and locks a temporary file. In a folder that others may write to, too, a file or link of theirs is never
/// opened. Not valid, with errno, when the folder cannot be written.
Descriptor create_temporary(const std::string& path) {
    for (;;) {
        Descriptor file = open_descriptor(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW);
        if (!file.valid()) return file;
        // The lock is not waited for: who holds it has taken the file for a left-over in the moment before this line,
        // and removes it. Where files cannot be locked, nobody removes it.
        const bool locked = ::flock(file.get(), LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
        if (locked && names_of(file) > 0) return file;
        ::unlink(path.c_str());
    }
}

/// Left-overs go first: what looks for them may throw, and nothing would remove the new file.
Descriptor begin_temporary(const std::string& path, const std::string& temporary) {
    remove_left_overs(path);
    return create_temporary(temporary);
}

class PosixInput : public InputFile {
public:
    // O_NONBLOCK: opening a named pipe does not wait for a writer. For regular files it has no effect.
    explicit PosixInput(const std::string& path)
        : path_(path), file_(open_descriptor(path, O_RDONLY | O_NONBLOCK | O_NOCTTY)) {
        if (!file_.valid()) fail_reading(path_, errno);
        struct stat status {};
        if (::fstat(file_.get(), &status) != 0) fail_reading(path_, errno);
        if (S_ISDIR(status.st_mode)) fail_reading(path_, EISDIR);
        if (!S_ISREG(status.st_mode)) {
            throw Error(ErrorKind::data, "cannot read '" + path_ + "': it is " +
                                             (S_ISFIFO(status.st_mode) ? "a pipe" : "a device") +
                                             ", not a file; store its content in a file first");
        }
        size_bytes_ = static_cast<std::uint64_t>(status.st_size);
        modified_ns_ = std::int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
    }

    const std::string& path() const override { return path_; }
    std::uint64_t size_bytes() const override { return size_bytes_; }
    std::int64_t modified_ns() const override { return modified_ns_; }

    void read_at(std::uint64_t offset, std::span<std::byte> out) const override {
        std::span<std::byte> rest = out;
        while (!rest.empty()) {
            const std::uint64_t position = offset + (out.size() - rest.size());
            const ssize_t count = ::pread(file_.get(), rest.data(), rest.size(), static_cast<off_t>(position));
            if (count < 0 && errno == EINTR) continue;
            if (count < 0) fail_reading(path_, errno);
            if (count == 0) throw Error(ErrorKind::data, ends_early(path_, size_bytes_, offset, out.size()));
            rest = rest.subspan(static_cast<std::size_t>(count));
        }
    }

    void will_need(std::uint64_t offset, std::uint64_t count) const noexcept override {
        ::posix_fadvise(file_.get(), static_cast<off_t>(offset), static_cast<off_t>(count), POSIX_FADV_WILLNEED);
    }

private:
    std::string path_;
    Descriptor file_;
    std::uint64_t size_bytes_ = 0;
    std::int64_t modified_ns_ = 0;
};

/// Returns `path`. Renaming a finished file over a device, a pipe or a socket would remove it from the system.
const std::string& refuse_special(const std::string& path) {
    struct stat status {};
    if (::stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return path;
    throw Error(ErrorKind::storage,
                "cannot write '" + path + "': a device, a pipe or a socket is there, which is never replaced");
}

class PosixOutput : public OutputFile {
public:
    explicit PosixOutput(const std::string& path)
        : path_(refuse_special(path)), partial_(partial_name(path)), file_(begin_temporary(path_, partial_)) {
        if (!file_.valid()) fail_writing(path_, errno);
    }

    ~PosixOutput() override {
        if (!committed_) ::unlink(partial_.c_str());
    }

    void write(std::span<const std::byte> data) override { write_all(file_, path_, data); }

    void commit() override {
        if (::fsync(file_.get()) != 0) fail_writing(path_, errno);
        // The file is still open: with the lock that closing gives up, it would be a left-over until it has its name.
        if (::rename(partial_.c_str(), path_.c_str()) != 0) fail_writing(path_, errno);
        committed_ = true;
        sync_folder();
    }

private:
    /// Syncs the folder: a power cut may otherwise undo the rename.
    void sync_folder() const {
        const std::string parent = std::filesystem::path(path_).parent_path().string();
        const Descriptor folder = open_descriptor(parent.empty() ? "." : parent, O_RDONLY | O_DIRECTORY);
        // EINVAL: a file system that cannot sync folders, and does not need it.
        if (!folder.valid() || (::fsync(folder.get()) != 0 && errno != EINVAL)) fail_writing(path_, errno);
    }

    std::string path_;
    std::string partial_;
    Descriptor file_;
    bool committed_ = false;
};

class PosixFiles : public FileSystem {
public:
    std::unique_ptr<InputFile> open(const std::string& path) const override {
        return std::make_unique<PosixInput>(path);
    }

    std::unique_ptr<OutputFile> create(const std::string& path) override { return std::make_unique<PosixOutput>(path); }

    void append(const std::string& path, std::string_view text) override {
        // O_NONBLOCK: a named pipe without a reader is an error and no reason to wait. O_NOFOLLOW: in a folder that
        // comes from somebody else, log.txt may be a link to a file of the user's.
        Descriptor file = open_descriptor(path, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
        if (!file.valid() && errno == ELOOP) fail_link(path);
        if (!file.valid()) fail_writing(path, errno);
        write_all(file, path, std::as_bytes(std::span(text)));
        if (!file.close()) fail_writing(path, errno);
    }

    FileKind kind(const std::string& path) const override {
        struct stat status {};
        if (::stat(path.c_str(), &status) != 0) {
            if (errno == ENOENT || errno == ENOTDIR) return FileKind::absent;
            fail_reading(path, errno);
        }
        if (S_ISDIR(status.st_mode)) return FileKind::directory;
        return S_ISREG(status.st_mode) ? FileKind::file : FileKind::other;
    }

    std::vector<std::string> list(const std::string& directory) const override {
        std::vector<std::string> names;
        std::error_code error;
        for (std::filesystem::directory_iterator entry(directory, error), end; !error && entry != end;
             entry.increment(error)) {
            names.push_back(entry->path().filename().string());
        }
        if (error) fail_reading(directory, error.value());
        std::ranges::sort(names);
        return names;
    }

    void make_directories(const std::string& path) override {
        std::error_code error;
        std::filesystem::create_directories(path, error);
        if (error) fail_writing(path, error.value());
    }

    void remove(const std::string& path) override {
        if (std::remove(path.c_str()) != 0 && errno != ENOENT) fail_writing(path, errno);
    }

    LockAttempt try_lock(const std::string& path, std::string_view holder) override {
        return lock_posix_file(path, holder);
    }
};

/// Descriptors kept for everything else that a process opens meanwhile: logs, checkpoints, sockets, devices.
constexpr std::size_t kSpareDescriptors = 128;

std::size_t open_descriptors() {
    std::error_code error;
    std::size_t count = 0;
    for (std::filesystem::directory_iterator entry("/proc/self/fd", error), end; !error && entry != end;
         entry.increment(error)) {
        ++count;
    }
    return count;
}

}  // namespace

FileSystem& posix_files() {
    static PosixFiles files;
    return files;
}

// The soft limit is usually 1024; it may be raised up to the hard one.
std::size_t allow_open_files(std::size_t count) {
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 0;
    const std::size_t taken = open_descriptors() + kSpareDescriptors;
    if (limit.rlim_cur < taken + count && limit.rlim_cur < limit.rlim_max) {
        const rlimit raised{std::min<rlim_t>(taken + count, limit.rlim_max), limit.rlim_max};
        if (::setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
    }
    return std::min<std::size_t>(count, limit.rlim_cur > taken ? limit.rlim_cur - taken : 0);
}

namespace {

constexpr std::size_t kLongestHolder = 1000;  // bytes of a message that are somebody else's text

std::string host_name() {
    std::array<char, 256> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) return "an unknown host";
    return host.data();
}

std::string describe_holder(std::string_view command_line) {
    return "process " + std::to_string(getpid()) + " on " + host_name() + " since " +
           clock_text("%Y-%m-%d %H:%M:%S %z") + ": " + std::string(command_line);
}

std::unique_ptr<FileLock> lock(FileSystem& files, const std::string& lock_path, const std::string& what,
                               std::string_view command_line) {
    LockAttempt attempt = files.try_lock(lock_path, describe_holder(command_line));
    if (attempt.lock) return std::move(attempt.lock);
    const std::string holder =
        attempt.holder.empty() ? "that has not said which it is" : printable(attempt.holder.substr(0, kLongestHolder));
    throw Error(ErrorKind::usage,
                what + ": another process is writing there, " + holder + "; wait until it has ended, or stop it");
}

}  // namespace

std::unique_ptr<FileLock> lock_folder(FileSystem& files, const std::string& folder, std::string_view command_line) {
    const std::string path = (folder.ends_with('/') ? folder : folder + '/') + std::string(kFolderLockName);
    return lock(files, path, folder, command_line);
}

std::unique_ptr<FileLock> lock_file(FileSystem& files, const std::string& path, std::string_view command_line) {
    const std::size_t name = path.find_last_of('/') + 1;
    const std::string lock_path = path.substr(0, name) + "." + path.substr(name) + std::string(kFolderLockName);
    return lock(files, lock_path, path, command_line);
}

}  // namespace cnntrain
