#include "cnntrain/graph/optimiser.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cnntrain/base/error.h"

namespace cnntrain::optim {
namespace {

LearningRateSettings cifar_stepped() {
    LearningRateSettings settings;
    settings.schedule = LrSchedule::stepped;
    settings.stepped_decay = 0.1;
    settings.stepped_fractions = {0.5, 0.75, 0.875};
    return settings;
}

LearningRateSettings exponential() {
    LearningRateSettings settings;
    settings.schedule = LrSchedule::exponential;
    settings.exponential_decay_rate = 0.97;
    settings.exponential_drops = 146;
    return settings;
}

// Ten epochs of CIFAR-10 in batches of 32, 97 iterations a host step: lr0 = 2^-6 * 32.
TEST(Stepped, FirstAndLastRateOfTheCifarRun) {
    const LearningRate rate(cifar_stepped(), 0.5, 15625, 10);
    EXPECT_EQ(rate.at(48), 0.5);
    EXPECT_NEAR(rate.at(15621), 0.0005, 1e-12);
}

TEST(Stepped, DropsAfterEachPointWhereverItIsAsked) {
    const LearningRate rate(cifar_stepped(), 0.5, 15625, 10);
    EXPECT_EQ(rate.at(7812), 0.5);
    EXPECT_NEAR(rate.at(7813), 0.05, 1e-12);
    EXPECT_NEAR(rate.at(11718), 0.05, 1e-12);
    EXPECT_NEAR(rate.at(11719), 0.005, 1e-12);
    EXPECT_NEAR(rate.at(13671), 0.005, 1e-12);
    EXPECT_NEAR(rate.at(13672), 0.0005, 1e-12);
}

TEST(Stepped, WarmUpIsLinear) {
    LearningRateSettings settings = cifar_stepped();
    settings.warmup_epochs = 5;
    const LearningRate rate(settings, 0.5, 15625, 160);
    EXPECT_EQ(rate.warmup_iterations(), 488);
    EXPECT_EQ(rate.at(0), 0);
    EXPECT_DOUBLE_EQ(rate.at(122), 0.125);
    EXPECT_DOUBLE_EQ(rate.at(487), 0.5 * 487 / 488);
    EXPECT_EQ(rate.at(488), 0.5);
}

TEST(Cosine, Vectors) {
    LearningRateSettings settings;
    settings.schedule = LrSchedule::cosine;
    settings.warmup_epochs = 5;
    const LearningRate rate(settings, std::exp2(-13) * 16384, 7819, 100);
    EXPECT_EQ(rate.warmup_iterations(), 390);
    EXPECT_EQ(rate.at(0), 0);
    EXPECT_NEAR(rate.at(1), 0.005128, 5e-7);
    EXPECT_NEAR(rate.at(389), 1.982714, 5e-7);
    EXPECT_NEAR(rate.at(390), 1.987748, 5e-7);
    EXPECT_NEAR(rate.at(3909), 1.000201, 5e-7);
    EXPECT_NEAR(rate.at(7819), 0, 5e-7);
}

TEST(Polynomial, Vectors) {
    LearningRateSettings settings;
    settings.schedule = LrSchedule::polynomial;
    settings.warmup_epochs = 5;
    settings.polynomial_power = 2;
    settings.polynomial_end = 1e-4;
    const LearningRate rate(settings, 3.824, 26690, 40);
    EXPECT_EQ(rate.warmup_iterations(), 3336);
    EXPECT_NEAR(rate.at(66), 0.075655, 5e-7);
    EXPECT_NEAR(rate.at(3336), 3.824, 5e-7);
    EXPECT_NEAR(rate.at(3337), 3.823673, 5e-7);
    EXPECT_NEAR(rate.at(13345), 1.248694, 5e-7);
    EXPECT_NEAR(rate.at(26690), 0.0001, 1e-12);
    EXPECT_EQ(rate.at(30000), rate.at(26690));
}

TEST(Polynomial, EndIsARatioUnlessGiven) {
    LearningRateSettings settings;
    settings.schedule = LrSchedule::polynomial;
    settings.polynomial_power = 1;
    settings.polynomial_end_ratio = 0.01;
    const LearningRate rate(settings, 2, 100, 10);
    EXPECT_EQ(rate.at(0), 2);
    EXPECT_DOUBLE_EQ(rate.at(50), 1.01);
    EXPECT_DOUBLE_EQ(rate.at(100), 0.02);
}

TEST(Exponential, DropsAreSpreadEvenly) {
    // EfficientNet-B4, one drop each 350/146 epochs of 1668.18 iterations.
    const LearningRate rate(exponential(), 0.046875, 583865, 350);
    const double per_drop = 583865.0 / 146;
    EXPECT_EQ(rate.at(0), 0.046875);
    EXPECT_EQ(rate.at(static_cast<std::int64_t>(per_drop)), 0.046875);
    EXPECT_NEAR(rate.at(static_cast<std::int64_t>(per_drop) + 1), 0.046875 * 0.97, 1e-12);
    EXPECT_NEAR(rate.at(static_cast<std::int64_t>(10.5 * per_drop)), 0.046875 * std::pow(0.97, 10), 1e-12);
}

TEST(Exponential, WarmUpEndsBetweenIterations) {
    LearningRateSettings settings = exponential();
    settings.warmup_epochs = 5;
    const LearningRate rate(settings, 1, 583865, 350);
    EXPECT_NEAR(rate.warmup_iterations(), 8340.93, 0.01);
    EXPECT_NEAR(rate.at(1000), 1000 / 8340.9286, 1e-6);  // before the first drop
}

/// gradual_warmup_then_dec(0.1, 260, 4.8, global_step, 4680) of the large-batch recipe.
LearningRateSettings large_batch() {
    LearningRateSettings settings;
    settings.schedule = LrSchedule::gradual;
    settings.warmup_iterations = 260;
    settings.warmup_start = 0.1;
    return settings;
}

TEST(Gradual, RatesOfTheLargeBatchRecipe) {
    const LearningRate rate(large_batch(), 4.8, 4680, 90);
    EXPECT_EQ(rate.warmup_iterations(), 260);
    const struct {
        std::int64_t iteration;  // 0: the first update
        double rate;
    } table[] = {
        {0, 0.1},
        {1, 0.1 + 4.7 / 260},
        {130, 2.45},
        {259, 4.7819230769230770},  // the 260th update: one step of the rise is left
        {260, 4.8},
        {261, 4.7989140271493213},
        {2470, 2.4},
        {4678, 0.0021719457013574661},
        {4679, 0.0010859728506787330},  // the last update
        {4680, 0},
        {9999, 0},
    };
    for (const auto& [iteration, expected] : table)
        EXPECT_NEAR(rate.at(iteration), expected, 1e-12) << iteration;
}

TEST(Gradual, EndsAtAnotherRateWhenAsked) {
    LearningRateSettings settings = large_batch();
    settings.polynomial_end = 0.8;
    const LearningRate rate(settings, 4.8, 4680, 90);
    EXPECT_NEAR(rate.at(2470), 2.8, 1e-12);
    EXPECT_NEAR(rate.at(4679), 0.8 + 4.0 / 4420, 1e-12);
    EXPECT_EQ(rate.at(4680), 0.8);
}

TEST(Gradual, WarmUpMayBeLeftOutOrOutlastTheRun) {
    LearningRateSettings settings = large_batch();
    settings.warmup_iterations = 0;
    EXPECT_EQ(LearningRate(settings, 4.8, 10, 1).at(0), 4.8);
    settings.warmup_iterations = 260;
    const LearningRate rate(settings, 4.8, 2, 1);
    EXPECT_NEAR(rate.at(1), 0.1 + 4.7 / 260, 1e-12);
    EXPECT_TRUE(std::isfinite(LearningRate(settings, 4.8, 260, 1).at(260)));
}

TEST(LearningRate, NonsenseIsRefused) {
    LearningRateSettings settings = cifar_stepped();
    EXPECT_THROW(LearningRate(settings, 0.5, 0, 10), Error);
    EXPECT_THROW(LearningRate(settings, std::nan(""), 10, 10), Error);
    settings.warmup_epochs = -1;
    EXPECT_THROW(LearningRate(settings, 0.5, 10, 10), Error);
    settings = exponential();
    settings.exponential_drops = 0;
    EXPECT_THROW(LearningRate(settings, 0.5, 10, 10), Error);
    settings = large_batch();
    settings.warmup_start = -0.1;
    EXPECT_THROW(LearningRate(settings, 0.5, 10, 10), Error);
    settings.warmup_start = 0.1;
    settings.warmup_iterations = -1;
    EXPECT_THROW(LearningRate(settings, 0.5, 10, 10), Error);
}

}  // namespace
}  // namespace cnntrain::optim
