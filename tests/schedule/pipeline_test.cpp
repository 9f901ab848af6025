// The pipeline tables against what a pipeline is: every pass once, after what it needs, in no more memory than is said.
#include "cnntrain/parallel/pipeline.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "cnntrain/base/error.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::schedule {
namespace {

constexpr PipelineSchedule kSchedules[] = {PipelineSchedule::grouped, PipelineSchedule::interleaved,
                                           PipelineSchedule::sequential};
constexpr std::int32_t kMostStages = 8;

/// Calls `check` for 1 to 8 stages and all schedules.
template <typename Check> void for_each_pipeline(Check check) {
    for (const PipelineSchedule schedule : kSchedules) {
        for (std::int32_t stages = 1; stages <= kMostStages; ++stages) {
            SCOPED_TRACE(std::string(spelling(schedule)) + ", " + std::to_string(stages) + " stages");
            check(Pipeline{stages, schedule});
        }
    }
}

/// The same with 1 to 4K micro-batches, legal or not: the tables hold for all of them.
template <typename Check> void for_each_update(Check check) {
    for_each_pipeline([&](const Pipeline& pipeline) {
        for (std::int64_t micro_batches = 1; micro_batches <= 4 * pipeline.stages; ++micro_batches) {
            SCOPED_TRACE(std::to_string(micro_batches) + " micro-batches");
            check(pipeline, micro_batches);
        }
    });
}

using Key = std::tuple<std::int64_t, bool, std::int32_t>;

Key key(const StageWork& work) {
    return {work.micro_batch, work.backward, work.stage};
}

/// The work that must be done before this one: at most one piece.
std::vector<StageWork> needed_by(const Pipeline& pipeline, const StageWork& work) {
    if (!work.backward && work.stage > 0) return {{work.stage - 1, false, work.micro_batch}};
    if (work.backward && work.stage + 1 < pipeline.stages) return {{work.stage + 1, true, work.micro_batch}};
    if (work.backward) return {{work.stage, false, work.micro_batch}};
    return {};
}

TEST(PipelineTables, HaveEveryPassOnce) {
    for_each_update([](const Pipeline& pipeline, std::int64_t micro_batches) {
        std::set<Key> seen;
        const std::vector<StageWork> order = in_order(pipeline, micro_batches);
        for (const StageWork& work : order) {
            EXPECT_TRUE(seen.insert(key(work)).second);
            EXPECT_TRUE(0 <= work.stage && work.stage < pipeline.stages);
            EXPECT_TRUE(0 <= work.micro_batch && work.micro_batch < micro_batches);
        }
        EXPECT_EQ(std::ssize(order), pipeline.slots() * micro_batches);
    });
}

TEST(PipelineTables, AWorkStandsInItsTickOnly) {
    for_each_update([](const Pipeline& pipeline, std::int64_t micro_batches) {
        const std::int64_t ticks = tick_count(pipeline, micro_batches);
        for (std::int64_t tick = 0; tick < ticks; ++tick) {
            for (const StageWork& work : work_at(pipeline, micro_batches, tick))
                EXPECT_EQ(tick_of(pipeline, work), tick);
        }
        EXPECT_FALSE(work_at(pipeline, micro_batches, 0).empty());
        EXPECT_FALSE(work_at(pipeline, micro_batches, ticks - 1).empty());
        EXPECT_THAT(work_at(pipeline, micro_batches, -1), IsEmpty());
        EXPECT_THAT(work_at(pipeline, micro_batches, ticks), IsEmpty());
    });
}

TEST(PipelineTables, WhatIsNeededIsDoneInAnEarlierTickAndPlace) {
    for_each_update([](const Pipeline& pipeline, std::int64_t micro_batches) {
        std::set<Key> done;
        for (const StageWork& work : in_order(pipeline, micro_batches)) {
            for (const StageWork& needed : needed_by(pipeline, work)) {
                EXPECT_LT(tick_of(pipeline, needed), tick_of(pipeline, work));
                EXPECT_TRUE(done.contains(key(needed)));
            }
            done.insert(key(work));
        }
    });
}

/// The gradients of a stage are summed in the order of the micro-batches, whatever the schedule.
TEST(PipelineTables, AStageTakesTheMicroBatchesInTheirOrder) {
    for_each_update([](const Pipeline& pipeline, std::int64_t micro_batches) {
        std::map<std::pair<std::int32_t, bool>, std::int64_t> next;
        for (const StageWork& work : in_order(pipeline, micro_batches))
            EXPECT_EQ(work.micro_batch, next[std::pair(work.stage, work.backward)]++);
    });
}

TEST(PipelineTables, SlotsAreAsManyAsTicksOfOneMicroBatch) {
    for_each_pipeline([](const Pipeline& pipeline) {
        EXPECT_EQ(slot_of(pipeline, 0, false), 0);
        EXPECT_EQ(slot_of(pipeline, 0, true), pipeline.slots() - 1);
        EXPECT_EQ(tick_count(pipeline, 1), pipeline.slots());
    });
}

/// Most micro-batches at a time that have begun slot `first` and not ended slot `last`.
class Occupied {
public:
    void begin() { most_ = std::max(most_, ++now_); }
    void end() { --now_; }
    std::int64_t most() const { return most_; }

private:
    std::int64_t now_ = 0;
    std::int64_t most_ = 0;
};

std::int64_t slot(const Pipeline& pipeline, const StageWork& work) {
    return slot_of(pipeline, work.stage, work.backward);
}

/// One worker after the other in the order of the table.
std::int64_t occupied_by_one(const Pipeline& pipeline, std::int64_t micro_batches, std::int32_t first,
                             std::int32_t last) {
    Occupied occupied;
    for (const StageWork& work : in_order(pipeline, micro_batches)) {
        if (slot(pipeline, work) == first) occupied.begin();
        if (slot(pipeline, work) == last) occupied.end();
    }
    return occupied.most();
}

/// All work of a tick at the same time.
std::int64_t occupied_by_several(const Pipeline& pipeline, std::int64_t micro_batches, std::int32_t first,
                                 std::int32_t last) {
    Occupied occupied;
    for (std::int64_t tick = 0; tick < tick_count(pipeline, micro_batches); ++tick) {
        const std::vector<StageWork> all = work_at(pipeline, micro_batches, tick);
        for (const StageWork& work : all) {
            if (slot(pipeline, work) == first) occupied.begin();
        }
        for (const StageWork& work : all) {
            if (slot(pipeline, work) == last) occupied.end();
        }
    }
    return occupied.most();
}

TEST(PipelinePlaces, AreAsManyAsAreTakenAndNeverExceeded) {
    for_each_pipeline([](const Pipeline& pipeline) {
        const std::int64_t full = 4 * pipeline.stages;  // enough micro-batches to fill the pipeline
        for (std::int32_t first = 0; first < pipeline.slots(); ++first) {
            for (std::int32_t last = first; last < pipeline.slots(); ++last) {
                SCOPED_TRACE(std::to_string(first) + " to " + std::to_string(last));
                EXPECT_EQ(occupied_by_one(pipeline, full, first, last), in_flight(pipeline, first, last, Workers::one));
                EXPECT_EQ(occupied_by_several(pipeline, full, first, last),
                          in_flight(pipeline, first, last, Workers::several));
            }
        }
    });
}

TEST(PipelinePlaces, FewMicroBatchesTakeNoMore) {
    for_each_update([](const Pipeline& pipeline, std::int64_t micro_batches) {
        for (std::int32_t stage = 0; stage < pipeline.stages; ++stage) {
            const std::int32_t backward = slot_of(pipeline, stage, true);
            EXPECT_LE(occupied_by_one(pipeline, micro_batches, stage, backward), stash_depth(pipeline, stage));
            EXPECT_LE(occupied_by_several(pipeline, micro_batches, stage, backward),
                      in_flight(pipeline, stage, backward, Workers::several));
        }
    });
}

TEST(PipelinePlaces, OfAStageAreThoseOfTheFormulas) {
    for_each_pipeline([](const Pipeline& pipeline) {
        for (std::int32_t stage = 0; stage < pipeline.stages; ++stage) {
            const std::int64_t behind = pipeline.stages - 1 - stage;
            const std::map<PipelineSchedule, std::int64_t> formulas = {{PipelineSchedule::grouped, 2 * behind + 1},
                                                                       {PipelineSchedule::interleaved, behind + 1},
                                                                       {PipelineSchedule::sequential, 1}};
            EXPECT_EQ(stash_depth(pipeline, stage), formulas.at(pipeline.schedule));
        }
    });
}

TEST(PipelinePlaces, BatchesOfAllPipelinesAreKept) {
    Placement plan{.micro_batches = 16, .stages = 4, .schedule = PipelineSchedule::grouped};
    EXPECT_EQ(batches_in_flight(plan), 7);
    plan.lanes = 4;
    EXPECT_EQ(batches_in_flight(plan), 7);  // the first stage's lane takes a batch after it has given one back
    plan.pipelines = 2;
    EXPECT_EQ(batches_in_flight(plan), 14);
}

TEST(UpdatePlan, InOneLaneReplicasAreFurtherMicroBatches) {
    UpdatePlan plan{.micro_batch = 3, .accumulation = 4, .replicas = 6, .devices = {0, 1}};
    EXPECT_EQ(in_one_lane(plan), (Placement{.micro_batches = 24, .stages = 2, .samples = 3}));
    plan.norm_span = 2;  // of a process
    EXPECT_EQ(in_one_lane(plan), (Placement{.micro_batches = 12, .stages = 2, .samples = 6}));
    EXPECT_EQ(norm_processes(plan), 1);
    plan.norm_span = 12;  // of two processes
    EXPECT_EQ(in_one_lane(plan), (Placement{.micro_batches = 4, .stages = 2, .samples = 18}));
    EXPECT_EQ(norm_processes(plan), 2);
}

/// A table as the documents draw it: a row per stage, a cell per tick.
std::vector<std::string> drawn(const Pipeline& pipeline, std::int64_t micro_batches) {
    std::vector<std::string> rows(static_cast<std::size_t>(pipeline.stages));
    for (std::int64_t tick = 0; tick < tick_count(pipeline, micro_batches); ++tick) {
        std::vector<std::string> cells(rows.size());
        for (const StageWork& work : work_at(pipeline, micro_batches, tick)) {
            cells[static_cast<std::size_t>(work.stage)] +=
                (work.backward ? "B" : "F") + std::to_string(work.micro_batch);
        }
        for (std::size_t i = 0; i < rows.size(); ++i)
            rows[i] += (tick == 0 ? "" : " ") + (cells[i].empty() ? "." : cells[i]);
    }
    return rows;
}

TEST(PipelineTables, AreThoseOfTheDocuments) {
    EXPECT_THAT(drawn({2, PipelineSchedule::grouped}, 8),
                ElementsAre("F0 F1 F2 B0F3 B1F4 B2F5 B3F6 B4F7 B5 B6 B7",  //
                            ". F0 B0F1 B1F2 B2F3 B3F4 B4F5 B5F6 B6F7 B7 ."));
    EXPECT_THAT(drawn({2, PipelineSchedule::interleaved}, 8),
                ElementsAre("F0 . F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 . B7",
                            ". F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 ."));
    EXPECT_THAT(drawn({4, PipelineSchedule::grouped}, 8),
                ElementsAre("F0 F1 F2 F3 F4 F5 F6 B0F7 B1 B2 B3 B4 B5 B6 B7",
                            ". F0 F1 F2 F3 F4 B0F5 B1F6 B2F7 B3 B4 B5 B6 B7 .",
                            ". . F0 F1 F2 B0F3 B1F4 B2F5 B3F6 B4F7 B5 B6 B7 . .",
                            ". . . F0 B0F1 B1F2 B2F3 B3F4 B4F5 B5F6 B6F7 B7 . . ."));
    EXPECT_THAT(drawn({4, PipelineSchedule::interleaved}, 8),
                ElementsAre("F0 . F1 . F2 . F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 . B5 . B6 . B7",
                            ". F0 . F1 . F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 . B6 . B7 .",
                            ". . F0 . F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 . B7 . .",
                            ". . . F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7 . . ."));
    EXPECT_THAT(drawn({3, PipelineSchedule::sequential}, 2),
                ElementsAre("F0 . . . . B0 F1 . . . . B1",  //
                            ". F0 . . B0 . . F1 . . B1 .",  //
                            ". . F0 B0 . . . . F1 B1 . ."));
    EXPECT_EQ(tick_count({4, PipelineSchedule::grouped}, 16), 23);
    EXPECT_EQ(tick_count({4, PipelineSchedule::interleaved}, 16), 38);
}

/// The length of a weight update of equal stages whose ticks all wait for their longest stage.
double simulated(const Pipeline& pipeline, std::int64_t micro_batches, const StageTimes& each) {
    double whole = 0;
    for (std::int64_t tick = 0; tick < tick_count(pipeline, micro_batches); ++tick) {
        std::vector<double> of_stage(static_cast<std::size_t>(pipeline.stages));
        for (const StageWork& work : work_at(pipeline, micro_batches, tick))
            of_stage[static_cast<std::size_t>(work.stage)] += work.backward ? each.backward_ms : each.forward_ms;
        whole += *std::ranges::max_element(of_stage);
    }
    return whole;
}

TEST(PipelineBubble, IsThatOfASimulatedUpdate) {
    constexpr StageTimes kTimes[] = {{1, 1}, {1, 2}, {3, 1}, {2, 5}};
    for_each_pipeline([&](const Pipeline& pipeline) {
        // A pipeline that is not full has ticks that the formulas do not know.
        const std::int64_t unit = micro_batch_unit(pipeline);
        for (std::int64_t micro_batches = unit; micro_batches <= 4 * pipeline.stages; micro_batches += unit) {
            for (const StageTimes& each : kTimes) {
                const double whole = simulated(pipeline, micro_batches, each);
                const double expected = 1 - static_cast<double>(micro_batches) * each.total() / whole;
                EXPECT_NEAR(bubble(pipeline, micro_batches, each), expected, 1e-12);
            }
        }
    });
}

TEST(PipelineBubble, IsThatOfTheDocuments) {
    constexpr StageTimes kEach{1, 2};
    EXPECT_DOUBLE_EQ(bubble({4, PipelineSchedule::grouped}, 16, kEach), 1 - 48.0 / 57);
    EXPECT_DOUBLE_EQ(bubble({4, PipelineSchedule::interleaved}, 16, kEach), 1 - 48.0 / 72);
    EXPECT_DOUBLE_EQ(bubble({4, PipelineSchedule::sequential}, 16, kEach), 1 - 48.0 / 192);
    EXPECT_DOUBLE_EQ(bubble({4, PipelineSchedule::grouped}, 16, kEach), 3.0 / 19);
}

/// The error's text; "" when the count is legal.
std::string objection(const Pipeline& pipeline, std::int64_t micro_batches) {
    return refusal_of(ErrorKind::usage, [&] { check_micro_batches(pipeline, micro_batches); });
}

TEST(PipelineMicroBatches, MustFillThePeriodOfTheSchedule) {
    for_each_pipeline([](const Pipeline& pipeline) {
        const std::map<PipelineSchedule, std::int64_t> units = {{PipelineSchedule::grouped, 2 * pipeline.stages},
                                                                {PipelineSchedule::interleaved, pipeline.stages},
                                                                {PipelineSchedule::sequential, 1}};
        const std::int64_t unit = units.at(pipeline.schedule);
        EXPECT_EQ(micro_batch_unit(pipeline), unit);
        for (std::int64_t count = -1; count <= 4 * pipeline.stages; ++count)
            EXPECT_EQ(objection(pipeline, count).empty(), count >= 1 && count % unit == 0) << count;
    });
}

TEST(PipelineMicroBatches, TheNearestLegalNumbersAreNamed) {
    constexpr Pipeline kGrouped{4, PipelineSchedule::grouped};
    EXPECT_THAT(objection(kGrouped, 12),
                AllOf(HasSubstr("--pipeline-schedule Grouped with 4 stages"), HasSubstr("12"), HasSubstr("8 or")));
    EXPECT_THAT(objection(kGrouped, 3), HasSubstr("the nearest are 8"));
    EXPECT_THAT(objection({3, PipelineSchedule::interleaved}, 7), HasSubstr("6 or"));
    EXPECT_THAT(objection(kGrouped, (std::int64_t{1} << 62) + 1),
                HasSubstr("4611686018427387904 or 4611686018427387912"));
    constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
    EXPECT_TRUE(objection(kGrouped, kMost).ends_with("the nearest are 9223372036854775800"));
}

TEST(PipelineTables, OfMoreMicroBatchesThanCanBeListedAreRefusedOrRight) {
    constexpr std::int64_t kMany = std::int64_t{1} << 62;
    constexpr Pipeline kGrouped{4, PipelineSchedule::grouped};
    EXPECT_EQ(tick_count(kGrouped, kMany), kMany + 7);
    EXPECT_EQ(work_at(kGrouped, kMany, kMany + 6), (std::vector<StageWork>{{0, true, kMany - 1}}));
    EXPECT_NEAR(bubble(kGrouped, kMany, {1, 2}), 0, 1e-12);
    for (const PipelineSchedule schedule : kSchedules)
        EXPECT_THROW(in_order({4, schedule}, kMany), Error);
    EXPECT_THROW(tick_count({4, PipelineSchedule::sequential}, kMany), Error);
    EXPECT_THROW(tick_count(kGrouped, std::numeric_limits<std::int64_t>::max()), Error);
}

TEST(PipelineLanes, TheLongestStagesAreSpreadFirst) {
    EXPECT_THAT(place_stages(std::vector<double>{1, 2, 3, 4}, 1), ElementsAre(0, 0, 0, 0));
    EXPECT_THAT(place_stages(std::vector<double>{1, 2, 3, 4}, 2), ElementsAre(0, 1, 1, 0));
    EXPECT_THAT(place_stages(std::vector<double>{5, 5, 5}, 3), ElementsAre(0, 1, 2));
    EXPECT_THAT(place_stages(std::vector<double>{1, 9, 1, 1}, 2), ElementsAre(1, 0, 1, 1));
    EXPECT_THAT(place_stages(std::vector<double>{1, 2}, 5), ElementsAre(1, 0));
    EXPECT_THROW(place_stages(std::vector<double>{1, 2}, 0), Error);
}

}  // namespace
}  // namespace cnntrain::schedule
