#include "run/reports/predictions.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iterator>
#include <memory>
#include <span>
#include <utility>
#include <variant>

#include <nlohmann/json.hpp>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/options/option.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/evaluator.h"
#include "run/monitor.h"
#include "run/run_files.h"

namespace cnntrain::run {
namespace {

using nlohmann::json;

constexpr const char* kLineEnd = "\r\n";

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

std::vector<ClassProbability> likeliest(const HostTensor& logits, std::int64_t row, std::int64_t count,
                                        double temperature) {
    const std::int64_t classes = logits.shape().at(1);
    std::vector<ClassProbability> all;
    double largest = -INFINITY;
    for (std::int64_t c = 0; c < classes; ++c) {
        all.push_back({c, logits.at(row * classes + c)});
        largest = std::max(largest, all.back().probability);
    }
    double sum = 0;
    for (ClassProbability& item : all) {
        item.probability = std::exp((item.probability - largest) / temperature);
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

data::Heat map_of_class(const HostTensor& maps, std::int64_t row, std::int64_t label) {
    const Shape& shape = maps.shape();
    data::Heat heat{shape.at(1), shape.at(2), {}};
    for (std::int64_t place = 0; place < heat.height * heat.width; ++place) {
        const double value = maps.at((row * heat.height * heat.width + place) * shape.at(3) + label);
        heat.values.push_back(static_cast<float>(value));
    }
    return heat;
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
        text_ += std::string(",correct") + (prediction.row > 0 ? ",row" : "") +
                 (prediction.unknown ? ",unknown\r\n" : "\r\n");
    }
    text_ += csv_field(prediction.sample) + "," + csv_field(class_text(prediction.label, names_));
    for (const ClassProbability& item : prediction.classes)
        text_ += "," + csv_field(class_text(item.label, names_)) + "," + formatted("%.4f", item.probability);
    const bool correct = prediction.label == prediction.classes.front().label;
    text_ += prediction.label < 0 ? "," : correct ? ",true" : ",false";
    if (prediction.row > 0) text_ += "," + std::to_string(prediction.row);
    if (prediction.unknown) text_ += *prediction.unknown ? ",true" : ",false";
    text_ += kLineEnd;
}

std::string PredictionText::object_of(const Prediction& prediction) const {
    const auto class_json = [&](std::int64_t label) {
        return names_.empty() ? std::to_string(label) : json_string(class_text(label, names_));
    };
    const std::string classes =
        joined(prediction.classes, ", ", [&](const ClassProbability& item) { return class_json(item.label); });
    const std::string probabilities =
        joined(prediction.classes, ", ", [&](const ClassProbability& item) { return number_text(item.probability); });
    const bool correct = prediction.label == prediction.classes.front().label;
    std::string object = "{" + json_string(unit_) + ": " + json_string(prediction.sample);
    object += ", \"label\": " + (prediction.label < 0 ? "null" : class_json(prediction.label));
    object += std::string(", \"correct\": ") + (prediction.label < 0 ? "null" : correct ? "true" : "false");
    object += ", \"classes\": [" + classes + "], \"probabilities\": [" + probabilities + "]";
    if (prediction.row > 0) object += ", \"row\": " + std::to_string(prediction.row);
    if (prediction.unknown) object += std::string(", \"unknown\": ") + (*prediction.unknown ? "true" : "false");
    return object + "}";
}

std::string object_of(const Answered& answer) {
    const auto field = [](const auto& named) {
        const auto* const text = std::get_if<std::string>(&named.second);
        return json_string(named.first) + ": " +
               (text != nullptr ? json_string(*text) : options::to_string(named.second));
    };
    return "{" + joined(answer.fields, ", ", field) + "}";
}

std::string answers_text(PredictionText::Format format, std::span<const Answered> answers) {
    std::string text;
    if (format == PredictionText::Format::json_lines) {
        for (const Answered& answer : answers)
            text += object_of(answer) + "\n";
        return text;
    }
    const auto append_row = [&](const Answered& answer, auto&& cell) {
        text += joined(answer.fields, ",", cell) + kLineEnd;
    };
    if (!answers.empty()) append_row(answers[0], [](const auto& field) { return csv_field(field.first); });
    for (const Answered& answer : answers)
        append_row(answer, [](const auto& field) { return csv_field(options::to_string(field.second)); });
    return text;
}

PredictionsFile predictions_file(const std::string& logs, const options::ParseResult& arguments) {
    const std::string& given = arguments.settings.main.predictions;
    if (given.empty()) return {{"--logs-path:", logs.empty() ? "" : logs + "/predictions.csv"}};
    return {{"--predictions", given}, PredictionText::format_of("--predictions", given)};
}

void NumpyRows::add(std::span<const float> row, const Shape& shape) {
    CNNTRAIN_CHECK(rows_ == 0 || shape == shape_, "rows of a file have one shape");
    shape_ = shape;
    ++rows_;
    bytes_.append(reinterpret_cast<const char*>(row.data()), row.size_bytes());
}

void NumpyRows::save(FileSystem& files, const std::string& path) const {
    constexpr std::size_t kFixed = 10;      // magic number, version and length of the header
    constexpr std::size_t kAlignment = 64;  // of the numbers
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows_) + ", " +
                         joined(shape_, ", ", [](std::int64_t side) { return std::to_string(side); }) + "), }";
    header.append(kAlignment - (kFixed + header.size() + 1) % kAlignment, ' ');
    header += '\n';
    std::string text("\x93NUMPY\x01\x00", kFixed - 2);
    text += static_cast<char>(header.size() % 256);
    text += static_cast<char>(header.size() / 256);
    text += header;
    const auto file = files.create(path);
    file->write(std::as_bytes(std::span(text)));
    file->write(std::as_bytes(std::span(bytes_)));
    file->commit();
}

namespace {

constexpr std::string_view kMapsFile = "maps.npy";

/// 00001-tench.jpg
bool is_map(const std::string& name) {
    const std::size_t digits = std::min(name.find_first_not_of("0123456789"), name.size());
    return name == kMapsFile || (digits >= 5 && name.substr(digits).starts_with("-") && name.ends_with(".jpg"));
}

}  // namespace

void MapFolder::check(const FileSystem& files, bool overwrite) const {
    if (path_.empty() || !exists(files, path_)) return;
    const std::vector<std::string> names = is_directory(files, path_) ? files.list(path_) : std::vector{path_};
    const bool holds_maps = std::ranges::find(names, kMapsFile) != names.end() && std::ranges::all_of(names, is_map);
    if (names.empty() || (overwrite && holds_maps)) return;
    throw Error(
        ErrorKind::usage,
        "--maps " + path_ + ": expected a new folder, or an empty one; --overwrite replaces maps, and nothing else");
}

void MapFolder::begin(FileSystem& files) const {
    files.make_directories(path_);
    for (const std::string& name : files.list(path_)) {
        if (is_map(name)) files.remove(path_in(path_, name));
    }
    rows_.save(files, path_in(path_, kMapsFile));  // marks the folder, which may be replaced if this run ends early
}

void MapFolder::add(FileSystem& files, const std::string& sample, const data::Heat& map, const TensorDesc& image,
                    std::span<const std::byte> pixels) {
    constexpr std::int64_t kLargestSide = 1024;
    constexpr std::size_t kLongestName = 200;  // bytes; file systems allow 255
    const std::string_view file = last_part(sample);
    const std::string name = formatted("%05lld-", static_cast<long long>(++count_)) +
                             std::string(file.substr(0, std::min(file.rfind('.'), kLongestName))) + ".jpg";
    write_text(files, path_in(path_, name), data::thumbnail(image, pixels, kLargestSide, &map));
    rows_.add(map.values, {map.height, map.width});
}

void MapFolder::finish(FileSystem& files) const {
    rows_.save(files, path_in(path_, kMapsFile));
}

void check_predictions_file(const PredictionsFile& table, const options::ParseResult& arguments,
                            const FileSystem& files) {
    const options::Settings& settings = arguments.settings;
    std::vector<Output> outputs;
    if (!table.file.path.empty()) outputs.push_back({table.file, settings.logging.overwrite, "--overwrite"});
    const NamedPath features{"--features", settings.main.features};
    if (!features.path.empty()) outputs.push_back({features, settings.logging.overwrite, "--overwrite"});
    for (const Output& output : outputs)
        refuse_run_table(files, output.name, output.path);
    check_outputs(files, outputs, inputs_of(arguments));
    if (!features.path.empty() && !features.path.ends_with(".npy"))
        throw Error(ErrorKind::usage, "--features " + features.path + ": expected a name that ends in .npy");
    MapFolder(settings.main.maps).check(files, settings.logging.overwrite);
    for (const Output& output : outputs) {
        if (output.path != settings.main.predictions && output.path != features.path) continue;  // its folder is made
        const std::string folder = std::filesystem::path(output.path).parent_path().string();
        if (!folder.empty() && !is_directory(files, folder))
            throw Error(ErrorKind::usage, output.name + " " + output.path + ": there is no folder " + folder);
    }
}

namespace {

constexpr std::size_t kNumbersOfClass = 3;

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
