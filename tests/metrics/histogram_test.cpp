#include "cnntrain/run/observer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace cnntrain::metrics {
namespace {

HostTensor tensor_of(const std::vector<float>& values) {
    HostTensor tensor({DType::f32, {std::ssize(values)}});
    std::ranges::copy(values, tensor.as<float>().begin());
    return tensor;
}

TEST(Histogram, EveryElementIsInTheBinOfItsValue) {
    std::vector<float> values;
    for (int i = 0; i <= 4096; ++i)
        values.push_back(static_cast<float>(i) / 4096 - 0.25F);
    const auto histogram = histogram_of(tensor_of(values));
    ASSERT_TRUE(histogram.has_value());
    EXPECT_EQ(histogram->least, -0.25);
    EXPECT_EQ(histogram->most, 0.75);
    EXPECT_EQ(histogram->elements(), 4097);
    ASSERT_EQ(histogram->limits.size(), 512U);
    ASSERT_EQ(histogram->counts.size(), 512U);
    for (std::size_t bin = 0; bin < 512; ++bin) {
        EXPECT_DOUBLE_EQ(histogram->limits[bin], -0.25 + static_cast<double>(bin + 1) / 512);
        EXPECT_EQ(histogram->counts[bin], bin == 511 ? 9 : 8) << bin;  // the greatest element is in the last bin
    }
    double sum = 0;
    double squares = 0;
    for (const float value : values) {
        sum += static_cast<double>(value);
        squares += static_cast<double>(value) * static_cast<double>(value);
    }
    EXPECT_DOUBLE_EQ(histogram->sum, sum);
    EXPECT_DOUBLE_EQ(histogram->norm(), std::sqrt(squares));
}

TEST(Histogram, OfEqualElementsHasThemInTheMiddle) {
    const auto histogram = histogram_of(tensor_of({2, 2, 2}));
    ASSERT_TRUE(histogram.has_value());
    EXPECT_EQ(histogram->limits.front(), 1.5 + 1.0 / 512);
    EXPECT_EQ(histogram->limits.back(), 2.5);
    EXPECT_EQ(histogram->counts.at(256), 3);
    EXPECT_EQ(histogram->elements(), 3);
}

TEST(Histogram, IsNoneOfWhatIsNotFiniteOrNothing) {
    EXPECT_FALSE(histogram_of(tensor_of({1, std::numeric_limits<float>::quiet_NaN()})).has_value());
    EXPECT_FALSE(histogram_of(tensor_of({-std::numeric_limits<float>::infinity(), 1})).has_value());
    EXPECT_FALSE(histogram_of(tensor_of({})).has_value());
}

TEST(Histogram, OfTheWidestTensorHasEveryElement) {
    constexpr float kMost = std::numeric_limits<float>::max();
    const auto histogram = histogram_of(tensor_of({-kMost, 0, kMost}));
    ASSERT_TRUE(histogram.has_value());
    EXPECT_EQ(histogram->counts.front(), 1);
    EXPECT_EQ(histogram->counts.back(), 1);
    EXPECT_EQ(histogram->elements(), 3);
}

TEST(Histogram, OfNeighboursHasEveryElement) {
    const float next = std::nextafter(1.0F, 2.0F);
    const auto histogram = histogram_of(tensor_of({1, next, next}));
    ASSERT_TRUE(histogram.has_value());
    EXPECT_EQ(histogram->counts.front(), 1);
    EXPECT_EQ(histogram->counts.back(), 2);
}

}  // namespace
}  // namespace cnntrain::metrics
