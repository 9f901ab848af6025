#include "cnntrain/base/cores.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <map>

#include "base/cpu_quota.h"
#include "cnntrain/base/error.h"

namespace cnntrain {
namespace {

std::optional<double> quota(const std::map<std::string, std::string>& files) {
    return cpu_quota([&](const std::string& path) {
        const auto found = files.find(path);
        return found == files.end() ? std::string() : found->second;
    });
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
    EXPECT_LE(available_cores(), CPU_COUNT(&before));
    int first = 0;
    while (!CPU_ISSET(first, &before))
        ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    EXPECT_EQ(available_cores(), 1);
    ASSERT_EQ(sched_setaffinity(0, sizeof before, &before), 0);
}

TEST(Cores, BudgetFillsInWhatIsNotGiven) {
    EXPECT_EQ(plan_cores(8, 0, 0).compute_threads, 8);
    EXPECT_EQ(plan_cores(8, 0, 0).input_threads, 8);
    EXPECT_EQ(plan_cores(8, 3, 2).compute_threads, 3);
    EXPECT_EQ(plan_cores(8, 3, 2).input_threads, 2);
    EXPECT_THROW(plan_cores(8, -1, 0), Error);
}

}  // namespace
}  // namespace cnntrain
