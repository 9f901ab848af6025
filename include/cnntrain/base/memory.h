// Memory that the process may still map. A lack of it is reported before work starts, because some libraries crash when
// an allocation fails.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace cnntrain {

/// Memory of the whole machine, or of the part that the process's control group may use.
std::uint64_t machine_memory_bytes();

/// Memory that the process may still take, and what limits it.
struct MemoryLeft {
    std::uint64_t bytes = 0;
    std::string limit;   // "on this machine", "by /sys/fs/cgroup/memory.max", "by ulimit -v"
    std::string remedy;  // "raise that limit"
};
/// The least of what the machine, the process's control groups and its limits (ulimit -v and -d) leave.
MemoryLeft memory_left();

/// Error(unsupported) "<who> needs about N MB more memory, has M MB" when there is less than that.
void require_memory(std::uint64_t bytes, std::string_view who);

/// Memory that the process holds at this moment, libraries included; mapped but untouched memory does not count.
std::uint64_t resident_bytes();

/// Size of a new thread's stack.
std::uint64_t thread_stack_bytes();

/// Throws Error(unsupported) if the stacks of the process and its threads (ulimit -s) are too small for its work, which
/// would crash.
void require_stack();

/// Makes every allocation of a megabyte or more a mapping of its own, which returns to the system when it is freed. By
/// default glibc keeps freed blocks of up to 32 MB: 700 MB after the variables of BERT-Base were loaded one by one.
/// Under ulimit -v, all threads share one arena, so that what a run needs does not grow while it goes on.
void give_large_memory_back();

// Measures how fast threads read and copy memory.

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

/// Measures the caches from the second level on, nearest first, and memory last; takes about 0.2 seconds.
std::vector<MemoryLevel> measured_memory_levels(int threads);

}  // namespace cnntrain
