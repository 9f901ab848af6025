// Whole calls: processes, files, tables, exit codes. The programs are shell lines that print what is measured.
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>

#include "cnntrain/launch/benchmark.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::benchmark::testing {
namespace {

/// Prints a rate that depends on the parameter.
const std::string kSpec =
    "rates_gen:\n  description: two sizes\n"
    "  cmd: >-\n    sh -c 'echo throughput: {size}0 samples/sec,; echo throughput: {size}2 samples/sec,; echo "
    "Compilation "
    "time: 1.5s.'\n"
    "  parameters:\n    size: 1,4\n"
    "  data:\n    throughput: {regexp: 'throughput: *(.*?) samples\\/sec,', skip: 1}\n"
    "  output:\n    - [Batch size, size]\n    - [samples/sec, throughput]\n"
    "wrong_gen:\n  cmd: sh -c 'echo going; echo it went wrong >&2; exit 9'\n"
    "silent_gen:\n  cmd: echo speed 5\n  data:\n    speed: {regexp: 'speed: (.*)'}\n"
    "slow_gen:\n  cmd: sh -c 'echo begin; sleep 1000'\n  data:\n    speed: {regexp: 'speed: (.*)'}\n"
    "squad_gen:\n  cmd: python3 send_request.py\n";

class Run : public ::testing::Test {
protected:
    Run() {
        request_.spec_files = {folder_.write("spec.yml", kSpec)};
        request_.log_folder = folder_ / "log";
        host_.machine.environment = {{"PATH", "/usr/bin:/bin"}};
        host_.machine.program = "/no/such/cnntrain";
        host_.output = &output_;
        host_.notes = &notes_;
        host_.patience = std::chrono::milliseconds(500);
    }
    int run(const std::vector<std::string>& benchmarks) {
        request_.benchmarks = benchmarks;
        return benchmark::run(request_, host_);
    }
    nlohmann::json results() { return nlohmann::json::parse(folder_.read("log/benchmark_results.json")); }

