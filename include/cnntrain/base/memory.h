// How much memory the process may still map, so that a lack of it is said before work starts: some libraries crash when
// they get none.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cnntrain {

/// Of the whole machine.
std::uint64_t machine_memory_bytes();

/// Under the process's limits (ulimit -v and -d); nothing without one.
std::optional<std::uint64_t> memory_left_bytes();

/// Error(unsupported) "<who> needs about N MB more memory, has M MB" when there is less than that.
void require_memory(std::uint64_t bytes, std::string_view who);

/// Of the stack that a new thread gets.
std::uint64_t thread_stack_bytes();

/// From now on every allocation of a megabyte or more is a mapping of its own, which goes back to the system when it is
/// freed. glibc by itself keeps pieces of up to 32 MB for later: 700 MB after the variables of BERT-Base had come and
/// gone one by one.
void give_large_memory_back();

}  // namespace cnntrain
