#include "cnntrain/data/writers.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <set>

#include "cnntrain/base/io.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/sets.h"
#include "data/fixtures.h"
#include "data/records/tfrecord.h"
#include "data/write/shard_writer.h"
#include "example.pb.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

TEST(GeneratedCifar, IsAReadableBalancedSet) {
    const test::TemporaryFolder folder;
    const std::string written = write_generated_cifar({folder.path(), 3, 52, 20, 10});
    EXPECT_EQ(written, data::find_data_folder(data::DatasetId::cifar10, folder.path()));
    data::InputSettings settings;
    settings.folder = written;
    EXPECT_EQ(data::InputData(settings, data::Split::train).count(), 52);
    const data::InputData test(settings, data::Split::validation);
    ASSERT_EQ(test.count(), 20);
    const auto stream = test.stream({.micro_batch = 20});
    const data::Batch batch = stream->next();
    std::map<std::int32_t, int> counts;
    for (const std::int32_t label : data::labels_in(batch))
        ++counts[label];
    EXPECT_EQ(counts.size(), 10u);
    EXPECT_THAT(counts, testing::Each(testing::Pair(testing::_, 2)));
}

TEST(GeneratedCifar, SeedDecidesEverything) {
    const test::TemporaryFolder folder;
    const auto test_file = [&](const std::string& name, std::uint64_t seed, std::int64_t images) {
        return data::read_file(write_generated_cifar({folder / name, seed, 5, images, 10}) + "/test_batch.bin");
    };
    const std::string first = test_file("a", 1, 10);
    EXPECT_EQ(first, test_file("b", 1, 10));
    EXPECT_EQ(first, test_file("c", 1, 30).substr(0, first.size()));
    EXPECT_NE(first, test_file("d", 2, 10));
}

TEST(GeneratedCifar, ChangedFilesNeedTheOption) {
    const test::TemporaryFolder folder;
    GeneratedCifarSettings settings{folder.path(), 3, 52, 20, 10};
    write_generated_cifar(settings);
    settings.seed = 4;
    write_generated_cifar(settings);  // of this program, and as it wrote them
    const std::string changed = folder.write("cifar-10-batches-bin/data_batch_4.bin", "mine");
    settings.seed = 5;
    const std::string first = folder.read("cifar-10-batches-bin/data_batch_1.bin");
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_generated_cifar(settings); }),
                AllOf(HasSubstr(changed), HasSubstr("--overwrite")));
    EXPECT_EQ(folder.read("cifar-10-batches-bin/data_batch_4.bin"), "mine");
    EXPECT_EQ(folder.read("cifar-10-batches-bin/data_batch_1.bin"), first);
    settings.overwrite = true;
    write_generated_cifar(settings);
    settings = {folder.path(), 6, 52, 20, 10};
    write_generated_cifar(settings);
}

TEST(GeneratedSets, HaveOneWriterAtATime) {
    const test::TemporaryFolder folder;
    const auto photos = [&] { write_generated_photos({folder / "photos", 1, 16, 8}); };
    const auto cifar = [&] { write_generated_cifar({folder.path(), 3, 52, 20, 10}); };
    photos();
    cifar();
    const auto photos_lock = lock_folder(posix_files(), folder / "photos", "test");
    EXPECT_EQ(kind_of(photos), ErrorKind::usage);
    const auto cifar_lock = lock_folder(posix_files(), folder / "cifar-10-batches-bin", "test");
    EXPECT_EQ(kind_of(cifar), ErrorKind::usage);
}

TEST(GeneratedCifar, MeanColourTellsNothing) {
    // The class means of brightness differ by much less than brightness itself varies inside a class.
    const test::TemporaryFolder folder;
    const std::string bytes =
        data::read_file(write_generated_cifar({folder.path(), 1, 5, 1000, 10}) + "/test_batch.bin");
    std::map<int, std::vector<double>> brightness;
    for (std::size_t record = 0; record < 1000; ++record) {
        double sum = 0;
        for (std::size_t i = 1; i < 3073; ++i)
            sum += static_cast<std::uint8_t>(bytes[record * 3073 + i]);
        brightness[bytes[record * 3073]].push_back(sum / 3072);
    }
    for (const auto& [label, values] : brightness) {
        double mean = 0;
        for (const double value : values)
            mean += value / static_cast<double>(values.size());
        EXPECT_NEAR(mean, 128, 8) << label;
    }
}

