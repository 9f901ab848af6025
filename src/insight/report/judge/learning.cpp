// Did the run learn? By its validations where it has some, otherwise by the training itself.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cnntrain/base/text.h"
#include "cnntrain/insight/findings.h"

namespace cnntrain::report {

namespace {

constexpr double kSigmas = 3;            // what is not by chance
constexpr double kLeastRelative = 0.01;  // change of a loss that is not noise

double mean(const Curve& curve, std::size_t begin, std::size_t end) {
    const auto at = [&](std::size_t i) { return curve.y.begin() + static_cast<std::ptrdiff_t>(i); };
    return std::accumulate(at(begin), at(end), 0.0) / static_cast<double>(end - begin);
}

/// Standard error of the mean of the values between two places.
double standard_error(const Curve& curve, std::size_t begin, std::size_t end) {
    const auto count = static_cast<double>(end - begin);
    if (count < 2) return 0;
    const double middle = mean(curve, begin, end);
    double sum = 0;
    for (std::size_t i = begin; i < end; ++i)
        sum += (curve.y[i] - middle) * (curve.y[i] - middle);
    return std::sqrt(sum / (count - 1) / count);
}

bool is_finite(const Curve& curve) {
    return std::ranges::all_of(curve.y, [](double value) { return std::isfinite(value); });
}

Curve finite_part(const Curve& curve) {
    Curve result;
    for (std::size_t i = 0; i < curve.size(); ++i) {
        if (!std::isfinite(curve.y[i])) continue;
        result.x.push_back(curve.x[i]);
        result.y.push_back(curve.y[i]);
    }
    return result;
}

const Measure* find(const std::vector<Measure>& measures, bool more_is_better, bool validated) {
    for (const Measure& measure : measures) {
        const bool has = validated ? !measure.validation.empty() : !measure.training.empty();
        if (has && measure.more_is_better == more_is_better) return &measure;
    }
    return nullptr;
}

/// The number of classes, from the tables or the checkpoint; 0 if it is not known.
std::size_t class_count(const RunRecord& run) {
    if (run.checkpoint && !run.checkpoint->classes.empty()) return run.checkpoint->classes.size();
    double most = -1;
    for (std::size_t row = 0; row < run.classes.rows(); ++row)
        most = std::max(most, run.classes.number(row, "class"));
    if (most >= 0) return static_cast<std::size_t>(most) + 1;
    const std::string dataset = run.argument("dataset");
    if (dataset == "cifar-10") return 10;
    return dataset == "cifar-100" ? 100 : 0;
}

double validated_samples(const RunRecord& run) {
    return run.validation.rows() == 0 ? 0 : run.validation.number(run.validation.rows() - 1, "val_size");
}

std::string value_text(const Measure& measure, double value) {
    return number_text(value) + std::string(measure.unit);
}

std::string change_text(const Measure& measure, double change) {
    const std::string unit = measure.unit.empty() ? "" : change == 1 ? " percentage point" : " percentage points";
    return number_text(std::fabs(change), 3) + unit;
}

std::string lower(std::string_view title) {
    std::string text(title);
    if (!text.empty()) text[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[0])));
    return text;
}

/// Fills in best, first and last.
void take_extremes(Learning& result, const Curve& all) {
    const Curve curve = finite_part(all);
    if (curve.empty()) return;
    const auto best =
        result.measure->more_is_better ? std::ranges::max_element(curve.y) : std::ranges::min_element(curve.y);
    const auto place = static_cast<std::size_t>(best - curve.y.begin());
    result.best = *best;
    result.best_epoch = curve.x[place];
    result.first = curve.y.front();
    result.last = curve.y.back();
    result.last_epoch = curve.x.back();
}

/// Standard error of an accuracy, in percent.
double accuracy_noise(double accuracy, double samples) {
    const double share = std::clamp(accuracy / kPercent, 0.01, 0.99);
    return samples > 0 ? kPercent * std::sqrt(share * (1 - share) / samples) : 0;
}

