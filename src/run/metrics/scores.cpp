#include "cnntrain/run/scores.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"

namespace cnntrain::metrics {
namespace {

double ratio(double part, double whole) {
    return whole == 0 ? 0 : part / whole;
}

ClassCount sum_of(std::span<const ClassCount> classes) {
    ClassCount sum;
    for (const ClassCount& count : classes) {
        sum.samples += count.samples;
        sum.correct += count.correct;
        sum.predicted += count.predicted;
    }
    return sum;
}

/// Ranks from 1 of values that are not NaN.
std::vector<double> ranks(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
    std::vector<double> result(values.size());
    for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
        while (end < order.size() && !(values[order[begin]] < values[order[end]]))
            ++end;
        for (std::size_t i = begin; i < end; ++i)
            result[order[i]] = static_cast<double>(begin + 1 + end) / 2;
    }
    return result;
}

std::string shortest(double value) {
    std::array<char, 32> digits{};
    return {digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr};
}

std::string in_brackets(const std::vector<std::string>& words) {
    return "[" + cnntrain::joined(words, " ") + "]";
}

}  // namespace

Confusion count_confusion(std::span<const std::int32_t> labels, std::span<const std::int32_t> predicted,
                          std::size_t classes) {
    CNNTRAIN_CHECK(labels.size() == predicted.size(), "each label has a prediction");
    Confusion counts(classes, std::vector<std::int64_t>(classes));
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] < 0 || static_cast<std::size_t>(labels[i]) >= classes) continue;
        ++counts[static_cast<std::size_t>(labels[i])].at(static_cast<std::size_t>(predicted[i]));
    }
    return counts;
}

std::vector<ClassCount> count_classes(const Confusion& confusion) {
    std::vector<ClassCount> counts(confusion.size());
    for (std::size_t label = 0; label < confusion.size(); ++label) {
        for (std::size_t other = 0; other < confusion.size(); ++other) {
            const auto samples = static_cast<double>(confusion[label][other]);
            counts[label].samples += samples;
            counts[other].predicted += samples;
            if (label == other) counts[label].correct += samples;
        }
    }
    return counts;
}

double accuracy(std::span<const ClassCount> classes) {
    const ClassCount sum = sum_of(classes);
    return ratio(sum.correct, sum.samples);
}

double f1(const ClassCount& count) {
    return ratio(2 * count.correct, count.samples + count.predicted);
}

double macro_f1(std::span<const ClassCount> classes) {
    double sum = 0;
    double seen = 0;
    for (const ClassCount& count : classes) {
        sum += f1(count);
        if (count.samples + count.predicted > 0) seen += 1;
    }
    return ratio(sum, seen);
}

double micro_f1(std::span<const ClassCount> classes) {
    return f1(sum_of(classes));
}

double matthews(std::span<const ClassCount> classes) {
    const ClassCount sum = sum_of(classes);
    double covariance = sum.correct * sum.samples;
    double of_labels = sum.samples * sum.samples;
    double of_predictions = of_labels;
    for (const ClassCount& count : classes) {
        covariance -= count.samples * count.predicted;
        of_labels -= count.samples * count.samples;
        of_predictions -= count.predicted * count.predicted;
    }
    return ratio(covariance, std::sqrt(of_labels) * std::sqrt(of_predictions));
}

double pearson(std::span<const double> scores, std::span<const double> predicted) {
    CNNTRAIN_CHECK(scores.size() == predicted.size(), "each score has a prediction");
    // The mean of equal numbers may be rounded to another number.
    const auto is_constant = [](std::span<const double> values) {
        return std::ranges::all_of(values, [&](double value) { return value == values.front(); });
    };
    if (is_constant(scores) || is_constant(predicted)) return 0;
    const auto mean = [](std::span<const double> values) {
        return ratio(std::accumulate(values.begin(), values.end(), 0.0), static_cast<double>(values.size()));
    };
    const double mean_score = mean(scores);
    const double mean_predicted = mean(predicted);
    double covariance = 0;
    double of_scores = 0;
    double of_predicted = 0;
    for (std::size_t i = 0; i < scores.size(); ++i) {
        const double score = scores[i] - mean_score;
        const double other = predicted[i] - mean_predicted;
        covariance += score * other;
        of_scores += score * score;
        of_predicted += other * other;
    }
    return ratio(covariance, std::sqrt(of_scores) * std::sqrt(of_predicted));
}

double spearman(std::span<const double> scores, std::span<const double> predicted) {
    const double of_values = pearson(scores, predicted);
    return std::isnan(of_values) ? of_values : pearson(ranks(scores), ranks(predicted));
}

LabelCounts count_labels(std::span<const std::int32_t> labels, std::span<const std::int32_t> predicted,
                         std::size_t classes) {
    CNNTRAIN_CHECK(labels.size() == predicted.size() && labels.size() % classes == 0, "each label has a prediction");
    LabelCounts counts{.labels = std::vector<ClassCount>(classes)};
    for (std::size_t first = 0; first < labels.size(); first += classes) {
        if (labels[first] < 0) continue;
        counts.samples += 1;
        for (std::size_t c = 0; c < classes; ++c) {
            counts.labels[c].samples += labels[first + c];
            counts.labels[c].predicted += predicted[first + c];
            counts.labels[c].correct += labels[first + c] * predicted[first + c];
        }
        if (std::ranges::equal(labels.subspan(first, classes), predicted.subspan(first, classes))) counts.exact += 1;
    }
    return counts;
}

std::string eval_results_text(const std::map<std::string, double>& values, std::span<const std::string> predictions,
                              const Confusion& confusion) {
    std::map<std::string, std::string> lines = {{"preds", in_brackets({predictions.begin(), predictions.end()})}};
    std::vector<std::string> rows;
    for (const std::vector<std::int64_t>& row : confusion) {
        std::vector<std::string> numbers(row.size());
        std::ranges::transform(row, numbers.begin(), [](std::int64_t count) { return std::to_string(count); });
        rows.push_back(in_brackets(numbers));
    }
    if (!rows.empty()) lines["confusion"] = in_brackets(rows);
    for (const auto& [key, value] : values)
        lines[key] = shortest(value);
    std::string text;
    for (const auto& [key, value] : lines)
        text += key + " = " + value + "\n";
    return text;
}

std::string predict_results_text(std::span<const std::string> predictions) {
    std::string text = "index\tprediction\n";
    for (std::size_t i = 0; i < predictions.size(); ++i)
        text += std::to_string(i) + "\t" + predictions[i] + "\n";
    return text;
}

}  // namespace cnntrain::metrics
