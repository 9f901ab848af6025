// Describes exactly what ran, and what differs between runs.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "cnntrain/base/text.h"
#include "cnntrain/insight/findings.h"

namespace cnntrain::report {

namespace {

/// Keys of arguments.json that describe the place and time of a run rather than its options.
constexpr std::string_view kNoOptions =
    "name grad_scale lr_scale datetime hostname summary_str logs_path log_dir checkpoint_path restore_path restoring "
    "seed_specified command training planned_iterations program_version save_path validation_iterations "
    "validation_device_iterations restore_dir wandb_id chosen_by_number_of_photos wandb_name";

std::string end_text(End end) {
    constexpr const char* kTexts[] = {
        "It finished.",
        "It ended early, as --early-stop asks.",
        "It was stopped by a signal; restore continues it.",
        "It ended with an error.",
        "It is still going.",
        "It did not reach its end: it was killed, or its machine stopped.",
        "How it ended is not recorded.",
    };
    return entry_of(kTexts, end);
}

std::string last_iteration_text(const RunRecord& run) {
    if (run.training.rows() == 0) return "";
    const double iteration = run.training.number(run.training.rows() - 1, "iteration");
    if (std::isnan(iteration)) return "";
    const std::string planned = run.argument("planned_iterations");
    return formatted(" Last log line: weight update %.0f", iteration) + (planned.empty() ? "" : " of " + planned) + ".";
}

std::string version_text(const RunRecord& run) {
    const std::string version = run.argument("program_version");
    return version.empty() ? "an earlier version of cnntrain, which did not record its number" : version;
}

/// "2 options differ from the defaults: --model-size 8, --epochs 3."
std::string changed_text(const std::vector<ChangedOption>& options) {
    if (options.empty()) return "No option differs from the defaults.";
    constexpr std::size_t kShown = 12;
    constexpr std::size_t kLongest = 40;
    std::vector<std::string> texts;
    for (const auto& [flag, value, fallback] : options)
        texts.push_back(flag + " " + (value.size() > kLongest ? value.substr(0, kLongest) + "..." : value));
    return counted(std::ssize(options), "option") + (options.size() == 1 ? " differs" : " differ") +
           " from the defaults: " + listed(texts, kShown) + ".";
}

/// Best result and rate of a run, for a comparison with the first run.
struct Result {
    Learning learning;
    Speed speed;
};

void compare_results(const RunRecord& first, const Result& own, const RunRecord& other, const Result& theirs,
                     std::vector<std::string>& sentences) {
    const auto comparable = [](const Learning& a, const Learning& b) {
        return a.measure && b.measure && a.measure->title == b.measure->title && a.by_validation == b.by_validation &&
               std::isfinite(a.best) && std::isfinite(b.best);
    };
    std::vector<std::string> parts;
    if (comparable(own.learning, theirs.learning)) {
        const Measure& measure = *own.learning.measure;
        const std::string unit(measure.unit);
        parts.push_back(std::string("best ") + (own.learning.by_validation ? "validation " : "training ") +
                        std::string(measure.more_is_better ? "accuracy " : "loss ") + number_text(own.learning.best) +
                        unit + " against " + number_text(theirs.learning.best) + unit);
    }
    if (std::isfinite(own.speed.samples_per_second) && theirs.speed.samples_per_second > 0 &&
        own.speed.unit == theirs.speed.unit) {
        parts.push_back(number_text(own.speed.samples_per_second) + " against " +
                        number_text(theirs.speed.samples_per_second) + " " + own.speed.unit + " per second (" +
                        formatted("%.2f times", own.speed.samples_per_second / theirs.speed.samples_per_second) + ")");
    }
    if (parts.empty()) parts.emplace_back("their results cannot be compared");
    sentences.push_back(first.name + " against " + other.name + ": " + listed(parts) + ".");
}

void compare_data(const std::vector<RunRecord>& runs, std::vector<std::string>& sentences) {
    const auto crc = [](const RunRecord& run) { return run.checkpoint ? run.checkpoint->data_crc : ""; };
    if (std::ranges::any_of(runs, [&](const RunRecord& run) { return crc(run).empty(); })) return;
    const bool same = std::ranges::all_of(runs, [&](const RunRecord& run) { return crc(run) == crc(runs.front()); });
    sentences.emplace_back(same ? "All have the same data." : "Their data differ: fingerprints are not the same.");
}

/// "epochs (8 against 3)".
std::string difference_text(const Difference& difference) {
    constexpr std::size_t kLongest = 24;
    const auto shown = [](const std::string& value) {
        if (value.empty()) return std::string("none");
        return value.size() > kLongest ? value.substr(0, kLongest) + "..." : value;
    };
    return difference.key + " (" + joined(difference.values, " against ", shown) + ")";
}

/// Runs of versions without the option count as equal.
bool differs(const std::string& key, const std::vector<RunRecord>& runs) {
    std::set<std::string> values;
    for (const RunRecord& run : runs) {
        if (run.arguments.contains(key)) values.insert(run.argument(key));
    }
    return values.size() > 1;
}

}  // namespace

std::string data_text(const RunRecord& run) {
    if (!run.checkpoint || run.checkpoint->data_crc.empty()) return "";
    std::string text = run.checkpoint->data_crc;
    std::vector<std::string> counts;
    if (run.checkpoint->training_samples > 0)
        counts.push_back(std::to_string(run.checkpoint->training_samples) + " training");
    if (run.checkpoint->validation_samples > 0)
        counts.push_back(std::to_string(run.checkpoint->validation_samples) + " validation");
    return counts.empty() ? text : text + " (" + listed(counts) + " samples)";
}

std::vector<std::string> describe_run(const RunRecord& run) {
    std::vector<std::string> sentences = {end_text(run.end) + last_iteration_text(run)};
    if (run.log.processes > 1) sentences.push_back("It was continued " + counted(run.log.processes - 1, "time") + ".");
    if (run.knows_changed_options) sentences.push_back(changed_text(run.changed_options));
    sentences.push_back("Program: " + version_text(run) + ".");
    if (!run.log.processor.empty()) {
        sentences.push_back("Processor: " + run.log.processor + (run.log.cores.empty() ? "" : "; " + run.log.cores) +
                            ".");
    }
    const std::string data = data_text(run);
    sentences.push_back(data.empty() ? "The data's fingerprint is not known: no checkpoint records it."
                                     : "Data fingerprint: " + data + ".");
    return sentences;
}

Comparison compare_runs(const std::vector<RunRecord>& runs) {
    Comparison result;
    if (runs.size() < 2) return result;
    std::set<std::string> keys;
    for (const RunRecord& run : runs) {
        for (const auto& [key, value] : run.arguments) {
            if (!has_word(kNoOptions, key)) keys.insert(key);
        }
    }
    for (const std::string& key : keys) {
        Difference difference{key, {}};
        for (const RunRecord& run : runs)
            difference.values.push_back(run.argument(key));
        if (differs(key, runs)) result.options.push_back(std::move(difference));
    }
    std::vector<std::string> names;
    for (const Difference& difference : result.options)
        names.push_back(difference_text(difference));
    constexpr std::size_t kShown = 8;
    const Result own{judge_learning(runs.front()), judge_speed(runs.front())};
    for (std::size_t i = 1; i < runs.size(); ++i)
        compare_results(runs.front(), own, runs[i], {judge_learning(runs[i]), judge_speed(runs[i])}, result.sentences);
    result.sentences.push_back(names.empty() ? "Their options are the same."
                                             : "Options that differ: " + listed(names, kShown) + ".");
    compare_data(runs, result.sentences);
    return result;
}

// Finds the classes that are taken for each other, and the samples that are most wrong.

namespace {

std::string name_of(const Confusion& confusion, std::int64_t label) {
    const auto place = static_cast<std::size_t>(label);
    return place < confusion.names.size() ? confusion.names[place] : std::to_string(label);
}

/// Counts of the last validation in validation_classes.csv, for runs without predictions.
void count_table(const RunRecord& run, Confusion& result) {
    const Table& table = run.classes;
    if (table.rows() == 0) return;
    const std::string_view name = table.text(table.rows() - 1, "name");
    for (std::size_t row = 0; row < table.rows(); ++row) {
        if (table.text(row, "name") != name) continue;
        const double label = table.number(row, "class");
        if (!(label >= 0)) continue;
        const auto count = [&](const char* column) {
            const double value = table.number(row, column);
            return std::isfinite(value) ? static_cast<std::int64_t>(value) : 0;
        };
        result.classes.push_back(
            {static_cast<std::int64_t>(label), count("samples"), count("correct"), count("predicted")});
        const std::string_view text = table.text(row, "label");
        result.names.push_back(text.empty() ? std::to_string(result.classes.back().label) : std::string(text));
    }
    result.source = "validation " + std::string(name);
    result.weights = name;
}

void count_predictions(const Predictions& predictions, Confusion& result) {
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> pairs;
    std::size_t classes = predictions.classes.size();
    for (const Sample& sample : predictions.rows) {
        classes = std::max(
            classes,
            static_cast<std::size_t>(
                std::max(sample.label, sample.classes.empty() ? std::int64_t{0} : sample.classes.front()) + 1));
    }
    result.names = predictions.classes;
    for (std::size_t label = 0; label < classes; ++label) {
        result.classes.push_back({static_cast<std::int64_t>(label), 0, 0, 0});
        if (label >= result.names.size()) result.names.push_back(std::to_string(label));
    }
    for (std::size_t row = 0; row < predictions.rows.size(); ++row) {
        const Sample& sample = predictions.rows[row];
        if (sample.classes.empty()) continue;
        ClassResult& own = result.classes[static_cast<std::size_t>(sample.label)];
        ++own.samples;
        ++result.classes[static_cast<std::size_t>(sample.classes.front())].predicted;
        if (!sample.is_wrong()) {
            ++own.correct;
            continue;
        }
        ++pairs[{sample.label, sample.classes.front()}];
        result.worst.push_back(row);
    }
    std::ranges::stable_sort(result.worst, {}, [&](std::size_t row) { return predictions.rows[row].own; });
    for (const auto& [pair, count] : pairs) {
        const ClassResult& own = result.classes[static_cast<std::size_t>(pair.first)];
        result.pairs.push_back(
            {pair.first, pair.second, count, static_cast<double>(count) / static_cast<double>(own.samples)});
    }
    std::ranges::stable_sort(result.pairs, std::greater<>(), &ConfusedPair::count);
    result.source = std::to_string(predictions.rows.size()) + " of " + std::to_string(predictions.samples) + " " +
                    predictions.split + " " + predictions.unit_many;
    const auto checkpoint = predictions.key.find("checkpoint");
    if (checkpoint == predictions.key.end()) return;
    result.weights = checkpoint->second;
    result.source += ", weights of " + result.weights;
}

void add_pairs(Confusion& result) {
    constexpr std::size_t kShown = 3;
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < std::min(kShown, result.pairs.size()); ++i) {
        const ConfusedPair& pair = result.pairs[i];
        texts.push_back(name_of(result, pair.label) + " taken for " + name_of(result, pair.taken_for) + " (" +
                        counted(pair.count, "time") + formatted(", %.0f %% of ", kPercent * pair.share) +
                        name_of(result, pair.label) + ")");
    }
    if (!texts.empty()) result.sentences.push_back("Most often confused: " + listed(texts) + ".");
}

void add_weakest(Confusion& result) {
    const ClassResult* weakest = nullptr;
    for (const ClassResult& one : result.classes) {
        if (one.samples > 0 && (weakest == nullptr || one.recall() < weakest->recall())) weakest = &one;
    }
    if (weakest == nullptr || weakest->correct == weakest->samples) return;
    result.sentences.push_back(
        "Weakest class" + (result.weights.empty() ? "" : " with " + result.weights) + ": " +
        name_of(result, weakest->label) + formatted(", recall %.0f %% (", kPercent * weakest->recall()) +
        std::to_string(weakest->correct) + " of " + std::to_string(weakest->samples) + " are recognised).");
}

void add_worst(const Predictions& predictions, Confusion& result) {
    if (result.worst.empty()) return;
    const Sample& worst = predictions.rows[result.worst.front()];
    result.sentences.push_back("Most wrong " + predictions.unit_one + ": " + short_path(worst.name) + ", " +
                               name_of(result, worst.label) + " (" + probability_text(worst.own) + "), taken for " +
                               name_of(result, worst.classes.front()) + " (" +
                               probability_text(worst.probabilities.front()) + ").");
}

/// A temperature that changes less is not worth an option. Where all answers are right, the best one is the lowest,
/// which says nothing.
void add_calibration(const Predictions& predictions, Confusion& result) {
    constexpr double kWorthIt = 0.01;
    if (predictions.calibration.size() != 2) return;
    const double before = predictions.calibration[0].error;
    const double after = predictions.calibration[1].error;
    std::string text = formatted("Its probabilities are %.1f points from its accuracy (expected calibration error)",
                                 kPercent * before);
    if (!result.worst.empty() && before - after >= kWorthIt) {
        text += formatted("; cnntrain inference --temperature %.3g makes that %.1f and the loss %.3f instead of %.3f",
                          predictions.temperature, kPercent * after, predictions.calibration[1].loss,
                          predictions.calibration[0].loss);
    }
    result.sentences.push_back(text + ".");
}

/// Adds the results on masked words of a network that predicts them.
void add_words(const Predictions& predictions, Confusion& result) {
    std::size_t words = 0;
    std::size_t right = 0;
    for (const Sequence& sequence : predictions.sequences) {
        for (const MaskedWord& word : sequence.masked) {
            ++words;
            right += !word.guesses.empty() && word.guesses.front() == word.id ? 1 : 0;
        }
    }
    if (words == 0) return;
    std::string text =
        formatted("Of %zu masked words in %zu %s ", words, predictions.sequences.size(), predictions.split.c_str()) +
        predictions.unit_many + formatted(", it guesses %zu right; they are shown below.", right);
    if (!predictions.is_real) text += " The sequences are generated: there is nothing to learn from them.";
    result.sentences.push_back(std::move(text));
}

}  // namespace

