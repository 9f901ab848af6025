// sample_predictions.json: predictions for single samples of a run's validation split.
#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/run/scores.h"
#include "cnntrain/run/task.h"
#include "cnntrain/run/weights.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/evaluator.h"
#include "run/monitor.h"
#include "run/reports/predictions.h"
#include "run/reports/sweep.h"

namespace cnntrain::run {
namespace {

using nlohmann::json;

constexpr std::int64_t kGuesses = 3;
constexpr std::int64_t kPictureSide = 128;

/// A token and its place in the text.
struct Token {
    std::int32_t position = 0;
    std::int32_t id = 0;
};

json numbers_of(std::span<const std::int32_t> values) {
    return json(std::vector<std::int32_t>(values.begin(), values.end()));
}

double rounded(double probability) {
    return std::round(probability * 1e5) / 1e5;
}

/// The rows of a classifier, and pictures or tokens of those with the least probable labels. Of several labels, each is
/// a row: the class of its number, or, where it is absent, the class of that number plus the number of labels.
class ClassRows {
public:
    /// `thresholds`: of several labels; empty: one class a sample.
    ClassRows(const Samples& samples, std::string label_field, std::size_t most_pictures,
              std::vector<double> thresholds)
        : samples_(samples),
          label_field_(std::move(label_field)),
          most_pictures_(most_pictures),
          thresholds_(std::move(thresholds)) {}

    /// `maps`: of the classes of images.
    void add(const BatchCopy& batch, const HostTensor& outputs, const std::optional<HostTensor>& maps) {
        const HostTensor logits = outputs.cast(DType::f32);
        const std::int64_t in_batch = logits.shape().at(0);
        const auto classes = static_cast<std::size_t>(logits.shape().at(1));
        for (std::int64_t row = 0; row < in_batch && batch.first_sample() + row < samples_.count(); ++row) {
            const std::int32_t label = batch.of<std::int32_t>(row, label_field_)[0];
            left_out_ += label == data::kLeftOut ? 1 : 0;
            if (label < 0 || label >= logits.shape().at(1)) continue;
            const auto own = logits.as<float>().subspan(static_cast<std::size_t>(row) * classes, classes);
            if (!thresholds_.empty()) {
                add_labels(batch, row, own, maps);
                continue;
            }
            logits_.insert(logits_.end(), own.begin(), own.end());
            labels_.push_back(label);
            add_row(batch, row, label, likeliest(logits, row, logits.shape().at(1)), maps);
        }
    }

    void store(json& document) {
        document["left_out"] = left_out_;
        document["seen"] = rows_.size();
        document["rows"] = std::move(rows_);
        document["pictures"] = json::object();
        document["texts"] = json::object();
        document["maps"] = json::object();
        if (!labels_.empty()) {
            const double temperature = metrics::best_temperature(logits_, labels_);
            document["temperature"] = temperature;
            document["calibration"] = {calibrated(1), calibrated(temperature)};
        }
        for (Shown& one : shown_) {
            if (!one.map.empty()) document["maps"][std::to_string(one.row)] = base64(one.map);
            if (!one.picture.empty()) document["pictures"][std::to_string(one.row)] = base64(one.picture);
            if (!one.tokens.is_null()) document["texts"][std::to_string(one.row)] = std::move(one.tokens);
        }
    }

private:
    struct Shown {
        double own = 0;  // probability of the label's class
        std::size_t row = 0;
        std::string picture;  // a JPEG
        std::string map;      // the same, with the map of the class that it was taken for
        json tokens;
    };

    json calibrated(double temperature) const {
        const metrics::Calibration found = metrics::calibration(logits_, labels_, temperature);
        json bins = json::array();
        for (const metrics::ConfidenceBin& bin : found.bins)
            bins.push_back({bin.samples, bin.correct, rounded(bin.confidence)});
        return {{"loss", rounded(found.loss)}, {"error", rounded(found.error)}, {"bins", std::move(bins)}};
    }

    void add_row(const BatchCopy& batch, std::int64_t row, std::int32_t label,
                 const std::vector<ClassProbability>& classes, const std::optional<HostTensor>& maps) {
        const double own = std::ranges::find(classes, label, &ClassProbability::label)->probability;
        json labels = json::array();
        json probabilities = json::array();
        for (const ClassProbability& one : classes) {
            if (std::ssize(labels) == kGuesses) break;
            labels.push_back(one.label);
            probabilities.push_back(rounded(one.probability));
        }
        const std::string name = printable(samples_.describe(batch.first_sample() + row));
        if (classes.front().label != label) {
            show(batch, row, own, maps ? std::optional(map_of_class(*maps, row, classes.front().label)) : std::nullopt);
        }
        rows_.push_back({name, label, rounded(own), std::move(labels), std::move(probabilities)});
    }

