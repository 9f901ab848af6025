// Schedules by the number of the update: values of the original programs.
#include "cnntrain/graph/optimiser.h"

#include <gtest/gtest.h>

#include "cnntrain/base/error.h"

namespace cnntrain::optim {
namespace {

StepRateSettings settings(StepSchedule schedule, double base, double warmup, std::vector<double> powers = {1}) {
    StepRateSettings result;
    result.schedule = schedule;
    result.base = base;
    result.warmup = warmup;
    result.powers = std::move(powers);
    return result;
}

void expect_rate(const StepRate& rate, std::int64_t update, double value) {
    EXPECT_NEAR(rate.at(update), value, 1e-12 * value) << "at " << update;
}

TEST(StepRate, PolynomialOfTheFirstPhase) {
    const StepRate rate(settings(StepSchedule::polynomial, 0.006, 2000), 7032);
    expect_rate(rate, 0, 1e-7);
    expect_rate(rate, 1, 3e-6);
    expect_rate(rate, 1000, 0.003);
    expect_rate(rate, 2000, 0.006);
    expect_rate(rate, 2001, 0.005997615262321144);
    expect_rate(rate, 7031, 1e-7);
}

TEST(StepRate, PolynomialOfTheSecondPhase) {
    const StepRate rate(settings(StepSchedule::polynomial, 0.002828, 274), 2099);
    expect_rate(rate, 275, 0.002824900821917808);
    expect_rate(rate, 2098, 1e-7);
}

TEST(StepRate, ARunThatEndsInItsWarmup) {
    const StepRate rate(settings(StepSchedule::polynomial, 0.006, 2000), 4);
    expect_rate(rate, 0, 1e-7);
    expect_rate(rate, 1, 3e-6);
    expect_rate(rate, 2, 6e-6);
    expect_rate(rate, 3, 9e-6);
}

TEST(StepRate, Powers) {
    const StepRate square(settings(StepSchedule::polynomial, 0.01, 10, {2}), 100);
    expect_rate(square, 5, 0.0025);
    expect_rate(square, 50, 0.0030864888888888892);
    expect_rate(StepRate(settings(StepSchedule::polynomial, 0.01, 10, {1, 2}), 100), 5, 0.005);
    expect_rate(StepRate(settings(StepSchedule::polynomial, 0.01, 10, {1, 2}), 100), 50, 0.0030864888888888892);
    // A list of ones is not the linear schedule, which falls to 0 one update earlier.
    const StepRate ones(settings(StepSchedule::polynomial, 0.01, 10, {1, 1}), 100);
    expect_rate(ones, 55, (0.01 - 1e-7) * 0.5 + 1e-7);
}

TEST(StepRate, Cosine) {
    const StepRate rate(settings(StepSchedule::cosine, 0.01, 10), 100);
    expect_rate(rate, 5, 0.005);
    expect_rate(rate, 55, 0.005);
    expect_rate(rate, 100, 1e-7);
}

TEST(StepRate, NaturalExponential) {
    StepRateSettings how = settings(StepSchedule::natural_exponential, 0.01, 10);
    how.decay_steps = 5;
    how.decay_rate = 0.5;
    const StepRate rate(how, 100);
    EXPECT_EQ(rate.at(0), 0);
    expect_rate(rate, 10, 0.01);
    expect_rate(rate, 14, 0.01);
    expect_rate(rate, 15, 0.01 * std::exp(-0.5));
    expect_rate(rate, 20, 0.01 * std::exp(-1.0));
}

TEST(StepRate, Custom) {
    StepRateSettings how = settings(StepSchedule::custom, 0, 0);
    how.values = {{0, 0.5}, {10, 0.25}};
    const StepRate rate(how, 100);
    EXPECT_EQ(rate.at(0), 0.5);
    EXPECT_EQ(rate.at(9), 0.5);
    EXPECT_EQ(rate.at(10), 0.25);
    EXPECT_EQ(rate.at(99), 0.25);
    how.values = {{1, 0.5}};
    EXPECT_THROW(StepRate(how, 100).at(0), Error);
    how.values = {};
    EXPECT_THROW(StepRate(how, 100), Error);
}

TEST(StepRate, WarmupIsANumberOrAShare) {
    EXPECT_EQ(StepRate(settings(StepSchedule::polynomial, 1, 0.1), 1000).warmup_updates(), 100);
    EXPECT_EQ(StepRate(settings(StepSchedule::polynomial, 1, 0.1), 4).warmup_updates(), 0);
    EXPECT_EQ(StepRate(settings(StepSchedule::polynomial, 1, 277), 4).warmup_updates(), 277);
    EXPECT_THROW(StepRate(settings(StepSchedule::polynomial, 1, 1.5), 4), Error);
    EXPECT_THROW(StepRate(settings(StepSchedule::polynomial, 1, -1), 4), Error);
    // The first update has the full rate if there is no warm-up.
    expect_rate(StepRate(settings(StepSchedule::cosine, 0.01, 0), 100), 0, 0.01);
}

TEST(LossScaling, HoldsUntilTheNextOne) {
    OptimiserSettings how;
    how.loss_scaling = 128;
    EXPECT_EQ(loss_scaling_at(how, 7), 128);
    how.loss_scaling_by_step = {{0, 1}, {5, 512}, {6, 1024}};
    EXPECT_EQ(loss_scaling_at(how, 0), 1);
    EXPECT_EQ(loss_scaling_at(how, 4), 1);
    EXPECT_EQ(loss_scaling_at(how, 5), 512);
    EXPECT_EQ(loss_scaling_at(how, 1000), 1024);
    how.loss_scaling_by_step = {{5, 512}};
    EXPECT_THROW(static_cast<void>(loss_scaling_at(how, 4)), Error);
}

}  // namespace
}  // namespace cnntrain::optim
