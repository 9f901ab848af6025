// Winograd's filtering against direct sums in double.
#include "backend/cpu/kernels/conv.h"

#include <span>

#include "backend_cpu/kernel_data.h"
#include "cnntrain/graph/activation.h"

namespace cnntrain::cpu {
namespace {

struct Case {
    std::int64_t n, height, width, inputs, outputs;
    std::int64_t x_lanes = 16, y_lanes = 16;
    std::int64_t top = 1, left = 1;
    std::int64_t bottom = 1, right = 1;
};

WinogradShape shape_of(const Case& c) {
    const std::int64_t rows = c.height + c.top + c.bottom - 2;
    const std::int64_t columns = c.width + c.left + c.right - 2;
    return {{{c.n, c.inputs / c.x_lanes, c.height * c.width, c.x_lanes}, c.height, c.width},
            {{c.n, c.outputs / c.y_lanes, rows * columns, c.y_lanes}, rows, columns},
            c.top,
            c.left};
}

std::string text(const Case& c) {
    return std::to_string(c.n) + " x " + std::to_string(c.height) + " x " + std::to_string(c.width) + ", " +
           std::to_string(c.inputs) + " (" + std::to_string(c.x_lanes) + ") to " + std::to_string(c.outputs) + " (" +
           std::to_string(c.y_lanes) + "), padding " + std::to_string(c.top) + ", " + std::to_string(c.left);
}

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// Odd sizes, one pixel, parts of panels, every layout, every padding, several chunks of tiles.
const Case kCases[] = {
    {1, 1, 1, 16, 16},
    {2, 4, 4, 16, 32},
    {2, 5, 7, 32, 48, 32, 48},
    {3, 8, 9, 48, 16, 16, 16},
    {2, 6, 6, 16, 32, 16, 32, 0, 0, 0, 0},
    {2, 3, 5, 32, 16, 16, 16, 2, 2, 2, 2},
    {1, 7, 6, 16, 16, 16, 16, 0, 2, 1, 0},
    {2, 9, 13, 64, 64},
    {1, 70, 66, 32, 32},
    {40, 7, 7, 64, 96, 64, 96},
    {2, 5, 7, 16, 32, 8, 8},
};

template <typename T> class Winograd : public ::testing::Test {
protected:
    struct Operands {
        explicit Operands(const Case& c)
            : shape(shape_of(c)),
              x(random_values<T>(shape.x.shape.elements(), 1)),
              w(random_values<T>(9 * c.inputs * c.outputs, 2)),
              dy(random_values<T>(shape.y.shape.elements(), 3)) {}

        WinogradShape shape;
        std::vector<T> x, w, dy;
    };

    /// Calls body(x's element, w's element, y's element) for every product of the convolution.
    template <typename Body> static void for_products(const WinogradShape& shape, const Body& body) {
        const auto element = [](const Picture& picture, std::int64_t n, std::int64_t channel, std::int64_t row,
                                std::int64_t column) {
            const Blocks& blocks = picture.shape;
            return at(blocks.offset(n, channel / blocks.lanes, row * picture.width + column) + channel % blocks.lanes);
        };
        std::vector<std::size_t> results(at(shape.outputs()));
        for (std::int64_t pixel = 0; pixel < shape.y.shape.n * shape.y.shape.pixels; ++pixel) {
            const std::int64_t n = pixel / shape.y.shape.pixels;
            const std::int64_t oh = pixel % shape.y.shape.pixels / shape.y.width;
            const std::int64_t ow = pixel % shape.y.width;
            for (std::int64_t o = 0; o < shape.outputs(); ++o)
                results[at(o)] = element(shape.y, n, o, oh, ow);
            for (std::int64_t tap = 0; tap < 9; ++tap) {
                const std::int64_t ih = oh - shape.top + tap / 3;
                const std::int64_t iw = ow - shape.left + tap % 3;
                if (ih < 0 || ih >= shape.x.height || iw < 0 || iw >= shape.x.width) continue;
                for (std::int64_t i = 0; i < shape.inputs(); ++i) {
                    const std::size_t x = element(shape.x, n, i, ih, iw);
                    const std::size_t w = at((tap * shape.inputs() + i) * shape.outputs());
                    for (std::size_t o = 0; o < results.size(); ++o)
                        body(x, w + o, results[o]);
                }
            }
        }
    }

    static std::vector<T> conv(const WinogradShape& shape, bool turned, const std::vector<T>& x,
                               const std::vector<T>& w, const WinogradEpilogue<T>& epilogue = {}) {
        std::vector<float> filter(at(winograd_filter_floats(shape)), kNan);
        std::vector<float> scratch(at(winograd_scratch_floats(shape, omp_get_max_threads())), kNan);
        std::vector<T> y(at(shape.y.shape.elements()));
        winograd_filter(shape, turned, w.data(), filter.data());
        winograd_conv(shape, x.data(), filter.data(), epilogue, y.data(), scratch);
        return y;
    }

    static std::vector<float> weight_grad(const Operands& operands) {
        std::vector<float> dw(operands.w.size(), kNan);
        std::vector<float> scratch(at(winograd_weight_grad_scratch_floats(operands.shape)), kNan);
        winograd_weight_grad(operands.shape, operands.x.data(), operands.dy.data(), dw.data(), scratch);
        return dw;
    }

    /// Values are up to 2; so are kernels.
    static double slack(std::int64_t products) {
        const double rounding = std::is_same_v<T, float> ? 0 : 1.0 / 256;
        const double size = 2 * std::sqrt(static_cast<double>(products));
        return 4e-6 * size + rounding * 2 * size;
    }
};
TYPED_TEST_SUITE(Winograd, Reals);

TYPED_TEST(Winograd, IsAConvolution) {
    for (const Case& c : kCases) {
        const typename TestFixture::Operands operands(c);
        std::vector<double> want(operands.dy.size());
        this->for_products(operands.shape, [&](std::size_t x, std::size_t w, std::size_t y) {
            want[y] += static_cast<double>(widened(operands.x[x])) * widened(operands.w[w]);
        });
        for_each_target([&] {
            if (!has_winograd(operands.shape)) return;
            expect_near(this->conv(operands.shape, false, operands.x, operands.w), want, this->slack(9 * c.inputs),
                        text(c));
        });
    }
}

TYPED_TEST(Winograd, GivesInputGradients) {
    for (const Case& c : kCases) {
        const typename TestFixture::Operands operands(c);
        std::vector<double> want(operands.x.size());
        this->for_products(operands.shape, [&](std::size_t x, std::size_t w, std::size_t y) {
            want[x] += static_cast<double>(widened(operands.dy[y])) * widened(operands.w[w]);
        });
        for_each_target([&] {
            if (!has_winograd(operands.shape)) return;
            expect_near(this->conv(operands.shape.input_grad(), true, operands.dy, operands.w), want,
                        this->slack(9 * c.outputs), text(c));
        });
    }
}

TYPED_TEST(Winograd, GivesWeightGradients) {
    for (const Case& c : kCases) {
        const typename TestFixture::Operands operands(c);
        std::vector<double> want(operands.w.size());
        this->for_products(operands.shape, [&](std::size_t x, std::size_t w, std::size_t y) {
            want[w] += static_cast<double>(widened(operands.x[x])) * widened(operands.dy[y]);
        });
        const double slack = 8e-6 * std::sqrt(static_cast<double>(c.n * operands.shape.y.shape.pixels));
        for_each_target([&] {
            if (!has_winograd(operands.shape)) return;
            expect_near(this->weight_grad(operands), want, slack, text(c));
        });
    }
}

TYPED_TEST(Winograd, AddsBiasAndResidualBeforeTheActivation) {
    const typename TestFixture::Operands operands({2, 6, 5, 16, 48});
    const auto bias = random_values<float>(48, 4);
    const auto plain = this->conv(operands.shape, false, operands.x, operands.w);
    const auto residual = operands.dy;
    for (const Activation activation : graph::kActivations) {
        const auto result =
            this->conv(operands.shape, false, operands.x, operands.w, {bias.data(), residual.data(), activation});
        for (std::size_t i = 0; i < result.size(); ++i) {
            const std::size_t pixels = 30;
            const std::size_t channel = i / (pixels * 16) % 3 * 16 + i % 16;
            const double sum = widened(plain[i]) + bias[channel] + widened(residual[i]);
            const double want = graph::activated(activation, sum);
            const double rounding = std::is_same_v<TypeParam, float> ? 1e-5 : 1.0 / 64;
            ASSERT_NEAR(widened(result[i]), want, rounding * (1 + std::abs(sum)));
        }
    }
}

TYPED_TEST(Winograd, DoesNotDependOnThreads) {
    for (const Case& c : kCases) {
        const typename TestFixture::Operands operands(c);
        if (!has_winograd(operands.shape)) continue;
        expect_thread_independent([&] { return this->conv(operands.shape, false, operands.x, operands.w); });
        expect_thread_independent([&] { return this->weight_grad(operands); });
    }
}

TYPED_TEST(Winograd, ASampleDoesNotDependOnTheOthers) {
    const typename TestFixture::Operands operands({11, 9, 7, 32, 32});
    const auto all = this->conv(operands.shape, false, operands.x, operands.w);
    WinogradShape one = operands.shape;
    one.x.shape.n = one.y.shape.n = 1;
    for (std::int64_t n = 0; n < 11; ++n) {
        const std::vector<TypeParam> x(operands.x.begin() + n * one.x.shape.elements(),
                                       operands.x.begin() + (n + 1) * one.x.shape.elements());
        const auto alone = this->conv(one, false, x, operands.w);
        for (std::int64_t i = 0; i < one.y.shape.elements(); ++i)
            ASSERT_EQ(widened(all[at(n * one.y.shape.elements() + i)]), widened(alone[at(i)]));
    }
}

TYPED_TEST(Winograd, TakesMultiplesOfSixteenChannelsOnly) {
    for (const Case& c : std::span(kCases).first(std::size(kCases) - 1))  // the last layout is for AVX2
        EXPECT_TRUE(has_winograd(shape_of(c))) << text(c);
    for (const Case& c : {Case{1, 4, 4, 24, 16, 24}, Case{1, 4, 4, 16, 24, 16, 24}, Case{1, 4, 4, 16, 16, 4, 16}})
        EXPECT_FALSE(has_winograd(shape_of(c))) << text(c);
}

}  // namespace
}  // namespace cnntrain::cpu
