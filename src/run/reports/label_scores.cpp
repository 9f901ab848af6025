// Results of samples with any of C labels.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "cnntrain/options/option.h"
#include "cnntrain/run/scores.h"
#include "cnntrain/run/task.h"
#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::run {
namespace {

constexpr const char* kThresholdsKey = "thresholds";  // of a checkpoint: a JSON list of probabilities
constexpr double kUsualThreshold = 0.5;

/// The samples that count, label by label.
struct LabelColumns {
    std::vector<std::vector<double>> probabilities;
    std::vector<std::vector<std::int32_t>> labels;
};

LabelColumns columns_of(std::span<const float> logits, std::span<const std::int32_t> labels, std::size_t count) {
    LabelColumns columns{std::vector<std::vector<double>>(count), std::vector<std::vector<std::int32_t>>(count)};
    for (std::size_t first = 0; first < labels.size(); first += count) {
        if (labels[first] < 0) continue;
        for (std::size_t c = 0; c < count; ++c) {
            columns.probabilities[c].push_back(probability_of(logits[first + c]));
            columns.labels[c].push_back(labels[first + c]);
        }
    }
    return columns;
}

std::string six_digits(double value) {
    return formatted("%.6g", value);
}

}  // namespace

double probability_of(float logit) {
    return 1 / (1 + std::exp(-static_cast<double>(logit)));
}

Scored scored_labels(std::span<const float> logits, std::span<const std::int32_t> labels,
                     const std::vector<std::string>& names) {
    CNNTRAIN_CHECK(logits.size() == labels.size(), "each label has a logit");
    std::vector<std::int32_t> predicted;
    for (const float logit : logits)
        predicted.push_back(probability_of(logit) >= kUsualThreshold ? 1 : 0);
    const metrics::LabelCounts counts = metrics::count_labels(labels, predicted, names.size());
    const LabelColumns columns = columns_of(logits, labels, names.size());
    Scored scored;
    scored.classes = counts.labels;
    std::string table = "label,samples,average_precision,f1,threshold,f1_at_threshold\n";
    nlohmann::json thresholds;
    double sum = 0;
    double seen = 0;
    for (std::size_t c = 0; c < names.size(); ++c) {
        const metrics::ClassCount& count = counts.labels[c];
        const metrics::LabelScore score =
            metrics::score_label(columns.probabilities[c], columns.labels[c], kUsualThreshold);
        sum += score.average_precision;
        seen += count.samples > 0 ? 1 : 0;
        thresholds.push_back(score.threshold);
        table += csv_field(names[c]) + "," + six_digits(count.samples) + "," +
                 (count.samples > 0 ? six_digits(score.average_precision) : "") + "," + six_digits(metrics::f1(count)) +
                 "," + six_digits(score.threshold) + "," + six_digits(score.best_f1) + "\n";
    }
    scored.values = {{kExact, counts.samples > 0 ? counts.exact / counts.samples : 0},
                     {kMicroF1, metrics::micro_f1(counts.labels)},
                     {kMacroF1, metrics::macro_f1(counts.labels)},
                     {kMeanPrecision, seen > 0 ? sum / seen : 0}};
    scored.metadata = {{kThresholdsKey, thresholds.dump()}};
    scored.files = {{kLabelTable, table}};
    return scored;
}

std::vector<double> label_thresholds(const FileSystem& files, const std::string& restore_path, std::size_t labels) {
    std::vector<double> usual(labels, kUsualThreshold);
    if (restore_path.empty()) return usual;
    const std::string path = weights::best_or_latest(files, "--restore-path", restore_path).path;
    const std::map<std::string, std::string> metadata = weights::metadata_of(files, path);
    const auto found = metadata.find(kThresholdsKey);
    if (found == metadata.end()) return usual;
    try {
        auto thresholds = nlohmann::json::parse(found->second).get<std::vector<double>>();
        return thresholds.size() == labels ? thresholds : usual;
    } catch (const nlohmann::json::exception&) {
        throw Error(ErrorKind::data, path + ": the thresholds of the labels are damaged: " + found->second);
    }
}

Answered answered_labels(const std::string& subject, std::pair<std::string, options::Value> key,
                         std::span<const float> logits, std::span<const std::int32_t> labels,
                         const std::vector<double>& thresholds, const std::vector<std::string>& names) {
    Answered answered;
    const bool is_read = labels.front() != data::kLeftOut;
    const bool is_known = labels.front() >= 0;
    std::vector<std::string> truth;
    std::vector<std::string> predicted;
    std::string shown;
    std::vector<std::pair<std::string, options::Value>> probabilities;
    for (std::size_t c = 0; c < names.size(); ++c) {
        const double probability = probability_of(logits[c]);
        if (is_known && labels[c] == 1) truth.push_back(names[c]);
        if (is_read) probabilities.emplace_back(names[c], std::round(probability * 1e6) / 1e6);
        if (!is_read) probabilities.emplace_back(names[c], std::string());
        if (!is_read || probability < thresholds[c]) continue;
        predicted.push_back(names[c]);
        shown += " " + printable(names[c]) + " (" + formatted("%.4g", probability) + ")";
    }
    answered.line = printable(subject) + ":" + (!is_read ? " could not be read" : shown.empty() ? " no label" : shown);
    answered.fields.push_back(std::move(key));
    answered.fields.emplace_back("labels", joined(truth, "|"));
    answered.fields.emplace_back("prediction", joined(predicted, "|"));
    std::ranges::move(probabilities, std::back_inserter(answered.fields));
    return answered;
}

}  // namespace cnntrain::run
