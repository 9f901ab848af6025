#include "backend/cpu/program/memory_plan.h"

#include <algorithm>
#include <numeric>

namespace cnntrain::cpu {
namespace {

bool overlap(const LiveRange& a, const LiveRange& b) {
    return a.first <= b.last && b.first <= a.last;
}

}  // namespace

MemoryPlan plan_memory(std::span<const LiveRange> ranges) {
    MemoryPlan plan;
    plan.offsets.resize(ranges.size());
    std::vector<std::size_t> by_size(ranges.size());
    std::iota(by_size.begin(), by_size.end(), 0);
    std::stable_sort(by_size.begin(), by_size.end(),
                     [&](std::size_t a, std::size_t b) { return ranges[a].bytes > ranges[b].bytes; });

    std::vector<std::size_t> placed;  // ordered by offset
    for (const std::size_t index : by_size) {
        const std::size_t bytes = round_up(ranges[index].bytes, kArenaAlignment);
        std::size_t offset = 0;
        for (const std::size_t other : placed) {
            if (!overlap(ranges[index], ranges[other])) continue;
            if (plan.offsets[other] >= offset + bytes) break;
            offset = std::max(offset, plan.offsets[other] + round_up(ranges[other].bytes, kArenaAlignment));
        }
        plan.offsets[index] = offset;
        plan.total_bytes = std::max(plan.total_bytes, offset + bytes);
        const auto at =
            std::upper_bound(placed.begin(), placed.end(), offset,
                             [&](std::size_t value, std::size_t other) { return value < plan.offsets[other]; });
        placed.insert(at, index);
    }
    return plan;
}

}  // namespace cnntrain::cpu
