#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>

#include "cnntrain/dataset_tools/read_progress.h"

namespace cnntrain::dataset_tools {

/// Counts the bytes that several threads have read, and reports them at a limited rate.
class ByteProgress {
public:
    ByteProgress(const ReadProgress& tell, std::uint64_t total_bytes) : tell_(tell), total_bytes_(total_bytes) {}

    void add(std::uint64_t bytes) {
        const std::uint64_t done = done_bytes_ += bytes;
        if (!tell_ || done / kStepBytes == (done - bytes) / kStepBytes) return;
        const std::lock_guard lock(mutex_);
        tell_(done_bytes_, total_bytes_);
    }

private:
    static constexpr std::uint64_t kStepBytes = std::uint64_t{4} << 20;

    const ReadProgress& tell_;
    std::uint64_t total_bytes_;
    std::atomic<std::uint64_t> done_bytes_ = 0;
    std::mutex mutex_;
};

}  // namespace cnntrain::dataset_tools
