// Where a run's report goes: standard output, log.txt, training.csv, validation.csv (nobody else writes them), and the
// sinks that were added.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/metrics/progress.h"
#include "cnntrain/metrics/rows.h"
#include "cnntrain/metrics/sink.h"

namespace cnntrain::metrics {

struct RunLogSettings {
    std::string folder;     // empty: no files
    bool terminal = false;  // the console is one: show progress
    int terminal_width = 80;
};

class RunLog {
public:
    RunLog(FileSystem& files, std::ostream& console, RunLogSettings settings);

    /// A line (or several) on the console and in log.txt.
    void line(std::string_view text);
    /// A line on the console only.
    void console_line(std::string_view text);

    /// The printed line, and a row of the CSV file, whose header is written when the file is new.
    void training(const TrainingRow& row);
    void validation(const ValidationRow& row);
    /// Stands in validation.csv, with its own columns; the line of latencies is printed only.
    void inference(const InferenceRow& row);

    /// Error(usage) when validation.csv is there with other columns than these, as inference() and validation() say
    /// too, after the work.
    void expect_validations(const Record& row) const;

    /// Every row that comes from now on goes there, too.
    void add_sink(std::unique_ptr<Sink> sink);
    bool has_sinks() const { return !sinks_.empty(); }
    /// For the sinks only.
    void nans(const NanRow& row);
    void status(std::string_view key, std::string_view value);

    /// On a terminal only; removed before every line and at the end.
    void progress(const Progress& progress) { progress_.show(progress); }

    /// Is a point of this name already in validation.csv? (It is then skipped.)
    bool has_validation(std::string_view name) const;

private:
    bool check_columns(const std::string& name, const Record& record) const;  // false: there are none yet
    void append_csv(const std::string& name, const Record& record);
    void pass_on(const Record& record);

    FileSystem& files_;
    std::ostream& console_;
    RunLogSettings settings_;
    std::vector<std::unique_ptr<Sink>> sinks_;
    ProgressLine progress_;
};

}  // namespace cnntrain::metrics