    test::TemporaryFolder folder_;
    Request request_;
    Host host_;
    std::ostringstream output_;
    std::ostringstream notes_;
};

TEST_F(Run, OneRowPerVariant) {
    EXPECT_EQ(run({"rates_gen"}), 0);
    EXPECT_THAT(output_.str(), StartsWith("rates_gen\n"));
    EXPECT_THAT(output_.str(), ContainsRegex("Batch size +samples/sec +time +result\n"));
    EXPECT_THAT(output_.str(), ContainsRegex("\n +1 +12 +0:00:0[0-9] +PASSED\n +4 +42 +0:00:0[0-9] +PASSED\n"));
    EXPECT_THAT(output_.str(), HasSubstr("PASSED rates_gen::rates_gen_size_4\n"));
    EXPECT_THAT(output_.str(), HasSubstr("= 0 failed, 2 passed ="));
}

TEST_F(Run, FilesHoldTheResults) {
    request_.csv_metrics = {"throughput"};
    run({"rates_gen"});
    EXPECT_EQ(
        folder_.read("log/benchmark_results.csv"),
        "\"benchmark name\",\"Variant name\",\"throughput\",\"latency\",\"total_compiling_time\",\"throughput\"\r\n"
        "\"rates_gen\",\"rates_gen_size_1\",\"12.0\",\"\",\"1.5\",\"12.0\"\r\n"
        "\"rates_gen\",\"rates_gen_size_4\",\"42.0\",\"\",\"1.5\",\"42.0\"\r\n");
    const nlohmann::json record = results().at("rates_gen").at(1);
    EXPECT_EQ(record.at("variant_name"), "rates_gen_size_4");
    EXPECT_EQ(record.at("params").at("size"), "4");
    EXPECT_EQ(record.at("results").at("throughput").at("mean"), 42.0);
    EXPECT_EQ(record.at("values").at("throughput"), (std::vector<double>{40, 42}));
    EXPECT_EQ(record.at("mean_after_first").at("throughput"), 42.0);
    EXPECT_EQ(record.at("exitcode"), 0);
    EXPECT_EQ(folder_.read("log/rates_gen_size_1/stdout"),
              "throughput: 10 samples/sec,\nthroughput: 12 samples/sec,\nCompilation time: 1.5s.\n");
    EXPECT_THAT(folder_.read("log/output.log"), HasSubstr("throughput: 42"));
    EXPECT_THAT(folder_.read("log/console.log"), HasSubstr("throughput = '12"));
    EXPECT_THAT(folder_.read("log/benchmark_results.xml"), HasSubstr("<testcase name=\"rates_gen\"></testcase>"));
}

TEST_F(Run, EveryVariantHasAFolderOfItsOwn) {
    const std::string longer(250, 'l');
    std::string spec = "names_gen:\n  cmd: echo {x}\n  parameters:\n    x: [a/b, a_b, a_b";
    for (const char* end : {"1", "2"})
        spec += ", " + longer + end;
    request_.spec_files = {folder_.write("names.yml", spec + "]\n")};
    EXPECT_EQ(run({}), 0);
    const nlohmann::json records = results().at("names_gen");
    ASSERT_EQ(records.size(), 5U);
    for (const nlohmann::json& record : records) {
        const std::filesystem::path out = record.at("log_paths").at("out").get<std::string>();
        const std::string folder = out.parent_path().filename();
        EXPECT_EQ(folder_.read("log/" + folder + "/stdout"), record.at("params").at("x").get<std::string>() + "\n");
    }
    EXPECT_TRUE(std::filesystem::exists(folder_ / "log/names_gen_x_a_b"));
    EXPECT_TRUE(std::filesystem::exists(folder_ / "log/names_gen_x_a_b_again"));
}

TEST_F(Run, AFailedProcessShowsItsLastLines) {
    EXPECT_EQ(run({"wrong_gen", "rates_gen"}), 1);
    EXPECT_THAT(notes_.str(), AllOf(HasSubstr("exit code 9"), HasSubstr("    it went wrong")));
    EXPECT_THAT(output_.str(), AllOf(HasSubstr("FAILED wrong_gen::wrong_gen (exit code 9: it went wrong)\n"),
                                     HasSubstr("1 failed, 2 passed")));
    EXPECT_EQ(results().at("wrong_gen").at(0).at("exitcode"), 9);
}

TEST_F(Run, TheSummaryHasTheReasonOfAFailure) {
    request_.spec_files = {folder_.write(
        "reasons.yml",
        "told_gen:\n  cmd: >-\n    sh -c 'echo \"[1,0]<stderr>:error: no data\" >&2; echo more >&2; exit 3'\n"
        "quiet_gen:\n  cmd: sh -c 'exit 4'\n"
        "unmeasured_gen:\n  cmd: echo nothing\n  data:\n    speed: {regexp: 'speed: (.*)'}\n")};
    EXPECT_EQ(run({}), 1);
    EXPECT_THAT(output_.str(), AllOf(HasSubstr("FAILED told_gen::told_gen (exit code 3: no data)\n"),
                                     HasSubstr("FAILED quiet_gen::quiet_gen (exit code 4)\n"),
                                     ContainsRegex("FAILED unmeasured_gen::unmeasured_gen \\(.*match.*\\)\n")));
}

TEST_F(Run, ADryRunIsNotMeasured) {
    request_.overrides = {{"dry-run", std::nullopt}};
    EXPECT_EQ(run({"silent_gen"}), 0);
    EXPECT_THAT(output_.str(), HasSubstr("PASSED silent_gen::silent_gen\n"));
    EXPECT_EQ(run({"wrong_gen"}), 1);
}

TEST_F(Run, WhatCannotRunHereIsNamedBeforeAnythingStarts) {
    host_.machine.cores = 2;
    host_.machine.open_mpi = launch::OpenMpi{};
    request_.spec_files = {
        folder_.write("large.yml",
                      "first_gen:\n  cmd: echo hello\n"
                      "large_gen:\n  cmd: poprun --num-instances 9 --num-replicas 9 python3 train.py\n")};
    EXPECT_EQ(run({}), 0);
    const std::string told = "large_gen cannot run here: 9 instances on 2 cores: at most 8 can run here";
    EXPECT_LT(notes_.str().find(told), notes_.str().find("Benchmark: first_gen")) << notes_.str();
    EXPECT_THAT(output_.str(), AllOf(HasSubstr("SKIPPED large_gen::large_gen (9 instances on 2 cores"),
                                     HasSubstr("0 failed, 1 passed, 1 skipped")));
}

TEST_F(Run, SmallNumbersReachExpressionsWhole) {
    const std::string metrics =
        "  data:\n    t: {regexp: 't=(.*)'}\n  derived:\n    rate: {expr: '1 / {t}', reduction_type: value}\n";
    request_.spec_files = {folder_.write(
        "small.yml", "small_gen:\n  cmd: echo t=1.25e-7\n" + metrics + "zero_gen:\n  cmd: echo t=0\n" + metrics)};
    EXPECT_EQ(run({}), 1);
    EXPECT_THAT(notes_.str(), AllOf(HasSubstr("   t = '1.25e-07'\n"), HasSubstr("   rate = '8000000.0'\n"),
                                    HasSubstr("rate = VALUE_NOT_FOUND: rate: 1 / {t}, here 1 / (0.0), is not")));
    EXPECT_EQ(results().at("small_gen").at(0).at("results").at("rate").at("value"), 8e6);
    EXPECT_EQ(results().at("zero_gen").at(0).at("status"), "failed");
}

TEST_F(Run, StopsAtTheFirstFailureOnRequest) {
    request_.stop_on_error = true;
    EXPECT_EQ(run({"wrong_gen", "rates_gen"}), 1);
    EXPECT_FALSE(results().contains("rates_gen"));
}

TEST_F(Run, APatternThatMatchesNothingIsNamed) {
    EXPECT_EQ(run({"silent_gen"}), 1);
    EXPECT_THAT(notes_.str(), HasSubstr("speed = VALUE_NOT_FOUND"));
    EXPECT_EQ(results().at("silent_gen").at(0).at("exitcode"), 1);
    EXPECT_TRUE(results().at("silent_gen").at(0).at("results").at("speed").at("mean").is_null());
}

TEST_F(Run, TheTimeLimitFailsTheVariant) {
    request_.timeout_seconds = 0.3;
    EXPECT_EQ(run({"slow_gen"}), 1);
    EXPECT_THAT(notes_.str(), HasSubstr("longer than its time limit"));
    EXPECT_THAT(folder_.read("log/slow_gen/stderr"), HasSubstr("Timeout (0:00:00.3"));
}

TEST_F(Run, AStopLeavesTheFinishedRows) {
    const auto begin = std::chrono::steady_clock::now();
    host_.stop_requested = [&] { return folder_.read("log/output.log").find("begin") != std::string::npos; };
    EXPECT_EQ(run({"rates_gen", "slow_gen", "silent_gen"}), kInterruptedExitCode);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
    EXPECT_THAT(output_.str(), ContainsRegex("\n +4 +42 +0:00:0[0-9] +PASSED\n"));
    EXPECT_EQ(results().at("rates_gen").size(), 2U);
    EXPECT_EQ(results().at("slow_gen").at(0).at("reason"), "stopped");
    EXPECT_FALSE(results().contains("silent_gen"));
    EXPECT_THAT(notes_.str(), HasSubstr("2 of 4"));
}

TEST_F(Run, AFloodOfOutputFillsNoDisk) {
    const std::string spec =
        "flood_gen:\n  cmd: sh -c 'yes speed 5 | head -c 40000000; echo rate 7'\n"
        "  data:\n    rate: {regexp: 'rate (.*)'}\n";
    request_.spec_files = {folder_.write("flood.yml", spec)};
    EXPECT_EQ(run({}), 0) << notes_.str();
    EXPECT_THAT(notes_.str(), HasSubstr("bytes of its output are left out"));
    EXPECT_EQ(results().at("flood_gen").at(0).at("results").at("rate").at("mean"), 7.0);
    EXPECT_LT(folder_.read("log/output.log").size(), 17'000'000U);
    EXPECT_LT(folder_.read("log/flood_gen/stdout").size(), 25'000'000U);
}

TEST_F(Run, SkippedOnesDoNotFail) {
    request_.additional_metrics = true;
    EXPECT_EQ(run({"squad_gen"}), 0);
    EXPECT_THAT(folder_.read("log/benchmark_results.csv"), HasSubstr("\"SKIPPED\",\"python3 send_request.py\""));
    EXPECT_THAT(output_.str(), AllOf(HasSubstr("SKIPPED squad_gen"), HasSubstr("0 failed, 0 passed, 1 skipped")));
}

TEST_F(Run, AllUnsetVariablesAreListedBeforeAnythingRuns) {
    request_.spec_files = {folder_.write("vars.yml", "a_gen: {cmd: echo $FIRST}\nb: {cmd: 'echo ${SECOND}'}\n")};
    const std::string message = message_of(ErrorKind::data, [&] { run({}); });
    EXPECT_THAT(message, AllOf(HasSubstr("FIRST"), HasSubstr("SECOND"), HasSubstr("DATASETS_DIR")));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "log"));
}