TEST(GeneratedCifar, ImpossibleCounts) {
    EXPECT_THROW(write_generated_cifar({"/nowhere", 1, 4, 1, 10}), Error);
    EXPECT_THROW(write_generated_cifar({"/nowhere", 1, 10, 10, 11}), Error);
}

TEST(GeneratedPhotos, AreABalancedSetInClassFolders) {
    const test::TemporaryFolder folder;
    write_generated_photos({folder.path(), 3, 26, 16});
    data::InputSettings settings;
    settings.dataset = data::DatasetId::folder;
    settings.folder = data::find_data_folder(settings.dataset, folder.path());
    EXPECT_EQ(data::InputData(settings, data::Split::train).count(), 26);
    const data::InputData validation(settings, data::Split::validation);
    ASSERT_EQ(validation.count(), 16);
    const data::Batch batch = validation.stream({.micro_batch = 16})->next();
    std::map<std::int32_t, int> counts;
    for (const std::int32_t label : data::labels_in(batch))
        ++counts[label];
    EXPECT_EQ(counts.size(), static_cast<std::size_t>(kPhotoClasses));
    EXPECT_THAT(counts, testing::Each(testing::Pair(testing::_, 2)));
}

TEST(GeneratedPhotos, SeedDecidesEverything) {
    const test::TemporaryFolder folder;
    const auto photo = [&](const std::string& name, std::uint64_t seed, std::int64_t photos) {
        write_generated_photos({folder / name, seed, photos, 8});
        return folder.read(name + "/train/heart/heart-1.jpg");
    };
    const std::string first = photo("a", 1, 16);
    ASSERT_FALSE(first.empty());
    EXPECT_EQ(first, photo("b", 1, 16));
    EXPECT_EQ(first, photo("c", 1, 40));
    EXPECT_NE(first, photo("d", 2, 16));
}

/// Photos have many sizes, and a pixel in the middle says little about the class.
TEST(GeneratedPhotos, VaryInSizeAndColour) {
    const test::TemporaryFolder folder;
    write_generated_photos({folder.path(), 1, 160, 8});
    std::set<std::int64_t> heights;
    std::set<std::uint8_t> reds;
    for (int i = 0; i < 20; ++i) {
        const std::string jpeg = folder.read("train/square/square-" + std::to_string(i) + ".jpg");
        const data::TestImage image = data::decode_whole(jpeg, {});
        heights.insert(image.height);
        reds.insert(image.at(image.height / 2, image.width / 2, 0) / 16);
    }
    EXPECT_GT(heights.size(), 10U);
    EXPECT_GT(reds.size(), 6U);
}

TEST(GeneratedPhotos, AKilledCallIsCompleted) {
    const test::TemporaryFolder folder;
    const GeneratedPhotosSettings settings{folder.path(), 1, 16, 8};
    write_generated_photos(settings);
    const std::string lost = folder.read("train/star/star-1.jpg");
    posix_files().remove(folder / "train/star/star-1.jpg");
    folder.write("train/star/star-0.jpg", "written before");
    write_generated_photos(settings);
    EXPECT_EQ(folder.read("train/star/star-1.jpg"), lost);
    EXPECT_EQ(folder.read("train/star/star-0.jpg"), "written before");
}

TEST(GeneratedPhotos, OnlyTheirOwnAreReplaced) {
    const test::TemporaryFolder folder;
    GeneratedPhotosSettings settings{folder.path(), 1, 24, 8};
    write_generated_photos(settings);
    EXPECT_TRUE(holds_generated_photos(folder.path()));
    folder.write("train/ring/mine.jpg", "mine");
    settings.train_photos = 8;
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_generated_photos(settings); }),
                AllOf(HasSubstr("8 validation"), HasSubstr("--overwrite")));
    settings.overwrite = true;
    write_generated_photos(settings);
    EXPECT_EQ(posix_files().list(folder / "train/ring"), (std::vector<std::string>{"mine.jpg", "ring-0.jpg"}));

    posix_files().remove(folder / ".generated");
    EXPECT_FALSE(holds_generated_photos(folder.path()));
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { write_generated_photos(settings); }), HasSubstr("files"));
    EXPECT_EQ(folder.read("train/ring/mine.jpg"), "mine");
    EXPECT_THAT(message_of(ErrorKind::usage,
                           [] {
                               write_generated_photos({"/nowhere", 1, 7, 8});
                           }),
                HasSubstr("8 classes"));
}

