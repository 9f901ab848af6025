// An allocation that fails. faulty_memory.cpp replaces operator new of the whole process: compile it into an executable
// of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string_view>

#include "support/faults.h"

namespace cnntrain::test {

/// Sizes of allocations in bytes.
struct Sizes {
    std::size_t least = 0, most = std::numeric_limits<std::size_t>::max();
};

/// While an object of this class exists, allocations of these sizes are counted, in every thread and library, and the
/// one with the number of the fault throws std::bad_alloc. Only one object may exist at a time.
///
/// `spared`: parts of names of functions, as the linker knows them, and of libraries. An allocation within one of them
/// does not fail, the next one outside does.
class FaultyMemory {
public:
    FaultyMemory(const Sizes& sizes, std::span<const std::string_view> spared, Fault& fault);
    ~FaultyMemory();
    FaultyMemory(const FaultyMemory&) = delete;
    FaultyMemory& operator=(const FaultyMemory&) = delete;

    std::int64_t counted() const;

private:
    Fault& fault_;
};

}  // namespace cnntrain::test
