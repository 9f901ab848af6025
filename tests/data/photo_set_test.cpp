// Photos that are used, their splits and labels, and the messages about the others.
#include "data/sets/photo_set.h"

#include <filesystem>
#include <set>

#include "cnntrain/base/text.h"
#include "cnntrain/data/sets.h"
#include "data/format_fixtures.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

class FindPhotos : public testing::Test {
protected:
    void put(const std::string& name, const std::string& bytes) {
        const std::string path = folder_ / name;
        posix_files().make_directories(std::filesystem::path(path).parent_path().string());
        write_file(path, bytes);
    }
    /// Photos of different content.
    void put_photos(const std::string& prefix, int count) {
        for (int i = 0; i < count; ++i)
            put(prefix + std::to_string(i) + ".bmp", encode_bmp(make_ramp(4, ++width_)));
    }
    InputSettings settings(const std::string& place = "") const {
        InputSettings result;
        result.folder = place.empty() ? folder_.path() : folder_ / place;
        return result;
    }
    PhotoSet found(const std::string& place = "") const { return find_photos(settings(place)); }
    std::string error(const std::string& place = "") const {
        return message_of(ErrorKind::data, [&] { found(place); });
    }

    test::TemporaryFolder folder_;
    int width_ = 3;
};

std::vector<std::string> paths(const PhotoSet& photos, Split split) {
    std::vector<std::string> result;
    for (std::int64_t i = 0; i < photos.of(split).size(); ++i)
        result.push_back(std::to_string(photos.of(split).label(i)) + ":" + std::string(photos.of(split).path(i)));
    return result;
}

std::set<std::string> held_out(const PhotoSet& photos) {
    const std::vector<std::string> all = paths(photos, Split::validation);
    return {all.begin(), all.end()};
}

TEST_F(FindPhotos, TheThreeNamesOfValidationFoldersAreTheSame) {
    put_photos("train/a/", 2);
    put_photos("train/b/", 1);
    for (const std::string name : {"val", "valid", "validation"}) {
        put_photos(name + "/b/", 1);
        const PhotoSet photos = found();
        EXPECT_THAT(paths(photos, Split::train), ElementsAre("0:train/a/0.bmp", "0:train/a/1.bmp", "1:train/b/0.bmp"));
        EXPECT_THAT(paths(photos, Split::validation), ElementsAre("1:" + name + "/b/0.bmp"));
        EXPECT_TRUE(names_validation_photos(folder_.path()));
        std::filesystem::remove_all(folder_ / name);
    }
    put_photos("val/a/", 1);
    put_photos("valid/a/", 1);
    EXPECT_THAT(error(), HasSubstr("valid/ and val/"));
}

TEST_F(FindPhotos, AShareOfEachClassIsHeldOut) {
    put_photos("a/", 30);
    put_photos("b/", 5);
    put_photos("c/", 2);
    put_photos("d/", 1);
    const PhotoSet photos = found();
    EXPECT_THAT(photos.counts(Split::validation), ElementsAre(6, 1, 1, 0));
    EXPECT_THAT(photos.counts(Split::train), ElementsAre(24, 4, 1, 1));
    EXPECT_EQ(held_out(found()), held_out(photos));
    ASSERT_EQ(photos.notices.size(), 1U);
    EXPECT_THAT(photos.notices[0], HasSubstr("8 of 38 photos"));

    InputSettings other = settings();
    other.split_seed = 1;
    EXPECT_NE(held_out(find_photos(other)), held_out(photos));
    other.validation_fraction = 0.5;
    EXPECT_THAT(find_photos(other).counts(Split::validation), ElementsAre(15, 3, 1, 0));
    other.validation_fraction = 0;
    EXPECT_THAT(find_photos(other).counts(Split::validation), ElementsAre(0, 0, 0, 0));
    other.validation_fraction = 1;
    EXPECT_THAT(find_photos(other).counts(Split::validation), ElementsAre(30, 5, 2, 1));
}

