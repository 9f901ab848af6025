// The solver of a last layer: against scikit-learn (tools/golden/make_head_golden.py), and by itself.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <fstream>
#include <new>
#include <nlohmann/json.hpp>
#include <numeric>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "golden/formula.h"
#include "run/features/linear_head.h"
#include "run/features/neighbours.h"

namespace cnntrain::run {
namespace {

using nlohmann::json;

const json& golden_fits() {
    static const json document = [] {
        std::ifstream file(CNNTRAIN_SOURCE_DIR "/tests/golden/linear_head.json");
        return json::parse(file);
    }();
    return document;
}

/// Returns the rows of features() in the generator.
FeatureRows golden_rows() {
    constexpr std::int64_t kHidden = 8;
    const std::int64_t count = golden_fits().at("rows");
    const std::int64_t classes = golden_fits().at("classes");
    FeatureRows rows;
    rows.width = golden_fits().at("width");
    const golden::Stream means("head/means"), mixing("head/mixing"), hidden("head/hidden"), noise("head/noise");
    for (std::int64_t r = 0; r < count; ++r) {
        const std::int64_t label = r * 7 % 11 % classes;
        rows.labels.push_back(static_cast<std::int32_t>(label));
        for (std::int64_t k = 0; k < rows.width; ++k) {
            double value = 0.6 * means.noise(label * rows.width + k) + noise.noise(r * rows.width + k);
            for (std::int64_t h = 0; h < kHidden; ++h)
                value += hidden.noise(r * kHidden + h) * mixing.noise(h * rows.width + k);
            rows.values.push_back(k == rows.width / 2 ? 0.25F : static_cast<float>(std::max(value, 0.0)));
        }
    }
    return rows;
}

FeatureRows standardised(FeatureRows rows) {
    standardisation_of(rows).apply(rows);
    return rows;
}

double squares(const LinearHead& head) {
    return std::inner_product(head.weight.begin(), head.weight.end(), head.weight.begin(), 0.0);
}

TEST(LinearHead, AgreesWithScikitLearn) {
    const FeatureRows rows = standardised(golden_rows());
    for (const json& expected : golden_fits().at("fits")) {
        const double strength = expected.at("strength");
        const Fit fit = fit_head(rows, golden_fits().at("classes"), {.strength = strength});
        EXPECT_TRUE(fit.converged) << strength;
        EXPECT_NEAR(fit.objective, expected.at("objective").get<double>(), 1e-6) << strength;
        const HeadScore found = score(fit.head, rows, 1);
        EXPECT_NEAR(found.loss, expected.at("loss").get<double>(), 1e-4) << strength;
        EXPECT_NEAR(found.accuracy, expected.at("accuracy").get<double>(), 1e-12) << strength;
        EXPECT_NEAR(fit.objective, found.loss + strength / 2 * squares(fit.head), 1e-6) << strength;
        const double largest =
            std::abs(*std::ranges::max_element(fit.head.weight, {}, [](double w) { return std::abs(w); }));
        EXPECT_NEAR(largest, expected.at("largest_weight").get<double>(), 1e-3 * largest) << strength;
        for (std::size_t c = 0; c < fit.head.bias.size(); ++c)
            EXPECT_NEAR(fit.head.bias[c], expected.at("biases").at(c).get<double>(), 2e-3) << strength;
    }
}

/// A regression for each label is one of two classes with half of the strength: the weights of its two classes are half
/// of the label's, with opposite signs. Those of two classes agree with scikit-learn.
TEST(LinearHead, SeveralLabelsHaveARegressionEach) {
    constexpr double kStrength = 0.02;
    const FeatureRows rows = standardised(golden_rows());
    FeatureRows several = rows;
    several.labels_each = 3;
    several.labels.clear();
    for (const std::int32_t label : rows.labels) {
        for (std::int32_t c = 0; c < 3; ++c)
            several.labels.push_back(label % (c + 2) == 0 ? 1 : 0);
    }
    const Fit fit = fit_head(several, 3, {.strength = kStrength});
    EXPECT_TRUE(fit.converged);
    EXPECT_EQ(fit.head.weight, fit_head(several, 3, {.strength = kStrength, .threads = 3}).head.weight);
    double objective = 0;
    double right = 0;
    for (std::int64_t c = 0; c < 3; ++c) {
        FeatureRows alone = rows;
        for (std::int64_t r = 0; r < rows.count(); ++r)
            alone.labels[static_cast<std::size_t>(r)] = several.labels_of(r)[static_cast<std::size_t>(c)];
        const Fit one = fit_head(alone, 2, {.strength = 2 * kStrength});
        objective += one.objective;
        right += score(one.head, alone, 1).accuracy / 3;
        for (std::int64_t k = 0; k < rows.width; ++k) {
            const double weight = fit.head.weight[static_cast<std::size_t>(c * rows.width + k)];
            const double twin = 2 * one.head.weight[static_cast<std::size_t>(rows.width + k)];
            EXPECT_NEAR(weight, twin, 2e-3) << c << ", " << k;
        }
    }
    EXPECT_NEAR(fit.objective, objective, 1e-6);
    EXPECT_NEAR(score(fit.head, several, 1).accuracy, right, 2e-3);
    EXPECT_EQ(chosen_rows(several, std::vector<std::int64_t>{4}).labels.size(), 3U);
}

TEST(LinearHead, DoesNotDependOnThreads) {
    const FeatureRows rows = standardised(golden_rows());
    const Fit one = fit_head(rows, 6, {.strength = 0.01, .threads = 1});
    const Fit five = fit_head(rows, 6, {.strength = 0.01, .threads = 5});
    EXPECT_EQ(one.head.weight, five.head.weight);
    EXPECT_EQ(one.head.bias, five.head.bias);
    EXPECT_EQ(probabilities(one.head, rows, 1), probabilities(one.head, rows, 5));
}

TEST(LinearHead, StartsFromAnotherHead) {
    const FeatureRows rows = standardised(golden_rows());
    const Fit from_zero = fit_head(rows, 6, {.strength = 0.01});
    const Fit again = fit_head(rows, 6, {.strength = 0.01}, &from_zero.head);
    EXPECT_LT(again.iterations, from_zero.iterations / 4);
    EXPECT_NEAR(again.objective, from_zero.objective, 1e-6);
}

TEST(LinearHead, WorksOnFeaturesThatAreNotStandardised) {
    const FeatureRows plain = golden_rows();
    const Standardisation how = standardisation_of(plain);
    EXPECT_EQ(how.inverse_deviation.at(24), 0);  // this feature never changes
    const FeatureRows rows = standardised(plain);
    const LinearHead head = fit_head(rows, 6, {.strength = 0.01}).head;
    const std::vector<float> expected = probabilities(head, rows, 1);
    const std::vector<float> found = probabilities(for_plain_features(head, how), plain, 1);
    for (std::size_t i = 0; i < expected.size(); ++i)
        ASSERT_NEAR(expected[i], found[i], 1e-5);
}

TEST(LinearHead, AClassWithoutRowsGetsNoProbability) {
    FeatureRows rows = standardised(golden_rows());
    for (std::int32_t& label : rows.labels)
        label = label == 0 ? 2 : label;  // of 0..7, 1..5 have rows
    const LinearHead head = fit_head(rows, 8, {.strength = 0.1}).head;
    const std::vector<float> all = probabilities(head, rows, 1);
    for (std::size_t r = 0; r < rows.labels.size(); ++r) {
        for (const std::size_t absent : {0U, 6U, 7U})
            ASSERT_LT(all[r * 8 + absent], 1e-3);
    }
    EXPECT_GT(score(head, rows, 1).accuracy, 0.85);
}

TEST(LinearHead, ChoosesTheStrengthOfTheLeastHeldOutLoss) {
    const FeatureRows rows = standardised(golden_rows());
    const std::vector<std::int32_t> part = stratified_parts(rows.labels, 4, 3);
    std::vector<std::int64_t> fitted, held_out;
    for (std::int64_t r = 0; r < rows.count(); ++r)
        (part[static_cast<std::size_t>(r)] == 0 ? held_out : fitted).push_back(r);
    const FeatureRows other = chosen_rows(rows, held_out);
    const ChosenStrength chosen = choose_strength(chosen_rows(rows, fitted), other, 6, {});
    const auto least = std::ranges::min_element(chosen.tried, {}, &TriedStrength::held_out_loss);
    EXPECT_EQ(chosen.strength, least->strength);
    EXPECT_NEAR(score(chosen.head, other, 1).loss, least->held_out_loss, 1e-9);
    EXPECT_GE(chosen.tried.size(), 4);
    EXPECT_EQ(chosen.tried.front().strength, 100);
    EXPECT_EQ(chosen.tried.end() - least, 3);  // two tries without a fall end the search
}

TEST(LinearHead, StopsOnRequest) {
    const FeatureRows rows = standardised(golden_rows());
    EXPECT_THROW(fit_head(rows, 6, {.strength = 0.001, .stop_requested = [] { return true; }}), Interrupted);
}

TEST(StratifiedParts, HaveAShareOfEachClass) {
    std::vector<std::int32_t> labels;
    for (int i = 0; i < 103; ++i)
        labels.push_back(i % 10 == 9 ? -2 : i % 3);
    const std::vector<std::int32_t> part = stratified_parts(labels, 5, 1);
    std::map<std::pair<std::int32_t, std::int32_t>, int> counts;
    std::map<std::int32_t, int> sizes;
    for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] < 0) continue;
        ++counts[{labels[i], part[i]}];
        ++sizes[part[i]];
    }
    ASSERT_EQ(counts.size(), 15);
    for (const auto& [key, count] : counts)
        EXPECT_NEAR(count, 93.0 / 15, 1) << key.first << " " << key.second;
    for (const auto& [number, size] : sizes)
        EXPECT_NEAR(size, 93.0 / 5, 1) << number;
    EXPECT_EQ(part, stratified_parts(labels, 5, 1));
    EXPECT_NE(part, stratified_parts(labels, 5, 2));
}

