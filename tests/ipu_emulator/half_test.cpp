#include "ipu_emulator/numerics/half.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace {

using namespace ipu_emulator;

/// An independent conversion: the nearest of all halves, the even one of two.
#if defined(__x86_64__)
#include <immintrin.h>
__attribute__((target("f16c"))) std::uint16_t f16c_half(float value) {
    return static_cast<std::uint16_t>(_mm_extract_epi16(_mm_cvtps_ph(_mm_set_ss(value), _MM_FROUND_TO_NEAREST_INT), 0));
}
__attribute__((target("f16c"))) float f16c_value(std::uint16_t bits) {
    return _mm_cvtss_f32(_mm_cvtph_ps(_mm_set1_epi16(static_cast<short>(bits))));
}

bool has_f16c() {
    return __builtin_cpu_supports("avx2");
}

void expect_as_f16c(float value) {
    ASSERT_EQ(ieee_half(value), f16c_half(value)) << std::hexfloat << value;
}

TEST(Half, AllValuesAsF16C) {
    if (!has_f16c()) GTEST_SKIP() << "needs the F16C instructions";
    for (unsigned bits = 0; bits < 65536; ++bits) {
        const auto half = static_cast<std::uint16_t>(bits);
        ASSERT_EQ(std::bit_cast<std::uint32_t>(half_value(half)), std::bit_cast<std::uint32_t>(f16c_value(half)))
            << bits;
        expect_as_f16c(half_value(half));
    }
}

TEST(Half, AllMidpointsAndTheirNeighboursAsF16C) {
    if (!has_f16c()) GTEST_SKIP() << "needs the F16C instructions";
    for (unsigned bits = 0; bits < 0x7c00; ++bits) {
        const float low = half_value(static_cast<std::uint16_t>(bits));
        const float high = bits == 0x7bff ? 65536.0f : half_value(static_cast<std::uint16_t>(bits + 1));
        const float middle = low + (high - low) / 2;
        for (const float value : {middle, std::nextafter(middle, 0.0f), std::nextafter(middle, 1e9f)}) {
            expect_as_f16c(value);
            expect_as_f16c(-value);
        }
    }
    for (const float value : {1e9f, std::numeric_limits<float>::infinity(), std::numeric_limits<float>::quiet_NaN(),
                              std::numeric_limits<float>::denorm_min(), 0x1p-25f, 0x1.000002p-25f})
        expect_as_f16c(value);
}
#endif

TEST(Half, OverflowSaturatesOrIsNan) {
    EXPECT_EQ(half_value(nearest_half(65519.0f, Overflow::nan)), 65504.0f);
    EXPECT_EQ(half_value(nearest_half(-1e6f, Overflow::saturate)), -65504.0f);
    EXPECT_TRUE(std::isnan(half_value(nearest_half(65520.0f, Overflow::nan))));
    EXPECT_TRUE(std::isnan(half_value(stochastic_half(1e6f, 0, Overflow::nan))));
    EXPECT_EQ(half_value(stochastic_half(1e6f, 0, Overflow::saturate)), 65504.0f);
    EXPECT_EQ(half_value(stochastic_half(65535.0f, 0x1fff, Overflow::saturate)), 65504.0f);
    EXPECT_EQ(half_value(stochastic_half(65505.0f, 0, Overflow::nan)), 65504.0f);
}

TEST(StochasticRounding, ExactValuesNeverMove) {
    for (unsigned bits = 0; bits < 0x7c00; ++bits) {
        for (const std::uint32_t random : {0u, 1u, 0x1fffu, 0x1fffffu, 0xffffffffu}) {
            const auto half = static_cast<std::uint16_t>(bits);
            ASSERT_EQ(stochastic_half(half_value(half), random, Overflow::nan), half);
            ASSERT_EQ(stochastic_half(-half_value(half), random, Overflow::nan), half | 0x8000);
        }
    }
}

/// Mean and variance of rounding `value` 400 000 times, against p(1 - p) of its two neighbours.
void expect_unbiased(float value) {
    const std::size_t count = 400000;
    std::vector<float> values(count, value);
    std::vector<std::uint16_t> halves(count);
    to_stochastic_halves(values.data(), halves.data(), count, Overflow::nan, 0x123456789abcdef, 0);
    const float low = half_value(stochastic_half(value, 0, Overflow::nan));
    const float high = half_value(static_cast<std::uint16_t>(stochastic_half(value, 0, Overflow::nan) + 1));
    const double p = (std::fabs(value) - std::fabs(low)) / (std::fabs(high) - std::fabs(low));
    double ups = 0;
    for (const std::uint16_t half : halves) {
        ASSERT_TRUE(half_value(half) == low || half_value(half) == high) << value;
        ups += half_value(half) == high ? 1 : 0;
    }
    const double deviation = std::sqrt(p * (1 - p) / count);
    EXPECT_NEAR(ups / count, p, 5 * deviation) << value;
    const double share = ups / count;
    EXPECT_NEAR(share * (1 - share), p * (1 - p), 5 * deviation) << value;
}

TEST(StochasticRounding, MeanAndVarianceAreTheFormulas) {
    for (const float value : {1.0003f, -3.1415927f, 1000.123f, 0.1f, 6.2e-5f, 3e-6f, -2e-8f, 60000.5f})
        expect_unbiased(value);
}

TEST(StochasticRounding, VectorsAndPlainCodeGiveTheSameBits) {
    if (!has_vectors()) GTEST_SKIP() << "needs AVX2 and F16C";
    std::vector<float> values;
    for (std::uint32_t bits = 0; bits < 0xffff0000u; bits += 65521)
        values.push_back(std::bit_cast<float>(bits));
    const std::size_t n = values.size();
    std::vector<std::uint16_t> fast(n), plain(n), fast_nearest(n), plain_nearest(n);
    for (const Overflow overflow : {Overflow::saturate, Overflow::nan}) {
        to_stochastic_halves(values.data(), fast.data(), n, overflow, 99, 5);
        to_nearest_halves(values.data(), fast_nearest.data(), n, overflow);
        use_plain_code(true);
        to_stochastic_halves(values.data(), plain.data(), n, overflow, 99, 5);
        to_nearest_halves(values.data(), plain_nearest.data(), n, overflow);
        use_plain_code(false);
        for (std::size_t i = 0; i < n; ++i) {
            if (std::isnan(half_value(fast[i])) && std::isnan(half_value(plain[i]))) continue;
            ASSERT_EQ(fast[i], plain[i]) << std::hexfloat << values[i];
            ASSERT_EQ(fast_nearest[i], plain_nearest[i]) << std::hexfloat << values[i];
        }
    }
}

TEST(StochasticRounding, OverflowIsReported) {
    const std::vector<float> values{1, 2, 3, 4, 5, 6, 7, 70000, 9};
    std::vector<std::uint16_t> halves(values.size());
    EXPECT_TRUE(to_nearest_halves(values.data(), halves.data(), 9, Overflow::nan));
    EXPECT_FALSE(to_nearest_halves(values.data(), halves.data(), 7, Overflow::nan));
    EXPECT_TRUE(to_stochastic_halves(values.data(), halves.data(), 8, Overflow::nan, 1, 0));
    EXPECT_FALSE(to_stochastic_halves(values.data(), halves.data(), 7, Overflow::nan, 1, 0));
}

}  // namespace
