#include "data/sets/encoded_images.h"

#include "cnntrain/base/rng.h"
#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/data/sets.h"
#include "data/images/augment.h"
#include "data/images/preprocess.h"
#include "data/images/resize.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

constexpr std::int64_t kSide = 24;

class ImagenetRecords : public testing::Test {
protected:
    std::string shard(const std::vector<std::string>& payloads) {
        std::string path = folder_ / "train-00000-of-00001";
        write_records(path, payloads);
        return path;
    }
    static std::vector<float> read(const Dataset& data, std::int64_t index, SamplePosition position = {},
                                   std::int32_t* label = nullptr) {
        const ReadSample sample = read_sample(data, index, position);
        EXPECT_EQ(sample.state == SampleState::undecodable, sample.label == kLeftOut);
        if (label != nullptr) *label = sample.label;
        return floats_of(sample.image);
    }
    static std::vector<std::string> names_of(const Dataset& data) {
        std::vector<std::string> names;
        for (std::int64_t i = 0; i < data.size(); ++i)
            names.push_back(data.place(i).file);
        return names;
    }
    std::string error_of(const std::string& payload) {
        const Imagenet data({shard({make_example(encode_jpeg(make_photo(30, 30)), 5), payload})},
                            {.images = {.image_size = kSide}});
        return message_of(ErrorKind::data, [&] { read(data, 1); });
    }
    test::TemporaryFolder folder_;
};

/// Bilinear, straight from the definition, of a part of an image that is resized to `full`.
std::vector<float> reference_resize(const TestImage& image, ImageSize full, const Rectangle& window) {
    std::vector<float> out;
    for (std::int64_t y = window.top; y < window.top + window.height; ++y) {
        for (std::int64_t x = window.left; x < window.left + window.width; ++x) {
            const float sy =
                static_cast<float>(y) * (static_cast<float>(image.height) / static_cast<float>(full.height));
            const float sx = static_cast<float>(x) * (static_cast<float>(image.width) / static_cast<float>(full.width));
            const auto y0 = static_cast<std::int64_t>(sy);
            const auto x0 = static_cast<std::int64_t>(sx);
            const std::int64_t y1 = std::min(y0 + 1, image.height - 1);
            const std::int64_t x1 = std::min(x0 + 1, image.width - 1);
            const float fy = sy - static_cast<float>(y0);
            const float fx = sx - static_cast<float>(x0);
            for (std::int64_t c = 0; c < 3; ++c) {
                const auto at = [&](std::int64_t row, std::int64_t column) {
                    return static_cast<float>(image.at(row, column, c));
                };
                const float top = at(y0, x0) + (at(y0, x1) - at(y0, x0)) * fx;
                const float bottom = at(y1, x0) + (at(y1, x1) - at(y1, x0)) * fx;
                out.push_back(top + (bottom - top) * fy);
            }
        }
    }
    return out;
}

TEST_F(ImagenetRecords, EvaluationIsAspectResizeAndCentreCrop) {
    const std::string jpeg = encode_jpeg(make_photo(60, 97));
    const Imagenet data({shard({make_example(jpeg, 1000)})}, {.images = {.image_size = kSide}});
    std::int32_t label = 0;
    const std::vector<float> got = read(data, 0, {}, &label);
    EXPECT_EQ(label, 999);
    // M = floor(24 * 256 / 224) = 27; ratio 0.45 in float32: 60 -> 27 (or 26), 97 -> 43.
    const ImageSize full = aspect_preserving_size({60, 97}, 27, kSide);
    EXPECT_EQ(full.width, 43);
    const Rectangle centre{(full.height - 24) / 2, (43 - 24) / 2, 24, 24};
    EXPECT_EQ(got, reference_resize(decode_whole(jpeg, {DctMethod::accurate}), full, centre));
}

