// Runs in 16.16 on IPUs that were stopped or killed and resumed, and checkpoints that change the backend.
#include <gtest/gtest.h>

#include <cmath>
#include <sstream>
#include <string>
#include <vector>

#include "cli/shell.h"
#include "cnntrain/base/error.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

constexpr std::int64_t kLast = 40;

class IpuResume : public ::testing::TestWithParam<std::string> {};

TEST_P(IpuResume, GivesTheRowsAndWeightsOfTheUninterruptedRun) {
    const std::string options = "--backend ipu --precision 16.16 " + GetParam();
    MemoryFiles whole;
    ASSERT_EQ(train(whole, options).exit_code, 0);

    MemoryFiles parts;
    ASSERT_EQ(train(parts, options, stop_after(9)).exit_code, kInterruptedExitCode);
    ASSERT_EQ(restore(parts, "", stop_after(14)).exit_code, kInterruptedExitCode);
    ASSERT_EQ(restore(parts).exit_code, 0);
    EXPECT_EQ(loss_rows(parts), loss_rows(whole));
    EXPECT_EQ(accuracy_rows(parts), accuracy_rows(whole));
    EXPECT_EQ(weights(parts, kLast), weights(whole, kLast));
}

INSTANTIATE_TEST_SUITE_P(All, IpuResume,
                         ::testing::Values("--optimiser momentum",
                                           "--gradient-accumulation-count 4 --micro-batch-size 2",
                                           "--replicas 2 --micro-batch-size 4",
                                           "--gradient-accumulation-count 4 --micro-batch-size 2 --pipeline "
                                           "--pipeline-splits stage2/unit1 --shards 2"));

// ---- From one backend to the other ----

std::vector<double> losses(const FileSystem& files) {
    std::vector<double> all;
    for (const std::string& row : loss_rows(files)) {
        const std::size_t comma = row.rfind(',');
        std::istringstream stream(row.substr(comma + 1));
        double value = 0;
        if (stream >> value) all.push_back(value);
    }
    return all;
}

TEST(IpuCheckpoint, GoesFromTheCpuToIpusAndBack) {
    const std::string options = "--precision 32.32 --optimiser momentum --abs-learning-rate 0.01 ";
    MemoryFiles cpu;
    ASSERT_EQ(train(cpu, options).exit_code, 0);
    MemoryFiles both;
    ASSERT_EQ(train(both, options, stop_after(9)).exit_code, kInterruptedExitCode);
    ASSERT_EQ(restore(both, "--backend ipu", stop_after(14)).exit_code, kInterruptedExitCode);
    ASSERT_EQ(restore(both, "--backend cpu").exit_code, 0);
    const std::vector<double> expected = losses(cpu);
    const std::vector<double> found = losses(both);
    ASSERT_EQ(found.size(), expected.size());
    ASSERT_GE(expected.size(), 8U);
    for (std::size_t i = 0; i < expected.size(); ++i)
        EXPECT_NEAR(found[i], expected[i], 0.01 * std::abs(expected[i])) << "row " << i;
}

// ---- The program itself ----

/// Lines that end the program's run with a signal once it has logged its third row.
constexpr const char* kEnd = R"(
end() {
  i=0; until [ $(cat part/training.csv 2>/dev/null | wc -l) -gt 3 ] || [ $i = 1200 ]; do sleep 0.02; i=$((i+1)); done
  kill -$1 $pid; wait $pid 2>/dev/null; echo code $?
}
)";

class IpuProgram : public ::testing::TestWithParam<std::string> {};

TEST_P(IpuProgram, EndedBySignalAndRestoredHasTheSameLosses) {
    const test::TemporaryFolder folder;
    ASSERT_EQ(cli::run("dataset cifar --train 160 --test 20 --output-dir " + (folder / "data")).exit_code, 0);
    const std::string program = CNNTRAIN_PROGRAM;
    const std::string line = program +
                             " train --backend ipu --precision 16.16 --data-dir data --model-size 8 --micro-batch-size "
                             "8 --epochs 4 --warmup-epochs 0 --logs-per-epoch 20 --ckpts-per-epoch 4 --no-validation "
                             "--threads 1 --input-threads 1 --seed 3 --logs-path ";
    const cli::Outcome outcome =
        cli::shell("cd " + folder.path() + "; " + kEnd + line + "whole >/dev/null 2>&1; echo code $?; " + line +
                   "part >/dev/null 2>&1 & pid=$!; end " + GetParam() + "; " + program +
                   " restore --restore-path part >/dev/null 2>&1; echo code $?; for run in whole part; do cut -d, "
                   "-f1-7 $run/training.csv >$run.rows; done; wc -l <whole.rows; cmp whole.rows part.rows && cmp "
                   "whole/ckpt-80.safetensors part/ckpt-80.safetensors; echo same $?");
    const std::string ended = GetParam() == "KILL" ? "137" : "143";
    EXPECT_THAT(outcome.text, HasSubstr(ended));
}

INSTANTIATE_TEST_SUITE_P(Signals, IpuProgram, ::testing::Values("TERM", "KILL"));

}  // namespace
}  // namespace cnntrain::run::testing
