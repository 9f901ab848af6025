// Operations that draw random bits, the state that they draw from and advance, and operations that trap.
#include <gtest/gtest.h>

#include <poplar/CSRFunctions.hpp>
#include <poplar/RandomSeed.hpp>
#include <poplar/exceptions.hpp>
#include <poplin/ConvUtil.hpp>
#include <poplin/Convolution.hpp>
#include <poplin/MatMul.hpp>
#include <popnn/BatchNorm.hpp>
#include <popops/Cast.hpp>
#include <popops/ElementWise.hpp>
#include <popops/Fill.hpp>
#include <popops/Reduce.hpp>
#include <popops/ScaledAdd.hpp>

#include <algorithm>
#include <cmath>
#include <functional>
#include <latch>
#include <limits>
#include <numeric>

#include "ipu_emulator/machine_support.h"
#include "ipu_emulator/model/op_run.h"

namespace {

using namespace ipu_emulator::test;
using namespace popops::expr;

/// 1 where a word along `dims` differs, else 0.
Tensor changes(Bench& bench, const Tensor& before, const Tensor& after, const Shape& dims) {
    const Tensor differs = popops::map(bench.graph, Cast(!(_1 == _2), INT), {before, after}, bench.prog);
    return popops::reduce(bench.graph, differs, dims, {popops::Operation::MAX}, bench.prog);
}

/// True if the state of the hardware's generators is the same after `work`, under stochastic rounding.
bool leaves_the_state(Bench& bench, const std::function<void()>& work) {
    poplar::setStochasticRounding(bench.graph, bench.prog, true);
    const Tensor before = poplar::getHwSeeds(bench.graph, bench.prog);
    work();
    const Tensor after = poplar::getHwSeeds(bench.graph, bench.prog);
    return bench.result(changes(bench, before, after, {0, 1, 2}))[0] == 0;
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
    const HostThreads host(threads);
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
    return bench.result(halves);
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
    // Every channel has the mean 1 + 2^-11, half way between two halves. So are the gradients of the first sample.
    constexpr std::size_t kChannels = 2000;
    const Values ones(kChannels, 1.0f);
    Values acts(2 * kChannels, 1.0f);
    std::fill(acts.begin() + kChannels, acts.end(), 1.0f + 0x1p-10f);
    Values grads(2 * kChannels, 1.0f + 0x1p-10f);
    std::fill(grads.begin() + kChannels, grads.end(), -1.0f);
    Bench bench;
    poplar::setStochasticRounding(bench.graph, bench.prog, true);
    const Tensor x = bench.input(HALF, {2, kChannels}, acts);
    const auto [mean, inverse] =
        popnn::bn::distributedBatchNormStatistics(bench.graph, x, 0.1f, bench.prog, false, {}, 2);
    const Tensor gradient = popnn::bn::distributedBatchNormGradients(
        bench.graph, bench.input(HALF, {2, kChannels}, Values(2 * kChannels, 0.0f)),
        bench.input(HALF, {2, kChannels}, grads), bench.input(HALF, {kChannels}, ones),
        bench.input(HALF, {kChannels}, ones), bench.prog, {}, 2);
    bench.watch("mean", mean);
    bench.watch("inverse", inverse);
    bench.watch("gradient", gradient[0]);
    bench.run();
    for (const std::string name : {"mean", "gradient"}) {
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
    EXPECT_EQ(before.shape(), (Shape{8}));
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

/// Values that round to half stochastically, on 8 tiles, in one or several runs.
Values stochastic_values(unsigned threads, bool restored, unsigned replica = 0) {
    const HostThreads host(threads);
    Bench bench(2);
    const Tensor x = bench.input(FLOAT, {3000}, random_values(3000, 5));
    const Tensor sums = bench.input(HALF, {3000}, Values(3000, 0.0f));
    poplar::setStochasticRounding(bench.graph, bench.prog, true);
    const Tensor seeds = poplar::getHwSeeds(bench.graph, bench.prog);
    popops::scaledAddTo(bench.graph, sums, x, 1.0f, bench.prog);
    if (restored) poplar::setHwSeeds(bench.graph, seeds, bench.prog);
    const Tensor second = bench.input(HALF, {3000}, Values(3000, 0.0f));
    popops::scaledAddTo(bench.graph, second, x, 1.0f, bench.prog);
    bench.watch("first", sums);
    bench.watch("second", second);
    bench.run();
    Values result = bench.values("first", replica);
    const Values more = bench.values("second", replica);
    result.insert(result.end(), more.begin(), more.end());
    return result;
}

TEST(HardwareSeeds, RoundingDoesNotDependOnHostThreads) {
    // One replica, whose elements are shared out to the threads.
    const auto rounded = [](unsigned threads) {
        const HostThreads host(threads);
        Bench bench;
        poplar::setStochasticRounding(bench.graph, bench.prog, true);
        const Tensor x = bench.input(FLOAT, {100000}, random_values(100000, 5));
        return bench.result(popops::cast(bench.graph, x, HALF, bench.prog));
    };
    const Values once = rounded(1);
    EXPECT_NE(once, as_halves(random_values(100000, 5))) << "it is stochastic";
    EXPECT_EQ(once, rounded(4));
    EXPECT_EQ(once, rounded(3));
    EXPECT_EQ(stochastic_values(1, false), stochastic_values(4, false)) << "replicas side by side";
}

TEST(HardwareSeeds, RestoredSeedsReplayTheRounding) {
    const Values replayed = stochastic_values(2, true);
    EXPECT_TRUE(std::equal(replayed.begin(), replayed.begin() + 3000, replayed.begin() + 3000));
    const Values other = stochastic_values(2, false);
    EXPECT_FALSE(std::equal(other.begin(), other.begin() + 3000, other.begin() + 3000));
    EXPECT_NE(stochastic_values(1, false, 0), stochastic_values(1, false, 1)) << "replicas round on their own";
}

TEST(HardwareSeeds, OnlyTilesThatDrawAdvance) {
    Bench bench;
    poplar::setStochasticRounding(bench.graph, bench.prog, true);
    const Tensor before = poplar::getHwSeeds(bench.graph, bench.prog);
    EXPECT_EQ(before.shape(), (Shape{8, 6, 4}));
    const Tensor t = bench.graph.addVariable(HALF, {16});
    bench.graph.setTileMapping(t, 3);
    popops::fill(bench.graph, t, bench.prog, 0.1f);
    const Tensor after = poplar::getHwSeeds(bench.graph, bench.prog);
    EXPECT_EQ(bench.result(changes(bench, before, after, {1, 2})), (Values{0, 0, 0, 1, 0, 0, 0, 0}));
}

TEST(FloatingPoint, TrapsAndOverflow) {
    for (const bool traps : {false, true}) {
        Bench bench;
        poplar::setFloatingPointBehaviour(bench.graph, bench.prog, {traps, traps, traps, false, true});
        const Tensor t = bench.input(FLOAT, {1}, {70000});
        const Tensor half = popops::cast(bench.graph, t, HALF, bench.prog);
        if (traps) {
            EXPECT_THROW(bench.run(), poplar::application_runtime_error);
        } else {
            EXPECT_TRUE(std::isnan(bench.result(half)[0]));
        }
    }
    Bench division;
    popops::mapInPlace(division.graph, 1.0f / _1, {division.input(FLOAT, {3}, {1, 0, 2})}, division.prog);
    EXPECT_NO_THROW(division.run());
    Bench trapping;
    popops::mapInPlace(trapping.graph, 1.0f / _1, {trapping.input(FLOAT, {3}, {1, 0, 2})}, trapping.prog);
    EXPECT_THROW(trapping.run({{"debug.floatPointOpException", "true"}}), poplar::application_runtime_error);
    Bench saturating;
    const Tensor big = saturating.input(FLOAT, {1}, {-1e9f});
    EXPECT_EQ(saturating.result(popops::cast(saturating.graph, big, HALF, saturating.prog)), Values{-65504});
}

/// True if a formula of `value` traps.
bool traps(const popops::expr::Expr& formula, float value) {
    Bench bench;
    poplar::setFloatingPointBehaviour(bench.graph, bench.prog, {true, true, true, false, true});
    popops::map(bench.graph, formula, {bench.input(FLOAT, {16}, Values(16, value))}, bench.prog);
    try {
        bench.run();
    } catch (const poplar::application_runtime_error&) {
        return true;
    }
    return false;
}

TEST(FloatingPoint, HarmlessOperationsDoNotTrap) {
    for (const float x : {-1000.0f, -100.0f, 100.0f}) {
        EXPECT_FALSE(traps(Sigmoid(_1), x)) << x;
        EXPECT_FALSE(traps(_1 * Sigmoid(_1), x)) << x;
    }
    const float nan = std::numeric_limits<float>::quiet_NaN();
    EXPECT_FALSE(traps(IsFinite(_1), nan));
    EXPECT_TRUE(traps(Sqrt(_1), -1));
    EXPECT_TRUE(traps(Square(_1), 1e30f));
}

}  // namespace