TEST_F(FindPhotos, APhotoMoreMovesOneOtherAtMost) {
    put_photos("a/", 20);
    put_photos("b/", 20);
    std::set<std::string> before = held_out(found());
    for (int i = 0; i < 10; ++i) {
        put_photos("a/new" + std::to_string(i) + "_", 1);
        const std::set<std::string> now = held_out(found());
        std::vector<std::string> gone;
        std::ranges::set_difference(before, now, std::back_inserter(gone));
        EXPECT_LE(gone.size(), 1U);
        before = now;
    }
}

TEST_F(FindPhotos, CopiesOfAPhotoStayOnOneSide) {
    put_photos("a/", 30);
    put_photos("b/", 5);
    for (const int first : {0, 7, 20}) {
        for (int copy = 0; copy < 3; ++copy) {
            put("a/copy" + std::to_string(copy) + "of" + std::to_string(first) + ".bmp",
                encode_bmp(make_ramp(4, 4 + first)));
        }
    }
    for (std::int64_t seed = 0; seed < 20; ++seed) {
        InputSettings drawn = settings();
        drawn.split_seed = seed;
        const PhotoSet photos = find_photos(drawn);
        EXPECT_EQ(copies_text(photos), "") << seed;
        EXPECT_GE(photos.counts(Split::validation)[0], 8) << seed;
        EXPECT_LE(photos.counts(Split::validation)[0], 8 + 3) << seed;
    }
}

TEST_F(FindPhotos, AClassOfCopiesAloneIsTrainedOn) {
    for (int i = 0; i < 10; ++i)
        put("a/" + std::to_string(i) + ".bmp", encode_bmp(make_ramp(4, 9)));
    put_photos("b/", 10);
    EXPECT_THAT(found().counts(Split::train), ElementsAre(10, 8));
}

TEST_F(FindPhotos, ValidationPhotosBesideTheFolderAreTold) {
    put_photos("train/a/", 5);
    put_photos("train/b/", 5);
    const auto told = [&] { return joined(found("train").notices, "\n"); };
    EXPECT_THAT(told(), Not(HasSubstr("--data-dir")));
    put_photos("val/a/", 1);
    EXPECT_THAT(told(), AllOf(HasSubstr(folder_ / "val"), HasSubstr("--data-dir " + folder_.path())));
}

TEST_F(FindPhotos, TheMedianOfTheShorterSidesIsKnown) {
    for (const int side : {5, 30, 40})
        put("train/a/" + std::to_string(side) + ".bmp", encode_bmp(make_ramp(side, 50)));
    put("train/b/0.bmp", encode_bmp(make_ramp(50, 60)));
    put("val/a/0.bmp", encode_bmp(make_ramp(50, 32)));
    EXPECT_EQ(found().median_side, 32);
}

TEST_F(FindPhotos, TrainingFoldersWithoutValidationAreDivided) {
    put_photos("train/a/", 10);
    put_photos("train/b/", 10);
    put_photos("test/a/", 2);
    const PhotoSet photos = found();
    EXPECT_THAT(photos.counts(Split::validation), ElementsAre(2, 2));
    EXPECT_THAT(unused_text(photos.unused), HasSubstr("1 test data (test/)"));
    EXPECT_THAT(photos.notices[0], HasSubstr(folder_ / "test"));
}

TEST_F(FindPhotos, ATestFolderIsUsedWhenItIsNamed) {
    put_photos("a/", 4);
    put_photos("b/", 4);
    put_photos("test/a/", 3);
    put_photos("test/b/", 2);
    EXPECT_THAT(found().counts(Split::train), ElementsAre(3, 3));
    const PhotoSet test = found("test");
    EXPECT_THAT(test.counts(Split::validation), ElementsAre(3, 2));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { check_training_photos(test); }), Not(IsEmpty()));
}

