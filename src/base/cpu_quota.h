// The processor quota of this process's control group.
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace cnntrain {

/// Text of a file, or "" when it cannot be read.
using ReadText = std::function<std::string(const std::string& path)>;

/// Processors' worth of time granted by cgroup v2 (cpu.max) or v1 (cpu.cfs_quota_us), the smallest on the way from the
/// process's group up to the root; none when there is no limit.
std::optional<double> cpu_quota(const ReadText& read);

}  // namespace cnntrain
