#include "cnntrain/base/elapsed.h"

#include <gtest/gtest.h>

#include <unistd.h>
#include <thread>

#include <filesystem>

#include "support/temporary_folder.h"

namespace cnntrain {
namespace {

/// A folder with the files of /proc.
class FakeProc {
public:
    FakeProc() {
        for (const char* thread : {"10", "11"})
            std::filesystem::create_directories(folder_ / (std::string("self/task/") + thread));
    }
    void set_thread(const std::string& number, const std::string& schedstat) {
        folder_.write("self/task/" + number + "/schedstat", schedstat);
    }
    void set_processors(const std::string& stat) { folder_.write("stat", stat); }
    ProcessorTimes read(const std::vector<int>& processors) { return processor_times(folder_.path(), processors); }

private:
    test::TemporaryFolder folder_;
};

TEST(ProcessorTimes, AreSummedOverThreadsAndAllowedProcessors) {
    FakeProc proc;
    proc.set_thread("10", "2000000000 500000000 7\n");
    proc.set_thread("11", "1000000000 250000000 9\n");
    proc.set_processors(
        "cpu  900 0 0 0 0 0 0 0 0 0\ncpu0 100 20 30 5000 77 4 5 6 0 0\ncpu1 10 0 0 9 0 0 0 0 0 0\n"
        "cpu10 999 0 0 0 0 0 0 0 0 0\nintr 5\n");
    const ProcessorTimes times = proc.read({0, 1});
    const auto tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
    EXPECT_DOUBLE_EQ(times.own_seconds, 3);
    EXPECT_DOUBLE_EQ(times.queued_seconds, 0.75);
    EXPECT_NEAR(times.busy_seconds, 175 * tick, 1e-9);  // neither idle nor waiting for a disk
    EXPECT_GT(times.wall_seconds, 0);
    EXPECT_NEAR(proc.read({1}).busy_seconds, 10 * tick, 1e-9);
}

TEST(ProcessorTimes, AreZeroWhereTheSystemTellsNone) {
    const ProcessorTimes times = processor_times("/no/such/folder", {0});
    EXPECT_EQ(times.own_seconds, 0);
    EXPECT_EQ(times.queued_seconds, 0);
    EXPECT_EQ(times.busy_seconds, 0);
}

TEST(ProcessorTimes, OfThisProcessGrow) {
    const ProcessorTimes begin = processor_times();
    if (begin.own_seconds == 0) GTEST_SKIP() << "no /proc/self/task/*/schedstat here";
    volatile double sum = 0;
    for (int i = 0; i < 100'000'000; ++i)
        sum = sum + i;
    const ProcessorTimes end = processor_times();
    EXPECT_GT(end.own_seconds, begin.own_seconds);
    EXPECT_GE(end.busy_seconds, begin.busy_seconds);
}

TEST(ProcessorTimes, CountThreadsThatHaveEnded) {
    const ProcessorTimes begin = processor_times();
    std::thread([] {
        const double start = processor_times().own_seconds;
        while (processor_times().own_seconds < start + 0.05) {
        }
    }).join();
    EXPECT_GE(processor_times().own_seconds, begin.own_seconds + 0.05);
}

TEST(Competition, IsWhatOthersTakeAndTheWaitForIt) {
    const ProcessorTimes begin{100, 10, 1, 50};
    const ProcessorTimes end{110, 14, 7, 70};  // of two processors
    const Competition found = competition(begin, end);
    EXPECT_DOUBLE_EQ(found.others, 1.6);
    EXPECT_DOUBLE_EQ(found.queued_share, 0.6);
    EXPECT_TRUE(found.is_felt());
}

TEST(Competition, AProcessThatWaitsForItselfHasNone) {
    const Competition own = competition({0, 0, 0, 0}, {10, 19.8, 20, 20});
    EXPECT_GT(own.queued_share, 0.5);
    EXPECT_FALSE(own.is_felt());
    const Competition others_elsewhere = competition({0, 0, 0, 0}, {10, 20, 0.2, 40});
    EXPECT_GT(others_elsewhere.others, 1);
    EXPECT_FALSE(others_elsewhere.is_felt());
    const Competition nothing = competition({5, 1, 1, 1}, {5, 1, 1, 1});
    EXPECT_FALSE(nothing.is_felt());
    EXPECT_EQ(competition({0, 9, 9, 9}, {1, 2, 2, 9}).others, 0);  // threads have ended
}

}  // namespace
}  // namespace cnntrain
