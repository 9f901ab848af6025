// What the system's files say of the cores that this process may use.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace cnntrain {

/// Text of a file, or "" when it cannot be read.
using ReadText = std::function<std::string(const std::string& path)>;

/// Processors' worth of time granted by cgroup v2 (cpu.max) or v1 (cpu.cfs_quota_us), the smallest on the way from the
/// process's group up to the root; none when there is no limit.
std::optional<double> cpu_quota(const ReadText& read);

/// The cores to which these processors belong: those that are hyper-threads of one core count once. A processor whose
/// siblings cannot be read is a core.
int cores_of(const std::vector<int>& processors, const ReadText& read);

/// At least 1.
int within_quota(int count, const std::optional<double>& quota);

}  // namespace cnntrain
