// Profiles of trainings and of lines.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "run/profiling.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

using nlohmann::json;

std::set<std::string> threads_in(const json& trace) {
    std::set<std::string> names;
    for (const json& event : trace["traceEvents"]) {
        if (event["name"] == "thread_name") names.insert(event["args"]["name"]);
    }
    return names;
}

TEST(ProfiledTraining, WritesItsFilesAndTrainsAsWithoutAProfile) {
    MemoryFiles plain;
    train(plain, "--no-validation --epochs 1");
    MemoryFiles files;
    const Outcome outcome = train(files, "--no-validation --epochs 1 --profile --profile-steps 4");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console,
                AllOf(HasSubstr("4 steps of 8 images"),
                      HasSubstr("Saved run/profile.trace.json, run/profile.folded, run/profile.json")));
    EXPECT_EQ(loss_rows(files), loss_rows(plain));
    EXPECT_EQ(weights(files, 20), weights(plain, 20));
    const json profile = json::parse(read_text(files, "run/profile.json"));
    EXPECT_EQ(profile["run"]["steps"], 4);
    EXPECT_GT(profile["input"]["samples"].get<double>(), 0);
    const double known = profile["computed_seconds"].get<double>() + profile["waits"]["input"].get<double>();
    EXPECT_LE(known, 1.001 * profile["step_seconds"].get<double>());
    const json trace = json::parse(read_text(files, "run/profile.trace.json"));
    EXPECT_EQ(threads_in(trace), (std::set<std::string>{"lane 0", "loader 0"}));
    EXPECT_THAT(read_text(files, "run/log.txt"), HasSubstr("Limited by "));
}

TEST(ProfiledTraining, AnotherRunMayReplaceItsFiles) {
    MemoryFiles files;
    train(files, "--no-validation --epochs 1 --profile");
    EXPECT_EQ(train(files, "--no-validation --epochs 1 --overwrite").exit_code, 0);
    EXPECT_FALSE(exists(files, "run/profile.json"));
    EXPECT_FALSE(exists(files, "run/profile.folded"));
}

TEST(ProfiledTraining, OfSeveralProcessesShowsAllRanks) {
    std::vector<Process> processes(2);
    train_together(processes, "--no-validation --epochs 1 --profile --profile-steps 3 --precision 32.32");
    for (const Process& process : processes)
        EXPECT_FALSE(process.error) << process.message;
    const FileSystem& files = processes[0].files;
    EXPECT_EQ(json::parse(read_text(files, "run/profile.json"))["ranks"].size(), 2U);
    EXPECT_EQ(json::parse(read_text(files, "run/profile.rank1.json"))["run"]["rank"], 1);
    const json trace = json::parse(read_text(files, "run/profile.trace.json"));
    std::set<int> ranks;
    for (const json& event : trace["traceEvents"])
        ranks.insert(event["pid"].get<int>());
    EXPECT_EQ(ranks, (std::set<int>{0, 1}));
    EXPECT_EQ(threads_in(trace), (std::set<std::string>{"lane 0", "loader 0", "communication", "buckets"}));
    EXPECT_FALSE(exists(processes[1].files, "run/profile.json"));
}

TEST(ProfiledTraining, InLanesAddsUpToo) {
    MemoryFiles files;
    train(
        files,
        "--no-validation --epochs 1 --profile --profile-steps 3 --threads 2 --lanes 2 --gradient-accumulation-count 4 "
        "--pipeline --pipeline-splits stage2/unit1 --pipeline-schedule Grouped");
    const json profile = json::parse(read_text(files, "run/profile.json"));
    EXPECT_EQ(profile["run"]["lanes"], 2);
    double known = profile["computed_seconds"].get<double>();
    for (const double wait : profile["waits"])
        known += wait;
    EXPECT_LE(known, 1.001 * profile["step_seconds"].get<double>());
    EXPECT_GT(known, 0.5 * profile["step_seconds"].get<double>());
    EXPECT_EQ(threads_in(json::parse(read_text(files, "run/profile.trace.json"))),
              (std::set<std::string>{"lane 0", "lane 1", "all lanes", "loader 0"}));
}