TEST_F(Run, CompileOnlyMeasuresNothing) {
    request_.compile_only = true;
    EXPECT_EQ(run({"silent_gen"}), 0);
    EXPECT_THAT(folder_.read("log/output.log"), HasSubstr("--compile-only"));
}

TEST_F(Run, AShippedSpecIsFoundByName) {
    request_.spec_files = {"no/such/folder/spec.yml"};
    host_.spec_folders = {folder_.path()};
    EXPECT_EQ(run({"rates_gen"}), 0);
    EXPECT_THAT(notes_.str(), HasSubstr("using the shipped"));
}

TEST_F(Run, AQuoteInAPatternIsReportedBefore) {
    request_.spec_files = {
        folder_.write("quote.yml", "a_gen:\n  cmd: echo x\n  data:\n    rate: {regexp: '(.*) samples\"'}\n")};
    EXPECT_EQ(run({}), 1);
    EXPECT_THAT(notes_.str(), HasSubstr("it will never match"));
}

TEST_F(Run, ThePlanShowsTheCommands) {
    const std::string plan = planned_commands(request_, host_);
    EXPECT_THAT(plan, HasSubstr("rates_gen_size_1\n"));
    EXPECT_THAT(plan, HasSubstr("  command: sh -c 'echo throughput: 40 samples/sec,;"));
    EXPECT_THAT(plan, HasSubstr("skipped: send_request.py"));
    EXPECT_FALSE(std::filesystem::exists(folder_ / "log"));
    EXPECT_THAT(list_text(request_, host_),
                AllOf(HasSubstr("rates_gen: 2 variants\n"), HasSubstr("5 benchmarks, 6 variants")));
}

TEST_F(Run, TheShippedSpecCanBePlanned) {
    request_.spec_files = {CNNTRAIN_SOURCE_DIR "/configs/benchmarks.yml"};
    request_.include_convergence = true;
    host_.machine.environment = {
        {"PATH", "/bin"}, {"DATASETS_DIR", "/data"}, {"HOSTS", "a,b"}, {"TCP_IF_INCLUDE", "10.0.0.0/8"}};
    const std::string plan = planned_commands(request_, host_);
    EXPECT_THAT(plan, Not(HasSubstr("not set:")));
    EXPECT_THAT(plan, HasSubstr("tf1_resnet50_infer_synth_1ipu_batchsize_90\n"));
    EXPECT_THAT(plan, HasSubstr("--micro-batch-size 90"));
}

}  // namespace
}  // namespace cnntrain::benchmark::testing
