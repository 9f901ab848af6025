#include "cnntrain/base/processor.h"

#include <gtest/gtest.h>
#include <sched.h>

#include "base/system_files.h"
#include "base/text_files.h"
#include "cnntrain/base/error.h"

namespace cnntrain {
namespace {

std::optional<double> quota(const Files& files) {
    return cpu_quota(reader(files));
}

TEST(Cores, QuotaOfVersion2IsTheSmallestOnTheWayUp) {
    EXPECT_EQ(quota({}), std::nullopt);
    EXPECT_EQ(quota({{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "150000 100000\n"}}), 1.5);
    EXPECT_EQ(quota({{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "max 100000\n"}}), std::nullopt);
    EXPECT_EQ(quota({{"/proc/self/cgroup", "0::/a/b\n"},
                     {"/sys/fs/cgroup/a/b/cpu.max", "400000 100000\n"},
                     {"/sys/fs/cgroup/a/cpu.max", "200000 100000\n"}}),
              2.0);
}

TEST(Cores, QuotaOfVersion1) {
    const std::string groups = "5:cpuset:/x\n4:cpuacct,cpu:/job\n0::/\n";
    EXPECT_EQ(quota({{"/proc/self/cgroup", groups},
                     {"/sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "300000\n"},
                     {"/sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n"},
                     {"/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "-1\n"},
                     {"/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"}}),
              3.0);
}

TEST(Cores, AffinityIsRespected) {
    cpu_set_t before;
    ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
    EXPECT_GE(available_cores(), 1);
    EXPECT_LE(available_cores(), available_processors());
    EXPECT_LE(available_processors(), CPU_COUNT(&before));
    int first = 0;
    while (!CPU_ISSET(first, &before))
        ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(available_cores(), 1);
    EXPECT_EQ(available_processors(), 1);
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Cores, HyperThreadsOfOneCoreCountOnce) {
    Files files;
    for (int i = 0; i < 4; ++i) {
        const std::string folder = "/sys/devices/system/cpu/cpu" + std::to_string(i);
        files[folder + "/topology/thread_siblings_list"] = i % 2 == 0 ? "0,2\n" : "1,3\n";
    }
    EXPECT_EQ(cores_of({0, 1, 2, 3}, reader(files)), 2);
    EXPECT_EQ(cores_of({0, 2}, reader(files)), 1);
    EXPECT_EQ(cores_of({0, 1}, reader(files)), 2);
    EXPECT_EQ(cores_of({3}, reader(files)), 1);
}

TEST(Cores, WithoutATopologyEveryProcessorIsACore) {
    EXPECT_EQ(cores_of({0, 1, 2}, reader({})), 3);
}

TEST(Cores, AQuotaIsRoundedDownToAtLeastOne) {
    EXPECT_EQ(within_quota(8, std::nullopt), 8);
    EXPECT_EQ(within_quota(8, 2.9), 2);
    EXPECT_EQ(within_quota(8, 0.5), 1);
    EXPECT_EQ(within_quota(2, 1e12), 2);
}

TEST(Cores, SaysHowManyThereAre) {
    EXPECT_EQ(to_string(CoreCount{1, 1, std::nullopt}), "1 core");
    EXPECT_EQ(to_string(CoreCount{8, 4, 1.5}), "4 cores with 8 hyper-threads, a quota of 1.5 processors");
}

TEST(Cores, BudgetFillsInWhatIsNotGiven) {
    EXPECT_EQ(plan_cores(4, 8, 0, 0).compute_threads, 4);
    EXPECT_EQ(plan_cores(4, 8, 0, 0).input_threads, 8);
    EXPECT_EQ(plan_cores(4, 8, 3, 2).compute_threads, 3);
    EXPECT_EQ(plan_cores(4, 8, 3, 2).input_threads, 2);
    EXPECT_THROW(plan_cores(4, 8, -1, 0), Error);
}

}  // namespace
}  // namespace cnntrain
