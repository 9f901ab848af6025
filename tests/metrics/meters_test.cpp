#include "cnntrain/metrics/meters.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "cnntrain/base/error.h"

namespace cnntrain::metrics {
namespace {

/// `updates` updates of 10 samples each with this mean loss.
void host_step(Meters& meters, double loss, int updates, double seconds_each) {
    for (int i = 0; i < updates; ++i) {
        meters.add({.loss = 10 * loss, .correct = 4, .samples = 10, .seconds = seconds_each});
    }
    meters.finish_host_step();
}

TEST(Meters, MeansOfTheHostStepAndOfTheWindow) {
    Meters meters(10, 2, 4);
    host_step(meters, 3, 2, 1);
    meters.add({.loss = 10, .correct = 10, .samples = 10, .seconds = 1});
    meters.add({.loss = 30, .correct = 5, .samples = 10, .seconds = 1});
    meters.finish_host_step();
    TrainingRow row = meters.log_row({.iteration = 4, .epoch = 0.5, .lr = 0.25, .total_seconds = 9});
    EXPECT_EQ(row.step, 8);
    EXPECT_EQ(row.iteration, 4);
    EXPECT_EQ(row.epoch, 0.5);
    EXPECT_EQ(row.lr, 0.25);
    EXPECT_EQ(row.total_time, 9);
    EXPECT_DOUBLE_EQ(row.loss_batch, 2);
    EXPECT_DOUBLE_EQ(row.loss_avg, 2.5);
    EXPECT_DOUBLE_EQ(row.train_acc_batch, 75);
    EXPECT_DOUBLE_EQ(row.train_acc_avg, 57.5);
    host_step(meters, 4, 2, 1);
    row = meters.log_row({});
    EXPECT_DOUBLE_EQ(row.loss_avg, 3) << "the first host step has left the window";
}

TEST(Meters, TimesLeaveOutTheFirstHostStepAndStartAgainAtEachLine) {
    Meters meters(20, 8, 1);
    host_step(meters, 1, 4, 5);  // slow start
    EXPECT_DOUBLE_EQ(meters.log_row({}).it_time, 5) << "nothing else to go by";
    host_step(meters, 1, 4, 1);
    host_step(meters, 1, 2, 2.5);
    const TrainingRow row = meters.log_row({});
    EXPECT_DOUBLE_EQ(row.it_time, 1.5);
    EXPECT_DOUBLE_EQ(row.img_per_sec, 20 / 1.5);
    host_step(meters, 1, 1, 4);
    EXPECT_DOUBLE_EQ(meters.log_row({}).it_time, 4);
}

TEST(Meters, TheRateForProgressIsThatOfTheInterval) {
    Meters meters(20, 8, 1);
    EXPECT_EQ(meters.recent_images_per_second(), 0);
    meters.add({.loss = 1, .correct = 1, .samples = 20, .seconds = 4});
    EXPECT_DOUBLE_EQ(meters.recent_images_per_second(), 5);
    meters.finish_host_step();
    meters.log_row({});
    EXPECT_DOUBLE_EQ(meters.recent_images_per_second(), 5);
    meters.add({.loss = 1, .correct = 1, .samples = 20, .seconds = 1});
    EXPECT_DOUBLE_EQ(meters.recent_images_per_second(), 20);
}

TEST(Meters, ARestoredRunPrintsTheSameLosses) {
    const auto loss = [](int i) { return 1.0 / (3 + i); };
    Meters whole(10, 3, 2);
    for (int step = 0; step < 5; ++step) {
        for (int i = 0; i < 4; ++i)
            whole.add({.loss = loss(4 * step + i), .correct = 3, .samples = 10, .seconds = 1});
        whole.finish_host_step();
    }
    const TrainingRow expected = whole.log_row({});

    // The same updates, stopped after every one of them.
    std::string state;
    for (int i = 0; i < 20; ++i) {
        Meters part(10, 3, 2);
        if (i > 0) part.restore(state);
        part.add({.loss = loss(i), .correct = 3, .samples = 10, .seconds = 1});
        if (i % 4 == 3) part.finish_host_step();
        state = part.state();
        if (i < 19) continue;
        const TrainingRow row = part.log_row({});
        EXPECT_EQ(row.step, expected.step);
        EXPECT_EQ(row.loss_batch, expected.loss_batch);
        EXPECT_EQ(row.loss_avg, expected.loss_avg);
        EXPECT_EQ(row.train_acc_avg, expected.train_acc_avg);
        EXPECT_EQ(row.it_time, 1) << "times are those of this process";
    }
}

TEST(Meters, NonFiniteLossesSurviveAStop) {
    Meters meters(10, 3, 1);
    host_step(meters, std::numeric_limits<double>::infinity(), 1, 1);
    host_step(meters, std::nan(""), 1, 1);
    Meters restored(10, 3, 1);
    restored.restore(meters.state());
    EXPECT_TRUE(std::isnan(restored.log_row({}).loss_batch));
    EXPECT_EQ(restored.state(), meters.state());
}

TEST(Meters, DamagedStateIsADataError) {
    Meters meters(10, 3, 1);
    host_step(meters, 1, 1, 1);
    const std::string state = meters.state();
    for (const std::string& bad : std::vector<std::string>{"", "v9 1 2 3", state.substr(0, state.size() - 4), "v1 x"}) {
        try {
            meters.restore(bad);
            ADD_FAILURE() << bad;
        } catch (const Error& error) {
            EXPECT_EQ(error.kind(), ErrorKind::data);
        }
    }
}

TEST(Meters, ALineBeforeAnyStepIsADefect) {
    Meters meters(10, 3, 1);
    EXPECT_THROW(meters.log_row({}), Error);
}

}  // namespace
}  // namespace cnntrain::metrics