/// The standard keys of one record, by name.
class Keys {
public:
    explicit Keys(std::span<const std::byte> record) {
        EXPECT_TRUE(message_.ParseFromArray(record.data(), static_cast<int>(record.size())));
    }
    const data::proto::Feature& of(const std::string& key) const {
        static const data::proto::Feature none;
        const auto found = message_.features().feature().find(key);
        EXPECT_NE(found, message_.features().feature().end()) << key;
        return found == message_.features().feature().end() ? none : found->second;
    }
    std::string text(const std::string& key) const { return of(key).bytes_list().value(0); }
    std::int64_t integer(const std::string& key) const { return of(key).int64_list().value(0); }
    std::vector<float> floats(const std::string& key) const {
        const auto& values = of(key).float_list().value();
        return {values.begin(), values.end()};
    }
    std::size_t size() const { return message_.features().feature().size(); }

private:
    data::proto::Example message_;
};

TEST(ImageExample, HasTheBytesOfProtobuf) {
    ImageDescription image{std::string(70000, 'j'), -3, "n02", "", 300, 0};
    for (const std::size_t boxes : {0, 1, 40}) {
        image.boxes.assign(boxes, {0.25F, 0, 1, 0.5F});
        image.box_labels.assign(boxes, 1000);
        const std::string bytes = serialise_image_example(image);
        data::proto::Example message;
        ASSERT_TRUE(message.ParseFromString(bytes));
        std::string expected;
        google::protobuf::io::StringOutputStream stream(&expected);
        google::protobuf::io::CodedOutputStream coded(&stream);
        coded.SetSerializationDeterministic(true);  // keys in alphabetical order
        ASSERT_TRUE(message.SerializeToCodedStream(&coded));
        coded.Trim();
        EXPECT_EQ(bytes, expected);
    }
}

class ImagenetWriter : public testing::Test {
protected:
    ImagenetWriter() {
        settings_.train_folder = folder_ / "raw";
        settings_.output_folder = folder_ / "out/imagenet-data";
        settings_.train_shards = 3;
        settings_.validation_shards = 2;
        settings_.seed = 6;
        for (int i = 0; i < 4; ++i) {
            image("raw/n02_" + std::to_string(i) + ".JPEG", 20 + i);
            image("raw/n03/x" + std::to_string(i) + ".jpg", 30 + i);
        }
        image("raw/n01_a_b.JPEG", 50);
    }
    void image(const std::string& name, int height) {
        posix_files().make_directories(std::filesystem::path(folder_ / name).parent_path().string());
        data::write_file(folder_ / name, data::encode_jpeg(data::make_photo(height, 30)));
    }
    std::string list(const std::string& name, const std::string& text) {
        data::write_file(folder_ / name, text);
        return folder_ / name;
    }
    std::vector<Keys> read_split(data::Split split) {
        const data::RecordFiles records(split_files(data::DatasetId::imagenet, settings_.output_folder, split));
        std::vector<Keys> all;
        std::vector<std::byte> buffer;
        for (std::int64_t i = 0; i < records.size(); ++i)
            all.emplace_back(records.read(i, buffer));
        return all;
    }
    /// Label and class by file name.
    std::map<std::string, std::string> labels(data::Split split) {
        std::map<std::string, std::string> found;
        for (const Keys& keys : read_split(split)) {
            found[keys.text("image/filename")] =
                std::to_string(keys.integer("image/class/label")) + " " + keys.text("image/class/synset");
        }
        return found;
    }
    std::string failure(ErrorKind kind) {
        return message_of(kind, [&] { write_imagenet_tfrecords(settings_); });
    }
    std::map<std::string, std::string> shards() {
        std::map<std::string, std::string> all;
        for (const std::string& name : posix_files().list(settings_.output_folder)) {
            if (name.find("-of-") != std::string::npos)
                all[name] = data::read_file(settings_.output_folder + "/" + name);
        }
        return all;
    }
    test::TemporaryFolder folder_;
    ImagenetWriterSettings settings_;
};

