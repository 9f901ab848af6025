// The expected maximum against known values and against drawn numbers.
#include "insight/plan/processes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "cnntrain/base/error.h"

namespace cnntrain::plan {
namespace {

TEST(ExpectedMaximum, HasItsKnownValues) {
    EXPECT_NEAR(expected_maximum(1), 0, 1e-12);
    EXPECT_NEAR(expected_maximum(2), std::numbers::inv_sqrtpi, 1e-12);
    EXPECT_NEAR(expected_maximum(3), 1.5 * std::numbers::inv_sqrtpi, 1e-12);
    // Harter 1961, "Expected values of normal order statistics", Biometrika 48.
    EXPECT_NEAR(expected_maximum(4), 1.02938, 1e-5);
    EXPECT_NEAR(expected_maximum(10), 1.53875, 1e-5);
    EXPECT_NEAR(expected_maximum(100), 2.50759, 1e-5);
    for (std::int64_t count = 1; count < 1'000'000; count *= 2)
        EXPECT_GT(expected_maximum(2 * count), expected_maximum(count));
    EXPECT_THROW(expected_maximum(0), Error);
}

TEST(ExpectedMaximum, IsTheMeanOfDrawnMaxima) {
    std::mt19937_64 random(3);
    std::normal_distribution<double> normal;
    for (const int count : {2, 7, 64}) {
        constexpr int kDraws = 20'000;
        double sum = 0;
        for (int draw = 0; draw < kDraws; ++draw) {
            double most = normal(random);
            for (int i = 1; i < count; ++i)
                most = std::max(most, normal(random));
            sum += most;
        }
        EXPECT_NEAR(expected_maximum(count), sum / kDraws, 0.03) << count;
    }
}

TEST(RelativeDeviation, IsThatOfTheSamples) {
    EXPECT_DOUBLE_EQ(relative_deviation(std::vector<double>{8, 12}), std::sqrt(8.0) / 10);
    EXPECT_EQ(relative_deviation(std::vector<double>{3, 3, 3}), 0);
    EXPECT_EQ(relative_deviation(std::vector<double>{3}), 0);
}

}  // namespace
}  // namespace cnntrain::plan
