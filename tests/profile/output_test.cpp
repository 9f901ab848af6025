// Forms of a profile: JSON, trace, folded stacks, table.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "cnntrain/run/profile.h"
#include "profile/made_up.h"
#include "run/profile/session.h"
#include "support/matchers.h"

namespace cnntrain::profile::testing {
namespace {

using nlohmann::json;

const std::string kHostile = "a;b\n\"<script>\\ \t\xff/\xc3\xa9";

Profile hostile() {
    Profile profile = made_up();
    profile.rows[0].name = kHostile;
    profile.rows[1].op = kHostile;
    profile.title = profile.line = profile.unit = kHostile;
    return profile;
}

TEST(ProfileRows, CountByTheirRunsAndTheirShareOfTheLanes) {
    backend::ProfileRow measured;
    measured.milliseconds = 2;
    measured.runs = 12;
    measured.gflops = 3;
    measured.occupied = 0.5;
    const std::vector<Row> rows = rows_per_step({measured}, 4);
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_DOUBLE_EQ(rows[0].runs, 3);
    EXPECT_DOUBLE_EQ(rows[0].seconds, 0.003);
    EXPECT_DOUBLE_EQ(rows[0].run_seconds, 0.002);
    EXPECT_DOUBLE_EQ(rows[0].gflop, 9);
}

TEST(ProfileRows, OfAnOperationAreOneForEachPhaseTheLongestFirst) {
    Profile profile = made_up();
    profile.rows.push_back(made_up_row("conv2d", "forward", 0.05, 10));
    profile.rows.push_back(made_up_row("conv2d", "backward", 0.001));
    const std::vector<OperationSum> sums = by_operation(profile.rows, profile.peaks);
    ASSERT_EQ(sums.size(), 4U);
    EXPECT_EQ(sums[0].row.op, "conv2d");
    EXPECT_EQ(sums[0].row.phase, "forward");
    EXPECT_DOUBLE_EQ(sums[0].row.seconds, 0.08);
    EXPECT_DOUBLE_EQ(sums[0].row.runs, 60);
    EXPECT_DOUBLE_EQ(sums[0].roofline.seconds, 0.02);
    EXPECT_EQ(sums[0].roofline.bound, kArithmetic) << "of most of the time";
    EXPECT_EQ(sums[3].row.phase, "backward");
}

TEST(Roofline, IsTheLongerOneOfArithmeticAndMemoryTraffic) {
    Row row = made_up_row("conv2d", "forward", 0.04);
    row.gflop = 20;
    row.megabytes = 100;
    EXPECT_DOUBLE_EQ(roofline(row, made_up_peaks(1e12, 2e10)).seconds, 0.02);
    EXPECT_DOUBLE_EQ(roofline(row, made_up_peaks(1e12, 2e10)).share_of(row.seconds), 0.5);
    EXPECT_EQ(roofline(row, made_up_peaks(1e12, 2e10)).bound, kArithmetic);
    row.megabytes = 600;
    EXPECT_DOUBLE_EQ(roofline(row, made_up_peaks(1e12, 2e10)).share_of(row.seconds), 0.75);
    EXPECT_EQ(roofline(row, made_up_peaks(1e12, 2e10)).bound, "memory");
    EXPECT_EQ(roofline(row, {}).seconds, 0);
    row.megabytes = 1;
    Peaks peaks = made_up_peaks(1e12, 2e10);
    peaks.byte_operations_per_second = 4e12;
    EXPECT_DOUBLE_EQ(roofline(row, peaks).seconds, 0.02);
    row.op = "quantised_dense";
    EXPECT_DOUBLE_EQ(roofline(row, peaks).seconds, 0.005);
}

// 2 MB of L2 at 200 GB/s, 32 MB of L3 at 100, memory at 20.
TEST(Roofline, OperandsComeFromTheNearestLevelThatHoldsThem) {
    const Peaks peaks{1e12, {{"L2", 2e6, {2e11, 0}}, {"L3", 32e6, {0, 1e11}}, {"memory", kUnlimited, {2e10, 1e10}}}};
    Row row = made_up_row("add", "forward", 0.04, 10);
    const auto least_of = [&](double megabytes_of_a_run) {
        row.megabytes = 10 * megabytes_of_a_run;
        return roofline(row, peaks);
    };
    EXPECT_EQ(least_of(1).bound, "L2");
    EXPECT_DOUBLE_EQ(least_of(1).seconds, 10 * 1e6 / 2e11);
    EXPECT_EQ(least_of(10).bound, "L3");
    EXPECT_DOUBLE_EQ(least_of(10).seconds, 10 * (2e6 / 2e11 + 8e6 / 1e11)) << "2 MB of them are still in L2";
    EXPECT_EQ(least_of(100).bound, "memory");
    EXPECT_DOUBLE_EQ(least_of(100).seconds, 10 * (2e6 / 2e11 + 32e6 / 1e11 + 66e6 / 2e10));
    row.gflop = 1000;
    EXPECT_EQ(least_of(100).bound, kArithmetic);
}

TEST(ProfileJson, HasWhatTheHelpTopicSays) {
    const Profile profile = made_up();
    const json read = json::parse(to_json(profile, judge(profile)));
    EXPECT_EQ(read["cnntrain_profile"], 1);
    EXPECT_EQ(read["run"]["samples"], 32);
    EXPECT_EQ(read["operations"].size(), 3U);
    EXPECT_EQ(read["operations"][0]["op"], "conv2d");
    EXPECT_THAT(read["operations"][0]["roofline"].get<double>(), DoubleNear(0.02 / 0.03, 1e-9));
    EXPECT_EQ(read["operations"][0]["bound"], "arithmetic");
    EXPECT_EQ(read["limit"], "compute");
    EXPECT_EQ(read["memory"][0]["owner"], "weights");
    const double sum = read["computed_seconds"].get<double>() + read["waits"]["input"].get<double>() +
                       read["waits"]["lanes"].get<double>() + read["waits"]["ranks"].get<double>() +
                       read["other_seconds"].get<double>();
    EXPECT_THAT(sum, DoubleNear(read["step_seconds"].get<double>(), 1e-12));
}

/// Every made-up profile, with all that a verdict may depend on.
std::vector<Profile> made_up_profiles() {
    std::vector<Profile> profiles = {made_up(), waiting_for_input(), waiting_for_input(), made_up(), made_up()};
    profiles[1].input.stages.read = 0.3;
    profiles[2].input.megapixels = 24;
    profiles[3].peaks.levels = {{"L2", 2e6, {2e11, 1e11}}, {"memory", kUnlimited, {1e10, 2e10}}};
    profiles[3].rows[1].megabytes = 1100;
    profiles[3].lanes = 2;
    profiles[3].competition = {.others = 1, .queued_share = 0.1};
    profiles[4].waits.ranks = 0.05;
    profiles[4].ranks = {{0.1, {.ranks = 0.05}}, {0.1, {.input = 0.04}}};
    profiles[4].page_loads_per_second = 3;
    return profiles;
}

TEST(ProfileJson, IsReadAgainWithTheSameVerdict) {
    for (const Profile& profile : made_up_profiles()) {
        const Verdict verdict = judge(profile);
        const std::optional<Profile> read = from_json(to_json(profile, verdict));
        ASSERT_TRUE(read);
        EXPECT_EQ(judge(*read).limit, verdict.limit);
        EXPECT_EQ(judge(*read).sentence, verdict.sentence);
        Profile again = *read;
        again.memory = profile.memory;  // is not read
        EXPECT_EQ(to_json(again, verdict), to_json(profile, verdict));
    }
}

TEST(ProfileJson, OfAnEarlierVersionLacksWhatItDidNotKnow) {
    json old = json::parse(to_json(made_up(), judge(made_up())));
    old.erase("page_loads_per_second");
    old["peaks"].erase("levels");
    for (json& row : old["operations"])
        row.erase("bound");
    const std::optional<Profile> read = from_json(old.dump());
    ASSERT_TRUE(read);
    EXPECT_EQ(judge(*read).limit, Limit::compute);
}

TEST(ProfileJson, OtherTextsAreNone) {
    const std::string text = to_json(made_up(), judge(made_up()));
    for (const std::string& other : {std::string(), std::string("[1]"), std::string("{\"run\": {}}"),
                                     std::string("{\"cnntrain_profile\": 1}"), text.substr(0, text.size() / 2)})
        EXPECT_FALSE(from_json(other)) << other;
    json wrong = json::parse(text);
    wrong["step_seconds"] = "long";
    EXPECT_FALSE(from_json(wrong.dump()));
    wrong = json::parse(text);
    wrong["operations"] = {1, 2};
    EXPECT_FALSE(from_json(wrong.dump()));
}

TEST(ProfileJson, SurvivesAnyName) {
    const json read = json::parse(to_json(hostile(), {Limit::compute, kHostile}));
    EXPECT_THAT(read["operations"][0]["name"].get<std::string>(), HasSubstr("<script>"));
    EXPECT_TRUE(json::accept(trace_of(std::vector<std::string>{trace_events(Timeline(), {}, 0, kHostile)})));
}

// ---- Trace ----

using Clock = Timeline::Clock;
using std::chrono::microseconds;

/// The trace of two ranks, each with a lane, a loader's thread and buckets.
json made_up_trace() {
    std::vector<std::string> ranks;
    const Clock::time_point origin = Clock::now();
    for (int rank = 0; rank < 2; ++rank) {
        Timeline timeline;
        Timeline::Track& lane =
            timeline.add_track("lane 0", {{"conv2d", kHostile, "forward"}, {"wait for input", "", "wait"}});
        Timeline::Track& loader = timeline.add_track("loader 0", {{"prepare samples", "", "input"}});
        Timeline::Track& buckets = timeline.add_track("buckets", {{"sum"}}, Timeline::Order::overlapping);
        lane.add(0, origin, origin + microseconds(30), 5);
        lane.add(1, origin + microseconds(30), origin + microseconds(42));
        loader.add(0, origin - microseconds(50), origin - microseconds(10));  // before the measurement
        loader.add(0, origin - microseconds(5), origin + microseconds(10));
        buckets.add(0, origin + microseconds(1), origin + microseconds(20), 3);
        buckets.add(0, origin + microseconds(10), origin + microseconds(25), 4);
        ranks.push_back(trace_events(timeline, origin, rank, "rank " + std::to_string(rank)));
    }
    return json::parse(trace_of(ranks));
}

// The Trace Event Format: what Perfetto and chrome://tracing need of each kind of event.
TEST(ProfileTrace, FollowsTheTraceEventFormat) {
    const json trace = made_up_trace();
    EXPECT_EQ(trace["displayTimeUnit"], "ms");
    ASSERT_TRUE(trace["traceEvents"].is_array());
    std::map<std::string, int> open;  // asynchronous events
    std::map<std::pair<int, int>, double> last_end;
    for (const json& event : trace["traceEvents"]) {
        ASSERT_TRUE(event["name"].is_string() && event["ph"].is_string() && event["pid"].is_number_integer()) << event;
        const std::string kind = event["ph"];
        if (kind == "M") {
            EXPECT_TRUE(event["args"].is_object()) << event;
            continue;
        }
        ASSERT_TRUE(event["tid"].is_number_integer() && event["ts"].is_number() && event["cat"].is_string()) << event;
        EXPECT_GE(event["ts"].get<double>(), 0);
        if (kind == "X") {
            EXPECT_GE(event["dur"].get<double>(), 0);
            double& end = last_end[{event["pid"], event["tid"]}];
            EXPECT_GE(event["ts"].get<double>(), end - 1e-6) << "events of a thread must not overlap";
            end = event["ts"].get<double>() + event["dur"].get<double>();
            continue;
        }
        ASSERT_TRUE(kind == "b" || kind == "e") << event;
        ASSERT_TRUE(event["id"].is_string()) << event;
        open[event["id"].get<std::string>()] += kind == "b" ? 1 : -1;
    }
    for (const auto& [id, count] : open)
        EXPECT_EQ(count, 0) << id;
    EXPECT_EQ(open.size(), 4U);
}

TEST(ProfileTrace, NamesRanksLanesAndTheLoader) {
    std::set<std::string> names;
    std::set<int> processes;
    int slices = 0;
    const json trace = made_up_trace();
    for (const json& event : trace["traceEvents"]) {
        if (event["ph"] == "M" && event["args"].contains("name")) names.insert(event["args"]["name"]);
        if (event["ph"] != "X") continue;
        ++slices;
        processes.insert(event["pid"].get<int>());
        if (event["name"] == "conv2d") {
            EXPECT_EQ(event["dur"].get<double>(), 30);
            EXPECT_EQ(event["args"]["number"], 5);
        }
    }
    EXPECT_EQ(names, (std::set<std::string>{"rank 0", "rank 1", "lane 0", "loader 0", "buckets"}));
    EXPECT_EQ(processes, (std::set<int>{0, 1}));
    EXPECT_EQ(slices, 6);  // without the one that ended before the measurement
}

// ---- Stacks, table, files ----

TEST(FoldedStacks, AddUpToTheStepAndHaveOneFrameSeparator) {
    const std::string text = folded_stacks(hostile());
    EXPECT_THAT(text, HasSubstr("conv2d_input_grad"));
    std::istringstream lines(text);
    double sum = 0;
    for (std::string line; std::getline(lines, line);) {
        const std::size_t space = line.rfind(' ');
        ASSERT_NE(space, std::string::npos) << line;
        EXPECT_EQ(line.substr(space + 1).find_first_not_of("0123456789"), std::string::npos) << line;
        EXPECT_THAT(line, ::testing::StartsWith("rank 0;"));
        sum += std::stod(line.substr(space + 1));
    }
    EXPECT_THAT(sum, DoubleNear(1e5, 3));
}

TEST(ProfileTable, HasSharesThatAddUp) {
    Profile profile = waiting_for_input();
    profile.ranks = {{0.1, {.input = 0.06}}, {0.1, {.ranks = 0.02}}};
    const std::string text = table(profile, judge(profile), 2);
    EXPECT_THAT(text, AllOf(HasSubstr("10 steps of 32 images"), ContainsRegex("waiting for input +60.000 +60.0 %"),
                            ContainsRegex("conv2d +forward +50 +12.000 +12.0 % +1666.7 +3.3"), HasSubstr("100.0"),
                            ContainsRegex("\n1 +100.00 +80.00 +0.00 +20.00\n")));
    std::istringstream lines(text);
    double sum = 0;
    for (std::string line; std::getline(lines, line) && line.find("a step   ") == std::string::npos;) {
        const std::size_t percent = line.find(" %");
        if (percent == std::string::npos || line.starts_with("Profile")) continue;
        sum += std::stod(line.substr(percent - 5, 5));
    }
    EXPECT_THAT(sum, DoubleNear(100, 0.5));
    EXPECT_THAT(text, ::testing::EndsWith(judge(profile).sentence + ".\n"));
}

TEST(ProfileFiles, AreKnownByNameAndContent) {
    MemoryFiles files;
    const Profile profile = made_up();
    const std::string json_text = to_json(profile, judge(profile));
    write_report(files, "d",
                 {"", {json_text, json_text}, trace_of(std::vector<std::string>{"{}"}), folded_stacks(profile)});
    const std::vector<std::string> paths = profile_files("d", 2);
    EXPECT_EQ(paths.size(), 4U);
    for (const std::string& path : paths) {
        EXPECT_TRUE(is_profile_name(path.substr(2))) << path;
        EXPECT_TRUE(is_profile_file(files, path)) << path;
    }
    for (const char* name : {"profile.rank.json", "profile.rank1x.json", "profile.rankx.json", "profile.txt", "x"})
        EXPECT_FALSE(is_profile_name(name)) << name;
    write_text(files, "mine", "rank");
    EXPECT_FALSE(is_profile_file(files, "mine"));
}

}  // namespace
}  // namespace cnntrain::profile::testing
