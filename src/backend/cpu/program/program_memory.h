// Offsets in one arena for buffers that live over known ranges of steps. Pure arithmetic.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace cnntrain::cpu {

/// A buffer is live from step `first` to step `last`, both inclusive.
struct LiveRange {
    std::size_t bytes = 0;
    int first = 0;
    int last = 0;
};

struct MemoryPlan {
    std::vector<std::size_t> offsets;  // one per range, multiples of kArenaAlignment
    std::size_t total_bytes = 0;
};

inline constexpr std::size_t kArenaAlignment = 4096;
inline constexpr std::size_t kCacheLineBytes = 64;

/// The next multiple of `unit`.
constexpr std::size_t round_up(std::size_t bytes, std::size_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

/// Largest first, each at the lowest offset that no range live at the same time occupies.
MemoryPlan plan_memory(std::span<const LiveRange> ranges);

}  // namespace cnntrain::cpu
