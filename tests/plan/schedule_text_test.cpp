// The schedule as a table of text.

#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "insight/plan/report.h"

namespace cnntrain::plan {
namespace {

constexpr schedule::Pipeline kTwoGrouped{2, schedule::PipelineSchedule::grouped};

TEST(ChartText, IsTheTableOfTheDocuments) {
    EXPECT_EQ(chart_text(kTwoGrouped, 4, 100),
              "tick     0  1  2    3    4    5  6\n"
              "stage 0  F0 F1 F2   B0F3 B1   B2 B3\n"
              "stage 1  ·  F0 B0F1 B1F2 B2F3 B3 ·\n");
}

TEST(ChartText, OfThreeSchedules) {
    EXPECT_EQ(chart_text({2, schedule::PipelineSchedule::interleaved}, 4, 100),
              "tick     0  1  2  3  4  5  6  7  8  9\n"
              "stage 0  F0 ·  F1 B0 F2 B1 F3 B2 ·  B3\n"
              "stage 1  ·  F0 B0 F1 B1 F2 B2 F3 B3 ·\n");
    EXPECT_EQ(chart_text({2, schedule::PipelineSchedule::sequential}, 2, 100),
              "tick     0  1  2  3  4  5  6  7\n"
              "stage 0  F0 ·  ·  B0 F1 ·  ·  B1\n"
              "stage 1  ·  F0 B0 ·  ·  F1 B1 ·\n");
    EXPECT_EQ(chart_text({1, schedule::PipelineSchedule::sequential}, 1, 100),
              "tick     0  1\n"
              "stage 0  F0 B0\n");
}

TEST(ChartText, IsCutInTheMiddle) {
    EXPECT_EQ(chart_text(kTwoGrouped, 1000, 40),
              "tick     0  1  2    ... 1001 1002\n"
              "stage 0  F0 F1 F2   ... B998 B999\n"
              "stage 1  ·  F0 B0F1 ... B999 ·\n");
}

std::size_t columns_of(const std::string& line) {
    return static_cast<std::size_t>(
        std::ranges::count_if(line, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

TEST(ChartText, KeepsToItsWidth) {
    for (const std::size_t width : {30U, 47U, 80U, 81U, 120U}) {
        for (const std::int64_t micro_batches : {8L, 16L, 256L, 1L << 62}) {
            std::istringstream lines(chart_text({4, schedule::PipelineSchedule::grouped}, micro_batches, width));
            for (std::string line; std::getline(lines, line);)
                EXPECT_LE(columns_of(line), std::max<std::size_t>(width, micro_batches > 1000 ? 71 : 0));
        }
    }
}

}  // namespace
}  // namespace cnntrain::plan
