// The logs for others: TensorBoard, with counts of NaNs, and Weights & Biases.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>

#include "cnntrain/base/error.h"
#include "cnntrain/run/weights.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

std::vector<std::string> event_files(const MemoryFiles& files) {
    std::vector<std::string> names;
    for (const std::string& name : files.list("run")) {
        if (name.starts_with("events.out.tfevents.")) names.push_back(name);
    }
    return names;
}

TEST(RunReport, TensorBoardIsOnAndCanBeSwitchedOff) {
    MemoryFiles files;
    train(files, "", stop_after(12));
    ASSERT_EQ(event_files(files).size(), 1U);
    EXPECT_THAT(read_text(files, "run/" + event_files(files).front()), HasSubstr("training/loss_avg"));
    restore(files);
    ASSERT_EQ(event_files(files).size(), 2U);
    EXPECT_THAT(read_text(files, "run/" + event_files(files).back()), HasSubstr("validation/val_acc"));
    MemoryFiles without;
    train(without, "--no-tensorboard --no-validation");
    EXPECT_TRUE(event_files(without).empty());
}

TEST(RunReport, NansAreCountedAndReported) {
    HostTensor tensor = HostTensor::of<float>({3}, {1, 0, 2});
    tensor.set(1, std::nan(""));
    tensor.set(2, std::nan(""));
    const std::map<std::string, HostTensor> tensors = {{"a", tensor}, {"b", HostTensor::of<float>({1}, {1})}};
    const metrics::NanRow row = count_nans(7, weights::source_of(tensors));
    EXPECT_EQ(row.iteration, 7);
    EXPECT_EQ(row.nan_count, 2);
    EXPECT_EQ(row.nan_variables, 1);
    MemoryFiles files;
    train(files, "--analyse-nans --no-validation");
    EXPECT_THAT(read_text(files, "run/" + event_files(files).front()), HasSubstr("nans/nan_count"));
}

TEST(RunReport, WandbGetsTheRun) {
    const test::TemporaryFolder folder;
    const std::string calls = folder / "calls";
    setenv("PYTHONPATH", CNNTRAIN_SOURCE_DIR "/tests/metrics/fake_wandb", 1);
    setenv("PYTHONDONTWRITEBYTECODE", "1", 1);
    setenv("FAKE_WANDB_LOG", calls.c_str(), 1);
    MemoryFiles files;
    const Outcome outcome = train(files, "--wandb --wandb-project mine");
    EXPECT_THAT(outcome.console, HasSubstr("Weights & Biases: run abc123"));
    const std::string first = read_text(posix_files(), calls);
    EXPECT_THAT(first, AllOf(HasSubstr("\"project\": \"mine\""), HasSubstr("\"name\": \"RN8_bs8_BN_16.16"),
                             HasSubstr("\"compilation_status\": \"compiled\""), HasSubstr("\"loss_avg\": \""),
                             HasSubstr("\"val_acc\": \""), HasSubstr("\"exit_code\": 0")));
    posix_files().remove(calls);
    restore(files, "--wandb-id abc123");
    EXPECT_THAT(read_text(posix_files(), calls), HasSubstr("\"id\": \"abc123\""));

    setenv("FAKE_WANDB_REFUSES", "1", 1);
    MemoryFiles refused;
    EXPECT_THROW(train(refused, "--wandb"), Error);
    EXPECT_FALSE(exists(refused, "run/arguments.json"));  // another try starts afresh
    unsetenv("FAKE_WANDB_REFUSES");
}

}  // namespace
}  // namespace cnntrain::run::testing
