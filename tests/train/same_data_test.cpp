#include "run/ranks.h"

#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "support/matchers.h"

namespace cnntrain::run {
namespace {

using data::Origin;

const Origin kFiles{
    .samples = 30, .recipe = {}, .parts = {{"a.tfrecord", 1000, 10, 0x11}, {"b.tfrecord", 2000, 20, 0x22}}};

std::string difference(const Origin& expected, const Origin& found) {
    return other_data({expected, {}}, {found, {}});
}

TEST(SameData, SurvivesACheckpointsText) {
    const DataOrigin origin{kFiles, Origin{.samples = 5, .recipe = "generated sequences"}};
    const DataOrigin again = origin_of(to_text(origin));
    EXPECT_EQ(again.training, origin.training);
    EXPECT_EQ(again.validation, origin.validation);
    EXPECT_FALSE(origin_of(to_text({kFiles, {}})).validation);
    EXPECT_NO_THROW(origin_of(to_text({Origin{.samples = 1, .recipe = {}, .parts = {{"\xff.jpg", 1, 1, 1}}}, {}})));
}

TEST(SameData, ADamagedTextIsAnError) {
    for (const std::string text : {"{", "{\"training\": 3}", "{\"training\": {\"samples\": \"x\"}}",
                                   R"({"training": {"samples": 1e300, "recipe": "", "parts": []}})",
                                   R"({"training": {"samples": -1, "recipe": "", "parts": []}})",
                                   R"({"training": {"samples": 1, "recipe": "", "parts": [["a", 1, 1, 4294967296]]}})",
                                   R"({"training": {"samples": 1, "recipe": "", "parts": [["a"]]}})"}) {
        EXPECT_THROW(origin_of(text), Error) << text;
    }
}

TEST(SameData, NothingIsSaidOfTheSameFiles) {
    EXPECT_THAT(difference(kFiles, kFiles), IsEmpty());
    EXPECT_THAT(other_data({kFiles, kFiles}, {kFiles, {}}), IsEmpty()) << "a run without validation";
    EXPECT_THAT(other_data({}, {kFiles, kFiles}), IsEmpty());
}

TEST(SameData, SaysWhichFilesAreOthers) {
    Origin found = kFiles;
    found.parts[1] = {"b.tfrecord", 1900, 19, 0x33};
    found.samples = 29;
    EXPECT_EQ(difference(kFiles, found),
              "Data for training: expected 30 samples, found 29; b.tfrecord: expected 20 samples in 2000 bytes, "
              "found 19 samples in 1900 bytes");
    found = kFiles;
    found.parts[1].checksum = 0x33;
    EXPECT_EQ(difference(kFiles, found),
              "Data for training: b.tfrecord: expected checksum 00000022 of 20 samples in 2000 bytes, found 00000033");
    found.parts[1] = {"c.tfrecord", 2000, 20, 0x22};
    found.samples = 30;
    EXPECT_EQ(difference(kFiles, found),
              "Data for training: b.tfrecord is missing (20 samples in 2000 bytes); c.tfrecord is new (20 "
              "samples in 2000 bytes)");
    found = kFiles;
    std::swap(found.parts[0], found.parts[1]);
    EXPECT_THAT(difference(kFiles, found), HasSubstr("b.tfrecord"));
    found = kFiles;
    found.samples = 15;
    EXPECT_EQ(difference(kFiles, found), "Data for training: expected 30 samples, found 15");
    EXPECT_THAT(other_data({kFiles, kFiles}, {kFiles, found}), HasSubstr("30"));
}

TEST(SameData, MadeUpSamplesAreNoFiles) {
    const Origin generated{.samples = 30, .recipe = "generated sequences"};
    EXPECT_EQ(difference(kFiles, generated), "Data for training: expected 2 files, found generated sequences");
    EXPECT_EQ(difference(generated, kFiles), "Data for training: expected generated sequences, found 2 files");
}

TEST(SameData, OfManyFilesTheFirstAreNamed) {
    Origin found = kFiles;
    for (int i = 0; i < 9; ++i)
        found.parts.push_back({std::to_string(i), 1, 1, 1});
    EXPECT_THAT(difference(kFiles, found), HasSubstr("1 sample"));
}

}  // namespace
}  // namespace cnntrain::run
