#include "run/metrics/meters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cnntrain/base/error.h"
#include "support/errors.h"

namespace cnntrain::metrics {
namespace {

const std::vector<Column> kColumns = {{.name = "loss", .output = "loss"},
                                      {.name = "train_acc", .output = "correct", .scale = 100}};

Sums sums(double loss, double correct) {
    return {{"loss", loss}, {"correct", correct}, {"not reported", 1}};
}

/// `updates` updates of 10 samples each with this mean loss.
void host_step(Meters& meters, double loss, int updates, double seconds_each) {
    for (int i = 0; i < updates; ++i)
        meters.add(sums(10 * loss, 4), 10, seconds_each);
    meters.finish_host_step();
}

TEST(Meters, MeansOfTheHostStepAndOfTheWindow) {
    Meters meters(kColumns, 10, 2, 4);
    host_step(meters, 3, 2, 1);
    meters.add(sums(10, 10), 10, 1);
    meters.add(sums(30, 5), 10, 1);
    meters.finish_host_step();
    TrainingRow row = meters.log_row({.iteration = 4, .epoch = 0.5, .lr = 0.25, .total_seconds = 9});
    EXPECT_EQ(row.step, 8);
    EXPECT_EQ(row.iteration, 4);
    EXPECT_EQ(row.epoch, 0.5);
    EXPECT_EQ(row.lr, 0.25);
    EXPECT_EQ(row.total_time, 9);
    EXPECT_DOUBLE_EQ(row.results.at(0).batch, 2);
    EXPECT_DOUBLE_EQ(row.results.at(0).average, 2.5);
    EXPECT_DOUBLE_EQ(row.results.at(1).batch, 75);
    EXPECT_DOUBLE_EQ(row.results.at(1).average, 57.5);
    host_step(meters, 4, 2, 1);
    row = meters.log_row({});
    EXPECT_DOUBLE_EQ(row.results.at(0).average, 3) << "the first host step has left the window";
}

TEST(Meters, TimesLeaveOutTheFirstHostStepAndStartAgainAtEachLine) {
    Meters meters(kColumns, 20, 8, 1);
    host_step(meters, 1, 4, 5);  // slow start
    EXPECT_DOUBLE_EQ(meters.log_row({}).it_time, 5) << "nothing else to go by";
    host_step(meters, 1, 4, 1);
    EXPECT_DOUBLE_EQ(meters.host_step_row({}).it_time, 1);
    host_step(meters, 1, 2, 2.5);
    EXPECT_DOUBLE_EQ(meters.host_step_row({}).it_time, 2.5) << "of this host step alone";
    EXPECT_DOUBLE_EQ(meters.host_step_row({}).samples_per_second, 20 / 2.5);
    const TrainingRow row = meters.log_row({});
    EXPECT_DOUBLE_EQ(row.it_time, 1.5);
    EXPECT_DOUBLE_EQ(row.samples_per_second, 20 / 1.5);
    host_step(meters, 1, 1, 4);
    EXPECT_DOUBLE_EQ(meters.log_row({}).it_time, 4);
}

TEST(Meters, TheRateForProgressIsThatOfTheInterval) {
    Meters meters(kColumns, 20, 8, 1);
    EXPECT_EQ(meters.recent_samples_per_second(), 0);
    meters.add(sums(1, 1), 20, 4);
    EXPECT_DOUBLE_EQ(meters.recent_samples_per_second(), 5);
    meters.finish_host_step();
    meters.log_row({});
    EXPECT_DOUBLE_EQ(meters.recent_samples_per_second(), 5);
    meters.add(sums(1, 1), 20, 1);
    EXPECT_DOUBLE_EQ(meters.recent_samples_per_second(), 20);
}

TEST(Meters, ARestoredRunPrintsTheSameLosses) {
    const auto loss = [](int i) { return 1.0 / (3 + i); };
    Meters whole(kColumns, 10, 3, 2);
    for (int step = 0; step < 5; ++step) {
        for (int i = 0; i < 4; ++i)
            whole.add(sums(loss(4 * step + i), 3), 10, 1);
        whole.finish_host_step();
    }
    const TrainingRow expected = whole.log_row({});

    // The same updates, stopped after every one of them.
    std::string state;
    for (int i = 0; i < 20; ++i) {
        Meters part(kColumns, 10, 3, 2);
        if (i > 0) part.restore(state);
        part.add(sums(loss(i), 3), 10, 1);
        if (i % 4 == 3) part.finish_host_step();
        state = part.state();
        if (i < 19) continue;
        const TrainingRow row = part.log_row({});
        EXPECT_EQ(row.step, expected.step);
        EXPECT_EQ(row.results.at(0).batch, expected.results.at(0).batch);
        EXPECT_EQ(row.results.at(0).average, expected.results.at(0).average);
        EXPECT_EQ(row.results.at(1).average, expected.results.at(1).average);
        EXPECT_EQ(row.it_time, 1) << "times are those of this process";
    }
}

TEST(Meters, NonFiniteLossesSurviveAStop) {
    Meters meters(kColumns, 10, 3, 1);
    host_step(meters, std::numeric_limits<double>::infinity(), 1, 1);
    host_step(meters, std::nan(""), 1, 1);
    Meters restored(kColumns, 10, 3, 1);
    restored.restore(meters.state());
    EXPECT_TRUE(std::isnan(restored.log_row({}).results.at(0).batch));
    EXPECT_EQ(restored.state(), meters.state());
}

TEST(Meters, DamagedStateIsADataError) {
    Meters meters(kColumns, 10, 3, 1);
    host_step(meters, 1, 1, 1);
    const std::string state = meters.state();
    for (const std::string& bad : std::vector<std::string>{"", "v9 1 2 3", state.substr(0, state.size() - 4), "v1 x"}) {
        EXPECT_EQ(kind_of([&] { meters.restore(bad); }), ErrorKind::data) << bad;
    }
}

TEST(Meters, AColumnMayHaveADivisorOfItsOwn) {
    const std::vector<Column> columns = {{.name = "per_word", .output = "loss", .divisor = "words", .scale = 2}};
    Meters meters(columns, 10, 2, 1);
    meters.add({{"loss", 6}, {"words", 3}}, 10, 1);
    meters.add({{"loss", 2}, {"words", 1}}, 10, 1);
    meters.finish_host_step();
    EXPECT_EQ(meters.log_row({}).results.at(0).batch, 4);
    meters.add({{"loss", 6}, {"words", 0}}, 10, 1);
    const std::string state = meters.state();
    Meters restored(columns, 10, 2, 1);
    restored.restore(state);
    restored.finish_host_step();
    EXPECT_EQ(restored.log_row({}).results.at(0).batch, 0) << "nothing was counted";
    EXPECT_EQ(values_of(columns, {{"loss", 6}, {"words", 3}}, 10), std::vector<double>{4});
}

TEST(Meters, ReadingsAreMeansThatForget) {
    const std::vector<Column> columns = {{.name = "loss", .output = "loss", .label = "loss"},
                                         {.name = "train_acc", .output = "correct", .scale = 100, .label = "accuracy"},
                                         {.name = "other", .output = "correct"}};
    Meters meters(columns, 10, 2, 1);
    EXPECT_TRUE(meters.recent_readings().empty());
    meters.add(sums(40, 5), 10, 1);
    ASSERT_EQ(meters.recent_readings().size(), 2U);
    EXPECT_EQ(meters.recent_readings().at(0).name, "loss");
    EXPECT_EQ(meters.recent_readings().at(0).value, 4);
    EXPECT_EQ(meters.recent_readings().at(1).value, 50);
    EXPECT_TRUE(meters.recent_readings().at(1).percent);
    meters.add(sums(0, 5), 10, 1);
    EXPECT_DOUBLE_EQ(meters.recent_readings().at(0).value, 38.0 / 19.5);
    meters.add(sums(std::nan(""), 5), 10, 1);
    EXPECT_TRUE(std::isnan(meters.recent_readings().at(0).value));
    meters.add(sums(20, 5), 10, 1);
    EXPECT_EQ(meters.recent_readings().at(0).value, 2) << "begins again";
}

TEST(Meters, AnOutputThatTheGraphDoesNotHaveIsADefect) {
    Meters meters(kColumns, 10, 3, 1);
    EXPECT_THROW(meters.add({{"loss", 1}}, 10, 1), Error);
}

TEST(Meters, ALineBeforeAnyStepIsADefect) {
    Meters meters(kColumns, 10, 3, 1);
    EXPECT_THROW(meters.log_row({}), Error);
}

}  // namespace
}  // namespace cnntrain::metrics
