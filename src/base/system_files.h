// Files in which the system describes itself and its limits.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/memory.h"
#include "cnntrain/base/processor.h"

namespace cnntrain {

/// Text of a file, or "" when it cannot be read.
using ReadText = std::function<std::string(const std::string& path)>;
std::string read_small_file(const std::string& path);

/// A control group that limits this process.
struct ControlGroup {
    std::string folder;
    bool version2 = true;
};

/// The groups that control `controller` ("cpu", "memory") for this process: its own first, then each parent up to the
/// root. A container may see only the last of them.
std::vector<ControlGroup> control_groups(const ReadText& read, std::string_view controller);

// The cores that this process may use, read from the system's files.

/// Processors' worth of time granted by cgroup v2 (cpu.max) or v1 (cpu.cfs_quota_us), the smallest on the way from the
/// process's group up to the root; none when there is no limit.
std::optional<double> cpu_quota(const ReadText& read);

/// The cores to which these processors belong: those that are hyper-threads of one core count once. A processor whose
/// siblings cannot be read is a core.
int cores_of(const std::vector<int>& processors, const ReadText& read);

/// "0-3,8" as numbers; empty when it is no such list.
std::vector<int> processors_in(const std::string& list);
/// The inverse; `numbers` are in order.
std::string processor_list(const std::vector<int>& numbers);

/// All processors that processes of this machine, or of this container, may have: the control group's, or else all that
/// there are.
std::vector<int> machine_processors(const ReadText& read);

/// A processor as the system counts them, which is a hyper-thread of a core of a NUMA node.
struct ProcessorPlace {
    int number = 0;
    int core = 0;  // the smallest number of the processors of this core
    int node = 0;
};
/// The places of these processors, ordered by node, core and number.
std::vector<ProcessorPlace> places_of(const std::vector<int>& processors, const ReadText& read);

/// The processors of share `index` of `count`: whole cores, equally many for each, from as few nodes as possible. With
/// fewer cores than shares each gets one core.
std::vector<ProcessorPlace> share_of(const std::vector<ProcessorPlace>& machine, int index, int count);

/// The count of these processors, when `sharers` processes share the quota.
CoreCount count_of(const std::vector<int>& processors, int sharers, const ReadText& read);

/// The share that take_share() took.
struct TakenShare {
    int sharers = 1;                                     // of the quota
    std::optional<std::vector<ProcessorPlace>> counted;  // of a process that is not bound: what it counts as its own
};
const TakenShare& taken_share();
std::vector<int> allowed_processors();

/// The data caches of these processors, nearest first.
std::vector<CacheLevel> caches_of(const std::vector<int>& processors, const ReadText& read);

/// Limits the count to the quota, rounded down, but not below 1.
int within_quota(int count, const std::optional<double>& quota);

// Memory limits, read from the system's files.

/// A control group of this process with a memory limit.
struct GroupMemory {
    std::string file;  // holds the limit
    std::uint64_t limit_bytes = 0;
    std::uint64_t left_bytes = 0;  // the limit less what its processes hold; files' pages count as free
};
/// Own group first. Versions 2 (memory.max) and 1 (memory.limit_in_bytes).
std::vector<GroupMemory> limited_groups(const ReadText& read);

// The functions of cnntrain/base/memory.h, computed from these files.
std::uint64_t machine_memory_bytes(const ReadText& read);
MemoryLeft memory_left(const ReadText& read);

}  // namespace cnntrain
