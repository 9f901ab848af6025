// A run's folder as typed values. The run may still be going or have been killed, or an earlier version may have
// written the folder: values that it lacks are empty here and named in RunRecord::missing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/run/profile.h"
#include "cnntrain/run/scores.h"

namespace cnntrain::report {

inline constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// A table as in a CSV file, without an incomplete last row.
class Table {
public:
    Table() = default;
    /// Has no columns if the text has more than any program here writes. Cells beyond the columns are dropped.
    explicit Table(std::string_view csv);

    std::size_t rows() const { return columns_.empty() ? 0 : ends_.size() / columns_.size(); }
    bool has_columns() const { return !columns_.empty(); }
    bool has(std::string_view column) const { return place(column) >= 0; }
    /// "" if there is no such column, or the row is shorter.
    std::string_view text(std::size_t row, std::string_view column) const;
    /// kUnknown where there is no number.
    double number(std::size_t row, std::string_view column) const;
    /// The finite numbers of a column.
    std::vector<double> numbers(std::string_view column) const;

private:
    std::ptrdiff_t place(std::string_view column) const;

    std::vector<std::string> columns_;
    std::string cells_;              // one after the other, by row and column
    std::vector<std::size_t> ends_;  // of cells; a long run has millions
};

/// Facts from log.txt. Seconds are totals over all processes of the run.
struct LogFacts {
    std::string command_line;  // of the latest process
    std::string processor, cores, backend, arithmetic;
    int core_count = 0, processor_count = 0, compute_threads = 0;  // 0: unknown
    std::string host, date;
    std::int64_t processes = 0;  // that trained: one, and one for each restore
    std::string stages;          // memory of pipeline stages; "": no pipeline
    std::int64_t stage_count = 0;
    double compile_seconds = 0;
    double save_seconds = 0;
    std::int64_t saves = 0;
    std::string exchange;  // how long gradients were exchanged, as printed
    bool was_stopped = false, ended_early = false, finished = false;
    std::string error;  // that ended the latest process
};

/// One option that differs from its default.
struct ChangedOption {
    std::string flag;
    std::string value;
    std::string fallback;  // "": none, or set by the model or the data
};

/// The checkpoint whose weights are looked at, as its header describes it.
struct CheckpointFacts {
    std::string path;
    std::string name;  // "ckpt-best"
    std::int64_t iteration = -1;
    double epoch = 0;
    std::string header_crc;                 // of the whole header, which has the checksum of the weights
    std::string data_crc;                   // of the text that identifies the data; "": the file does not say
    std::int64_t training_samples = 0;      // 0: unknown
    std::int64_t validation_samples = 0;    // 0: unknown, or nothing is validated
    std::vector<std::string> classes = {};  // names
};

/// A sample with a label.
struct Sample {
    std::string name;
    std::int64_t label = 0;
    double own = 0;                     // probability of the label's class
    std::vector<std::int64_t> classes;  // the most probable ones
    std::vector<double> probabilities;
    std::string picture = {};               // JPEG in base 64; "": none
    std::string map = {};                   // the picture with a class-activation map
    std::vector<std::int64_t> tokens = {};  // ids

    bool is_wrong() const { return classes.empty() || classes.front() != label; }
};

struct MaskedWord {
    std::size_t at = 0;  // in the tokens
    std::int64_t id = 0;
    std::vector<std::int64_t> guesses;
    std::vector<double> probabilities;
};
struct Sequence {
    std::vector<std::int64_t> tokens;
    std::vector<MaskedWord> masked;
};

/// sample_predictions.json, as cnntrain/run/runs.h describes it.
struct Predictions {
    std::map<std::string, std::string> key;
    std::string split;
    std::string unit_one, unit_many;
    bool is_real = true;
    std::int64_t samples = 0, seen = 0, left_out = 0;
    std::vector<std::string> classes;
    std::vector<Sample> rows;
    std::vector<Sequence> sequences;
    double temperature = 1;                              // of the least loss on these samples
    std::vector<metrics::Calibration> calibration = {};  // without it, and with it; empty: not known
};

/// Matrices and kernels of adjacent layers.
struct WeightGroup {
    std::string name;  // "stage1"
    std::int64_t tensors = 0;
    std::int64_t elements = 0;
    std::vector<double> values;   // finite ones, evenly spread over the elements
    std::int64_t not_finite = 0;  // among the elements that were read
};

/// End of a run, as far as its folder shows.
enum class End : std::uint8_t { finished, early, stopped, diverged, going, killed, unknown };

struct RunRecord {
    std::string folder;
    std::string name;
    std::map<std::string, std::string> arguments;  // arguments.json: values as JSON texts, strings without quotes
    Table training, validation, classes, times, ranks;
    LogFacts log;
    End end = End::unknown;
    std::optional<CheckpointFacts> checkpoint;
    std::optional<profile::Profile> profile = {};  // of --profile
    std::vector<WeightGroup> weights = {};         // of the checkpoint; see read_weights()
    std::optional<Predictions> predictions;
    std::string why_no_predictions = {};       // a sentence
    std::vector<std::string> vocabulary = {};  // words by id; empty: unknown
    std::vector<ChangedOption> changed_options = {};
    bool knows_changed_options = false;
    std::vector<std::string> missing = {};  // "time_split.csv (...)"

    /// "" if it is not recorded.
    std::string argument(std::string_view key) const;
    /// False without a checkpoint, and for one of the weights before the first update, unless a last layer was solved.
    bool has_trained_weights() const;
};

/// Reads a folder. `is_going`: another process writes there. Error(not_found) if there is no such folder, or it holds
/// no run.
/// RunRecord::name is the folder's.
RunRecord read_run(const FileSystem& files, const std::string& folder, bool is_going);

/// Gives runs whose folders have the same name longer ones.
void name_apart(std::vector<RunRecord>& runs);

/// Reads only the values on which predictions depend; empty if the folder has no checkpoint that can be read.
std::optional<CheckpointFacts> read_checkpoint(const FileSystem& files, const std::string& folder);

/// The weights of a checkpoint by parts of their names: as small groups as a page can show. Reads a sample of each
/// tensor. Error(data) for a damaged file.
std::vector<WeightGroup> read_weights(const FileSystem& files, const std::string& checkpoint_path);

/// The predictions in a text; empty if it is no such text. Error(data) never: a damaged file is computed again.
std::optional<Predictions> read_predictions(std::string_view text);

}  // namespace cnntrain::report
