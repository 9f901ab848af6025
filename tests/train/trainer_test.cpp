// Files of a run, and its end when something goes wrong.
#include <gtest/gtest.h>

#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

std::vector<std::string> checkpoints(const FileSystem& files) {
    std::vector<std::string> names;
    for (const auto& found : weights::find_checkpoints(files, "run"))
        names.push_back(found.name);
    return names;
}

TEST(Train, WritesTheDocumentedLinesAndFiles) {
    MemoryFiles files;
    const Outcome outcome = train(files);
    EXPECT_EQ(outcome.exit_code, 0);
    for (const char* text :
         {"Command line: cnntrain test\n", "\ncifar-10\n", "\nResNet-8\n Batch Norm\n", "\n Batch Size: 8\n",
          "\n Saving to run\n", "\nTrainable Variables:\nall/stage0/conv0/weight ", "\nTotal Parameters:75290\n\n",
          "\nSaved initial checkpoint to run/ckpt-0\n", "\nSaved checkpoint to run/ckpt-20 in ",
          "\nTraining loop completed in "}) {
        EXPECT_THAT(outcome.console, HasSubstr(text));
    }
    EXPECT_THAT(outcome.console, ContainsRegex("\nCompilation time: [0-9.]+s\\.\n"));
    EXPECT_THAT(outcome.console, ContainsRegex("step: +1, iteration: +5, epoch: +0.25, lr: +0.05, loss: +[0-9.]+, "
                                               "top-1 accuracy: +[0-9.]+ %, throughput: +[0-9.]+ samples/sec, "));
    EXPECT_THAT(outcome.console,
                ContainsRegex("\nValidation top-1 accuracy: +[0-9.]+ % \\[ckpt-40\\] \\(iteration: +40, "));
    EXPECT_THAT(outcome.console, ContainsRegex("\nTime to train: [0-9.]+s\\.\n$"));

    EXPECT_THAT(outcome.console, ContainsRegex("\nUsing (16|32)-bit IO between the IPU and host\n"));
    EXPECT_THAT(read_text(files, "run/log.txt"), Not(HasSubstr("-bit IO")));
    const std::string log = read_text(files, "run/log.txt");
    EXPECT_THAT(log, HasSubstr("Command line: cnntrain test"));
    EXPECT_THAT(log, HasSubstr("Time to train"));
    EXPECT_THAT(log, Not(HasSubstr("Saved initial checkpoint")));
    const std::string arguments = read_text(files, "run/arguments.json");
    EXPECT_THAT(arguments, HasSubstr("\"global_batch_size\": 8"));
    EXPECT_THAT(arguments, HasSubstr("\"norm_type\": \"BATCH\""));
    EXPECT_EQ(loss_rows(files).size(), 9U);
    EXPECT_THAT(checkpoints(files), ElementsAre("ckpt-0", "ckpt-20", "ckpt-40"));
}

TEST(Train, ValidationCountsEveryImageOnce) {
    MemoryFiles files;
    train(files, "--iterations 2 --epochs 0 --log-freq 2");
    const std::string rows = read_text(files, "run/validation.csv");
    EXPECT_THAT(rows, ContainsRegex("\nckpt-2,2,0.1,[0-9.]+,[0-9.]+,[0-9.e-]+,37,"));
}

TEST(Train, RunsExactlyTheIterationsAskedFor) {
    MemoryFiles files;
    const Outcome outcome = train(files, "--iterations 7 --epochs 0 --log-freq 5 --no-validation");
    EXPECT_THAT(outcome.console, HasSubstr("iteration:      7,"));
    EXPECT_THAT(checkpoints(files), ElementsAre("ckpt-0", "ckpt-7"));
}

TEST(Train, KeepsTheNewestCheckpointsOnly) {
    MemoryFiles files;
    train(files, "--keep-ckpts 1");
    EXPECT_THAT(checkpoints(files), ElementsAre("ckpt-40"));
    EXPECT_EQ(accuracy_rows(files).size(), 2U);  // header and the one that is left
}

TEST(Train, WithoutCheckpointsNothingIsSavedOrValidated) {
    MemoryFiles files;
    const Outcome outcome = train(files, "--ckpts-per-epoch 0");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_FALSE(exists(files, "run/ckpt-0.safetensors"));
    EXPECT_FALSE(exists(files, "run/validation.csv"));
}

TEST(Train, CompileOnlyStopsBeforeTheFirstUpdate) {
    MemoryFiles files;
    const Outcome outcome = train(files, "--compile-only");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console, HasSubstr("--compile-only"));
    EXPECT_FALSE(exists(files, "run/training.csv"));
}

TEST(Train, DatasetBenchmarkOnlyReads) {
    MemoryFiles files;
    EXPECT_THAT(train(files, "--dataset-benchmark").console,
                ContainsRegex("mean throughput: [0-9.]+ imgs/sec\n(.*\n)*memory: ring [0-9.]+ [kM]B"));
    EXPECT_FALSE(exists(files, "run/training.csv"));
}

TEST(Train, WithoutLogsNothingIsWrittenToTheRunFolder) {
    MemoryFiles files;
    const Outcome outcome = train(files, "--no-logs");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_FALSE(is_directory(files, "run"));
    EXPECT_THAT(outcome.console, ContainsRegex("Saved checkpoint to /tmp/RN8_bs8_BN_16.16_[A-Z0-9]+/ckpt-20 in "));
}