TEST(ProfiledTraining, TooShortSaysSo) {
    MemoryFiles files;
    const Outcome outcome = train(files, "--no-validation --iterations 1 --epochs 0 --log-freq 1 --profile");
    EXPECT_THAT(outcome.console, HasSubstr("--profile"));
    EXPECT_FALSE(exists(files, "run/profile.json"));
}

TEST(ProfiledWindow, FitsIntoTheTraining) {
    const auto window = [](std::int64_t updates, std::int64_t before, std::int64_t steps) {
        const Window found = profiled_window(updates, before, steps);
        return std::pair(found.first, found.steps);
    };
    EXPECT_EQ(window(100, 5, 10), std::pair(std::int64_t{5}, std::int64_t{10}));
    EXPECT_EQ(window(12, 5, 10), std::pair(std::int64_t{2}, std::int64_t{10}));
    EXPECT_EQ(window(8, 5, 10), std::pair(std::int64_t{1}, std::int64_t{7}));
    EXPECT_EQ(window(2, 5, 10), std::pair(std::int64_t{1}, std::int64_t{1}));
    EXPECT_EQ(window(1, 5, 10).second, 0);
    EXPECT_EQ(window(0, 5, 10).second, 0);
}

TEST(ProfiledLine, MakesNoRunFolder) {
    MemoryFiles files;
    const Outcome outcome = profile_line(files, "", {.steps = 2, .folder = ""});
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console,
                AllOf(HasSubstr("2 steps of 8 images"), ContainsRegex("conv2d +forward"),
                      ContainsRegex("update +update"), HasSubstr("Memory: "), Not(HasSubstr("Saved"))));
    EXPECT_FALSE(is_directory(files, "run"));
    EXPECT_EQ(files.used_bytes(), 0U);
}

TEST(ProfiledLine, WritesToTheFolderThatIsNamed) {
    MemoryFiles files;
    EXPECT_EQ(profile_line(files, "", {.steps = 2, .folder = "here"}).exit_code, 0);
    EXPECT_EQ(json::parse(read_text(files, "here/profile.json"))["run"]["steps"], 2);
    EXPECT_EQ(profile_line(files, "", {.steps = 3, .folder = "here"}).exit_code, 0);  // its own files
    EXPECT_EQ(json::parse(read_text(files, "here/profile.json"))["run"]["steps"], 3);
    write_text(files, "there/profile.json", "mine");
    EXPECT_THAT(test::message_of(ErrorKind::usage, [&] { profile_line(files, "", {.steps = 2, .folder = "there"}); }),
                HasSubstr("there/profile.json"));
    write_text(files, "file", "mine");
    EXPECT_THAT(test::message_of(ErrorKind::usage, [&] { profile_line(files, "", {.steps = 2, .folder = "file"}); }),
                Not(IsEmpty()));
}

TEST(ProfiledLine, EvaluationsHaveNoUpdates) {
    MemoryFiles files;
    for (const auto command : {options::Command::validation, options::Command::inference}) {
        const Outcome outcome = profile_line(files, "", {.steps = 3, .folder = ""}, command);
        EXPECT_THAT(outcome.console, Not(ContainsRegex("update +update")));
    }
}

TEST(ProfiledLine, IsForTheCpuOnly) {
    MemoryFiles files;
    EXPECT_THAT(test::message_of(ErrorKind::unsupported,
                                 [&] { profile_line(files, "--backend ref", {.steps = 1, .folder = ""}); }),
                HasSubstr("CPU"));
    const Outcome outcome =
        train(files, "--no-validation --iterations 2 --epochs 0 --log-freq 2 --profile --backend ref");
    EXPECT_THAT(outcome.console, Not(HasSubstr("Profile of")));
}

// Real bottlenecks, as far as they can be distinguished on a machine with other work on it.
TEST(ProfiledLine, ATinyBatchIsNamed) {
    MemoryFiles files;
    profile_line(files, "--micro-batch-size 1", {.steps = 5, .folder = "p"});
    const json profile = json::parse(read_text(files, "p/profile.json"));
    const std::set<std::string> first = {"neighbours", "threads", "input"};  // of a busy machine, or with many cores
    if (!first.contains(profile["limit"].get<std::string>())) {
        EXPECT_EQ(profile["limit"], "small_batch") << profile["advice"];
    }
}

}  // namespace
}  // namespace cnntrain::run::testing
