// Scores of predictions, computed from the predictions of a whole data set: of classes, numbers and several labels. The
// files in which run_classifier.py reports them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace cnntrain::metrics {

/// Samples of one class. The counts of all classes are enough for every score of classes below, and may be summed over
/// processes.
struct ClassCount {
    double samples = 0;
    double correct = 0;
    double predicted = 0;  // samples of any class that the network takes for this one
};

/// Samples by label and prediction; those whose label is not in 0..classes-1 are left out.
using Confusion = std::vector<std::vector<std::int64_t>>;
Confusion count_confusion(std::span<const std::int32_t> labels, std::span<const std::int32_t> predicted,
                          std::size_t classes);
std::vector<ClassCount> count_classes(const Confusion& confusion);

/// Share of correct samples; 0 without samples.
double accuracy(std::span<const ClassCount> classes);
/// Harmonic mean of precision and recall; 0 if nothing is of the class, or taken for it.
double f1(const ClassCount& count);
/// Mean of the F1 of the classes that samples have or are taken for.
double macro_f1(std::span<const ClassCount> classes);
/// F1 of the sums over the classes: with several labels, of all labels together.
double micro_f1(std::span<const ClassCount> classes);
/// Matthews correlation for any number of classes (R_K, Gorodkin 2004); 0 if all samples are of one class, or taken for
/// one.
double matthews(std::span<const ClassCount> classes);

/// Pearson correlation; 0 if one side is constant, NaN if a number is not finite. Both have the same length.
double pearson(std::span<const double> scores, std::span<const double> predicted);
/// Pearson correlation of ranks, where equal values share their mean rank.
double spearman(std::span<const double> scores, std::span<const double> predicted);

struct LabelCounts {
    std::vector<ClassCount> labels;  // for each label, the samples that have it
    double samples = 0;
    double exact = 0;  // samples all of whose labels are predicted correctly
};
/// Counts of several labels i32[N,C], each 0 or 1; samples whose first label is negative are left out.
LabelCounts count_labels(std::span<const std::int32_t> labels, std::span<const std::int32_t> predicted,
                         std::size_t classes);

/// The scores of one label, from the samples' probabilities.
struct LabelScore {
    /// Mean precision over the positives, each at the least probability down to which it is found (scikit-learn's
    /// average_precision_score); 0 without positives.
    double average_precision = 0;
    double threshold = 0;  // of the best F1, in the middle between two probabilities; `usual` unless another is better
    double best_f1 = 0;
};
/// `labels`: 0 or 1.
LabelScore score_label(std::span<const double> probabilities, std::span<const std::int32_t> labels, double usual);

/// Samples whose best classes have about the same probability.
struct ConfidenceBin {
    std::int64_t samples = 0;
    std::int64_t correct = 0;
    double confidence = 0;  // sum of the probabilities
};
/// Agreement of a classifier's probabilities with its answers (Guo et al. 2017). Logits divided by a temperature T give
/// the same answers with other probabilities.
struct Calibration {
    double loss = 0;                  // mean cross entropy
    double error = 0;                 // expected calibration error: mean difference of confidence and accuracy of bins
    std::vector<ConfidenceBin> bins;  // 15 of equal width; a confidence on a limit is in the lower one
};
/// `logits`: [N,C] of samples with valid labels; at least one.
Calibration calibration(std::span<const float> logits, std::span<const std::int32_t> labels, double temperature);
/// The T of the least loss, in [1/100, 100].
double best_temperature(std::span<const float> logits, std::span<const std::int32_t> labels);

/// eval_results.txt: "key = value" lines in alphabetical order; among them `preds`, the predictions in brackets, and
/// `confusion`, a bracket of predictions for each label, unless there is none.
std::string eval_results_text(const std::map<std::string, double>& values, std::span<const std::string> predictions,
                              const Confusion& confusion = {});
/// predict_results.txt: a header and a numbered line for each prediction.
std::string predict_results_text(std::span<const std::string> predictions);

}  // namespace cnntrain::metrics
