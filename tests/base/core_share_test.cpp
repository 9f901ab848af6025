// Division of a machine's cores among the processes on it.
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>

#include "base/system_files.h"
#include "base/text_files.h"
#include "cnntrain/base/processor.h"
#include "support/matchers.h"

namespace cnntrain {
namespace {

TEST(ProcessorList, IsReadAndWritten) {
    EXPECT_THAT(processors_in("0-3,8,10-11\n"), ElementsAre(0, 1, 2, 3, 8, 10, 11));
    for (const char* text : {"", "\n", "a", "3-1", "-1", "0-9999999"})
        EXPECT_THAT(processors_in(text), IsEmpty()) << text;
    EXPECT_EQ(processor_list({0, 1, 2, 3, 8, 10, 11}), "0-3,8,10-11");
    EXPECT_EQ(processor_list({}), "");
}

TEST(MachineProcessors, AreThoseOfTheControlGroup) {
    const Files online = {{"/sys/devices/system/cpu/online", "0-7\n"}};
    EXPECT_EQ(processor_list(machine_processors(reader(online))), "0-7");
    Files files = online;
    files["/proc/self/cgroup"] = "0::/pod/box\n";
    EXPECT_EQ(processor_list(machine_processors(reader(files))), "0-7");
    files["/sys/fs/cgroup/pod/cpuset.cpus.effective"] = "2-5\n";
    EXPECT_EQ(processor_list(machine_processors(reader(files))), "2-5");
    files["/sys/fs/cgroup/pod/box/cpuset.cpus.effective"] = "2-3\n";
    EXPECT_EQ(processor_list(machine_processors(reader(files))), "2-3");
    Files version1 = online;
    version1["/proc/self/cgroup"] = "5:cpuset:/job\n4:cpu:/x\n0::/\n";
    version1["/sys/fs/cgroup/cpuset/job/cpuset.cpus"] = "4-7\n";
    EXPECT_EQ(processor_list(machine_processors(reader(version1))), "4-7");
}

/// Two nodes of four cores with two hyper-threads each; core k has the processors k and k + 8.
std::vector<ProcessorPlace> two_nodes() {
    Files files = {{"/sys/devices/system/node/online", "0-1\n"},
                   {"/sys/devices/system/node/node0/cpulist", "0-3,8-11\n"},
                   {"/sys/devices/system/node/node1/cpulist", "4-7,12-15\n"}};
    std::vector<int> all;
    for (int i = 0; i < 16; ++i) {
        files["/sys/devices/system/cpu/cpu" + std::to_string(i) + "/topology/thread_siblings_list"] =
            std::to_string(i % 8) + "," + std::to_string(i % 8 + 8) + "\n";
        all.push_back(i);
    }
    return places_of(all, reader(files));
}

std::string share(const std::vector<ProcessorPlace>& machine, int index, int count) {
    std::vector<int> numbers;
    for (const ProcessorPlace& place : share_of(machine, index, count))
        numbers.push_back(place.number);
    std::ranges::sort(numbers);
    return processor_list(numbers);
}

TEST(Share, IsWholeNodesWhenThereAreEnough) {
    EXPECT_EQ(share(two_nodes(), 0, 1), "0-15");
    EXPECT_EQ(share(two_nodes(), 0, 2), "0-3,8-11");
    EXPECT_EQ(share(two_nodes(), 1, 2), "4-7,12-15");
}

TEST(Share, IsWholeCoresOfOneNode) {
    EXPECT_EQ(share(two_nodes(), 0, 4), "0-1,8-9");
    EXPECT_EQ(share(two_nodes(), 1, 4), "2-3,10-11");
    EXPECT_EQ(share(two_nodes(), 2, 4), "4-5,12-13");
    EXPECT_EQ(share(two_nodes(), 7, 8), "7,15");
    for (int index = 0; index < 6; ++index) {  // cores are left over
        const std::vector<ProcessorPlace> own = share_of(two_nodes(), index, 6);
        EXPECT_EQ(own.size(), 2U);
        EXPECT_EQ(own.front().node, own.back().node);
    }
}

TEST(Share, NodesMayBeNumberedAcross) {
    const Files files = {{"/sys/devices/system/node/online", "0-1\n"},
                         {"/sys/devices/system/node/node0/cpulist", "0,2\n"},
                         {"/sys/devices/system/node/node1/cpulist", "1,3\n"}};
    const std::vector<ProcessorPlace> machine = places_of({0, 1, 2, 3}, reader(files));
    EXPECT_EQ(share(machine, 0, 2), "0,2");
    EXPECT_EQ(share(machine, 1, 2), "1,3");
}

TEST(Share, SharesAreEqualAndDisjoint) {
    for (int count = 1; count <= 8; ++count) {
        std::map<int, int> owners;
        std::size_t size = 0;
        for (int index = 0; index < count; ++index) {
            const std::vector<ProcessorPlace> own = share_of(two_nodes(), index, count);
            if (index == 0) size = own.size();
            EXPECT_EQ(own.size(), size) << index << " of " << count;
            for (const ProcessorPlace& place : own)
                EXPECT_EQ(++owners[place.number], 1) << index << " of " << count;
        }
    }
}

TEST(Share, IsOneCoreWhenThereAreMoreProcesses) {
    const std::vector<ProcessorPlace> machine = places_of({0, 1}, reader({}));
    EXPECT_EQ(share(machine, 0, 4), "0");
    EXPECT_EQ(share(machine, 1, 4), "0");
    EXPECT_EQ(share(machine, 2, 4), "1");
    EXPECT_EQ(share(machine, 3, 4), "1");
}

TEST(Share, OfAQuotaIsEqual) {
    const ReadText read = reader({{"/proc/self/cgroup", "0::/\n"}, {"/sys/fs/cgroup/cpu.max", "600000 100000\n"}});
    EXPECT_EQ(count_of({0, 1, 2, 3}, 2, read).quota, 3.0);
    EXPECT_EQ(count_of({0, 1, 2, 3}, 1, read).quota, 6.0);
    EXPECT_EQ(count_of({0, 1, 2, 3}, 2, read).cores, 4);
    EXPECT_EQ(count_of({0}, 2, reader({})).quota, std::nullopt);
}

/// Returns the result of `action` in a process of its own, whose affinity and share nobody else has.
std::string in_child(const std::function<std::string()>& action) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        const std::string text = action();
        const ssize_t ignored = write(ends[1], text.data(), text.size());
        static_cast<void>(ignored);
        _exit(0);
    }
    close(ends[1]);
    std::string result(4096, ' ');
    result.resize(static_cast<std::size_t>(std::max<ssize_t>(0, read(ends[0], result.data(), result.size()))));
    close(ends[0]);
    waitpid(child, nullptr, 0);
    return result;
}

