#include "cnntrain/base/io.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <thread>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain {
namespace {

std::span<const std::byte> as_bytes(std::string_view text) {
    return std::as_bytes(std::span(text));
}

/// The same behaviour is asked of both file systems; the parameter says whether it is the real one.
class Files : public testing::TestWithParam<bool> {
protected:
    Files() { memory_.make_directories(folder_); }

    FileSystem& files() { return GetParam() ? posix_files() : memory_; }
    std::string path(const std::string& name) const { return folder_ + "/" + name; }

    test::TemporaryFolder temporary_;
    std::string folder_ = temporary_.path();
    MemoryFiles memory_;
};

INSTANTIATE_TEST_SUITE_P(PosixAndMemory, Files, testing::Bool(),
                         [](const auto& row) { return row.param ? "Posix" : "Memory"; });

TEST_P(Files, WhatIsWrittenIsRead) {
    write_text(files(), path("a"), "hello");
    EXPECT_EQ(read_text(files(), path("a")), "hello");
    write_text(files(), path("a"), "");
    EXPECT_EQ(read_text(files(), path("a")), "");
    const auto file = files().open(path("a"));
    EXPECT_EQ(file->size_bytes(), 0u);
    EXPECT_EQ(file->path(), path("a"));
}

TEST_P(Files, ReadsAtOffsetsAndSaysWhenTheFileIsTooShort) {
    write_text(files(), path("a"), "0123456789");
    const auto file = files().open(path("a"));
    std::string part(4, ' ');
    file->read_at(3, std::as_writable_bytes(std::span(part)));
    EXPECT_EQ(part, "3456");
    file->read_at(10, {});
    const auto message =
        message_of(ErrorKind::data, [&] { file->read_at(8, std::as_writable_bytes(std::span(part))); });
    EXPECT_THAT(message, AllOf(HasSubstr(path("a")), HasSubstr("10 bytes"), HasSubstr("8 to 12")));
}

TEST_P(Files, UncommittedFilesLeaveThePreviousOne) {
    write_text(files(), path("a"), "old");
    {
        const auto file = files().create(path("a"));
        file->write(as_bytes("new"));
        EXPECT_EQ(read_text(files(), path("a")), "old");
        EXPECT_THAT(files().list(folder_), ElementsAre("a", MatchesRegex("a\\.[0-9a-f]{12}\\.partial")));
    }
    EXPECT_EQ(read_text(files(), path("a")), "old");
    EXPECT_THAT(files().list(folder_), ElementsAre("a"));
    {
        const auto file = files().create(path("a"));
        file->write(as_bytes("new"));
        file->write(as_bytes("er"));
        file->commit();
    }
    EXPECT_EQ(read_text(files(), path("a")), "newer");
    EXPECT_THAT(files().list(folder_), ElementsAre("a"));
}

TEST_P(Files, TwoWritersOfOneFileDoNotMix) {
    const auto first = files().create(path("a"));
    const auto second = files().create(path("a"));
    first->write(as_bytes("11"));
    second->write(as_bytes("22"));
    first->write(as_bytes("11"));
    second->write(as_bytes("22"));
    EXPECT_EQ(files().list(folder_).size(), 2u);
    second->commit();
    EXPECT_EQ(read_text(files(), path("a")), "2222");
    first->commit();
    EXPECT_EQ(read_text(files(), path("a")), "1111");
    EXPECT_THAT(files().list(folder_), ElementsAre("a"));
}

TEST_P(Files, ATextHasALargestSize) {
    write_text(files(), path("a"), "0123456789");
    EXPECT_EQ(read_text(files(), path("a"), 10), "0123456789");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_text(files(), path("a"), 9); }),
                AllOf(HasSubstr(path("a")), HasSubstr("10 bytes")));
}

TEST(FinishedName, OfUnfinishedFilesOnly) {
    EXPECT_EQ(finished_name("a.0123456789ab.partial"), "a");
    EXPECT_EQ(finished_name("a.tfrecord.partial"), "a.tfrecord");
    EXPECT_EQ(finished_name("a.0123456789xy.partial"), "a.0123456789xy");
    EXPECT_EQ(finished_name("a.partial"), "a");
    EXPECT_EQ(finished_name("a"), std::nullopt);
    EXPECT_EQ(finished_name("a.partial.txt"), std::nullopt);
}

TEST_P(Files, AppendCreatesAndExtends) {
    files().append(path("log.txt"), "one\n");
    files().append(path("log.txt"), "two\n");
    EXPECT_EQ(read_text(files(), path("log.txt")), "one\ntwo\n");
}

