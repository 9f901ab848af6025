// Numbers in 8 bits against arithmetic in double.
#include <gtest/gtest.h>

#include "backend/cpu/kernels/tiles.h"
#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

struct Rows {
    std::vector<std::uint8_t> numbers;
    std::vector<float> bits;
};

Rows quantised(const RowsInBytes& rows, Activation activation, const std::vector<float>& x) {
    Rows result{std::vector<std::uint8_t>(x.size()), std::vector<float>(at(2 * rows.count))};
    std::vector<float> scratch(at(omp_get_max_threads() * rows.features));
    quantise_rows(rows, activation, x.data(), result.numbers.data(), result.bits.data(), scratch);
    return result;
}

/// The values of numbers are those of x within half a step, and `more`.
TEST(QuantisedRows, AreWithinHalfAStep) {
    for_each_target([] {
        constexpr RowsInBytes kRows{5, 2001};
        for (const Activation activation : {Activation::none, Activation::gelu, Activation::gelu_tanh}) {
            std::vector<float> x(at(kRows.count * kRows.features));
            for (std::int64_t i = 0; i < std::ssize(x); ++i) {
                x[at(i)] =
                    0.01F * static_cast<float>(i % kRows.features - 1000) * static_cast<float>(1 + i / kRows.features);
            }
            const Rows rows = quantised(kRows, activation, x);
            for (std::int64_t i = 0; i < std::ssize(x); ++i) {
                const double scale = rows.bits[at(2 * (i / kRows.features))];
                const double zero = rows.bits[at(2 * (i / kRows.features) + 1)];
                const double wanted = graph::activated(activation, x[at(i)]);
                const double more = activation == Activation::gelu ? 3e-5 : 1e-6 * std::abs(wanted);
                ASSERT_NEAR(scale * (rows.numbers[at(i)] - zero), wanted, 0.501 * scale + more) << x[at(i)];
            }
        }
    });
}

TEST(QuantisedRows, WithAnInvalidValueHaveNoScale) {
    for_each_target([] {
        constexpr RowsInBytes kRows{4, 70};
        std::vector<float> x(at(kRows.count * kRows.features), 1.0F);
        std::fill_n(x.begin(), kRows.features, 0.0F);
        x[at(kRows.features + 69)] = std::numeric_limits<float>::quiet_NaN();
        x[at(2 * kRows.features + 3)] = std::numeric_limits<float>::infinity();
        const Rows rows = quantised(kRows, Activation::none, x);
        EXPECT_EQ(rows.bits[0], 1) << "zeros";
        EXPECT_TRUE(std::isnan(rows.bits[2]));
        EXPECT_TRUE(std::isnan(rows.bits[4]));
        EXPECT_FLOAT_EQ(rows.bits[6], 1.0F / 255);
    });
}

TEST(QuantisedWeights, HaveAScaleForEachColumn) {
    for_each_target([] {
        constexpr std::int64_t kCount = 37;
        constexpr std::int64_t kColumns = 149;
        std::vector<float> w(at(kCount * kColumns));
        for (std::int64_t i = 0; i < std::ssize(w); ++i)
            w[at(i)] = static_cast<float>((i * 7919 % 1013 - 506) * (i % kColumns)) * 1e-3F;
        w[at(3 * kColumns + 148)] = std::numeric_limits<float>::quiet_NaN();
        std::vector<std::int8_t> numbers(w.size());
        std::vector<float> scales(at(kColumns));
        quantise_weight(kCount, kColumns, w.data(), numbers.data(), scales.data());
        EXPECT_EQ(scales[0], 1) << "zeros";
        EXPECT_TRUE(std::isnan(scales.back()));
        std::vector<std::int32_t> sums(at(kColumns));
        sum_columns(kCount, kColumns, numbers.data(), sums.data());
        for (std::int64_t column = 1; column < kColumns - 1; ++column) {
            int most = 0;
            std::int32_t sum = 0;
            for (std::int64_t row = 0; row < kCount; ++row) {
                const std::int64_t i = row * kColumns + column;
                EXPECT_NEAR(scales[at(column)] * static_cast<float>(numbers[at(i)]), w[at(i)],
                            0.501 * scales[at(column)]);
                most = std::max(most, std::abs(int{numbers[at(i)]}));
                sum += numbers[at(i)];
            }
            EXPECT_EQ(most, 127) << column;
            EXPECT_EQ(sums[at(column)], sum) << column;
        }
    });
}

}  // namespace
}  // namespace cnntrain::cpu