bool may_use_whole_machine() {
    return std::ranges::includes(allowed_processors(), machine_processors(read_small_file));
}

TEST(TakeShare, EverythingFollowsIt) {
    if (!may_use_whole_machine() || count_cores().cores < 2)
        GTEST_SKIP() << "bound to a part of the machine, or one core";
    const int half = count_cores().cores / 2;
    const std::string text = in_child([] {
        const std::string said = take_share({1, 2, true});
        return said + "; " + std::to_string(count_cores().cores) + ", mask " +
               std::to_string(allowed_processors().size());
    });
    EXPECT_THAT(text,
                ::testing::MatchesRegex("instance 1 of 2: cores? [-0-9,]+; " + std::to_string(half) + ", mask [0-9]+"));
    EXPECT_EQ(in_child([] {
                  take_share({3, 1000, true});
                  return std::to_string(count_cores().cores) + " " + std::to_string(available_cores());
              }),
              "1 1");
}

TEST(TakeShare, AProcessThatIsNotBoundCountsItsShareOnly) {
    if (!may_use_whole_machine() || count_cores().cores < 2)
        GTEST_SKIP() << "bound to a part of the machine, or one core";
    const std::size_t all = allowed_processors().size();
    const int half = count_cores().cores / 2;
    EXPECT_EQ(in_child([] {
                  const std::string said = take_share({0, 2, false});
                  return said + "; " + std::to_string(count_cores().cores) + ", mask " +
                         std::to_string(allowed_processors().size());
              }),
              "instance 0 of 2: all cores, threads for " + std::to_string(half) + " of them; " + std::to_string(half) +
                  ", mask " + std::to_string(all));
}

TEST(TakeShare, ALaunchersBindingStays) {
    if (allowed_processors().size() < 2) GTEST_SKIP() << "one processor";
    const std::string text = in_child([] {
        const int last = allowed_processors().back();
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(last, &one);
        sched_setaffinity(0, sizeof one, &one);
        const std::string said = take_share({0, 2, true});
        return said + (allowed_processors() == std::vector<int>{last} ? "; stays" : "; moved");
    });
    EXPECT_THAT(text, HasSubstr("as its launcher has bound it; stays"));
}

}  // namespace
}  // namespace cnntrain
