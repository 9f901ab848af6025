// Error texts and names that both file systems use.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace cnntrain {

/// A file on its way has this behind its name; what a killed process leaves behind is recognised by it.
inline constexpr const char* kPartialSuffix = ".partial";

/// `error` is an errno value.
std::string cannot_write(const std::string& path, int error);
std::string ends_early(const std::string& path, std::uint64_t size_bytes, std::uint64_t offset, std::uint64_t count);

}  // namespace cnntrain
