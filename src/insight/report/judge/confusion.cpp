// Finds the classes that are taken for each other, and the samples that are most wrong.
#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "cnntrain/base/text.h"
#include "cnntrain/insight/findings.h"
#include "insight/report/percent.h"

namespace cnntrain::report {

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
