// Memory for the tensors of a checkpoint.
#pragma once

#include <cstdint>
#include <string>

namespace cnntrain::weights {

/// Throws Error(unsupported): "checkpoint 'path': its tensors need 3 GB of memory, more than this machine has".
[[noreturn]] void too_large(const std::string& path, const std::string& what, std::uint64_t bytes);

/// too_large() unless the process may take that much more memory: the kernel would end it.
void require_room(const std::string& path, const std::string& what, std::uint64_t bytes);

}  // namespace cnntrain::weights
