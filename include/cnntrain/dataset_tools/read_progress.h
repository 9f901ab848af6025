// How far a long read of data files is.
#pragma once

#include <cstdint>
#include <functional>

namespace cnntrain::dataset_tools {

/// Called now and then with the bytes done and the bytes there are: from any thread, one call at a time. May be empty.
using ReadProgress = std::function<void(std::uint64_t done_bytes, std::uint64_t total_bytes)>;

}  // namespace cnntrain::dataset_tools
