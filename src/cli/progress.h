// How far a long job is: a line rewritten in place on a terminal, otherwise a plain line every ten seconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

#include "cnntrain/metrics/progress.h"

namespace cnntrain::cli {

class ProgressReport {
public:
    /// `width` is the console's, 0 when it is not a terminal (metrics::terminal_width). `unit` is what is counted, in
    /// the plural.
    ProgressReport(std::ostream& console, int width, std::string_view unit);
    explicit ProgressReport(std::string_view unit);  // on standard error

    /// `first`: how many were done before this process began. Call it as often as you like.
    void update(std::int64_t done, std::int64_t first, std::int64_t total);

    /// A line of its own, above the progress.
    void line(std::string_view text);

    double elapsed_seconds() const;

private:
    std::ostream& console_;
    bool terminal_;
    metrics::ProgressLine line_;
    std::string unit_;
    std::chrono::steady_clock::time_point start_;
    std::chrono::steady_clock::time_point shown_;  // when a plain line was written last
};

}  // namespace cnntrain::cli
