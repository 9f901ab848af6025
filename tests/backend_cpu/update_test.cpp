#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

constexpr UpdateFactors kFactors{.gradient_scale = 0.25F, .weight_decay = 0.01F, .step = 0.1F, .momentum = 0.9F};
constexpr Rounding kStochastic{.stochastic = true, .seed = 42, .iteration = 7, .tensor = 3};

template <typename T> class Update : public ::testing::Test {};
TYPED_TEST_SUITE(Update, Reals);

TYPED_TEST(Update, MatchesFloat64) {
    for_each_target([] {
        for (const std::int64_t count : {1, 7, 16, 33, 100'003}) {
            const auto p = random_values<TypeParam>(count, 1);
            const auto g = random_values<float>(count, 2);
            const auto v = random_values<TypeParam>(count, 3);
            std::vector<double> sgd;
            std::vector<double> velocity;
            std::vector<double> momentum;
            for (std::size_t i = 0; i < p.size(); ++i) {
                const double change = 0.25 * static_cast<double>(g[i]) + 0.01 * widened(p[i]);
                sgd.push_back(widened(p[i]) - 0.1 * change);
                velocity.push_back(0.9 * widened(v[i]) + change);
                momentum.push_back(widened(p[i]) - 0.1 * velocity.back());
            }
            auto parameter = p;
            sgd_update(count, parameter.data(), g.data(), kFactors, {});
            expect_near(parameter, sgd, 1e-6, "sgd");
            parameter = p;
            auto state = v;
            momentum_update(count, parameter.data(), g.data(), state.data(), kFactors, {});
            expect_near(parameter, momentum, 1e-6, "momentum");
            expect_near(state, velocity, 1e-6, "velocity");
        }
    });
}

TYPED_TEST(Update, MovingAverage) {
    for_each_target([] {
        const auto moving = random_values<TypeParam>(37, 1);
        const auto value = random_values<float>(37, 2);
        std::vector<double> want;
        for (std::size_t i = 0; i < 37; ++i) {
            want.push_back(0.97 * widened(moving[i]) + 0.03 * 1.5 * static_cast<double>(value[i]));
        }
        auto m = moving;
        moving_average_update(37, m.data(), value.data(), 0.97, 1.5, {});
        expect_near(m, want, 1e-6, "moving average");
    });
}

/// A bfloat16 parameter of `value` after an update by nothing but rounding `value` + `added`.
std::vector<BFloat16> rounded_sums(std::int64_t count, double value, double added, const Rounding& rounding) {
    std::vector<BFloat16> p(at(count), to_bfloat16(static_cast<float>(value)));
    const std::vector<float> g(at(count), static_cast<float>(-added));
    sgd_update(count, p.data(), g.data(), {.step = 1.0F}, rounding);
    return p;
}

TEST(StochasticRounding, IsUnbiased) {
    const std::int64_t count = 400'000;
    const double unit = 1.0 / 128;  // distance of the neighbours of 1
    for_each_target([&] {
        for (const double fraction : {0.03125, 0.25, 0.5, 0.75, 0.9375}) {
            for (const double sign : {1.0, -1.0}) {
                const auto p = rounded_sums(count, sign, sign * fraction * unit, kStochastic);
                double mean = 0;
                for (const BFloat16 value : p) {
                    const double ups = (sign * widened(value) - 1) / unit;
                    ASSERT_TRUE(ups == 0 || ups == 1) << widened(value);
                    mean += ups / static_cast<double>(count);
                }
                const double deviation = std::sqrt(fraction * (1 - fraction) / static_cast<double>(count));
                EXPECT_NEAR(mean, fraction, 4.5 * deviation);
            }
        }
    });
}

TEST(StochasticRounding, NeighboursAndIterationsAreIndependent) {
    const std::int64_t count = 200'000;
    const auto first = rounded_sums(count, 1, 1.0 / 256, kStochastic);
    auto later = kStochastic;
    later.iteration += 1;
    auto other = kStochastic;
    other.tensor += 1;
    auto seeded = kStochastic;
    seeded.seed += 1;
    const auto up = [](BFloat16 value) { return widened(value) > 1 ? 1.0 : -1.0; };
    for (const Rounding& rounding : {later, other, seeded}) {
        const auto second = rounded_sums(count, 1, 1.0 / 256, rounding);
        double together = 0;
        for (std::size_t i = 0; i < first.size(); ++i)
            together += up(first[i]) * up(second[i]);
        EXPECT_LT(std::fabs(together), 4.5 * std::sqrt(static_cast<double>(count)));
    }
    for (const std::size_t lag : {1U, 2U, 8U, 16U, 1024U}) {
        double together = 0;
        for (std::size_t i = lag; i < first.size(); ++i)
            together += up(first[i]) * up(first[i - lag]);
        EXPECT_LT(std::fabs(together), 4.5 * std::sqrt(static_cast<double>(count))) << "lag " << lag;
    }
}

TEST(StochasticRounding, ParameterAndVelocityAreIndependent) {
    const std::size_t count = 200'000;
    std::vector<BFloat16> p(count, to_bfloat16(1.0F));
    std::vector<BFloat16> v(count, to_bfloat16(0.0F));
    // v becomes 1 + 1/256 and p becomes 1 - (1 + 1/256) * 2 = -(1 + 1/128): use a step that leaves p between neighbours.
    const std::vector<float> g(count, 1.0F + 1.0F / 256);
    momentum_update(static_cast<std::int64_t>(count), p.data(), g.data(), v.data(), {.step = -1.0F / 257}, kStochastic);
    double together = 0;
    double ups = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const double a = widened(v[i]) > 1 ? 1 : -1;
        const double b = widened(p[i]) > 1 ? 1 : -1;
        together += a * b;
        ups += b;
    }
    EXPECT_LT(std::fabs(ups), 4.5 * std::sqrt(static_cast<double>(count)));
    EXPECT_LT(std::fabs(together), 4.5 * std::sqrt(static_cast<double>(count)));
}

