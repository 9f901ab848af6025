// Lines through measured times.
#include "cnntrain/parallel/communicator.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cnntrain/base/error.h"

namespace cnntrain::comm {
namespace {

TEST(LinkFit, FindsTheLineThatTimesLieOn) {
    std::vector<TimedMessage> messages;
    for (double bytes = 4; bytes < 1e8; bytes *= 4)
        messages.push_back({bytes, 1.5e-6 + bytes / 12.5e9});
    const LinkFit fit = fit_link(messages);
    EXPECT_NEAR(fit.latency_seconds, 1.5e-6, 1e-12);
    EXPECT_NEAR(fit.bytes_per_second, 12.5e9, 1e4);
    EXPECT_NEAR(fit.residual, 0, 1e-9);
}

TEST(LinkFit, CountsSmallMessagesAsMuchAsLargeOnes) {
    // Half of the messages say 1 us; a hundredth of the time of the largest one would hide that.
    const LinkFit fit = fit_link(std::vector<TimedMessage>{{4, 1e-6}, {16, 1.1e-6}, {1e6, 1.1e-4}, {4e6, 3.6e-4}});
    EXPECT_NEAR(fit.latency_seconds, 1e-6, 0.1e-6);
    EXPECT_GT(fit.residual, 0.01);
    EXPECT_LT(fit.residual, 0.15);
}

TEST(LinkFit, TheResidualIsTheRelativeDistance) {
    // No line with a latency fits better than 1.1 us for both 1 us and 1.2222... us: relative differences of 10 %.
    const std::vector<TimedMessage> messages = {{4, 1e-6}, {4, 1.1e-6 / 0.9}, {1e6, 1e-4}};
    EXPECT_NEAR(fit_link(messages).residual, std::sqrt(2 * 0.01 / 3), 0.001);
}

TEST(LinkFit, HasNoLatencyBelowZero) {
    const LinkFit fit = fit_link(std::vector<TimedMessage>{{10, 1e-6}, {20, 3e-6}});
    EXPECT_EQ(fit.latency_seconds, 0);
    EXPECT_GT(fit.bytes_per_second, 20 / 3e-6);
    EXPECT_LT(fit.bytes_per_second, 10 / 1e-6);
}

TEST(LinkFit, NeedsTimesOfTwoSizes) {
    EXPECT_THROW(fit_link({}), Error);
    EXPECT_THROW(fit_link(std::vector<TimedMessage>{{4, 1}, {4, 2}}), Error);
    EXPECT_THROW(fit_link(std::vector<TimedMessage>{{4, 0}, {8, 2}}), Error);
}

TEST(Network, WhatAddingTakesIsOfThisCentury) {
    const double seconds = adding_seconds_per_byte();
    EXPECT_GT(seconds, 1e-12);
    EXPECT_LT(seconds, 1e-7);
}

}  // namespace
}  // namespace cnntrain::comm
