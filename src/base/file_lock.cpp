#include "base/file_lock.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <system_error>
#include <thread>

#include "base/io_messages.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/log.h"

namespace cnntrain {
namespace {

constexpr off_t kLockedByte = off_t{1} << 20;

/// The system gives the lock back when the last descriptor of the opened file is closed, by whatever end of the
/// process.
class PosixLock : public FileLock {
public:
    explicit PosixLock(int descriptor) : descriptor_(descriptor) {}
    PosixLock(const PosixLock&) = delete;
    PosixLock& operator=(const PosixLock&) = delete;
    /// The file stays: somebody who has it open already would lock a file that nobody else finds.
    ~PosixLock() override {
        write("");
        ::close(descriptor_);
    }

    /// Only a help for others, so that a full disk is no reason to stop.
    void write(std::string_view holder) const {
        if (::ftruncate(descriptor_, 0) != 0) return;
        if (::pwrite(descriptor_, holder.data(), holder.size(), 0) < 0) return;
    }

private:
    int descriptor_;
};

int open_lock_file(const std::string& path) {
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
    if (descriptor < 0) throw Error(ErrorKind::storage, cannot_write(path, errno));
    struct stat status {};
    if (::fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode)) return descriptor;
    ::close(descriptor);
    throw Error(ErrorKind::storage, "cannot write '" + path + "': it is not a regular file; remove it");
}

/// Time for the process that has just taken the lock to write its name.
std::string read_holder(int descriptor) {
    constexpr std::chrono::milliseconds kMoment(50);
    constexpr int kAttempts = 10;
    std::array<char, 4096> text{};
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        std::this_thread::sleep_for(kMoment);
        const ssize_t count = ::pread(descriptor, text.data(), text.size(), 0);
        if (count > 0) return {text.data(), static_cast<std::size_t>(count)};
    }
    return {};
}

bool has_no_locks(int error) {
    return error == ENOLCK || error == ENOSYS || error == EOPNOTSUPP || error == EINVAL;
}

}  // namespace

LockAttempt lock_posix_file(const std::string& path, std::string_view holder) {
    const int descriptor = open_lock_file(path);
    struct flock range {};
    range.l_type = F_WRLCK;
    range.l_whence = SEEK_SET;
    range.l_start = kLockedByte;
    range.l_len = 1;
    const int error = ::fcntl(descriptor, F_OFD_SETLK, &range) == 0 ? 0 : errno;
    if (error == EAGAIN || error == EACCES) {
        LockAttempt attempt{nullptr, read_holder(descriptor)};
        ::close(descriptor);
        return attempt;
    }
    if (error == 0) {
        auto lock = std::make_unique<PosixLock>(descriptor);
        lock->write(holder);
        return {std::move(lock)};
    }
    ::close(descriptor);
    if (!has_no_locks(error)) throw Error(ErrorKind::storage, cannot_write(path, error));
    log::warning("'" + path + "' cannot be locked (" + std::generic_category().message(error) +
                 "): nothing keeps a second process from writing into its folder, so start only one");
    return {std::make_unique<FileLock>()};
}

}  // namespace cnntrain