TEST(StochasticRounding, RepresentableValuesStay) {
    for_each_target([] {
        auto p = random_values<BFloat16>(5000, 1, -1e4, 1e4);
        p[0] = to_bfloat16(0.0F);
        p[1] = to_bfloat16(-0.0F);
        p[2] = to_bfloat16(std::numeric_limits<float>::infinity());
        p[3].bits = 1;       // smallest denormal
        p[4].bits = 0x7f7f;  // largest
        const auto before = p;
        const std::vector<float> nothing(5000, -0.0F);
        moving_average_update(5000, p.data(), nothing.data(), 1.0, 1.0, kStochastic);
        EXPECT_TRUE(same_bits(p, before));
        p[2].bits = 0x7fc1;
        moving_average_update(5000, p.data(), nothing.data(), 1.0, 1.0, kStochastic);
        EXPECT_TRUE(std::isnan(to_float(p[2])));
    });
}

TYPED_TEST(Update, StochasticIsTheSameForThreadsAndVectors) {
    const std::int64_t count = 200'001;
    const auto run = [&] {
        auto p = random_values<TypeParam>(count, 1);
        const std::vector<float> g = random_values<float>(count, 2, -0.01, 0.01);
        auto v = random_values<TypeParam>(count, 3);
        momentum_update(count, p.data(), g.data(), v.data(), kFactors, kStochastic);
        p.insert(p.end(), v.begin(), v.end());
        return p;
    };
    expect_thread_independent(run);
}

TEST(StochasticRounding, IsTheSameForEveryVectorWidth) {
    const auto native = rounded_sums(100'001, 1, 1.0 / 300, kStochastic);
    for_each_target([&] { EXPECT_TRUE(same_bits(native, rounded_sums(100'001, 1, 1.0 / 300, kStochastic))); });
}

}  // namespace
}  // namespace cnntrain::cpu