TEST(Minimise, FindsTheMinimumOfRosenbrocksFunction) {
    const SmoothFunction rosenbrock = [](std::span<const double> at, std::span<double> gradient) {
        const double a = 1 - at[0];
        const double b = at[1] - at[0] * at[0];
        gradient[0] = -2 * a - 400 * at[0] * b;
        gradient[1] = 200 * b;
        return a * a + 100 * b * b;
    };
    const Minimum minimum = minimise(rosenbrock, {-1.2, 1}, {.gradient_tolerance = 1e-8});
    EXPECT_TRUE(minimum.converged);
    EXPECT_NEAR(minimum.at[0], 1, 1e-7);
    EXPECT_NEAR(minimum.at[1], 1, 1e-7);
    EXPECT_LT(minimum.iterations, 60);
}

TEST(Minimise, EndsWhereItMayGoNoFurther) {
    const SmoothFunction slope = [](std::span<const double> at, std::span<double> gradient) {
        gradient[0] = 1;
        return at[0];
    };
    EXPECT_FALSE(minimise(slope, {0}, {.value_tolerance = 0, .most_iterations = 5}).converged);
    const SmoothFunction broken = [](std::span<const double> at, std::span<double> gradient) {
        gradient[0] = -1;
        return at[0] == 0 ? 1 : std::nan("");
    };
    const Minimum minimum = minimise(broken, {0}, {});
    EXPECT_EQ(minimum.at[0], 0);
    EXPECT_FALSE(minimum.converged);
}

