#include "cnntrain/base/rng.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cnntrain/base/error.h"

namespace cnntrain {
namespace {

TEST(NormalQuantile, HasTheTabulatedValues) {
    EXPECT_EQ(normal_quantile(0.5), 0);
    EXPECT_NEAR(normal_quantile(0.975), 1.959963984540054, 1e-14);
    EXPECT_NEAR(normal_quantile(0.025), -1.959963984540054, 1e-14);
    EXPECT_NEAR(normal_quantile(0.0025), -2.807033768343811, 1e-14);
    EXPECT_NEAR(normal_quantile(1e-9), -5.997807015007687, 1e-13);
    EXPECT_THROW(normal_quantile(0), Error);
    EXPECT_THROW(normal_quantile(1), Error);
}

TEST(NormalQuantile, IsTheInverseOfTheDistributionFunction) {
    for (const double p : {1e-12, 0.001, 0.2, 0.49, 0.51, 0.7, 0.999}) {
        EXPECT_NEAR(std::erfc(-normal_quantile(p) / std::sqrt(2.0)) / 2, p, 1e-15 + 1e-13 * p);
    }
}

TEST(NormalQuantiles, AreASymmetricSampleOfTheDistribution) {
    const std::vector<double> z = normal_quantiles(200);
    ASSERT_EQ(z.size(), 200U);
    double squares = 0;
    for (std::size_t i = 0; i < z.size(); ++i) {
        EXPECT_NEAR(z[i], -z[z.size() - 1 - i], 1e-13);
        EXPECT_TRUE(i == 0 || z[i] > z[i - 1]) << i;
        squares += z[i] * z[i];
    }
    EXPECT_NEAR(z.front(), -2.807033768343811, 1e-14);
    EXPECT_NEAR(squares / 200, 1, 0.02);  // the tails beyond the last quantiles are missing
}

}  // namespace
}  // namespace cnntrain
