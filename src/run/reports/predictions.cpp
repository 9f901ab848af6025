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
    if (prediction.row > 0) object += ", \"row\": " + std::to_string(prediction.row);
    if (prediction.unknown) object += std::string(", \"unknown\": ") + (*prediction.unknown ? "true" : "false");
    return object + "}";
}

std::string object_of(const Answered& answer) {
    std::string object;
    for (const auto& [name, value] : answer.fields) {
        const auto* const text = std::get_if<std::string>(&value);
        object += (object.empty() ? "" : ", ") + json_string(name) + ": " +
                  (text != nullptr ? json_string(*text) : options::to_string(value));
    }
    return "{" + object + "}";
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

void FeatureTable::add(std::span<const float> row) {
    CNNTRAIN_CHECK(rows_ == 0 || row.size() == width_, "rows of features have one width");
    width_ = row.size();
    ++rows_;
    bytes_.append(reinterpret_cast<const char*>(row.data()), row.size_bytes());
}

void FeatureTable::save(FileSystem& files, const std::string& path) const {
    constexpr std::size_t kFixed = 10;      // magic number, version and length of the header
    constexpr std::size_t kAlignment = 64;  // of the numbers
    std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(rows_) + ", " +
                         std::to_string(width_) + "), }";
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

namespace {

constexpr std::int64_t kMostInBatch = 32;
constexpr std::int64_t kGuesses = 3;
constexpr std::int64_t kPictureSide = 128;

/// Forwards batches and keeps a copy of the last one.
class BatchCopy final : public data::BatchSource {
public:
    explicit BatchCopy(data::BatchSource& source) : source_(source), fields_(source.fields()) {}

    std::vector<data::Field> fields() const override { return fields_; }
    data::Batch next() override {
        data::Batch batch = source_.next();
        first_sample_ = batch.first_sample;
        copies_.resize(batch.fields.size());
        for (std::size_t i = 0; i < copies_.size(); ++i)
            copies_[i].assign(batch.fields[i].begin(), batch.fields[i].end());
        return batch;
    }

    std::int64_t first_sample() const { return first_sample_; }
    bool has(std::string_view field) const { return data::has_field(fields_, field); }
    /// The elements of a sample in a field of the batch.
    template <typename T> std::span<const T> of(std::int64_t sample, std::string_view field) const {
        const std::span<const std::byte> bytes = bytes_of(sample, field);
        return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
    }
    std::span<const std::byte> bytes_of(std::int64_t sample, std::string_view field) const {
        const std::size_t number = data::field_number(fields_, field);
        const auto samples = static_cast<std::size_t>(fields_[number].desc.shape.at(0));
        const std::size_t each = copies_[number].size() / samples;
        return std::span(copies_[number]).subspan(static_cast<std::size_t>(sample) * each, each);
    }
    /// A sample in a field, without the batch's axis.
    TensorDesc desc_of(std::string_view field) const {
        TensorDesc desc = data::field_desc(fields_, field);
        desc.shape.erase(desc.shape.begin());
        return desc;
    }

private:
    data::BatchSource& source_;
    std::vector<data::Field> fields_;
    std::vector<std::vector<std::byte>> copies_;
    std::int64_t first_sample_ = 0;
};

/// A token and its place in the text.
struct Token {
    std::int32_t position = 0;
    std::int32_t id = 0;
};

/// Runs a graph over an evenly spread part of a split.
class Sweep {
public:
    Sweep(const Samples& samples, const backend::Backend& backend, const options::Settings& settings, const Host& host,
          std::int64_t most_samples)
        : samples_(samples), backend_(backend), settings_(settings), host_(host) {
        loader_ = loader_settings(settings, 0);
        loader_.micro_batch = std::min(loader_.micro_batch, kMostInBatch);
        loader_.stop_requested = host.stop_requested;
        if (most_samples > 0 && most_samples < samples.count()) {
            loader_.micro_batch = std::min(loader_.micro_batch, most_samples);
            const std::int64_t all = (samples.count() + loader_.micro_batch - 1) / loader_.micro_batch;
            const std::int64_t wanted = most_samples / loader_.micro_batch;
            loader_.ranks = (all + wanted - 1) / wanted;
        }
    }

    std::vector<data::Field> fields() const { return samples_.fields(loader_.micro_batch); }

    /// Calls `add` with each batch and the rows of the output, until it returns false.
    void run(const graph::Graph& graph, std::uint64_t seed, const std::string& checkpoint, const std::string& output,
             const metrics::Unit& unit, metrics::Observers& observers,
             const std::function<bool(const BatchCopy&, const HostTensor&)>& add) const {
        backend::CompileRequest request = compile_request(graph, settings_, fields(), seed);
        request.runtime.stop_requested = host_.stop_requested;
        const auto executable = backend_.compile(request);
        load_model(*executable, graph, checkpoint_weights(*host_.files, checkpoint, settings_), checkpoint,
                   settings_.run);
        const auto stream = samples_.stream(loader_);
        BatchCopy source(*stream);
        const std::int64_t batches = stream->batches_per_sweep();
        const Stopwatch watch;
        for (std::int64_t done = 0; done < batches;) {
            const backend::StepResult result = executable->evaluate(source, 1);
            if (result.stopped || (host_.stop_requested && host_.stop_requested())) throw Interrupted();
            if (const auto where = not_finite_in(*executable, result, output, /*looks_inside=*/done == 0))
                fail_not_finite("predictions of " + checkpoint, *where);
            const HostTensor rows = executable->output(output);
            if (!add(source, rows)) return;
            ++done;
            const double rate = static_cast<double>(done * loader_.micro_batch) / watch.seconds();
            observers.on(metrics::Progress{done, 0, batches, rate, watch.seconds(), "batches", unit.many, true});
        }
    }

    std::int64_t in_batch() const { return loader_.micro_batch; }
    const Samples& samples() const { return samples_; }

private:
    const Samples& samples_;
    const backend::Backend& backend_;
    const options::Settings& settings_;
    const Host& host_;
    data::LoaderSettings loader_;
};

json numbers_of(std::span<const std::int32_t> values) {
    return json(std::vector<std::int32_t>(values.begin(), values.end()));
}

double rounded(double probability) {
    return std::round(probability * 1e5) / 1e5;
}

/// The rows of a classifier, and pictures or tokens of those with the least probable labels.
class ClassRows {
public:
    ClassRows(const Samples& samples, std::string label_field, std::size_t most_pictures)
        : samples_(samples), label_field_(std::move(label_field)), most_pictures_(most_pictures) {}

    void add(const BatchCopy& batch, const HostTensor& logits) {
        const std::int64_t in_batch = logits.shape().at(0);
        for (std::int64_t row = 0; row < in_batch && batch.first_sample() + row < samples_.count(); ++row) {
            const std::int32_t label = batch.of<std::int32_t>(row, label_field_)[0];
            left_out_ += label == data::kLeftOut ? 1 : 0;
            if (label < 0 || label >= logits.shape().at(1)) continue;
            add_row(batch, row, label, likeliest(logits, row, logits.shape().at(1)));
        }
    }

    void store(json& document) {
        document["left_out"] = left_out_;
        document["seen"] = rows_.size();
        document["rows"] = std::move(rows_);
        document["pictures"] = json::object();
        document["texts"] = json::object();
        for (Shown& one : shown_) {
            if (!one.picture.empty()) document["pictures"][std::to_string(one.row)] = base64(one.picture);
            if (!one.tokens.is_null()) document["texts"][std::to_string(one.row)] = std::move(one.tokens);
        }
    }

private:
    struct Shown {
        double own = 0;  // probability of the label's class
        std::size_t row = 0;
        std::string picture;  // a JPEG
        json tokens;
    };

    void add_row(const BatchCopy& batch, std::int64_t row, std::int32_t label,
                 const std::vector<ClassProbability>& classes) {
        const double own = std::ranges::find(classes, label, &ClassProbability::label)->probability;
        json labels = json::array();
        json probabilities = json::array();
        for (const ClassProbability& one : classes) {
            if (std::ssize(labels) == kGuesses) break;
            labels.push_back(one.label);
            probabilities.push_back(rounded(one.probability));
        }
        const std::string name = printable(samples_.describe(batch.first_sample() + row));
        if (classes.front().label != label) show(batch, row, own);
        rows_.push_back({name, label, rounded(own), std::move(labels), std::move(probabilities)});
    }

    /// Keeps a picture or the tokens if few samples are more wrong.
    void show(const BatchCopy& batch, std::int64_t row, double own) {
        if (most_pictures_ == 0) return;
        if (shown_.size() == most_pictures_ && shown_.back().own <= own) return;
        Shown one{own, rows_.size(), {}, {}};
        if (batch.has(data::kImages)) {
            const TensorDesc desc = batch.desc_of(data::kImages);
            if (desc.shape.size() == 3 && desc.shape.back() == 3)
                one.picture = data::thumbnail(desc, batch.bytes_of(row, data::kImages), kPictureSide);
        } else if (batch.has(nn::kInputIds) && batch.has(nn::kInputMask)) {
            const auto ids = batch.of<std::int32_t>(row, nn::kInputIds);
            const auto mask = batch.of<std::int32_t>(row, nn::kInputMask);
            one.tokens = numbers_of(ids.first(static_cast<std::size_t>(std::ranges::count(mask, 1))));
        }
        const auto place = std::ranges::upper_bound(shown_, own, {}, &Shown::own);
        shown_.insert(place, std::move(one));
        if (shown_.size() > most_pictures_) shown_.pop_back();
    }

    const Samples& samples_;
    std::string label_field_;
    std::size_t most_pictures_;
    json rows_ = json::array();
    std::vector<Shown> shown_;  // the most wrong first
    std::int64_t left_out_ = 0;
};

/// The tokens of a row in the order of the text, without padding. In the static layout, masked tokens come first in the
/// record.
std::vector<Token> tokens_of(const BatchCopy& batch, std::int64_t row) {
    const auto ids = batch.of<std::int32_t>(row, nn::kInputIds);
    std::vector<Token> tokens;
    const std::string_view visible = batch.has(nn::kInputMask) ? nn::kInputMask : nn::kSequenceNumbers;
    if (batch.has(visible)) {
        const auto mask = batch.of<std::int32_t>(row, visible);
        for (std::size_t i = 0; i < ids.size(); ++i) {
            if (mask[i] != 0) tokens.push_back({static_cast<std::int32_t>(i), ids[i]});
        }
        return tokens;
    }
    const auto places = batch.of<std::int32_t>(row, nn::kInputPosition);
    const auto masked = static_cast<std::size_t>(batch.of<std::int32_t>(row, nn::kMaskPaddingIndex)[0]);
    const auto end = static_cast<std::size_t>(batch.of<std::int32_t>(row, nn::kSequencePaddingIndex)[0]);
    const std::size_t predictions = batch.of<std::int32_t>(row, nn::kMaskedIds).size();
    for (std::size_t i = 0; i < std::min(end, ids.size()); ++i) {
        if (i < masked || i >= predictions) tokens.push_back({places[i], ids[i]});
    }
    std::ranges::stable_sort(tokens, {}, &Token::position);
    return tokens;
}

/// The place in the text of a sequence's masked token `index`.
std::int32_t masked_position(const BatchCopy& batch, std::int64_t row, std::size_t index) {
    const std::string_view field = batch.has(nn::kMaskedPositions) ? nn::kMaskedPositions : nn::kInputPosition;
    return batch.of<std::int32_t>(row, field)[index];
}

json masked_words(const BatchCopy& batch, std::int64_t row, const std::vector<Token>& tokens,
                  const HostTensor& scores) {
    const auto ids = batch.of<std::int32_t>(row, nn::kMaskedIds);
    const auto weights = batch.of<float>(row, nn::kMaskedWeights);
    json masked = json::array();
    for (std::size_t i = 0; i < ids.size(); ++i) {
        if (weights[i] == 0) continue;
        const auto at = std::ranges::find(tokens, masked_position(batch, row, i), &Token::position);
        if (at == tokens.end()) continue;
        const std::int64_t score_row = row * std::ssize(ids) + static_cast<std::int64_t>(i);
        json guesses = json::array();
        json probabilities = json::array();
        for (const ClassProbability& one : likeliest(scores, score_row, kGuesses)) {
            guesses.push_back(one.label);
            probabilities.push_back(rounded(one.probability));
        }
        masked.push_back({{"at", at - tokens.begin()},
                          {"id", ids[i]},
                          {"guesses", std::move(guesses)},
                          {"probabilities", std::move(probabilities)}});
    }
    return masked;
}

/// Adds the sequences of a batch, up to `most`.
void add_sequences(const BatchCopy& batch, const HostTensor& scores, std::int64_t in_batch, std::size_t most,
                   json& sequences) {
    for (std::int64_t row = 0; row < in_batch && sequences.size() < most; ++row) {
        const std::vector<Token> tokens = tokens_of(batch, row);
        json ids = json::array();
        for (const Token& token : tokens)
            ids.push_back(token.id);
        json masked = masked_words(batch, row, tokens, scores);
        if (!masked.empty()) sequences.push_back({{"tokens", std::move(ids)}, {"masked", std::move(masked)}});
    }
}

struct Work {
    const Task& task;
    const backend::Backend& backend;
    const options::Settings& settings;
    std::uint64_t seed = 0;
    const Host& host;
    metrics::Observers& observers;
};

/// Labels of data with other classes are other classes' numbers.
void expect_classes_of(const std::string& checkpoint, const Work& work) {
    const std::vector<std::string> wanted = weights::class_names_of(*work.host.files, checkpoint);
    const std::vector<std::string> found = work.task.class_names();
    if (wanted.empty() || found.empty() || wanted == found) return;
    const auto [one, other] = std::ranges::mismatch(wanted, found);
    const auto word = [](const auto& names, auto at) {
        return at == names.end() ? std::string("no more class") : "'" + printable(*at) + "'";
    };
    throw Error(ErrorKind::data, "the data have other classes than " + checkpoint + ": class " +
                                     std::to_string(one - wanted.begin()) + ": expected " + word(wanted, one) +
                                     ", found " + word(found, other));
}

void classify(const Work& work, const Classifier& classifier, const SamplePredictionSettings& how, json& document) {
    expect_classes_of(how.checkpoint, work);
    const auto samples = classifier.in_order(data::Split::validation, /*augmented=*/false);
    const Sweep sweep(*samples, work.backend, work.settings, work.host, how.most_samples);
    ClassRows rows(*samples, std::string(classifier.label_field()), how.most_pictures);
    sweep.run(work.task.graph(GraphUse::classes, sweep.fields()), work.seed, how.checkpoint, kLogits,
              work.task.columns().unit, work.observers, [&](const BatchCopy& batch, const HostTensor& logits) {
                  rows.add(batch, logits);
                  return true;
              });
    document["samples"] = samples->count();
    for (const std::string& name : work.task.class_names())
        document["classes"].push_back(printable(name));
    rows.store(document);
}

void predict_words(const Work& work, const WordPredictor& predictor, const SamplePredictionSettings& how,
                   json& document) {
    const data::Split split = predictor.words_split();
    const auto samples = work.task.open(split);
    const Sweep sweep(*samples, work.backend, work.settings, work.host, 0);
    json sequences = json::array();
    sweep.run(work.task.graph(GraphUse::words, sweep.fields()), work.seed, how.checkpoint, std::string(nn::kWordScores),
              work.task.columns().unit, work.observers, [&](const BatchCopy& batch, const HostTensor& scores) {
                  add_sequences(batch, scores, sweep.in_batch(), how.most_sequences, sequences);
                  return sequences.size() < how.most_sequences;
              });
    document["split"] = split == data::Split::train ? "training" : "validation";
    document["samples"] = samples->count();
    document["seen"] = sequences.size();
    document["sequences"] = std::move(sequences);
}

}  // namespace

std::string sample_predictions(const TaskRow& row, const options::ParseResult& arguments,
                               const SamplePredictionSettings& settings, const Host& host,
                               metrics::Observers& observers) {
    const auto seed = static_cast<std::uint64_t>(arguments.settings.device.seed.value_or(0));
    const auto backend = make_backend(arguments.settings.run.backend);
    const std::unique_ptr<Task> task = row.make(arguments, *backend, seed);
    const Work work{*task, *backend, arguments.settings, seed, host, observers};
    json document = {{"key", settings.key}, {"split", "validation"}, {"classes", json::array()}};
    document["unit"] = {task->columns().unit.one, task->columns().unit.many};
    document["real"] = task->has_real_data();
    if (task->classifier() != nullptr) {
        classify(work, *task->classifier(), settings, document);
    } else if (task->word_predictor() != nullptr) {
        predict_words(work, *task->word_predictor(), settings, document);
    } else {
        throw Error(ErrorKind::unsupported, std::string(row.options.name) + " predicts neither classes nor words");
    }
    return document.dump() + "\n";
}

}  // namespace cnntrain::run
