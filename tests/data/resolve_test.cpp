#include "cnntrain/data/sets.h"

#include <filesystem>

#include "data/sets/resolve.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

void touch(const std::string& path) {
    posix_files().make_directories(std::filesystem::path(path).parent_path().string());
    write_file(path, "x");
}

TEST(ImageSets, EveryRowOfTheTableCanBeOpened) {
    for (std::size_t id = 0; id < kDatasets.size(); ++id) {
        const auto dataset = static_cast<DatasetId>(id);
        EXPECT_EQ(dataset_info(dataset).id, dataset);
        EXPECT_EQ(image_set(dataset).id, dataset);
    }
}

class FindDataFolder : public testing::Test {
protected:
    test::TemporaryFolder folder_;
};

TEST_F(FindDataFolder, DirectlyInside) {
    touch(folder_ / "data_batch_1.bin");
    EXPECT_EQ(find_data_folder(DatasetId::cifar10, folder_.path() + "/./"), folder_.path());
    touch(folder_ / "train-00000-of-00004");
    EXPECT_EQ(find_data_folder(DatasetId::imagenet, folder_.path()), folder_.path());
}

TEST_F(FindDataFolder, NamedFolderBelowAlsoBehindLinks) {
    touch(folder_ / "a/b/cifar-10-batches-bin/data_batch_1.bin");
    touch(folder_ / "a/b/other/train.bin");  // the right file in a folder of another name
    posix_files().make_directories(folder_ / "loop/deep");
    std::filesystem::create_directory_symlink(folder_.path(), folder_ / "loop/deep/up");
    EXPECT_EQ(find_data_folder(DatasetId::cifar10, folder_.path()), folder_ / "a/b/cifar-10-batches-bin");
    EXPECT_THROW(find_data_folder(DatasetId::cifar100, folder_.path()), Error);

    const test::TemporaryFolder elsewhere;
    touch(elsewhere / "imagenet-data/validation-00000-of-00128");
    std::filesystem::create_directory_symlink(elsewhere.path(), folder_ / "linked");
    EXPECT_EQ(find_data_folder(DatasetId::imagenet, folder_.path()), folder_ / "linked/imagenet-data");
}

TEST_F(FindDataFolder, SearchEndsAmongTooManyFolders) {
    for (int i = 0; i < 5000; ++i)
        posix_files().make_directories(folder_ / ("f" + std::to_string(i)));
    touch(folder_ / "f0/below/imagenet-data/train-00000-of-00001");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { find_data_folder(DatasetId::imagenet, folder_.path()); }),
                AllOf(HasSubstr(folder_.path()), HasSubstr("--data-dir")));
    EXPECT_EQ(find_data_folder(DatasetId::imagenet, folder_ / "f0"), folder_ / "f0/below/imagenet-data");
}

TEST_F(FindDataFolder, MessagesNameDataSetFolderAndFile) {
    EXPECT_THAT(message_of(ErrorKind::usage, [] { find_data_folder(DatasetId::cifar10, ""); }),
                AllOf(HasSubstr("--data-dir"), HasSubstr("DATA_DIR")));
    EXPECT_THAT(
        message_of(ErrorKind::data, [&] { find_data_folder(DatasetId::imagenet, folder_ / "none"); }),
        AllOf(HasSubstr("imagenet"), HasSubstr(folder_ / "none"), HasSubstr("00000"), HasSubstr("imagenet-data")));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { find_data_folder(DatasetId::cifar10, folder_.path()); }),
                AllOf(HasSubstr("cifar-10"), HasSubstr(folder_.path()), HasSubstr("data_batch_1.bin")));
    touch(folder_ / "file");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { find_data_folder(DatasetId::cifar10, folder_ / "file"); }),
                HasSubstr("folder"));
}

TEST_F(FindDataFolder, SplitFilesInOrder) {
    for (const char* name : {"train-00002-of-00003", "train-00000-of-00003", "train-00001-of-00003", "train-notes.txt",
                             "validation-00000-of-00001", "train-0000x-of-00003", "train-00003-of-00003.tfrecord",
                             "old-train-00000-of-00007", "train-00000-of-00000"}) {
        touch(folder_ / name);
    }
    EXPECT_EQ(split_files(DatasetId::imagenet, folder_.path(), Split::train),
              (std::vector<std::string>{folder_ / "train-00000-of-00003", folder_ / "train-00001-of-00003",
                                        folder_ / "train-00002-of-00003"}));
    EXPECT_EQ(split_files(DatasetId::imagenet, folder_.path(), Split::validation),
              (std::vector<std::string>{folder_ / "validation-00000-of-00001"}));
    touch(folder_ / "train-00000-of-00004");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { split_files(DatasetId::imagenet, folder_.path(), Split::train); }),
                Not(IsEmpty()));
}

TEST_F(FindDataFolder, MissingSplitFiles) {
    for (int i = 1; i <= 4; ++i)
        touch(folder_ / ("data_batch_" + std::to_string(i) + ".bin"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { split_files(DatasetId::cifar10, folder_.path(), Split::train); }),
                AllOf(HasSubstr("data_batch_5.bin"), HasSubstr(folder_.path())));
    EXPECT_THAT(
        message_of(ErrorKind::data, [&] { split_files(DatasetId::imagenet, folder_.path(), Split::validation); }),
        AllOf(HasSubstr("00000"), HasSubstr(folder_.path())));
}

}  // namespace
}  // namespace cnntrain::data
