#include "cnntrain/run/scores.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <functional>
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
    return "[" + joined(words, " ") + "]";
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

LabelScore score_label(std::span<const double> probabilities, std::span<const std::int32_t> labels, double usual) {
    CNNTRAIN_CHECK(probabilities.size() == labels.size(), "each probability has a label");
    std::vector<std::size_t> order(labels.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, std::greater<>(), [&](std::size_t i) { return probabilities[i]; });
    ClassCount at_usual;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        at_usual.samples += labels[i];
        if (probabilities[i] < usual) continue;
        at_usual.predicted += 1;
        at_usual.correct += labels[i];
    }
    LabelScore score{.threshold = usual, .best_f1 = f1(at_usual)};
    ClassCount now{.samples = at_usual.samples};
    double before = 0;  // positives down to the last different probability
    for (std::size_t i = 0; i < order.size(); ++i) {
        const double probability = probabilities[order[i]];
        const double next = i + 1 < order.size() ? probabilities[order[i + 1]] : 0;
        now.predicted += 1;
        now.correct += labels[order[i]];
        if (next == probability && i + 1 < order.size()) continue;
        score.average_precision += ratio((now.correct - before) * now.correct, now.predicted * now.samples);
        before = now.correct;
        if (f1(now) > score.best_f1) score = {score.average_precision, (probability + next) / 2, f1(now)};
    }
    return score;
}

namespace {

/// The moments of a sample's logits under its probabilities at an inverse temperature.
struct Softened {
    double log_sum = 0;  // of exp(inverse * logit)
    double mean = 0;
    double variance = 0;
};

Softened softened(std::span<const float> logits, double inverse) {
    const double largest = *std::ranges::max_element(logits);
    double sum = 0;
    double first = 0;
    double second = 0;
    for (const float logit : logits) {
        const double above = logit - largest;
        const double weight = std::exp(inverse * above);
        sum += weight;
        first += weight * above;
        second += weight * above * above;
    }
    const double mean = first / sum;
    return {inverse * largest + std::log(sum), largest + mean, second / sum - mean * mean};
}

/// Calls use(logits, label) for each sample.
template <typename Use>
void for_each_sample(std::span<const float> logits, std::span<const std::int32_t> labels, Use use) {
    CNNTRAIN_CHECK(!labels.empty() && logits.size() % labels.size() == 0, "each label has a row of logits");
    const std::size_t classes = logits.size() / labels.size();
    for (std::size_t n = 0; n < labels.size(); ++n)
        use(logits.subspan(n * classes, classes), static_cast<std::size_t>(labels[n]));
}

}  // namespace

Calibration calibration(std::span<const float> logits, std::span<const std::int32_t> labels, double temperature) {
    constexpr std::size_t kBins = 15;
    Calibration result{.bins = std::vector<ConfidenceBin>(kBins)};
    for_each_sample(logits, labels, [&](std::span<const float> own, std::size_t label) {
        const double log_sum = softened(own, 1 / temperature).log_sum;
        const auto best = static_cast<std::size_t>(std::ranges::max_element(own) - own.begin());
        const double confidence = std::exp(own[best] / temperature - log_sum);
        const double place = std::ceil(confidence * kBins) - 1;
        ConfidenceBin& bin = result.bins[static_cast<std::size_t>(std::clamp(place, 0.0, kBins - 1.0))];
        ++bin.samples;
        bin.correct += best == label ? 1 : 0;
        bin.confidence += confidence;
        result.loss += log_sum - own[label] / temperature;
    });
    for (const ConfidenceBin& bin : result.bins)
        result.error += std::abs(bin.confidence - static_cast<double>(bin.correct));
    result.loss /= static_cast<double>(labels.size());
    result.error /= static_cast<double>(labels.size());
    return result;
}

/// Newton's method on 1/T, in which the loss is convex, within a bracket of its minimum.
double best_temperature(std::span<const float> logits, std::span<const std::int32_t> labels) {
    constexpr double kMost = 100;
    constexpr int kSteps = 60;
    double low = 1 / kMost;
    double high = kMost;
    double inverse = 1;
    for (int step = 0; step < kSteps; ++step) {
        double slope = 0;
        double curvature = 0;
        for_each_sample(logits, labels, [&](std::span<const float> own, std::size_t label) {
            const Softened moments = softened(own, inverse);
            slope += moments.mean - own[label];
            curvature += moments.variance;
        });
        if (slope == 0) break;
        (slope > 0 ? high : low) = inverse;
        const double next = inverse - slope / curvature;
        const double taken = next > low && next < high ? next : std::sqrt(low * high);
        if (std::abs(taken - inverse) <= 1e-9 * inverse) break;
        inverse = taken;
    }
    return 1 / inverse;
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
