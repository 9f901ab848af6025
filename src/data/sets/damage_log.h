// Counts damaged images and reports them once per file.
#pragma once

#include <cstdint>
#include <iterator>
#include <mutex>
#include <set>
#include <string>
#include <string_view>

#include "cnntrain/base/log.h"

namespace cnntrain::data {

/// Thread-safe.
class DamageLog {
public:
    /// `message` gives file, record and reason of a sample. The first message of each file is logged as a warning that
    /// ends with `consequence`.
    void add(std::int64_t sample, const std::string& file, std::string_view message, std::string_view consequence) {
        {
            const std::lock_guard lock(mutex_);
            damaged_.insert(sample);
            if (!told_.insert(file).second) return;
        }
        log::warning(std::string(message) + "; " + std::string(consequence) +
                     " (told once for each file; --strict-data stops instead)");
    }

    /// Each sample counts once, in however many epochs it is met.
    std::int64_t count() const {
        const std::lock_guard lock(mutex_);
        return std::ssize(damaged_);
    }

private:
    mutable std::mutex mutex_;
    std::set<std::int64_t> damaged_;
    std::set<std::string> told_;  // files already reported
};

}  // namespace cnntrain::data
