// Progress of a long read of data files.
#pragma once

#include <cstdint>
#include <functional>

namespace cnntrain::dataset_tools {

/// Called at intervals with the bytes done and the total bytes, from any thread but not concurrently. May be empty.
using ReadProgress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

}  // namespace cnntrain::dataset_tools
