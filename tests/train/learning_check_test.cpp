#include "run/trainer.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "support/matchers.h"

namespace cnntrain::run {
namespace {

TEST(StatisticsWarning, NamesADecayForFewUpdates) {
    const std::string warning = statistics_warning(0.97, 5);
    EXPECT_THAT(warning, AllOf(HasSubstr("5 updates"), HasSubstr("--BN-decay 0.54"), HasSubstr("99 updates")));
    EXPECT_LE(std::pow(0.54, 5), 0.05);
    EXPECT_THAT(statistics_warning(0.97, 1), HasSubstr("1 update"));
}

TEST(StatisticsWarning, IsSilentWhereTheAveragesFollow) {
    EXPECT_EQ(statistics_warning(0.97, 100), "");
    EXPECT_EQ(statistics_warning(0.5, 5), "");
    EXPECT_EQ(statistics_warning(0, 1), "");
    EXPECT_EQ(statistics_warning(0.97, 0), "");
}

/// The first warning of a run of `updates`, whose loss in update i is loss(i) with noise of deviation `noise`.
std::string warning_of(
    std::int64_t updates, const std::function<double(double)>& loss, double noise, bool from_weights = false,
    const std::function<double(double)>& rate = [](double) { return 0.1; }) {
    DescentCheck check(0.1, from_weights);
    std::string warning;
    std::uint64_t random = 12345;
    for (std::int64_t i = 0; i < updates; ++i) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        const double uniform = static_cast<double>(random >> 11) / static_cast<double>(1ULL << 53);
        const double error = noise * std::sqrt(12.0) * (uniform - 0.5);
        const auto at = static_cast<double>(i);
        const std::string text = check.add(loss(at) + error, rate(at), i + 1 == updates);
        EXPECT_TRUE(text.empty() || warning.empty()) << "one line";
        if (!text.empty()) warning = text;
    }
    return warning;
}

TEST(DescentCheck, IsSilentAboutHealthyRuns) {
    const auto falls = [](double i) { return 0.5 + 1.8 * std::exp(-i / 150); };
    EXPECT_EQ(warning_of(1000, falls, 0.2), "");
    EXPECT_EQ(warning_of(90, falls, 0.2), "");
    const auto spikes = [](double i) { return 2.3 - 0.003 * i + (i < 40 ? 2 * std::sin(i / 13) : 0); };
    EXPECT_EQ(warning_of(1000, spikes, 0.1), "");
    const auto slow_start = [](double i) { return i < 1000 ? 6.9 : 6.9 - (i - 1000) / 4000; };
    const auto warm_up = [](double i) { return std::min(0.1, 0.1 * i / 10000); };
    EXPECT_EQ(warning_of(5000, slow_start, 0.05, false, warm_up), "");
    const auto trained = [](double) { return 0.05; };
    EXPECT_EQ(warning_of(1000, trained, 0.01, true), "");
}

TEST(DescentCheck, PointsOutALossThatStays) {
    const auto stays = [](double) { return 2.302; };
    EXPECT_THAT(warning_of(1000, stays, 0.05), AllOf(HasSubstr("last 40 of 200"), HasSubstr("0.01")));
    EXPECT_THAT(warning_of(100, stays, 0.05), HasSubstr("last 40 of 100"));
    EXPECT_EQ(warning_of(50, stays, 0.05), "") << "too few updates to tell";
}

TEST(DescentCheck, PointsOutALossThatRises) {
    const auto rises = [](double i) { return 2.3 + 0.02 * i; };
    EXPECT_THAT(warning_of(1000, rises, 0.1), HasSubstr("0.01"));
    EXPECT_THAT(warning_of(1000, rises, 0.1, true), HasSubstr("try a lower one"));
}

}  // namespace
}  // namespace cnntrain::run