double ClassResult::recall() const {
    return samples > 0 ? static_cast<double>(correct) / static_cast<double>(samples) : kUnknown;
}

double ClassResult::precision() const {
    return predicted > 0 ? static_cast<double>(correct) / static_cast<double>(predicted) : kUnknown;
}

double ClassResult::f1() const {
    return samples + predicted > 0 ? 2 * static_cast<double>(correct) / static_cast<double>(samples + predicted)
                                   : kUnknown;
}

std::int64_t Confusion::count(std::int64_t label, std::int64_t taken_for) const {
    if (label == taken_for) return classes.at(static_cast<std::size_t>(label)).correct;
    for (const ConfusedPair& pair : pairs) {
        if (pair.label == label && pair.taken_for == taken_for) return pair.count;
    }
    return 0;
}

Confusion judge_confusion(const RunRecord& run) {
    Confusion result;
    if (run.predictions && !run.predictions->rows.empty()) {
        count_predictions(*run.predictions, result);
        add_pairs(result);
        add_weakest(result);
        add_worst(*run.predictions, result);
        add_calibration(*run.predictions, result);
        if (result.worst.empty())
            result.sentences.push_back("Nothing: all of " + result.source + " are classified correctly.");
        if (!run.predictions->is_real)
            result.sentences.push_back("The data are generated: their classes mean nothing.");
    } else if (run.predictions && !run.predictions->sequences.empty()) {
        add_words(*run.predictions, result);
    } else {
        count_table(run, result);
        add_weakest(result);
        if (!run.why_no_predictions.empty()) result.sentences.push_back(run.why_no_predictions);
        if (result.sentences.empty()) result.sentences.emplace_back("Not known: there are no predictions of samples.");
    }
    return result;
}

}  // namespace cnntrain::report