/// Samples of each class in the last validation.
std::vector<double> class_sizes(const RunRecord& run) {
    std::map<std::string_view, double> samples;
    for (std::size_t row = 0; row < run.classes.rows(); ++row) {
        if (run.classes.text(row, "name") != run.classes.text(run.classes.rows() - 1, "name")) continue;
        const double count = run.classes.number(row, "samples");
        if (!(count > 0)) continue;
        samples[run.classes.text(row, "class")] = count;
    }
    std::vector<double> sizes;
    for (const auto& [name, count] : samples)
        sizes.push_back(count);
    return sizes;
}

/// The share of the largest class, in percent; kUnknown if classes are not counted.
double largest_class(const std::vector<double>& sizes) {
    if (sizes.empty()) return kUnknown;
    return kPercent * std::ranges::max(sizes) / std::accumulate(sizes.begin(), sizes.end(), 0.0);
}

/// Standard deviation of the mean of the classes' accuracies, in percent, where each is `accuracy`.
double balanced_noise(double accuracy, const std::vector<double>& sizes) {
    double variance = 0;
    for (const double size : sizes)
        variance += std::pow(accuracy_noise(accuracy, size), 2);
    return std::sqrt(variance) / static_cast<double>(sizes.size());
}

void add_interval(const RunRecord& run, Learning& result) {
    const double samples = validated_samples(run);
    if (!(samples > 0) || result.measure->unit != " %") return;
    const Interval interval = interval_of(result.best / kPercent, samples);
    result.low = kPercent * interval.low;
    result.high = kPercent * interval.high;
}

/// The best of many validations is better by chance than one; so the last one counts, too.
Verdict verdict_beside(double without, double noise, double best, double last) {
    constexpr double kManySigmas = 6;
    const bool lasts = last > without + noise || best > without + kManySigmas * noise;
    if (lasts && best > without + kSigmas * noise) return Verdict::learned;
    return best > without + noise ? Verdict::little : Verdict::none;
}

/// Judges by the mean of the classes' accuracies, which says more where one class is large, because always naming that
/// class is hard to beat.
Verdict verdict_of_balanced_accuracy(const RunRecord& run, const std::vector<double>& sizes, Learning& result) {
    const std::vector<Measure> measures = measures_of(run);
    const auto measure = std::ranges::find(measures, "balanced_acc", &Measure::validation);
    if (measure == measures.end() || sizes.size() < 2) return Verdict::none;
    const Curve curve = finite_part(validation_curve(run, *measure));
    if (curve.empty()) return Verdict::none;
    result.balanced = std::ranges::max(curve.y);
    const double guessing = kPercent / static_cast<double>(sizes.size());
    return verdict_beside(guessing, balanced_noise(guessing, sizes), result.balanced, curve.y.back());
}

bool is_better(Verdict one, Verdict other) {
    const auto rank = [](Verdict verdict) {
        return verdict == Verdict::learned ? 2 : verdict == Verdict::little ? 1 : 0;
    };
    return rank(one) > rank(other);
}

Verdict verdict_of_accuracy(const RunRecord& run, Learning& result) {
    add_interval(run, result);
    const std::size_t classes = result.measure->validation == "val_acc" ? class_count(run) : 0;
    if (classes < 2) {
        if (result.best > result.first) return Verdict::learned;
        return Verdict::unknown;
    }
    result.chance = kPercent / static_cast<double>(classes);
    const std::vector<double> sizes = class_sizes(run);
    result.largest_class = largest_class(sizes);
    const double without = std::max(result.chance, std::isnan(result.largest_class) ? 0 : result.largest_class);
    const double noise = accuracy_noise(without, validated_samples(run));
    Verdict verdict = verdict_beside(without, noise, result.best, result.last);
    if (verdict == Verdict::learned && result.best <= 1.2 * result.chance) verdict = Verdict::little;
    const Verdict by_class = verdict_of_balanced_accuracy(run, sizes, result);
    return is_better(by_class, verdict) ? by_class : verdict;
}

/// True as long as a result near that of guessing says nothing.
bool is_too_early(const RunRecord& run, const Learning& result) {
    constexpr double kFewUpdates = 10;
    constexpr double kFewSamples = 30;
    const Table& table = result.by_validation ? run.validation : run.training;
    const double updates = table.number(table.rows() - 1, "iteration");
    const bool is_first_epoch = run.end == End::going && result.last_epoch < 1;
    const bool has_few_samples = result.by_validation && validated_samples(run) < kFewSamples;
    return updates < kFewUpdates || is_first_epoch || has_few_samples;
}

