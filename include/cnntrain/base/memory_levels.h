// How fast threads read and copy memory, measured.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

namespace cnntrain {

/// Bytes a second of all threads together.
struct MemoryRates {
    double reading = 0;
    double copying = 0;  // read and written

    double best() const { return std::max(reading, copying); }
};

/// A cache, or memory.
struct MemoryLevel {
    std::string name;  // "L2", "memory"
    double bytes = 0;  // that the caches of all threads hold; of memory: infinite
    MemoryRates rates = {};
};

/// Of memory beyond the caches; takes a tenth of a second, longer where other programs compute.
MemoryRates measured_memory(int threads);
/// The caches from the second level on, nearest first, and memory last; takes about 0.2 seconds.
std::vector<MemoryLevel> measured_memory_levels(int threads);

}  // namespace cnntrain
