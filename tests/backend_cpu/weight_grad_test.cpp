// Weight gradients in tiles against sums in double.
#include "backend/cpu/kernels/conv.h"

#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

struct Case {
    std::int64_t n, height, width, inputs, outputs;
    std::int64_t x_lanes = 16, y_lanes = 16;
    std::int64_t groups = 1, kernel_height = 3, stride = 1, top = 1, left = 1;
};

WeightGradShape shape_of(const Case& c) {
    // The output has one row or column for each stride that begins within the image.
    const std::int64_t rows = (c.height + c.stride - 1) / c.stride;
    const std::int64_t columns = (c.width + c.stride - 1) / c.stride;
    return {{{c.n, c.inputs / c.x_lanes, c.height * c.width, c.x_lanes}, c.height, c.width},
            {{c.n, c.outputs / c.y_lanes, rows * columns, c.y_lanes}, rows, columns},
            c.groups,
            c.kernel_height,
            c.stride,
            c.top,
            c.left};
}

std::string text(const Case& c) {
    return std::to_string(c.n) + " x " + std::to_string(c.height) + " x " + std::to_string(c.width) + ", " +
           std::to_string(c.inputs) + " (" + std::to_string(c.x_lanes) + ") to " + std::to_string(c.outputs) + " (" +
           std::to_string(c.y_lanes) + "), groups " + std::to_string(c.groups) + ", rows " +
           std::to_string(c.kernel_height) + ", stride " + std::to_string(c.stride);
}

/// Odd sizes, more rows than a band has, parts of unequal size, every layout, borders of several columns.
const Case kCases[] = {
    {1, 1, 1, 16, 16},
    {2, 5, 7, 16, 32},
    {3, 8, 8, 32, 16, 32, 16},
    {19, 4, 3, 16, 16},
    {5, 9, 6, 48, 32, 48, 32},
    {2, 7, 10, 32, 32, 16, 16, 2},
    {2, 6, 5, 64, 32, 64, 32, 2},
    {3, 9, 11, 16, 16, 16, 16, 1, 3, 2},
    {3, 8, 12, 32, 48, 16, 16, 1, 3, 2, 0, 0},
    {2, 13, 14, 16, 16, 16, 16, 1, 3, 3},
    {2, 6, 9, 16, 16, 16, 16, 1, 1, 1, 0, 1},
    {2, 4, 5, 16, 16, 16, 16, 1, 5, 1, 2, 2},
    {1, 2, 3, 16, 16, 16, 16, 1, 5, 2, 4, 2},
    {2, 75, 71, 16, 16},
    {1, 70, 60, 32, 16, 16, 16, 1, 3, 2},
    {2, 5, 7, 16, 32, 8, 8},
    {3, 9, 6, 32, 32, 8, 8, 2, 3, 2},
};

/// [groups][O/16][I/16][kernel_height][3][16 o][16 i]
template <typename T>
std::vector<double> sums_of_products(const Case& c, const std::vector<T>& x, const std::vector<T>& dy) {
    const WeightGradShape shape = shape_of(c);
    const std::int64_t inputs = c.inputs / c.groups;
    const std::int64_t outputs = c.outputs / c.groups;
    const auto value = [](const Picture& picture, const std::vector<T>& from, std::int64_t n, std::int64_t channel,
                          std::int64_t row, std::int64_t column) {
        const Blocks& blocks = picture.shape;
        const std::int64_t pixel = row * picture.width + column;
        return widened(from[at(blocks.offset(n, channel / blocks.lanes, pixel) + channel % blocks.lanes)]);
    };
    std::vector<double> dw(at(c.outputs * inputs * c.kernel_height * 3));
    std::vector<double> from(at(c.inputs));
    std::vector<double> of_results(at(c.outputs));
    for (std::int64_t pixel = 0; pixel < c.n * shape.y.shape.pixels; ++pixel) {
        const std::int64_t n = pixel / shape.y.shape.pixels;
        const std::int64_t oh = pixel % shape.y.shape.pixels / shape.y.width;
        const std::int64_t ow = pixel % shape.y.width;
        for (std::int64_t o = 0; o < c.outputs; ++o)
            of_results[at(o)] = value(shape.y, dy, n, o, oh, ow);
        for (std::int64_t tap = 0; tap < c.kernel_height * 3; ++tap) {
            const std::int64_t ih = oh * c.stride - c.top + tap / 3;
            const std::int64_t iw = ow * c.stride - c.left + tap % 3;
            if (ih < 0 || ih >= c.height || iw < 0 || iw >= c.width) continue;
            for (std::int64_t i = 0; i < c.inputs; ++i)
                from[at(i)] = value(shape.x, x, n, i, ih, iw);
            for (std::int64_t o = 0; o < c.outputs; ++o) {
                const double* const of_group = &from[at(o / outputs * inputs)];
                for (std::int64_t i = 0; i < inputs; ++i) {
                    const std::int64_t block = (o / 16) * (inputs / 16) + i / 16;
                    dw[at(((block * c.kernel_height * 3 + tap) * 16 + o % 16) * 16 + i % 16)] +=
                        of_group[i] * of_results[at(o)];
                }
            }
        }
    }
    return dw;
}