TEST_F(FindPhotos, LabelsAreThoseOfTheTrainedNetwork) {
    put_photos("test/b/", 2);
    InputSettings how = settings("test");
    how.known_classes = {"c", "b", "a"};
    const PhotoSet photos = find_photos(how);
    EXPECT_THAT(paths(photos, Split::validation), ElementsAre("1:b/0.bmp", "1:b/1.bmp"));
    EXPECT_EQ(photos.classes, how.known_classes);
    how.known_classes = {"a", "c"};
    EXPECT_THAT(message_of(ErrorKind::data, [&] { find_photos(how); }), HasSubstr("'b'"));
}

TEST_F(FindPhotos, PhotosLieDeeperWhereTheClassIsClear) {
    put_photos("train/a/", 1);
    put_photos("train/a/more/", 1);
    put_photos("train/b/images/", 2);
    put_photos("val/a/", 1);
    EXPECT_THAT(paths(found(), Split::train), ElementsAre("0:train/a/0.bmp", "0:train/a/more/0.bmp",
                                                          "1:train/b/images/0.bmp", "1:train/b/images/1.bmp"));
    put_photos("train/c/d/", 1);
    put_photos("train/c/e/", 1);
    EXPECT_THAT(error(), HasSubstr(folder_ / "train/c"));
    put_photos("capitals/Train/a/", 1);
    put_photos("capitals/Train/b/", 1);
    EXPECT_THAT(error("capitals"), HasSubstr("validation"));
}

TEST_F(FindPhotos, EveryUnusedFileHasItsReason) {
    put_photos("train/a/", 1);
    put_photos("train/b/", 1);
    put_photos("val/a/", 1);
    put("train/a/empty.jpg", "");
    put("train/a/text.jpg", "no image");
    put("train/a/bomb.bmp", encode_bmp(make_ramp(4, 4)).replace(18, 8, std::string("\x30\x75\0\0\x30\x75\0\0", 8)));
    put("train/a/.DS_Store", "x");
    put("train/__MACOSX/._0.bmp", "x");
    put("train/loose.jpg", "x");
    put("notes.txt", "x");
    put("other/x.jpg", "x");
    std::filesystem::create_symlink("nowhere", folder_ / "train/a/link.jpg");
    const PhotoSet photos = found();
    EXPECT_THAT(paths(photos, Split::train), ElementsAre("0:train/a/0.bmp", "1:train/b/0.bmp"));
    EXPECT_THAT(
        unused_csv(photos.unused),
        AllOf(HasSubstr("train/a/empty.jpg,empty,"), HasSubstr("train/a/text.jpg"), HasSubstr("train/a/bomb.bmp"),
              HasSubstr("train/a/.DS_Store,hidden,"), HasSubstr("train/__MACOSX,hidden,"), HasSubstr("train/loose.jpg"),
              HasSubstr("notes.txt"), HasSubstr("other/"), HasSubstr("train/a/link.jpg,missing,")));
}

TEST_F(FindPhotos, SuspiciousDataAreNamed) {
    put_photos("train/cat/", 40);
    put_photos("train/Cat/", 2);
    put_photos("train/dog/", 3);
    put_photos("val/cat/", 1);
    put("val/dog/copy.bmp", read_file(folder_ / "train/dog/1.bmp"));
    const PhotoSet photos = found();
    EXPECT_THAT(suspicions(photos), ElementsAre(AllOf(HasSubstr("1 of 3 classes"), HasSubstr("Cat")),
                                                HasSubstr("differ"), HasSubstr("40")));
    EXPECT_THAT(copies_text(photos),
                AllOf(HasSubstr("1 validation"), HasSubstr("val/dog/copy.bmp is train/dog/1.bmp")));
    posix_files().remove(folder_ / "val/dog/copy.bmp");
    EXPECT_EQ(copies_text(found()), "");
}

