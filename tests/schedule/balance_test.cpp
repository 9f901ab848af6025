// Chosen splits against all splits that there are.
#include "cnntrain/schedule/balance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"

namespace cnntrain::schedule {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Splits = std::vector<std::size_t>;

std::vector<FunctionCost> functions_of(const std::vector<double>& ms) {
    std::vector<FunctionCost> functions;
    for (const double each : ms)
        functions.push_back({{each / 4, each * 3 / 4}, 0, 0});
    return functions;
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
    Pipeline pipeline;
    Kept kept = Kept::results;
    std::vector<FunctionCost> functions;
    std::vector<Splits> all;
};

struct Judged {
    double longest = 0;
    double squares = 0;
    std::uint64_t memory = 0;  // of the stage that needs most
};

Judged judge(const Case& made, const Splits& splits) {
    Judged judged;
    for (const StageCost& stage : stage_costs(made.pipeline, made.functions, made.kept, splits)) {
        const double ms = stage.times.total();
        judged.longest = std::max(judged.longest, ms);
        judged.squares += ms * ms;
        judged.memory = std::max(judged.memory, stage.memory_bytes());
    }
    return judged;
}

template <typename Check> void for_random_cases(Check check) {
    std::mt19937 random(3);
    const auto from = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
    for (int i = 0; i < 200; ++i) {
        SCOPED_TRACE("case " + std::to_string(i));
        Case made;
        for (int k = from(1, 9); k > 0; --k) {
            // Quarters add up without rounding.
            made.functions.push_back({{0.25 * from(0, 9), 0.25 * from(0, 9)},
                                      static_cast<std::uint64_t>(from(0, 50)),
                                      static_cast<std::uint64_t>(from(0, 9)),
                                      static_cast<std::uint64_t>(from(0, 4))});
        }
        made.pipeline = {from(1, static_cast<int>(made.functions.size())), static_cast<PipelineSchedule>(from(0, 2))};
        made.kept = from(0, 1) == 0 ? Kept::results : Kept::inputs;
        Splits begun;
        all_splits(made.functions.size(), made.pipeline.stages, begun, made.all);
        check(made);
    }
}

TEST(StageCosts, OfAStageBeforeAllFunctionsAreNone) {
    const std::vector<StageCost> costs =
        stage_costs({2, PipelineSchedule::grouped}, functions_of({4, 8}), Kept::inputs, Splits{0});
    EXPECT_EQ(costs[0].times.total(), 0);
    EXPECT_EQ(costs[0].memory_bytes(), 0U);
    EXPECT_EQ(costs[1].times.total(), 12);
}

TEST(Balance, NoOtherSplitsAreBetter) {
    for_random_cases([](const Case& made) {
        const Judged chosen = judge(made, best_splits(made.pipeline, made.functions, made.kept));
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
        const Judged chosen = judge(made, best_splits(made.pipeline, made.functions, made.kept, limit));
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
        EXPECT_NO_THROW(best_splits(made.pipeline, made.functions, made.kept, least));
        if (least == 0) return;
        try {
            best_splits(made.pipeline, made.functions, made.kept, least - 1);
            ADD_FAILURE() << "a limit that nothing keeps";
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::usage);
            EXPECT_THAT(error.what(),
                        HasSubstr("the least limit that would fit is " + std::to_string(least) + " bytes"));
        }
    });
}

TEST(Balance, ExamplesAreCutWhereOneWould) {
    const auto splits = [](std::int32_t stages, const std::vector<double>& ms) {
        return best_splits({stages, PipelineSchedule::grouped}, functions_of(ms), Kept::results);
    };
    EXPECT_THAT(splits(1, {4, 4}), IsEmpty());
    EXPECT_THAT(splits(2, {4, 4, 4, 4}), ElementsAre(2));
    EXPECT_THAT(splits(3, {1, 1, 1, 9, 1, 1}), ElementsAre(3, 4));
    EXPECT_THAT(splits(4, {8, 1, 1, 1, 1, 1, 1}), ElementsAre(1, 3, 5));
    EXPECT_THAT(splits(3, {2, 2, 2}), ElementsAre(1, 2));
}