/// Tasks allocate memory, and products may. An exception in a thread of its own would end the process.
TEST(Tasks, ThatThrowEndAllWithTheirException) {
    for (const int threads : {1, 3}) {
        std::atomic<int> begun = 0;
        EXPECT_THROW(for_each_task(1000, threads,
                                   [&](std::int64_t) {
                                       ++begun;
                                       throw std::bad_alloc();
                                   }),
                     std::bad_alloc);
        EXPECT_GE(begun, 1);
        EXPECT_LE(begun, threads);
    }
}

TEST(Products, AreThoseOfPlainLoops) {
    for (const std::int64_t width : {1, 7, 16, 37}) {
        const std::int64_t rows = 9, columns = 5;
        const golden::Stream left("left"), right("right");
        std::vector<float> a, b;
        for (std::int64_t i = 0; i < rows * width; ++i)
            a.push_back(static_cast<float>(left.noise(i)));
        for (std::int64_t i = 0; i < columns * width; ++i)
            b.push_back(static_cast<float>(right.noise(i)));
        std::vector<float> dots(static_cast<std::size_t>(rows * columns));
        backend::dot_rows(a.data(), rows, b.data(), columns, width, dots.data());
        std::vector<float> sums = b;
        backend::add_weighted_rows(dots.data(), a.data(), rows, columns, width, sums.data());
        for (std::int64_t c = 0; c < columns; ++c) {
            for (std::int64_t r = 0; r < rows; ++r) {
                const double expected =
                    std::inner_product(a.begin() + r * width, a.begin() + (r + 1) * width, b.begin() + c * width, 0.0);
                EXPECT_NEAR(dots[static_cast<std::size_t>(r * columns + c)], expected, 1e-5);
            }
            for (std::int64_t k = 0; k < width; ++k) {
                double expected = b[static_cast<std::size_t>(c * width + k)];
                for (std::int64_t r = 0; r < rows; ++r) {
                    expected += double{dots[static_cast<std::size_t>(r * columns + c)]} *
                                a[static_cast<std::size_t>(r * width + k)];
                }
                EXPECT_NEAR(sums[static_cast<std::size_t>(c * width + k)], expected, 1e-4);
            }
        }
    }
}

