#include "train/runs/run_folder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cnntrain/backend/cpu.h"
#include "train/by_task.h"
#include "train/fixtures.h"
#include "train/reports/predictions.h"

namespace cnntrain::train::testing {
namespace {

using ::testing::MatchesRegex;

config::ParseResult arguments(const std::string& options) {
    return parse("--dataset cifar-10 --generated-data " + options);
}

RunFolder new_folder(const std::string& options) {
    const auto parsed = arguments(options);
    return new_run_folder(ImageClassification(parsed, *backend::make_cpu_backend(), 1), parsed.settings.logging,
                          MemoryFiles());
}

TEST(RunFolder, IsNamedAfterTheRun) {
    const RunFolder folder = new_folder("--log-dir there --name-suffix try");
    EXPECT_THAT(folder.name, MatchesRegex("RN20_bs32_BN_16.16_try_[A-Z0-9]+"));
    EXPECT_EQ(folder.logs, "there/" + folder.name);
    EXPECT_EQ(folder.checkpoints, folder.logs);
}

TEST(RunFolder, CanBeNamedByTheUser) {
    EXPECT_EQ(new_folder("--logs-path here/it/is").logs, "here/it/is");
    const RunFolder resumed = resumed_run_folder(arguments("").settings.logging, "some/RN8_ABC/");
    EXPECT_EQ(resumed.name, "RN8_ABC");
    EXPECT_EQ(resumed.checkpoints, "some/RN8_ABC");
}

TEST(Predictions, AreSortedProbabilities) {
    const HostTensor logits = HostTensor::of<float>({2, 3}, {0, 0, 0, 1, 3, 2});
    const auto even = likeliest(logits, 0, 5);
    ASSERT_EQ(even.size(), 3U);
    EXPECT_EQ(even[0].label, 0);
    EXPECT_NEAR(even[2].probability, 1.0 / 3, 1e-12);
    const auto two = likeliest(logits, 1, 2);
    ASSERT_EQ(two.size(), 2U);
    EXPECT_EQ(two[0].label, 1);
    EXPECT_EQ(two[1].label, 2);
    EXPECT_NEAR(two[0].probability, 0.66524, 1e-5);
    EXPECT_EQ(prediction_header("image", 2), "image,label,class_1,probability_1,class_2,probability_2");
    EXPECT_EQ(prediction_row("a,b.jpg", -1, two, {}), "\"a,b.jpg\",-1,1,0.6652,2,0.2447");
    const std::vector<std::string> names = {"cat", "dog, small", "eel"};
    EXPECT_EQ(prediction_row("7", -1, two, names), "7,,\"dog, small\",0.6652,eel,0.2447");
    EXPECT_EQ(prediction_row("7", 0, two, names), "7,cat,\"dog, small\",0.6652,eel,0.2447");
}

}  // namespace
}  // namespace cnntrain::train::testing
