// Describes exactly what ran, and what differs between runs.
#include <algorithm>
#include <cmath>
#include <set>

#include "cnntrain/base/text.h"
#include "cnntrain/insight/findings.h"

namespace cnntrain::report {

namespace {

/// Keys of arguments.json that describe the place and time of a run rather than its options.
bool is_no_option(const std::string& key) {
    static const std::set<std::string, std::less<>> keys = {"name",
                                                            "grad_scale",
                                                            "lr_scale",
                                                            "datetime",
                                                            "hostname",
                                                            "summary_str",
                                                            "logs_path",
                                                            "log_dir",
                                                            "checkpoint_path",
                                                            "restore_path",
                                                            "restoring",
                                                            "seed_specified",
                                                            "command",
                                                            "training",
                                                            "planned_iterations",
                                                            "program_version",
                                                            "save_path",
                                                            "validation_iterations",
                                                            "validation_device_iterations",
                                                            "restore_dir",
                                                            "wandb_id",
                                                            "chosen_by_number_of_photos",
                                                            "wandb_name"};
    return keys.contains(key);
}

std::string end_text(End end) {
    switch (end) {
        case End::finished:
            return "It finished.";
        case End::early:
            return "It ended early, as --early-stop asks.";
        case End::stopped:
            return "It was stopped by a signal; restore continues it.";
        case End::diverged:
            return "It ended with an error.";
        case End::going:
            return "It is still going.";
        case End::killed:
            return "It did not reach its end: it was killed, or its machine stopped.";
        case End::unknown:
            break;
    }
    return "How it ended is not recorded.";
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
    for (std::size_t i = 0; i < std::min(kShown, options.size()); ++i) {
        const std::string& value = options[i].value;
        texts.push_back(options[i].flag + " " + (value.size() > kLongest ? value.substr(0, kLongest) + "..." : value));
    }
    if (options.size() > kShown) texts.push_back(std::to_string(options.size() - kShown) + " more");
    return counted(std::ssize(options), "option") + (options.size() == 1 ? " differs" : " differ") +
           " from the defaults: " + listed(texts) + ".";
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
            if (!is_no_option(key)) keys.insert(key);
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
    const std::size_t more = names.size() > kShown ? names.size() - kShown : 0;
    names.resize(names.size() - more);
    if (more > 0) names.push_back(std::to_string(more) + " more");
    const Result own{judge_learning(runs.front()), judge_speed(runs.front())};
    for (std::size_t i = 1; i < runs.size(); ++i)
        compare_results(runs.front(), own, runs[i], {judge_learning(runs[i]), judge_speed(runs[i])}, result.sentences);
    result.sentences.push_back(names.empty() ? "Their options are the same."
                                             : "Options that differ: " + listed(names) + ".");
    compare_data(runs, result.sentences);
    return result;
}

}  // namespace cnntrain::report
