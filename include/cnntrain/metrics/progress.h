// Progress of a long job: as text, and as a terminal line that is rewritten in place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>

namespace cnntrain::metrics {

struct Progress {
    std::int64_t done = 0;
    std::int64_t first = 0;  // of these, done before this process started
    std::int64_t total = 0;
    double rate = 0;             // in `rate_unit` per second
    double elapsed_seconds = 0;  // since `first`
    std::string_view unit = "iterations";
    std::string_view rate_unit = {};
    bool is_silent = false;  // work that prints nothing before its end: without a terminal, a line a minute shows it
};

/// "[ 12.5%] 1953/15625 iterations, 812.3 images/s, 0:09:12 left"; the remaining time only if it can be estimated.
std::string progress_text(const Progress& progress);

class ProgressLine {
public:
    /// `width`: columns of the terminal; 0: no terminal, nothing is shown.
    ProgressLine(std::ostream& console, int width) : console_(console), width_(width) {}
    ~ProgressLine() { erase(); }
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// Rewrites the line, at most a few times a second.
    void show(const Progress& progress);
    /// Must be called before other output.
    void erase();
    bool has_terminal() const { return width_ > 0; }

private:
    std::ostream& console_;
    int width_;
    std::size_t length_ = 0;  // of the line on the terminal
    std::chrono::steady_clock::time_point written_;
};

/// Chooses the reports of silent work that are printed where there is no terminal: one a minute.
class MinuteLines {
public:
    /// The first report of a piece of work is due when it has taken a minute.
    bool is_due(const Progress& progress);

private:
    std::int64_t done_ = 0;  // at the last report
    std::int64_t minutes_ = 0;
};

/// Columns of the terminal behind a file descriptor; 0 if it is not a terminal.
int terminal_width(int descriptor);

}  // namespace cnntrain::metrics
