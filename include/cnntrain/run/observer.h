// Events of a run, for everything that reports them: console, JSON lines, log.txt, CSV files, TensorBoard, Weights &
// Biases, the MLPerf log.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "cnntrain/run/histogram.h"
#include "cnntrain/run/progress.h"
#include "cnntrain/run/rows.h"

namespace cnntrain::metrics {

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
