// Conclusions from a run's record, as numbers and sentences. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/io.h"
#include "cnntrain/insight/run_record.h"
#include "cnntrain/run/profile.h"

namespace cnntrain::report {

inline constexpr double kPercent = 100;

/// Points in ascending order of x.
struct Curve {
    std::vector<double> x;
    std::vector<double> y;

    std::size_t size() const { return x.size(); }
    bool empty() const { return x.empty(); }
};

/// A quantity that training and validation have in common, and the columns in which tables hold it.
struct Measure {
    std::string_view title;       // "Loss"
    std::string_view training;    // column without "_batch" and "_avg"; "": none
    std::string_view validation;  // "": none
    double scale = 1;             // to what is shown
    std::string_view unit{};      // after numbers: " %"
    bool more_is_better = false;
};
/// The measures that a run has, the first loss first.
std::vector<Measure> measures_of(const RunRecord& run);
/// Name of the first column of training rows and of rates: "img_per_sec".
std::string rate_column(const RunRecord& run);

enum class Validated : std::uint8_t { weights, average };
/// Results of validations by epoch; the last value of an iteration counts.
Curve validation_curve(const RunRecord& run, const Measure& measure, Validated which = Validated::weights);
/// Means of host steps, by epoch.
Curve training_curve(const RunRecord& run, const Measure& measure);
/// Any column of the training's table.
Curve training_column(const RunRecord& run, std::string_view column);

// Learning

enum class Verdict : std::uint8_t { learned, little, none, diverged, unknown };
struct Learning {
    Verdict verdict = Verdict::unknown;
    std::optional<Measure> measure;  // by which best and last are compared
    bool by_validation = false;      // else by the training itself
    double best = kUnknown, best_epoch = kUnknown;
    double first = kUnknown, last = kUnknown, last_epoch = kUnknown;
    double chance = kUnknown;         // the accuracy of guessing, in percent
    double largest_class = kUnknown;  // the accuracy of always naming the class with the most samples
    double balanced = kUnknown;       // the best mean of the classes' accuracies, in percent
    double low = kUnknown;            // between which the best accuracy may lie, given the number of samples
    double high = kUnknown;
    double gap = kUnknown;  // by which the last training result is better than the last validation's
    bool gap_is_large = false;
    bool still_improving = false;
    std::optional<double> overfits_from;  // epoch
    std::vector<std::string> sentences;
};
Learning judge_learning(const RunRecord& run);

/// Wilson's interval: where a share lies with 95 % probability, if it was measured on so many samples.
struct Interval {
    double low = 0, high = 1;
};
Interval interval_of(double share, double samples);
/// The epoch after which the validation loss only grew while the training loss fell; empty if there is none.
std::optional<double> overfitting_epoch(const Curve& validation_loss, const Curve& training_loss);
/// True if the last third of the values is better than the third before it by more than `noise`.
bool is_still_improving(const Curve& curve, bool more_is_better, double noise);

// Speed

struct TimePart {
    std::string name;
    double seconds = 0;
};
struct Speed {
    std::optional<profile::Limit> limit;  // empty: not recorded
    std::vector<TimePart> update_parts;   // of the time in updates
    std::vector<TimePart> run_parts;      // of the whole run: updates, validation, checkpoints, compilation
    double samples_per_second = kUnknown;
    std::string unit;  // "images"
    std::vector<std::string> sentences;
};
/// Judges all updates of the run, and those that --profile measured, by profile::judge().
Speed judge_speed(const RunRecord& run);

// Confusion of classes

struct ConfusedPair {
    std::int64_t label = 0, taken_for = 0;
    std::int64_t count = 0;
    double share = 0;  // of the samples with the label
};
struct ClassResult {
    std::int64_t label = 0;
    std::int64_t samples = 0, correct = 0, predicted = 0;
    double recall() const;     // kUnknown without samples
    double precision() const;  // kUnknown if it was never predicted
    double f1() const;         // harmonic mean of both; kUnknown without samples and predictions
};
struct Confusion {
    std::vector<std::string> names;    // of the classes; numbers where there are no names
    std::vector<ClassResult> classes;  // by number
    std::vector<ConfusedPair> pairs;   // the most frequent first
    std::vector<std::size_t> worst;    // rows of the wrong samples, the least probable label first
    std::string source;                // what was counted: "1000 of 10000 validation images, ckpt-best"
    std::string weights;               // the checkpoint; "": not recorded
    std::vector<std::string> sentences;

    /// Samples of a class that were taken for another one.
    std::int64_t count(std::int64_t label, std::int64_t taken_for) const;
};
Confusion judge_confusion(const RunRecord& run);

// Description and comparison of runs

std::vector<std::string> describe_run(const RunRecord& run);
/// The data's fingerprint with the numbers of samples; "" if it is not known.
std::string data_text(const RunRecord& run);

struct Difference {
    std::string key;
    std::vector<std::string> values;  // of each run; "" where it is not recorded
};
struct Comparison {
    std::vector<Difference> options;
    std::vector<std::string> sentences;
};
Comparison compare_runs(const std::vector<RunRecord>& runs);

/// "3.2 %", "0.0512", "1234": with the digits that matter.
std::string number_text(double value, int digits = 4);
/// "47.7 %", "< 0.1 %".
std::string probability_text(double probability);
/// The last two parts of a path.
std::string short_path(std::string_view path);
/// "8.2 ms", "12.3 s", "3.4 min", "2.1 h".
std::string duration_text(double seconds);
/// "epoch 3", "epoch 2.5".
std::string epoch_text(double epoch);

// The page of one run or several: one HTML file that needs nothing else.

struct PageSettings {
    std::string written;        // date and time
    std::string version;        // of the program that writes the page
    double reload_seconds = 0;  // the page loads itself again; 0: never
};

/// Pages that would be larger have fewer pictures.
inline constexpr std::size_t kMostPageBytes = 2'000'000;

/// The page is about the first run; the others are compared with it. Error(usage) for more runs than have colours.
std::string page_of(const std::vector<RunRecord>& runs, const PageSettings& settings);
inline constexpr std::size_t kMostRuns = 6;

/// True for a page that this program has written and nobody has changed since. Pages of versions before checksums count
/// as unchanged.
bool is_page(const FileSystem& files, const std::string& path);

}  // namespace cnntrain::report
