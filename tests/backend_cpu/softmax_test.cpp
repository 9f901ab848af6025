#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

struct Reference {
    double loss = 0, correct = 0;
    std::vector<double> gradient;
};

template <typename T> Reference reference(std::int64_t classes, const std::vector<T>& logits,
                                          const std::vector<std::int32_t>& labels, double smoothing, double dloss) {
    Reference result;
    result.gradient.assign(logits.size(), 0.0);
    for (std::size_t n = 0; n < labels.size(); ++n) {
        if (labels[n] < 0 || labels[n] >= classes) continue;
        std::vector<double> z;
        for (std::int64_t i = 0; i < classes; ++i)
            z.push_back(widened(logits[n * at(classes) + at(i)]));
        double total = 0;
        for (const double value : z)
            total += std::exp(value);
        const auto largest = std::max_element(z.begin(), z.end()) - z.begin();
        result.correct += largest == labels[n] ? 1 : 0;
        for (std::int64_t i = 0; i < classes; ++i) {
            const double other = classes > 1 ? smoothing / static_cast<double>(classes - 1) : 0;
            const double target = i == labels[n] ? 1 - smoothing : other;
            const double p = std::exp(z[at(i)]) / total;
            result.loss -= target * std::log(p);
            result.gradient[n * at(classes) + at(i)] = dloss * (p - target);
        }
    }
    return result;
}

template <typename T> class Softmax : public ::testing::Test {};
TYPED_TEST_SUITE(Softmax, Reals);

TYPED_TEST(Softmax, MatchesFloat64) {
    for_each_target([] {
        for (const std::int64_t classes : {1, 2, 10, 16, 17, 100, 1000}) {
            for (const double smoothing : {0.0, 0.1}) {
                const std::int64_t samples = 6;
                auto logits = random_values<TypeParam>(samples * classes, 1, -6, 6);
                std::vector<std::int32_t> labels;
                for (std::int64_t n = 0; n < samples; ++n)
                    labels.push_back(static_cast<std::int32_t>(n * 7 % classes));
                labels[2] = -1;
                labels[4] = static_cast<std::int32_t>(classes);
                const auto want = reference(classes, logits, labels, classes > 1 ? smoothing : 0.0, 0.25);
                std::vector<float> scratch(at(softmax_scratch_floats(samples)));
                const double used = classes > 1 ? smoothing : 0.0;
                const LossSums got =
                    softmax_cross_entropy<TypeParam>(samples, classes, logits.data(), labels.data(), used, scratch);
                EXPECT_NEAR(static_cast<double>(got.loss), want.loss, 1e-5 * (1 + want.loss)) << classes;
                EXPECT_EQ(static_cast<double>(got.correct), want.correct) << classes;
                softmax_cross_entropy_grad<TypeParam>(samples, classes, logits.data(), labels.data(), used, 0.25F,
                                                      logits.data());
                expect_near(logits, want.gradient, 1e-6, "gradient, in place");
            }
        }
    });
}

TYPED_TEST(Softmax, TheFirstOfEqualLogitsIsTheAnswer) {
    const std::vector<TypeParam> logits(20, rounded<TypeParam>(1.5));
    const std::vector<std::int32_t> first{0, 0};
    const std::vector<std::int32_t> second{1, 0};
    std::vector<float> scratch(4);
    EXPECT_EQ(softmax_cross_entropy<TypeParam>(2, 10, logits.data(), first.data(), 0, scratch).correct, 2.0F);
    EXPECT_EQ(softmax_cross_entropy<TypeParam>(2, 10, logits.data(), second.data(), 0, scratch).correct, 1.0F);
}

