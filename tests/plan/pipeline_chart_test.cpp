// Charts: text literally, drawings by their boxes.
#include "cnntrain/plan/pipeline_chart.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "plan/svg_text.h"
#include "support/matchers.h"

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

std::vector<TimedWork> timeline_of(const schedule::Pipeline& pipeline, std::int64_t micro_batches) {
    const std::vector<schedule::StageTimes> times(static_cast<std::size_t>(pipeline.stages), {1, 2});
    std::vector<std::int32_t> lane_of;
    for (std::int32_t stage = 0; stage < pipeline.stages; ++stage)
        lane_of.push_back(stage);
    return timeline(pipeline, micro_batches, times, lane_of);
}

TEST(ChartSvg, HasABoxForEveryPass) {
    const auto work = timeline_of({4, schedule::PipelineSchedule::grouped}, 8);
    const std::string svg = chart_svg(work, "four stages");
    expect_well_formed(svg);
    EXPECT_EQ(count(svg, "<rect class=\"forward\""), 32U);
    EXPECT_EQ(count(svg, "<rect class=\"backward\""), 32U);
    EXPECT_EQ(count(svg, ">stage 3</text>"), 1U);
    EXPECT_THAT(svg,
                AllOf(HasSubstr(">F7</text>"), HasSubstr(">ms</text>"), HasSubstr(">forward</text>"),
                      HasSubstr("<title>stage 0, backward pass of micro-batch 7: "), Not(HasSubstr("class=\"cut\""))));
}

/// The x and the width of every box of a stage, in the order of the drawing.
std::vector<std::pair<double, double>> boxes(const std::string& svg, int stage) {
    std::vector<std::pair<double, double>> found;
    const std::regex rect(
        "<rect class=\"[a-z]+\" x=\"([0-9.]+)\" y=\"[0-9.]+\" width=\"([0-9.]+)\" "
        "height=\"[0-9]+\"><title>stage " +
        std::to_string(stage) + ",");
    for (std::sregex_iterator it(svg.begin(), svg.end(), rect), end; it != end; ++it)
        found.emplace_back(std::stod((*it)[1]), std::stod((*it)[2]));
    return found;
}

TEST(ChartSvg, ABoxIsAsLongAsItsPass) {
    const std::string svg = chart_svg(timeline_of({1, schedule::PipelineSchedule::sequential}, 2), "");
    const auto found = boxes(svg, 0);
    ASSERT_EQ(found.size(), 4U);
    EXPECT_NEAR(found[1].second, 2 * found[0].second, 0.02);
    for (std::size_t i = 1; i < found.size(); ++i)
        EXPECT_NEAR(found[i].first, found[i - 1].first + found[i - 1].second, 0.02);
}

TEST(ChartSvg, OfManyPassesShowsBothEnds) {
    const auto work = timeline_of({2, schedule::PipelineSchedule::grouped}, 400);
    const std::string svg = chart_svg(work, "many", 100);
    expect_well_formed(svg);
    EXPECT_EQ(count(svg, "<rect class=\"forward\"") + count(svg, "<rect class=\"backward\""), 100U);
    EXPECT_THAT(svg, AllOf(HasSubstr("class=\"cut\""), HasSubstr("1500 passes"), HasSubstr("micro-batch 0:"),
                           HasSubstr("micro-batch 399:"), Not(HasSubstr("micro-batch 200:"))));
    for (const int stage : {0, 1}) {
        const auto found = boxes(svg, stage);
        for (std::size_t i = 1; i < found.size(); ++i)
            EXPECT_GE(found[i].first, found[i - 1].first + found[i - 1].second - 0.02);
    }
    EXPECT_LT(svg.size(), chart_svg(work, "many").size());
}

TEST(ChartSvg, TakesAnyTitleAndNoWork) {
    expect_well_formed(chart_svg(timeline_of(kTwoGrouped, 4), "a < b & c > \"d\""));
    expect_well_formed(chart_svg({}, ""));
    const std::vector<TimedWork> no_time = {{{0, false, 0}, 0, 0, 0}, {{0, true, 0}, 0, 0, 0}};
    expect_well_formed(chart_svg(no_time, "no time"));
}

}  // namespace
}  // namespace cnntrain::plan
