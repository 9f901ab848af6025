// Files in tar archives, and photos in shards.
#include "data/records/tar.h"

#include <cstdlib>
#include <filesystem>

#include "cnntrain/data/sets.h"
#include "data/format_fixtures.h"
#include "data/sets/photo_set.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

std::string error_of_archive(const std::string& bytes) {
    MemoryFiles files;
    write_text(files, "x.tar", bytes);
    return message_of(ErrorKind::data, [&] { tar_members(*files.open("x.tar")); });
}

std::vector<std::string> names_in_archive(const std::string& bytes) {
    MemoryFiles files;
    write_text(files, "x.tar", bytes);
    std::vector<std::string> names;
    for (const TarMember& member : tar_members(*files.open("x.tar")))
        names.push_back(member.name);
    return names;
}

/// The archives are as GNU tar writes them.
TEST(Tar, ReadsTheFilesOfEachFormat) {
    const test::TemporaryFolder folder;
    const std::string long_name = std::string(90, 'd') + "/" + std::string(95, 'n') + ".txt";
    const std::string longest = std::string(200, 'd') + "/" + std::string(200, 'n') + ".txt";
    for (const std::string& name : {std::string("a.txt"), std::string("b/c.txt"), long_name, longest}) {
        std::filesystem::create_directories(std::filesystem::path(folder / ("in/" + name)).parent_path());
        folder.write("in/" + name, "content of " + name);
    }
    folder.write("in/empty", "");
    std::filesystem::create_symlink("a.txt", folder / "in/link");
    for (const std::string format : {"v7", "oldgnu", "gnu", "ustar", "pax"}) {
        const bool any_length = format != "v7" && format != "ustar";
        const std::string archive = folder / (format + ".tar");
        const std::string files =
            "./a.txt b empty link" + (format == "v7" ? "" : " " + long_name) + (any_length ? " " + longest : "");
        ASSERT_EQ(
            std::system(("tar --format=" + format + " -C " + folder / "in" + " -cf " + archive + " " + files).c_str()),
            0);
        EXPECT_EQ(whole_text(*open_in_tar(archive + "/a.txt")), "content of a.txt") << format;
        EXPECT_EQ(whole_text(*open_in_tar(archive + "/b/c.txt")), "content of b/c.txt");
        EXPECT_EQ(whole_text(*open_in_tar(archive + "/empty")), "");
        EXPECT_FALSE(exists_in_tar(archive + "/link"));
        EXPECT_EQ(exists_in_tar(archive + "/" + long_name), format != "v7");
        EXPECT_EQ(exists_in_tar(archive + "/" + longest), any_length);
        if (any_length) {
            EXPECT_EQ(whole_text(*open_in_tar(archive + "/" + longest)), "content of " + longest);
        }
    }
}

TEST(Tar, TheLastFileOfANameCounts) {
    const test::TemporaryFolder folder;
    write_file(folder / "x.tar", encode_tar({{"a", "old"}, {"b", "x"}, {"./a", "new"}}));
    EXPECT_EQ(whole_text(*open_in_tar(folder / "x.tar/a")), "new");
    EXPECT_THAT(names_in_archive(read_file(folder / "x.tar")), ElementsAre("b", "a"));
}

TEST(Tar, FindsTheFilesAgainInAnArchiveThatChanged) {
    const test::TemporaryFolder folder;
    write_file(folder / "x.tar", encode_tar({{"a", "1"}}));
    EXPECT_EQ(whole_text(*open_in_tar(folder / "x.tar/a")), "1");
    write_file(folder / "x.tar", encode_tar({{"b", std::string(600, '2')}, {"a", "3"}}));
    EXPECT_EQ(whole_text(*open_in_tar(folder / "x.tar/a")), "3");
}

