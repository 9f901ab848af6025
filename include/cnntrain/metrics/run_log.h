// Where a run's report goes: standard output, log.txt, training.csv, validation.csv (nobody else writes them), and the
// sinks that were added.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/metrics/rows.h"
#include "cnntrain/metrics/sink.h"

namespace cnntrain::metrics {

struct RunLogSettings {
    std::string folder;     // empty: no files
    bool terminal = false;  // the console is one: show progress
    int terminal_width = 80;
};

struct Progress {
    std::int64_t iteration = 0;
    std::int64_t first_iteration = 0;  // where this process began
    std::int64_t iterations = 0;       // of the run
    double images_per_second = 0;
    double elapsed_seconds = 0;  // since first_iteration
    std::string_view unit = "iterations";
};

/// "[ 12.5%] 1953/15625 iterations, 812.3 images/s, 0:09:12 left"
std::string progress_text(const Progress& progress);

class RunLog {
public:
    RunLog(FileSystem& files, std::ostream& console, RunLogSettings settings);
    ~RunLog();  // removes the progress line
    RunLog(const RunLog&) = delete;
    RunLog& operator=(const RunLog&) = delete;

    /// A line (or several) on the console and in log.txt.
    void line(std::string_view text);
    /// A line on the console only.
    void console_line(std::string_view text);

    /// The printed line, and a row of the CSV file, whose header is written when the file is new.
    void training(const TrainingRow& row);
    void validation(const ValidationRow& row);
    /// Stands in validation.csv, with its own columns; the line of latencies is printed only.
    void inference(const InferenceRow& row);

    /// Every row that comes from now on goes there, too.
    void add_sink(std::unique_ptr<Sink> sink);
    bool has_sinks() const { return !sinks_.empty(); }
    /// For the sinks only.
    void nans(const NanRow& row);
    void status(std::string_view key, std::string_view value);

    /// Rewrites the progress line of a terminal, at most a few times a second; nothing on other consoles.
    void progress(const Progress& progress);

    /// Is a point of this name already in validation.csv? (It is then skipped.)
    bool has_validation(std::string_view name) const;

private:
    void erase_progress();
    void append_csv(const std::string& name, const Record& record);
    void pass_on(const Record& record);

    FileSystem& files_;
    std::ostream& console_;
    RunLogSettings settings_;
    std::vector<std::unique_ptr<Sink>> sinks_;
    bool progress_shown_ = false;
    std::size_t progress_length_ = 0;
    std::chrono::steady_clock::time_point progress_time_;
};

/// Columns of the terminal behind a file descriptor; 0 when it is not a terminal.
int terminal_width(int descriptor);

}  // namespace cnntrain::metrics
