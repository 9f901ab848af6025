// The rows that a run reports: typed, and as named columns for files.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace cnntrain::metrics {

// The numbers that a task reports, and the unit that it counts.

/// The outputs of a graph, summed over samples.
using Sums = std::map<std::string, double>;

void add(Sums& sums, const Sums& more);

/// A reported number: scale * the sum of an output / the sum of the divisor.
struct Column {
    std::string name;          // in files; a training row has <name>_batch and <name>_avg
    std::string output;        // of the graph
    std::string divisor = {};  // the output whose sum divides; empty: the number of samples does
    double scale = 1;          // 100: percent
    bool at_end = false;       // validation.csv: last columns, because some programs find the others by position
    std::string label = {};    // its name on a screen: a progress line, the table of epochs; empty: it is not there
};

/// A number of a training row that is a function of TrainingRow::iteration alone.
struct PlannedColumn {
    std::string name;
    std::function<double(std::int64_t)> value;
};

/// The unit that a task counts, as log lines and column names print it.
struct Unit {
    std::string one;    // "image"
    std::string many;   // "images"
    std::string brief;  // "img"
};

/// TensorBoard's curves of a training, whose log lines may be far apart.
struct Curves {
    bool every_host_step = false;             // false: only host steps with a log line
    std::vector<PlannedColumn> planned = {};  // with every_host_step: curves without a column, by name
    std::string compile_time = {};            // curve of the seconds until the first step could start; empty: none
};

struct TrainingRow;

/// Position of a training row in the run, as shown to users.
struct Position {
    std::int64_t step = 0;
    double epoch = 0;
};

struct Columns {
    Unit unit = {};
    /// Step and epoch in log lines and tables, and the step of curves, for tasks that number their steps themselves;
    /// empty: the row's own step and epoch, and its iteration for curves.
    std::function<Position(const TrainingRow& row)> position = {};
    /// TensorBoard's names of training columns; other columns are named training/<name>.
    std::map<std::string, std::string> tags = {};
    std::vector<Column> training = {};
    std::vector<PlannedColumn> planned = {};  // last columns of training rows; tables of earlier versions lack them
    std::vector<Column> validation = {};
    /// Last columns of tables of validations during training, which other validations do not have.
    std::vector<std::string> more_validation = {};
    std::vector<Column> inference = {};
    Curves curves = {};
};

/// The outputs that the columns read, without repetition, in reading order.
std::vector<std::string> outputs_of(const std::vector<Column>& columns);

/// Error(internal) if the graph has no such output.
double sum_of(const Sums& sums, const std::string& output);

/// A column's value; 0 if the divisor is 0. Samples may have weights, and then are no whole number.
double value_of(const Column& column, const Sums& sums, double samples);

/// The columns' values; 0 if the divisor is 0. Multiplies by the scale before dividing, so that whole percentages are
/// exact.
std::vector<double> values_of(const std::vector<Column>& columns, const Sums& sums, std::int64_t samples);

/// One column of a training row.
struct TrainingResult {
    double batch = 0;    // of the host step
    double average = 0;  // mean over the last epoch's host steps
};

/// One log line of a training run. Times in seconds.
struct TrainingRow {
    std::int64_t step = 0;
    std::int64_t iteration = 0;
    double epoch = 0;
    double lr = 0;                             // in a record: the shortest number with the same float32 value
    std::vector<TrainingResult> results = {};  // one per column in Columns::training
    double it_time = 0;
    double samples_per_second = 0;
    double total_time = 0;
};

/// Placeholder in tables; omitted from curves.
inline constexpr double kNotMeasured = -1;

struct ValidationRow {
    std::string name;
    std::int64_t iteration = 0;
    double epoch = 0;
    std::vector<double> results = {};  // one per column in Columns::validation
    double val_time = 0;
    std::int64_t val_size = 0;
    double samples_per_second = 0;
    double latency = kNotMeasured;  // in ms
};

/// The value of the column with this name; empty if there is none.
std::optional<double> result_of(const ValidationRow& row, const Columns& columns, std::string_view name);

