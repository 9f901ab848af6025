// Counts damaged images and reports them once per file.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "cnntrain/base/log.h"

namespace cnntrain::data {

/// Thread-safe.
class DamageLog {
public:
    /// `message` gives file, record and reason. The first message of each file is logged as a warning that ends with
    /// `consequence`.
    void add(const std::string& file, std::string_view message, std::string_view consequence) {
        ++count_;
        {
            const std::lock_guard lock(mutex_);
            if (!told_.insert(file).second) return;
        }
        log::warning(std::string(message) + "; " + std::string(consequence) +
                     " (told once for each file; --strict-data stops instead)");
    }

    std::int64_t count() const { return count_.load(); }

private:
    std::atomic<std::int64_t> count_ = 0;
    std::mutex mutex_;
    std::set<std::string> told_;  // files already reported
};

}  // namespace cnntrain::data