TEST_F(ImagenetRecords, TrainingIsCropFlipResizeOfTheFastDecode) {
    const std::string jpeg = encode_jpeg(make_photo(46, 41));
    const Imagenet data({shard({make_example(jpeg, 3)})},
                        {.images = {.image_size = kSide, .augment = true, .seed = 4}});
    const TestImage whole = decode_whole(jpeg, {DctMethod::fast});
    int flips = 0;
    for (std::uint64_t i = 0; i < 40; ++i) {
        Rng rng(4, RngStream::crop, 6, i);
        const Rectangle crop = sample_crop({46, 41}, {}, rng);
        TestImage part{crop.height, crop.width, 3, {}};
        TestImage mirrored = part;
        for (std::int64_t y = 0; y < crop.height; ++y) {
            for (std::int64_t x = 0; x < crop.width; ++x) {
                for (std::int64_t c = 0; c < 3; ++c) {
                    part.pixels.push_back(whole.at(crop.top + y, crop.left + x, c));
                    mirrored.pixels.push_back(whole.at(crop.top + y, crop.left + crop.width - 1 - x, c));
                }
            }
        }
        const std::vector<float> got = read(data, 0, {6, i});
        const bool flip = got == reference_resize(mirrored, {24, 24}, {0, 0, 24, 24});
        EXPECT_TRUE(flip || got == reference_resize(part, {24, 24}, {0, 0, 24, 24})) << i;
        flips += flip ? 1 : 0;
    }
    EXPECT_NEAR(flips, 20, 12);
}

TEST_F(ImagenetRecords, NormalisedOnTheHostOrRaw) {
    const std::string path = shard({make_example(encode_jpeg(make_plain(30, 30, {100, 100, 100})), 1)});
    const Imagenet raw({path}, {.images = {.image_size = kSide}});
    EXPECT_THAT(read(raw, 0), testing::Each(testing::FloatNear(100, 1)));
    const Imagenet normalised({path},
                              {.images = {.image_size = kSide, .format = {DType::f32, imagenet_normalisation(false)}}});
    EXPECT_NEAR(read(normalised, 0)[0], 100 - 123.68f, 1);
    EXPECT_NEAR(read(normalised, 0)[2], 100 - 103.94f, 1);
}

TEST_F(ImagenetRecords, BadRecordsNameFileRecordAndReason) {
    const std::string jpeg = encode_jpeg(make_photo(30, 30));
    const std::string where = folder_ / "train-00000-of-00001, record 1 (at byte ";
    EXPECT_THAT(error_of(make_example(jpeg, 0)), AllOf(HasSubstr(where), HasSubstr("1..1000")));
    EXPECT_THAT(error_of(make_example(jpeg, 1001)), AllOf(HasSubstr(where), HasSubstr("1001")));
    EXPECT_THAT(error_of(make_example("", 7)), HasSubstr(where));
    EXPECT_THAT(error_of(make_example("no jpeg at all", 7)), AllOf(HasSubstr(where), HasSubstr("JPEG")));
    EXPECT_THAT(error_of(make_example(jpeg.substr(0, 400), 7)), AllOf(HasSubstr(where), HasSubstr("damaged")));
    EXPECT_THAT(error_of("\xff\xff\xff not an example"), AllOf(HasSubstr(where), HasSubstr("tf.Example")));
    EXPECT_THAT(error_of(""), AllOf(HasSubstr(where), HasSubstr("-1")));
}

TEST_F(ImagenetRecords, LargeCropsAreShrunkInTheDct) {
    const std::string jpeg = encode_jpeg(make_photo(200, 230), {.quality = 95});
    const Imagenet data({shard({make_example(jpeg, 3)})},
                        {.images = {.image_size = kSide, .augment = true, .seed = 4}});
    JpegDecoder decoder;
    std::vector<std::uint8_t> pixels;
    ResizeScratch scratch;
    int shrunken = 0;
    for (std::uint64_t i = 0; i < 30; ++i) {
        Rng crops(4, RngStream::crop, 0, i);
        Rng flips(4, RngStream::flip, 0, i);
        const Rectangle crop = sample_crop({200, 230}, {}, crops);
        const int shrink = largest_shrink({crop.height, crop.width}, kSide);
        shrunken += shrink > 1 ? 1 : 0;
        decoder.open(std::as_bytes(std::span(jpeg)));
        const PixelView view = decoder.decode(crop, {DctMethod::fast, shrink}, pixels);
        std::vector<float> expected(kSide * kSide * 3);
        resize(view, {{kSide, kSide}, {0, 0, kSide, kSide}, flips.uniform() < 0.5}, {},
               std::as_writable_bytes(std::span(expected)), scratch);
        EXPECT_EQ(read(data, 0, {0, i}), expected);
    }
    EXPECT_GT(shrunken, 10);
}

TEST(LargestShrink, KeepsEnoughPixels) {
    EXPECT_EQ(largest_shrink({447, 900}, 224), 1);
    EXPECT_EQ(largest_shrink({448, 448}, 224), 2);
    EXPECT_EQ(largest_shrink({1791, 2000}, 224), 4);
    EXPECT_EQ(largest_shrink({1792, 5000}, 224), 8);
    EXPECT_EQ(largest_shrink({10, 10}, 224), 1);
}

