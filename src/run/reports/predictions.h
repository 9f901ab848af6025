// The most probable classes of samples, as a table (CSV) or as JSON lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/options/parse.h"
#include "cnntrain/run/rows.h"
#include "cnntrain/run/scores.h"
#include "cnntrain/run/task.h"
#include "run/metrics/meters.h"

namespace cnntrain::run {

struct ClassProbability {
    std::int64_t label = 0;  // 0..classes-1
    double probability = 0;  // softmax of the logits
};

/// The `count` most probable classes of one row of logits[N,C] divided by the temperature, best first, ties by
/// ascending label; at most C.
std::vector<ClassProbability> likeliest(const HostTensor& logits, std::int64_t row, std::int64_t count,
                                        double temperature = 1);

/// The class-activation map of a sample's class, from the output kMaps.
data::Heat map_of_class(const HostTensor& maps, std::int64_t row, std::int64_t label);

/// The text of a class: its name if there are names, else its number. With names, an unknown label (below 0) is "".
std::string class_text(std::int64_t label, const std::vector<std::string>& names);

struct Prediction {
    std::string sample;                     // the file, the text, or a number
    std::int64_t label = -1;                // true class; below 0: unknown
    std::vector<ClassProbability> classes;  // the most probable ones, best first
    std::int64_t row = 0;                   // of the sample in its file, from 1; 0: it is not a row
    std::optional<bool> unknown = {};       // no class is probable enough; empty: that was not asked
};

/// Makes the text of a file of predictions. CSV: `<unit>,label,class_1,probability_1,...,correct`, `row` for samples in
/// rows, and `unknown` (true, false) if that was asked, with line ends of RFC 4180. JSON lines: an object with <unit>,
/// label, correct, classes, probabilities and perhaps row and unknown for each sample. Unknown values are empty, or
/// null. Names of files that are no UTF-8 stay themselves in CSV; in JSON, each of their bytes above 127 is the lone
/// surrogate U+DC00 + byte, from which Python's os.fsencode() makes the byte again.
class PredictionText {
public:
    enum class Format : std::uint8_t { table, json_lines };

    /// Format of a file that the user names, by its extension. Error(usage) for other than .csv and .jsonl, naming
    /// `option`.
    static Format format_of(const std::string& option, const std::string& path);

    /// `unit`: of the samples: "image". `names`: of the classes; empty: they have numbers only.
    PredictionText(Format format, std::string unit, std::vector<std::string> names)
        : format_(format), unit_(std::move(unit)), names_(std::move(names)) {}

    void add(const Prediction& prediction);
    const std::string& text() const { return text_; }
    /// The prediction as a JSON object.
    std::string object_of(const Prediction& prediction) const;

private:
    void add_row(const Prediction& prediction);

    Format format_;
    std::string unit_;
    std::vector<std::string> names_;
    std::string text_;
};

/// Answers in the same formats: a column or key for each of Answered::fields.
std::string answers_text(PredictionText::Format format, std::span<const Answered> answers);
std::string object_of(const Answered& answer);

/// Rows of one shape as a file of numpy's format (.npy, version 1.0): float32, [N,...].
class NumpyRows {
public:
    void add(std::span<const float> row, const Shape& shape);
    void save(FileSystem& files, const std::string& path) const;

private:
    std::int64_t rows_ = 0;
    Shape shape_;
    std::string bytes_;
};

/// A folder of class-activation maps: 00001-NAME.jpg, the photo as the network sees it with the map of its class in
/// colour, and maps.npy, the maps of all photos in the order of the predictions.
class MapFolder {
public:
    /// An empty path: no maps are asked for.
    explicit MapFolder(std::string path) : path_(std::move(path)) {}

    bool is_wanted() const { return !path_.empty(); }
    const std::string& path() const { return path_; }
    /// Error(usage) if the folder has files already; with `overwrite`, if these are no maps.
    void check(const FileSystem& files, bool overwrite) const;
    /// Makes the folder, and removes the maps in it.
    void begin(FileSystem& files) const;
    /// `image`: describes the pixels, [H,W,3].
    void add(FileSystem& files, const std::string& sample, const data::Heat& map, const TensorDesc& image,
             std::span<const std::byte> pixels);
    void finish(FileSystem& files) const;

private:
    std::string path_;
    NumpyRows rows_;
    std::int64_t count_ = 0;
};

/// The file of an inference's predictions; its path is "" for none.
struct PredictionsFile {
    NamedPath file;
    PredictionText::Format format = PredictionText::Format::table;
};
/// `logs`: folder of the results; "" for none.
PredictionsFile predictions_file(const std::string& logs, const options::ParseResult& arguments);
/// Checks this file, that of --features and the folder of --maps. Error(usage) if a file is there, which may hold a
/// user's notes, if the inference reads it, or if its folder is not there.
void check_predictions_file(const PredictionsFile& table, const options::ParseResult& arguments,
                            const FileSystem& files);

// Counts of a validation by class: of tasks whose graphs have logits.

using metrics::ClassCount;

class ClassCounts {
public:
    explicit ClassCounts(std::vector<ClassCount> classes = {}) : classes_(std::move(classes)) {}
    /// Counts the samples of a micro-batch. The prediction is the first of the largest logits; samples without a valid
    /// label (padding, left out) are not counted. `logits`: [N,C] of any float type.
    void add(const HostTensor& logits, std::span<const std::int32_t> labels);

    const std::vector<ClassCount>& classes() const { return classes_; }
    /// Converts the counts to numbers that are summed over processes, and back. `classes`: of the network; a process
    /// without samples has zeros.
    std::vector<double> numbers(std::size_t classes) const;
    static ClassCounts of(std::span<const double> numbers);

    /// Adds kRecallSum and kClassesSeen, from which the balanced accuracy follows: the mean over the classes that have
    /// samples of the share of each that is classified correctly.
    void add_recalls(metrics::Sums& sums) const;

private:
    std::vector<ClassCount> classes_;
};

/// The table of all validations' counts in a run's folder, a row for each class.
inline constexpr std::string_view kClassTable = "validation_classes.csv";
std::string class_table_header();
/// The rows of one validation. `names`: of the classes; empty: they have numbers only. `header`: of the table; that of
/// an earlier version has fewer columns.
std::string class_table_rows(const metrics::ValidationRow& row, const ClassCounts& counts,
                             const std::vector<std::string>& names, std::string_view header);

}  // namespace cnntrain::run
