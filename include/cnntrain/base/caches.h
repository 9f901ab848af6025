// The processor's caches.
#pragma once

#include <cstdint>
#include <vector>

namespace cnntrain {

/// The data caches of one level.
struct CacheLevel {
    int level = 0;
    std::uint64_t bytes = 0;  // of each
    int count = 0;            // different ones among the processors of this process

    /// What threads on cores of their own reach together.
    std::uint64_t bytes_of(int threads) const;
};
/// Nearest first. Empty: the system does not tell.
std::vector<CacheLevel> data_caches();

}  // namespace cnntrain