Verdict verdict_of_validation_loss(const Curve& curve, const Learning& result) {
    if (curve.size() < 2) return Verdict::unknown;
    const double gained = (result.first - result.best) / std::fabs(result.first);
    return gained > kLeastRelative ? Verdict::learned : gained > 0 ? Verdict::little : Verdict::none;
}

/// The last quarter of the training against the first.
Verdict verdict_of_training(const Curve& curve, bool more_is_better) {
    constexpr std::size_t kLeast = 4;
    if (curve.size() < kLeast) return Verdict::unknown;
    const std::size_t quarter = std::max<std::size_t>(1, curve.size() / 4);
    const double first = mean(curve, 0, quarter);
    const double last = mean(curve, curve.size() - quarter, curve.size());
    const double gained = more_is_better ? last - first : first - last;
    const double noise =
        std::hypot(standard_error(curve, 0, quarter), standard_error(curve, curve.size() - quarter, curve.size()));
    if (gained > kSigmas * noise && gained > kLeastRelative * std::fabs(first)) return Verdict::learned;
    return gained > noise && gained > 0 ? Verdict::little : Verdict::none;
}

/// Epoch at which the training's loss stopped being a finite number; empty if it never did.
std::optional<double> divergence(const Curve& loss) {
    for (std::size_t i = 0; i < loss.size(); ++i) {
        if (!std::isfinite(loss.y[i])) return loss.x[i];
    }
    return std::nullopt;
}

std::string_view verdict_text(Verdict verdict) {
    constexpr std::string_view kTexts[] = {"It learned", "It learned little, maybe by chance", "It did not learn",
                                           "It diverged", "It is too early to say whether it learns"};
    return entry_of(kTexts, verdict);
}

/// Interval of an accuracy on few samples; "" if it is narrow.
std::string interval_text(const Learning& result) {
    constexpr double kNarrow = 2;  // percentage points
    if (std::isnan(result.low) || result.high - result.low < kNarrow) return "";
    return ", with so few samples between " + number_text(result.low, 3) + " and " + number_text(result.high, 3) + " %";
}

/// The best and the last value, and what guessing gives; empty if there is no value.
std::string extremes_text(const Learning& result) {
    if (std::isnan(result.best)) return "";
    const auto at = [&](double value, double epoch) {
        return value_text(*result.measure, value) + " (" + epoch_text(epoch) + ")";
    };
    const bool is_last = result.best == result.last && result.best_epoch == result.last_epoch;
    std::string text = is_last ? "best and last " : "best ";
    text += (result.by_validation ? "validation " : "training ") + lower(result.measure->title) + " " +
            at(result.best, result.best_epoch) + interval_text(result);
    if (!is_last) text += ", last " + at(result.last, result.last_epoch);
    if (!std::isnan(result.chance)) text += "; guessing gives " + number_text(result.chance, 3) + " %";
    if (!std::isnan(result.largest_class))
        text += ", always naming the largest class " + number_text(result.largest_class, 3) + " %";
    if (!std::isnan(result.balanced) && result.largest_class > 2 * result.chance)
        text += "; best mean of the classes' accuracies " + number_text(result.balanced, 3) + " %";
    return text;
}

std::string learning_sentence(const Learning& result) {
    const std::string extremes = extremes_text(result);
    return std::string(verdict_text(result.verdict)) + (extremes.empty() ? "" : ": " + extremes) + ".";
}

/// Difference of the means of two thirds of a curve that may be due to chance.
double trend_noise(const RunRecord& run, const Learning& result, const Curve& curve) {
    if (result.measure->more_is_better) return accuracy_noise(result.last, validated_samples(run));
    if (result.by_validation || curve.size() < 3) return 0.5 * kLeastRelative * std::fabs(result.last);
    const std::size_t third = curve.size() / 3;
    const std::size_t last = curve.size() - third;
    return 2 * std::hypot(standard_error(curve, last, curve.size()), standard_error(curve, last - third, last));
}