/// Products are up to 4; sums in f32 lose their last digits.
double slack_of(const Case& c) {
    return 4e-6 * std::sqrt(static_cast<double>(c.n * shape_of(c).y.shape.pixels));
}

template <typename T>
std::vector<float> weight_grad_of(const Case& c, const std::vector<T>& x, const std::vector<T>& dy) {
    const WeightGradShape shape = shape_of(c);
    std::vector<float> dw(at(c.outputs * c.inputs / c.groups * c.kernel_height * 3),
                          std::numeric_limits<float>::quiet_NaN());
    std::vector<float> scratch(at(weight_grad_scratch_floats<T>(shape, omp_get_max_threads())),
                               std::numeric_limits<float>::quiet_NaN());
    conv_weight_grad(shape, x.data(), dy.data(), dw.data(), scratch);
    return dw;
}

template <typename T> class WeightGrad : public ::testing::Test {
protected:
    struct Operands {
        explicit Operands(const Case& c)
            : x(random_values<T>(shape_of(c).x.shape.elements(), 1)),
              dy(random_values<T>(shape_of(c).y.shape.elements(), 2)) {}
        std::vector<T> x, dy;
    };
};
TYPED_TEST_SUITE(WeightGrad, Reals);

TYPED_TEST(WeightGrad, IsTheSumOfProducts) {
    int computed = 0;
    for (const Case& c : kCases) {
        const typename TestFixture::Operands operands(c);
        const std::vector<double> want = sums_of_products(c, operands.x, operands.dy);
        for_each_target([&] {
            if (!has_weight_grad<TypeParam>(shape_of(c))) return;
            expect_near(weight_grad_of(c, operands.x, operands.dy), want, slack_of(c), text(c));
            ++computed;
        });
    }
    if (computed == 0) GTEST_SKIP() << "this processor does not multiply pairs of bfloat16";
    EXPECT_GE(computed, 15);  // all layouts but blocks of eight channels, which are for AVX2
}

TYPED_TEST(WeightGrad, DoesNotDependOnThreads) {
    for (const Case& c : kCases) {
        if (!has_weight_grad<TypeParam>(shape_of(c))) continue;
        const typename TestFixture::Operands operands(c);
        expect_thread_independent([&] { return weight_grad_of(c, operands.x, operands.dy); });
    }
}

TYPED_TEST(WeightGrad, RefusesOtherChannels) {
    for (const Case& c : {Case{1, 4, 4, 24, 16, 24}, Case{1, 4, 4, 16, 24, 16, 24}, Case{1, 4, 4, 16, 16, 4, 16},
                          Case{1, 4, 4, 32, 32, 16, 16, 4}}) {
        EXPECT_FALSE(has_weight_grad<TypeParam>(shape_of(c))) << text(c);
    }
}

}  // namespace
}  // namespace cnntrain::cpu
