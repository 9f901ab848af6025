// The most probable classes of samples, as a table (CSV) or as JSON lines.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/base/outputs.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/config/parse.h"

namespace cnntrain::train {

struct ClassProbability {
    std::int64_t label = 0;  // 0..classes-1
    double probability = 0;  // softmax of the logits
};

/// The `count` most probable classes of one row of logits[N,C], best first, ties by ascending label; at most C.
std::vector<ClassProbability> likeliest(const HostTensor& logits, std::int64_t row, std::int64_t count);

/// The text of a class: its name if there are names, else its number. With names, an unknown label (below 0) is "".
std::string class_text(std::int64_t label, const std::vector<std::string>& names);

struct Prediction {
    std::string sample;                     // the file, the text, or a number
    std::int64_t label = -1;                // true class; below 0: unknown
    std::vector<ClassProbability> classes;  // the most probable ones, best first
    std::int64_t row = 0;                   // of the sample in its file, from 1; 0: it is not a row
};

/// Makes the text of a file of predictions.
/// CSV: `<unit>,label,class_1,probability_1,...,correct`, and `row` for samples in rows, with line ends of RFC 4180.
/// JSON lines: an object with <unit>, label, correct, classes, probabilities and perhaps row for each sample.
/// What is not known is empty, or null. Names of files that are no UTF-8 stay themselves in CSV; in JSON, each of their
/// bytes above 127 is the lone surrogate U+DC00 + byte, from which Python's os.fsencode() makes the byte again.
class PredictionText {
public:
    enum class Format : std::uint8_t { table, json_lines };

    /// Of a file that the user names: by the extension. Error(usage) for other than .csv and .jsonl, naming `option`.
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

/// The file of an inference's predictions; its path is "" for none.
struct PredictionsFile {
    NamedPath file;
    PredictionText::Format format = PredictionText::Format::table;
};
/// `logs`: folder of the results; "" for none.
PredictionsFile predictions_file(const std::string& logs, const config::ParseResult& arguments);
/// Error(usage) if a file is there, in which somebody may have noted something, if the inference reads it, or if its
/// folder is not there.
void check_predictions_file(const PredictionsFile& table, const config::ParseResult& arguments,
                            const FileSystem& files);

}  // namespace cnntrain::train
