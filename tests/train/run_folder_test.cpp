#include "run/run_files.h"

#include <gtest/gtest.h>

#include <cmath>

#include "cnntrain/backend/backends.h"
#include "run/reports/predictions.h"
#include "support/matchers.h"
#include "train/by_task.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

options::ParseResult arguments(const std::string& options) {
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

/// A dry run refuses it as the run does.
TEST(RunFolder, OfAnotherRunIsRefusedBeforeItIsLocked) {
    MemoryFiles files;
    const auto check = [&](const std::string& options) {
        const auto parsed = arguments("--logs-path run " + options);
        check_new_run_folder(ImageClassification(parsed, *backend::make_cpu_backend(), 1), parsed, files);
    };
    EXPECT_NO_THROW(check(""));
    write_text(files, "run/training.csv", "iteration\n1\n");
    EXPECT_THROW(check(""), Error);
    EXPECT_NO_THROW(check("--overwrite"));
    EXPECT_THAT(files.list("run"), ElementsAre("training.csv"));
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
}

/// The two most probable classes of three.
const std::vector<ClassProbability> kTwo = {{1, 0.66524}, {2, 0.24473}};
const std::vector<std::string> kNames = {"cat", "dog, \"small\"", "eel"};

std::string text_of(PredictionText::Format format, const std::vector<Prediction>& all,
                    const std::vector<std::string>& names) {
    PredictionText text(format, "image", names);
    for (const Prediction& one : all)
        text.add(one);
    return text.text();
}

TEST(Predictions, AreATable) {
    EXPECT_EQ(text_of(PredictionText::Format::table, {{"a,b.jpg", -1, kTwo}, {"7", 0, kTwo}, {"8", 1, kTwo}}, kNames),
              "image,label,class_1,probability_1,class_2,probability_2,correct\r\n"
              "\"a,b.jpg\",,\"dog, \"\"small\"\"\",0.6652,eel,0.2447,\r\n"
              "7,cat,\"dog, \"\"small\"\"\",0.6652,eel,0.2447,false\r\n"
              "8,\"dog, \"\"small\"\"\",\"dog, \"\"small\"\"\",0.6652,eel,0.2447,true\r\n");
    EXPECT_EQ(text_of(PredictionText::Format::table, {{"\xff\n.jpg", -1, kTwo}}, {}),
              "image,label,class_1,probability_1,class_2,probability_2,correct\r\n"
              "\"\xff\n.jpg\",-1,1,0.6652,2,0.2447,\r\n");
    EXPECT_EQ(text_of(PredictionText::Format::table, {{"a text", 1, kTwo, 4}}, {}),
              "image,label,class_1,probability_1,class_2,probability_2,correct,row\r\n"
              "a text,1,1,0.6652,2,0.2447,true,4\r\n");
}

TEST(Predictions, AreJsonLines) {
    EXPECT_EQ(text_of(PredictionText::Format::json_lines, {{"a\n\"\xc3\xa4\\.jpg", -1, kTwo}, {"7", 1, kTwo}}, kNames),
              "{\"image\": \"a\\n\\\"\xc3\xa4\\\\.jpg\", \"label\": null, \"correct\": null, \"classes\": "
              "[\"dog, \\\"small\\\"\", \"eel\"], \"probabilities\": [0.66524, 0.24473]}\n"
              "{\"image\": \"7\", \"label\": \"dog, \\\"small\\\"\", \"correct\": true, \"classes\": "
              "[\"dog, \\\"small\\\"\", \"eel\"], \"probabilities\": [0.66524, 0.24473]}\n");
    EXPECT_EQ(text_of(PredictionText::Format::json_lines, {{"\xc3\xff.jpg", 2, kTwo}}, {}),
              "{\"image\": \"\\udcc3\\udcff.jpg\", \"label\": 2, \"correct\": false, \"classes\": [1, 2], "
              "\"probabilities\": [0.66524, 0.24473]}\n")
        << "a name that is no UTF-8";
    EXPECT_THAT(text_of(PredictionText::Format::json_lines, {{"a text", 1, kTwo, 4}}, {}), HasSubstr(", \"row\": 4}"));
    EXPECT_EQ(text_of(PredictionText::Format::json_lines, {{"7", -1, {{0, NAN}}}}, {}),
              "{\"image\": \"7\", \"label\": null, \"correct\": null, \"classes\": [0], \"probabilities\": [null]}\n");
}

}  // namespace
}  // namespace cnntrain::run::testing