TEST_F(ImagenetWriter, EveryImageOnceWithItsLabelShuffled) {
    const ImagenetWriterResult result = write_imagenet_tfrecords(settings_);
    EXPECT_EQ(result.images, 9);
    EXPECT_EQ(result.train_images, 9);
    EXPECT_EQ(result.validation_images, 0);
    EXPECT_EQ(result.classes, 3);
    EXPECT_EQ(result.files_written, 3);
    EXPECT_EQ(result.skipped + result.converted_png + result.converted_cmyk + result.files_kept, 0);
    std::map<std::int64_t, int> counts;
    std::vector<std::int64_t> heights;
    for (const Keys& keys : read_split(data::Split::train)) {
        const std::int64_t label = keys.integer("image/class/label");
        const std::int64_t height = keys.integer("image/height");
        ++counts[label];
        heights.push_back(height);
        EXPECT_EQ(label, height == 50 ? 1 : height < 30 ? 2 : 3);
    }
    EXPECT_EQ(counts, (std::map<std::int64_t, int>{{1, 1}, {2, 4}, {3, 4}}));
    EXPECT_EQ(std::set<std::int64_t>(heights.begin(), heights.end()).size(), 9u);
    EXPECT_FALSE(std::is_sorted(heights.begin(), heights.end()));
}

TEST_F(ImagenetWriter, AllStandardKeys) {
    settings_.train_folder = folder_ / "raw/n03";
    settings_.train_labels = list("labels.csv", "x2.jpg,n03\n");
    settings_.synset_names = list("names.txt", "n03 some thing, thing\n");
    settings_.bounding_boxes = list("boxes.csv", "x2.jpg,0.125,0.25,0.5,1\nx2.jpg,0,0,0.5,0.5\n");
    EXPECT_EQ(write_imagenet_tfrecords(settings_).boxes, 1);
    const std::vector<Keys> records = read_split(data::Split::train);
    ASSERT_EQ(records.size(), 1u);
    const Keys& keys = records.front();
    EXPECT_EQ(keys.text("image/encoded"), data::read_file(folder_ / "raw/n03/x2.jpg"));
    EXPECT_EQ(keys.text("image/format"), "JPEG");
    EXPECT_EQ(keys.text("image/colorspace"), "RGB");
    EXPECT_EQ(keys.text("image/filename"), "x2.jpg");
    EXPECT_EQ(keys.text("image/class/synset"), "n03");
    EXPECT_EQ(keys.text("image/class/text"), "some thing, thing");
    EXPECT_EQ(keys.integer("image/class/label"), 1);
    EXPECT_EQ(keys.integer("image/height"), 32);
    EXPECT_EQ(keys.integer("image/width"), 30);
    EXPECT_EQ(keys.integer("image/channels"), 3);
    EXPECT_EQ(keys.floats("image/object/bbox/xmin"), (std::vector<float>{0.125F, 0}));
    EXPECT_EQ(keys.floats("image/object/bbox/ymin"), (std::vector<float>{0.25F, 0}));
    EXPECT_EQ(keys.floats("image/object/bbox/xmax"), (std::vector<float>{0.5F, 0.5F}));
    EXPECT_EQ(keys.floats("image/object/bbox/ymax"), (std::vector<float>{1, 0.5F}));
    EXPECT_EQ(keys.of("image/object/bbox/label").int64_list().value_size(), 2);
    EXPECT_EQ(keys.integer("image/object/bbox/label"), 1);
    EXPECT_EQ(keys.size(), 15u);
}

