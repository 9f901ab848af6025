#include "cnntrain/data/dataset.h"

#include <filesystem>

#include "cnntrain/base/hash.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/sets.h"
#include "data/records/tfrecord.h"
#include "fixtures.h"
#include "sequences.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

TEST(Origin, NamesFilesBelowTheFolderThatAllAreIn) {
    EXPECT_THAT(names_below_common_folder({"/a/b/1", "/a/b/2"}), ElementsAre("1", "2"));
    EXPECT_THAT(names_below_common_folder({"/a/b/1", "/a/c/1", "/a/c/d/1"}), ElementsAre("b/1", "c/1", "c/d/1"));
    EXPECT_THAT(names_below_common_folder({"/a/b/1"}), ElementsAre("1"));
    EXPECT_THAT(names_below_common_folder({"x/1", "./x/../x/2"}), ElementsAre("1", "2"));
    EXPECT_THAT(names_below_common_folder({"/1", "/a/2"}), ElementsAre("1", "a/2"));
    EXPECT_THAT(names_below_common_folder({}), ElementsAre());
}

TEST(Origin, OfAFileIsOfItsBytes) {
    MemoryFiles files;
    write_text(files, "some/words", "123456789");
    const OriginPart part = part_of_file(files, "some/words", 3);
    EXPECT_EQ(part, (OriginPart{"words", 9, 3, 0xe3069283}));  // the check value of CRC-32C
}

TEST(Origin, OfRecordsFollowsTheirLengths) {
    const test::TemporaryFolder folder;
    const auto parts = [&](const std::vector<std::string>& first) {
        write_records(folder / "1", first);
        write_records(folder / "2", {"x"});
        return RecordFiles({folder / "1", folder / "2"}).parts();
    };
    const std::vector<OriginPart> before = parts({"aaa", "bb"});
    ASSERT_EQ(before.size(), 2U);
    EXPECT_EQ(before[0].name, "1");
    EXPECT_EQ(before[0].samples, 2);
    EXPECT_EQ(before[0].bytes, std::filesystem::file_size(folder / "1"));
    EXPECT_EQ(before[1].samples, 1);
    const std::vector<OriginPart> swapped = parts({"aa", "bbb"});
    EXPECT_EQ(swapped[0].bytes, before[0].bytes);
    EXPECT_NE(swapped[0].checksum, before[0].checksum);
    EXPECT_EQ(swapped[1], before[1]);
}

TEST(Origin, OfImagesIsTheSameWhereverTheyAre) {
    const test::TemporaryFolder folder;
    const auto write = [&](const std::string& name, std::int64_t count) {
        for (const std::string split : {"train", "validation"}) {
            std::filesystem::create_directories(folder / name);
            std::vector<std::string> records;
            for (std::int64_t i = 0; i < count; ++i)
                records.push_back(make_example(encode_jpeg(make_photo(40, 40)), i + 1));
            write_records(folder / (name + "/" + split + "-00000-of-00001"), records);
        }
    };
    const auto origin = [&](const std::string& name, std::int64_t percent = 100) {
        InputSettings settings;
        settings.dataset = DatasetId::imagenet;
        settings.folder = folder / name;
        settings.percentage_to_use = percent;
        return InputData(settings, Split::train).origin();
    };
    write("here", 4);
    write("there", 4);
    write("fewer", 3);
    EXPECT_EQ(origin("here"), origin("there"));
    EXPECT_EQ(origin("here").samples, 4);
    EXPECT_NE(origin("here"), origin("fewer"));
    EXPECT_NE(origin("here"), origin("here", 50));
}

TEST(Origin, OfMadeUpSamplesIsARecipe) {
    InputSettings settings;
    settings.kind = DataKind::generated;
    EXPECT_EQ(InputData(settings, Split::train).origin(),
              (Origin{.samples = 50000, .recipe = "generated cifar-10 images"}));
    PretrainingSettings sequences = four_tokens(true);
    sequences.generated = true;
    EXPECT_EQ(open_pretraining(sequences, 1, 1)->origin(), (Origin{.samples = 1000, .recipe = "generated sequences"}));
}

}  // namespace
}  // namespace cnntrain::data
