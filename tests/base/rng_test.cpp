#include "cnntrain/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "cnntrain/base/error.h"

namespace cnntrain {
namespace {

constexpr std::uint32_t kOnes = 0xffffffff;
constexpr int kCount = 40000;

using Block = std::array<std::uint32_t, 4>;

// The known answers that Random123 publishes for philox4x32-10.
TEST(Philox, KnownAnswers) {
    EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}), (Block{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
    EXPECT_EQ(philox4x32({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
              (Block{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
    EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
              (Block{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, IsAFunctionOfItsFourNumbers) {
    const auto first = [](std::uint64_t seed, RngStream stream, std::uint32_t epoch, std::uint64_t index) {
        return Rng(seed, stream, epoch, index).next_u64();
    };
    const std::uint64_t value = first(5, RngStream::crop, 2, 9);
    EXPECT_EQ(first(5, RngStream::crop, 2, 9), value);
    std::set<std::uint64_t> seen = {value};
    EXPECT_TRUE(seen.insert(first(6, RngStream::crop, 2, 9)).second);
    EXPECT_TRUE(seen.insert(first(5 + (1ull << 32), RngStream::crop, 2, 9)).second);
    EXPECT_TRUE(seen.insert(first(5, RngStream::flip, 2, 9)).second);
    EXPECT_TRUE(seen.insert(first(5, RngStream::crop, 3, 9)).second);
    EXPECT_TRUE(seen.insert(first(5, RngStream::crop, 2, 10)).second);
    EXPECT_TRUE(seen.insert(first(5, RngStream::crop, 2, 9 + (1ull << 32))).second);
}

TEST(Rng, UniformStaysInRangeAndFillsIt) {
    Rng rng(1, RngStream::test);
    double sum = 0;
    double least = 1;
    double most = 0;
    for (int i = 0; i < kCount; ++i) {
        const double value = rng.uniform();
        ASSERT_GE(value, 0);
        ASSERT_LT(value, 1);
        sum += value;
        least = std::min(least, value);
        most = std::max(most, value);
    }
    EXPECT_NEAR(sum / kCount, 0.5, 0.01);
    EXPECT_LT(least, 0.001);
    EXPECT_GT(most, 0.999);
    const double scaled = Rng(1, RngStream::test).uniform(-3, -1);
    EXPECT_DOUBLE_EQ(scaled, -3 + 2 * Rng(1, RngStream::test).uniform());
}

TEST(Rng, IntegersAreInRangeAndEven) {
    Rng rng(2, RngStream::test);
    std::array<int, 7> counts{};
    for (int i = 0; i < 14000; ++i)
        ++counts.at(static_cast<std::size_t>(rng.integer(-3, 4) + 3));
    for (const int count : counts)
        EXPECT_NEAR(count, 2000, 200);
    EXPECT_EQ(rng.integer(5, 6), 5);
    EXPECT_THROW(rng.integer(5, 5), Error);
    for (int i = 0; i < 100; ++i)
        rng.integer(INT64_MIN, INT64_MAX);
}

TEST(Rng, NormalMomentsAndTruncation) {
    Rng rng(3, RngStream::test);
    double sum = 0;
    double squares = 0;
    for (int i = 0; i < kCount; ++i) {
        const double value = rng.normal();
        sum += value;
        squares += value * value;
    }
    EXPECT_NEAR(sum / kCount, 0, 0.02);
    EXPECT_NEAR(squares / kCount, 1, 0.03);

    squares = 0;
    for (int i = 0; i < kCount; ++i) {
        const double value = rng.truncated_normal();
        ASSERT_LE(std::fabs(value), 2);
        squares += value * value;
    }
    // The standard deviation by which graph::Initialiser divides.
    EXPECT_NEAR(std::sqrt(squares / kCount), 0.87962566103423978, 0.01);
}

TEST(Rng, ShuffledOrderIsAPermutationPerEpoch) {
    const auto order = shuffled_order(7, 0, 1000);
    EXPECT_EQ(order, shuffled_order(7, 0, 1000));
    EXPECT_NE(order, shuffled_order(7, 1, 1000));
    EXPECT_NE(order, shuffled_order(8, 0, 1000));
    auto sorted = order;
    std::ranges::sort(sorted);
    for (std::uint32_t i = 0; i < 1000; ++i)
        ASSERT_EQ(sorted[i], i);
    EXPECT_TRUE(shuffled_order(7, 0, 0).empty());
}

TEST(Rng, ShufflePutsEveryItemEverywhere) {
    std::array<std::array<int, 4>, 4> counts{};
    for (std::uint32_t epoch = 0; epoch < 4000; ++epoch) {
        const auto order = shuffled_order(11, epoch, 4);
        for (std::size_t i = 0; i < 4; ++i)
            ++counts[i].at(order[i]);
    }
    for (const auto& row : counts) {
        for (const int count : row)
            EXPECT_NEAR(count, 1000, 120);
    }
}

}  // namespace
}  // namespace cnntrain
