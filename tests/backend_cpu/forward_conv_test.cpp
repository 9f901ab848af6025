// 1x1 convolutions of inference, depthwise convolutions and their input gradients against float64, on every
// instruction set.
#include "backend/cpu/kernels/conv.h"

#include "backend/cpu/kernels/parallel.h"
#include "backend_cpu/kernel_data.h"

namespace cnntrain::cpu {
namespace {

struct PointwiseCase {
    PointwiseShape shape;
    Activation activation = Activation::none;
    bool gates = false, residual = false, bias = true;
};

std::string text(const PointwiseCase& c) {
    return std::to_string(c.shape.samples) + "x" + std::to_string(c.shape.pixels) + " " +
           std::to_string(c.shape.inputs) + " -> " + std::to_string(c.shape.outputs) + " " +
           std::string(graph::name(c.activation)) + (c.gates ? " gates" : "") + (c.residual ? " residual" : "");
}

/// Fewer and more rows than a tile, columns that end within a vector and within a panel, rows of several samples.
std::vector<PointwiseCase> pointwise_cases() {
    std::vector<PointwiseCase> cases;
    for (const std::int64_t pixels : {1, 5, 14, 49, 300}) {
        for (const std::int64_t outputs : {1, 8, 16, 24, 37, 80}) {
            for (const Activation activation : {Activation::none, Activation::relu, Activation::swish})
                cases.push_back({{2, pixels, 1 + outputs / 3, outputs}, activation});
            cases.push_back({{3, pixels, 21, outputs}, Activation::none, true, true});
            cases.push_back({{1, pixels, 40, outputs}, Activation::sigmoid, true, false});
            cases.push_back({{1, pixels, 7, outputs}, Activation::none, false, false, false});
        }
    }
    for (const std::int64_t pixels : {5, 300}) {  // more weights than stay in a cache
        cases.push_back({{2, pixels, 150, 40}, Activation::swish});
        EXPECT_GT(cases.back().shape.inputs * cases.back().shape.outputs, kMostCachedPointwiseWeights);
    }
    return cases;
}

struct PointwiseOperands {
    explicit PointwiseOperands(const PointwiseCase& c)
        : x(random_values<float>(c.shape.rows() * c.shape.inputs, 1)),
          gate(random_values<float>(c.gates ? c.shape.samples * c.shape.inputs : 0, 2, 0, 1)),
          weights(random_values<float>(c.shape.inputs * c.shape.outputs, 3, -0.3, 0.3)),
          bias(random_values<float>(c.bias ? c.shape.outputs : 0, 4)),
          residual(random_values<float>(c.residual ? c.shape.rows() * c.shape.outputs : 0, 5)) {}

