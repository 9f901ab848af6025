// Events of a run, for everything that reports them: console, JSON lines, log.txt, CSV files, TensorBoard, Weights &
// Biases, the MLPerf log.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
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

/// An observer overrides the events that it reports and ignores the others.
class Observer {
public:
    virtual ~Observer() = default;

    /// A line (or several) of the run's log.
    virtual void line(std::string_view /*text*/) {}
    /// A line for the console only.
    virtual void console_line(std::string_view /*text*/) {}
    /// A line for log.txt only, because the process prints it by itself: the error that ends it.
    virtual void log_line(std::string_view /*text*/) {}
    /// A line (or several) that a person seldom reads: for the file, and consoles that show all.
    virtual void detail(std::string_view /*text*/) {}
    /// A line that is shown where nothing but results is.
    virtual void result(const Result& /*result*/) {}
    /// A duration of the run, and its line. `name`: "compilation".
    virtual void duration(std::string_view /*name*/, double /*seconds*/, std::string_view /*text*/) {}
    virtual void run_described(const RunDescription& /*run*/) {}
    virtual void variables_listed(const VariableList& /*variables*/) {}
    /// A fact about the run as a whole: kCompilationStatus, "compiled".
    virtual void status(std::string_view /*key*/, std::string_view /*value*/) {}
    /// Announces rows with the columns of this one. Throws Error(usage) if they differ from those in an earlier run's
    /// file.
    virtual void expect(const Record& /*row*/) {}
    virtual void row(const Record& /*row*/) {}
    /// A row of a table that the run's folder has, and nothing else.
    virtual void file_row(const Record& /*row*/) {}
    /// A point for curves only: a row's fields between log lines, or a number that has no table.
    virtual void curve_point(const Record& /*point*/) {}
    /// The distribution of every variable, at intervals, if the options ask for it.
    virtual void distribution(const Distribution& /*distribution*/) {}
    virtual void progress(const Progress& /*progress*/) {}

    // The events of a training run, in this order.
    virtual void training_planned(const TrainingSize& /*size*/) {}
    /// A new run's parameters, by name. Not called for a resumed run.
    virtual void weights_initialised(const std::vector<std::string>& /*parameters*/) {}
    /// `iteration`: weight updates done before this process.
    virtual void training_began(std::int64_t /*iteration*/) {}
    virtual void checkpoint_saved(const SavedCheckpoint& /*checkpoint*/) {}
    virtual void host_step_ended(std::int64_t /*iteration*/) {}
    /// All weight updates are done. Not called for a run that is stopped or diverges.
    virtual void training_finished() {}
    /// A validation during training, whose rows came before, is compared with the earlier ones.
    virtual void validation_compared(bool /*is_best*/) {}
    virtual void validation_began() {}
    virtual void evaluation_began(double /*epoch*/) {}  // its validation row ends it
    virtual void validation_ended() {}
    /// The end of a training run, whether finished, stopped or diverged.
    virtual void run_ended() {}
};

/// The only list of a run's observers. Forwards each event to all of them, in the order in which they were added.
class Observers final : public Observer {
public:
    void add(std::unique_ptr<Observer> observer) { observers_.push_back(std::move(observer)); }

    void line(std::string_view text) override;
    void console_line(std::string_view text) override;
    void detail(std::string_view text) override;
    void result(const Result& result) override;
    void duration(std::string_view name, double seconds, std::string_view text) override;
    void run_described(const RunDescription& run) override;
    void variables_listed(const VariableList& variables) override;
    void log_line(std::string_view text) override;
    void status(std::string_view key, std::string_view value) override;
    void expect(const Record& row) override;
    void row(const Record& row) override;
    void file_row(const Record& row) override;
    void curve_point(const Record& point) override;
    void distribution(const Distribution& distribution) override;
    void progress(const Progress& progress) override;
    void training_planned(const TrainingSize& size) override;
    void weights_initialised(const std::vector<std::string>& parameters) override;
    void training_began(std::int64_t iteration) override;
    void checkpoint_saved(const SavedCheckpoint& checkpoint) override;
    void host_step_ended(std::int64_t iteration) override;
    void training_finished() override;
    void validation_compared(bool is_best) override;
    void validation_began() override;
    void evaluation_began(double epoch) override;
    void validation_ended() override;
    void run_ended() override;

private:
    std::vector<std::unique_ptr<Observer>> observers_;
};

}  // namespace cnntrain::metrics