/// Adds a sentence about more epochs, by the last third of a curve.
void add_trend(Learning& result, const Curve& all, double noise) {
    constexpr std::size_t kLeast = 3;
    const Curve curve = finite_part(all);
    if (curve.size() < kLeast) {
        result.sentences.push_back(
            "Whether more epochs would help is not known: there " + std::string(curve.size() == 1 ? "is " : "are ") +
            counted(std::ssize(curve.x), result.by_validation ? "validation" : "log line") + ".");
        return;
    }
    result.still_improving = is_still_improving(curve, result.measure->more_is_better, noise);
    const std::size_t third = std::max<std::size_t>(1, curve.size() / 3);
    const double change =
        mean(curve, curve.size() - third, curve.size()) - mean(curve, curve.size() - 2 * third, curve.size() - third);
    const std::string how = change_text(*result.measure, change);
    if (result.still_improving) {
        result.sentences.push_back("It was still improving at the end: the last third is better by " + how +
                                   " than the third before; more epochs may help.");
    } else {
        const bool is_worse = result.measure->more_is_better == (change < 0);
        const std::string than = change == 0 ? "as good as" : (is_worse ? "worse by " : "better by ") + how + " than";
        result.sentences.push_back("It was no longer improving at the end: the last third is " + than +
                                   " the third before.");
    }
}

void add_divergence(const RunRecord& run, Learning& result, double epoch) {
    result.verdict = Verdict::diverged;
    const std::string extremes = extremes_text(result);
    result.sentences = {"It diverged: the loss was no finite number at " + epoch_text(epoch) +
                        (extremes.empty() ? "" : "; " + extremes) + "."};
    if (!run.log.error.empty()) result.sentences.push_back("It ended with: " + run.log.error);
}

/// The mean of the last tenth.
double mean_at_end(const Curve& curve) {
    const std::size_t width = std::max<std::size_t>(1, curve.size() / 10);
    return mean(curve, curve.size() - width, curve.size());
}

/// Finds the difference by which the training's last results are better than the validation's: of accuracies where both
/// have some, else of losses.
void find_gap(const RunRecord& run, const std::vector<Measure>& measures, Learning& result) {
    constexpr double kLargeAccuracy = 10;  // percentage points
    constexpr double kLargeLoss = 0.3;     // nats,
    constexpr double kLossRatio = 1.5;     // and of the training's loss
    for (const bool accuracy : {true, false}) {
        for (const Measure& measure : measures) {
            if (measure.more_is_better != accuracy || measure.training.empty() || measure.validation.empty()) continue;
            const Curve trained = finite_part(training_curve(run, measure));
            const Curve validated = finite_part(validation_curve(run, measure));
            if (trained.empty() || validated.empty()) continue;
            const double training = mean_at_end(trained);
            const double validation = validated.y.back();
            result.gap = accuracy ? training - validation : validation - training;
            const double noise = accuracy ? accuracy_noise(validation, validated_samples(run)) : 0;
            result.gap_is_large = accuracy ? result.gap > kLargeAccuracy + 2 * noise
                                           : result.gap > kLargeLoss && validation > kLossRatio * training;
            if (result.gap_is_large) {
                result.sentences.push_back("It fits the training data better than others: at the end, training " +
                                           lower(measure.title) + " " + value_text(measure, training) +
                                           ", validation " + lower(measure.title) + " " +
                                           value_text(measure, validation) + ".");
            }
            return;
        }
    }
}

Learning without_rows(const RunRecord& run) {
    Learning result;
    if (!run.log.error.empty()) {
        result.verdict = Verdict::diverged;
        result.sentences = {"It ended before its first log line: " + run.log.error};
        return result;
    }
    result.sentences = {"There is no log line or validation yet, so nothing is known."};
    return result;
}

}  // namespace

