// Memory limits, read from the system's files.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/system_files.h"
#include "cnntrain/base/memory.h"

namespace cnntrain {

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
