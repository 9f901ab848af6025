#include "cnntrain/data/writers.h"

#include <map>
#include <set>

#include "cnntrain/data/input.h"
#include "cnntrain/data/resolve.h"
#include "cnntrain/data/tfrecord.h"
#include "data/example.h"
#include "fixtures.h"

namespace cnntrain::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(GeneratedCifar, IsAReadableBalancedSet) {
    const TemporaryFolder folder;
    const std::string written = write_generated_cifar({folder.path(), 3, 52, 20, 10});
    EXPECT_EQ(written, find_data_folder(DatasetId::cifar10, folder.path()));
    DataSettings settings;
    settings.folder = written;
    EXPECT_EQ(InputData(settings, Split::train).samples(), 52);
    const InputData test(settings, Split::validation);
    ASSERT_EQ(test.samples(), 20);
    const auto stream = test.stream({.micro_batch = 20});
    const Batch batch = stream->next();
    std::map<std::int32_t, int> counts;
    for (const std::int32_t label : batch.labels) {
        ++counts[label];
    }
    EXPECT_EQ(counts.size(), 10u);
    EXPECT_THAT(counts, testing::Each(testing::Pair(testing::_, 2)));
}

TEST(GeneratedCifar, SeedDecidesEverything) {
    const TemporaryFolder folder;
    const auto test_file = [&](const std::string& name, std::uint64_t seed, std::int64_t images) {
        return read_file(write_generated_cifar({folder / name, seed, 5, images, 10}) + "/test_batch.bin");
    };
    const std::string first = test_file("a", 1, 10);
    EXPECT_EQ(first, test_file("b", 1, 10));
    EXPECT_EQ(first, test_file("c", 1, 30).substr(0, first.size()));
    EXPECT_NE(first, test_file("d", 2, 10));
}

TEST(GeneratedCifar, MeanColourTellsNothing) {
    // The class means of brightness differ by much less than brightness itself varies inside a class.
    const TemporaryFolder folder;
    const std::string bytes = read_file(write_generated_cifar({folder.path(), 1, 5, 1000, 10}) + "/test_batch.bin");
    std::map<int, std::vector<double>> brightness;
    for (std::size_t record = 0; record < 1000; ++record) {
        double sum = 0;
        for (std::size_t i = 1; i < 3073; ++i) {
            sum += static_cast<std::uint8_t>(bytes[record * 3073 + i]);
        }
        brightness[bytes[record * 3073]].push_back(sum / 3072);
    }
    for (const auto& [label, values] : brightness) {
        double mean = 0;
        for (const double value : values) {
            mean += value / static_cast<double>(values.size());
        }
        EXPECT_NEAR(mean, 128, 8) << label;
    }
}

TEST(GeneratedCifar, ImpossibleCounts) {
    EXPECT_THROW(write_generated_cifar({"/nowhere", 1, 4, 1, 10}), Error);
    EXPECT_THROW(write_generated_cifar({"/nowhere", 1, 10, 10, 11}), Error);
}

class ImagenetWriter : public testing::Test {
protected:
    ImagenetWriter() {
        settings_.train_folder = folder_ / "raw";
        settings_.output_folder = folder_ / "out/imagenet-data";
        settings_.train_shards = 3;
        settings_.validation_shards = 2;
        settings_.seed = 6;
        posix_files().make_directories(folder_ / "raw/n03");
        for (int i = 0; i < 4; ++i) {
            write_file(folder_ / ("raw/n02_" + std::to_string(i) + ".JPEG"), encode_jpeg(make_photo(20 + i, 30)));
            write_file(folder_ / ("raw/n03/x" + std::to_string(i) + ".jpg"), encode_jpeg(make_photo(30 + i, 30)));
        }
        write_file(folder_ / "raw/n01_a_b.JPEG", encode_jpeg(make_photo(50, 30)));
    }
    std::vector<OwnedExample> read_split(Split split) {
        const RecordFiles records(split_files(DatasetId::imagenet, settings_.output_folder, split));
        std::vector<OwnedExample> examples;
        std::vector<std::byte> buffer;
        for (std::int64_t i = 0; i < records.size(); ++i) {
            examples.push_back(parse_owned(records.read(i, buffer)));
        }
        return examples;
    }
    TemporaryFolder folder_;
    ImagenetWriterSettings settings_;
};

TEST_F(ImagenetWriter, EveryImageOnceWithItsLabelShuffled) {
    const ImagenetWriterResult result = write_imagenet_tfrecords(settings_);
    EXPECT_EQ(result.train_images, 9);
    EXPECT_EQ(result.validation_images, 0);
    EXPECT_EQ(result.classes, 3);
    EXPECT_EQ(posix_files().list(settings_.output_folder),
              (std::vector<std::string>{"train-00000-of-00003", "train-00001-of-00003", "train-00002-of-00003"}));
    std::map<std::int64_t, int> counts;
    std::vector<std::int64_t> heights;
    for (const OwnedExample& example : read_split(Split::train)) {
        ++counts[example.label];
        const std::int64_t height = JpegDecoder().open(std::as_bytes(std::span(example.jpeg))).height;
        heights.push_back(height);
        EXPECT_EQ(example.label, height == 50 ? 1 : height < 30 ? 2 : 3);
    }
    EXPECT_EQ(counts, (std::map<std::int64_t, int>{{1, 1}, {2, 4}, {3, 4}}));
    EXPECT_EQ(std::set<std::int64_t>(heights.begin(), heights.end()).size(), 9u);
    EXPECT_FALSE(std::is_sorted(heights.begin(), heights.end()));
}

TEST_F(ImagenetWriter, SameSeedSameFiles) {
    write_imagenet_tfrecords(settings_);
    const std::string first = read_file(settings_.output_folder + "/train-00001-of-00003");
    write_imagenet_tfrecords(settings_);
    EXPECT_EQ(read_file(settings_.output_folder + "/train-00001-of-00003"), first);
    settings_.seed = 7;
    write_imagenet_tfrecords(settings_);
    EXPECT_NE(read_file(settings_.output_folder + "/train-00001-of-00003"), first);
}

TEST_F(ImagenetWriter, ValidationSharesTheClasses) {
    settings_.validation_folder = folder_ / "raw/n03";
    for (int i = 0; i < 4; ++i) {
        posix_files().remove(folder_ / ("raw/n03/x" + std::to_string(i) + ".jpg"));
    }
    write_file(folder_ / "raw/n03/n02_v.jpg", encode_jpeg(make_photo(20, 20)));
    write_imagenet_tfrecords(settings_);
    const std::vector<OwnedExample> validation = read_split(Split::validation);
    ASSERT_EQ(validation.size(), 1u);
    EXPECT_EQ(validation[0].label, 2);
}

TEST_F(ImagenetWriter, BadInput) {
    write_file(folder_ / "raw/n02_bad.JPEG", "no image");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { write_imagenet_tfrecords(settings_); }),
                AllOf(HasSubstr("n02_bad.JPEG"), HasSubstr("not a JPEG")));
    for (const std::string& name : posix_files().list(settings_.output_folder)) {
        RecordFiles({settings_.output_folder + "/" + name});  // finished or absent
    }
    posix_files().remove(folder_ / "raw/n02_bad.JPEG");
    write_file(folder_ / "raw/classless.JPEG", encode_jpeg(make_photo(20, 20)));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { write_imagenet_tfrecords(settings_); }),
                HasSubstr("classless.JPEG has no class"));
    settings_.train_shards = 0;
    EXPECT_THROW(write_imagenet_tfrecords(settings_), Error);
}

}  // namespace
}  // namespace cnntrain::data
