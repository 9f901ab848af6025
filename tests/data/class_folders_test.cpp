#include "data/sets/photo_set.h"

#include <sys/stat.h>

#include <algorithm>
#include <filesystem>

#include "cnntrain/data/batch.h"
#include "cnntrain/data/sets.h"
#include "data/format_fixtures.h"
#include "data/sets/encoded_images.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

constexpr std::int64_t kSide = 16;

class Photos : public testing::Test {
protected:
    /// A file below the folder.
    void put(const std::string& name, const std::string& bytes) {
        const std::string path = folder_ / name;
        posix_files().make_directories(std::filesystem::path(path).parent_path().string());
        write_file(path, bytes);
    }

    void put_photo(const std::string& name, std::uint64_t seed) {
        put(name, encode_jpeg(make_photo(30 + static_cast<std::int64_t>(seed), 40, seed)));
    }

    /// Two classes with three and two training images and one validation image each.
    void put_photos() {
        put_photo("train/bee/b.jpeg", 1);
        put_photo("train/ant/z.JPG", 2);
        put_photo("train/ant/a.jpg", 3);
        put_photo("train/bee/a.jpg", 4);
        put_photo("train/ant/m.jpg", 5);
        put_photo("val/bee/1.jpg", 6);
        put_photo("val/ant/1.jpg", 7);
    }

    ClassFolders open(Split split, const EncodedImageSettings& settings = {.image_size = kSide}) const {
        InputSettings input;
        input.folder = folder_.path();
        return {std::make_shared<const PhotoSet>(find_photos(input)), split, settings};
    }

    std::string error(Split split) const {
        return message_of(ErrorKind::data, [&] { open(split); });
    }

    InputSettings input() const {
        InputSettings settings;
        settings.dataset = DatasetId::folder;
        settings.data_dir = folder_.path();
        settings.folder = find_data_folder(DatasetId::folder, folder_.path());
        settings.image_size = kSide;
        return settings;
    }

    test::TemporaryFolder folder_;
};

std::vector<std::int32_t> labels(const ClassFolders& data) {
    std::vector<std::int32_t> all;
    for (std::int64_t i = 0; i < data.size(); ++i)
        all.push_back(read_sample(data, i).label);
    return all;
}

TEST_F(Photos, LabelsAreTheNumbersOfTheSortedClassFolders) {
    put_photos();
    put("train/.hidden/x.jpg", "x");
    put("train/bee/.hidden.jpg", "x");
    EXPECT_THAT(labels(open(Split::train)), ElementsAre(0, 0, 0, 1, 1));
    EXPECT_THAT(labels(open(Split::validation)), ElementsAre(0, 1));
    EXPECT_THAT(split_files(DatasetId::folder, folder_.path(), Split::train),
                ElementsAre(folder_ / "train/ant/a.jpg", folder_ / "train/ant/m.jpg", folder_ / "train/ant/z.JPG",
                            folder_ / "train/bee/a.jpg", folder_ / "train/bee/b.jpeg"));
}

TEST_F(Photos, ClassesBehindLinksCount) {
    put_photos();
    const test::TemporaryFolder elsewhere;
    write_file(elsewhere / "c.jpg", encode_jpeg(make_photo(20, 20)));
    std::filesystem::create_directory_symlink(elsewhere.path(), folder_ / "train/cat");
    EXPECT_THAT(labels(open(Split::train)), ElementsAre(0, 0, 0, 1, 1, 2));
}

TEST_F(Photos, ValidationTakesTheLabelsOfTraining) {
    put_photos();
    put_photo("train/aardvark/1.jpg", 8);
    EXPECT_THAT(labels(open(Split::validation)), ElementsAre(1, 2));
    testing::internal::CaptureStderr();
    const InputData opened(input(), Split::validation);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), AllOf(HasSubstr((folder_ / "val")), HasSubstr("aardvark")));
}