TEST(Balance, WhatTakesNoTimeStaysWithWhatIsBefore) {
    EXPECT_THAT(best_splits({2, PipelineSchedule::grouped}, functions_of({4, 0, 0, 4, 0}), Kept::results),
                ElementsAre(3));
}

/// Grouped keeps three micro-batches of the first of two stages and one of the second.
TEST(Balance, ALimitMovesSplitsTowardsTheFrontOfALongPipeline) {
    std::vector<FunctionCost> functions = functions_of({4, 4, 4, 4});
    for (FunctionCost& function : functions) {
        function.parameter_bytes = 10;
        function.stash_bytes = 100;
    }
    constexpr Pipeline kTwo{2, PipelineSchedule::grouped};
    const auto stages = stage_costs(kTwo, functions, Kept::results, best_splits(kTwo, functions, Kept::results));
    EXPECT_EQ(stages[0].memory_bytes(), 620U);
    EXPECT_EQ(stages[1].memory_bytes(), 220U);
    EXPECT_THAT(best_splits(kTwo, functions, Kept::results, 330), ElementsAre(1));
    EXPECT_THROW(best_splits(kTwo, functions, Kept::results, 329), Error);
}

TEST(Balance, ThereAreNoMoreStagesThanFunctions) {
    try {
        best_splits({4, PipelineSchedule::grouped}, functions_of({1, 2, 3}), Kept::results);
        ADD_FAILURE();
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::usage);
        EXPECT_THAT(error.what(), AllOf(HasSubstr("3 functions"), HasSubstr("1 to 3 stages, not 4")));
    }
}

TEST(Balance, StagesAreTheSumsOfTheirFunctions) {
    const std::vector<FunctionCost> functions = {{{1, 2}, 10, 5, 1}, {{3, 4}, 20, 6, 2}, {{5, 6}, 30, 7, 3}};
    const auto stages = stage_costs({2, PipelineSchedule::grouped}, functions, Kept::results, Splits{2});
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
    const std::vector<FunctionCost> functions = {{{1, 2}, 10, 5, 1}, {{3, 4}, 20, 6, 2}};
    const auto stages = stage_costs({2, PipelineSchedule::grouped}, functions, Kept::results, Splits{0});
    EXPECT_EQ(stages[0].end, 0U);
    EXPECT_DOUBLE_EQ(stages[0].times.total(), 0);
    EXPECT_DOUBLE_EQ(stages[1].times.total(), 10);
    EXPECT_THROW(stage_costs({3, PipelineSchedule::grouped}, functions, Kept::results, Splits{1, 1}), Error);
    EXPECT_THROW(stage_costs({2, PipelineSchedule::grouped}, functions, Kept::results, Splits{2}), Error);
}

/// Whoever keeps its inputs only does its forward pass twice.
TEST(Balance, StagesThatKeepTheirInputsComputeTheirResultsAgain) {
    const std::vector<FunctionCost> functions = {{{1, 2}, 10, 5, 1}, {{3, 4}, 20, 6, 2}, {{5, 6}, 30, 7, 3}};
    const auto stages = stage_costs({3, PipelineSchedule::grouped}, functions, Kept::inputs, Splits{1, 2});
    ASSERT_EQ(stages.size(), 3U);
    EXPECT_DOUBLE_EQ(stages[0].times.backward_ms, 2 + 1);
    EXPECT_EQ(stages[0].memory_bytes(), 10U + 5 * 1);
    EXPECT_DOUBLE_EQ(stages[1].times.backward_ms, 4 + 3);
    EXPECT_EQ(stages[1].memory_bytes(), 20U + 3 * 2);
    EXPECT_DOUBLE_EQ(stages[2].times.backward_ms, 6);
    EXPECT_EQ(stages[2].memory_bytes(), 30U + 7);
}

}  // namespace
}  // namespace cnntrain::schedule
