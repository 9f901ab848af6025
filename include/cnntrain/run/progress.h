// Progress of a long job: as text, and as a terminal line that is rewritten in place.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <mutex>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/terminal.h"

namespace cnntrain::metrics {

/// A result of the last weight updates.
struct Reading {
    std::string name;  // "accuracy"
    double value = 0;
    bool percent = false;
};

struct Progress {
    std::int64_t done = 0;
    std::int64_t first = 0;  // of these, done before this process started
    std::int64_t total = 0;
    double rate = 0;             // in `rate_unit` per second
    double elapsed_seconds = 0;  // since `first`
    std::string_view unit = "iterations";
    std::string_view rate_unit = {};
    bool is_silent = false;  // work that prints nothing before its end: without a terminal, a line a minute shows it
    std::vector<Reading> readings = {};
};

/// Formats a duration as "0:09:12".
std::string duration_text(double seconds);

/// Seconds until the end; below 0 if they cannot be estimated.
double seconds_left(const Progress& progress);

/// "[ 12.5%] 1953/15625 iterations, loss 1.204, accuracy 56.10 %, 812.3 images/s, 0:09:12 left"; the remaining time
/// only if it can be estimated. Of more than `width` columns, the less important parts are left out.
std::string progress_text(const Progress& progress, std::size_t width = std::string::npos);

/// A line that is rewritten in place on a terminal. The cursor stays in its first column, so that a terminal that wraps
/// the line when it is made narrower moves the cursor with it, and everything from there on can be erased. Diagnostics
/// (base/log.h) remove the line first. One object at a time.
class ProgressLine {
public:
    /// Shows nothing without a terminal, or on one that does not rewrite lines.
    ProgressLine(std::ostream& console, Terminal terminal);
    ~ProgressLine();
    ProgressLine(const ProgressLine&) = delete;
    ProgressLine& operator=(const ProgressLine&) = delete;

    /// Rewrites the line, at most a few times a second.
    void show(const Progress& progress);
    /// Rewrites the line at once.
    void show(const std::string& text);
    /// Must be called before other output.
    void erase();
    bool has_terminal() const { return terminal_.rewrites; }

private:
    void write(const std::string& text);

    std::ostream& console_;
    Terminal terminal_;
    std::mutex mutex_;  // diagnostics come from any thread
    bool shown_ = false;
    std::chrono::steady_clock::time_point written_;
};

/// Removes the progress line from its terminal; for a signal handler that is about to end the process.
void abandon_progress_line() noexcept;

/// Chooses the reports of silent work that are printed where there is no terminal: one a minute.
class MinuteLines {
public:
    /// The first report of a piece of work is due when it has taken a minute.
    bool is_due(const Progress& progress);

private:
    std::int64_t done_ = 0;  // at the last report
    std::int64_t minutes_ = 0;
};

}  // namespace cnntrain::metrics
