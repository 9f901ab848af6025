#include <gtest/gtest.h>

#include <poplar/CSRFunctions.hpp>
#include <poplar/exceptions.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>
#include <popops/ElementWise.hpp>
#include <popops/ScaledAdd.hpp>
#include <poputil/exceptions.hpp>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>

#include "ipu_emulator/gradient_support.h"
#include "ipu_emulator/machine_support.h"

namespace {

using namespace ipu_emulator::test;
using poplin::ConvParams;

struct ConvCase {
    const char* name;
    std::size_t batch, in, out, groups;
    std::vector<std::size_t> field, kernel;
    std::vector<unsigned> stride, lower, upper, dilation;
};

const ConvCase kConvCases[] = {
    {"plain", 2, 5, 4, 1, {5, 6}, {3, 3}, {1, 1}, {0, 0}, {0, 0}, {1, 1}},
    {"same", 2, 20, 17, 1, {6, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"stride", 3, 16, 18, 1, {7, 8}, {3, 3}, {2, 2}, {1, 0}, {1, 1}, {1, 1}},
    {"stride leaves rows over", 1, 3, 2, 1, {8, 9}, {3, 2}, {3, 4}, {1, 2}, {0, 0}, {1, 1}},
    {"one by one", 2, 33, 16, 1, {3, 4}, {1, 1}, {2, 1}, {0, 0}, {0, 0}, {1, 1}},
    {"groups", 2, 4, 6, 3, {5, 5}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}},
    {"depthwise", 1, 1, 1, 20, {6, 6}, {3, 3}, {2, 2}, {0, 0}, {1, 1}, {1, 1}},
    {"dilated input", 1, 2, 3, 1, {4, 4}, {3, 3}, {1, 1}, {2, 1}, {1, 1}, {2, 3}},
    {"line", 2, 3, 4, 1, {9}, {4}, {2}, {1}, {2}, {1}},
};

std::ostream& operator<<(std::ostream& out, const ConvCase& c) {
    return out << c.name;
}

ConvParams params_of(const ConvCase& c, poplar::Type type) {
    ConvParams params(type, type, c.batch, c.field, c.kernel, c.in, c.out, c.groups);
    params.inputTransform.paddingLower = c.lower;
    params.inputTransform.paddingUpper = c.upper;
    params.inputTransform.dilation = c.dilation;
    params.outputTransform.stride = c.stride;
    return params;
}

std::size_t product(const Shape& shape) {
    return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

std::vector<std::size_t> joined(std::vector<std::size_t> a, const Shape& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

struct Shapes {
    explicit Shapes(const ConvCase& c)
        : in(joined({c.batch, c.in * c.groups}, c.field)),
          out(joined({c.batch, c.out * c.groups}, params_of(c, FLOAT).getOutputFieldShape())),
          weights(joined({c.groups, c.out, c.in}, c.kernel)) {}
    std::vector<std::size_t> in, out, weights;
};

Values forward(const ConvCase& c, const Values& x, const Values& w, poplar::Type type = FLOAT,
               const poplar::OptionFlags& options = {}, bool stochastic = false) {
    const Shapes shapes(c);
    Bench bench;
    const ConvParams params = params_of(c, type);
    const Tensor in = poplin::createInput(bench.graph, params, "in", options);
    const Tensor weights = poplin::createWeights(bench.graph, params, "weights", options);
    EXPECT_EQ(in.shape(), shapes.in);
    EXPECT_EQ(weights.shape(), shapes.weights);
    bench.graph.setInitialValue(in, poplar::ArrayRef<float>(x));
    bench.graph.setInitialValue(weights, poplar::ArrayRef<float>(w));
    poplar::setStochasticRounding(bench.graph, bench.prog, stochastic);
    const Tensor out = poplin::convolution(bench.graph, in, weights, params, false, bench.prog, "conv", options);
    EXPECT_EQ(out.shape(), shapes.out);
    return bench.result(out);
}

/// Products as `visit(output, input, weight)` by their flat numbers, in the order in which a unit adds them: channels
/// by 16, then kernel positions. `end_of_group(output)` follows each group.
template <class Visit, class End> void for_each_product(const ConvCase& c, Visit visit, End end_of_group) {
    const auto plane = [](std::vector<std::size_t> v) { return v.size() == 2 ? v : Shape{1, v[0]}; };
    const auto pair = [](std::vector<unsigned> v, unsigned fill) {
        return v.size() == 2 ? v : std::vector<unsigned>{fill, v[0]};
    };
    const auto field = plane(c.field), kernel = plane(c.kernel),
               result = plane(params_of(c, FLOAT).getOutputFieldShape());
    const auto stride = pair(c.stride, 1), lower = pair(c.lower, 0), dilation = pair(c.dilation, 1);
    const auto source = [&](std::size_t o, std::size_t k, unsigned d) -> long {
        const long position = static_cast<long>(o * stride[d] + k) - static_cast<long>(lower[d]);
        if (position < 0 || position % static_cast<long>(dilation[d]) != 0) return -1;
        const long index = position / static_cast<long>(dilation[d]);
        return index < static_cast<long>(field[d]) ? index : -1;
    };
    for (std::size_t n = 0; n < c.batch; ++n) {
        for (std::size_t g = 0; g < c.groups; ++g) {
            for (std::size_t o = 0; o < c.out; ++o) {
                for (std::size_t y = 0; y < result[0]; ++y) {
                    for (std::size_t x = 0; x < result[1]; ++x) {
                        const std::size_t output =
                            ((n * c.groups * c.out + g * c.out + o) * result[0] + y) * result[1] + x;
                        for (std::size_t first = 0; first < c.in; first += 16) {
                            for (std::size_t ky = 0; ky < kernel[0]; ++ky) {
                                for (std::size_t kx = 0; kx < kernel[1]; ++kx) {
                                    const long iy = source(y, ky, 0), ix = source(x, kx, 1);
                                    for (std::size_t i = first; iy >= 0 && ix >= 0 && i < std::min(first + 16, c.in);
                                         ++i) {
                                        const std::size_t plane_in = n * c.groups * c.in + g * c.in + i;
                                        const std::size_t input =
                                            (plane_in * field[0] + static_cast<std::size_t>(iy)) * field[1] +
                                            static_cast<std::size_t>(ix);
                                        const std::size_t weight =
                                            (((g * c.out + o) * c.in + i) * kernel[0] + ky) * kernel[1] + kx;
                                        visit(output, input, weight);
                                    }
                                    end_of_group(output);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

class Convolution : public testing::TestWithParam<ConvCase> {};
INSTANTIATE_TEST_SUITE_P(All, Convolution, testing::ValuesIn(kConvCases));

TEST_P(Convolution, HalfPartialsEqualAnExplicitLoopBitForBit) {
    const ConvCase& c = GetParam();
    const Shapes shapes(c);
    const Values x = as_halves(random_values(product(shapes.in), 1, -2, 2));
    const Values w = as_halves(random_values(product(shapes.weights), 2, -1, 1));
    Values expected(product(shapes.out), 0.0f);
    for_each_product(
        c, [&](std::size_t o, std::size_t i, std::size_t k) { expected[o] = x[i] * w[k] + expected[o]; },
        [&](std::size_t o) { expected[o] = as_half(expected[o]); });
    EXPECT_EQ(forward(c, x, w, HALF, {{"partialsType", "half"}}), expected);
}

TEST_P(Convolution, FloatPartialsAreRoundedOnce) {
    const ConvCase& c = GetParam();
    const Shapes shapes(c);
    const Values x = as_halves(random_values(product(shapes.in), 1, -2, 2));
    const Values w = as_halves(random_values(product(shapes.weights), 2, -1, 1));
    Values expected(product(shapes.out), 0.0f);
    for_each_product(
        c, [&](std::size_t o, std::size_t i, std::size_t k) { expected[o] = x[i] * w[k] + expected[o]; },
        [](std::size_t) {});
    EXPECT_EQ(forward(c, x, w, HALF), as_halves(expected));
}

/// Gradients of weights by hand: positions of all samples in order, rounded after each 16.
Values weight_gradient(const ConvCase& c, const Values& x, const Values& deltas) {
    const std::size_t positions = product(params_of(c, FLOAT).getOutputFieldShape());
    const std::size_t channels = c.out * c.groups;
    std::map<std::size_t, std::map<std::size_t, std::pair<std::size_t, std::size_t>>> terms;  // [weight][position]
    for_each_product(
        c,
        [&](std::size_t o, std::size_t i, std::size_t k) {
            terms[k][o / (channels * positions) * positions + o % positions] = {i, o};
        },
        [](std::size_t) {});
    Values result(product(Shapes(c).weights), 0.0f);
    for (const auto& [k, list] : terms) {
        float sum = 0;
        std::size_t group = 0;
        for (const auto& [position, term] : list) {
            if (position / 16 != group) sum = as_half(sum);
            group = position / 16;
            sum = x[term.first] * deltas[term.second] + sum;
        }
        result[k] = as_half(sum);
    }
    return result;
}

TEST_P(Convolution, WeightGradientsWithHalfPartialsEqualAnExplicitLoop) {
    const ConvCase& c = GetParam();
    const Shapes shapes(c);
    const Values x = as_halves(random_values(product(shapes.in), 1, -2, 2));
    const Values deltas = as_halves(random_values(product(shapes.out), 2, -1, 1));
    Bench bench;
    const Tensor gradient = poplin::calculateWeightDeltas(bench.graph, bench.input(HALF, shapes.out, deltas),
                                                          bench.input(HALF, shapes.in, x), params_of(c, HALF),
                                                          bench.prog, {}, {{"partialsType", "half"}});
    EXPECT_EQ(bench.result(gradient), weight_gradient(c, x, deltas));
}

TEST_P(Convolution, GradientsEqualFiniteDifferences) {
    const ConvCase& c = GetParam();
    const Shapes shapes(c);
    const Values x = random_values(product(shapes.in), 3);
    const Values w = random_values(product(shapes.weights), 4);
    const Values direction = random_values(product(shapes.out), 5);
    Bench bench;
    const ConvParams params = params_of(c, FLOAT);
    const Tensor in = bench.input(FLOAT, shapes.in, x);
    const Tensor weights = bench.input(FLOAT, shapes.weights, w);
    const Tensor deltas = bench.input(FLOAT, shapes.out, direction);
    const ConvParams gradient = poplin::getGradientParams(params);
    EXPECT_EQ(gradient.getOutputFieldShape(), c.field);
    bench.watch("in", poplin::convolution(bench.graph, deltas, weights, gradient, true, bench.prog));
    // The same weights with their channels exchanged and the kernel reversed.
    Tensor flipped = weights.dimShufflePartial({1, 2}, {2, 1});
    for (unsigned dim = 3; dim < flipped.rank(); ++dim)
        flipped = flipped.reverse(dim);
    bench.watch("again", poplin::convolution(bench.graph, deltas, flipped, gradient, false, bench.prog));
    bench.watch("weights", poplin::calculateWeightDeltas(bench.graph, deltas, in, params, bench.prog));
    bench.run();
    expect_gradient([&](const Values& v) { return forward(c, v, w); }, x, direction, bench.values("in"));
    expect_gradient([&](const Values& v) { return forward(c, x, v); }, w, direction, bench.values("weights"));
    EXPECT_EQ(bench.values("in"), bench.values("again"));
}

TEST(Convolution, StochasticPartialsAreUnbiasedAndDoNotDependOnThreads) {
    const ConvCase c{"", 8, 64, 32, 1, {8, 8}, {1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}};
    const Values x(8 * 64 * 64, 1.0f);
    const Values w(64 * 32, as_half(1.0f / 3));
    const poplar::OptionFlags half{{"partialsType", "half"}};
    const auto on_threads = [&](unsigned threads) {
        const HostThreads host(threads);
        return forward(c, x, w, HALF, half, true);
    };
    const Values one = on_threads(1);
    EXPECT_EQ(one, on_threads(4));
    const double exact = 64.0 * static_cast<double>(w[0]);
    const double mean = std::accumulate(one.begin(), one.end(), 0.0) / static_cast<double>(one.size());
    EXPECT_NEAR(mean, exact, 0.001);
    EXPECT_NE(*std::ranges::min_element(one), *std::ranges::max_element(one));
    poplar::OptionFlags nearest = half;
    nearest.set("disableSRForAMPVertices", "true");
    const Values even = forward(c, x, w, HALF, nearest, true);
    EXPECT_EQ(*std::ranges::min_element(even), *std::ranges::max_element(even));
}

TEST(Convolution, PlainCodeGivesTheSameBits) {
    const ConvCase& c = kConvCases[1];
    const Shapes shapes(c);
    const Values x = as_halves(random_values(product(shapes.in), 1, -2, 2));
    const Values w = as_halves(random_values(product(shapes.weights), 2, -0x1p-16f, 0x1p-16f));
    for (const char* partials : {"half", "float"}) {
        const poplar::OptionFlags options{{"partialsType", partials}};
        const Values fast = forward(c, x, w, HALF, options, true);
        ipu_emulator::use_plain_code(true);
        const Values plain = forward(c, x, w, HALF, options, true);
        ipu_emulator::use_plain_code(false);
        EXPECT_EQ(fast, plain);
    }
}

TEST(Convolution, OperandsThatDoNotFitAndUnknownOptions) {
    Bench bench;
    const ConvParams params(FLOAT, FLOAT, 1, {4, 4}, {3, 3}, 2, 3, 1);
    const Tensor in = poplin::createInput(bench.graph, params, "in");
    const Tensor weights = poplin::createWeights(bench.graph, params, "w");
    auto& g = bench.graph;
    EXPECT_THROW(poplin::convolution(g, weights, weights, params, false, bench.prog), poputil::poplibs_error);
    EXPECT_THROW(poplin::convolution(g, in, weights, params, true, bench.prog), poputil::poplibs_error);
    EXPECT_THROW(poplin::convolution(g, in, weights, params, false, bench.prog, {}, {{"partials", "half"}}),
                 poplar::invalid_option);
    EXPECT_THROW(poplin::createWeights(g, params, {}, {{"partialsType", "int"}}), poplar::invalid_option);
    EXPECT_THROW(ConvParams(FLOAT, FLOAT, 1, {2, 2}, {3, 3}, 1, 1, 1).getOutputFieldShape(), poputil::poplibs_error);
    const Tensor halves = bench.variable(HALF, in.shape());
    EXPECT_THROW(poplin::convolution(g, halves, weights, params, false, bench.prog), poputil::poplibs_error);
}

TEST(Convolution, PlansAreRememberedOnceAndBiasesAreAdded) {
    Bench bench;
    const ConvParams params(FLOAT, FLOAT, 1, {2, 2}, {1, 1}, 1, 2, 1);
    poplin::PlanningCache cache;
    const Tensor in = poplin::createInput(bench.graph, params, "in", {}, &cache);
    const Tensor weights = poplin::createWeights(bench.graph, params, "w", {}, &cache);
    bench.graph.setInitialValue(in, 1.0f);
    bench.graph.setInitialValue(weights, poplar::ArrayRef<float>(Values{2, 3}));
    const Tensor out = poplin::convolution(bench.graph, in, weights, params, false, bench.prog, {}, {}, &cache);
    EXPECT_EQ(cache.size(), 1u);
    const poplar::OptionFlags options{{"partialsType", "half"}};
    poplin::createWeights(bench.graph, params, "other", options, &cache);
    poplin::createMatMulInputRHS(bench.graph, FLOAT, {2, 3}, {3, 4}, "matrix", options, &cache);
    EXPECT_EQ(cache.size(), 3u);
    const Tensor biases = bench.input(FLOAT, {2}, {10, 20});
    popops::addInPlace(bench.graph, out, biases.expand({1, 1}), bench.prog);
    EXPECT_EQ(bench.result(out), (Values{12, 12, 12, 12, 23, 23, 23, 23}));
}

Values multiplied(const Values& a, const Values& b, std::size_t m, std::size_t k, std::size_t n, bool half_partials) {
    Values c(m * n, 0.0f);
    for (std::size_t i = 0; i < m; ++i) {
        for (std::size_t j = 0; j < n; ++j) {
            for (std::size_t l = 0; l < k; ++l) {
                float& sum = c[i * n + j];
                sum = a[i * k + l] * b[l * n + j] + sum;
                if (half_partials && (l % 16 == 15 || l + 1 == k)) sum = as_half(sum);
            }
        }
    }
    return c;
}

TEST(MatMul, HalfPartialsEqualAnExplicitLoopBitForBit) {
    for (const auto [m, k, n] : {std::array<std::size_t, 3>{7, 37, 21}, {60, 64, 16}, {1, 5, 1}, {13, 16, 40}}) {
        const Values a = as_halves(random_values(m * k, 1, -2, 2));
        const Values b = as_halves(random_values(k * n, 2, -2, 2));
        for (const bool half : {false, true}) {
            Bench bench;
            const Tensor left = bench.input(HALF, {m, k}, a);
            const Tensor right = poplin::createMatMulInputRHS(bench.graph, HALF, {m, k}, {k, n}, "b");
            bench.graph.setInitialValue(right, poplar::ArrayRef<float>(b));
            const poplar::OptionFlags options{{"partialsType", half ? "half" : "float"}};
            const Tensor c = poplin::matMul(bench.graph, left, right, bench.prog, FLOAT, {}, options);
            EXPECT_EQ(c.elementType(), FLOAT);
            EXPECT_EQ(bench.result(c), multiplied(a, b, m, k, n, half));
        }
    }
}

TEST(MatMul, GroupsTransposedViewsAndAccumulation) {
    const Values a = random_values(2 * 5 * 8, 1);
    const Values b = random_values(2 * 8 * 6, 2);
    Bench bench;
    const Tensor left = bench.input(FLOAT, {2, 5, 8}, a);
    const Tensor right = bench.input(FLOAT, {2, 8, 6}, b);
    // (B^T A^T)^T from transposed operands.
    const Tensor transposed =
        poplin::matMulGrouped(bench.graph, right.dimShuffle({0, 2, 1}), left.dimShuffle({0, 2, 1}), bench.prog, FLOAT);
    bench.watch("transposed", transposed.dimShuffle({0, 2, 1}));
    const Tensor c = bench.input(FLOAT, {2, 5, 6}, Values(60, 1.0f));
    const Tensor both = poplin::matMulGrouped(bench.graph, left, right, bench.prog, FLOAT);
    popops::scaledAddTo(bench.graph, c, both, 2.0f, bench.prog);
    const Tensor one = poplin::matMul(bench.graph, left[0], right[0], bench.prog, FLOAT);
    popops::scaledAddTo(bench.graph, c[0], one, -1.0f, bench.prog);
    bench.watch("c", c);
    bench.run();
    const Values first =
        multiplied(Values(a.begin(), a.begin() + 40), Values(b.begin(), b.begin() + 48), 5, 8, 6, false);
    const Values second = multiplied(Values(a.begin() + 40, a.end()), Values(b.begin() + 48, b.end()), 5, 8, 6, false);
    for (std::size_t i = 0; i < 30; ++i) {
        EXPECT_NEAR(bench.values("transposed")[i], first[i], 1e-5);
        EXPECT_NEAR(bench.values("transposed")[30 + i], second[i], 1e-5);
        EXPECT_NEAR(bench.values("c")[i], 1 + first[i], 1e-5);
        EXPECT_NEAR(bench.values("c")[30 + i], 1 + 2 * second[i], 1e-5);
    }
    EXPECT_THROW(poplin::matMul(bench.graph, left[0], left[0], bench.prog, FLOAT), poputil::poplibs_error);
    EXPECT_THROW(poplin::matMul(bench.graph, left[0], right[0], bench.prog, FLOAT, {}, {{"pass", "NONE"}}),
                 poplar::invalid_option);
}

}  // namespace