    std::vector<float> x, gate, weights, bias, residual;
};

std::vector<float> in_panels(const PointwiseShape& shape, const std::vector<float>& weights) {
    const std::int64_t panels = (shape.outputs + kPointwisePanel - 1) / kPointwisePanel;
    std::vector<float> result(at(panels * shape.inputs * kPointwisePanel));
    for (std::int64_t i = 0; i < shape.inputs; ++i) {
        for (std::int64_t o = 0; o < shape.outputs; ++o) {
            const std::int64_t panel = o / kPointwisePanel;
            result[at((panel * shape.inputs + i) * kPointwisePanel + o % kPointwisePanel)] =
                weights[at(i * shape.outputs + o)];
        }
    }
    return result;
}

std::vector<float> pointwise_of(const PointwiseCase& c, const PointwiseOperands& operands) {
    const auto or_null = [](const std::vector<float>& values) { return values.empty() ? nullptr : values.data(); };
    const std::vector<float> weights = in_panels(c.shape, operands.weights);
    std::vector<float> y(at(c.shape.rows() * c.shape.outputs), std::numeric_limits<float>::quiet_NaN());
    std::vector<float> scratch(at(pointwise_scratch_floats(c.shape, omp_get_max_threads())));
    pointwise_conv(c.shape,
                   {operands.x.data(), or_null(operands.gate), weights.data(), or_null(operands.bias),
                    or_null(operands.residual), y.data()},
                   c.activation, scratch);
    return y;
}

std::vector<double> expected_pointwise(const PointwiseCase& c, const PointwiseOperands& operands) {
    const PointwiseShape& shape = c.shape;
    std::vector<double> y;
    for (std::int64_t row = 0; row < shape.rows(); ++row) {
        for (std::int64_t o = 0; o < shape.outputs; ++o) {
            double sum = c.bias ? widened(operands.bias[at(o)]) : 0;
            for (std::int64_t i = 0; i < shape.inputs; ++i) {
                const double gate = c.gates ? widened(operands.gate[at(row / shape.pixels * shape.inputs + i)]) : 1;
                sum += gate * widened(operands.x[at(row * shape.inputs + i)]) *
                       widened(operands.weights[at(i * shape.outputs + o)]);
            }
            if (c.residual) sum += widened(operands.residual[at(row * shape.outputs + o)]);
            y.push_back(graph::activated(c.activation, sum));
        }
    }
    return y;
}

/// Results of a convolution and their statistics; `pixels`: of each part.
struct Measured {
    std::vector<float> y, statistics;
    std::vector<std::int64_t> pixels;
};

/// Means, then variances: of channels, or with `groups` of each sample's groups of channels.
std::vector<double> expected_moments(const Blocks& shape, std::int64_t groups, const std::vector<float>& y) {
    const std::int64_t width = groups == 0 ? 1 : shape.channels() / groups;
    const std::int64_t count = groups == 0 ? shape.channels() : shape.n * groups;
    const auto of = [&](std::int64_t i) {
        const std::int64_t image = i / shape.lanes / shape.pixels;
        const std::int64_t channel = image % shape.blocks * shape.lanes + i % shape.lanes;
        return at(groups == 0 ? channel : image / shape.blocks * groups + channel / width);
    };
    const double share = static_cast<double>(count) / static_cast<double>(shape.elements());
    std::vector<double> moments(at(2 * count));
    for (std::int64_t i = 0; i < shape.elements(); ++i)
        moments[of(i)] += widened(y[at(i)]) * share;
    for (std::int64_t i = 0; i < shape.elements(); ++i) {
        const double difference = widened(y[at(i)]) - moments[of(i)];
        moments[at(count) + of(i)] += difference * difference * share;
    }
    return moments;
}

/// Returns the moments merged from the parts alone: x is null.
std::vector<float> merged_moments(const Blocks& shape, std::int64_t groups, const Measured& measured) {
    const PartStatistics parts{measured.statistics.data(), measured.pixels};
    const std::int64_t count = groups == 0 ? shape.channels() : shape.n * groups;
    std::vector<float> moments(at(2 * count), std::numeric_limits<float>::quiet_NaN());
    std::vector<float> scratch(at(norm_scratch_floats(shape, groups)));
    float* const variance = moments.data() + count;
    if (groups == 0) {
        channel_statistics<float>(shape, nullptr, parts, moments.data(), variance, scratch);
    } else {
        group_statistics<float>(shape, groups, nullptr, parts, moments.data(), variance, scratch);
    }
    return moments;
}

void expect_moments(const Blocks& shape, const Measured& measured, const std::string& name) {
    for (const std::int64_t groups : {std::int64_t{0}, std::int64_t{1}, shape.channels()}) {
        expect_near(merged_moments(shape, groups, measured), expected_moments(shape, groups, measured.y), 2e-6,
                    "statistics, groups " + std::to_string(groups) + " of " + name);
    }
}

Measured measured_pointwise(const PointwiseCase& c, const PointwiseOperands& operands) {
    const std::vector<float> weights = in_panels(c.shape, operands.weights);
    const std::vector<std::int64_t> pixels = pointwise_part_pixels(c.shape);
    const std::int64_t floats = static_cast<std::int64_t>(pixels.size()) * c.shape.samples * 3 * c.shape.outputs;
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    Measured result{std::vector<float>(at(c.shape.rows() * c.shape.outputs), kNan),
                    std::vector<float>(at(floats), kNan), pixels};
    pointwise_conv(c.shape,
                   {.x = operands.x.data(),
                    .weights = weights.data(),
                    .bias = c.bias ? operands.bias.data() : nullptr,
                    .y = result.y.data(),
                    .statistics = result.statistics.data()},
                   Activation::none, {});
    return result;
}

/// One part and several, of one tile and several; more weights than stay in a cache; a mean far from zero.
std::vector<PointwiseCase> measured_pointwise_cases() {
    std::vector<PointwiseCase> cases;
    for (const std::int64_t pixels : {1, 13, 57, 1500}) {
        for (const std::int64_t outputs : {8, 37}) {
            cases.push_back({{3, pixels, 9, outputs}});
            cases.push_back({{2, pixels, 150, outputs}, Activation::none, false, false, false});
        }
    }
    return cases;
}

TEST(PointwiseConv, HasTheStatisticsOfItsResults) {
    for_each_target([] {
        for (const PointwiseCase& c : measured_pointwise_cases()) {
            PointwiseOperands operands(c);
            const Blocks shape{c.shape.samples, 1, c.shape.pixels, c.shape.outputs};
            expect_moments(shape, measured_pointwise(c, operands), text(c));
            for (float& bias : operands.bias)
                bias += 100;
            if (c.bias) expect_moments(shape, measured_pointwise(c, operands), "shifted " + text(c));
        }
    });
}

/// Nine rows in ten are equal, as behind the objects of a photo with a white background.
void flatten(std::int64_t channels, std::vector<float>& x) {
    const std::vector<float> background(x.begin(), x.begin() + channels);
    for (std::int64_t row = 0; row < std::ssize(x) / channels; ++row) {
        if (row % 1000 >= 100) std::ranges::copy(background, x.begin() + row * channels);
    }
}

TEST(PointwiseConv, StatisticsOfFlatAreasAreExact) {
    for_each_target([] {
        const PointwiseCase c{{3, 12544, 4, 8}};
        PointwiseOperands operands(c);
        flatten(c.shape.inputs, operands.x);
        const Blocks shape{c.shape.samples, 1, c.shape.pixels, c.shape.outputs};
        const Measured measured = measured_pointwise(c, operands);
        const auto found = merged_moments(shape, shape.channels(), measured);
        const auto expected = expected_moments(shape, shape.channels(), measured.y);
        for (std::size_t i = 0; i < found.size(); ++i)
            EXPECT_NEAR(static_cast<double>(found[i] / expected[i]), 1, 4e-6);
    });
}

TEST(PointwiseConv, ResultsAndStatisticsDependNeitherOnThreadsNorOnEachOther) {
    for (const PointwiseCase& c : measured_pointwise_cases()) {
        SCOPED_TRACE(text(c));
        const PointwiseOperands operands(c);
        expect_thread_independent([&] { return measured_pointwise(c, operands).statistics; });
        EXPECT_TRUE(same_bits(measured_pointwise(c, operands).y, pointwise_of(c, operands)));
    }
}

TEST(PointwiseConv, MatchesFloat64) {
    for_each_target([] {
        for (const PointwiseCase& c : pointwise_cases()) {
            const PointwiseOperands operands(c);
            expect_near(pointwise_of(c, operands), expected_pointwise(c, operands), 5e-6, text(c));
        }
    });
}

/// Results that are larger than the caches bypass them if they are aligned.
TEST(PointwiseConv, StreamsLargeResults) {
    const PointwiseCase c{{2, 11000, 3, 144}, Activation::swish, false, true};
    const PointwiseOperands operands(c);
    const std::vector<float> weights = in_panels(c.shape, operands.weights);
    constexpr std::int64_t kLine = 16;
    const std::int64_t count = c.shape.rows() * c.shape.outputs;
    std::vector<float> memory(at(count + 2 * kLine));
    float* const aligned = memory.data() + kLine - reinterpret_cast<std::uintptr_t>(memory.data()) / 4 % kLine;
    ASSERT_TRUE(exceeds_caches(count * 4, aligned));
    for_each_target([&] {
        const auto run = [&](float* y) {
            pointwise_conv(
                c.shape,
                {operands.x.data(), nullptr, weights.data(), operands.bias.data(), operands.residual.data(), y},
                c.activation, {});
            return std::vector<float>(y, y + count);
        };
        const std::vector<float> streamed = run(aligned);
        EXPECT_EQ(streamed, run(aligned + 1));
    });
}

TEST(PointwiseConv, TurnsWeightsToPanels) {
    for (const std::int64_t outputs : {1, 16, 37}) {
        const PointwiseShape shape{1, 1, 5, outputs};
        const std::vector<float> weights = random_values<float>(shape.inputs * outputs, 1);
        std::vector<float> turned(at(shape.inputs * outputs));  // [outputs][inputs]
        for (std::int64_t i = 0; i < shape.inputs; ++i) {
            for (std::int64_t o = 0; o < outputs; ++o)
                turned[at(o * shape.inputs + i)] = weights[at(i * outputs + o)];
        }
        std::vector<float> panels(at(pointwise_weight_floats(shape)), 1.0F);
        turn_pointwise_weights(shape, turned.data(), panels.data());
        EXPECT_EQ(panels, in_panels(shape, weights));
    }
}

TEST(PointwiseConv, DoesNotDependOnThreads) {
    for (const PointwiseCase& c : pointwise_cases()) {
        SCOPED_TRACE(text(c));
        const PointwiseOperands operands(c);
        expect_thread_independent([&] { return pointwise_of(c, operands); });
    }
}

/// Either side wider, numbers of one tile and of several, columns of an odd number of vectors; fewer rows than a step,
/// one chunk, several chunks, several parts.
std::vector<PointwiseShape> weight_grad_shapes() {
    std::vector<PointwiseShape> shapes;
    for (const auto& [inputs, outputs] :
         {std::pair{3, 16}, {16, 3}, {32, 16}, {16, 96}, {144, 24}, {15, 48}, {1, 32}}) {
        for (const std::int64_t pixels : {1, 5, 150, 1300})
            shapes.push_back({2, pixels, inputs, outputs});
    }
    return shapes;
}

TEST(PointwiseWeightGrad, MatchesFloat64) {
    EXPECT_FALSE(has_pointwise_weight_grad({1, 1, 24, 40}));
    for_each_target([] {
        for (const PointwiseShape& shape : weight_grad_shapes()) {
            ASSERT_TRUE(has_pointwise_weight_grad(shape));
            const auto x = random_values<float>(shape.rows() * shape.inputs, 1);
            const auto dy = random_values<float>(shape.rows() * shape.outputs, 2);
            std::vector<double> want(at(shape.inputs * shape.outputs));
            for (std::int64_t row = 0; row < shape.rows(); ++row) {
                for (std::int64_t i = 0; i < std::ssize(want); ++i) {
                    want[at(i)] += widened(x[at(row * shape.inputs + i / shape.outputs)]) *
                                   widened(dy[at(row * shape.outputs + i % shape.outputs)]);
                }
            }
            const auto gradient = [&] {
                std::vector<float> dw(want.size(), std::numeric_limits<float>::quiet_NaN());
                std::vector<float> scratch(at(pointwise_weight_grad_scratch_floats(shape)),
                                           std::numeric_limits<float>::quiet_NaN());
                pointwise_weight_grad(shape, x.data(), dy.data(), dw.data(), scratch);
                return dw;
            };
            const double slack = 2e-6 * std::sqrt(static_cast<double>(shape.rows()));
            expect_near(gradient(), want, slack, text({.shape = shape}));
            expect_thread_independent(gradient);
        }
    });
}

DepthwiseShape depthwise_shape(const Blocks& x, std::int64_t height, std::int64_t kernel, std::int64_t stride) {
    DepthwiseShape shape;
    const std::int64_t width = x.pixels / height;
    shape.x = {x, height, width};
    shape.y = {x, (height + stride - 1) / stride, (width + stride - 1) / stride};
    shape.y.shape.pixels = shape.y.height * shape.y.width;
    shape.kernel = kernel;
    shape.stride = stride;
    shape.top = (kernel - 1) / 2;
    shape.left = kernel / 2 / stride;
    return shape;
}

/// Images narrower than the kernel, rows of up to four tiles, several bands of rows, one and two blocks of channels.
std::vector<DepthwiseShape> depthwise_shapes() {
    std::vector<DepthwiseShape> shapes;
    for (const std::int64_t kernel : {3, 5}) {
        for (const std::int64_t stride : {1, 2}) {
            EXPECT_TRUE(has_depthwise_conv(kernel, stride));
            shapes.push_back(depthwise_shape({2, 1, 3 * 2, 17}, 3, kernel, stride));
            shapes.push_back(depthwise_shape({1, 1, 33 * 21, 37}, 33, kernel, stride));
            shapes.push_back(depthwise_shape({2, 2, 15 * 12, 16}, 15, kernel, stride));
        }
    }
    return shapes;
}

std::string text(const DepthwiseShape& shape) {
    return "k=" + std::to_string(shape.kernel) + " s=" + std::to_string(shape.stride) + " " + text(shape.x.shape);
}

struct DepthwiseOperands {
    explicit DepthwiseOperands(const DepthwiseShape& shape)
        : x(random_values<float>(shape.x.shape.elements(), 1)),
          weights(random_values<float>(shape.kernel * shape.kernel * shape.x.shape.channels(), 2, -0.5, 0.5)),
          bias(random_values<float>(shape.x.shape.channels(), 3)) {}

