// A run that was stopped or killed and resumed is the run that was not.
#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

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

// ---- Stops inside an update ----

const std::string kLongUpdates =
    "--gradient-accumulation-count 256 --micro-batch-size 2 --iterations 2 --epochs 0 --log-freq 1 --no-validation ";
constexpr int kMicroBatches = 256;
const std::string kKept = "run/update-1.sums";

/// Stops the second update before its micro-batch of this number. A stop is asked for between micro-batches, and three
/// times between updates.
std::function<bool()> stop_in_second_update(int micro_batch, int& asked) {
    return [&asked, last = kMicroBatches + 1 + micro_batch] { return ++asked > last; };
}

/// The run without a stop.
const MemoryFiles& undisturbed() {
    static const MemoryFiles files = [] {
        MemoryFiles whole;
        EXPECT_EQ(train(whole, kLongUpdates).exit_code, 0);
        return whole;
    }();
    return files;
}

void expect_undisturbed_results(const MemoryFiles& files) {
    EXPECT_EQ(loss_rows(files), loss_rows(undisturbed()));
    EXPECT_EQ(weights(files, 2), weights(undisturbed(), 2));
    EXPECT_FALSE(exists(files, kKept));
}

TEST(Stop, InsideAnUpdateKeepsItsCompleteMicroBatches) {
    MemoryFiles files;
    int asked = 0;
    const Outcome stopped = train(files, kLongUpdates, stop_in_second_update(100, asked));
    EXPECT_EQ(stopped.exit_code, kInterruptedExitCode);
    EXPECT_THAT(stopped.console, HasSubstr("100 of 256"));
    EXPECT_LT(asked, kMicroBatches + 105);  // no more micro-batches than asked for
    ASSERT_TRUE(exists(files, kKept));

    asked = 0;
    const Outcome again = restore(files, "", [&] { return ++asked > 50; });
    EXPECT_THAT(again.console, HasSubstr("100 of 256"));
    EXPECT_THAT(again.console, HasSubstr("150 of 256"));

    asked = 0;
    const Outcome last = restore(files, "", [&] { return ++asked < 0; });
    EXPECT_EQ(last.exit_code, 0);
    EXPECT_THAT(last.console, HasSubstr("150 of 256"));
    EXPECT_LT(asked, kMicroBatches - 145) << "the kept micro-batches are not computed again";
    expect_undisturbed_results(files);
}

TEST(Stop, KeepsNothingThatIsQuicklyRepeated) {
    least_kept_seconds = 1000;
    MemoryFiles files;
    int asked = 0;
    const Outcome stopped = train(files, kLongUpdates, stop_in_second_update(10, asked));
    least_kept_seconds = 0;
    EXPECT_THAT(stopped.console, HasSubstr("10 of 256"));
    EXPECT_FALSE(exists(files, kKept));
    EXPECT_THAT(restore(files).console, Not(HasSubstr("The stopped iteration")));
    expect_undisturbed_results(files);
}

/// A run stopped in its second update.
MemoryFiles stopped_run(const std::string& options = "") {
    MemoryFiles files;
    int asked = 0;
    train(files, kLongUpdates + options, stop_in_second_update(20, asked));
    EXPECT_TRUE(exists(files, kKept));
    return files;
}

/// Repeats the update whose kept part cannot be used, and says why.
void expect_repeated(MemoryFiles& files, const std::string& why) {
    const Outcome last = restore(files);
    EXPECT_EQ(last.exit_code, 0);
    EXPECT_THAT(last.console,
                ::testing::ContainsRegex("The stopped iteration is repeated from its first micro-batch: .*" + why));
    expect_undisturbed_results(files);
}

TEST(KeptUpdate, ThatIsDamagedIsNotUsed) {
    MemoryFiles files = stopped_run();
    std::string bytes = read_text(files, kKept);
    bytes[bytes.size() - 100] = static_cast<char>(bytes[bytes.size() - 100] ^ 1);
    write_text(files, kKept, bytes);
    expect_repeated(files, "update-1.sums.*checksum");

    files = stopped_run();
    write_text(files, kKept, bytes.substr(0, bytes.size() / 2));
    expect_repeated(files, "update-1.sums");
}

TEST(KeptUpdate, OfAnotherRunIsNotUsed) {
    MemoryFiles other = stopped_run("--weight-decay 0.5 ");
    MemoryFiles files = stopped_run();
    write_text(files, kKept, read_text(other, kKept));
    expect_repeated(files, "update-1.sums: its weights are not those of the checkpoint");
}

TEST(KeptUpdate, OfAnotherUpdateIsNotUsed) {
    MemoryFiles files = stopped_run();
    // The kept part of the first update, with the name of the second.
    MemoryFiles first;
    train(first, kLongUpdates, stop_after(20));
    ASSERT_TRUE(exists(first, "run/update-0.sums"));
    write_text(files, kKept, read_text(first, "run/update-0.sums"));
    expect_repeated(files, "update-1.sums: it is of another update");
}

TEST(KeptUpdate, IsNotUsedWithOtherOptions) {
    MemoryFiles files = stopped_run();
    const Outcome last = train(files, kLongUpdates + "--weight-decay 0.5 --restore-path run");
    EXPECT_THAT(last.console, HasSubstr("it was written with other options that change the numbers"));
    EXPECT_EQ(last.exit_code, 0);
}

TEST(KeptUpdate, IsRemovedWithTheRun) {
    MemoryFiles files = stopped_run();
    EXPECT_EQ(train(files, kLongUpdates + "--overwrite", [] { return true; }).exit_code, kInterruptedExitCode);
    EXPECT_FALSE(exists(files, kKept));
}

TEST(KeptUpdate, ThatCannotBeWrittenIsRepeated) {
    MemoryFiles files;
    int asked = 0;
    const auto stop = [&] {
        if (++asked < kMicroBatches + 20) return false;
        if (asked == kMicroBatches + 20) files.set_capacity_bytes(files.used_bytes() + 100'000);
        return true;
    };
    const Outcome stopped = train(files, kLongUpdates, stop);
    EXPECT_EQ(stopped.exit_code, kInterruptedExitCode);
    EXPECT_THAT(stopped.console,
                HasSubstr("micro-batches of the next one are repeated, because they could not be kept"));
    EXPECT_FALSE(exists(files, kKept));
    files.set_capacity_bytes(std::uint64_t{1} << 40);
    EXPECT_EQ(restore(files).exit_code, 0);
    expect_undisturbed_results(files);
}

TEST(Restore, AfterAKillTheRowsBeyondTheCheckpointAreWrittenOnce) {
    MemoryFiles whole;
    train(whole);
    // The folder after kill -9: rows up to the end, and only an earlier checkpoint.
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
}  // namespace cnntrain::run::testing