TEST(Tar, RefusesWhatIsNoArchive) {
    const std::string sound = encode_tar({{"a", std::string(700, 'x')}, {"b", "y"}});
    EXPECT_THAT(names_in_archive(sound), ElementsAre("a", "b"));
    EXPECT_THAT(names_in_archive(sound.substr(0, sound.size() - 1024)), ElementsAre("a", "b"));
    EXPECT_THAT(error_of_archive(sound.substr(0, 1000)), HasSubstr("x.tar, byte 0"));
    EXPECT_THAT(error_of_archive(sound.substr(0, 1600)), HasSubstr("x.tar, byte 1536"));
    std::string changed = sound;
    changed[1536] = 'c';
    EXPECT_THAT(error_of_archive(changed), HasSubstr("byte 1536"));
    EXPECT_THAT(error_of_archive("\x1f\x8b" + std::string(600, 'x')), HasSubstr("gunzip"));
    error_of_archive(std::string(512, 'x'));
}

TEST(Tar, RefusesNamesThatLeadOut) {
    for (const std::string name : {"../a", "/etc/passwd", "b/../../a", ".."})
        EXPECT_THAT(error_of_archive(encode_tar({{name, "x"}})), HasSubstr("leads out")) << name;
}

TEST(Tar, RefusesDamagedExtendedHeaders) {
    for (const std::string records :
         {"5 a", "99 path=x\n", "x path=a\n", "2 \n", "16 size=99999999\n", "11 size=x\n"}) {
        EXPECT_THAT(error_of_archive(encode_tar({{"p", records, 'x'}, {"a", "y"}})), HasSubstr("x.tar, byte"))
            << records;
    }
    EXPECT_THAT(names_in_archive(encode_tar({{"p", "12 path=b/c\n", 'x'}, {"a", "y"}, {"d", "z"}})),
                ElementsAre("b/c", "d"));
    error_of_archive(encode_tar({{"n", std::string((1 << 20) + 1, 'n'), 'L'}, {"a", "y"}}));
}

class Shards : public testing::Test {
protected:
    static std::string photo(int width) { return encode_bmp(make_ramp(4, width)); }
    void put(const std::string& name, const std::vector<PackedFile>& files) {
        std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
        write_file(folder_ / name, encode_tar(files));
    }
    InputSettings settings(const std::string& place) const {
        InputSettings result;
        result.folder = place.empty() ? folder_.path() : folder_ / place;
        return result;
    }
    PhotoSet found(const std::string& place = "") const { return find_photos(settings(place)); }
    static std::vector<std::string> paths(const PhotoSet& set, Split split) {
        std::vector<std::string> result;
        for (std::int64_t i = 0; i < set.of(split).size(); ++i)
            result.push_back(set.name_of(set.of(split).label(i)) + " " + std::string(set.of(split).path(i)));
        return result;
    }

    test::TemporaryFolder folder_;
};

TEST_F(Shards, SamplesHaveTheirClassesBesideThem) {
    put("p-train-0.tar", {{"s1.bmp", photo(5)}, {"s1.cls", "10\n"}, {"s2.cls", "9"}, {"s2.bmp", photo(6)}});
    put("p-train-1.tar",
        {{"d/s3.json", R"({"width": 7, "Label": 10})"}, {"d/s3.seg.bmp", photo(7)}, {"d/s3.txt", "a"}});
    put("p-validation-0.tar", {{"s1.bmp", photo(8)}, {"s1.cls", "9"}, {"README", "x"}});
    put("p-test-0.tar", {{"s1.bmp", photo(8)}, {"s1.cls", "9"}});
    ASSERT_TRUE(is_shards(folder_.path()) && looks_like_photos(folder_.path()));
    EXPECT_TRUE(names_validation_photos(folder_.path()));
    const PhotoSet set = found();
    EXPECT_THAT(set.classes, ElementsAre("9", "10"));
    EXPECT_THAT(paths(set, Split::train),
                ElementsAre("9 p-train-0.tar/s2.bmp", "10 p-train-0.tar/s1.bmp", "10 p-train-1.tar/d/s3.seg.bmp"));
    EXPECT_THAT(paths(set, Split::validation), ElementsAre("9 p-validation-0.tar/s1.bmp"));
    std::vector<std::string> unused;
    for (const UnusedFile& file : set.unused)
        unused.push_back(file.path);
    EXPECT_THAT(unused, UnorderedElementsAre("p-test-0.tar", "p-validation-0.tar/README"));
    const PhotoListing tests = list_shards(folder_ / "p-test-0.tar");
    ASSERT_THAT(tests.photos, SizeIs(1));
    EXPECT_EQ(tests.photos[0].split, Split::validation);
}