Interval interval_of(double share, double samples) {
    constexpr double kDeviations = 1.96;
    const double square = kDeviations * kDeviations / samples;
    const double middle = (share + square / 2) / (1 + square);
    const double half = kDeviations / (1 + square) * std::sqrt(share * (1 - share) / samples + square / (4 * samples));
    return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

bool is_still_improving(const Curve& curve, bool more_is_better, double noise) {
    if (curve.size() < 3) return false;
    const std::size_t third = std::max<std::size_t>(1, curve.size() / 3);
    const double last = mean(curve, curve.size() - third, curve.size());
    const double before = mean(curve, curve.size() - 2 * third, curve.size() - third);
    return (more_is_better ? last - before : before - last) > noise;
}

std::optional<double> overfitting_epoch(const Curve& all, const Curve& training_loss) {
    constexpr std::size_t kLeastBehind = 2;
    constexpr double kLeastGrowth = 0.02;
    const Curve validation_loss = finite_part(all);
    if (validation_loss.size() <= kLeastBehind || training_loss.size() < 2) return std::nullopt;
    const auto least =
        static_cast<std::size_t>(std::ranges::min_element(validation_loss.y) - validation_loss.y.begin());
    if (validation_loss.size() - least <= kLeastBehind) return std::nullopt;
    const double limit = validation_loss.y[least] * (1 + kLeastGrowth);
    if (validation_loss.y.back() <= limit || mean(validation_loss, least + 1, validation_loss.size()) <= limit)
        return std::nullopt;
    // The training loss at that epoch and at the end, each as the mean of neighbouring log lines.
    const double epoch = validation_loss.x[least];
    const auto place =
        static_cast<std::size_t>(std::ranges::upper_bound(training_loss.x, epoch) - training_loss.x.begin());
    const std::size_t width = std::max<std::size_t>(1, training_loss.size() / 10);
    const std::size_t begin = place > width ? place - width : 0;
    if (place <= begin || place >= training_loss.size()) return std::nullopt;
    const double then = mean(training_loss, begin, place);
    const double now = mean(training_loss, training_loss.size() - width, training_loss.size());
    return now < then ? std::optional(epoch) : std::nullopt;
}

Learning judge_learning(const RunRecord& run) {
    const std::vector<Measure> measures = measures_of(run);
    const Measure* const trained_loss = find(measures, /*more_is_better=*/false, /*validated=*/false);
    const Curve training_loss = trained_loss != nullptr ? training_curve(run, *trained_loss) : Curve{};
    const Measure* by = find(measures, /*more_is_better=*/true, /*validated=*/true);
    const Measure* const validated_loss = find(measures, /*more_is_better=*/false, /*validated=*/true);
    if (by == nullptr || validation_curve(run, *by).empty()) by = validated_loss;
    // An accuracy of masked words says little before the loss has fallen.
    if (by != nullptr && by->validation == "mlm_acc" && validated_loss != nullptr) by = validated_loss;
    Learning result;
    Curve curve = by != nullptr ? validation_curve(run, *by) : Curve{};
    result.by_validation = !curve.empty();
    if (!result.by_validation) {
        by = trained_loss;
        curve = training_loss;
    }
    if (by == nullptr || curve.empty()) return without_rows(run);
    result.measure = *by;
    take_extremes(result, curve);
    if (const auto epoch = divergence(training_loss)) {
        add_divergence(run, result, *epoch);
        return result;
    }
    if (!result.by_validation) {
        result.verdict = verdict_of_training(curve, by->more_is_better);
    } else if (by->more_is_better) {
        result.verdict = verdict_of_accuracy(run, result);
    } else {
        result.verdict = verdict_of_validation_loss(curve, result);
    }
    if (result.verdict == Verdict::unknown && is_finite(training_loss) && result.by_validation)
        result.verdict = verdict_of_training(training_loss, false);
    if (is_better(Verdict::learned, result.verdict) && is_too_early(run, result)) result.verdict = Verdict::unknown;
    result.sentences = {learning_sentence(result)};
    if (!run.log.error.empty()) result.sentences.push_back("It ended with: " + run.log.error);
    const double noise = trend_noise(run, result, finite_part(curve));
    add_trend(result, curve, noise);
    if (validated_loss != nullptr)
        result.overfits_from = overfitting_epoch(validation_curve(run, *validated_loss), training_loss);
    if (result.overfits_from) {
        result.sentences.push_back("It over-fitted from " + epoch_text(*result.overfits_from) +
                                   " on: the validation loss grew while the training loss went on falling.");
    }
    if (result.by_validation) find_gap(run, measures, result);
    const bool is_known = validated_loss != nullptr && validation_curve(run, *validated_loss).size() > 2;
    if (!result.overfits_from && !result.gap_is_large && is_known)
        result.sentences.emplace_back("No over-fitting: the validation loss did not turn up.");
    return result;
}

}  // namespace cnntrain::report
