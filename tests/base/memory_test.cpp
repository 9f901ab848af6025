#include "cnntrain/base/memory.h"

#include <gtest/gtest.h>
#include <malloc.h>

#include <sys/resource.h>
#include <string>
#include <vector>

#include "base/system_files.h"
#include "base/text_files.h"
#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain {
namespace {

/// Limits the process's memory until it goes out of scope.
class DataLimit {
public:
    explicit DataLimit(rlim_t bytes) {
        getrlimit(RLIMIT_DATA, &before_);
        const rlimit limit{bytes, before_.rlim_max};
        setrlimit(RLIMIT_DATA, &limit);
    }
    ~DataLimit() { setrlimit(RLIMIT_DATA, &before_); }
    DataLimit(const DataLimit&) = delete;
    DataLimit& operator=(const DataLimit&) = delete;

private:
    rlimit before_{};
};

TEST(Memory, TheMachineLimitsTheProcess) {
    EXPECT_GT(machine_memory_bytes(), memory_left().bytes / 2);  // swap adds to what is left
    EXPECT_NO_THROW(require_memory(1, "a test"));
    EXPECT_THAT(message_of(ErrorKind::unsupported, [] { require_memory(UINT64_MAX, "a test"); }), Not(IsEmpty()));
}

/// A group below another one, each with a limit, on a machine with 8 GB available.
Files nested_groups() {
    return {{"/proc/meminfo", "MemTotal: 16000000 kB\nMemAvailable:    7812500 kB\nSwapFree:        0 kB\n"},
            {"/proc/self/cgroup", "0::/pod/box\n"},
            {"/sys/fs/cgroup/pod/memory.max", "1000000\n"},
            {"/sys/fs/cgroup/pod/memory.current", "900000\n"},
            {"/sys/fs/cgroup/pod/memory.stat", "anon 300000\nfile 600000\nactive_file 200000\ninactive_file 350000\n"},
            {"/sys/fs/cgroup/pod/box/memory.max", "2000000\n"},
            {"/sys/fs/cgroup/pod/box/memory.current", "100000\n"}};
}

TEST(GroupMemory, TheSmallestLimitOnTheWayUpCounts) {
    const Files files = nested_groups();
    EXPECT_EQ(machine_memory_bytes(reader(files)), 1000000U);
    const MemoryLeft left = memory_left(reader(files));
    EXPECT_EQ(left.bytes, 650000U);  // pages of files count as free
    EXPECT_EQ(left.limit, "by /sys/fs/cgroup/pod/memory.max");
    EXPECT_EQ(left.remedy, "raise that limit of its control group");
}

TEST(GroupMemory, MaxIsNoLimit) {
    Files files = nested_groups();
    files["/sys/fs/cgroup/pod/memory.max"] = "max\n";
    EXPECT_EQ(machine_memory_bytes(reader(files)), 2000000U);
    EXPECT_EQ(memory_left(reader(files)).bytes, 1900000U);
    files["/sys/fs/cgroup/pod/box/memory.max"] = "max\n";
    EXPECT_THAT(limited_groups(reader(files)), ::testing::IsEmpty());
    EXPECT_GT(machine_memory_bytes(reader(files)), 2000000U);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_EQ(memory_left(reader(files)).bytes, 8'000'000'000U);
    EXPECT_EQ(memory_left(reader(files)).limit, "on this machine");
#endif
}

TEST(GroupMemory, AFullGroupLeavesNothing) {
    Files files = nested_groups();
    files["/sys/fs/cgroup/pod/box/memory.current"] = "2000001\n";
    EXPECT_EQ(memory_left(reader(files)).bytes, 0U);
}

TEST(GroupMemory, OfVersion1) {
    Files files = {{"/proc/self/cgroup", "5:cpu:/x\n4:hugetlb,memory:/job\n0::/\n"},
                   {"/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "3000000\n"},
                   {"/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "1000000\n"},
                   {"/sys/fs/cgroup/memory/job/memory.stat",
                    "cache 9\nactive_file 1\ninactive_file 2\ntotal_active_file 100000\ntotal_inactive_file 200000\n"},
                   {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n"},
                   {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "5000000\n"}};
    EXPECT_EQ(machine_memory_bytes(reader(files)), 3000000U);
    EXPECT_EQ(memory_left(reader(files)).bytes, 2300000U);
    // A container sees its own group as the root.
    files["/sys/fs/cgroup/memory/memory.limit_in_bytes"] = "2000000\n";
    files["/sys/fs/cgroup/memory/memory.usage_in_bytes"] = "1500000\n";
    EXPECT_EQ(memory_left(reader(files)).bytes, 500000U);
    EXPECT_EQ(memory_left(reader(files)).limit, "by /sys/fs/cgroup/memory/memory.limit_in_bytes");
}

TEST(ControlGroups, AreTheProcessesOwnAndAllParents) {
    const auto folders = [](const std::string& groups) {
        std::vector<std::string> names;
        for (const ControlGroup& group : control_groups(reader({{"/proc/self/cgroup", groups}}), "memory"))
            names.push_back(group.folder + (group.version2 ? "" : " (1)"));
        return names;
    };
    EXPECT_THAT(folders("0::/a/b\n"),
                ::testing::ElementsAre("/sys/fs/cgroup/a/b", "/sys/fs/cgroup/a", "/sys/fs/cgroup"));
    EXPECT_THAT(folders("3:memory:/a\n2:cpu:/b\n0::/\n"),
                ::testing::ElementsAre("/sys/fs/cgroup/memory/a (1)", "/sys/fs/cgroup/memory (1)", "/sys/fs/cgroup"));
    EXPECT_THAT(folders("no groups\n"), ::testing::IsEmpty());
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers map terabytes
TEST(Memory, WhatIsNeededAndWhatIsThereAreSaid) {
    constexpr std::uint64_t kGiga = 1'000'000'000;
    const DataLimit limit(kGiga);
    const std::uint64_t left = memory_left().bytes;
    EXPECT_GT(left, 0U);
    EXPECT_LT(left, kGiga);
    EXPECT_NO_THROW(require_memory(left / 2, "a test"));
    EXPECT_THAT(message_of(ErrorKind::unsupported, [&] { require_memory(2 * kGiga, "a test"); }), HasSubstr("2.0"));
}
#endif

TEST(Memory, AThreadHasAStack) {
    EXPECT_GE(thread_stack_bytes(), 16'384U);
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // sanitizers have allocators of their own
TEST(Memory, LargePiecesGoBackToTheSystem) {
    give_large_memory_back();
    const std::size_t before = mallinfo2().hblkhd;  // bytes in mappings
    for (int i = 0; i < 3; ++i) {                   // glibc would keep what has been freed once
        const std::vector<char> large(std::size_t{3} << 20);
        EXPECT_GE(mallinfo2().hblkhd, before + large.size());
    }
    EXPECT_LE(mallinfo2().hblkhd, before);
}
#endif

}  // namespace
}  // namespace cnntrain