TEST_F(ImagenetRecords, UndecodableImagesAreReplacedInTraining) {
    const std::string good = encode_jpeg(make_photo(30, 30));
    const std::string path =
        shard({make_example(good, 1), make_example("broken", 2), make_example(good.substr(0, 400), 3),
               make_example(encode_jpeg(make_photo(31, 29, 7)), 4)});
    const Imagenet data({path},
                        {.images = {.image_size = kSide, .augment = true, .on_bad_image = OnBadImage::replace}});
    std::int32_t label = 0;
    const std::vector<float> replaced = read(data, 1, {5, 77}, &label);
    EXPECT_EQ(label, 3);
    EXPECT_EQ(replaced, read(data, 3, {5, 77}));  // with the position's own crop and flip
    EXPECT_EQ(data.state().damaged, 2);
    read(data, 2, {}, &label);
    EXPECT_EQ(label, 3);
    EXPECT_EQ(data.state().damaged, 2) << "the one that was met before";
    read(data, 0, {}, &label);
    EXPECT_EQ(label, 0);

    const Imagenet hopeless({shard(std::vector(40, make_example("broken", 2)))},
                            {.images = {.image_size = kSide, .on_bad_image = OnBadImage::replace}});
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read(hopeless, 0); }), HasSubstr("16 records"));
}

TEST_F(ImagenetRecords, UndecodableImagesAreLeftOutOfValidation) {
    const std::string path = shard({make_example("broken", 2), make_example(encode_jpeg(make_photo(30, 30)), 4)});
    const Imagenet data({path}, {.images = {.image_size = kSide, .on_bad_image = OnBadImage::leave_out}});
    std::int32_t label = 0;
    EXPECT_THAT(read(data, 0, {}, &label), testing::Each(0.0f));
    EXPECT_EQ(label, kLeftOut);
    read(data, 1, {}, &label);
    EXPECT_EQ(label, 3);
    EXPECT_EQ(data.state().damaged, 1);
}

TEST_F(ImagenetRecords, DamagedRecordsAreErrorsWhateverIsDoneWithImages) {
    const std::string path = shard({make_example(encode_jpeg(make_photo(30, 30)), 4), make_example("broken", 2000)});
    std::string bytes = read_file(path);
    bytes[60] = static_cast<char>(bytes[60] ^ 1);
    write_file(path, bytes);
    for (const OnBadImage policy : {OnBadImage::replace, OnBadImage::leave_out}) {
        const Imagenet data({path}, {.images = {.image_size = kSide, .on_bad_image = policy}});
        EXPECT_THAT(message_of(ErrorKind::data, [&] { read(data, 0); }), HasSubstr("checksum"));
        EXPECT_THAT(message_of(ErrorKind::data, [&] { read(data, 1); }), HasSubstr("2000"));
    }
}

TEST_F(ImagenetRecords, AnEmptyShardInTheMiddleIsAnError) {
    const std::string record = make_example(encode_jpeg(make_photo(20, 20)), 1);
    const std::string first = shard({record, record});
    const std::string empty = folder_ / "train-00001-of-00003";
    write_file(empty, "");
    EXPECT_THAT(message_of(ErrorKind::data,
                           [&] {
                               Imagenet({first, empty}, {.images = {.image_size = kSide}});
                           }),
                HasSubstr(empty));
}

TEST_F(ImagenetRecords, PercentageTakesTheFirstRecords) {
    std::vector<std::string> payloads;
    for (int i = 0; i < 15; ++i)
        payloads.push_back(make_example("x", i + 1));
    const std::string path = shard(payloads);
    EXPECT_EQ(Imagenet({path}, {.percentage_to_use = 50}).size(), 7);
    EXPECT_EQ(Imagenet({path}, {.percentage_to_use = 100}).size(), 15);
    EXPECT_THROW(Imagenet({path}, {.percentage_to_use = 1}), Error);
    EXPECT_EQ(message_of(ErrorKind::usage, [&] { Imagenet({path}, {.percentage_to_use = 0}); }).empty(), false);
}

