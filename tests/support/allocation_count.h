// Counts the allocations of a whole process, of every library and thread. allocation_count.cpp replaces malloc: compile
// it into an executable of its own, and not with sanitizers, which have allocators of their own.
#pragma once

#include <cstdint>
#include <string_view>

namespace cnntrain::test {

/// Number of allocations counted so far.
std::int64_t allocations();

/// Counts only allocations for which `counts` is true from now on. `counts` is called within the allocation; its own
/// allocations are never counted. Null: all are counted, as at the beginning.
void count_allocations_if(bool (*counts)());

/// True within an allocation that a library makes whose file name contains this. Its first call allocates.
bool called_from(std::string_view library);

}  // namespace cnntrain::test