TEST_F(ImagenetWriter, BoxesHaveTheirObjectsLabels) {
    posix_files().make_directories(folder_ / "xml");
    list("xml/n01_a_b.xml",
         "<annotation><size><width>10</width><height>10</height></size>"
         "<object><name>n03</name><bndbox><xmin>0</xmin><ymin>0</ymin><xmax>5</xmax><ymax>5</ymax></bndbox></object>"
         "<object><name>?</name><bndbox><xmin>5</xmin><ymin>0</ymin><xmax>9</xmax><ymax>5</ymax></bndbox></object>"
         "</annotation>");
    settings_.bounding_boxes = folder_ / "xml";
    EXPECT_EQ(write_imagenet_tfrecords(settings_).boxes, 1);
    for (const Keys& keys : read_split(data::Split::train)) {
        const auto& box_labels = keys.of("image/object/bbox/label").int64_list().value();
        const bool marked = keys.text("image/filename") == "n01_a_b.JPEG";
        EXPECT_EQ(std::vector<std::int64_t>(box_labels.begin(), box_labels.end()),
                  marked ? (std::vector<std::int64_t>{3, 1}) : std::vector<std::int64_t>());
        EXPECT_EQ(keys.floats("image/object/bbox/xmin").size(), marked ? 2u : 0u);
    }
}

TEST_F(ImagenetWriter, SeedDecidesEverythingAtAnyThreadCount) {
    write_imagenet_tfrecords(settings_);
    const auto first = shards();
    settings_.output_folder = folder_ / "again";
    settings_.threads = 3;
    write_imagenet_tfrecords(settings_);
    EXPECT_EQ(shards(), first);
    settings_.seed = 7;
    EXPECT_THAT(failure(ErrorKind::usage), Not(IsEmpty()));
    settings_.overwrite = true;
    write_imagenet_tfrecords(settings_);
    EXPECT_NE(shards(), first);
}

TEST_F(ImagenetWriter, ChangedSourcesAreAnotherConversion) {
    write_imagenet_tfrecords(settings_);
    EXPECT_EQ(write_imagenet_tfrecords(settings_).files_kept, 3);
    image("raw/n01_a_b.JPEG", 60);
    EXPECT_THAT(failure(ErrorKind::usage), Not(IsEmpty()));
    image("raw/n01_a_b.JPEG", 50);
    settings_.synset_names = list("names.txt", "n01 thing\n");
    EXPECT_THAT(failure(ErrorKind::usage), Not(IsEmpty()));
}

TEST_F(ImagenetWriter, APhotographOfTheSameSizeIsAChangeToo) {
    write_imagenet_tfrecords(settings_);
    const std::string path = folder_ / "raw/n02_1.JPEG";
    std::string bytes = data::read_file(path);
    bytes[bytes.size() - 10] = static_cast<char>(bytes[bytes.size() - 10] ^ 1);
    data::write_file(path, bytes);
    EXPECT_THAT(failure(ErrorKind::usage), Not(IsEmpty()));
    settings_.overwrite = true;
    EXPECT_EQ(write_imagenet_tfrecords(settings_).files_kept, 0);
    EXPECT_EQ(write_imagenet_tfrecords(settings_).files_kept, 3);
}

TEST_F(ImagenetWriter, FilesThatAreLeftOutAreTold) {
    posix_files().make_directories(folder_ / "raw/n02");
    list("raw/n02/photo.dng", "a");
    list("raw/n02/photo.MP4", "b");
    list("raw/n03/other.mp4", "c");
    std::vector<std::string> notices;
    ConversionEvents events;
    events.notice = [&](const std::string& text) { notices.push_back(text); };
    EXPECT_EQ(write_imagenet_tfrecords(settings_, events).images, 9);
    EXPECT_THAT(notices, testing::ElementsAre(HasSubstr("raw")));
}

TEST_F(ImagenetWriter, ValidationSharesTheClasses) {
    image("val/n03/n02_v.jpg", 20);
    image("val/n02_v.jpg", 20);
    settings_.validation_folder = folder_ / "val";
    write_imagenet_tfrecords(settings_);
    EXPECT_EQ(labels(data::Split::train)["n02_0.JPEG"], "2 n02");
    const std::vector<Keys> validation = read_split(data::Split::validation);
    ASSERT_EQ(validation.size(), 2u);
    EXPECT_EQ(validation[0].integer("image/class/label") + validation[1].integer("image/class/label"), 2 + 3);
    image("val/n09/strange.jpg", 20);
    settings_.output_folder = folder_ / "other";
    std::string notices;
    ConversionEvents events;
    events.notice = [&](const std::string& text) { notices += text; };
    EXPECT_EQ(write_imagenet_tfrecords(settings_, events).classes, 4);
    EXPECT_THAT(notices, AllOf(HasSubstr("1 validation images"), HasSubstr("n09")));
}