/// The same pixels as those of the same image in a record.
TEST_F(Photos, GoThroughImagenetsPreprocessing) {
    put_photos();
    const std::string jpeg = read_file(folder_ / "train/ant/m.jpg");
    write_records(folder_ / "train-00000-of-00001", {make_example(jpeg, 1)});
    for (const bool augment : {false, true}) {
        const EncodedImageSettings how{.image_size = kSide, .augment = augment, .seed = 5};
        const Imagenet records({folder_ / "train-00000-of-00001"}, {.images = how});
        const ReadSample wanted = read_sample(records, 0, {2, 9});
        const ReadSample got = read_sample(open(Split::train, how), 1, {2, 9});
        EXPECT_EQ(got.image, wanted.image) << augment;
        EXPECT_EQ(got.label, wanted.label);
    }
}

TEST_F(Photos, UndecodableImagesAreReplacedInTrainingAndLeftOutOfValidation) {
    put_photos();
    const std::string broken = encode_jpeg(make_photo(60, 60)).substr(0, 700);
    put("train/ant/m.jpg", broken);
    put("val/ant/1.jpg", broken);
    const ClassFolders training = open(Split::train, {.image_size = kSide, .on_bad_image = OnBadImage::replace});
    testing::internal::CaptureStderr();
    EXPECT_EQ(read_sample(training, 1).image, read_sample(training, 2).image);
    EXPECT_EQ(training.state().damaged, 1);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(folder_ / "train/ant/m.jpg"));

    const ClassFolders validation =
        open(Split::validation, {.image_size = kSide, .on_bad_image = OnBadImage::leave_out});
    testing::internal::CaptureStderr();
    EXPECT_EQ(read_sample(validation, 0).state, SampleState::undecodable);
    EXPECT_EQ(read_sample(validation, 0).label, kLeftOut);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("val/ant/1.jpg"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_sample(open(Split::validation), 0); }), HasSubstr("JPEG"));
}

/// Users move photos while a run reads them.
TEST_F(Photos, ThoseThatVanishAreHandledAsUndecodableOnes) {
    put_photos();
    const ClassFolders training = open(Split::train, {.image_size = kSide, .on_bad_image = OnBadImage::replace});
    const ClassFolders validation =
        open(Split::validation, {.image_size = kSide, .on_bad_image = OnBadImage::leave_out});
    const ClassFolders strict = open(Split::train);
    const std::string gone = static_cast<const Dataset&>(training).place(0).text;
    const std::string piped = static_cast<const Dataset&>(validation).place(0).text;
    std::filesystem::remove(gone);
    testing::internal::CaptureStderr();
    EXPECT_EQ(read_sample(training, 0).image, read_sample(training, 1).image);
    std::filesystem::remove(piped);
    ASSERT_EQ(::mkfifo(piped.c_str(), 0600), 0);
    EXPECT_EQ(read_sample(validation, 0).state, SampleState::undecodable);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr(gone));
    EXPECT_EQ(training.state().damaged, 1);
    EXPECT_EQ(validation.state().damaged, 1);
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read_sample(strict, 0); }), HasSubstr(gone));
}

TEST_F(Photos, OtherFilesAreCountedAndNamedOnce) {
    put_photos();
    put("train/ant/x.png", "x");
    put("train/bee/y.PNG", "");
    put("train/bee/notes.txt", "%PDF");
    testing::internal::CaptureStderr();
    const InputData data(input(), Split::train);
    EXPECT_EQ(data.count(), 5);
    EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("train/bee/notes.txt"));
    EXPECT_EQ(data.unused_files(),
              "file,reason,detail\ntrain/ant/x.png,not an image,\n"
              "train/bee/notes.txt,of a format that is not read,PDF\ntrain/bee/y.PNG,empty,\n");
}

