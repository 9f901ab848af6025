// The chart of predictions over the number of processes.
#include "cnntrain/plan/pipeline_chart.h"

#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "plan/svg_text.h"
#include "support/matchers.h"

namespace cnntrain::plan {
namespace {

ScalingCurve curve(const ReduceMethod& method, const std::vector<std::int64_t>& counts) {
    const Network network{.between_nodes = {.latency_ms = 0.01, .bytes_per_ms = 1e5}};
    const std::vector<ReadyBucket> buckets = {{1e5, 1}, {1e5, 8}};
    ScalingCurve result{method, {}};
    for (const std::int64_t count : counts) {
        const DataParallelTime time = data_parallel_time({2, 8, 1, 11}, buckets, network, {count, 1}, method);
        result.points.push_back({count, time, time});
    }
    return result;
}

const std::vector<std::int64_t> kCounts = {1, 2, 4, 8, 16, 100};

TEST(ScalingChart, HasACurveForEveryMethodInBothPlots) {
    std::vector<ScalingCurve> curves;
    for (const bool overlap : {true, false}) {
        for (const bool hierarchical : {false, true}) {
            for (const int bits : {32, 16})
                curves.push_back(curve({bits, hierarchical, overlap}, kCounts));
        }
    }
    const std::string svg = scaling_svg(curves, 1000, "images", "a < b", "c & d");
    expect_well_formed(svg);
    EXPECT_EQ(count(svg, "<circle "), 2 * 8 * kCounts.size());
    EXPECT_EQ(count(svg, "<polyline class=\"hierarchical16 after\""), 3U);  // two plots and the legend
    EXPECT_EQ(count(svg, "<polyline class=\"ideal\""), 2U);
    EXPECT_EQ(count(svg, ">100</text>"), 2U);    // processes below both plots
    EXPECT_EQ(count(svg, ">10000</text>"), 1U);  // images/s
    EXPECT_THAT(svg, AllOf(HasSubstr(">flat, 32 bits, overlapped</text>"), HasSubstr(">a &lt; b</text>"),
                           HasSubstr(">c &amp; d</text>"),
                           HasSubstr("<title>16 processes, hierarchical, 16 bits, after backward: ")));
}

/// The y of every point of the curve `css` in the order of the drawing.
std::vector<double> heights(const std::string& svg, const std::string& css) {
    std::vector<double> found;
    const std::regex circle("<circle class=\"" + css + "\" cx=\"[0-9.]+\" cy=\"([0-9.]+)\"");
    for (std::sregex_iterator it(svg.begin(), svg.end(), circle), end; it != end; ++it)
        found.push_back(std::stod((*it)[1]));
    return found;
}

TEST(ScalingChart, DrawsMoreHigher) {
    const std::vector<ScalingCurve> curves = {curve({.overlap = false}, kCounts)};
    const std::vector<double> found = heights(scaling_svg(curves, 1000, "images", "", ""), "flat32 after");
    ASSERT_EQ(found.size(), 2 * kCounts.size());
    for (std::size_t i = 1; i < kCounts.size(); ++i) {
        EXPECT_LT(found[i], found[i - 1]) << "images/s rise";
        EXPECT_GT(found[kCounts.size() + i], found[kCounts.size() + i - 1]) << "efficiency falls";
    }
}

TEST(ScalingChart, OfOneNumberOfProcessesIsADrawing) {
    for (const std::int64_t only : {1, 7}) {
        const std::string svg = scaling_svg(std::vector{curve({}, {only})}, 1000, "images", "", "");
        expect_well_formed(svg);
        EXPECT_EQ(svg.find("nan"), std::string::npos);
        EXPECT_EQ(svg.find("inf"), std::string::npos);
    }
    EXPECT_THROW(scaling_svg({}, 1000, "images", "", ""), Error);
}

}  // namespace
}  // namespace cnntrain::plan
