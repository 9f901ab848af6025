// A run that was stopped or killed and resumed is the run that was not.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "cnntrain/checkpoint/folder.h"
#include "support/errors.h"
#include "train/fixtures.h"

namespace cnntrain::train::testing {
namespace {

using test::message_of;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr std::int64_t kLast = 40;

/// Stops after each of these numbers of updates, one after another.
struct Interruptions {
    std::string options;
    std::vector<int> updates;
};

class Resume : public ::testing::TestWithParam<Interruptions> {};

TEST_P(Resume, GivesTheRowsAndWeightsOfTheUninterruptedRun) {
    MemoryFiles whole;
    ASSERT_EQ(train(whole, GetParam().options).exit_code, 0);

    MemoryFiles parts;
    bool first = true;
    for (const int updates : GetParam().updates) {
        const Outcome part =
            first ? train(parts, GetParam().options, stop_after(updates)) : restore(parts, "", stop_after(updates));
        first = false;
        ASSERT_EQ(part.exit_code, kInterruptedExitCode);
        EXPECT_THAT(part.console, HasSubstr("Stopped by a signal after iteration"));
    }
    const Outcome last = restore(parts);
    EXPECT_EQ(last.exit_code, 0);
    EXPECT_THAT(last.console, HasSubstr("Restoring training from latest checkpoint: run/ckpt-"));
    EXPECT_THAT(last.console, Not(HasSubstr("Saved initial checkpoint")));
    EXPECT_EQ(loss_rows(parts), loss_rows(whole));
    EXPECT_EQ(accuracy_rows(parts), accuracy_rows(whole));
    EXPECT_EQ(weights(parts, kLast), weights(whole, kLast));
}

// Host steps have 5 updates and ask for a stop once more at their end.
INSTANTIATE_TEST_SUITE_P(
    All, Resume,
    ::testing::Values(Interruptions{"", {1}},   // after the first update
                      Interruptions{"", {6}},   // at the end of a host step
                      Interruptions{"", {13}},  // in the middle of one
                      Interruptions{"--precision 16.32 --optimiser momentum", {3, 9, 14}},
                      Interruptions{"--precision 32.32 --group-norm", {17, 2}},
                      Interruptions{"--precision 16.16 --optimiser LAMB --abs-learning-rate 0.01", {7}},
                      Interruptions{"--gradient-accumulation-count 2 --micro-batch-size 4", {8, 8}},
                      // The second number asked for is between the micro-batches of an update.
                      Interruptions{"--gradient-accumulation-count 4 --micro-batch-size 2", {6, 14, 11}},
                      Interruptions{kProxyNet + " --precision 16.16 --optimiser RMSprop "
                                                "--rmsprop-decay 0.9",
                                    {7}},
                      Interruptions{"--mixup-alpha 0.4 --cutmix-lambda 0.6 --input-threads 2 "
                                    "--gradient-accumulation-count 2 --micro-batch-size 4",
                                    {8, 8}},
                      Interruptions{"--mixup-alpha 0.4 --cutmix-lambda 0.6 --cutmix-version 2 "
                                    "--hostside-image-mixing --enable-recomputation",
                                    {3, 9}}));

TEST(Stop, IsAnsweredBetweenTheMicroBatchesOfAnUpdate) {
    const std::string options =
        "--gradient-accumulation-count 256 --micro-batch-size 2 --iterations 2 --epochs 0 --log-freq 1 "
        "--no-validation ";
    MemoryFiles whole;
    ASSERT_EQ(train(whole, options).exit_code, 0);

    MemoryFiles parts;
    constexpr int kBetweenFirst = 255;  // micro-batches of the first update
    int asked = 0;
    const Outcome stopped = train(parts, options, [&] { return ++asked > kBetweenFirst + 100; });
    EXPECT_EQ(stopped.exit_code, kInterruptedExitCode);
    EXPECT_THAT(stopped.console, HasSubstr("Stopped by a signal after iteration 1 of 2"));
    EXPECT_LT(asked, kBetweenFirst + 105);  // no more micro-batches than asked for
    EXPECT_EQ(restore(parts).exit_code, 0);
    EXPECT_EQ(loss_rows(parts), loss_rows(whole));
    EXPECT_EQ(weights(parts, 2), weights(whole, 2));
}

TEST(Restore, AfterAKillTheRowsBeyondTheCheckpointAreWrittenOnce) {
    MemoryFiles whole;
    train(whole);
    // What kill -9 leaves: rows up to the end, and only an earlier checkpoint.
    MemoryFiles killed;
    train(killed, "--no-validation");
    killed.remove("run/ckpt-40.safetensors");
    killed.append("run/training.csv", "9,45,2.2");
    EXPECT_EQ(restore(killed).exit_code, 0);
    EXPECT_EQ(loss_rows(killed), loss_rows(whole));
}

TEST(Restore, DoesNotRewriteTheFirstCheckpointNorTheArguments) {
    MemoryFiles files;
    train(files, "", stop_after(8));
    const std::string first = read_text(files, "run/ckpt-0.safetensors");
    const std::string arguments = read_text(files, "run/arguments.json");
    restore(files);
    EXPECT_EQ(read_text(files, "run/ckpt-0.safetensors"), first);
    EXPECT_EQ(read_text(files, "run/arguments.json"), arguments);
    EXPECT_FALSE(exists(files, "run/arguments_restore.json"));
}

TEST(Restore, OfAFinishedRunOnlyValidatesWhatIsMissing) {
    MemoryFiles files;
    train(files);
    const auto rows = accuracy_rows(files);
    const Outcome again = restore(files);
    EXPECT_EQ(again.exit_code, 0);
    EXPECT_THAT(again.console, HasSubstr("Skipping validation run on checkpoint: ckpt-40"));
    EXPECT_EQ(accuracy_rows(files), rows);
    EXPECT_EQ(loss_rows(files).size(), 9U);  // header and 8 host steps
}

TEST(Restore, TrainWithARestorePathTakesItsOptionsFromTheLine) {
    MemoryFiles whole;
    train(whole);
    MemoryFiles parts;
    train(parts, "", stop_after(8));
    EXPECT_EQ(train(parts, "--restore-path run").exit_code, 0);
    EXPECT_EQ(loss_rows(parts), loss_rows(whole));
}

TEST(Restore, OfAFolderWithoutARunSaysSo) {
    MemoryFiles files;
    files.make_directories("run");
    EXPECT_THAT(message_of(ErrorKind::not_found, [&] { restore(files); }), HasSubstr("no arguments.json"));
}

TEST(Restore, WithTheWeightsOfAnotherModelNamesAllDifferences) {
    MemoryFiles files;
    train(files, "--no-validation", stop_after(2));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { train(files, "--restore-path run --model-size 14"); }),
                AllOf(HasSubstr("all/stage1/unit2/conv1/weight"), HasSubstr("all/stage3/unit2/conv2/weight")));
}

}  // namespace
}  // namespace cnntrain::train::testing
