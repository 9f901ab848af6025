#include "cnntrain/metrics/progress.h"

#include <gtest/gtest.h>

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

TEST(ProgressText, NothingToDoIsDone) {
    EXPECT_EQ(progress_text({.unit = "records", .rate_unit = "records"}), "[100.0%] 0/0 records, 0.0 records/s");
}

}  // namespace
}  // namespace cnntrain::metrics
