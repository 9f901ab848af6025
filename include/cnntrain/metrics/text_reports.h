// A run's report as text: on the console, and in log.txt.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "cnntrain/base/io.h"
#include "cnntrain/metrics/observer.h"

namespace cnntrain::metrics {

/// Prefix of every non-empty line.
using LinePrefix = std::string (*)();

/// "2022-10-03 11:38:35.000123: I ": local time and level. The last digits are milliseconds, padded to six digits,
/// which is the format that programs parse.
std::string dated_prefix();

/// Lines, printed rows and saved checkpoints.
class TextReport : public Observer {
public:
    /// `prefix` null: none.
    explicit TextReport(LinePrefix prefix = nullptr) : prefix_(prefix) {}

    /// From now on, rates are those of an emulated device: "samples/sec" becomes "emulated samples/sec".
    void mark_rates_as_emulated() { rates_are_emulated_ = true; }

    void line(std::string_view text) override { put(text); }
    void row(const Record& row) override;
    void checkpoint_saved(const SavedCheckpoint& checkpoint) override;

protected:
    /// Writes it with prefixes.
    void put(std::string_view text);
    bool rates_are_emulated() const { return rates_are_emulated_; }

private:
    /// A line, or several.
    virtual void write(std::string_view text) = 0;

    LinePrefix prefix_;
    bool rates_are_emulated_ = false;
};

/// Also shows progress on a terminal; the progress line is removed before every other line and at the end. Without a
/// terminal, work that is silent for minutes gets a line a minute.
class Console final : public TextReport {
public:
    /// `terminal_width`: columns; 0: the console is not a terminal.
    Console(std::ostream& out, int terminal_width, LinePrefix prefix = nullptr)
        : TextReport(prefix), out_(out), progress_(out, terminal_width) {}

    void console_line(std::string_view text) override { put(text); }
    void checkpoint_saved(const SavedCheckpoint& checkpoint) override;
    void progress(const Progress& progress) override;

private:
    void write(std::string_view text) override;

    std::ostream& out_;
    ProgressLine progress_;
    MinuteLines minutes_;
};

/// log.txt in the run's folder.
class LogFile final : public TextReport {
public:
    LogFile(FileSystem& files, const std::string& folder, LinePrefix prefix = nullptr)
        : TextReport(prefix), files_(files), path_(without_trailing_slashes(folder) + "/log.txt") {}

    void log_line(std::string_view text) override { put(text); }

private:
    void write(std::string_view text) override { files_.append(path_, std::string(text) + "\n"); }

    FileSystem& files_;
    std::string path_;
};

}  // namespace cnntrain::metrics