/// A JPEG that is stored turned gives the sample of a PNG file of its upright pixels.
TEST_F(Photos, AreTurnedUpright) {
    const std::string jpeg = encode_jpeg(make_photo(64, 40));
    const TestImage stored = decode_whole(jpeg, {DctMethod::accurate});
    TestImage upright{40, 64, 3, {}};
    for (std::int64_t y = 0; y < upright.height; ++y) {
        for (std::int64_t x = 0; x < upright.width; ++x) {
            for (std::int64_t c = 0; c < 3; ++c)
                upright.pixels.push_back(stored.at(stored.height - 1 - x, y, c));
        }
    }
    put("train/ant/turned.jpg", with_orientation(jpeg, 6));
    put("train/bee/upright.png", encode_png(upright));
    InputSettings settings = input();
    settings.train_with_valid_preprocessing = true;
    const auto stream = InputData(settings, Split::train).stream({.micro_batch = 2});
    const Batch batch = stream->next();
    const auto pixels = batch.fields[0];
    EXPECT_TRUE(std::ranges::equal(pixels.first(pixels.size() / 2), pixels.last(pixels.size() / 2)));
}

TEST_F(Photos, ErrorsSayWhereAndWhatToDo) {
    put_photo("train/ant/1.jpg", 1);
    EXPECT_THAT(error(Split::train), HasSubstr(folder_ / "train"));
    put("train/bee/1.png", "x");
    EXPECT_THAT(error(Split::train), AllOf(HasSubstr(folder_ / "train"), HasSubstr("train/bee/1.png")));
    put_photo("val/Bee/1.jpg", 2);
    EXPECT_THAT(error(Split::validation), AllOf(HasSubstr((folder_ / "val/Bee")), HasSubstr("train/Bee")));
    put_photo("validation/ant/1.jpg", 2);
    EXPECT_THAT(error(Split::validation), HasSubstr("keep"));
    put_photo("train/Bl\xfcte/1.jpg", 3);
    std::filesystem::remove_all(folder_ / "validation");
    std::filesystem::remove_all(folder_ / "val");
    EXPECT_THAT(error(Split::train), HasSubstr("xfcte"));
}

TEST_F(Photos, AValidationFolderWithoutImagesIsAnError) {
    put_photos();
    posix_files().remove(folder_ / "val/ant/1.jpg");
    posix_files().remove(folder_ / "val/bee/1.jpg");
    EXPECT_THAT(error(Split::validation), AllOf(HasSubstr((folder_ / "val")), HasSubstr("--no-validation")));
}

TEST_F(Photos, AreFoundCountedAndOpenedByTheirRow) {
    EXPECT_THAT(message_of(ErrorKind::data, [&] { find_data_folder(DatasetId::folder, folder_.path()); }),
                AllOf(HasSubstr("train/<class>/*.jpg"), Not(HasSubstr("below"))));
    put_photos();
    EXPECT_THAT(message_of(ErrorKind::data, [&] { find_data_folder(DatasetId::imagenet, folder_.path()); }),
                HasSubstr("--dataset"));
    const InputSettings settings = input();
    EXPECT_EQ(settings.folder, folder_.path());
    EXPECT_EQ(class_count(settings), 2);
    EXPECT_EQ(class_count({.dataset = DatasetId::cifar100}), 100);
    for (const auto& [split, samples] : {std::pair{Split::train, 5}, std::pair{Split::validation, 2}}) {
        EXPECT_EQ(count_samples(settings, split).samples, samples);
        EXPECT_EQ(InputData(settings, split).count(), samples);
    }
    posix_files().make_directories(folder_ / "train/wasp");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { count_samples(input(), Split::train); }), HasSubstr("photo"))
        << "a dry run says so, too";
}

TEST_F(Photos, AStreamIsTheSameForAnyNumberOfThreads) {
    put_photos();
    InputSettings settings = input();
    settings.seed = 7;
    const InputData data(settings, Split::train);
    const auto take = [&](int threads) {
        const auto stream = data.stream({.micro_batch = 3, .threads = threads});
        std::vector<std::byte> bytes;
        for (int i = 0; i < 10; ++i) {
            const Batch batch = stream->next();
            for (const auto field : batch.fields)
                bytes.insert(bytes.end(), field.begin(), field.end());
        }
        return bytes;
    };
    EXPECT_EQ(take(1), take(4));
}

}  // namespace
}  // namespace cnntrain::data
