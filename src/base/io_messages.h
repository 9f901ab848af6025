// Error texts and temporary names that both file systems use.
#pragma once

#include <cstdint>
#include <string>

namespace cnntrain {

/// `error` is an errno value.
std::string cannot_write(const std::string& path, int error);
std::string ends_early(const std::string& path, std::uint64_t size_bytes, std::uint64_t offset, std::uint64_t count);

/// A new name at every call.
std::string partial_name(const std::string& path);

}  // namespace cnntrain
