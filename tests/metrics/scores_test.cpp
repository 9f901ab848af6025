#include "cnntrain/run/scores.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

namespace cnntrain::metrics {
namespace {

using Labels = std::vector<std::int32_t>;
using Numbers = std::vector<double>;

const Labels kTruth = {1, 0, 1, 1, 0, 0, 1, 0, 1, 1};
const Labels kPredicted = {1, 0, 0, 1, 1, 0, 1, 0, 1, 0};

TEST(Scores, OfTwoClasses) {
    const std::vector<ClassCount> counts = count_classes(count_confusion(kTruth, kPredicted, 2));
    EXPECT_EQ(counts[0].samples, 4);
    EXPECT_EQ(counts[0].correct, 3);
    EXPECT_EQ(counts[0].predicted, 5);
    EXPECT_DOUBLE_EQ(accuracy(counts), 0.7);
    EXPECT_DOUBLE_EQ(f1(counts[1]), 0.7272727272727273);
    EXPECT_DOUBLE_EQ(macro_f1(counts), (0.7272727272727273 + 6.0 / 9) / 2);
    EXPECT_DOUBLE_EQ(micro_f1(counts), 0.7);
    EXPECT_NEAR(matthews(counts), 0.408248290463863, 1e-15);
}

TEST(Scores, OfOneClassOnlyAndOfNothing) {
    EXPECT_EQ(matthews(count_classes(count_confusion(kTruth, Labels(kTruth.size(), 1), 2))), 0);
    EXPECT_EQ(matthews(count_classes(count_confusion(Labels(kTruth.size(), 0), kTruth, 2))), 0);
    EXPECT_EQ(f1(count_classes(count_confusion(Labels{0, 0}, Labels{0, 0}, 2))[1]), 0);
    EXPECT_EQ(macro_f1(count_classes(count_confusion(Labels{0, 0}, Labels{0, 0}, 2))), 1)
        << "the other class is nowhere";
    for (const auto score : {accuracy, macro_f1, micro_f1, matthews})
        EXPECT_EQ(score(count_classes(count_confusion(Labels{-1, 2}, Labels{0, 0}, 2))), 0);
}

/// R_K by its definition: the correlation of the one-hot vectors of labels and predictions.
TEST(Scores, MatthewsOfThreeClassesIsACorrelation) {
    const Labels labels = {0, 0, 1, 1, 1, 2, 2, 2, 2, 0};
    const Labels predicted = {0, 1, 1, 1, 2, 2, 2, 0, 2, 0};
    std::array<double, 3> sums{};
    for (std::int32_t c = 0; c < 3; ++c) {
        double mean_label = 0;
        double mean_predicted = 0;
        for (std::size_t i = 0; i < labels.size(); ++i) {
            mean_label += (labels[i] == c ? 1.0 : 0.0) / static_cast<double>(labels.size());
            mean_predicted += (predicted[i] == c ? 1.0 : 0.0) / static_cast<double>(labels.size());
        }
        for (std::size_t i = 0; i < labels.size(); ++i) {
            const double label = (labels[i] == c ? 1 : 0) - mean_label;
            const double other = (predicted[i] == c ? 1 : 0) - mean_predicted;
            sums[0] += label * other;
            sums[1] += label * label;
            sums[2] += other * other;
        }
    }
    EXPECT_NEAR(matthews(count_classes(count_confusion(labels, predicted, 3))), sums[0] / std::sqrt(sums[1] * sums[2]),
                1e-12);
}

TEST(Scores, Correlations) {
    const Numbers truth = {2.4, 5, 0, 3.2, 3.2, 1, 4.5, 4.5};
    const Numbers predicted = {2, 4.8, 0.5, 3, 3.4, 1.5, 4, 4.9};
    EXPECT_NEAR(pearson(truth, predicted), 0.9762821115730462, 1e-14);
    EXPECT_NEAR(spearman(truth, predicted), 0.9518763181059628, 1e-14);
    EXPECT_EQ(pearson(truth, Numbers(8, 0.1)), 0);
    EXPECT_EQ(spearman(Numbers(8, 1), predicted), 0);
    EXPECT_EQ(pearson(Numbers{}, Numbers{}), 0);
    const Numbers broken = {1, 2, std::nan(""), 4, 5, 6, 7, 8};
    EXPECT_TRUE(std::isnan(pearson(truth, broken)));
    EXPECT_TRUE(std::isnan(spearman(broken, predicted)));
}

TEST(Scores, OfSeveralLabels) {
    const LabelCounts counts =
        count_labels(Labels{1, 0, 1, 0, 0, 0, -1, -1, -1, 1, 1, 0}, Labels{1, 0, 1, 0, 1, 0, 1, 1, 1, 0, 1, 0}, 3);
    EXPECT_EQ(counts.samples, 3);
    EXPECT_EQ(counts.exact, 1);
    EXPECT_DOUBLE_EQ(micro_f1(counts.labels), 2.0 * 3 / (4 + 4));
    EXPECT_DOUBLE_EQ(macro_f1(counts.labels), (2.0 / 3 + 2.0 / 3 + 1) / 3);
}

/// 2000 predictions, many of them equal: numbers of scikit-learn's average_precision_score, and the best F1 that its
/// f1_score has at any of the scores.
TEST(Scores, LabelsEqualScikitLearn) {
    constexpr std::array<double, 5> kPrecision = {0.628617927840626, 0.6886833100969691, 0.6212706820172744,
                                                  0.576355030682402, 0.5689920102757923};
    constexpr std::array<double, 5> kBestF1 = {0.7361563517915309, 0.7279411764705882, 0.7033898305084746,
                                               0.7128712871287128, 0.6666666666666666};
    constexpr std::array<double, 5> kBestScore = {0.5986124876114965, 0.6461843409316155, 0.6957383548067394,
                                                  0.7413280475718533, 0.7185332011892963};
    for (int c = 0; c < 5; ++c) {
        std::vector<double> scores;
        Labels labels;
        for (int n = 0; n < 400; ++n) {
            const int k = (n * 7919 + c * 523) % 1009;
            scores.push_back(k / (c + 1) * (c + 1) / 1009.0);
            labels.push_back((n * 31 + c) % (7 + c) == 0 || (k > 600 + 50 * c && n % 3 != 0) ? 1 : 0);
        }
        const auto at = static_cast<std::size_t>(c);
        const LabelScore score = score_label(scores, labels, 0.5);
        EXPECT_NEAR(score.average_precision, kPrecision.at(at), 1e-12);
        EXPECT_NEAR(score.best_f1, kBestF1.at(at), 1e-12);
        EXPECT_LT(score.threshold, kBestScore.at(at));
        EXPECT_GT(score.threshold, kBestScore.at(at) - 0.006) << "between two scores";
    }
}

TEST(Scores, ThresholdsAreUsualUnlessAnotherIsBetter) {
    const auto scored = [](const std::vector<double>& probabilities, const Labels& labels) {
        return score_label(probabilities, labels, 0.5);
    };
    EXPECT_EQ(scored({0.9, 0.4}, {1, 0}).threshold, 0.5);
    EXPECT_DOUBLE_EQ(scored({0.4, 0.3, 0.2, 0.1}, {1, 1, 0, 0}).threshold, 0.25);
    EXPECT_EQ(scored({0.4, 0.3, 0.2, 0.1}, {1, 1, 0, 0}).best_f1, 1);
    EXPECT_EQ(scored({0.4, 0.3}, {0, 0}).threshold, 0.5);
    EXPECT_EQ(scored({0.4, 0.3}, {0, 0}).average_precision, 0);
    EXPECT_EQ(scored({0.4, 0.4}, {1, 0}).threshold, 0.2);
}

TEST(Scores, ReportsAreSortedByKey) {
    const std::vector<std::string> predictions = {"0", "1", "1"};
    EXPECT_EQ(eval_results_text({{"loss", 0.25}, {"acc", 0.7}, {"average_loss", 1e-9}, {"pearson", 1}}, predictions),
              "acc = 0.7\naverage_loss = 1e-09\nloss = 0.25\npearson = 1\npreds = [0 1 1]\n");
    const Confusion confusion = count_confusion(Labels{0, 0, 1, 2, 2, -1, 3}, Labels{0, 1, 1, 0, 2, 1, 1}, 3);
    EXPECT_EQ(eval_results_text({{"acc", 0.6}}, predictions, confusion),
              "acc = 0.6\nconfusion = [[1 1 0] [0 1 0] [1 0 1]]\npreds = [0 1 1]\n");
    EXPECT_EQ(predict_results_text(std::vector<std::string>{"neutral", "2.5"}),
              "index\tprediction\n0\tneutral\n1\t2.5\n");
}

/// Numbers of PyTorch's cross_entropy and L-BFGS on log T, and of the definition of the error in numpy, in float64.
TEST(Calibration, EqualsPyTorch) {
    constexpr int kSamples = 400;
    constexpr int kClasses = 5;
    std::vector<float> logits;
    Labels labels;
    for (int n = 0; n < kSamples; ++n) {
        for (int c = 0; c < kClasses; ++c)
            logits.push_back(static_cast<float>(6 * std::sin(0.7 * n + 1.3 * c) + 3 * std::cos(0.11 * n * (c + 1))));
        const auto best = std::max_element(logits.end() - kClasses, logits.end()) - (logits.end() - kClasses);
        labels.push_back(n % 3 == 0 ? n * n / 5 % kClasses : static_cast<std::int32_t>(best));
    }
    const double temperature = best_temperature(logits, labels);
    EXPECT_NEAR(temperature, 4.128288078715861, 1e-7);
    const Calibration before = calibration(logits, labels, 1);
    EXPECT_NEAR(before.loss, 2.2419167597661693, 1e-9);
    EXPECT_NEAR(before.error, 0.18906283179621997, 1e-9);
    const Calibration after = calibration(logits, labels, temperature);
    EXPECT_NEAR(after.loss, 1.181361389871958, 1e-9);
    EXPECT_NEAR(after.error, 0.21715009137313293, 1e-6);
    std::int64_t samples = 0;
    for (const ConfidenceBin& bin : after.bins)
        samples += bin.samples;
    EXPECT_EQ(samples, kSamples);
}

/// Logits that are always right want no temperature, those that are always wrong any.
TEST(Calibration, TemperaturesStayInTheirRange) {
    EXPECT_LT(best_temperature(std::vector<float>{3, 0, 0, 3}, Labels{0, 1}), 0.1);
    EXPECT_NEAR(best_temperature(std::vector<float>{3, 0, 0, 3}, Labels{1, 0}), 100, 1);
    EXPECT_EQ(best_temperature(std::vector<float>{1, 1, 1, 1}, Labels{0, 1}), 1);
}

}  // namespace
}  // namespace cnntrain::metrics