TEST(Neighbours, AreTheNearestRows) {
    FeatureRows rows = golden_rows();
    const Directions directions(rows);
    directions.apply(rows);
    for (const bool leave_out_itself : {false, true}) {
        const auto found = nearest(rows, rows, 5, leave_out_itself, 1);
        EXPECT_EQ(found.size(), 240);
        for (const std::int64_t r : {0, 63, 64, 239}) {
            std::vector<Neighbour> all;
            for (std::int64_t other = 0; other < rows.count(); ++other) {
                if (leave_out_itself && other == r) continue;
                const double cosine = std::inner_product(rows.row(r), rows.row(r) + rows.width, rows.row(other), 0.0);
                all.push_back({other, static_cast<float>(cosine)});
            }
            std::ranges::sort(all, std::greater<>(), &Neighbour::cosine);
            for (std::size_t i = 0; i < 5; ++i) {
                EXPECT_EQ(found[static_cast<std::size_t>(r)][i].row, all[i].row);
                EXPECT_NEAR(found[static_cast<std::size_t>(r)][i].cosine, all[i].cosine, 1e-5);
            }
            if (!leave_out_itself) {
                EXPECT_EQ(found[static_cast<std::size_t>(r)][0].row, r);
            }
        }
        const auto parallel = nearest(rows, rows, 5, leave_out_itself, 4);
        for (std::size_t r = 0; r < found.size(); ++r) {
            for (std::size_t i = 0; i < 5; ++i)
                ASSERT_EQ(found[r][i].row, parallel[r][i].row);
        }
    }
}

}  // namespace
}  // namespace cnntrain::run
