// Progress of a long job: a line rewritten in place on a terminal, otherwise a plain line every ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "cnntrain/run/observer.h"

namespace cnntrain::cli {

class ProgressReport {
public:
    /// `unit`: name of the counted things, in the plural.
    ProgressReport(std::ostream& console, const Terminal& terminal, std::string_view unit);
    explicit ProgressReport(std::string_view unit);  // prints to standard error

    /// `first`: how many items were done before this process started. May be called as often as convenient.
    void update(std::int64_t done, std::int64_t first, std::int64_t total);

    /// The same for bytes, counted in megabytes.
    void update_bytes(std::uint64_t done, std::uint64_t total, std::uint64_t first = 0);

    /// Prints a separate line above the progress line.
    void line(std::string_view text);

    double elapsed_seconds() const;

private:
    std::ostream& console_;
    metrics::ProgressLine line_;
    std::string unit_;
    std::chrono::steady_clock::time_point start_;
    std::chrono::steady_clock::time_point shown_;  // time of the last plain line
};

}  // namespace cnntrain::cli
