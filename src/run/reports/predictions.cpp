#include "run/reports/predictions.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <nlohmann/json.hpp>
#include <variant>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/option.h"
#include "cnntrain/run/task.h"
#include "run/run_files.h"

namespace cnntrain::run {
namespace {

using nlohmann::json;

bool is_ascii(char c) {
    return static_cast<unsigned char>(c) < 0x80;
}

/// A JSON string, with quotes.
std::string json_string(const std::string& text) {
    if (is_utf8(text)) return json(text).dump();
    std::string quoted = "\"";
    for (const char c : text) {
        if (is_ascii(c)) {
            const std::string one = json(std::string(1, c)).dump();
            quoted.append(one, 1, one.size() - 2);
        } else {
            quoted += formatted("\\udc%02x", static_cast<unsigned>(static_cast<unsigned char>(c)));
        }
    }
    return quoted + '"';
}

/// JSON has no word for NaN.
std::string number_text(double value) {
    return std::isfinite(value) ? formatted("%.6g", value) : "null";
}

/// Files that an inference reads, by the options of all tasks.
std::vector<NamedPath> inputs_of(const options::ParseResult& arguments) {
    constexpr std::string_view kKeys[] = {"data_dir", "photos", "restore_path", "validation_file", "vocab_file"};
    std::vector<NamedPath> inputs;
    for (const options::ResolvedOption& entry : arguments.options) {
        if (std::ranges::find(kKeys, options::key(*entry.option)) == std::end(kKeys)) continue;
        const std::string flag(entry.option->flag);
        if (const auto* path = std::get_if<std::string>(&entry.value); path != nullptr && !path->empty())
            inputs.push_back({flag, *path});
        if (const auto* paths = std::get_if<std::vector<std::string>>(&entry.value)) {
            for (const std::string& path : *paths)
                inputs.push_back({flag, path});
        }
    }
    return inputs;
}

}  // namespace

std::vector<ClassProbability> likeliest(const HostTensor& logits, std::int64_t row, std::int64_t count) {
    const std::int64_t classes = logits.shape().at(1);
    std::vector<ClassProbability> all;
    double largest = -INFINITY;
    for (std::int64_t c = 0; c < classes; ++c) {
        all.push_back({c, logits.at(row * classes + c)});
        largest = std::max(largest, all.back().probability);
    }
    double sum = 0;
    for (ClassProbability& item : all) {
        item.probability = std::exp(item.probability - largest);
        sum += item.probability;
    }
    for (ClassProbability& item : all)
        item.probability /= sum;
    std::stable_sort(all.begin(), all.end(), [](const ClassProbability& a, const ClassProbability& b) {
        return a.probability > b.probability || (std::isnan(b.probability) && !std::isnan(a.probability));
    });
    if (static_cast<std::int64_t>(all.size()) > count) all.resize(static_cast<std::size_t>(count));
    return all;
}

std::string class_text(std::int64_t label, const std::vector<std::string>& names) {
    if (names.empty()) return std::to_string(label);
    return label < 0 ? "" : names.at(static_cast<std::size_t>(label));
}

PredictionText::Format PredictionText::format_of(const std::string& option, const std::string& path) {
    if (path.ends_with(".csv")) return Format::table;
    if (path.ends_with(".jsonl")) return Format::json_lines;
    throw Error(ErrorKind::usage, option + " " + path + ": expected a name that ends in .csv or .jsonl (JSON lines)");
}

void PredictionText::add(const Prediction& prediction) {
    if (format_ != Format::json_lines) return add_row(prediction);
    text_ += object_of(prediction) + "\n";
}

void PredictionText::add_row(const Prediction& prediction) {
    if (text_.empty()) {
        text_ = unit_ + ",label,class_1,probability_1";
        for (std::size_t i = 2; i <= prediction.classes.size(); ++i)
            text_ += ",class_" + std::to_string(i) + ",probability_" + std::to_string(i);
        text_ += prediction.row > 0 ? ",correct,row\r\n" : ",correct\r\n";
    }
    text_ += csv_field(prediction.sample) + "," + csv_field(class_text(prediction.label, names_));
    for (const ClassProbability& item : prediction.classes)
        text_ += "," + csv_field(class_text(item.label, names_)) + "," + formatted("%.4f", item.probability);
    const bool correct = prediction.label == prediction.classes.front().label;
    text_ += prediction.label < 0 ? "," : correct ? ",true" : ",false";
    text_ += (prediction.row > 0 ? "," + std::to_string(prediction.row) : "") + "\r\n";
}

std::string PredictionText::object_of(const Prediction& prediction) const {
    const auto class_json = [&](std::int64_t label) {
        return names_.empty() ? std::to_string(label) : json_string(class_text(label, names_));
    };
    std::string classes;
    std::string probabilities;
    for (const ClassProbability& item : prediction.classes) {
        classes += (classes.empty() ? "" : ", ") + class_json(item.label);
        probabilities += (probabilities.empty() ? "" : ", ") + number_text(item.probability);
    }
    const bool correct = prediction.label == prediction.classes.front().label;
    std::string object = "{" + json_string(unit_) + ": " + json_string(prediction.sample);
    object += ", \"label\": " + (prediction.label < 0 ? "null" : class_json(prediction.label));
    object += std::string(", \"correct\": ") + (prediction.label < 0 ? "null" : correct ? "true" : "false");
    object += ", \"classes\": [" + classes + "], \"probabilities\": [" + probabilities + "]";
    return object + (prediction.row > 0 ? ", \"row\": " + std::to_string(prediction.row) : "") + "}";
}

PredictionsFile predictions_file(const std::string& logs, const options::ParseResult& arguments) {
    const std::string& given = arguments.settings.main.predictions;
    if (given.empty()) return {{"--logs-path:", logs.empty() ? "" : logs + "/predictions.csv"}};
    return {{"--predictions", given}, PredictionText::format_of("--predictions", given)};
}

void check_predictions_file(const PredictionsFile& table, const options::ParseResult& arguments,
                            const FileSystem& files) {
    const auto& [name, path] = table.file;
    if (path.empty()) return;
    refuse_run_table(files, name, path);
    check_outputs(files, {{table.file, arguments.settings.logging.overwrite, "--overwrite"}}, inputs_of(arguments));
    if (arguments.settings.main.predictions.empty()) return;  // the folder of the results is made
    const std::string folder = std::filesystem::path(path).parent_path().string();
    if (!folder.empty() && !is_directory(files, folder))
        throw Error(ErrorKind::usage, name + " " + path + ": there is no folder " + folder);
}

namespace {

constexpr std::size_t kNumbersOfClass = 3;
constexpr const char* kLineEnd = "\r\n";

std::string whole(double count) {
    return std::to_string(std::llround(count));
}

/// "" without a whole.
std::string percent(double part, double whole) {
    return whole > 0 ? formatted("%.4f", 100 * part / whole) : "";
}

}  // namespace

void ClassCounts::add(const HostTensor& logits, std::span<const std::int32_t> labels) {
    if (logits.dtype() != DType::f32) return add(logits.cast(DType::f32), labels);
    const auto classes = static_cast<std::size_t>(logits.shape().at(1));
    const auto values = logits.as<float>();
    CNNTRAIN_CHECK(labels.size() * classes <= values.size(), "there are more labels than logits");
    classes_.resize(classes);
    for (std::size_t n = 0; n < labels.size(); ++n) {
        if (labels[n] < 0 || static_cast<std::size_t>(labels[n]) >= classes) continue;
        const auto own = values.subspan(n * classes, classes);
        const auto predicted = static_cast<std::size_t>(std::ranges::max_element(own) - own.begin());
        const auto label = static_cast<std::size_t>(labels[n]);
        classes_[label].samples += 1;
        classes_[predicted].predicted += 1;
        if (predicted == label) classes_[label].correct += 1;
    }
}

std::vector<double> ClassCounts::numbers(std::size_t classes) const {
    std::vector<double> result;
    result.reserve(kNumbersOfClass * classes);
    for (std::size_t c = 0; c < classes; ++c) {
        const ClassCount count = c < classes_.size() ? classes_[c] : ClassCount{};
        result.insert(result.end(), {count.samples, count.correct, count.predicted});
    }
    return result;
}

ClassCounts ClassCounts::of(std::span<const double> numbers) {
    ClassCounts result;
    for (std::size_t i = 0; i + kNumbersOfClass <= numbers.size(); i += kNumbersOfClass)
        result.classes_.push_back({numbers[i], numbers[i + 1], numbers[i + 2]});
    return result;
}

void ClassCounts::add_recalls(metrics::Sums& sums) const {
    double recalls = 0;
    double seen = 0;
    for (const ClassCount& count : classes_) {
        if (count.samples == 0) continue;
        recalls += count.correct / count.samples;
        seen += 1;
    }
    sums[kRecallSum] = recalls;
    sums[kClassesSeen] = seen;
}

std::string class_table_header() {
    return std::string("name,iteration,class,label,samples,correct,predicted,accuracy,precision,recall,f1") + kLineEnd;
}

std::string class_table_rows(const metrics::ValidationRow& row, const ClassCounts& counts,
                             const std::vector<std::string>& names, std::string_view header) {
    std::string text;
    const auto columns = static_cast<std::size_t>(std::ranges::count(header, ',')) + 1;
    for (std::size_t c = 0; c < counts.classes().size(); ++c) {
        const ClassCount& count = counts.classes()[c];
        const std::string recall = percent(count.correct, count.samples);
        std::vector<std::string> cells = {csv_field(row.name),
                                          std::to_string(row.iteration),
                                          std::to_string(c),
                                          c < names.size() ? csv_field(names[c]) : "",
                                          whole(count.samples),
                                          whole(count.correct),
                                          whole(count.predicted),
                                          recall,
                                          percent(count.correct, count.predicted),
                                          recall,
                                          percent(2 * count.correct, count.samples + count.predicted)};
        cells.resize(std::min(cells.size(), columns));
        text += joined(cells, ",") + kLineEnd;
    }
    return text;
}

}  // namespace cnntrain::run