TEST_F(ImagenetRecords, FolderOfImagesGoesThroughTheSamePreprocessing) {
    const std::string jpeg = encode_jpeg(make_photo(50, 40));
    write_file(folder_ / "b.JPEG", jpeg);
    posix_files().make_directories(folder_ / "more");
    write_file(folder_ / "more/a.jpg", encode_jpeg(make_photo(33, 70, 2)));
    write_file(folder_ / "notes.txt", "not an image");
    write_file(folder_ / "more/._a.jpg", "what some systems leave beside an image");
    std::filesystem::create_symlink("nowhere", folder_ / "link.jpg");
    const auto [folder, left_out] = open_image_folder({folder_.path()}, {.image_size = kSide}, {});
    const Dataset& images = *folder;
    EXPECT_EQ(names_of(images), (std::vector<std::string>{"b.JPEG", "more/a.jpg"}));
    EXPECT_EQ(left_out, "1 .jpg, 1 .txt");
    std::int32_t label = 0;
    const std::vector<float> got = read(images, 0, {}, &label);
    EXPECT_EQ(label, kNoLabel);
    EXPECT_EQ(got, read(Imagenet({shard({make_example(jpeg, 1)})}, {.images = {.image_size = kSide}}), 0));

    write_file(folder_ / "more/a.jpg", "oops");
    EXPECT_THAT(read(images, 1, {}, &label), testing::Each(0.0f));
    EXPECT_EQ(label, kLeftOut);
    EXPECT_EQ(images.state().damaged, 1);
    const auto strict = open_image_folder({folder_.path()}, {.image_size = kSide, .strict = true}, {}).images;
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read(*strict, 1); }), AllOf(HasSubstr("a.jpg"), HasSubstr("JPEG")));
    EXPECT_THAT(
        message_of(ErrorKind::data, [&] { open_image_folder({folder_ / "nowhere"}, {.image_size = kSide}, {}); }),
        HasSubstr(folder_ / "nowhere"));
    posix_files().make_directories(folder_ / "empty");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { open_image_folder({folder_ / "empty"}, {.image_size = kSide}, {}); }),
                HasSubstr("image"));
}

TEST_F(ImagenetRecords, PhotosHaveTheClassesOfTheirFoldersOrRows) {
    for (const char* name : {"p/ant/1.jpg", "p/bee/deep/1.jpg", "p/wasp/1.jpg", "p/1.jpg", "q/1.jpg"}) {
        posix_files().make_directories(std::filesystem::path(folder_ / name).parent_path().string());
        write_file(folder_ / name, encode_jpeg(make_photo(20, 20)));
    }
    write_file(folder_ / "rows.csv", "file,class\np/1.jpg,bee\nq/1.jpg,wasp\n");
    const DataSettings settings{.image_size = kSide, .known_classes = {"ant", "bee"}};
    const auto found = [&](std::vector<std::string> places) {
        for (std::string& place : places)
            place = folder_ / place;
        const auto folder = open_image_folder(places, settings, {}).images;
        const Dataset& photos = *folder;
        std::vector<std::pair<std::string, std::int32_t>> result;
        for (std::int64_t i = 0; i < photos.size(); ++i) {
            std::int32_t label = 0;
            read(photos, i, {}, &label);
            result.emplace_back(photos.place(i).file, label);
        }
        return result;
    };
    EXPECT_THAT(found({"p"}), ElementsAre(Pair("1.jpg", kNoLabel), Pair("ant/1.jpg", 0), Pair("bee/deep/1.jpg", 1),
                                          Pair("wasp/1.jpg", kNoLabel)));
    EXPECT_THAT(found({"p/*/*.jpg"}), ElementsAre(Pair("ant/1.jpg", 0), Pair("wasp/1.jpg", kNoLabel)));
    EXPECT_THAT(found({"q", "p/ant/1.jpg", "p/ant"}), ElementsAre(Pair("p/ant/1.jpg", 0), Pair("q/1.jpg", kNoLabel)));
    EXPECT_THAT(found({"rows.csv"}), ElementsAre(Pair("p/1.jpg", 1), Pair("q/1.jpg", kNoLabel)));
}

