// SIGTERM, SIGINT and SIGHUP at awkward moments, and little memory: the real program in a real shell.
#include <gtest/gtest.h>

#include <string>

#include "cli/shell.h"
#include "support/matchers.h"
#include "support/suite_folder.h"

namespace cnntrain::cli {
namespace {

/// A shell's functions, for a program in the background whose number is in $pid.
constexpr const char* kFunctions = R"(
until_saved() { i=0; until [ -e "$1/training.csv" ] || [ $i = 1200 ]; do sleep 0.05; i=$((i+1)); done; }
until_gone() { i=0; while kill -0 $1 2>/dev/null && [ $i -lt $2 ]; do sleep 0.1; i=$((i+1)); done; }
)";

class Signals : public test::SuiteFolder<Signals> {
public:
    static void prepare() { run("dataset cifar --train 500 --test 100 --output-dir " + (*folder_ / "data")); }

protected:
    /// A training that lasts for hours.
    static std::string training(const std::string& name) {
        return std::string(CNNTRAIN_PROGRAM) + " train --data-dir " + (*folder_ / "data") +
               " --model-size 8 --threads 1 --input-threads 1 --epochs 100000 --warmup-epochs 0 --ckpts-per-epoch 0 "
               "--no-validation --logs-path " +
               (*folder_ / name);
    }
    static Outcome script(const std::string& lines) {
        return shell("cd " + folder_->path() + "; " + kFunctions + lines);
    }
    /// Lines that run a training until it has logged something, and end with its exit code. timeout(1) passes the
    /// signal on; the shell alone would start a background job with SIGINT ignored.
    static std::string stopped_by(const std::string& signal, const std::string& line, const std::string& name) {
#ifdef CNNTRAIN_SANITIZED
        const std::string some_work = "sleep 3; ";
#else
        const std::string some_work = "sleep 0.3; ";
#endif
        return "timeout 600 " + line + " & pid=$!; until_saved " + name + "; " + some_work + "kill -" + signal +
               " $pid; wait $pid; ";
    }
    static bool saved(const std::string& name) {
        return run("restore --dry-run --restore-path " + (*folder_ / name)).exit_code == 0 &&
               script("ls " + name + " | grep -v 'ckpt-0\\.' | grep -c ckpt").exit_code == 0;
    }
};

TEST_F(Signals, EachOfTheThreeSavesAndSaysSoByTheExitCode) {
    for (const std::string signal : {"TERM", "INT", "HUP"}) {
        EXPECT_EQ(script(stopped_by(signal, training(signal) + " >/dev/null 2>&1", signal) + "echo code $?").text,
                  "code 143\n");
        EXPECT_TRUE(saved(signal)) << signal;
    }
}

TEST_F(Signals, InsideAPipelinedUpdateDoTheSame) {
    const std::string line = training("pipelined") +
                             " --threads 2 --lanes 2 --micro-batch-size 1 --gradient-accumulation-count 64 --pipeline "
                             "--pipeline-splits stage1/unit1/relu stage2/unit1 fc1";
    EXPECT_EQ(script(stopped_by("TERM", line + " >/dev/null 2>&1", "pipelined") + "echo code $?").text, "code 143\n");
    EXPECT_TRUE(saved("pipelined"));
}

TEST_F(Signals, TheReaderOfTheOutputMayGoFirst) {
    const Outcome outcome = script("{ " + stopped_by("INT", training("tee") + " 2>/dev/null", "tee") +
                                   "echo code $? >&3; } 3>code | head -n 1 >/dev/null; cat code");
    EXPECT_EQ(outcome.text, "code 143\n");
    EXPECT_TRUE(saved("tee"));
}

TEST_F(Signals, AnOutputThatNobodyReadsHoldsNothingUp) {
    const Outcome outcome = script(
        "mkfifo console; sleep 100 <console & reader=$!; head -c 50000 /dev/zero >console; " + training("stuck") +
        " --log-freq 1 --micro-batch-size 2 >console 2>&1 & pid=$!; until_saved stuck; sleep 4; kill -TERM $pid; "
        "until_gone $pid 90; kill -KILL $pid 2>/dev/null; wait $pid; echo code $?; kill $reader");
    EXPECT_EQ(outcome.text, "code 143\n");
    EXPECT_TRUE(saved("stuck"));
}

TEST_F(Signals, IgnoredOnesStayIgnored) {
    const Outcome outcome =
        script("trap '' INT HUP; " + training("nohup") +
               " >/dev/null 2>&1 & pid=$!; until_saved nohup; kill -INT $pid; kill -HUP $pid; sleep 0.5; "
               "kill -0 $pid && echo alive; kill -TERM $pid; wait $pid; echo code $?");
    EXPECT_EQ(outcome.text, "alive\ncode 143\n");
}

TEST_F(Signals, WhatWaitsForAFileEndsWithinSeconds) {
    const Outcome outcome = script(
        "mkdir waiting && mkfifo waiting/train-00000-of-00002 && mkfifo waiting/train-00001-of-00002 && "
        "timeout --preserve-status -k 8 -s TERM 1 " +
        std::string(CNNTRAIN_PROGRAM) + " train --dataset imagenet --no-logs --no-validation --data-dir waiting");
    // A version that refuses files of this kind does not wait at all.
    EXPECT_THAT(outcome.exit_code, AnyOf(kInterruptedExitCode, exit_code(ErrorKind::data))) << outcome.text;
}

TEST_F(Signals, ABenchmarkThatFloodsItsOutputIsStoppedSoon) {
    const Outcome outcome = script(
        "printf 'flood_gen:\\n  cmd: yes\\n  data:\\n    rate: {regexp: \"rate (.*)\"}\\n' > flood.yml; "
        "timeout --preserve-status -k 8 -s TERM 3 " +
        std::string(CNNTRAIN_PROGRAM) +
        " benchmark --spec flood.yml --log-dir flood >/dev/null 2>&1; echo code $?; du -sm flood | cut -f1");
    EXPECT_THAT(outcome.text, HasSubstr("code 143\n"));
    EXPECT_LT(std::stoi(outcome.text.substr(outcome.text.find('\n'))), 60);
}

#ifndef CNNTRAIN_SANITIZED  // sanitizers map terabytes
TEST_F(Signals, LittleMemoryIsSaid) {
    int refusals = 0;
    for (int megabytes = 70; megabytes <= 400; megabytes += 10) {
        const std::string program = "ulimit -v " + std::to_string(1000 * megabytes) + "; " + CNNTRAIN_PROGRAM;
        if (script(program + " --version").exit_code != 0) continue;  // libraries fail before the program begins
        const Outcome outcome = script(program + " train --data-dir " + (*folder_ / "data") +
                                       " --model-size 8 --iterations 2 --epochs 0 --no-logs --no-validation");
        EXPECT_THAT(outcome.exit_code, AnyOf(0, exit_code(ErrorKind::unsupported)))
            << megabytes << " MB: " << outcome.text;
        if (outcome.exit_code == 0) break;
        EXPECT_THAT(outcome.text, HasSubstr("memory"));
        ++refusals;
    }
    EXPECT_GT(refusals, 0);
}
#endif

}  // namespace
}  // namespace cnntrain::cli