TEST(Train, AStoppedRunWithoutLogsSaysWhichOptionContinuesIt) {
    MemoryFiles files;
    const Outcome stopped = train(files, "--no-logs --no-validation", stop_after(8));
    EXPECT_EQ(stopped.exit_code, kInterruptedExitCode);
    EXPECT_THAT(stopped.console, ContainsRegex("; continue with the same options and --restore-path /tmp/RN8_[^ ]+\n"));
}

TEST(Train, OnlyTheFilteredVariablesChange) {
    MemoryFiles files;
    train(files, "--variable-filter fc1 --no-validation --precision 32.32");
    const auto before = weights::load(files, "run/ckpt-0.safetensors");
    const auto after = weights::load(files, "run/ckpt-40.safetensors");
    for (const auto& [name, tensor] : before.tensors) {
        if (name.find("moving_") != std::string::npos) continue;
        const auto old_bytes = tensor.bytes();
        const auto new_bytes = after.tensors.at(name).bytes();
        const bool same = std::equal(old_bytes.begin(), old_bytes.end(), new_bytes.begin());
        EXPECT_EQ(same, name.find("fc1") == std::string::npos) << name;
    }
}

TEST(Train, StartsFromTheWeightsOfInitPath) {
    MemoryFiles files;
    train(files, "--optimiser momentum --no-validation");
    Outcome second = train(files, "--init-path run/ckpt-40 --logs-path second --no-validation --seed 8");
    EXPECT_EQ(second.exit_code, 0);
    const auto source = weights::load(files, "run/ckpt-40.safetensors");
    const auto start = weights::load(files, "second/ckpt-0.safetensors");
    const std::string name = "all/fc1/weight";
    EXPECT_TRUE(std::ranges::equal(source.tensors.at(name).bytes(), start.tensors.at(name).bytes()));
    EXPECT_FALSE(start.tensors.contains(name + "/Momentum"));
}

TEST(Diverged, StopsNamingStepLearningRateAndTensor) {
    MemoryFiles files;
    EXPECT_THAT(
        message_of(ErrorKind::diverged, [&] { train(files, "--abs-learning-rate 1e30 --precision 32.32"); }),
        AllOf(ContainsRegex("the loss of iteration [0-9]+ \\(host step of iterations 1 to 5\\)"), HasSubstr("1e+30"),
              ContainsRegex("first tensor that is not finite: .*all/stage"), HasSubstr("run/ckpt-0")));
    EXPECT_THAT(checkpoints(files), ElementsAre("ckpt-0"));
}

TEST(Diverged, ContinuesWhenToldTo) {
    MemoryFiles files;
    const Outcome outcome = train(files, "--abs-learning-rate 1e30 --precision 32.32 --no-stop-on-nan --no-validation");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(checkpoints(files), ElementsAre("ckpt-0", "ckpt-20", "ckpt-40"));
}

TEST(Storage, AFullDiskLeavesThePreviousCheckpoint) {
    MemoryFiles files;
    int asked = 0;  // twice in each update: at its end, and before the next one
    const auto fill_the_disk = [&] {
        if (++asked == 60) files.set_capacity_bytes(files.used_bytes() + 10000);
        return false;
    };
    EXPECT_THAT(message_of(ErrorKind::storage, [&] { train(files, "", fill_the_disk); }), HasSubstr("run/ckpt-40"));
    EXPECT_THAT(checkpoints(files), ElementsAre("ckpt-0", "ckpt-20"));
    files.set_capacity_bytes(UINT64_MAX);
    EXPECT_EQ(restore(files).exit_code, 0);
}

TEST(Validation, OfAFolderTakesEveryCheckpointAndANewRunFolder) {
    MemoryFiles files;
    train(files);
    const Outcome outcome = validate(files, "--restore-path run --log-dir logs --repeat 2");
    EXPECT_EQ(outcome.exit_code, 0);
    std::size_t lines = 0;
    for (std::size_t at = outcome.console.find("Validation top-1 accuracy: "); at != std::string::npos;
         at = outcome.console.find("Validation top-1 accuracy: ", at + 1)) {
        ++lines;
    }
    EXPECT_EQ(lines, 6U);
    EXPECT_EQ(accuracy_rows(files).size(), 3U);  // the run's own folder is left alone
    // The same weights give what the run itself measured.
    const std::string last = accuracy_rows(files).back();
    const std::string accuracy = last.substr(last.rfind(',') + 1);
    EXPECT_THAT(outcome.console, HasSubstr(accuracy.substr(0, 5)));
}

TEST(Validation, TellsItsCompilationTimeOnce) {
    MemoryFiles files;
    const Outcome whole = validate(files, "--log-dir logs --repeat 2");
    EXPECT_THAT(whole.console, ContainsRegex("\nCompilation time: [0-9.]+s\\.\nValidation top-1 accuracy: "));
    EXPECT_EQ(whole.console.find("Compilation time"), whole.console.rfind("Compilation time"));
    const Outcome compiled = validate(files, "--log-dir logs --compile-only");
    EXPECT_EQ(compiled.exit_code, 0);
    EXPECT_THAT(compiled.console, ContainsRegex("\nCompilation time: [0-9.]+s\\.\n.*--compile-only\\.\n$"));
}

TEST(Validation, WithoutCheckpointsUsesRandomWeights) {
    MemoryFiles files;
    const Outcome outcome = validate(files, "--log-dir logs");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_THAT(outcome.console, HasSubstr("[random]"));
}

TEST(Validation, OfNothingSaysSo) {
    MemoryFiles files;
    files.make_directories("empty");
    EXPECT_EQ(kind_of([&] { validate(files, "--restore-path empty --log-dir logs"); }), ErrorKind::not_found);
}

}  // namespace
}  // namespace cnntrain::run::testing
