#include "cnntrain/base/folder_lock.h"

#include <unistd.h>

#include <array>

#include "cnntrain/base/clock_text.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/printable.h"

namespace cnntrain {
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