    void add_labels(const BatchCopy& batch, std::int64_t row, std::span<const float> logits,
                    const std::optional<HostTensor>& maps) {
        const auto count = static_cast<std::int64_t>(thresholds_.size());
        const std::span<const std::int32_t> labels = batch.of<std::int32_t>(row, label_field_);
        const std::string name = printable(samples_.describe(batch.first_sample() + row));
        for (std::int64_t c = 0; c < count; ++c) {
            const auto i = static_cast<std::size_t>(c);
            const double probability = probability_of(logits[i]);
            const bool has = labels[i] == 1;
            const bool predicted = probability >= thresholds_[i];
            const double own = has ? probability : 1 - probability;
            if (has != predicted)
                show(batch, row, own, maps ? std::optional(map_of_class(*maps, row, c)) : std::nullopt);
            rows_.push_back({name, has ? c : count + c, rounded(own), json::array({predicted ? c : count + c}),
                             json::array({rounded(predicted ? probability : 1 - probability)})});
        }
    }

    /// Keeps a picture or the tokens if few samples are more wrong.
    void show(const BatchCopy& batch, std::int64_t row, double own, const std::optional<data::Heat>& map) {
        if (most_pictures_ == 0) return;
        if (shown_.size() == most_pictures_ && shown_.back().own <= own) return;
        Shown one{own, rows_.size(), {}, {}, {}};
        if (batch.has(data::kImages)) {
            const TensorDesc desc = batch.desc_of(data::kImages);
            const auto pixels = batch.bytes_of(row, data::kImages);
            const bool is_picture = desc.shape.size() == 3 && desc.shape.back() == 3;
            if (is_picture) one.picture = data::thumbnail(desc, pixels, kPictureSide);
            if (is_picture && map) one.map = data::thumbnail(desc, pixels, kPictureSide, &*map);
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
    std::vector<double> thresholds_;
    json rows_ = json::array();
    std::vector<float> logits_;  // of the rows
    std::vector<std::int32_t> labels_;
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

/// Labels of data with other classes are other classes' numbers.
void expect_classes_of(const std::string& checkpoint, const EvaluationWork& work) {
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

void classify(const EvaluationWork& work, const Classifier& classifier, const SamplePredictionSettings& how,
              json& document) {
    expect_classes_of(how.checkpoint, work);
    const auto samples = classifier.in_order(data::Split::validation, /*augmented=*/false);
    const std::vector<std::string> names = work.task.class_names();
    std::vector<double> thresholds;
    std::int64_t most_samples = how.most_samples;
    if (work.task.classifier() == nullptr) {
        constexpr std::int64_t kMostRows = 50'000;
        thresholds = label_thresholds(*work.host.files, how.checkpoint, names.size());
        const std::int64_t most = std::max<std::int64_t>(kMostRows / std::ssize(names), 1);
        most_samples = most_samples == 0 ? most : std::min(most_samples, most);
    }
    const Sweep sweep(*samples, work, most_samples);
    ClassRows rows(*samples, std::string(classifier.label_field()), how.most_pictures, thresholds);
    const bool of_images = data::has_field(sweep.fields(), data::kImages);
    const GraphUse use = of_images && how.most_pictures > 0 ? GraphUse::maps : GraphUse::classes;
    sweep.run(work.task.graph(use, sweep.fields()), how.checkpoint, kLogits,
              [&](const BatchCopy& batch, const backend::Executable& outputs) {
                  rows.add(batch, outputs.output(kLogits),
                           use == GraphUse::maps ? std::optional(outputs.output(kMaps)) : std::nullopt);
                  return true;
              });
    document["samples"] = samples->count();
    for (const std::string& name : names)
        document["classes"].push_back(printable(name));
    for (std::size_t i = 0; i < thresholds.size(); ++i)
        document["classes"].push_back("no " + printable(names[i]));
    rows.store(document);
}

void predict_words(const EvaluationWork& work, const WordPredictor& predictor, const SamplePredictionSettings& how,
                   json& document) {
    const data::Split split = predictor.words_split();
    const auto samples = work.task.open(split);
    const Sweep sweep(*samples, work, 0);
    json sequences = json::array();
    sweep.run(work.task.graph(GraphUse::words, sweep.fields()), how.checkpoint, std::string(nn::kWordScores),
              [&](const BatchCopy& batch, const backend::Executable& outputs) {
                  add_sequences(batch, outputs.output(std::string(nn::kWordScores)), sweep.in_batch(),
                                how.most_sequences, sequences);
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
    const EvaluationWork work{*task, *backend, arguments, seed, host, observers};
    json document = {{"key", settings.key}, {"split", "validation"}, {"classes", json::array()}};
    document["unit"] = {task->columns().unit.one, task->columns().unit.many};
    document["real"] = task->has_real_data();
    const bool has_labels = task->scorer() != nullptr && task->scorer()->counts_labels();
    const Classifier* const classifier = has_labels ? task->solvable() : task->classifier();
    if (classifier != nullptr) {
        classify(work, *classifier, settings, document);
    } else if (task->word_predictor() != nullptr) {
        predict_words(work, *task->word_predictor(), settings, document);
    } else {
        throw Error(ErrorKind::unsupported,
                    std::string(row.options.name) + " predicts neither one class a sample nor words here");
    }
    return document.dump() + "\n";
}

}  // namespace cnntrain::run
