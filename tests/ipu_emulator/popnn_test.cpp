#include <gtest/gtest.h>

#include <poplar/exceptions.hpp>
#include <popnn/BatchNorm.hpp>
#include <popnn/GroupNorm.hpp>
#include <popnn/LayerNorm.hpp>
#include <popnn/LogSoftmax.hpp>
#include <popnn/NonLinearity.hpp>
#include <popnn/Pooling.hpp>
#include <popops/ElementWise.hpp>
#include <poputil/exceptions.hpp>

#include <algorithm>
#include <cmath>

#include "ipu_emulator/gradient_support.h"
#include "ipu_emulator/machine_support.h"

namespace {

using namespace ipu_emulator::test;
using popnn::NonLinearityType;
using popnn::PoolingType;
using popnn::pooling::PoolParams;
using popops::expr::_1;
using popops::expr::_2;
using popops::expr::_3;

constexpr float kEps = 1e-3f;

/// The norms with one interface. groups 0: batch norm, 1: layer norm.
struct Norm {
    unsigned groups = 0;
    bool strided = true;

    poplar::OptionFlags options() const { return {{"groupNormStridedChannelGrouping", strided ? "true" : "false"}}; }
    std::pair<Tensor, Tensor> statistics(Bench& b, const Tensor& acts, bool unbiased = false,
                                         bool stable = false) const {
        if (groups == 0) {
            const auto batch = static_cast<unsigned>(acts.dim(0));
            return popnn::bn::distributedBatchNormStatistics(b.graph, acts, kEps, b.prog, unbiased, {}, batch, stable);
        }
        if (groups == 1) return popnn::ln::layerNormStatistics(b.graph, acts, kEps, b.prog, unbiased, stable);
        return popnn::gn::groupNormStatistics(b.graph, acts, kEps, b.prog, groups, unbiased, stable, FLOAT, {},
                                              options());
    }
    /// Statistics in a shape that broadcasts to the activations, `acts`.
    Tensor spread(const Tensor& t, const Shape& acts) const {
        if (groups == 0) return t.reshape({acts[1], 1, 1});
        const auto members = static_cast<unsigned>(acts[1] / groups);
        const Tensor channels = strided ? t.reshape({acts[0], groups}).broadcast(members, 1)
                                        : t.reshape({acts[0], groups, 1}).broadcast(members, 2);
        return channels.reshape({acts[0], acts[1], 1, 1});
    }
    Tensor whiten(Bench& b, const Tensor& acts, const Tensor& mean, const Tensor& inverse) const {
        return popops::map(b.graph, (_1 - _2) * _3, {acts, spread(mean, acts.shape()), spread(inverse, acts.shape())},
                           b.prog);
    }
    Tensor scaled(Bench& b, const Tensor& acts, const Tensor& gamma) const {
        const auto [mean, inverse] = statistics(b, acts);
        return popops::map(b.graph, _1 * _2, {whiten(b, acts, mean, inverse), gamma.expand({1, 1})}, b.prog);
    }
    Tensor gradient(Bench& b, const Tensor& acts, const Tensor& grads, const Tensor& gamma) const {
        const auto [mean, inverse] = statistics(b, acts);
        const Tensor whitened = whiten(b, acts, mean, inverse);
        if (groups == 0) {
            const auto batch = static_cast<unsigned>(acts.dim(0));
            return popnn::bn::distributedBatchNormGradients(b.graph, whitened, grads, inverse, gamma, b.prog, {},
                                                            batch);
        }
        if (groups == 1) return popnn::ln::layerNormGradients(b.graph, whitened, grads, inverse, gamma, b.prog);
        return popnn::gn::groupNormGradients(b.graph, whitened, grads, inverse, gamma, b.prog, FLOAT, {}, options());
    }
    /// Index of the statistic that an element of [batch][channels][...] belongs to.
    std::size_t statistic(std::size_t n, std::size_t c, std::size_t channels) const {
        if (groups == 0) return c;
        return n * groups + (strided ? c % groups : c / (channels / groups));
    }
};

class Norms : public testing::TestWithParam<Norm> {};
INSTANTIATE_TEST_SUITE_P(All, Norms, testing::Values(Norm{0}, Norm{1}, Norm{3, true}, Norm{3, false}));

const std::vector<std::size_t> kShape{4, 6, 3, 2};

TEST_P(Norms, StatisticsAreTheFormulas) {
    const Values x = random_values(144, 1, -1, 3);
    for (const bool unbiased : {false, true}) {
        for (const bool stable : {false, true}) {
            Bench bench;
            const auto [mean, inverse] = GetParam().statistics(bench, bench.input(FLOAT, kShape, x), unbiased, stable);
            bench.watch("mean", mean);
            bench.watch("inverse", inverse);
            bench.run();
            std::vector<std::vector<double>> members(mean.numElements());
            for (std::size_t i = 0; i < x.size(); ++i)
                members[GetParam().statistic(i / 36, i / 6 % 6, 6)].push_back(static_cast<double>(x[i]));
            for (std::size_t s = 0; s < members.size(); ++s) {
                double sum = 0;
                for (const double value : members[s])
                    sum += value;
                const double average = sum / static_cast<double>(members[s].size());
                double squares = 0;
                for (const double value : members[s])
                    squares += (value - average) * (value - average);
                const double variance = squares / (static_cast<double>(members[s].size()) - (unbiased ? 1 : 0));
                EXPECT_NEAR(bench.values("mean")[s], average, 1e-5);
                EXPECT_NEAR(bench.values("inverse")[s], 1 / std::sqrt(variance + static_cast<double>(kEps)), 1e-4);
            }
        }
    }
}

TEST_P(Norms, GradientsEqualFiniteDifferences) {
    const Norm norm = GetParam();
    const Values x = random_values(144, 1, -1, 3);
    const Values gamma = random_values(6, 2, 0.5, 2);
    const Values direction = random_values(144, 4);
    const auto forward = [&](const Values& acts) {
        Bench bench;
        return bench.result(norm.scaled(bench, bench.input(FLOAT, kShape, acts), bench.input(FLOAT, {6}, gamma)));
    };
    Bench bench;
    const Values gradient = bench.result(norm.gradient(
        bench, bench.input(FLOAT, kShape, x), bench.input(FLOAT, kShape, direction), bench.input(FLOAT, {6}, gamma)));
    expect_gradient(forward, x, direction, gradient);
}

TEST(BatchNorm, StatisticsOfHalvesAreHalves) {
    Bench bench;
    const Tensor acts = bench.input(HALF, {64, 1}, random_values(64, 1, 0, 8));
    const auto [mean, inverse] =
        popnn::bn::distributedBatchNormStatistics(bench.graph, acts, kEps, bench.prog, false, {}, 64);
    EXPECT_EQ(mean.elementType(), HALF);
    EXPECT_EQ(inverse.elementType(), HALF);
    const Values value = bench.result(mean);
    EXPECT_EQ(value, as_halves(value));
    EXPECT_THROW(popnn::bn::distributedBatchNormStatistics(bench.graph, acts, kEps, bench.prog, false, {}, 64, false,
                                                           UNSIGNED_INT),
                 poputil::poplibs_error);
    EXPECT_THROW(
        popnn::gn::groupNormStatistics(bench.graph, bench.input(FLOAT, {2, 5}, {1}), kEps, bench.prog, 2, false),
        poputil::poplibs_error);
}

TEST_P(Norms, TheStableFormHoldsBesideALargeMean) {
    // Uniform in [-1, 1] around 1000: the square of the mean takes all digits of the variance, 1/3.
    Values x = random_values(4 * 6 * 1024, 1);
    for (float& value : x)
        value += 1000;
    const auto inverse = [&](bool stable) {
        Bench bench;
        const Tensor acts = bench.input(FLOAT, {4, 6, 1024}, x);
        return bench.result(GetParam().statistics(bench, acts, false, stable).second)[0];
    };
    EXPECT_NEAR(inverse(true), std::sqrt(3.0), 0.06);
    EXPECT_GT(std::fabs(static_cast<double>(inverse(false)) - std::sqrt(3.0)), 0.06);
}

class NonLinearities : public testing::TestWithParam<NonLinearityType> {};
INSTANTIATE_TEST_SUITE_P(All, NonLinearities,
                         testing::Values(NonLinearityType::SIGMOID, NonLinearityType::RELU, NonLinearityType::TANH,
                                         NonLinearityType::GELU, NonLinearityType::GELU_ERF, NonLinearityType::SWISH));

double known(NonLinearityType type, double x) {
    switch (type) {
        case NonLinearityType::SIGMOID:
            return 1 / (1 + std::exp(-x));
        case NonLinearityType::RELU:
            return std::max(0.0, x);
        case NonLinearityType::TANH:
            return std::tanh(x);
        case NonLinearityType::GELU:
            return 0.5 * x * (1 + std::tanh(0.7978845608 * (x + 0.044715 * x * x * x)));
        case NonLinearityType::GELU_ERF:
            return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
        default:
            return x / (1 + std::exp(-x));
    }
}

TEST_P(NonLinearities, ValuesAndGradients) {
    const NonLinearityType type = GetParam();
    const Values x = random_values(20, 6, -3.03f, 3);
    const Values direction = random_values(20, 7);
    const auto forward = [&](const Values& v) {
        Bench bench;
        const Tensor t = bench.input(FLOAT, {4, 5}, v);
        return bench.result(popnn::nonLinearity(bench.graph, type, t, bench.prog));
    };
    Bench bench;
    const Tensor in = bench.input(FLOAT, {4, 5}, x);
    const Tensor out = popnn::nonLinearity(bench.graph, type, in, bench.prog);
    const bool by_input =
        type == NonLinearityType::GELU || type == NonLinearityType::GELU_ERF || type == NonLinearityType::SWISH;
    const Tensor gradient = popnn::nonLinearityInputGradient(bench.graph, type, by_input ? in : out,
                                                             bench.input(FLOAT, {4, 5}, direction), bench.prog);
    bench.watch("out", out);
    bench.watch("gradient", gradient);
    bench.run();
    for (std::size_t i = 0; i < x.size(); ++i)
        EXPECT_NEAR(bench.values("out")[i], known(type, static_cast<double>(x[i])), 1e-5);
    expect_gradient(forward, x, direction, bench.values("gradient"), 0x1p-9f, 3e-3, 20);
}

TEST(Softmax, LogarithmsOfLargeValues) {
    Bench bench;
    const Tensor t = bench.input(FLOAT, {2, 4}, {1, 3, 3, 2, 1000, -1000, 0, 999});
    popnn::logSoftmaxInPlace(bench.graph, t, bench.prog);
    const Values logs = bench.result(t);
    EXPECT_NEAR(logs[4], -0.313262, 1e-5);
    EXPECT_NEAR(std::exp(logs[0]) + std::exp(logs[1]) + std::exp(logs[2]) + std::exp(logs[3]), 1, 1e-5);
}

PoolParams pool_params(unsigned stride, int lower, int upper) {
    return {PoolingType::MAX, {6, 5}, {3, 2}, {stride, stride}, {lower, lower}, {upper, upper}, 3, 2, FLOAT};
}

TEST(Pooling, TensorsHaveTheTypeOfTheParameters) {
    Bench bench;
    const PoolParams params(PoolingType::MAX, {4, 4}, {2, 2}, {2, 2}, {0, 0}, {0, 0}, 1, 1, HALF);
    EXPECT_THROW(popnn::pooling::pool(bench.graph, params, bench.variable(FLOAT, {1, 1, 4, 4}), bench.prog),
                 poputil::poplibs_error);
}

TEST(Pooling, ValuesOfWindows) {
    Bench bench;
    const PoolParams params(PoolingType::MAX, {1, 4}, {1, 2}, {1, 2}, {0, 1}, {0, 1}, 1, 1, FLOAT);
    EXPECT_EQ(params.getOutputFieldShape(), (Shape{1, 3}));
    const Tensor in = bench.input(FLOAT, {1, 1, 1, 4}, {-1, -2, -3, -4});
    bench.watch("max", popnn::pooling::pool(bench.graph, params, in, bench.prog));
    const PoolParams truncated(PoolingType::MAX, {1, 4}, {1, 2}, {1, 1}, {0, -1}, {0, -1}, 1, 1, FLOAT);
    bench.watch("truncated", popnn::pooling::pool(bench.graph, truncated, in, bench.prog));
    bench.run();
    EXPECT_EQ(bench.values("max"), (Values{-1, -2, -4}));
    EXPECT_EQ(bench.values("truncated"), (Values{-2}));
}

TEST(Pooling, GradientsEqualFiniteDifferences) {
    for (const auto& [stride, lower, upper] : {std::tuple{1u, 0, 0}, {2u, 1, 1}, {2u, -1, 0}}) {
        const PoolParams params = pool_params(stride, lower, upper);
        const auto field = params.getOutputFieldShape();
        const std::size_t outputs = 6 * field[0] * field[1];
        Values x(180);  // far enough from each other that no step changes a maximum
        for (std::size_t i = 0; i < x.size(); ++i)
            x[i] = 0.01f * static_cast<float>(i * 77 % 180);
        const Values direction = random_values(outputs, 9);
        Bench bench;
        const Tensor in = bench.input(FLOAT, {2, 3, 6, 5}, x);
        const Tensor pooled = popnn::pooling::pool(bench.graph, params, in, bench.prog);
        const Tensor grads = bench.input(FLOAT, pooled.shape(), direction);
        const Tensor gradient =
            popnn::pooling::poolInputGradient(bench.graph, params, in, pooled, grads, false, bench.prog);
        const auto forward = [&](const Values& v) {
            Bench other;
            return other.result(
                popnn::pooling::pool(other.graph, params, other.input(FLOAT, {2, 3, 6, 5}, v), other.prog));
        };
        expect_gradient(forward, x, direction, bench.result(gradient), 0x1p-12f, 5e-3, 30);
    }
}

TEST(Pooling, EveryMaximumOfAWindowGetsTheGradient) {
    const PoolParams params(PoolingType::MAX, {1, 4}, {1, 4}, {1, 1}, {0, 0}, {0, 0}, 1, 1, FLOAT);
    Bench bench;
    const Tensor in = bench.input(FLOAT, {1, 1, 1, 4}, {5, 1, 5, 2});
    const Tensor pooled = popnn::pooling::pool(bench.graph, params, in, bench.prog);
    const Tensor grads = bench.input(FLOAT, {1, 1, 1, 1}, {3});
    EXPECT_THROW(popnn::pooling::poolInputGradient(bench.graph, params, in, pooled, grads, true, bench.prog),
                 poputil::poplibs_error);
    EXPECT_EQ(
        bench.result(popnn::pooling::poolInputGradient(bench.graph, params, in, pooled, grads, false, bench.prog)),
        (Values{3, 0, 3, 0}));
}

}  // namespace