TEST_P(Files, FoldersAreMadeListedAndRecognised) {
    files().make_directories(path("x/y"));
    files().make_directories(path("x/y"));
    write_text(files(), path("x/2"), "");
    write_text(files(), path("x/10"), "");
    EXPECT_TRUE(is_directory(files(), path("x")));
    EXPECT_TRUE(is_directory(files(), path("x/y")));
    EXPECT_TRUE(is_directory(files(), path("x/y/")));
    EXPECT_FALSE(is_directory(files(), path("x/2")));
    EXPECT_FALSE(is_directory(files(), path("z")));
    EXPECT_TRUE(exists(files(), path("x")));
    EXPECT_TRUE(exists(files(), path("x/2")));
    EXPECT_FALSE(exists(files(), path("x/3")));
    EXPECT_EQ(files().kind(path("x/y")), FileKind::directory);
    EXPECT_EQ(files().kind(path("x/2")), FileKind::file);
    EXPECT_EQ(files().kind(path("x/3")), FileKind::absent);
    EXPECT_THAT(files().list(path("x")), ElementsAre("10", "2", "y"));
    EXPECT_TRUE(files().list(path("x/y")).empty());
}

TEST_P(Files, ModificationTimeTellsContentsApart) {
    write_text(files(), path("a"), "one");
    const std::int64_t first = files().open(path("a"))->modified_ns();
    EXPECT_EQ(files().open(path("a"))->modified_ns(), first);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));  // the clock of a file system may tick at 100 Hz
    write_text(files(), path("a"), "two");
    const std::int64_t second = files().open(path("a"))->modified_ns();
    EXPECT_GT(second, first);
    std::this_thread::sleep_for(std::chrono::milliseconds(30));
    files().append(path("a"), "more");
    EXPECT_GT(files().open(path("a"))->modified_ns(), second);
}

TEST_P(Files, ReadingAheadChangesNothing) {
    write_text(files(), path("a"), "0123456789");
    const auto file = files().open(path("a"));
    file->will_need(2, 5);
    file->will_need(5, 1000);
    std::string part(10, ' ');
    file->read_at(0, std::as_writable_bytes(std::span(part)));
    EXPECT_EQ(part, "0123456789");
}

TEST_P(Files, RemoveIsSilentAboutAbsentFiles) {
    write_text(files(), path("a"), "x");
    files().remove(path("a"));
    EXPECT_FALSE(exists(files(), path("a")));
    files().remove(path("a"));
}

TEST_P(Files, RemoveTakesEmptyFoldersOnly) {
    files().make_directories(path("folder"));
    write_text(files(), path("folder/a"), "x");
    EXPECT_THAT(message_of(ErrorKind::storage, [&] { files().remove(path("folder")); }), HasSubstr(path("folder")));
    files().remove(path("folder/a"));
    files().remove(path("folder"));
    EXPECT_FALSE(exists(files(), path("folder")));
}

TEST_P(Files, MissingFilesAreNamed) {
    for (const auto& message : {message_of(ErrorKind::data, [&] { files().open(path("none")); }),
                                message_of(ErrorKind::data, [&] { files().list(path("none")); })}) {
        EXPECT_THAT(message, HasSubstr(path("none")));
    }
}

TEST(PosixFiles, UnwritablePlacesAreStorageErrors) {
    const auto message = message_of(ErrorKind::storage, [] { posix_files().create("/proc/none/file"); });
    EXPECT_THAT(message, HasSubstr("/proc/none/file"));
    EXPECT_THAT(message_of(ErrorKind::storage, [] { posix_files().append("/dev/full", "x"); }), HasSubstr("/dev/full"));
    EXPECT_EQ(kind_of([] { posix_files().make_directories("/proc/none"); }), ErrorKind::storage);
    EXPECT_EQ(kind_of([] { posix_files().open("/tmp"); }), ErrorKind::data);
}

class PosixFolder : public testing::Test {
protected:
    std::string path(const std::string& name) const { return folder_ / name; }

    test::TemporaryFolder folder_;
};

TEST_F(PosixFolder, WhatKilledWritersLeftGoesWithTheNextWrite) {
    for (const char* name : {"a.0123456789ab.partial", "a.partial", "b.0123456789ab.partial"})
        posix_files().append(path(name), "left over");
    write_text(posix_files(), path("a"), "whole");
    EXPECT_THAT(posix_files().list(folder_.path()), ElementsAre("a", "b.0123456789ab.partial"));
}

/// Somebody else who may write to the folder may have put links where a temporary file is expected.
TEST_F(PosixFolder, LinksInThePlaceOfTemporaryFilesAreNotFollowed) {
    write_text(posix_files(), path("precious"), "precious");
    ASSERT_EQ(::symlink("precious", path("a.partial").c_str()), 0);
    ASSERT_EQ(::symlink("precious", path("a.0123456789ab.partial").c_str()), 0);
    write_text(posix_files(), path("a"), "new");
    EXPECT_EQ(read_text(posix_files(), path("precious")), "precious");
    EXPECT_EQ(read_text(posix_files(), path("a")), "new");
}

TEST_F(PosixFolder, PipesAndDevicesAreNoFiles) {
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);  // nobody writes: opening it would wait for ever
    EXPECT_THAT(message_of(ErrorKind::data, [&] { posix_files().open(path("pipe")); }), HasSubstr(path("pipe")));
    EXPECT_THAT(message_of(ErrorKind::data, [] { read_text(posix_files(), "/dev/zero"); }), HasSubstr("device"));
    EXPECT_THAT(message_of(ErrorKind::storage, [&] { posix_files().append(path("pipe"), "x"); }),
                HasSubstr(path("pipe")));
}

