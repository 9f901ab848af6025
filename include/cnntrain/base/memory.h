// Memory that the process may still map. A lack of it is reported before work starts, because some libraries crash when
// an allocation fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace cnntrain {

/// Of the whole machine.
std::uint64_t machine_memory_bytes();

/// Memory left under the process's limits (ulimit -v and -d); empty without a limit.
std::optional<std::uint64_t> memory_left_bytes();

/// Error(unsupported) "<who> needs about N MB more memory, has M MB" when there is less than that.
void require_memory(std::uint64_t bytes, std::string_view who);

/// Size of a new thread's stack.
std::uint64_t thread_stack_bytes();

/// Throws Error(unsupported) if the stacks of the process and its threads (ulimit -s) are too small for its work, which
/// would crash.
void require_stack();

/// Makes every allocation of a megabyte or more a mapping of its own, which returns to the system when it is freed. By
/// default glibc keeps freed blocks of up to 32 MB: 700 MB after the variables of BERT-Base were loaded one by one.
void give_large_memory_back();

}  // namespace cnntrain