TEST_F(ImagenetRecords, AListBesideThemNamesTheClasses) {
    write_records(folder_ / "train-00000-of-00001", {make_example(encode_jpeg(make_photo(20, 20)), 3)});
    InputSettings settings;
    settings.dataset = DatasetId::imagenet;
    settings.image_size = kSide;
    settings.data_dir = settings.folder = folder_.path();
    EXPECT_EQ(class_count(settings), 1000);
    settings.classes = 5;
    EXPECT_EQ(class_count(settings), 5);
    settings.classes.reset();

    write_file(folder_ / "labels.txt", "ant\r\nbee colony\nwasp\n");
    EXPECT_EQ(class_names(settings), (std::vector<std::string>{"ant", "bee colony", "wasp"}));
    EXPECT_EQ(class_count(settings), 3);
    EXPECT_EQ(InputData(settings, Split::train).stream({.micro_batch = 1})->next().valid_count, 1);
    settings.classes = 4;
    EXPECT_THAT(message_of(ErrorKind::usage, [&] { class_count(settings); }), HasSubstr("has 3 classes"));
    settings.classes.reset();

    write_file(folder_ / "labels.txt", "ant\nbee\n");
    EXPECT_THAT(
        message_of(ErrorKind::data, [&] { InputData(settings, Split::train).stream({.micro_batch = 1})->next(); }),
        HasSubstr("image/class/label"));
    write_file(folder_ / "labels.txt", "ant\n\nbee\n");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { class_count(settings); }), HasSubstr("labels.txt:2"));
    write_file(folder_ / "labels.txt", "ant\nbee\nBl\xfcte\n");
    EXPECT_THAT(message_of(ErrorKind::data, [&] { class_count(settings); }), HasSubstr("labels.txt:3"));
    write_file(folder_ / "labels.txt", "crane\nbee\ncrane\n");  // as ImageNet's
    EXPECT_EQ(class_count(settings), 3);
}

TEST_F(ImagenetRecords, ClassesAreCountedOnAnyNumberOfThreads) {
    const std::string jpeg = encode_jpeg(make_photo(8, 8));
    std::vector<std::string> examples;
    for (int i = 0; i < 1100; ++i)
        examples.push_back(make_example(jpeg, i % 11 == 0 ? 1 : 2 + i % 2));
    write_records(folder_ / "train-00000-of-00001", examples);
    write_file(folder_ / "labels.txt", "ant\nbee\nwasp\nfly\n");
    InputSettings settings;
    settings.dataset = DatasetId::imagenet;
    settings.image_size = kSide;
    settings.data_dir = settings.folder = folder_.path();
    for (const int threads : {1, 2, 8}) {
        settings.threads = threads;
        EXPECT_EQ(InputData(settings, Split::train).class_sizes(4), (std::vector<std::int64_t>{100, 500, 500, 0}));
    }
}

TEST_F(ImagenetRecords, PngFilesAreImagesLikeOthers) {
    const std::string jpeg = encode_jpeg(make_photo(45, 61, 3));
    const std::string lossless = encode_png(decode_whole(jpeg, {DctMethod::accurate}));
    write_file(folder_ / "photo.PNG", lossless);
    write_file(folder_ / "photo.jpg", jpeg);
    const auto images = open_image_folder({folder_.path()}, {.image_size = kSide}, {}).images;
    EXPECT_EQ(names_of(*images), (std::vector<std::string>{"photo.PNG", "photo.jpg"}));
    EXPECT_EQ(read(*images, 0), read(*images, 1));

    const auto crop = [&](const std::string& file, std::uint32_t epoch) {
        return read(Imagenet({shard({make_example(file, 1)})}, {.images = {.image_size = kSide, .augment = true}}), 0,
                    {.epoch = epoch, .index = 0});
    };
    const std::string as_trained = encode_png(decode_whole(jpeg, {DctMethod::fast}));
    for (const std::uint32_t epoch : {0U, 1U, 2U, 3U})
        EXPECT_EQ(crop(as_trained, epoch), crop(jpeg, epoch)) << epoch;

    write_file(folder_ / "cut.png", lossless.substr(0, lossless.size() / 2));
    const auto cut = open_image_folder({folder_ / "cut.png"}, {.image_size = kSide, .strict = true}, {}).images;
    EXPECT_THAT(message_of(ErrorKind::data, [&] { read(*cut, 0); }), AllOf(HasSubstr("cut.png"), HasSubstr("PNG")));
}

TEST_F(ImagenetRecords, OneFileIsAFolderOfOne) {
    write_file(folder_ / "photo of mine", encode_jpeg(make_photo(50, 40)));
    write_file(folder_ / "other.jpg", encode_jpeg(make_photo(50, 40, 2)));
    const auto [folder, left_out] = open_image_folder({folder_ / "photo of mine"}, {.image_size = kSide}, {});
    const Dataset& one = *folder;
    EXPECT_EQ(names_of(one), (std::vector<std::string>{"photo of mine"}));
    EXPECT_EQ(left_out, "");
    std::int32_t label = 0;
    EXPECT_THAT(read(one, 0, {}, &label), testing::Contains(testing::Ne(0.0f)));
    EXPECT_EQ(label, kNoLabel);
}

}  // namespace
}  // namespace cnntrain::data