TEST_F(ImagenetWriter, LayoutOfThePublishedFiles) {
    image("published/train/n01/n01_1.JPEG", 20);
    image("published/train/n02/n02_1.JPEG", 21);
    image("published/validation/ILSVRC2012_val_00000002.JPEG", 31);
    image("published/validation/ILSVRC2012_val_00000001.JPEG", 30);
    settings_.train_folder.clear();
    find_raw_images(folder_ / "published", settings_);
    EXPECT_EQ(settings_.train_folder, folder_ / "published/train");
    EXPECT_EQ(settings_.validation_folder, folder_ / "published/validation");
    EXPECT_THAT(failure(ErrorKind::data),
                AllOf(HasSubstr("ILSVRC2012_val_00000001.JPEG"), HasSubstr("--validation-labels")));
    list("published/synset_labels.txt", "n02\nn01\n");
    find_raw_images(folder_ / "published", settings_);
    write_imagenet_tfrecords(settings_);
    EXPECT_EQ(labels(data::Split::validation),
              (std::map<std::string, std::string>{{"ILSVRC2012_val_00000001.JPEG", "2 n02"},
                                                  {"ILSVRC2012_val_00000002.JPEG", "1 n01"}}));
    list("published/synset_labels.txt", "n02\n");
    settings_.output_folder = folder_ / "other";
    EXPECT_THAT(failure(ErrorKind::data), AllOf(HasSubstr("1 classes"), HasSubstr("2 images")));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { find_raw_images(folder_ / "none", settings_); }),
                HasSubstr("folder"));
}

TEST_F(ImagenetWriter, ClassFoldersOfTheValidationCountMoreThanTheList) {
    image("published/val/n01/a.JPEG", 20);
    list("published/synset_labels.txt", "n02\n");
    ImagenetWriterSettings settings;
    find_raw_images(folder_ / "published", settings);
    EXPECT_EQ(settings.validation_folder, folder_ / "published/val");
    EXPECT_EQ(settings.validation_labels, "");
    ImagenetWriterSettings all_training;
    find_raw_images(folder_ / "raw", all_training);
    EXPECT_EQ(all_training.train_folder, folder_ / "raw");
    EXPECT_EQ(all_training.validation_folder, "");
    ImagenetWriterSettings elsewhere;  // as given: flat, so that the list of the raw folder is about it
    elsewhere.validation_folder = folder_ / "raw/n03";
    list("raw/synset_labels.txt", "n02\n");
    find_raw_images(folder_ / "raw", elsewhere);
    EXPECT_EQ(elsewhere.train_folder, folder_ / "raw");
    EXPECT_EQ(elsewhere.validation_folder, folder_ / "raw/n03");
    EXPECT_EQ(elsewhere.validation_labels, folder_ / "raw/synset_labels.txt");
}

TEST_F(ImagenetWriter, LabelFilesAndClassOrder) {
    settings_.train_labels = list("labels.txt", "n03/x1.jpg zebra\nn02_1.JPEG\tant\n");
    settings_.classes = list("classes.txt", "zebra\nbee\nant\n");
    EXPECT_EQ(write_imagenet_tfrecords(settings_).classes, 3);
    EXPECT_EQ(labels(data::Split::train),
              (std::map<std::string, std::string>{{"x1.jpg", "1 zebra"}, {"n02_1.JPEG", "3 ant"}}));
    settings_.output_folder = folder_ / "other";
    list("classes.txt", "zebra\n");
    EXPECT_THAT(failure(ErrorKind::data), AllOf(HasSubstr("n02_1.JPEG"), HasSubstr("ant"), HasSubstr("classes.txt")));
    list("labels.txt", "n03/x1.jpg zebra\nnone.jpg zebra\n");
    EXPECT_THAT(failure(ErrorKind::data), AllOf(HasSubstr("labels.txt, line 2"), HasSubstr("none.jpg")));
}