TEST_F(Shards, FoldersInAnArchiveAreClasses) {
    put("x.tar", {{"photos/ant/1.bmp", photo(5)},
                  {"photos/ant/2.bmp", photo(6)},
                  {"photos/bee/1.bmp", photo(7)},
                  {"photos/bee/2.bmp", photo(8)},
                  {"3.bmp", photo(9)}});
    const PhotoSet set = found("x.tar");
    EXPECT_FALSE(names_validation_photos(folder_ / "x.tar"));
    EXPECT_THAT(set.classes, ElementsAre("ant", "bee"));
    EXPECT_EQ(set.of(Split::train).size(), 2);
    EXPECT_EQ(set.of(Split::validation).size(), 2);
    ASSERT_THAT(set.unused, SizeIs(1));
    EXPECT_EQ(set.unused[0].reason, Unused::no_class);
}

/// The same pixels, labels and division as those of a table of the same names.
TEST_F(Shards, AreReadAsFilesAre) {
    put("train/x.tar", {{"a.bmp", photo(5)}, {"a.cls", "1"}, {"b.bmp", photo(6)}, {"b.cls", "0"}});
    put("val/x.tar", {{"a.bmp", photo(7)}, {"a.cls", "1"}});
    write_file(folder_ / "list.csv",
               "file,class,split\ntrain/x.tar/a.bmp,1,train\ntrain/x.tar/b.bmp,0,train\nval/x.tar/a.bmp,1,val\n");
    write_file(folder_ / "c.bmp", photo(6));
    const EncodedImageSettings how{.image_size = 8};
    for (const std::string place : {"", "list.csv"}) {
        const auto set = std::make_shared<const PhotoSet>(found(place));
        EXPECT_THAT(paths(*set, Split::train), ElementsAre("0 train/x.tar/b.bmp", "1 train/x.tar/a.bmp"));
        EXPECT_THAT(paths(*set, Split::validation), ElementsAre("1 val/x.tar/a.bmp"));
        const ClassFolders photos(set, Split::train, how);
        write_file(folder_ / "files.csv", "c.bmp,0\nc.bmp,0\n");
        DataSettings alone{.photos = {folder_ / "c.bmp"}};
        alone.image_size = 8;
        const auto file = open_image_folder({folder_ / "c.bmp"}, alone, {}).images;
        EXPECT_EQ(read_sample(photos, 0).image, read_sample(*file, 0).image);
    }
    DataSettings settings;
    settings.image_size = 8;
    settings.known_classes = {"0", "1"};
    const auto all = open_image_folder({folder_ / "train"}, settings, {}).images;
    ASSERT_EQ(all->size(), 2);
    EXPECT_EQ(read_sample(*all, 0).label, 1);
    EXPECT_EQ(open_image_folder({folder_ / "val/x.tar/a.bmp"}, settings, {}).images->size(), 1);
}

TEST_F(Shards, LabelsThatAreNoneAreRefused) {
    put("x.tar", {{"a.bmp", photo(5)}, {"a.json", "[1"}});
    EXPECT_THAT(message_of(ErrorKind::data, [&] { found(); }), HasSubstr("x.tar/a.json"));
    put("x.tar", {{"a.bmp", photo(5)}, {"a.cls", "\xff"}});
    EXPECT_THAT(message_of(ErrorKind::data, [&] { found(); }), HasSubstr("x.tar/a.cls"));
    put("x.tar", {{"a.bmp", photo(5)}, {"a.cls", std::string((1 << 20) + 1, 'x')}});
    EXPECT_THAT(message_of(ErrorKind::data, [&] { found(); }), HasSubstr("x.tar/a.cls"));
}

}  // namespace
}  // namespace cnntrain::data
