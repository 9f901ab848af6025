// What draws random bits, from which state, and whose state advances.
#include <gtest/gtest.h>

#include <poplar/CSRFunctions.hpp>
#include <poplar/RandomSeed.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>
#include <popnn/BatchNorm.hpp>
#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Reduce.hpp>
#include <poprand/RandomGen.hpp>

#include <algorithm>
#include <functional>
#include <latch>
#include <numeric>

#include "ipu_emulator/machine_support.h"
#include "ipu_emulator/model/host_op.h"
#include "ipu_emulator/model/op_run.h"
#include "ipu_emulator/numerics/threads.h"

namespace {

using namespace ipu_emulator::test;
using namespace popops::expr;
using poplar::FLOAT;
using poplar::HALF;
using poplar::Tensor;
using poplar::UNSIGNED_INT;
using Values = std::vector<float>;

/// Whether the state of the hardware's generators is the same after `work`, under stochastic rounding.
bool leaves_the_state(Bench& bench, const std::function<void()>& work) {
    poplar::setStochasticRounding(bench.graph, bench.prog, true);
    const Tensor before = poplar::getHwSeeds(bench.graph, bench.prog);
    work();
    const Tensor after = poplar::getHwSeeds(bench.graph, bench.prog);
    return bench.result(popops::reduce(bench.graph, popops::eq(bench.graph, before, after, bench.prog), {0, 1, 2},
                                       {popops::Operation::LOGICAL_AND}, bench.prog))[0] == 1;
}

TEST(Random, SeededHalvesFollowFromTheSeedAlone) {
    Bench bench;
    const Tensor reference = bench.variable(FLOAT, {1000});
    const Tensor seed = bench.input(UNSIGNED_INT, {2}, {1, 2});
    const auto draw = [&](const std::string& name) {
        bench.watch("uniform " + name, poprand::uniform(bench.graph, &seed, 3, reference, HALF, 0, 1, bench.prog));
        bench.watch("normal " + name, poprand::normal(bench.graph, &seed, 4, reference, HALF, 0, 1, bench.prog));
    };
    draw("nearest");
    EXPECT_TRUE(leaves_the_state(bench, [&] {
        draw("first");
        draw("second");
    }));
    for (const std::string kind : {"uniform ", "normal "}) {
        EXPECT_EQ(bench.values(kind + "first"), bench.values(kind + "second"));
        EXPECT_EQ(bench.values(kind + "first"), bench.values(kind + "nearest"));
    }
}

TEST(Random, NumbersWithoutASeedAdvanceTheState) {
    Bench bench;
    const Tensor reference = bench.variable(FLOAT, {1000});
    EXPECT_FALSE(
        leaves_the_state(bench, [&] { poprand::uniform(bench.graph, nullptr, 3, reference, HALF, 0, 1, bench.prog); }));
}

TEST(Random, BoundsAreNeverExceeded) {
    // Neither bound is a number of half or of float; the nearest ones lie outside.
    for (const auto& [low, high] : std::vector<std::pair<double, double>>{{0.1, 0.3}, {-0.3, -0.1}, {0, 0.3}}) {
        for (const poplar::Type type : {HALF, FLOAT}) {
            for (const bool stochastic : {false, true}) {
                Bench bench;
                poplar::setStochasticRounding(bench.graph, bench.prog, stochastic);
                const Tensor reference = bench.variable(FLOAT, {100000});
                const Tensor seed = bench.input(UNSIGNED_INT, {2}, {1, 2});
                const Values values =
                    bench.result(poprand::uniform(bench.graph, &seed, 3, reference, type, low, high, bench.prog));
                EXPECT_GE(static_cast<double>(*std::ranges::min_element(values)), low);
                EXPECT_LE(static_cast<double>(*std::ranges::max_element(values)), high);
                EXPECT_NEAR(std::accumulate(values.begin(), values.end(), 0.0) / 100000, (low + high) / 2, 2e-3);
            }
        }
    }
}

/// A matrix product, a convolution or its weight gradient with these partials: a FLOAT tensor.
Tensor float_result(Bench& bench, int kind, const poplar::OptionFlags& options) {
    if (kind == 0) {
        const Tensor a = bench.input(HALF, {16, 64}, random_values(1024, 1));
        const Tensor b = bench.input(HALF, {64, 16}, random_values(1024, 2));
        return poplin::matMul(bench.graph, a, b, bench.prog, FLOAT, {}, options);
    }
    const poplin::ConvParams params(HALF, FLOAT, 2, {6, 6}, {3, 3}, 32, 16, 1);
    const Tensor in = bench.input(HALF, {2, 32, 6, 6}, random_values(2304, 1));
    if (kind == 1) {
        const Tensor weights = bench.input(HALF, {1, 16, 32, 3, 3}, random_values(4608, 2));
        return poplin::convolution(bench.graph, in, weights, params, false, bench.prog, {}, options);
    }
    const Tensor deltas = bench.input(HALF, {2, 16, 4, 4}, random_values(512, 2));
    return poplin::calculateWeightDeltas(bench.graph, deltas, in, params, bench.prog, {}, options);
}

TEST(HardwareSeeds, HalfPartialsAdvanceThemWhateverTheResultIs) {
    for (const int kind : {0, 1, 2}) {
        Bench bench;
        poplar::setStochasticRounding(bench.graph, bench.prog, true);
        bench.watch("t", float_result(bench, kind, {{"partialsType", "half"}}));
        bench.run();
        const Values first = bench.values("t");
        bench.engine().run();
        EXPECT_NE(bench.values("t"), first) << "a second run rounds otherwise; kind " << kind;
    }
}

TEST(HardwareSeeds, PartialsThatAreNotRoundedStochasticallyLeaveThem) {
    for (const poplar::OptionFlags& options :
         {poplar::OptionFlags{{"partialsType", "float"}},
          poplar::OptionFlags{{"partialsType", "half"}, {"disableSRForAMPVertices", "true"}}}) {
        Bench bench;
        EXPECT_TRUE(leaves_the_state(bench, [&] { float_result(bench, 0, options); }));
    }
}

/// 1000 values on each of `threads` host threads, which all round at the same time, on one replica.
Values rounded_by(unsigned threads) {
    ipu_emulator::set_host_threads(threads);
    Bench bench;
    poplar::setStochasticRounding(bench.graph, bench.prog, true);
    const Tensor halves = bench.variable(HALF, {4000});
    std::latch all_there(threads);
    bench.prog.add(ipu_emulator::make_op({.name = "round", .writes = {halves}, .run = [&](ipu_emulator::OpRun& run) {
                                              const Values values(1000, 1.0f + 0x1p-11f);
                                              run.parallel(4, [&](std::size_t i) {
                                                  if (threads == 4) all_there.arrive_and_wait();
                                                  run.write().store(i * 1000, 1000, values.data());
                                              });
                                          }}));
    const Values result = bench.result(halves);
    ipu_emulator::set_host_threads(0);
    return result;
}

TEST(HardwareSeeds, RoundingDoesNotDependOnTheThreadThatRounds) {
    const Values once = rounded_by(1);
    EXPECT_NE(*std::ranges::min_element(once), *std::ranges::max_element(once)) << "it is stochastic";
    EXPECT_EQ(once, rounded_by(4));
}

double mean_of(const Values& values) {
    return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TEST(Map, CastsInsideAFormulaRoundAsTheTileDoes) {
    const float value = 1.0f + 0x1p-12f;  // a quarter of the way from one half to the next
    Bench bench;
    poplar::setStochasticRounding(bench.graph, bench.prog, true);
    const Tensor x = bench.input(FLOAT, {100000}, Values(100000, value));
    bench.watch("result", popops::map(bench.graph, Cast(_1, HALF), {x}, bench.prog));
    bench.watch("inside", popops::map(bench.graph, Cast(Cast(_1, HALF), FLOAT), {x}, bench.prog));
    bench.run();
    const Values first = bench.values("inside");
    EXPECT_EQ(first, as_halves(first));
    EXPECT_NEAR(mean_of(first), static_cast<double>(value), 1e-5);
    EXPECT_NEAR(mean_of(bench.values("result")), static_cast<double>(value), 1e-5);
    bench.engine().run();
    EXPECT_NE(bench.values("inside"), first);
}

TEST(Map, CastsInsideAFormulaOverflowAsTheTileDoes) {
    Bench bench;
    const Tensor x = bench.input(FLOAT, {1}, {1e9f});
    EXPECT_EQ(bench.result(popops::map(bench.graph, Cast(Cast(_1, HALF), FLOAT), {x}, bench.prog)), Values{65504});
}

TEST(Map, CastsInsideAFormulaRoundToNearestOtherwise) {
    Bench bench;
    const Tensor x = bench.input(FLOAT, {2}, {1.0f + 0x1p-12f, 1.0f + 0x1.8p-11f});
    EXPECT_EQ(bench.result(popops::map(bench.graph, Cast(Cast(_1, HALF), FLOAT), {x}, bench.prog)),
              (Values{1, 1.0f + 0x1p-10f}));
}

TEST(BatchNorm, StatisticsAndGradientsRoundStochastically) {
    // Every channel has the mean 1 + 2^-11, half way between two halves, and the same gradients.
    constexpr std::size_t kChannels = 2000;
    Values acts(2 * kChannels, 1.0f);
    std::fill(acts.begin() + kChannels, acts.end(), 1.0f + 0x1p-10f);
    Values grads(2 * kChannels, 1.0f);
    std::fill(grads.begin() + kChannels, grads.end(), 0x1p-11f);
    Bench bench;
    poplar::setStochasticRounding(bench.graph, bench.prog, true);
    const Tensor x = bench.input(HALF, {2, kChannels}, acts);
    const auto [mean, inverse] = popnn::bn::batchNormStatistics(bench.graph, x, 0.1f, bench.prog, false);
    const auto [gamma, beta] =
        popnn::bn::batchNormParamGradients(bench.graph, x, bench.input(HALF, {2, kChannels}, grads), bench.prog);
    bench.watch("mean", mean);
    bench.watch("inverse", inverse);
    bench.watch("beta", beta);
    bench.run();
    for (const std::string name : {"mean", "beta"}) {
        const Values values = bench.values(name);
        EXPECT_NEAR(mean_of(values), 1 + 0x1p-11, 0x1p-11 * 0.2) << name;
        EXPECT_NE(*std::ranges::min_element(values), *std::ranges::max_element(values)) << name;
    }
    const Values values = bench.values("inverse");
    EXPECT_NE(*std::ranges::min_element(values), *std::ranges::max_element(values));
}

TEST(FloatingPoint, BehaviourIsModifiedAndRestored) {
    Bench bench;
    poplar::setFloatingPointBehaviour(bench.graph, bench.prog, {false, false, false, false, true});
    const Tensor x = bench.input(FLOAT, {1000}, Values(1000, 1.0f + 0x1p-11f));
    const Tensor big = bench.input(FLOAT, {1}, {1e9f});
    const Tensor before = poplar::getAndModifyFloatingPointBehaviour(
        bench.graph, bench.prog, {false, false, false, false, true}, {false, false, false, true, false});
    EXPECT_EQ(before.shape(), (std::vector<std::size_t>{8}));
    bench.watch("saturated", popops::cast(bench.graph, big, HALF, bench.prog));
    bench.watch("stochastic", popops::cast(bench.graph, x, HALF, bench.prog));
    poplar::setFloatingPointBehaviour(bench.graph, bench.prog, before);
    bench.watch("nan", popops::cast(bench.graph, big, HALF, bench.prog));
    bench.watch("nearest", popops::cast(bench.graph, x, HALF, bench.prog));
    bench.run();
    EXPECT_EQ(bench.values("saturated"), Values{65504});
    EXPECT_NEAR(mean_of(bench.values("stochastic")), 1 + 0x1p-11, 0x1p-11 * 0.2);
    EXPECT_NE(bench.values("nan"), bench.values("nan"));
    EXPECT_EQ(bench.values("nearest"), Values(1000, 1.0f));
}

}  // namespace