    std::vector<float> x, weights, bias;
};

struct DepthwiseResult {
    std::vector<float> y, sums, means;
};

DepthwiseResult depthwise_of(const DepthwiseShape& shape, const DepthwiseOperands& operands, Activation activation,
                             bool with_sums = true) {
    const Blocks& y = shape.y.shape;
    const std::int64_t parts = depthwise_sum_parts(shape);
    const std::int64_t count = y.n * y.channels();
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    DepthwiseResult result{std::vector<float>(at(y.elements())), std::vector<float>(at(parts * count), kNan), {}};
    depthwise_conv(shape,
                   {operands.x.data(), operands.weights.data(), operands.bias.data(), result.y.data(),
                    with_sums ? result.sums.data() : nullptr},
                   activation);
    result.means.resize(at(count));
    scaled_sum_of_parts(parts, count, result.sums.data(), 1 / static_cast<float>(y.pixels), result.means.data());
    return result;
}

/// Calls call(element of y, element of x, element of the weights) for every product of the convolution.
template <typename Call> void for_products(const DepthwiseShape& shape, const Call& call) {
    const Blocks& blocks = shape.y.shape;
    for (std::int64_t i = 0; i < blocks.elements(); ++i) {
        const std::int64_t pixel = i / blocks.lanes % blocks.pixels;
        const std::int64_t image = i / blocks.lanes / blocks.pixels;
        const std::int64_t c = image % blocks.blocks * blocks.lanes + i % blocks.lanes;
        for (std::int64_t tap = 0; tap < shape.kernel * shape.kernel; ++tap) {
            const std::int64_t ih = pixel / shape.y.width * shape.stride - shape.top + tap / shape.kernel;
            const std::int64_t iw = pixel % shape.y.width * shape.stride - shape.left + tap % shape.kernel;
            if (ih < 0 || ih >= shape.x.height || iw < 0 || iw >= shape.x.width) continue;
            const std::int64_t j = ((image * shape.x.height + ih) * shape.x.width + iw) * blocks.lanes;
            call(i, j + i % blocks.lanes, tap * blocks.channels() + c);
        }
    }
}

std::vector<double> expected_depthwise(const DepthwiseShape& shape, const DepthwiseOperands& operands,
                                       Activation activation) {
    const Blocks& blocks = shape.y.shape;
    std::vector<double> y;
    for (std::int64_t i = 0; i < blocks.elements(); ++i) {
        const std::int64_t image = i / blocks.lanes / blocks.pixels;
        y.push_back(widened(operands.bias[at(image % blocks.blocks * blocks.lanes + i % blocks.lanes)]));
    }
    for_products(shape, [&](std::int64_t to, std::int64_t from, std::int64_t weight) {
        y[at(to)] += widened(operands.x[at(from)]) * widened(operands.weights[at(weight)]);
    });
    for (double& value : y)
        value = graph::activated(activation, value);
    return y;
}

/// Returns the means over the pixels of each sample and channel.
std::vector<double> means_of(const Blocks& blocks, const std::vector<double>& y) {
    std::vector<double> means(at(blocks.n * blocks.channels()));
    for (std::int64_t i = 0; i < blocks.elements(); ++i) {
        const std::int64_t image = i / blocks.lanes / blocks.pixels;
        means[at(image * blocks.lanes + i % blocks.lanes)] += y[at(i)] / static_cast<double>(blocks.pixels);
    }
    return means;
}

TEST(DepthwiseConv, MatchesFloat64AndHasTheMeans) {
    for_each_target([] {
        for (const DepthwiseShape& shape : depthwise_shapes()) {
            const DepthwiseOperands operands(shape);
            for (const Activation activation : {Activation::none, Activation::swish, Activation::gelu_tanh}) {
                const std::vector<double> want = expected_depthwise(shape, operands, activation);
                const DepthwiseResult got = depthwise_of(shape, operands, activation);
                expect_near(got.y, want, 5e-6, text(shape));
                expect_near(got.means, means_of(shape.y.shape, want), 5e-6, "means " + text(shape));
            }
        }
    });
}

TEST(DepthwiseConv, DependsNeitherOnThreadsNorOnTheSums) {
    for (const DepthwiseShape& shape : depthwise_shapes()) {
        SCOPED_TRACE(text(shape));
        const DepthwiseOperands operands(shape);
        expect_thread_independent([&] { return depthwise_of(shape, operands, Activation::swish).y; });
        expect_thread_independent([&] { return depthwise_of(shape, operands, Activation::swish).sums; });
        EXPECT_TRUE(same_bits(depthwise_of(shape, operands, Activation::swish).y,
                              depthwise_of(shape, operands, Activation::swish, false).y));
    }
}

Measured measured_depthwise(const DepthwiseShape& shape, const DepthwiseOperands& operands) {
    const Blocks& y = shape.y.shape;
    const std::vector<std::int64_t> pixels = depthwise_part_pixels(shape);
    constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
    Measured result{std::vector<float>(at(y.elements()), kNan),
                    std::vector<float>(pixels.size() * at(y.n * 3 * y.channels()), kNan), pixels};
    depthwise_conv(shape,
                   {.x = operands.x.data(),
                    .weights = operands.weights.data(),
                    .bias = operands.bias.data(),
                    .y = result.y.data(),
                    .statistics = result.statistics.data()},
                   Activation::none);
    return result;
}

TEST(DepthwiseConv, HasTheStatisticsOfItsResults) {
    for_each_target([] {
        for (const DepthwiseShape& shape : depthwise_shapes()) {
            DepthwiseOperands operands(shape);
            expect_moments(shape.y.shape, measured_depthwise(shape, operands), text(shape));
            for (float& bias : operands.bias)
                bias += 100;
            expect_moments(shape.y.shape, measured_depthwise(shape, operands), "shifted " + text(shape));
        }
    });
}

TEST(DepthwiseConv, ResultsAndStatisticsDependNeitherOnThreadsNorOnEachOther) {
    for (const DepthwiseShape& shape : depthwise_shapes()) {
        SCOPED_TRACE(text(shape));
        const DepthwiseOperands operands(shape);
        expect_thread_independent([&] { return measured_depthwise(shape, operands).statistics; });
        EXPECT_TRUE(
            same_bits(measured_depthwise(shape, operands).y, depthwise_of(shape, operands, Activation::none, false).y));
    }
}

TEST(DepthwiseConv, InputGradientMatchesFloat64) {
    for_each_target([] {
        for (const DepthwiseShape& shape : depthwise_shapes()) {
            const DepthwiseOperands operands(shape);
            const auto dy = random_values<float>(shape.y.shape.elements(), 4);
            std::vector<double> want(operands.x.size());
            for_products(shape, [&](std::int64_t from, std::int64_t to, std::int64_t weight) {
                want[at(to)] += widened(dy[at(from)]) * widened(operands.weights[at(weight)]);
            });
            const auto gradient = [&] {
                std::vector<float> dx(want.size(), std::numeric_limits<float>::quiet_NaN());
                depthwise_input_grad(shape, dy.data(), operands.weights.data(), dx.data());
                return dx;
            };
            expect_near(gradient(), want, 5e-6, text(shape));
            expect_thread_independent(gradient);
        }
    });
}

}  // namespace
}  // namespace cnntrain::cpu
