// Numbers in 8 bits against arithmetic in double.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "backend/cpu/kernels/conv.h"
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

/// Sums of a depthwise convolution of numbers around whose images there is `zero`, in the order of y.
std::vector<std::int32_t> depthwise_sums(const DepthwiseShape& shape, const std::vector<std::uint8_t>& x,
                                         const std::vector<std::int8_t>& w, std::int32_t zero) {
    const std::int64_t channels = shape.x.shape.lanes;
    std::vector<std::int32_t> sums(at(shape.y.shape.n * shape.y.height * shape.y.width * channels));
    for (std::int64_t i = 0; i < std::ssize(sums); ++i) {
        const std::int64_t c = i % channels;
        const std::int64_t column = i / channels % shape.y.width;
        const std::int64_t row = i / channels / shape.y.width % shape.y.height;
        const std::int64_t n = i / channels / shape.y.width / shape.y.height;
        for (std::int64_t tap = 0; tap < shape.kernel * shape.kernel; ++tap) {
            const std::int64_t h = row * shape.stride - shape.top + tap / shape.kernel;
            const std::int64_t v = column * shape.stride - shape.left + tap % shape.kernel;
            const bool is_inside = h >= 0 && h < shape.x.height && v >= 0 && v < shape.x.width;
            const std::int64_t pixel = (n * shape.x.height + h) * shape.x.width + v;
            const std::int32_t number = is_inside ? x[at(pixel * channels + c)] : zero;
            sums[at(i)] += number * w[at(tap * channels + c)];
        }
    }
    return sums;
}

void check_depthwise(std::int64_t channels, std::int64_t kernel, std::int64_t stride, std::int64_t height,
                     std::int64_t width) {
    constexpr std::int64_t kSamples = 2;
    constexpr std::uint8_t kZero = 9;
    const auto picture = [&](std::int64_t rows, std::int64_t columns) {
        return Picture{{kSamples, 1, rows * columns, channels}, rows, columns};
    };
    const DepthwiseShape shape{picture(height, width),
                               picture(ceil_div(height, stride), ceil_div(width, stride)),
                               kernel,
                               stride,
                               (kernel - 1) / 2,
                               (kernel - stride) / 2};
    std::vector<std::uint8_t> x(at(kSamples * height * width * channels));
    for (std::int64_t i = 0; i < std::ssize(x); ++i)
        x[at(i)] = static_cast<std::uint8_t>(i * 7919 % 251);
    std::vector<std::int8_t> w(at(kernel * kernel * channels));
    for (std::int64_t i = 0; i < std::ssize(w); ++i)
        w[at(i)] = static_cast<std::int8_t>(i * 6007 % 255 - 127);
    const std::vector<std::int32_t> sums = depthwise_sums(shape, x, w, kZero);
    const std::vector<float> factor = random_values<float>(channels, 5, 0.002, 0.004);
    const std::vector<float> shift = random_values<float>(channels, 6, 50, 90);
    std::vector<std::int8_t> panels(at(depthwise_panel_bytes(channels, kernel)));
    copy_to_depthwise_panels(channels, kernel, w.data(), panels.data());
    std::vector<float> factors(at(ceil_div(channels, kDepthwiseChunk) * kDepthwiseChunk));
    std::vector<float> shifts(factors.size());
    copy_in_depthwise_order(channels, factor.data(), factors.data());
    copy_in_depthwise_order(channels, shift.data(), shifts.data());
    std::vector<float> scratch(at(depthwise_bytes_scratch_floats(shape, omp_get_max_threads())));
    const auto run = [&]<typename T>(DepthwiseBytes<T> args) {
        std::vector<T> y(sums.size() + 1, T{1});
        args.x = x.data();
        args.zero = kZero;
        args.panels = panels.data();
        args.factors = factors.data();
        args.shifts = shifts.data();
        args.y = y.data();
        depthwise_bytes(shape, args, std::span(scratch));
        EXPECT_EQ(y.back(), T{1}) << "nothing is written past the end";
        return y;
    };
    const std::vector<std::uint8_t> limited = run(DepthwiseBytes<std::uint8_t>{.in_unit = true, .most = 200});
    const std::vector<std::uint8_t> bytes =
        run(DepthwiseBytes<std::uint8_t>{.activation = Activation::sigmoid, .scale = 100, .shift = 20});
    const std::vector<float> floats = run(DepthwiseBytes<float>{.activation = Activation::swish});
    for (std::size_t i = 0; i < sums.size(); ++i) {
        const std::size_t c = i % at(channels);
        const double value = static_cast<double>(sums[i]) * factor[c] + shift[c];
        ASSERT_NEAR(limited[i], std::clamp(value, 0.0, 200.0), 0.501) << i;
        ASSERT_NEAR(bytes[i], 100 / (1 + std::exp(-value)) + 20, 0.51) << i;
        ASSERT_NEAR(floats[i], value / (1 + std::exp(-value)), 1e-3) << i;
    }
}

TEST(DepthwiseBytes, EveryKernelAndTail) {
    if (!has(TileUnit::byte_products)) GTEST_SKIP() << "needs AVX512-VNNI";
    for (const std::int64_t channels : {16, 32, 70, 100, 128}) {
        for (const std::int64_t kernel : {3, 5}) {
            for (const std::int64_t stride : {1, 2}) {
                check_depthwise(channels, kernel, stride, 7, 7);
                check_depthwise(channels, kernel, stride, 31, 10);
                check_depthwise(channels, kernel, stride, 1, 3);
            }
        }
    }
}

}  // namespace
}  // namespace cnntrain::cpu
