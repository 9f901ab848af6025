// How far a long job is: a line rewritten in place on a terminal, otherwise a plain line every ten seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace cnntrain::cli {

class ProgressReport {
public:
    /// `width` is the console's, 0 when it is not a terminal (metrics::terminal_width). `unit` is what is counted, in
    /// the plural.
    ProgressReport(std::ostream& console, int width, std::string_view unit);
    ~ProgressReport() { erase(); }
    ProgressReport(const ProgressReport&) = delete;
    ProgressReport& operator=(const ProgressReport&) = delete;

    /// `first`: how many were done before this process began. Call it as often as you like.
    void update(std::int64_t done, std::int64_t first, std::int64_t total);

    /// A line of its own, above the progress.
    void line(std::string_view text);

    double elapsed_seconds() const;

private:
    void erase();

    std::ostream& console_;
    int width_;
    std::string unit_;
    std::chrono::steady_clock::time_point start_;
    std::chrono::steady_clock::time_point shown_;  // when it was written last
    std::size_t length_ = 0;                       // of what stands on the terminal's line
};

/// "[ 12.5%] 1953/15625 images, 812.3 images/s, 0:09:12 left"; the time only where it can be told.
std::string progress_line(std::int64_t done, std::int64_t first, std::int64_t total, double seconds,
                          std::string_view unit);

}  // namespace cnntrain::cli
