#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

constexpr UpdateFactors kFactors{.gradient_scale = 0.25F, .weight_decay = 0.01F, .rate = 0.1F, .momentum = 0.9F};
constexpr UpdateRounding kStochastic{
    .how = {.stochastic = true, .seed = 42, .iteration = 7}, .target = 3, .second_slot = 4};

template <typename T> void update_by_gradient(std::int64_t count, T* p, const float* g, const UpdateFactors& factors,
                                              const UpdateRounding& rounding) {
    update<T>(UpdateRule::sgd, count, {.target = p, .gradient = g}, factors, rounding);
}

/// Updates by a rule with a velocity.
template <typename T> void update_with_velocity(UpdateRule rule, std::int64_t count, T* p, const float* g, T* v,
                                                const UpdateFactors& factors, const UpdateRounding& rounding) {
    update<T>(rule, count, {.target = p, .gradient = g, .slots = {v}}, factors, rounding);
}

template <typename T>
SquareSums lars_norms(std::int64_t count, std::vector<T> p, const std::vector<float>& g, std::span<float> scratch) {
    std::vector<T> unused_slot(p.size());
    const UpdateTensors<T> tensors{.target = p.data(), .gradient = g.data(), .slots = {unused_slot.data()}};
    return update_norms<T>(UpdateRule::lars, count, tensors, kFactors, {}, scratch);
}

template <typename T> void rmsprop(std::int64_t count, T* p, T* s, T* v, const float* g, const UpdateFactors& factors,
                                   const UpdateRounding& rounding) {
    update<T>(UpdateRule::rmsprop, count, {.target = p, .gradient = g, .slots = {v, s}}, factors, rounding);
}

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
            std::vector<double> nesterov;
            for (std::size_t i = 0; i < p.size(); ++i) {
                const double change = 0.25 * static_cast<double>(g[i]) + 0.01 * widened(p[i]);
                sgd.push_back(widened(p[i]) - 0.1 * change);
                velocity.push_back(0.9 * widened(v[i]) + change);
                momentum.push_back(widened(p[i]) - 0.1 * velocity.back());
                nesterov.push_back(widened(p[i]) - 0.1 * (change + 0.9 * velocity.back()));
            }
            auto parameter = p;
            update_by_gradient(count, parameter.data(), g.data(), kFactors, {});
            expect_near(parameter, sgd, 1e-6, "sgd");
            parameter = p;
            auto state = v;
            update_with_velocity(UpdateRule::momentum, count, parameter.data(), g.data(), state.data(), kFactors, {});
            expect_near(parameter, momentum, 1e-6, "momentum");
            expect_near(state, velocity, 1e-6, "velocity");
            parameter = p;
            state = v;
            update_with_velocity(UpdateRule::nesterov, count, parameter.data(), g.data(), state.data(), kFactors, {});
            expect_near(parameter, nesterov, 1e-6, "nesterov");
            expect_near(state, velocity, 1e-6, "velocity of nesterov");
        }
    });
}