TEST_F(FindPhotos, TablesNameFilesClassesAndSplits) {
    put_photos("all/", 6);
    put("list.csv",
        "path,species,split\nall/0.bmp,\"owl, barn\",train\nall/1.bmp,wren,train\nall/2.bmp,wren,val\n"
        "all/3.bmp,wren,test\nall/9.bmp,wren,train\nall/1.bmp,wren,train\n");
    const PhotoSet photos = found("list.csv");
    EXPECT_THAT(photos.classes, ElementsAre("owl, barn", "wren"));
    EXPECT_THAT(paths(photos, Split::train), ElementsAre("0:all/0.bmp", "1:all/1.bmp"));
    EXPECT_THAT(paths(photos, Split::validation), ElementsAre("1:all/2.bmp"));
    EXPECT_THAT(unused_csv(photos.unused),
                AllOf(HasSubstr("all/3.bmp"), HasSubstr("all/9.bmp,missing,"), HasSubstr("all/1.bmp")));
    EXPECT_EQ(photos.file(Split::train, 0), folder_ / "all/0.bmp");
    EXPECT_EQ(find_data_folder(DatasetId::folder, folder_ / "list.csv"), folder_ / "list.csv");
}

TEST_F(FindPhotos, TablesWithoutSplitsAreDivided) {
    put_photos("", 20);
    std::string text;
    for (int i = 0; i < 20; ++i)
        text += std::to_string(i) + ".bmp\t" + std::to_string(i % 2 == 0 ? 10 : 9) + "\n";
    put("list.tsv", text);
    const PhotoSet photos = found("list.tsv");
    EXPECT_THAT(photos.classes, ElementsAre("9", "10"));  // numbers are sorted by value
    EXPECT_THAT(photos.counts(Split::validation), ElementsAre(2, 2));
}

TEST_F(FindPhotos, TablesOfWindowsNameFiles) {
    put_photos("all/", 2);
    put("list.csv", "\xef\xbb\xbfimage_name,label\r\nall\\0.bmp,owl\r\nall\\1.bmp,wren\r\n");
    InputSettings all = settings("list.csv");
    all.validation_fraction = 0;
    EXPECT_THAT(paths(find_photos(all), Split::train), ElementsAre("0:all/0.bmp", "1:all/1.bmp"));
}

TEST_F(FindPhotos, FaultsOfTablesHaveTheirLine) {
    put_photos("", 3);
    const auto fault = [&](const std::string& text) {
        put("list.csv", text);
        return error("list.csv");
    };
    EXPECT_THAT(fault("0.bmp,a\n1.bmp\n"), AllOf(HasSubstr("list.csv:2"), HasSubstr("expected 2 columns")));
    EXPECT_THAT(fault("0.bmp\n"), HasSubstr("list.csv:1"));
    EXPECT_THAT(fault("0.bmp,a,holdout\n"), HasSubstr("got 'holdout'"));
    EXPECT_THAT(fault("0.bmp,a,train\n1.bmp,b,val\n2.bmp,b,\n"), HasSubstr(":3"));
    EXPECT_THAT(fault("0.bmp,a\n0.bmp,b\n"), HasSubstr(":2"));
    EXPECT_THAT(fault("img,cls\n0.bmp,a\n"), AllOf(HasSubstr(":1"), HasSubstr("header")));
    EXPECT_THAT(fault("file,class\n"), HasSubstr("names no file"));
    EXPECT_THAT(fault("0.bmp,a\n1.bmp,a\n"), HasSubstr("at least two classes"));
}

/// The labels of each photo of a split: "0.bmp: a b".
std::vector<std::string> labelled(const PhotoSet& photos, Split split) {
    std::vector<std::string> all;
    for (std::int64_t i = 0; i < photos.of(split).size(); ++i)
        all.push_back(std::string(photos.of(split).path(i)) + ": " + photos.name_of(photos.of(split).label(i)));
    std::ranges::sort(all);
    return all;
}