TYPED_TEST(Softmax, TheFirstOfEqualLogitsIsTheLikelierOne) {
    const std::vector<TypeParam> logits(20, rounded<TypeParam>(1.5));
    const std::vector<std::int32_t> labels{4, 5};
    EXPECT_EQ(top_k_correct<TypeParam>(2, 10, logits.data(), labels.data(), 4), 0.0F);
    EXPECT_EQ(top_k_correct<TypeParam>(2, 10, logits.data(), labels.data(), 5), 1.0F);
    EXPECT_EQ(top_k_correct<TypeParam>(2, 10, logits.data(), labels.data(), 6), 2.0F);
}

TYPED_TEST(Softmax, TopOneIsTheCountOfCorrectAnswers) {
    auto logits = random_values<TypeParam>(64 * 17, 1);
    for (TypeParam& logit : logits)
        logit = rounded<TypeParam>(std::round(2 * widened(logit)));  // many ties
    std::vector<std::int32_t> labels;
    for (std::int32_t n = 0; n < 64; ++n)
        labels.push_back(n * 7 % 19 - 1);
    std::vector<float> scratch(128);
    const float correct = softmax_cross_entropy<TypeParam>(64, 17, logits.data(), labels.data(), 0, scratch).correct;
    EXPECT_GT(correct, 0.0F);
    EXPECT_EQ(top_k_correct<TypeParam>(64, 17, logits.data(), labels.data(), 1), correct);
}

TYPED_TEST(Softmax, WhatIsNotANumberIsNeverAmongTheFirst) {
    std::vector<TypeParam> logits(10, rounded<TypeParam>(0));
    logits[3] = rounded<TypeParam>(std::numeric_limits<double>::quiet_NaN());
    const std::vector<std::int32_t> itself{3};
    const std::vector<std::int32_t> first{0};
    EXPECT_EQ(top_k_correct<TypeParam>(1, 10, logits.data(), itself.data(), 9), 0.0F);
    EXPECT_EQ(top_k_correct<TypeParam>(1, 10, logits.data(), first.data(), 1), 0.0F);
    EXPECT_EQ(top_k_correct<TypeParam>(1, 10, logits.data(), first.data(), 2), 1.0F);
}

TYPED_TEST(Softmax, LargeLogitsDoNotOverflow) {
    std::vector<TypeParam> logits(10, rounded<TypeParam>(-1024));
    logits[3] = rounded<TypeParam>(1024);
    const std::vector<std::int32_t> labels{4};
    std::vector<float> scratch(2);
    const LossSums sums = softmax_cross_entropy<TypeParam>(1, 10, logits.data(), labels.data(), 0, scratch);
    EXPECT_FLOAT_EQ(sums.loss, 2048.0F);
}

TYPED_TEST(Softmax, NonFiniteLogitsAreNotHidden) {
    for_each_target([] {
        for (const double bad : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
            auto logits = random_values<TypeParam>(40, 1);
            logits[33] = rounded<TypeParam>(bad);
            const std::vector<std::int32_t> labels{1, 2};
            std::vector<float> scratch(4);
            EXPECT_TRUE(
                std::isnan(softmax_cross_entropy<TypeParam>(2, 20, logits.data(), labels.data(), 0, scratch).loss));
            softmax_cross_entropy_grad<TypeParam>(2, 20, logits.data(), labels.data(), 0, 1.0F, logits.data());
            EXPECT_EQ(first_non_finite(std::span<const TypeParam>(logits)), 20);
        }
    });
}

TYPED_TEST(Softmax, BitwiseTheSameForAnyNumberOfThreads) {
    const auto logits = random_values<TypeParam>(64 * 1000, 1);
    std::vector<std::int32_t> labels;
    for (std::int32_t n = 0; n < 64; ++n)
        labels.push_back(n * 13);
    expect_thread_independent([&] {
        std::vector<float> scratch(128);
        const LossSums sums = softmax_cross_entropy<TypeParam>(64, 1000, logits.data(), labels.data(), 0.1, scratch);
        return std::vector<float>{sums.loss, sums.correct};
    });
}

}  // namespace
}  // namespace cnntrain::cpu
