#include "backend/cpu/program/program.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cnntrain/base/rng.h"

namespace cnntrain::cpu {
namespace {

std::size_t aligned(std::size_t bytes) {
    return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment;
}

/// The most memory that is live at any one step: no plan can need less.
std::size_t most_live_bytes(const std::vector<LiveRange>& ranges) {
    std::size_t most = 0;
    for (const LiveRange& at : ranges) {
        std::size_t live = 0;
        for (const LiveRange& range : ranges) {
            if (range.first <= at.first && at.first <= range.last) live += aligned(range.bytes);
        }
        most = std::max(most, live);
    }
    return most;
}

void expect_no_overlap(const std::vector<LiveRange>& ranges, const MemoryPlan& plan) {
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        EXPECT_LE(plan.offsets[i] + ranges[i].bytes, plan.total_bytes);
        for (std::size_t j = 0; j < i; ++j) {
            const bool together = ranges[i].first <= ranges[j].last && ranges[j].first <= ranges[i].last;
            const bool apart = plan.offsets[i] + ranges[i].bytes <= plan.offsets[j] ||
                               plan.offsets[j] + ranges[j].bytes <= plan.offsets[i];
            EXPECT_TRUE(!together || apart) << i << " and " << j;
        }
    }
}

TEST(MemoryPlan, ReusesWhatIsNoLongerNeeded) {
    const std::vector<LiveRange> ranges = {{8192, 0, 1}, {8192, 1, 2}, {8192, 2, 3}, {4096, 3, 4}};
    const MemoryPlan plan = plan_memory(ranges);
    expect_no_overlap(ranges, plan);
    EXPECT_EQ(plan.total_bytes, 2 * 8192U);
}

TEST(MemoryPlan, NothingNeedsNothing) {
    EXPECT_EQ(plan_memory({}).total_bytes, 0U);
}

TEST(MemoryPlan, NeverOverlapsAndStaysNearTheBound) {
    Rng rng(1, RngStream::test);
    for (int round = 0; round < 20; ++round) {
        std::vector<LiveRange> ranges;
        for (int i = 0; i < 120; ++i) {
            const int first = static_cast<int>(rng.integer(0, 100));
            const auto bytes = static_cast<std::size_t>(rng.integer(1, 40)) * 1000;
            ranges.push_back({bytes, first, first + static_cast<int>(rng.integer(0, 30))});
        }
        const MemoryPlan plan = plan_memory(ranges);
        expect_no_overlap(ranges, plan);
        EXPECT_LE(static_cast<double>(plan.total_bytes), 1.35 * static_cast<double>(most_live_bytes(ranges)));
    }
}

TEST(PageMemory, BeginsAtAHugePageAndIsZero) {
    constexpr std::size_t kHugePage = std::size_t{2} << 20;
    for (const std::size_t bytes : {std::size_t{1}, kHugePage - 1, kHugePage + 1, 3 * kHugePage}) {
        const PageMemory memory(bytes);
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory.data()) % kHugePage, 0U) << bytes;
        EXPECT_EQ(memory.data()[0], std::byte{0});
        EXPECT_EQ(memory.data()[bytes - 1], std::byte{0});
    }
}

}  // namespace
}  // namespace cnntrain::cpu