TEST_F(FindPhotos, TablesGiveAPhotoSeveralLabels) {
    put_photos("", 4);
    const auto found_in = [&](const std::string& name, const std::string& text) {
        put(name, text);
        InputSettings settings = this->settings(name);
        settings.labels.kind = nn::LabelKind::several;
        settings.validation_fraction = 0;
        return find_photos(settings);
    };
    const std::vector<std::string> wanted = {"0.bmp: cat|dog", "1.bmp: dog", "2.bmp: ", "3.bmp: cat|dog"};
    const PhotoSet in_cells = found_in("a.csv", "file,tags\n0.bmp,dog|cat\n1.bmp,dog\n2.bmp,\n3.bmp,cat| dog|cat\n");
    EXPECT_EQ(labelled(in_cells, Split::train), wanted);
    EXPECT_THAT(in_cells.counts(Split::train), ElementsAre(2, 3));
    const PhotoSet in_columns =
        found_in("b.csv", "age,dog,image,cat\n3,1,0.bmp,1.0\n4,1,1.bmp,0.0\n9,0,2.bmp,0\n1,1,3.bmp,1\n");
    EXPECT_EQ(labelled(in_columns, Split::train), wanted);
    EXPECT_THAT(in_columns.notices.front(), HasSubstr("'age'"));
    EXPECT_EQ(labelled(found_in("c.jsonl",
                                "{\"file\": \"0.bmp\", \"labels\": [\"cat\", \"dog\"]}\n{\"file\": \"1.bmp\", "
                                "\"labels\": [\"dog\"]}\n{\"file\": \"2.bmp\", \"labels\": []}\n"
                                "{\"file\": \"3.bmp\", \"labels\": [\"dog\", \"cat\"]}\n"),
                       Split::train),
              wanted);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { found_in("d.csv", "file,age\n0.bmp,7\n"); }),
                AllOf(HasSubstr("d.csv:1"), HasSubstr("column of 0 and 1"), HasSubstr("'age'")));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { found_in("e.csv", "file,a|b,c\n0.bmp,1,0\n"); }), HasSubstr("'a|b'"));
}

/// Each photo counts for the rarest of its labels.
TEST_F(FindPhotos, RareLabelsAreInBothSplits) {
    put_photos("", 40);
    std::string text = "file,labels\n";
    for (int i = 0; i < 40; ++i)
        text += std::to_string(i) + ".bmp,common" + (i < 5 ? "|rare\n" : i < 30 ? "|other\n" : "\n");
    put("list.csv", text);
    InputSettings several = settings("list.csv");
    several.labels.kind = nn::LabelKind::several;
    const PhotoSet photos = find_photos(several);
    EXPECT_THAT(photos.classes, ElementsAre("common", "other", "rare"));
    EXPECT_THAT(photos.counts(Split::validation), ElementsAre(8, 5, 1));
    several.known_classes = {"rare", "more", "other", "common"};
    EXPECT_THAT(find_photos(several).counts(Split::train), ElementsAre(4, 0, 20, 32));
}

TEST_F(FindPhotos, FoldersOfOtherThingsAreNotTakenForPhotos) {
    put("a/x.bin", "x");
    put("b/y.bin", "y");
    EXPECT_FALSE(looks_like_photos(folder_.path()));
    put_photos("b/", 1);
    EXPECT_TRUE(looks_like_photos(folder_.path()));
    EXPECT_FALSE(looks_like_photos(folder_ / "none"));
}

TEST_F(FindPhotos, ARunLooksOnce) {
    put_photos("a/", 2);
    put_photos("b/", 2);
    FoundPhotos memory;
    const auto first = memory.get(settings());
    EXPECT_FALSE(memory.was_reported());
    EXPECT_TRUE(memory.was_reported());
    put_photos("c/", 1);
    EXPECT_EQ(memory.get(settings()), first);
    InputSettings other = settings();
    other.split_seed = 7;
    EXPECT_THAT(memory.get(other)->classes, ElementsAre("a", "b", "c"));
    EXPECT_FALSE(memory.was_reported());
}

}  // namespace
}  // namespace cnntrain::data