/// Latencies of the timed calls of an inference measurement, in milliseconds.
struct Latencies {
    double mean = 0;
    double p99 = 0;  // percentiles, with linear interpolation
    double p99_9 = 0;
    double max = 0;
};

/// One inference measurement.
struct InferenceRow {
    std::string name;
    std::int64_t iteration = 0;
    double epoch = 0;
    std::vector<double> results = {};  // one per column in Columns::inference; kNotMeasured without labels
    double inference_time = 0;
    std::int64_t num_processed_samples = 0;
    double samples_per_second = 0;
    Latencies latencies = {};
};

/// NaNs in one checkpoint.
struct NanRow {
    std::int64_t iteration = 0;
    std::int64_t nan_count = 0;
    std::int64_t nan_variables = 0;  // variables that have NaNs
};

/// Times of some weight updates, in seconds. With several ranks, those of rank 0.
struct UpdateTimes {
    std::int64_t updates = 0;
    double seconds = 0;           // of the updates
    double input_wait = 0;        // for samples
    double exchange = 0;          // of gradients
    double exposed_exchange = 0;  // the part of `exchange` after the backward pass
    double processor = 0;         // of all threads of the process
    double queued = 0;            // threads could have run, but had no processor
    double others = 0;            // processor time that other programs took
    std::int64_t page_loads = 0;  // pages that were read from disk: memory was short

    UpdateTimes& operator+=(const UpdateTimes& more);
};

/// The times of the updates of one rank over a whole process.
struct RankTimes {
    std::int64_t rank = 0;
    std::int64_t iteration = 0;  // at the end
    UpdateTimes times;
};

/// A row as named columns, in the order of the CSV file.
struct Field {
    std::string name;
    std::variant<std::int64_t, double, std::string> value;
    bool measured = true;    // false: the value is kNotMeasured
    std::string tag = {};    // its name for TensorBoard; empty: <table>/<name>
    std::string label = {};  // its name on a screen; empty: it is not shown there
    bool percent = false;
};
struct Record {
    std::string_view table;  // kTraining, ...
    std::int64_t iteration = 0;
    std::vector<Field> fields;
    std::string text = {};                        // the row as printed; empty: not printed
    std::size_t later_fields = 0;                 // number of last fields that files of earlier versions do not have
    std::vector<std::string> more_columns = {};   // columns that may follow these in files with longer rows
    bool is_curve_point = true;                   // false: points of its curves come separately
    std::optional<std::int64_t> curve_step = {};  // step of its points; empty: the iteration
};
inline constexpr std::string_view kTraining = "training";
inline constexpr std::string_view kValidation = "validation";
inline constexpr std::string_view kInference = "inference";
inline constexpr std::string_view kNans = "nans";
inline constexpr std::string_view kTimes = "times";
inline constexpr std::string_view kRanks = "ranks";

/// Makes the record of a row, without `text`.
Record record(const TrainingRow& row, const Columns& columns);
/// A host step's point of the curves, for tasks with Curves::every_host_step.
Record curve_point(const TrainingRow& row, const Columns& columns);
/// The seconds of Curves::compile_time.
Record compile_time_point(double seconds, std::int64_t iteration, const Columns& columns);
Record record(const ValidationRow& row, const Columns& columns);
Record record(const InferenceRow& row, const Columns& columns);
Record record(const NanRow& row);
/// `iteration`: the last one of the updates.
Record record(const UpdateTimes& times, std::int64_t iteration);
Record record(const RankTimes& row);

std::string csv_header(const Record& record);
/// Numbers have the fewest digits that are parsed to the same value. No line end.
std::string csv_row(const Record& record);

std::string printed(const Latencies& latencies);

// Names of durations.
inline constexpr std::string_view kCompilation = "compilation";
inline constexpr std::string_view kTrainingLoop = "training_loop";
inline constexpr std::string_view kTimeToTrain = "time_to_train";

std::string compilation_line(double seconds);
std::string initial_checkpoint_line(std::string_view prefix);
std::string checkpoint_line(std::string_view prefix, double seconds);
std::string restoring_line(std::string_view prefix);
std::string skipped_validation_line(std::string_view name);
std::string loop_completed_line(double seconds);
std::string time_to_train_line(double seconds);

}  // namespace cnntrain::metrics
