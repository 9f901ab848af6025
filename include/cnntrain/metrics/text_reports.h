// A run's report as text: on the console, and in log.txt.
#pragma once

#include <ostream>
#include <string>
#include <string_view>

#include "cnntrain/base/io.h"
#include "cnntrain/metrics/observer.h"

namespace cnntrain::metrics {

/// Lines, printed rows and saved checkpoints.
class TextReport : public Observer {
public:
    void line(std::string_view text) override { write(text); }
    void row(const Record& row) override;
    void checkpoint_saved(const SavedCheckpoint& checkpoint) override;

protected:
    /// A line, or several.
    virtual void write(std::string_view text) = 0;
};

/// Shows progress, too, on a terminal; it is removed before every line and at the end.
class Console final : public TextReport {
public:
    /// `terminal_width`: columns; 0: the console is not a terminal.
    Console(std::ostream& out, int terminal_width) : out_(out), progress_(out, terminal_width) {}

    void console_line(std::string_view text) override { write(text); }
    void checkpoint_saved(const SavedCheckpoint& checkpoint) override;
    void progress(const Progress& progress) override { progress_.show(progress); }

private:
    void write(std::string_view text) override;

    std::ostream& out_;
    ProgressLine progress_;
};

/// log.txt in the run's folder.
class LogFile final : public TextReport {
public:
    LogFile(FileSystem& files, const std::string& folder)
        : files_(files), path_(without_trailing_slashes(folder) + "/log.txt") {}

private:
    void write(std::string_view text) override { files_.append(path_, std::string(text) + "\n"); }

    FileSystem& files_;
    std::string path_;
};

}  // namespace cnntrain::metrics