TYPED_TEST(Update, RmsPropMatchesFloat64) {
    UpdateFactors factors = kFactors;
    factors.decay = 0.9F;
    factors.epsilon = 1e-3F;
    for_each_target([&] {
        for (const std::int64_t count : {1, 7, 16, 33, 100'003}) {
            const auto p = random_values<TypeParam>(count, 1);
            const auto g = random_values<float>(count, 2);
            const auto s = random_values<TypeParam>(count, 3, 0, 2);
            const auto v = random_values<TypeParam>(count, 4);
            std::vector<double> parameter;
            std::vector<double> square;
            std::vector<double> velocity;
            for (std::size_t i = 0; i < p.size(); ++i) {
                const double change = 0.25 * static_cast<double>(g[i]) + 0.01 * widened(p[i]);
                square.push_back(0.9 * widened(s[i]) + 0.1 * change * change);
                velocity.push_back(0.9 * widened(v[i]) + 0.1 * change / std::sqrt(square.back() + 1e-3));
                parameter.push_back(widened(p[i]) - velocity.back());
            }
            auto got = p;
            auto squares = s;
            auto velocities = v;
            rmsprop(count, got.data(), squares.data(), velocities.data(), g.data(), factors, {});
            expect_near(got, parameter, 2e-6, "parameter");
            expect_near(squares, square, 2e-6, "mean square");
            expect_near(velocities, velocity, 2e-6, "velocity");
        }
    });
}

TYPED_TEST(Update, RmsPropOfNoGradientMovesByTheVelocityOnly) {
    for_each_target([] {
        std::vector<TypeParam> p(19, rounded<TypeParam>(3));
        std::vector<TypeParam> s(19, rounded<TypeParam>(0));  // 0 / sqrt(0) without an epsilon
        std::vector<TypeParam> v(19, rounded<TypeParam>(0.5));
        const std::vector<float> g(19, 0.0F);
        rmsprop(19, p.data(), s.data(), v.data(), g.data(), {.rate = 1, .momentum = 0.5F, .decay = 0.5F}, {});
        expect_near(p, std::vector<double>(19, 2.75), 0, "parameter");
        expect_near(s, std::vector<double>(19, 0), 0, "mean square");
        expect_near(v, std::vector<double>(19, 0.25), 0, "velocity");
    });
}

TYPED_TEST(Update, LarsMatchesFloat64) {
    for_each_target([] {
        for (const std::int64_t count : {1, 7, 16, 33, 100'003}) {
            const auto p = random_values<TypeParam>(count, 1);
            const auto g = random_values<float>(count, 2);
            const auto v = random_values<TypeParam>(count, 3);
            double parameter_squares = 0;
            double gradient_squares = 0;
            std::vector<double> parameter;
            std::vector<double> velocity;
            for (std::size_t i = 0; i < p.size(); ++i) {
                const double change = 0.25 * static_cast<double>(g[i]) + 0.01 * widened(p[i]);
                parameter_squares += widened(p[i]) * widened(p[i]);
                gradient_squares += change * change;
                velocity.push_back(0.9 * widened(v[i]) + 0.1 * change);
                parameter.push_back(widened(p[i]) - velocity.back());
            }
            std::vector<float> scratch(at(update_scratch_floats(UpdateRule::lars, count)),
                                       std::numeric_limits<float>::quiet_NaN());
            const SquareSums sums = lars_norms(count, p, g, scratch);
            // Vectors of one lane add about a thousand squares in fp32.
            EXPECT_NEAR(sums.target, parameter_squares, 1e-5 * parameter_squares);
            EXPECT_NEAR(sums.other, gradient_squares, 1e-5 * gradient_squares);
            auto got = p;
            auto velocities = v;
            update_with_velocity(UpdateRule::lars, count, got.data(), g.data(), velocities.data(), kFactors, {});
            expect_near(got, parameter, 2e-6, "parameter");
            expect_near(velocities, velocity, 2e-6, "velocity");
        }
    });
}

TYPED_TEST(Update, MovingAverage) {
    for_each_target([] {
        const auto moving = random_values<TypeParam>(37, 1);
        const auto value = random_values<float>(37, 2);
        std::vector<double> want;
        for (std::size_t i = 0; i < 37; ++i)
            want.push_back(0.97 * widened(moving[i]) + 0.03 * 1.5 * static_cast<double>(value[i]));
        auto m = moving;
        moving_average_update(37, m.data(), value.data(), 0.97, 1.5, {});
        expect_near(m, want, 1e-6, "moving average");
    });
}

/// Blocks get the same values as by update(); every element belongs to one block, which has its new values when it is
/// handed on.
TEST(UpdateBlocks, AreThoseOfTheWholeMatrix) {
    constexpr std::int64_t kSide = 32;
    for (const auto& [rows, columns] :
         {std::pair<std::int64_t, std::int64_t>{32, 32}, {32, 800}, {96, 160}, {1024, 64}}) {
        const std::int64_t count = rows * columns;
        const auto g = random_values<float>(count, 2);
        auto want = random_values<float>(count, 1);
        auto want_velocity = random_values<float>(count, 3);
        update_with_velocity(UpdateRule::momentum, count, want.data(), g.data(), want_velocity.data(), kFactors, {});
        expect_thread_independent([&, height = rows, width = columns] {
            auto p = random_values<float>(count, 1);
            auto v = random_values<float>(count, 3);
            std::vector<float> seen(p.size());
            std::vector<int> times(p.size());
            update_blocks(UpdateRule::momentum, height, width, kSide,
                          {.target = p.data(), .gradient = g.data(), .slots = {v.data()}}, kFactors, {},
                          [&](const MatrixBlock& block) {
                              EXPECT_EQ(block.rows, kSide);
                              EXPECT_EQ(block.columns % kSide, 0);
                              for (std::int64_t row = block.row; row < block.row + block.rows; ++row) {
                                  for (std::int64_t i = block.column; i < block.column + block.columns; ++i) {
                                      seen[at(row * width + i)] = p[at(row * width + i)];
                                      ++times[at(row * width + i)];
                                  }
                              }
                          });
            EXPECT_TRUE(same_bits(p, want));
            EXPECT_TRUE(same_bits(v, want_velocity));
            EXPECT_TRUE(same_bits(seen, want));
            EXPECT_EQ(std::ranges::count(times, 1), count);
            return p;
        });
    }
}

/// A bfloat16 parameter of `value` after an update by nothing but rounding `value` + `added`.
std::vector<BFloat16> rounded_sums(std::int64_t count, double value, double added, const UpdateRounding& rounding) {
    std::vector<BFloat16> p(at(count), to_bfloat16(static_cast<float>(value)));
    const std::vector<float> g(at(count), static_cast<float>(-added));
    update_by_gradient(count, p.data(), g.data(), {.rate = 1.0F}, rounding);
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

/// Returns the share of elements that were rounded away from 0, for a tensor that should be +-(1 + fraction / 128)
/// everywhere.
double share_rounded_up(const std::vector<BFloat16>& values) {
    double ups = 0;
    for (const BFloat16 value : values) {
        const double steps = (std::fabs(widened(value)) - 1) * 128;
        EXPECT_TRUE(steps == 0 || steps == 1) << widened(value);
        ups += steps;
    }
    return ups / static_cast<double>(values.size());
}

/// |shares' correlation| of two tensors as above; 0 when they are rounded independently.
double correlation(const std::vector<BFloat16>& a, const std::vector<BFloat16>& b, double fraction) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double first = (std::fabs(widened(a[i])) - 1) * 128 - fraction;
        const double second = (std::fabs(widened(b[i])) - 1) * 128 - fraction;
        sum += first * second;
    }
    return std::fabs(sum) / (static_cast<double>(a.size()) * fraction * (1 - fraction));
}

TEST(StochasticRounding, OfRmsPropAndLarsIsUnbiased) {
    const std::int64_t count = 400'000;
    const double samples = static_cast<double>(count);
    for_each_target([&] {
        for (const double fraction : {0.125, 0.5, 0.9375}) {
            SCOPED_TRACE(fraction);
            const double target = 1 + fraction / 128;
            const double near = 4.5 * std::sqrt(fraction * (1 - fraction) / samples);
            // The velocity becomes 1 + fraction / 128, and the parameter, which was 0, its negative.
            std::vector<BFloat16> p(at(count), to_bfloat16(0.0F));
            std::vector<BFloat16> v(at(count), to_bfloat16(1.0F));
            const std::vector<float> one(at(count), 1.0F);
            const UpdateFactors factors{.rate = static_cast<float>(fraction / 128), .momentum = 1};
            update_with_velocity(UpdateRule::lars, count, p.data(), one.data(), v.data(), factors, kStochastic);
            EXPECT_NEAR(share_rounded_up(p), fraction, near);
            EXPECT_NEAR(share_rounded_up(v), fraction, near);
            EXPECT_LT(correlation(p, v, fraction), 4.5 / std::sqrt(samples));

            // So does the mean square, of a gradient with that square; g / sqrt(s) is 1.
            p.assign(at(count), to_bfloat16(0.0F));
            v.assign(at(count), to_bfloat16(1.0F));
            std::vector<BFloat16> s(at(count), to_bfloat16(7.0F));
            const std::vector<float> g(at(count), static_cast<float>(std::sqrt(target)));
            rmsprop(count, p.data(), s.data(), v.data(), g.data(), factors, kStochastic);
            EXPECT_NEAR(share_rounded_up(p), fraction, near);
            EXPECT_NEAR(share_rounded_up(v), fraction, near);
            EXPECT_NEAR(share_rounded_up(s), fraction, near);
            EXPECT_LT(correlation(p, v, fraction), 4.5 / std::sqrt(samples));
            EXPECT_LT(correlation(p, s, fraction), 4.5 / std::sqrt(samples));
            EXPECT_LT(correlation(v, s, fraction), 4.5 / std::sqrt(samples));
        }
    });
}

TEST(StochasticRounding, NeighboursAndIterationsAreIndependent) {
    const std::int64_t count = 200'000;
    const auto first = rounded_sums(count, 1, 1.0 / 256, kStochastic);
    auto later = kStochastic;
    later.how.iteration += 1;
    auto other = kStochastic;
    other.target += 1;
    auto seeded = kStochastic;
    seeded.how.seed += 1;
    const auto up = [](BFloat16 value) { return widened(value) > 1 ? 1.0 : -1.0; };
    for (const UpdateRounding& rounding : {later, other, seeded}) {
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
    // v becomes 1 + 1/256 and p becomes 1 - (1 + 1/256) * 2 = -(1 + 1/128): use a step that leaves p between
    // neighbours.
    const std::vector<float> g(count, 1.0F + 1.0F / 256);
    update_with_velocity(UpdateRule::momentum, static_cast<std::int64_t>(count), p.data(), g.data(), v.data(),
                         {.rate = -1.0F / 257}, kStochastic);
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
        update_with_velocity(UpdateRule::momentum, count, p.data(), g.data(), v.data(), kFactors, kStochastic);
        p.insert(p.end(), v.begin(), v.end());
        return p;
    };
    expect_thread_independent(run);
}

TYPED_TEST(Update, RmsPropAndLarsAreTheSameForThreads) {
    const std::int64_t count = 200'001;
    const auto g = random_values<float>(count, 2, -0.01, 0.01);
    UpdateFactors factors = kFactors;
    factors.decay = 0.9F;
    factors.epsilon = 1e-3F;
    for (const UpdateRounding& rounding : {UpdateRounding{}, kStochastic}) {
        expect_thread_independent([&] {
            auto p = random_values<TypeParam>(count, 1);
            auto v = random_values<TypeParam>(count, 3);
            auto s = random_values<TypeParam>(count, 4, 0, 1);
            rmsprop(count, p.data(), s.data(), v.data(), g.data(), factors, rounding);
            p.insert(p.end(), v.begin(), v.end());
            p.insert(p.end(), s.begin(), s.end());
            return p;
        });
        expect_thread_independent([&] {
            auto p = random_values<TypeParam>(count, 1);
            auto v = random_values<TypeParam>(count, 3);
            update_with_velocity(UpdateRule::lars, count, p.data(), g.data(), v.data(), kFactors, rounding);
            p.insert(p.end(), v.begin(), v.end());
            return p;
        });
    }
    expect_thread_independent([&] {
        const auto p = random_values<TypeParam>(count, 1);
        std::vector<float> scratch(at(update_scratch_floats(UpdateRule::lars, count)));
        const SquareSums sums = lars_norms(count, p, g, scratch);
        return std::vector<double>{sums.target, sums.other};
    });
}

TEST(StochasticRounding, IsTheSameForEveryVectorWidth) {
    const auto native = rounded_sums(100'001, 1, 1.0 / 300, kStochastic);
    for_each_target([&] { EXPECT_TRUE(same_bits(native, rounded_sums(100'001, 1, 1.0 / 300, kStochastic))); });
}

}  // namespace
}  // namespace cnntrain::cpu
