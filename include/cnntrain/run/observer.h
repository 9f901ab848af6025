// Events of a run, for everything that reports them: console, JSON lines, log.txt, CSV files, TensorBoard, Weights &
// Biases, the MLPerf log.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cnntrain/base/environment.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/run/rows.h"

namespace cnntrain::metrics {

// Distribution of the elements of a tensor.

inline constexpr std::int64_t kHistogramBins = 512;

/// Bins of equal width from the least to the greatest element, or 0.5 to each side if these are equal. The last bin
/// includes its upper limit.
struct Histogram {
    double least = 0;
    double most = 0;
    double sum = 0;
    double sum_of_squares = 0;
    std::vector<double> limits;        // upper limit of each bin
    std::vector<std::int64_t> counts;  // count of each bin

    std::int64_t elements() const;
    /// Euclidean norm.
    double norm() const;
};

/// The histogram of the elements as 32-bit floats. Empty if there are no elements, or if any is not finite.
std::optional<Histogram> histogram_of(const HostTensor& tensor);

/// The distribution of a variable after a weight update.
struct Distribution {
    std::int64_t iteration = 0;
    std::string name;
    Histogram histogram;
};

// Progress of a long job: as text, and as a terminal line that is rewritten in place.

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

/// The size of a training, once its data are open.
struct TrainingSize {
    std::int64_t iterations = 0;  // weight updates of the whole run
    double epochs = 0;
    std::int64_t global_batch = 0;
    std::int64_t training_samples = 0;
    std::int64_t validation_samples = 0;
};

struct SavedCheckpoint {
    std::int64_t iteration = 0;
    std::string prefix;  // path without suffix
    double seconds = 0;  // time taken to save it
};

inline constexpr std::string_view kCompilationStatus = "compilation_status";
inline constexpr std::string_view kCompiling = "in progress";

/// Description of a run at its start.
struct RunDescription {
    std::string version;
    std::string name;
    std::string folder;  // empty: it writes no log files
    std::string command_line;
    std::vector<std::string> machine;                         // lines
    std::string io_line;                                      // for consoles only; may be empty
    std::string title;                                        // "resnet 20, batch norm, 269722 parameters"
    std::vector<std::pair<std::string, std::string>> topics;  // "Data", "50000 training images": for a screen
    std::string summary;                                      // the block of lines that programs parse
    std::string settings;                                     // a JSON object
};

/// The trainable variables of a training.
struct VariableList {
    std::string text;  // lines
    std::int64_t parameters = 0;
};

/// A part of the output that the user has asked for.
struct Result {
    std::string text;
    std::string event = "message";  // what it is called in JSON lines
    std::string fields = {};        // of the event, a JSON object; empty: the text is its field
};

/// A line (or several) of the run's log.
struct Line {
    enum class To : std::uint8_t {
        all,
        console,
        file,     // log.txt only, because the process prints it by itself: the error that ends it
        details,  // a person seldom reads it: for the file, and consoles that show all
    };
    std::string_view text;
    To to = To::all;
};

/// A duration of the run, and its line. `name`: kCompilation, kTrainingLoop, kTimeToTrain.
struct Duration {
    std::string_view name;
    double seconds = 0;
    std::string_view text;
};

/// A fact about the run as a whole: kCompilationStatus, "compiled".
struct Status {
    std::string_view key;
    std::string_view value;
};

struct Row {
    enum class Use : std::uint8_t {
        logged,
        announced,  // rows with the columns of this one will come; Error(usage) if an earlier run's file has others
        filed,      // of a table that only the run's folder has
        drawn,      // a point for curves only: fields between log lines, or a number that has no table
    };
    const Record& record;
    Use use = Use::logged;
};

// The events of a training run, in this order. TrainingSize is the first, SavedCheckpoint comes in between.

/// A new run's parameters, by name; not for a resumed run.
struct WeightsInitialised {
    std::vector<std::string> parameters;
};
struct TrainingBegan {
    std::int64_t iteration = 0;  // weight updates done before this process
};
struct HostStepEnded {
    std::int64_t iteration = 0;
};
struct ValidationBegan {};
/// The row of the validation ends it.
struct EvaluationBegan {
    double epoch = 0;
};
/// A validation during training, whose rows came before, is compared with the earlier ones.
struct ValidationCompared {
    bool is_best = false;
};
struct ValidationEnded {};
/// All weight updates are done; not for a run that is stopped or diverges.
struct TrainingFinished {};
/// The end of a training run, whether finished, stopped or diverged.
struct RunEnded {};

using Event =
    std::variant<Line, Result, Duration, Status, RunDescription, VariableList, Row, Distribution, Progress,
                 TrainingSize, WeightsInitialised, TrainingBegan, HostStepEnded, SavedCheckpoint, ValidationBegan,
                 EvaluationBegan, ValidationCompared, ValidationEnded, TrainingFinished, RunEnded>;

class Observer {
public:
    virtual ~Observer() = default;
    virtual void on(const Event& event) = 0;

    void line(std::string_view text) { on(Line{text}); }
    void detail(std::string_view text) { on(Line{text, Line::To::details}); }
};

/// An observer whose class `Self` has a handle() for each kind of event that it reports; others are ignored.
template <typename Self> class Handles : public Observer {
public:
    void on(const Event& event) final {
        const auto call = [&self = static_cast<Self&>(*this)](const auto& one) {
            if constexpr (requires { self.handle(one); }) self.handle(one);
        };
        std::visit(call, event);
    }
};

/// The only list of a run's observers. Forwards each event to all of them, in the order in which they were added.
class Observers final : public Observer {
public:
    void add(std::unique_ptr<Observer> observer) { observers_.push_back(std::move(observer)); }

    void on(const Event& event) override {
        for (const auto& observer : observers_)
            observer->on(event);
    }

private:
    std::vector<std::unique_ptr<Observer>> observers_;
};

}  // namespace cnntrain::metrics
