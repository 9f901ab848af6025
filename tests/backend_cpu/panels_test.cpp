// Copies of matrices in panels against a loop over elements.
#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

BFloat16 as_result(float value, BFloat16) {
    return to_bfloat16(value);
}
float as_result(float value, float) {
    return value;
}
BFloat16 as_result(BFloat16 value, BFloat16) {
    return value;
}

template <typename From, typename To> std::vector<To> expected(const Panels& shape, const std::vector<From>& from) {
    constexpr std::int64_t kTogether = sizeof(To) == sizeof(float) ? 1 : 2;  // rows
    std::vector<To> to(at(shape.count() * shape.panel_rows * shape.panel_columns), as_result(0.0F, To{}));
    for (std::int64_t row = 0; row < shape.rows; ++row) {
        for (std::int64_t column = 0; column < shape.columns; ++column) {
            const std::int64_t panel = column / shape.panel_columns;
            const std::int64_t group = panel * shape.panel_rows + row / kTogether * kTogether;
            const std::int64_t place = group * shape.panel_columns + column % shape.panel_columns * kTogether;
            to[at(place + row % kTogether)] = as_result(from[at(row * shape.columns + column)], To{});
        }
    }
    return to;
}

template <typename From, typename To> std::vector<To> copied(const Panels& shape, const std::vector<From>& from) {
    std::vector<To> to(at(shape.count() * shape.panel_rows * shape.panel_columns), as_result(7.0F, To{}));
    copy_to_panels(shape, from.data(), to.data());
    return to;
}

template <typename From, typename To> void compare(const Panels& shape) {
    std::vector<From> from = random_values<From>(shape.rows * shape.columns, 1);
    from[from.size() / 2] = rounded<From>(std::numeric_limits<double>::infinity());
    from.back() = rounded<From>(std::numeric_limits<double>::quiet_NaN());
    const std::vector<To> want = expected<From, To>(shape, from);
    for_each_target([&] { EXPECT_TRUE(same_bits((copied<From, To>(shape, from)), want)); });
    expect_thread_independent([&] { return copied<From, To>(shape, from); });
}

/// Whole panels, parts of one, and rows that are no multiple of anything.
TEST(Panels, HaveTheElementsOfTheMatrixAndZeros) {
    for (const std::int64_t rows : {1, 31, 32, 45, 64}) {
        for (const std::int64_t columns : {1, 16, 64, 77, 200}) {
            for (const std::int64_t panel_columns : {16, 48, 64}) {
                SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns) + " in " +
                             std::to_string(panel_columns));
                const Panels shape{rows, columns, (rows + 31) / 32 * 32, panel_columns};
                compare<float, float>(shape);
                compare<float, BFloat16>(shape);
                compare<BFloat16, BFloat16>(shape);
            }
        }
    }
}

/// Rows and columns that are no multiple of anything, and more rows than one sum takes.
TEST(Panels, ComeWithTheSumsOfTheirColumns) {
    for (const std::int64_t rows : {1, 31, 300}) {
        for (const std::int64_t columns : {1, 32, 77}) {
            SCOPED_TRACE(std::to_string(rows) + " x " + std::to_string(columns));
            const Panels shape{rows, columns, (rows + 31) / 32 * 32, 32};
            const std::vector<BFloat16> from = random_values<BFloat16>(rows * columns, 3);
            std::vector<double> want(at(columns));
            for (std::int64_t i = 0; i < rows * columns; ++i)
                want[at(i % columns)] += widened(from[at(i)]);
            const auto sums = [&] {
                std::vector<BFloat16> to(at(shape.count() * shape.panel_rows * shape.panel_columns));
                std::vector<float> got(at(columns), 7);
                std::vector<float> scratch(at(panel_sums_scratch_floats(shape)), 7);
                copy_to_panels_and_sum(shape, from.data(), to.data(), got.data(), scratch);
                EXPECT_TRUE(same_bits(to, copied<BFloat16, BFloat16>(shape, from)));
                return got;
            };
            for_each_target([&] { expect_near(sums(), want, 1e-5 * std::sqrt(static_cast<double>(rows)), "sums"); });
            expect_thread_independent(sums);
        }
    }
}

/// Large aligned panels are stored past the caches.
TEST(Panels, LargeOnesAreTheSame) {
    const Panels shape{1500, 1000, 1504, 64};
    const std::vector<float> from = random_values<float>(shape.rows * shape.columns, 2);
    const std::vector<float> want = expected<float, float>(shape, from);
    HostTensor to({DType::f32, {static_cast<std::int64_t>(want.size())}});
    const int threads = omp_get_max_threads();
    omp_set_num_threads(1);  // the size that counts as large grows with the threads
    copy_to_panels(shape, from.data(), to.as<float>().data());
    omp_set_num_threads(threads);
    EXPECT_EQ(std::memcmp(to.bytes().data(), want.data(), to.bytes().size()), 0);
}

}  // namespace
}  // namespace cnntrain::cpu
