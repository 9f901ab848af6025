// cnntrain report on folders of made-up runs: what it writes, replaces and refuses, and how a watch ends.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "cli/shell.h"
#include "cnntrain/base/io.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::cli {
namespace {

class Report : public ::testing::Test {
protected:
    Report() {
        write(run_);
        write(folder_ / "other");
    }

    static void write(const std::string& run) {
        posix_files().make_directories(run);
        write_text(posix_files(), run + "/training.csv",
                   "step,iteration,epoch,lr,loss_batch,loss_avg\r\n1,10,1,0.1,2.3,2.3\r\n2,20,2,0.1,1.3,1.8\r\n");
        write_text(posix_files(), run + "/log.txt", "Command line: cnntrain train\n");
    }
    std::string line(const std::string& more = "") const { return "report " + run_ + " --no-predictions " + more; }
    std::string page() const { return folder_.read("run/report.html"); }

    test::TemporaryFolder folder_;
    std::string run_ = folder_ / "run";
};

TEST_F(Report, WritesIntoTheFolderOfTheRunAndReplacesOnlyPages) {
    const Outcome first = run(line());
    EXPECT_EQ(first.exit_code, 0) << first.text;
    EXPECT_THAT(first.text, HasSubstr(run_));
    EXPECT_THAT(page(), AllOf(HasSubstr("Did it learn?"), HasSubstr(R"("learning":[")")));
    EXPECT_EQ(run(line()).exit_code, 0) << "its own page is replaced";
    write_text(posix_files(), run_ + "/report.html", "<html>my page</html>");
    expect_error(line(), ErrorKind::usage, {"report.html", "--overwrite"});
    EXPECT_EQ(page(), "<html>my page</html>");
    EXPECT_EQ(run(line("--overwrite")).exit_code, 0);
    expect_error(line("--output " + run_), ErrorKind::usage, {"folder"});
    expect_error(line("--output /dev/null"), ErrorKind::usage, {"device"});
    expect_error(line("--output " + run_ + "/training.csv"), ErrorKind::usage, {"read"});
    expect_error(line("--overwrite --output " + run_ + "/log.txt"), ErrorKind::usage, {"read"});
}

TEST_F(Report, TellsNamesOfClassesWithoutTheirControlCharacters) {
    write_text(posix_files(), run_ + "/validation_classes.csv",
               "name,class,label,samples,correct,predicted\r\nckpt-20,0,a\x1b[2Jb,10,1,1\r\nckpt-20,1,cat,10,9,9\r\n");
    const Outcome told = run(line());
    EXPECT_EQ(told.exit_code, 0) << told.text;
    EXPECT_THAT(told.text, AllOf(HasSubstr(": a\\x1b[2Jb"), Not(HasSubstr("\x1b"))));
}

TEST_F(Report, ComparesRuns) {
    const std::string output = folder_ / "both.html";
    const Outcome both = run(line(folder_ / "other" + " --output " + output));
    EXPECT_EQ(both.exit_code, 0) << both.text;
    write_text(posix_files(), folder_ / "other/arguments.json", R"({"epochs": 3, "name": "RN8_abc"})");
    write_text(posix_files(), run_ + "/arguments.json", R"({"epochs": 8, "name": "RN8_xyz"})");
    const Outcome table = run(line(folder_ / "other" + " --output " + output));
    EXPECT_THAT(table.text, ContainsRegex("\noption +run +other\nepochs +8 +3\n"));
    EXPECT_THAT(read_text(posix_files(), output), HasSubstr(R"("differences":[["epochs","8","3"]])"));
    expect_error(line(folder_ / "absent"), ErrorKind::not_found, {"folder"});
    expect_error("report", ErrorKind::usage, {"RUN"});
    expect_error(line("--watch --interval 0"), ErrorKind::usage, {"--interval"});
    expect_error(line("--samples few"), ErrorKind::usage, {"--samples"});
}

TEST_F(Report, AWrongDataFolderLeavesThePageAsItIs) {
    ASSERT_EQ(run(line()).exit_code, 0);
    const std::string before = page();
    expect_error(line("--data-dir " + (folder_ / "nowhere")), ErrorKind::data, {"--data-dir", "nowhere"});
    EXPECT_EQ(page(), before);
}

TEST_F(Report, AWatchOfARunThatHasEndedEnds) {
    const Outcome watch = run(line("--watch"));
    EXPECT_EQ(watch.exit_code, 0);
    EXPECT_THAT(watch.text, HasSubstr("the run is not going"));
}

TEST_F(Report, AWatchFollowsTheRunAndEndsWithASignal) {
    const auto lock = lock_folder(posix_files(), run_, "a training");
    const std::string output = folder_ / "watched.html";
    const Outcome watch =
        shell("timeout 60 " CNNTRAIN_PROGRAM " " + line("--watch --interval 0.2 --output " + output) +
              " & pid=$!; i=0; until [ -e " + output + " ] || [ $i = 600 ]; do sleep 0.05; i=$((i+1)); done; rm " +
              output + "; i=0; until [ -e " + output +
              " ] || [ $i = 600 ]; do sleep 0.05; i=$((i+1)); done; kill -TERM $pid; wait $pid");
    EXPECT_EQ(watch.exit_code, 143) << watch.text;
    EXPECT_THAT(read_text(posix_files(), output), HasSubstr("still going")) << "written again";
    EXPECT_THAT(watch.text, Not(HasSubstr("error")));
}

TEST_F(Report, ShowsPredictionsOfATrainedNetwork) {
    const std::string run = folder_ / "trained";
    cli::run("dataset cifar --train 120 --test 40 --output-dir " + (folder_ / "data"));
    const Outcome trained =
        cli::run("train --data-dir " + (folder_ / "data") +
                 " --model-size 8 --epochs 2 --warmup-epochs 0 --micro-batch-size 8 --threads 1 --seed 3 "
                 "--logs-per-epoch 2 --profile --profile-steps 5 --logs-path " +
                 run);
    ASSERT_EQ(trained.exit_code, 0) << trained.text;
    const std::string times = read_text(posix_files(), run + "/time_split.csv");
    EXPECT_EQ(times.substr(0, times.find('\r')),
              "updates,iteration,update_seconds,input_wait_seconds,exchange_seconds,exposed_exchange_seconds,"
              "processor_seconds,queued_seconds,other_programs_seconds,page_loads");
    EXPECT_EQ(count_of("\n", times), 6U) << "a row for each log line";
    expect_error("report " + (folder_ / ""), ErrorKind::not_found, {"itself", run});
    const Outcome first = cli::run("report " + run);
    ASSERT_EQ(first.exit_code, 0) << first.text;
    EXPECT_THAT(first.text, HasSubstr("--samples"));
    const std::string page = read_text(posix_files(), run + "/report.html");
    EXPECT_THAT(page, HasSubstr("40 of 40"));
    EXPECT_THAT(page, HasSubstr(R"("picture":"/9j/)")) << "a JPEG of a wrong image";
    EXPECT_THAT(page, HasSubstr("Program: cnntrain "));
    EXPECT_THAT(page, HasSubstr("Data fingerprint: "));
    EXPECT_THAT(page, HasSubstr("40 validation"));
    EXPECT_THAT(page, HasSubstr(R"(["--warmup-epochs","0",)"));
    EXPECT_THAT(page, HasSubstr(R"("weights":[{)"));
    EXPECT_THAT(page, HasSubstr("Measured by --profile"));
    EXPECT_THAT(cli::run("report " + run).text, Not(HasSubstr("Predicting"))) << "they are kept";
    std::filesystem::create_directory(folder_ / "empty");
    const std::string full = read_text(posix_files(), run + "/report.html");
    expect_error("report " + run + " --data-dir " + (folder_ / "empty"), ErrorKind::data, {"empty"});
    EXPECT_EQ(read_text(posix_files(), run + "/report.html"), full);
    EXPECT_THAT(cli::run("report " + run + " --samples 16").text, HasSubstr("16"));
    EXPECT_THAT(read_text(posix_files(), run + "/report.html"), HasSubstr("16 of 40"));
    write_text(posix_files(), run + "/sample_predictions.json", "[1]");
    const Outcome guest = cli::run("report " + run);
    EXPECT_EQ(guest.exit_code, 0);
    EXPECT_THAT(guest.text, HasSubstr("could not be computed")) << "somebody's file is not replaced";
    EXPECT_EQ(read_text(posix_files(), run + "/sample_predictions.json"), "[1]");
}

}  // namespace
}  // namespace cnntrain::cli
