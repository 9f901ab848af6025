#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

const std::vector<std::int64_t> kCounts{0, 1, 3, 7, 8, 15, 16, 17, 31, 33, 1000, 100'003};

template <typename T> class Elementwise : public ::testing::Test {};
TYPED_TEST_SUITE(Elementwise, Reals);

TYPED_TEST(Elementwise, MatchesFloat64) {
    for_each_target([] {
        for (const std::int64_t count : kCounts) {
            const auto a = random_values<TypeParam>(count, 1);
            const auto b = random_values<TypeParam>(count, 2);
            std::vector<double> sum;
            std::vector<double> positive;
            std::vector<double> masked;
            for (std::size_t i = 0; i < a.size(); ++i) {
                sum.push_back(widened(a[i]) + widened(b[i]));
                positive.push_back(std::max(widened(a[i]), 0.0));
                masked.push_back(widened(a[i]) > 0 ? widened(b[i]) : 0.0);
            }
            auto y = a;
            add(count, y.data(), b.data(), y.data());
            expect_near(y, sum, 1e-7, "add");
            y = a;
            activate(count, Activation::relu, y.data(), y.data());
            expect_near(y, positive, 0, "relu");
            y = b;
            activation_grad(count, Activation::relu, a.data(), y.data(), y.data());
            expect_near(y, masked, 0, "relu_grad");
            std::vector<float> total(a.size(), 0.5F);
            for (double& value : sum)
                value += 0.5;
            accumulate(count, a.data(), total.data());
            accumulate(count, b.data(), total.data());
            expect_near(total, sum, 1e-6, "accumulate");
        }
    });
}

TYPED_TEST(Elementwise, FindsTheFirstNonFinite) {
    for_each_target([] {
        for (const std::int64_t count : kCounts) {
            auto values = random_values<TypeParam>(count, 1);
            EXPECT_EQ(first_non_finite(std::span<const TypeParam>(values)), -1) << count;
            for (const std::int64_t bad : {count - 1, count / 2, std::int64_t{0}}) {
                if (count == 0) continue;
                values[at(bad)] = bad % 2 == 0 ? rounded<TypeParam>(std::numeric_limits<double>::quiet_NaN())
                                               : rounded<TypeParam>(-std::numeric_limits<double>::infinity());
                EXPECT_EQ(first_non_finite(std::span<const TypeParam>(values)), bad) << count;
            }
        }
    });
}

TYPED_TEST(Elementwise, LargestValuesAreFinite) {
    const std::vector<TypeParam> values(20, rounded<TypeParam>(3.3e38));
    EXPECT_EQ(first_non_finite(std::span<const TypeParam>(values)), -1);
}

TYPED_TEST(Elementwise, ReluKeepsNaN) {
    std::vector<TypeParam> x(40, rounded<TypeParam>(std::numeric_limits<double>::quiet_NaN()));
    activate(40, Activation::relu, x.data(), x.data());
    EXPECT_EQ(first_non_finite(std::span<const TypeParam>(x)), 0);
}

TEST(Cast, RoundsLikeTheScalarConversion) {
    std::vector<float> x = random_values<float>(4000, 3, -1e3, 1e3);
    for (std::uint32_t bits = 0x3f800000; bits < 0x3f800000 + 0x30000; bits += 0x777)
        x.push_back(std::bit_cast<float>(bits));
    const auto largest = std::numeric_limits<float>::max();
    const auto infinity = std::numeric_limits<float>::infinity();
    const auto tiny = std::numeric_limits<float>::denorm_min();
    for (const float value : {0.0F, -0.0F, 1.00390625F, 1.01171875F, largest, -largest, infinity, -infinity, tiny,
                              1e-39F, -1e-39F, std::numeric_limits<float>::quiet_NaN(),
                              std::bit_cast<float>(0x7f800001u), std::bit_cast<float>(0xffffffffu)}) {
        x.push_back(value);
    }
    for_each_target([&] {
        std::vector<BFloat16> y(x.size());
        cast(static_cast<std::int64_t>(x.size()), x.data(), y.data());
        std::vector<float> back(x.size());
        cast(static_cast<std::int64_t>(x.size()), y.data(), back.data());
        for (std::size_t i = 0; i < x.size(); ++i) {
            EXPECT_EQ(y[i].bits, to_bfloat16(x[i]).bits) << x[i];
            EXPECT_EQ(std::bit_cast<std::uint32_t>(back[i]), std::uint32_t{y[i].bits} << 16);
        }
    });
}

}  // namespace
}  // namespace cnntrain::cpu