/// A run's folder may come from somebody else, and its log.txt lead to a file of the user's.
TEST_F(PosixFolder, LinksAreNotAppendedTo) {
    write_text(posix_files(), path("mine"), "mine");
    for (const char* target : {"mine", "none"}) {
        ASSERT_EQ(::symlink(target, path("log.txt").c_str()), 0);
        EXPECT_THAT(message_of(ErrorKind::storage, [&] { posix_files().append(path("log.txt"), "x"); }),
                    HasSubstr(path("log.txt")));
        ASSERT_EQ(::unlink(path("log.txt").c_str()), 0);
    }
    EXPECT_EQ(read_text(posix_files(), path("mine")), "mine");
    EXPECT_FALSE(exists(posix_files(), path("none")));
}

TEST_F(PosixFolder, WhatCannotBeReachedIsNotCalledAbsent) {
    ASSERT_EQ(::symlink("loop", path("loop").c_str()), 0);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { posix_files().kind(path("loop/x")); }), HasSubstr(path("loop/x")));
    EXPECT_FALSE(exists(posix_files(), path("loop/x")));
    EXPECT_FALSE(is_directory(posix_files(), path("loop/x")));
}

TEST_F(PosixFolder, KindsFollowLinks) {
    posix_files().make_directories(path("folder"));
    write_text(posix_files(), path("file"), "");
    ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
    const std::pair<std::string, FileKind> cases[] = {
        {"folder", FileKind::directory}, {"file", FileKind::file},           {"pipe", FileKind::other},
        {"nothing", FileKind::absent},   {"nothing/here", FileKind::absent}, {"file/here", FileKind::absent}};
    for (const auto& [name, kind] : cases) {
        EXPECT_EQ(posix_files().kind(path(name)), kind) << name;
        const std::string link = path("link");
        ASSERT_EQ(::symlink(path(name).c_str(), link.c_str()), 0);
        EXPECT_EQ(posix_files().kind(link), kind) << "a link to " << name;
        EXPECT_EQ(exists(posix_files(), link), kind != FileKind::absent) << name;
        posix_files().remove(link);
    }
    EXPECT_EQ(posix_files().kind("/dev/null"), FileKind::other);
}

TEST_F(PosixFolder, AFolderWithoutPermissionHidesWhatIsInIt) {
    const bool root = ::geteuid() == 0;  // may enter every folder
    write_text(posix_files(), path("a"), "");
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0), 0);
    if (root && ::seteuid(65534) != 0) GTEST_SKIP() << "root is the only user here";
    EXPECT_EQ(posix_files().kind(folder_.path()), FileKind::directory);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { posix_files().kind(path("a")); }), HasSubstr(path("a")));
    EXPECT_FALSE(exists(posix_files(), path("a")));
    ASSERT_TRUE(!root || ::seteuid(0) == 0);
    ASSERT_EQ(::chmod(folder_.path().c_str(), 0700), 0);
}

TEST_F(PosixFolder, AFailedWriteKeepsThePreviousFile) {
    write_text(posix_files(), path("a"), "old");
    // A limit on the size of files stands for the full disk.
    std::signal(SIGXFSZ, SIG_IGN);
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit small{1000, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
    const auto message =
        message_of(ErrorKind::storage, [&] { write_text(posix_files(), path("a"), std::string(5000, 'x')); });
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_THAT(message, HasSubstr(path("a")));
    EXPECT_EQ(read_text(posix_files(), path("a")), "old");
    EXPECT_THAT(posix_files().list(folder_.path()), ElementsAre("a"));
}

TEST(PosixFiles, TheLimitOfOpenFilesIsRaisedAsFarAsItGoes) {
    rlimit before{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
    const rlimit low{std::min<rlim_t>(200, before.rlim_max), before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
    const std::size_t many = std::size_t{before.rlim_max} + 1;
    const bool enough = before.rlim_max >= 1000;
    if (enough) {
        EXPECT_EQ(allow_open_files(500), 500u);
    }
    std::vector<std::unique_ptr<InputFile>> open;
    for (int i = 0; enough && i < 500; ++i)
        open.push_back(posix_files().open("/proc/self/status"));
    EXPECT_LT(allow_open_files(many), many);
    rlimit after{};
    ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
    EXPECT_EQ(after.rlim_cur, before.rlim_max);
    EXPECT_EQ(after.rlim_max, before.rlim_max);
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST(MemoryFiles, RunsOutOfSpaceLikeADisk) {
    MemoryFiles files(10);
    write_text(files, "a", "123456");
    EXPECT_THAT(message_of(ErrorKind::storage, [&] { write_text(files, "a", "abcde"); }),
                AllOf(HasSubstr("'a'"), HasSubstr("untouched")));
    EXPECT_EQ(read_text(files, "a"), "123456");
    EXPECT_EQ(files.used_bytes(), 6u);
    EXPECT_EQ(kind_of([&] { files.append("a", "abcde"); }), ErrorKind::storage);
    files.set_capacity_bytes(11);
    write_text(files, "a", "abcde");
    EXPECT_EQ(read_text(files, "a"), "abcde");
}

}  // namespace
}  // namespace cnntrain
