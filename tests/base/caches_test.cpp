#include "cnntrain/base/processor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>

#include "base/system_files.h"
#include "cnntrain/base/memory.h"

namespace cnntrain {
namespace {

/// Four processors of two cores, with an L3 for both cores.
std::map<std::string, std::string> two_cores() {
    std::map<std::string, std::string> files;
    for (int processor = 0; processor < 4; ++processor) {
        const std::string cpu = "/sys/devices/system/cpu/cpu" + std::to_string(processor) + "/cache/index";
        const std::string core = processor < 2 ? "0-1\n" : "2-3\n";
        const auto add = [&](int index, const std::string& type, int level, const std::string& size,
                             const std::string& sharers) {
            const std::string folder = cpu + std::to_string(index);
            files[folder + "/type"] = type + "\n";
            files[folder + "/level"] = std::to_string(level) + "\n";
            files[folder + "/size"] = size + "\n";
            files[folder + "/shared_cpu_list"] = sharers;
        };
        add(0, "Data", 1, "32K", core);
        add(1, "Instruction", 1, "64K", core);
        add(2, "Unified", 2, "1024K", core);
        add(3, "Unified", 3, "32M", "0-3\n");
    }
    return files;
}

std::vector<CacheLevel> caches(const std::vector<int>& processors, const std::map<std::string, std::string>& files) {
    return caches_of(processors, [&](const std::string& path) {
        const auto found = files.find(path);
        return found == files.end() ? std::string() : found->second;
    });
}

TEST(Caches, AreThoseOfDataNearestFirst) {
    const std::vector<CacheLevel> levels = caches({0, 1, 2, 3}, two_cores());
    ASSERT_EQ(levels.size(), 3U);
    EXPECT_EQ(levels[0].level, 1);
    EXPECT_EQ(levels[0].bytes, 32U << 10) << "not that of instructions";
    EXPECT_EQ(levels[1].bytes, 1U << 20);
    EXPECT_EQ(levels[1].count, 2);
    EXPECT_EQ(levels[2].bytes, 32U << 20);
    EXPECT_EQ(levels[2].count, 1);
}

TEST(Caches, ThreadsReachThoseOfTheirCores) {
    const std::vector<CacheLevel> levels = caches({0, 1, 2, 3}, two_cores());
    ASSERT_EQ(levels.size(), 3U);
    EXPECT_EQ(levels[1].bytes_of(1), 1U << 20);
    EXPECT_EQ(levels[1].bytes_of(2), 2U << 20);
    EXPECT_EQ(levels[1].bytes_of(4), 2U << 20);
    EXPECT_EQ(levels[2].bytes_of(2), 32U << 20);
    EXPECT_EQ(caches({0, 1}, two_cores()).at(1).count, 1);
}

TEST(Caches, ASystemThatDoesNotTellHasNone) {
    EXPECT_TRUE(caches({0, 1}, {}).empty());
    std::map<std::string, std::string> files = two_cores();
    files["/sys/devices/system/cpu/cpu0/cache/index2/size"] = "large\n";
    EXPECT_EQ(caches({0}, files).size(), 2U);
}

TEST(MemoryLevels, AreMeasuredFromTheNearestToMemory) {
    for (const int threads : {1, 2}) {
        const std::vector<MemoryLevel> levels = measured_memory_levels(threads);
        ASSERT_FALSE(levels.empty());
        EXPECT_EQ(levels.back().name, "memory");
        EXPECT_TRUE(std::isinf(levels.back().bytes));
        for (std::size_t i = 0; i < levels.size(); ++i) {
            EXPECT_GT(levels[i].rates.reading, 1e8) << levels[i].name;
            EXPECT_GT(levels[i].rates.copying, 1e8) << levels[i].name;
            if (i > 0) {
                EXPECT_GT(levels[i].bytes, levels[i - 1].bytes) << levels[i].name;
                EXPECT_LE(levels[i].rates.best(), levels[i - 1].rates.best()) << levels[i].name;
            }
        }
    }
}

}  // namespace
}  // namespace cnntrain
