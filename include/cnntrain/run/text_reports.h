// A run's report as text: on the console, and in log.txt.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/environment.h"
#include "cnntrain/base/io.h"
#include "cnntrain/graph/settings.h"
#include "cnntrain/run/observer.h"

namespace cnntrain::metrics {

/// Prefix of every non-empty line.
using LinePrefix = std::string (*)();

/// "2022-10-03 11:38:35.000123: I ": local time and level. The last digits are milliseconds, padded to six digits,
/// which is the format that programs parse.
std::string dated_prefix();

/// All lines, printed rows and saved checkpoints.
class TextReport {
public:
    /// `prefix` null: none.
    explicit TextReport(LinePrefix prefix = nullptr) : prefix_(prefix) {}
    virtual ~TextReport() = default;

    /// Marks all later rates as those of an emulated device: "samples/sec" becomes "emulated samples/sec".
    void mark_rates_as_emulated() { rates_are_emulated_ = true; }

    void handle(const Result& result) { put(result.text); }
    void handle(const Duration& duration) { put(duration.text); }
    void handle(const RunDescription& run);
    void handle(const VariableList& variables) { put(variables.text); }
    void handle(const Row& row);
    void handle(const SavedCheckpoint& checkpoint);

protected:
    /// Writes it with prefixes.
    void put(std::string_view text);
    bool rates_are_emulated() const { return rates_are_emulated_; }

private:
    /// A line, or several.
    virtual void write(std::string_view text) = 0;
    /// True if this report has the lines that are for consoles only.
    virtual bool is_console() const { return false; }

    LinePrefix prefix_;
    bool rates_are_emulated_ = false;
};

/// Amount of a run's output that a console shows.
enum class Extent : std::uint8_t {
    results,  // nothing but results
    brief,    // on a screen: settings in a few lines, without variables
    all,      // what log.txt has
};

class EpochTable;

/// Also shows progress on a terminal; the progress line is removed before every other line and at the end. Without a
/// terminal, work that is silent for minutes gets a line a minute.
class Console final : public Handles<Console>, public TextReport {
public:
    struct Settings {
        Terminal terminal = {};
        Extent extent = Extent::all;
        LinePrefix prefix = nullptr;
    };
    Console(std::ostream& out, Settings settings);
    ~Console() override;

    using TextReport::handle;
    void handle(const Line& line);
    void handle(const Duration& duration);
    void handle(const RunDescription& run);
    void handle(const VariableList& variables);
    void handle(const Status& status);
    void handle(const Row& row);
    void handle(const SavedCheckpoint& checkpoint);
    void handle(const Progress& progress);
    void handle(const TrainingSize& size);
    void handle(const ValidationCompared& validation);
    /// An epoch without a validation has a row in the table, too.
    void handle(const HostStepEnded& step);
    void handle(const TrainingFinished& end);
    void handle(const RunEnded& end);

private:
    void write(std::string_view text) override;
    bool is_console() const override { return true; }
    bool shows_lines() const { return extent_ != Extent::results; }
    void row_on_screen(const Record& row);

    std::ostream& out_;
    Extent extent_;
    Terminal terminal_;
    ProgressLine progress_;
    MinuteLines minutes_;
    std::unique_ptr<EpochTable> table_;  // of a training on a screen; null: it has log lines
    Progress training_progress_;
    std::string rate_unit_;
};

/// log.txt in the run's folder.
class LogFile final : public Handles<LogFile>, public TextReport {
public:
    LogFile(FileSystem& files, const std::string& folder, LinePrefix prefix = nullptr)
        : TextReport(prefix), files_(files), path_(without_trailing_slashes(folder) + "/log.txt") {}

    using TextReport::handle;
    void handle(const Line& line) {
        if (line.to != Line::To::console) put(line.text);
    }

private:
    void write(std::string_view text) override { files_.append(path_, std::string(text) + "\n"); }

    FileSystem& files_;
    std::string path_;
};

// A run's report for programs: one JSON object a line, for each event.

/// Types of JSON in events.
enum class JsonType : std::uint8_t { text, integer, number, texts, object };
std::string_view name(JsonType type);

struct JsonField {
    std::string_view name;
    JsonType type;
    std::string_view meaning;
};

struct JsonEvent {
    std::string_view name;
    std::string_view when;
    std::vector<JsonField> fields = {};
    std::string_view more = {};  // what further fields there are; empty: none
};

/// All events. Each also has "event", its name, and "time", in seconds since 1970.
const std::vector<JsonEvent>& json_events();

/// A diagnostic as a line, for log::set_format().
std::string message_line(std::string_view level, std::string_view text);
/// The error that ends the process, as a line.
std::string error_line(std::string_view text, int exit_code);

/// Numbers that are not finite are null; bytes that are no UTF-8 become U+FFFD.
class JsonLines final : public Handles<JsonLines> {
public:
    /// `extent`: `results` or `all`.
    JsonLines(std::ostream& out, Extent extent) : out_(out), extent_(extent) {}

    void handle(const Line& line);
    void handle(const Result& result);
    void handle(const Duration& duration);
    void handle(const RunDescription& run);
    void handle(const VariableList& variables);
    void handle(const Row& row);
    /// Writes at most one event in five seconds, and the first one of each piece of work.
    void handle(const Progress& progress);
    void handle(const TrainingSize& size);
    void handle(const SavedCheckpoint& checkpoint);

private:
    bool shows_all() const { return extent_ != Extent::results; }
    void write(const std::string& line);

    std::ostream& out_;
    Extent extent_;
    std::int64_t done_ = -1;  // at the last progress event
    std::chrono::steady_clock::time_point written_;
};

}  // namespace cnntrain::metrics

namespace cnntrain::run {

// Formats numbers and optimisers in a run's output.

/// Formats a number as on a command line: "0.1".
std::string text(double value);
/// Formats a number with five significant digits.
std::string short_text(double value);
/// "3, 6, 9, ... 30 (10 in all)". `first`: all values, or the first kShown of `count`.
std::string some_of(const std::vector<std::int64_t>& first, std::int64_t count, std::int64_t last);
inline constexpr std::size_t kShown = 6;

/// "momentum, momentum 0.9, weight decay 0.0001, loss scaling 128", for a dry run.
std::string optimiser_text(const optim::OptimiserSettings& settings);

}  // namespace cnntrain::run
