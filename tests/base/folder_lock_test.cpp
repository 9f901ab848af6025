#include "cnntrain/base/io.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain {
namespace {

/// The refusal of a lock that another has; "" when it was given.
std::string refusal(FileSystem& files, const std::string& folder, ErrorKind kind = ErrorKind::usage) {
    return refusal_of(kind, [&] { lock_folder(files, folder, "cnntrain second"); });
}

/// Both file systems behave alike; the parameter says whether it is the real one.
class FolderLock : public ::testing::TestWithParam<bool> {
protected:
    FileSystem& files() { return GetParam() ? posix_files() : memory_; }
    std::string lock_file() const { return folder_ + "/" + std::string(kFolderLockName); }

    test::TemporaryFolder temporary_;
    std::string folder_ = temporary_.path();
    MemoryFiles memory_;
};
INSTANTIATE_TEST_SUITE_P(PosixAndMemory, FolderLock, ::testing::Bool(),
                         [](const auto& row) { return row.param ? "Posix" : "Memory"; });

TEST_P(FolderLock, TellsWhoHasItUntilThatOneGivesItBack) {
    auto first = lock_folder(files(), folder_, "cnntrain first --logs-path x");
    const std::string message = refusal(files(), folder_);
    EXPECT_THAT(message, AllOf(HasSubstr(folder_), HasSubstr(std::to_string(getpid())),
                               ContainsRegex("since 20[0-9-]+ [0-9:]+ "), HasSubstr("--logs-path")));
    first.reset();
    EXPECT_EQ(read_text(files(), lock_file()), "");
    EXPECT_EQ(refusal(files(), folder_), "");
}

TEST_P(FolderLock, ShowsNothingThatATerminalWouldObey) {
    const auto first = lock_folder(files(), folder_, "cnntrain \x1b[2J\n" + std::string(5000, 'x'));
    const std::string message = refusal(files(), folder_);
    EXPECT_THAT(message, AllOf(HasSubstr("cnntrain \\x1b[2J\\x0a"), Not(HasSubstr("\x1b")), Not(HasSubstr("\n"))));
    EXPECT_LT(message.size(), 1500U);
}

class PosixFolderLock : public FolderLock {};
INSTANTIATE_TEST_SUITE_P(Real, PosixFolderLock, ::testing::Values(true));

/// A process that holds the lock until it is killed, and one byte from it when it has it.
TEST_P(PosixFolderLock, IsFreeWhenItsProcessWasKilled) {
    std::array<int, 2> ends{};
    ASSERT_EQ(::pipe(ends.data()), 0);
    const pid_t child = fork();
    if (child == 0) {
        const auto lock = lock_folder(posix_files(), folder_, "cnntrain child");
        if (::write(ends[1], "x", 1) == 1) ::pause();
        _exit(0);
    }
    char byte = 0;
    ASSERT_EQ(::read(ends[0], &byte, 1), 1);
    EXPECT_THAT(refusal(posix_files(), folder_), HasSubstr("process " + std::to_string(child)));
    ASSERT_EQ(::kill(child, SIGKILL), 0);
    ASSERT_EQ(::waitpid(child, nullptr, 0), child);
    EXPECT_EQ(refusal(posix_files(), folder_), "");
    ::close(ends[0]);
    ::close(ends[1]);
}

TEST_P(PosixFolderLock, FollowsNoLinkAndWaitsForNoPipe) {
    const std::string victim = folder_ + "/victim";
    write_text(posix_files(), victim, "mine");
    ASSERT_EQ(::symlink(victim.c_str(), lock_file().c_str()), 0);
    EXPECT_THAT(refusal(posix_files(), folder_, ErrorKind::storage), HasSubstr(lock_file()));
    EXPECT_EQ(read_text(posix_files(), victim), "mine");
    posix_files().remove(lock_file());
    ASSERT_EQ(::mkfifo(lock_file().c_str(), 0666), 0);
    EXPECT_THAT(refusal(posix_files(), folder_, ErrorKind::storage), Not(IsEmpty()));
}

}  // namespace
}  // namespace cnntrain
