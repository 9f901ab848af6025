#include "cnntrain/run/observer.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <vector>

namespace cnntrain::metrics {
namespace {

TEST(ProgressText, HasShareRateAndTimeLeft) {
    EXPECT_EQ(
        progress_text(
            {.done = 1953, .first = 0, .total = 15625, .rate = 812.34, .elapsed_seconds = 78.9, .rate_unit = "images"}),
        "[ 12.5%] 1953/15625 iterations, 812.3 images/s, 0:09:12 left");
    EXPECT_EQ(
        progress_text({.done = 250, .total = 1000, .rate = 25, .elapsed_seconds = 10, .unit = "MB", .rate_unit = "MB"}),
        "[ 25.0%] 250/1000 MB, 25.0 MB/s, 0:00:30 left");
}

TEST(ProgressText, WhatWasDoneBeforeDoesNotCountForTheTimeLeft) {
    EXPECT_EQ(progress_text({.done = 600, .first = 500, .total = 1000, .elapsed_seconds = 3000, .rate_unit = "images"}),
              "[ 60.0%] 600/1000 iterations, 0.0 images/s, 3:20:00 left");
    EXPECT_EQ(progress_text({.done = 500, .first = 500, .total = 1000, .elapsed_seconds = 10, .rate_unit = "images"}),
              "[ 50.0%] 500/1000 iterations, 0.0 images/s");
}

TEST(ProgressText, LosesItsLessImportantPartsOnNarrowTerminals) {
    const Progress progress{.done = 1953,
                            .total = 15625,
                            .rate = 812.34,
                            .elapsed_seconds = 78.9,
                            .rate_unit = "images",
                            .readings = {{"loss", 1.2043, false}, {"accuracy", 56.104, true}}};
    EXPECT_EQ(progress_text(progress),
              "[ 12.5%] 1953/15625 iterations, loss 1.204, accuracy 56.10 %, 812.3 images/s, 0:09:12 left");
    EXPECT_EQ(progress_text(progress, 79), "[ 12.5%] loss 1.204, accuracy 56.10 %, 812.3 images/s, 0:09:12 left");
    EXPECT_EQ(progress_text(progress, 60), "[ 12.5%] loss 1.204, accuracy 56.10 %, 0:09:12 left");
    EXPECT_EQ(progress_text(progress, 39), "[ 12.5%] loss 1.204, 0:09:12 left");
    EXPECT_EQ(progress_text(progress, 20), "[ 12.5%] loss 1.204");
    EXPECT_EQ(progress_text(progress, 5), "[ 12.");
}

TEST(ProgressText, NothingToDoIsDone) {
    EXPECT_EQ(progress_text({.unit = "records", .rate_unit = "records"}), "[100.0%] 0/0 records, 0.0 records/s");
}

/// Returns the times, of `seconds`, at which a line is due; one more is done at each of them.
std::vector<double> due_at(MinuteLines& lines, std::initializer_list<double> seconds, bool is_silent = true) {
    std::vector<double> due;
    std::int64_t done = 0;
    for (const double now : seconds) {
        if (lines.is_due({.done = ++done, .total = 100, .elapsed_seconds = now, .is_silent = is_silent}))
            due.push_back(now);
    }
    return due;
}

TEST(MinuteLines, AreOneAMinuteOfEachSilentWork) {
    MinuteLines lines;
    EXPECT_EQ(due_at(lines, {1, 30, 59.9, 60, 61, 119, 121, 500, 539, 541}), (std::vector<double>{60, 121, 500, 541}));
    EXPECT_EQ(due_at(lines, {61, 62, 120}), (std::vector<double>{61, 120})) << "further work";
    EXPECT_TRUE(due_at(lines, {59}).empty());
}

TEST(MinuteLines, AreNotOfWorkThatPrintsLinesOfItsOwn) {
    MinuteLines lines;
    EXPECT_TRUE(due_at(lines, {100, 200, 300}, false).empty());
    EXPECT_EQ(due_at(lines, {10, 70}), std::vector<double>{70}) << "silent work after it";
}

}  // namespace
}  // namespace cnntrain::metrics
