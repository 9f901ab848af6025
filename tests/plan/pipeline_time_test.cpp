// Predicted times against the worked numbers of the documents and against what any order of work must keep.
#include "insight/plan/pipeline_time.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include "cnntrain/base/error.h"
#include "support/matchers.h"

namespace cnntrain::plan {
namespace {

constexpr schedule::PipelineSchedule kSchedules[] = {schedule::PipelineSchedule::grouped,
                                                     schedule::PipelineSchedule::interleaved,
                                                     schedule::PipelineSchedule::sequential};

std::vector<std::int32_t> lane_each(std::int32_t stages) {
    std::vector<std::int32_t> lanes(static_cast<std::size_t>(stages));
    std::iota(lanes.begin(), lanes.end(), 0);
    return lanes;
}

/// A lane for each stage, nothing but what is needed is waited for.
double free_running(schedule::PipelineSchedule schedule, std::int64_t micro_batches,
                    const std::vector<schedule::StageTimes>& times) {
    const auto stages = static_cast<std::int32_t>(times.size());
    const schedule::Placement plan{micro_batches, stages, schedule, 1, stages};
    return update_time(plan, times, lane_each(stages)).total_ms;
}

double with_barrier(schedule::PipelineSchedule schedule, std::int64_t micro_batches,
                    const std::vector<schedule::StageTimes>& times) {
    return barrier_time_ms({static_cast<std::int32_t>(times.size()), schedule}, micro_batches, times);
}

std::vector<schedule::StageTimes> doubled_backward(const std::vector<double>& forward) {
    std::vector<schedule::StageTimes> times;
    for (const double ms : forward)
        times.push_back({ms, 2 * ms});
    return times;
}

TEST(PipelineTime, OfEqualStagesIsThatOfTheDocuments) {
    const std::vector<schedule::StageTimes> times = doubled_backward({1, 1, 1, 1});
    EXPECT_DOUBLE_EQ(with_barrier(schedule::PipelineSchedule::grouped, 16, times), 57);
    EXPECT_DOUBLE_EQ(with_barrier(schedule::PipelineSchedule::interleaved, 16, times), 72);
    EXPECT_DOUBLE_EQ(with_barrier(schedule::PipelineSchedule::sequential, 16, times), 192);
    EXPECT_DOUBLE_EQ(free_running(schedule::PipelineSchedule::grouped, 16, times), 57);
    EXPECT_DOUBLE_EQ(free_running(schedule::PipelineSchedule::interleaved, 16, times), 57);
    EXPECT_DOUBLE_EQ(free_running(schedule::PipelineSchedule::sequential, 16, times), 192);
}

TEST(PipelineTime, OfUnequalStagesIsThatOfTheDocuments) {
    const std::vector<schedule::StageTimes> long_first = doubled_backward({2, 1, 1, 1});
    const std::vector<schedule::StageTimes> long_last = doubled_backward({1, 1, 1, 2});
    EXPECT_DOUBLE_EQ(with_barrier(schedule::PipelineSchedule::grouped, 16, long_first), 99);
    EXPECT_DOUBLE_EQ(with_barrier(schedule::PipelineSchedule::grouped, 16, long_last), 105);
    EXPECT_DOUBLE_EQ(with_barrier(schedule::PipelineSchedule::interleaved, 16, long_first), 106);
    EXPECT_DOUBLE_EQ(with_barrier(schedule::PipelineSchedule::interleaved, 16, long_last), 105);
    EXPECT_DOUBLE_EQ(with_barrier(schedule::PipelineSchedule::sequential, 16, long_first), 240);
}

TEST(PipelineTime, WithoutBarriersIsThatOfTheFormulaForEqualStages) {
    for (std::int32_t stages = 1; stages <= 8; ++stages) {
        for (std::int64_t micro_batches = 1; micro_batches <= 4 * stages; ++micro_batches) {
            const std::vector<schedule::StageTimes> times(static_cast<std::size_t>(stages), {1, 2});
            const auto expected = 3.0 * static_cast<double>(micro_batches + stages - 1);
            EXPECT_DOUBLE_EQ(free_running(schedule::PipelineSchedule::grouped, micro_batches, times), expected);
            EXPECT_DOUBLE_EQ(free_running(schedule::PipelineSchedule::interleaved, micro_batches, times), expected);
        }
    }
}

struct RandomCase {
    schedule::Pipeline pipeline;
    std::int64_t micro_batches = 0;
    std::vector<schedule::StageTimes> times;
    std::vector<std::int32_t> lane_of;
    std::int32_t lanes = 0;
};

RandomCase random_case(std::mt19937& random) {
    const auto from = [&](int least, int most) { return std::uniform_int_distribution<int>(least, most)(random); };
    RandomCase made;
    made.pipeline = {from(1, 6), kSchedules[static_cast<std::size_t>(from(0, 2))]};
    made.micro_batches = from(1, 20);
    made.lanes = from(1, made.pipeline.stages);
    for (std::int32_t stage = 0; stage < made.pipeline.stages; ++stage) {
        made.times.push_back({0.25 * from(0, 12), 0.25 * from(1, 20)});
        made.lane_of.push_back(stage < made.lanes ? stage : from(0, made.lanes - 1));
    }
    return made;
}

template <typename Check> void for_random_cases(Check check) {
    std::mt19937 random(7);
    for (int i = 0; i < 300; ++i) {
        SCOPED_TRACE("case " + std::to_string(i));
        check(random_case(random));
    }
}

double end_of(const std::vector<TimedWork>& all, const schedule::StageWork& work) {
    const auto found = std::ranges::find(all, work, &TimedWork::work);
    return found == all.end() ? 0 : found->end_ms;
}

TEST(PipelineTimeline, ALaneDoesOneThingAtATime) {
    for_random_cases([](const RandomCase& made) {
        const auto all = timeline(made.pipeline, made.micro_batches, made.times, made.lane_of);
        ASSERT_EQ(std::ssize(all), made.pipeline.slots() * made.micro_batches);
        std::vector<double> free(static_cast<std::size_t>(made.lanes));
        for (const TimedWork& work : all) {
            EXPECT_EQ(work.lane, made.lane_of[static_cast<std::size_t>(work.work.stage)]);
            EXPECT_GE(work.begin_ms, free[static_cast<std::size_t>(work.lane)]);
            free[static_cast<std::size_t>(work.lane)] = work.end_ms;
        }
    });
}

TEST(PipelineTimeline, NothingBeginsBeforeWhatItNeeds) {
    for_random_cases([](const RandomCase& made) {
        const auto all = timeline(made.pipeline, made.micro_batches, made.times, made.lane_of);
        for (const TimedWork& timed : all) {
            const schedule::StageWork& work = timed.work;
            if (!work.backward && work.stage > 0) {
                EXPECT_GE(timed.begin_ms, end_of(all, {work.stage - 1, false, work.micro_batch}));
            }
            if (work.backward && work.stage + 1 < made.pipeline.stages) {
                EXPECT_GE(timed.begin_ms, end_of(all, {work.stage + 1, true, work.micro_batch}));
            }
            if (work.backward) {
                EXPECT_GE(timed.begin_ms, end_of(all, {work.stage, false, work.micro_batch}));
            }
        }
    });
}

/// Gradients from a stage to the one before it have few places: a fast last stage waits for a slow first one.
TEST(PipelineTimeline, NoPlaceIsTakenTwice) {
    for_random_cases([](const RandomCase& made) {
        const auto all = timeline(made.pipeline, made.micro_batches, made.times, made.lane_of);
        const schedule::Workers workers = made.lanes > 1 ? schedule::Workers::several : schedule::Workers::one;
        const std::int64_t spare = made.lanes > 1 ? 1 : 0;
        for (const TimedWork& timed : all) {
            const schedule::StageWork& work = timed.work;
            if (!work.backward || work.stage == 0) continue;
            const std::int32_t slot = schedule::slot_of(made.pipeline, work.stage, true);
            const schedule::StageWork reader{
                work.stage - 1, true, work.micro_batch - in_flight(made.pipeline, slot, slot + 1, workers) - spare};
            EXPECT_GE(timed.begin_ms, end_of(all, reader));
        }
    });
}

TEST(PipelineTime, WithOneLaneIsTheSum) {
    for_random_cases([](const RandomCase& made) {
        double sum = 0;
        for (const schedule::StageTimes& stage : made.times)
            sum += stage.total() * static_cast<double>(made.micro_batches);
        const std::vector<std::int32_t> one_lane(made.times.size(), 0);
        const schedule::Placement plan{made.micro_batches, made.pipeline.stages, made.pipeline.schedule, 1, 1};
        const UpdateTime time = update_time(plan, made.times, one_lane);
        EXPECT_NEAR(time.total_ms, sum, 1e-9 * sum);
        EXPECT_THAT(time.busy, ElementsAre(DoubleNear(1, 1e-9)));
    });
}

TEST(PipelineTime, IsNoLessThanWhatTheBusiestLaneHasToDo) {
    for_random_cases([](const RandomCase& made) {
        const schedule::Placement plan{made.micro_batches, made.pipeline.stages, made.pipeline.schedule, 1, made.lanes};
        const UpdateTime time = update_time(plan, made.times, made.lane_of);
        std::vector<double> load(static_cast<std::size_t>(made.lanes));
        for (std::size_t stage = 0; stage < made.times.size(); ++stage) {
            load[static_cast<std::size_t>(made.lane_of[stage])] +=
                made.times[stage].total() * static_cast<double>(made.micro_batches);
        }
        for (std::size_t lane = 0; lane < load.size(); ++lane)
            EXPECT_NEAR(time.busy[lane] * time.total_ms, load[lane], 1e-9 * time.total_ms);
        EXPECT_GE(time.total_ms, *std::ranges::max_element(load) * (1 - 1e-12));
    });
}

TEST(PipelineTime, PipelinesShareTheMicroBatches) {
    const std::vector<schedule::StageTimes> times = {{1, 2}, {1, 2}};
    const schedule::Placement plan{7, 2, schedule::PipelineSchedule::grouped, 2, 4};
    const UpdateTime time = update_time(plan, times, lane_each(2));
    EXPECT_DOUBLE_EQ(time.total_ms, 3 * (4 + 1));  // of the pipeline that has four of the seven
    EXPECT_THAT(time.busy, ElementsAre(DoubleNear(12.0 / 15, 1e-12), DoubleNear(12.0 / 15, 1e-12),
                                       DoubleNear(9.0 / 15, 1e-12), DoubleNear(9.0 / 15, 1e-12)));
}

/// The last completion of a simulation of every micro-batch.
double simulated_whole(const RandomCase& made, std::int64_t micro_batches) {
    double end = 0;
    for (const TimedWork& work : timeline(made.pipeline, micro_batches, made.times, made.lane_of))
        end = std::max(end, work.end_ms);
    return end;
}

TEST(PipelineTime, OfManyMicroBatchesGoesOnAsItBegan) {
    std::mt19937 random(11);
    for (int i = 0; i < 30; ++i) {
        const RandomCase made = random_case(random);
        const schedule::Placement plan{1700, made.pipeline.stages, made.pipeline.schedule, 1, made.lanes};
        const double whole = simulated_whole(made, plan.micro_batches);
        EXPECT_NEAR(update_time(plan, made.times, made.lane_of).total_ms, whole, 1e-9 * whole) << i;
        double ticks = 0;
        for (std::int64_t tick = 0; tick < schedule::tick_count(made.pipeline, 100); ++tick) {
            std::vector<double> of_stage(made.times.size());
            for (const schedule::StageWork& work : work_at(made.pipeline, 100, tick)) {
                const auto stage = static_cast<std::size_t>(work.stage);
                of_stage[stage] += work.backward ? made.times[stage].backward_ms : made.times[stage].forward_ms;
            }
            ticks += *std::ranges::max_element(of_stage);
        }
        EXPECT_NEAR(barrier_time_ms(made.pipeline, 100, made.times), ticks, 1e-9 * ticks);
    }
    const std::vector<schedule::StageTimes> equal(4, {1, 2});
    EXPECT_NEAR(free_running(schedule::PipelineSchedule::grouped, std::int64_t{1} << 62, equal), 3.0 * std::pow(2, 62),
                1e10);
}

TEST(PipelineTime, ImpossiblePlansAreDefects) {
    const std::vector<schedule::StageTimes> times = {{1, 2}, {1, 2}};
    EXPECT_THROW(update_time({4, 2, schedule::PipelineSchedule::grouped, 1, 1}, times, lane_each(2)), Error);
    EXPECT_THROW(update_time({4, 2, schedule::PipelineSchedule::grouped, 2, 3}, times, lane_each(2)), Error);
    EXPECT_THROW(update_time({4, 3, schedule::PipelineSchedule::grouped, 1, 3}, times, lane_each(3)), Error);
    EXPECT_THROW(timeline({2, schedule::PipelineSchedule::grouped}, 4, times, std::vector<std::int32_t>{0}), Error);
}

}  // namespace
}  // namespace cnntrain::plan
