// Chosen splits against all splits that there are.
#include "insight/plan/pipeline_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::plan {
namespace {

using Splits = std::vector<std::size_t>;

NetworkCost network_of(const std::vector<double>& ms, Kept kept = Kept::results) {
    NetworkCost network{.functions = {}, .results = {}, .kept = kept};
    for (const double each : ms)
        network.functions.push_back({{each / 4, each * 3 / 4}, 0});
    return network;
}

/// Each stage on a lane of its own, or all on one.
std::vector<std::int32_t> lanes_for(const schedule::Pipeline& pipeline, schedule::Workers workers) {
    std::vector<std::int32_t> lane_of(static_cast<std::size_t>(pipeline.stages), 0);
    if (workers == schedule::Workers::several) std::iota(lane_of.begin(), lane_of.end(), 0);
    return lane_of;
}

std::vector<StageCost> costs_of(const schedule::Pipeline& pipeline, const NetworkCost& network, const Splits& splits,
                                schedule::Workers workers = schedule::Workers::one) {
    return stage_costs(pipeline, network, splits, lanes_for(pipeline, workers));
}

/// Every way to cut `functions` functions into `stages` stages.
void all_splits(std::size_t functions, std::int32_t stages, Splits& begun, std::vector<Splits>& all) {
    if (std::ssize(begun) == stages - 1) {
        all.push_back(begun);
        return;
    }
    for (std::size_t next = begun.empty() ? 1 : begun.back() + 1; next < functions; ++next) {
        begun.push_back(next);
        all_splits(functions, stages, begun, all);
        begun.pop_back();
    }
}

struct Case {
    schedule::Pipeline pipeline;
    NetworkCost network;
    schedule::Workers workers = schedule::Workers::one;
    std::vector<Splits> all;
};

struct Judged {
    double longest = 0;
    double squares = 0;
    std::uint64_t memory = 0;  // of the stage that needs most
};

Judged judge(const Case& made, const Splits& splits) {
    Judged judged;
    for (const StageCost& stage : costs_of(made.pipeline, made.network, splits, made.workers)) {
        const double ms = stage.times.total();
        judged.longest = std::max(judged.longest, ms);
        judged.squares += ms * ms;
        judged.memory = std::max(judged.memory, stage.memory_bytes());
    }
    return judged;
}

/// Adds results of a function for its own passes and the passes of the next one: what other stages read, the next stage
/// reads.
template <typename From> void add_results(NetworkCost& network, std::size_t function, bool has_next, From from) {
    for (int count = from(0, 2); count > 0; --count) {
        PassResult result{static_cast<std::uint64_t>(from(0, 9)), function};
        const auto reader = [&] { return function + (has_next ? static_cast<std::size_t>(from(0, 1)) : 0); };
        result.forward_readers = {reader()};
        if (from(0, 1) == 0) result.backward_readers = {reader()};
        network.results.push_back(result);
    }
    if (has_next)
        network.results.push_back({static_cast<std::uint64_t>(from(0, 9)), function + 1, true, {}, {function}});
}

template <typename Check> void for_random_cases(Check check) {
    std::mt19937 random(3);
    const auto from = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
    for (int i = 0; i < 200; ++i) {
        SCOPED_TRACE("case " + std::to_string(i));
        Case made;
        const int functions = from(1, 9);
        for (int k = 0; k < functions; ++k) {
            // Quarters add up without rounding.
            made.network.functions.push_back(
                {{0.25 * from(0, 9), 0.25 * from(0, 9)}, static_cast<std::uint64_t>(from(0, 50))});
            add_results(made.network, static_cast<std::size_t>(k), k + 1 < functions, from);
        }
        made.pipeline = {from(1, functions), static_cast<schedule::PipelineSchedule>(from(0, 2))};
        made.network.kept = from(0, 1) == 0 ? Kept::results : Kept::inputs;
        made.workers = from(0, 1) == 0 ? schedule::Workers::one : schedule::Workers::several;
        Splits begun;
        all_splits(made.network.functions.size(), made.pipeline.stages, begun, made.all);
        check(made);
    }
}

TEST(StageCosts, OfAStageBeforeAllFunctionsAreNone) {
    const std::vector<StageCost> costs =
        costs_of({2, schedule::PipelineSchedule::grouped}, network_of({4, 8}, Kept::inputs), Splits{0});
    EXPECT_EQ(costs[0].times.total(), 0);
    EXPECT_EQ(costs[0].memory_bytes(), 0U);
    EXPECT_EQ(costs[1].times.total(), 12);
}

TEST(Balance, NoOtherSplitsAreBetter) {
    for_random_cases([](const Case& made) {
        const Judged chosen = judge(made, best_splits(made.pipeline, made.network, made.workers));
        for (const Splits& splits : made.all) {
            const Judged other = judge(made, splits);
            EXPECT_LE(chosen.longest, other.longest);
            if (other.longest > chosen.longest) continue;
            EXPECT_LE(chosen.squares, other.squares);
        }
    });
}

TEST(Balance, NoOtherSplitsWithinTheLimitAreBetter) {
    for_random_cases([](const Case& made) {
        std::vector<std::uint64_t> needed;
        for (const Splits& splits : made.all)
            needed.push_back(judge(made, splits).memory);
        const auto [least, most] = std::ranges::minmax_element(needed);
        const std::uint64_t limit = (*least + *most) / 2;
        const Judged chosen = judge(made, best_splits(made.pipeline, made.network, made.workers, limit));
        EXPECT_LE(chosen.memory, limit);
        for (const Splits& splits : made.all) {
            const Judged other = judge(made, splits);
            if (other.memory > limit) continue;
            EXPECT_LE(chosen.longest, other.longest);
            if (other.longest > chosen.longest) continue;
            EXPECT_LE(chosen.squares, other.squares);
        }
    });
}

TEST(Balance, TheLeastLimitThatFitsIsNamed) {
    for_random_cases([](const Case& made) {
        std::uint64_t least = UINT64_MAX;
        for (const Splits& splits : made.all)
            least = std::min(least, judge(made, splits).memory);
        EXPECT_NO_THROW(best_splits(made.pipeline, made.network, made.workers, least));
        if (least == 0) return;
        EXPECT_THAT(
            message_of(ErrorKind::usage, [&] { best_splits(made.pipeline, made.network, made.workers, least - 1); }),
            HasSubstr(std::to_string(least)));
    });
}

TEST(Balance, ExamplesAreCutWhereOneWould) {
    const auto splits = [](std::int32_t stages, const std::vector<double>& ms) {
        return best_splits({stages, schedule::PipelineSchedule::grouped}, network_of(ms), schedule::Workers::one);
    };
    EXPECT_THAT(splits(1, {4, 4}), IsEmpty());
    EXPECT_THAT(splits(2, {4, 4, 4, 4}), ElementsAre(2));
    EXPECT_THAT(splits(3, {1, 1, 1, 9, 1, 1}), ElementsAre(3, 4));
    EXPECT_THAT(splits(4, {8, 1, 1, 1, 1, 1, 1}), ElementsAre(1, 3, 5));
    EXPECT_THAT(splits(3, {2, 2, 2}), ElementsAre(1, 2));
}

TEST(Balance, WhatTakesNoTimeStaysWithWhatIsBefore) {
    EXPECT_THAT(
        best_splits({2, schedule::PipelineSchedule::grouped}, network_of({4, 0, 0, 4, 0}), schedule::Workers::one),
        ElementsAre(3));
}

/// Grouped keeps three micro-batches of the first of two stages and one of the second.
TEST(Balance, ALimitMovesSplitsTowardsTheFrontOfALongPipeline) {
    NetworkCost network = network_of({4, 4, 4, 4});
    for (std::size_t i = 0; i < network.functions.size(); ++i) {
        network.functions[i].parameter_bytes = 10;
        network.results.push_back({100, i, false, {}, {i}});
    }
    constexpr schedule::Pipeline kTwo{2, schedule::PipelineSchedule::grouped};
    const auto stages = costs_of(kTwo, network, best_splits(kTwo, network, schedule::Workers::one));
    EXPECT_EQ(stages[0].memory_bytes(), 620U);
    EXPECT_EQ(stages[1].memory_bytes(), 220U);
    EXPECT_THAT(best_splits(kTwo, network, schedule::Workers::one, 330), ElementsAre(1));
    EXPECT_THROW(best_splits(kTwo, network, schedule::Workers::one, 329), Error);
}

TEST(Balance, ThereAreNoMoreStagesThanFunctions) {
    EXPECT_THAT(
        message_of(
            ErrorKind::usage,
            [&] {
                best_splits({4, schedule::PipelineSchedule::grouped}, network_of({1, 2, 3}), schedule::Workers::one);
            }),
        AllOf(HasSubstr("3 functions"), HasSubstr("1 to 3 stages, not 4")));
}

NetworkCost three_functions() {
    return {.functions = {{{1, 2}, 10}, {{3, 4}, 20}, {{5, 6}, 30}},
            .results = {{5, 0, false, {1}, {0}}, {6, 1, false, {2}, {1, 2}}, {7, 2, false, {2}, {2}}}};
}

TEST(Balance, StagesAreTheSumsOfTheirFunctions) {
    const auto stages = costs_of({2, schedule::PipelineSchedule::grouped}, three_functions(), Splits{2});
    ASSERT_EQ(stages.size(), 2U);
    EXPECT_EQ(stages[0].first, 0U);
    EXPECT_EQ(stages[0].end, 2U);
    EXPECT_DOUBLE_EQ(stages[0].times.forward_ms, 4);
    EXPECT_DOUBLE_EQ(stages[0].times.backward_ms, 6);
    EXPECT_EQ(stages[0].stash_depth, 3);
    EXPECT_EQ(stages[0].memory_bytes(), 30U + 3 * 11);
    EXPECT_EQ(stages[1].memory_bytes(), 30U + 7);
    EXPECT_DOUBLE_EQ(imbalance(stages), 11 / 10.5);
}

TEST(Balance, ASplitBeforeTheFirstFunctionLeavesTheFirstStageEmpty) {
    const NetworkCost network{.functions = {{{1, 2}, 10}, {{3, 4}, 20}}};
    constexpr auto kGrouped = schedule::PipelineSchedule::grouped;
    const auto stages = costs_of({2, kGrouped}, network, Splits{0});
    EXPECT_EQ(stages[0].end, 0U);
    EXPECT_DOUBLE_EQ(stages[0].times.total(), 0);
    EXPECT_DOUBLE_EQ(stages[1].times.total(), 10);
    EXPECT_THROW(costs_of({3, kGrouped}, network, Splits{1, 1}), Error);
    EXPECT_THROW(costs_of({2, kGrouped}, network, Splits{2}), Error);
}

/// Whoever keeps its inputs only does its forward pass twice. The inputs lie with the stage that has made them.
TEST(Balance, StagesThatKeepTheirInputsComputeTheirResultsAgain) {
    NetworkCost network = three_functions();
    network.kept = Kept::inputs;
    network.results.push_back({1000, 0, false, {0}, {0}});  // of no other stage's business
    const auto stages = costs_of({3, schedule::PipelineSchedule::grouped}, network, Splits{1, 2});
    ASSERT_EQ(stages.size(), 3U);
    EXPECT_DOUBLE_EQ(stages[0].times.backward_ms, 2 + 1);
    EXPECT_EQ(stages[0].memory_bytes(), 10U + 5 * 5);  // stage 0 itself reads the 5 bytes last
    EXPECT_DOUBLE_EQ(stages[1].times.backward_ms, 4 + 3);
    EXPECT_EQ(stages[1].memory_bytes(), 20U + 3 * 6);
    EXPECT_DOUBLE_EQ(stages[2].times.backward_ms, 6);
    EXPECT_EQ(stages[2].memory_bytes(), 30U + 7);
}

/// Three stages, Grouped: slots 0, 1, 2 forward and 3, 4, 5 backward, one tick from each to the next.
TEST(Balance, WhatIsSentOnHasThePlacesOfItsWay) {
    const auto sent = [](const PassResult& result, schedule::Workers workers, Kept kept = Kept::results) {
        const NetworkCost network{.functions = std::vector<FunctionCost>(3), .results = {result}, .kept = kept};
        return costs_of({3, schedule::PipelineSchedule::grouped}, network, Splits{1, 2}, workers)[result.maker]
            .handed_on_bytes;
    };
    const PassResult forward_only{1, 0, false, {1}, {}};
    EXPECT_EQ(sent(forward_only, schedule::Workers::one), 1U);
    EXPECT_EQ(sent(forward_only, schedule::Workers::several), 2U);
    EXPECT_EQ(sent(forward_only, schedule::Workers::one, Kept::inputs), 4U) << "stage 1 begins with it again in slot 4";
    const PassResult kept_by_reader{1, 0, false, {1}, {1}};
    EXPECT_EQ(sent(kept_by_reader, schedule::Workers::one), 4U);
    EXPECT_EQ(sent(kept_by_reader, schedule::Workers::several), 5U);
    const PassResult to_the_last{1, 1, false, {2}, {}};
    EXPECT_EQ(sent(to_the_last, schedule::Workers::one, Kept::inputs), 1U) << "the last stage computes nothing again";
    const PassResult gradient{1, 1, true, {}, {0}};
    EXPECT_EQ(sent(gradient, schedule::Workers::one), 1U);
    EXPECT_EQ(sent(gradient, schedule::Workers::several), 3U);
}

}  // namespace
}  // namespace cnntrain::plan