TEST_F(ImagenetWriter, HeldOutImages) {
    settings_.validation_fraction = 0.4;
    const ImagenetWriterResult result = write_imagenet_tfrecords(settings_);
    EXPECT_EQ(result.validation_images, 4);
    EXPECT_EQ(result.train_images, 5);
    std::map<std::string, std::string> all = labels(data::Split::train);
    all.merge(labels(data::Split::validation));
    EXPECT_EQ(all.size(), 9u);
    settings_.validation_folder = settings_.train_folder;
    EXPECT_THAT(failure(ErrorKind::usage), HasSubstr("fraction"));
    settings_.validation_fraction = 1;
    EXPECT_THAT(failure(ErrorKind::usage), HasSubstr("fraction"));
}

TEST_F(ImagenetWriter, DamagedImagesAreSkippedAndOthersConverted) {
    data::write_file(folder_ / "raw/n02_bad.JPEG", "no image");
    data::write_file(folder_ / "raw/n02_empty.JPEG", "");
    data::write_file(folder_ / "raw/n01_inks.JPEG", data::encode_jpeg(data::make_plain(16, 24, {200, 100, 50, 204})));
    ASSERT_EQ(::symlink("/nowhere", (folder_ / "raw/n01_gone.JPEG").c_str()), 0);
    std::map<std::string, std::string> skipped;
    ConversionEvents events;
    events.skipped = [&](const std::string& path, const std::string& reason) { skipped[path] = reason; };
    const ImagenetWriterResult result = write_imagenet_tfrecords(settings_, events);
    EXPECT_EQ(result.images, 13);
    EXPECT_EQ(result.train_images, 10);
    EXPECT_EQ(result.skipped, 3);
    EXPECT_EQ(result.converted_cmyk, 1);
    EXPECT_EQ(skipped.size(), 3u);
    EXPECT_EQ(skipped[folder_ / "raw/n02_empty.JPEG"], "the file is empty");
    EXPECT_THAT(data::read_file(settings_.output_folder + "/skipped.txt"),
                AllOf(HasSubstr("n02_bad.JPEG\t"), HasSubstr("n02_empty.JPEG\t"), HasSubstr("n01_gone.JPEG\t")));
    EXPECT_EQ(write_imagenet_tfrecords(settings_).converted_cmyk, 1);  // also when all files are kept
    settings_.max_skipped = 2;
    EXPECT_THAT(failure(ErrorKind::data), AllOf(HasSubstr("3 of 13 images"), HasSubstr("--max-skipped")));
}

TEST_F(ImagenetWriter, NamesThatAListCannotHoldAreRefused) {
    for (const char* name : {"n0\n4", "n0\r4", "Bl\xfcte"}) {
        image("raw/" + std::string(name) + "/x.jpg", 20);
        failure(ErrorKind::data);
        std::filesystem::remove_all(folder_ / "raw/" + name);
    }
}

TEST_F(ImagenetWriter, PipesAndLoopsOfLinksAreSkipped) {
    ASSERT_EQ(::mkfifo((folder_ / "raw/n03/pipe.jpg").c_str(), 0600), 0);
    std::filesystem::create_symlink("self.jpg", folder_ / "raw/n03/self.jpg");
    std::filesystem::create_directory_symlink("..", folder_ / "raw/n03/up");
    const ImagenetWriterResult result = write_imagenet_tfrecords(settings_);
    EXPECT_EQ(result.train_images, 9);
    EXPECT_EQ(result.skipped, 1) << "the link; the pipe is no image";
}

TEST_F(ImagenetWriter, BadInput) {
    image("raw/classless.JPEG", 20);
    EXPECT_THAT(failure(ErrorKind::data), HasSubstr(settings_.train_folder));
    posix_files().remove(folder_ / "raw/classless.JPEG");
    settings_.train_folder = folder_ / "nowhere";
    EXPECT_THAT(failure(ErrorKind::data), HasSubstr("exist"));
    posix_files().make_directories(settings_.train_folder);
    EXPECT_THAT(failure(ErrorKind::data), HasSubstr("image"));
    settings_.train_folder.clear();
    failure(ErrorKind::usage);
    settings_.train_folder = folder_ / "raw";
    settings_.validation_labels = "labels.txt";
    EXPECT_THAT(failure(ErrorKind::usage), HasSubstr("labels.txt"));
    settings_.train_shards = 0;
    EXPECT_THAT(failure(ErrorKind::usage), HasSubstr("shards"));
}

}  // namespace
}  // namespace cnntrain::data
