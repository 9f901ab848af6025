// Random changes of training images, resize modes, and mirrored views, beyond what tests/golden/preparation_test.cpp
// compares with torchvision.
#include "data/images/augment.h"

#include <set>

#include "cnntrain/data/batch.h"
#include "cnntrain/data/loader.h"
#include "data/images/preprocess.h"
#include "data/sets/cifar.h"
#include "fixtures.h"
#include "support/temporary_folder.h"

namespace cnntrain::data {
namespace {

using Levels = std::vector<std::uint8_t>;

Levels levels_of(ImageSize size) {
    return make_photo(size.height, size.width).pixels;
}

Levels changed(const AugmentationSettings& settings, ImageSize size, SamplePosition position, std::uint64_t seed = 7) {
    Levels levels = levels_of(size);
    Levels scratch;
    Augmenter(settings).change_levels({levels.data(), size, scratch}, seed, position);
    return levels;
}

TEST(Augment, DependsOnSeedEpochAndSampleOnly) {
    constexpr ImageSize kSize{24, 31};
    for (const AugmentationSettings& settings :
         {AugmentationSettings{.rand_augment = {2, 9}}, {.colour_jitter = {0.4, 0.4, 0.4, 0.1}}}) {
        const Levels once = changed(settings, kSize, {1, 5});
        EXPECT_EQ(changed(settings, kSize, {1, 5}), once);
        std::set<Levels> others = {once};
        for (std::uint64_t index = 0; index < 20; ++index)
            others.insert(changed(settings, kSize, {2, index}));
        EXPECT_GT(others.size(), 10U);
        EXPECT_FALSE(changed(settings, kSize, {1, 5}, 8) == once && changed(settings, kSize, {1, 5}, 9) == once);
    }
}

TEST(Augment, NoOperationLeavesSmallImages) {
    for (const ImageSize size : {ImageSize{1, 1}, {2, 2}, {3, 40}, {40, 3}}) {
        for (std::uint64_t index = 0; index < 300; ++index)
            EXPECT_EQ(changed({.rand_augment = {1, 30}}, size, {0, index}).size(), levels_of(size).size());
    }
}

TEST(Augment, IsOffByDefault) {
    const Augmenter none;
    EXPECT_FALSE(none.changes_levels());
    EXPECT_FALSE(none.erased({32, 32}, 1, {}).has_value());
    EXPECT_FALSE(Augmenter({.rand_augment = {0, 9}, .colour_jitter = {0, 0, 0, 0}}).changes_levels());
}

TEST(Augment, ErasedRectanglesLieInsideAndHaveTheWantedShare) {
    const Augmenter half({.random_erasing = 0.5});
    constexpr ImageSize kSize{64, 48};
    int count = 0;
    for (std::uint64_t index = 0; index < 1000; ++index) {
        const auto rectangle = half.erased(kSize, 3, {0, index});
        if (!rectangle) continue;
        ++count;
        EXPECT_GE(rectangle->top, 0);
        EXPECT_GE(rectangle->left, 0);
        EXPECT_LE(rectangle->top + rectangle->height, kSize.height);
        EXPECT_LE(rectangle->left + rectangle->width, kSize.width);
        const double share = static_cast<double>(rectangle->height * rectangle->width) / (64 * 48);
        EXPECT_GT(share, 0.01);
        EXPECT_LT(share, 0.36);
    }
    EXPECT_NEAR(count, 500, 80);  // five deviations
}

TEST(Augment, CropAreasAreKept) {
    const Augmenter augmenter({.crop_area = {0.3, 0.4}});
    for (std::uint64_t index = 0; index < 500; ++index) {
        Rng rng(1, RngStream::crop, 0, index);
        const Rectangle crop = augmenter.crop({300, 400}, {}, rng);
        const double share = static_cast<double>(crop.height * crop.width) / (300 * 400);
        EXPECT_NEAR(share, 0.35, 0.06);
    }
    Rng rng(1, RngStream::crop, 0, 0);  // no rectangle of that area has a legal ratio
    EXPECT_EQ(Augmenter({.crop_area = {1, 1}}).crop({100, 1000}, {}, rng), (Rectangle{0, 433, 100, 133}));
}

TEST(Preprocess, WholePhotosAreSquashedOrPadded) {
    const PhotoTarget squash{.image_size = 16, .preparation = {.resize_mode = ResizeMode::squash}};
    EXPECT_EQ(evaluation_view({100, 50}, squash).full, (ImageSize{16, 16}));
    EXPECT_EQ(evaluation_view({100, 50}, squash).window, (Rectangle{0, 0, 16, 16}));
    const PhotoTarget pad{.image_size = 16, .preparation = {.resize_mode = ResizeMode::pad}};
    const EvaluationView wide = evaluation_view({50, 150}, pad);
    EXPECT_EQ(wide.full, (ImageSize{5, 16}));
    EXPECT_EQ(wide.top, 5);
    EXPECT_EQ(wide.left, 0);
    EXPECT_EQ(evaluation_view({1, 1000}, pad).full, (ImageSize{1, 16}));
}

TEST(Preprocess, PaddingIsTheMeanPixel) {
    const std::string jpeg = encode_jpeg(make_photo(10, 40));
    const PhotoTarget target{
        .image_size = 20, .preparation = {.resize_mode = ResizeMode::pad}, .mean_pixel = {123.675f, 116.28f, 103.53f}};
    Workspace workspace;
    const ImageFile file(std::as_bytes(std::span(jpeg)), Exif::ignored, workspace);
    std::vector<float> image(20 * 20 * 3);
    preprocess_for_evaluation(file, target, std::as_writable_bytes(std::span(image)), workspace);
    for (const std::size_t pixel : {std::size_t{0}, std::size_t{7 * 20 - 1}, std::size_t{13 * 20}}) {
        EXPECT_EQ(image[3 * pixel], pixel / 20 < 7 || pixel / 20 >= 12 ? 124 : image[3 * pixel]);
        EXPECT_EQ(image[3 * pixel + 2], 104);
    }
}

TEST(StoreLevels, EqualsStorePixels) {
    const Levels levels = levels_of({5, 7});
    const std::vector<float> values(levels.begin(), levels.end());
    for (const auto& normalise : {std::optional<nn::Normalisation>(), {imagenet_normalisation(true)}}) {
        for (const DType type : {DType::f32, DType::bf16, DType::f16}) {
            const PixelFormat format{type, normalise};
            std::vector<std::byte> got(levels.size() * size_bytes(type));
            std::vector<std::byte> wanted(got.size());
            store_levels(levels, format, got);
            store_pixels(values, format, wanted);
            EXPECT_EQ(got, wanted);
        }
    }
}

TEST(FillRectangle, ErasesToZeroAfterNormalisation) {
    const PixelFormat format{DType::f32, imagenet_normalisation(true)};
    std::vector<float> image(4 * 5 * 3, 9);
    fill_rectangle({1, 2, 2, 3}, 5, mean_pixel({.normalise_input = true}), format,
                   std::as_writable_bytes(std::span(image)));
    for (std::size_t i = 0; i < image.size(); ++i) {
        const std::size_t y = i / 15, x = i / 3 % 5;
        EXPECT_NEAR(image[i], y >= 1 && y < 3 && x >= 2 ? 0 : 9, 1e-6);
    }
}

/// Padding rounds the level, and 127.499 would be another one.
TEST(MeanPixel, OfOneHalfIsAHalf) {
    DataSettings settings;
    settings.preparation.normalise_mean = {0.5, 0.5, 0.5};
    settings.preparation.normalise_std = {0.5, 0.5, 0.5};
    EXPECT_EQ(mean_pixel(settings), (std::array<float, 3>{127.5F, 127.5F, 127.5F}));
}

TEST(Mirroring, EachImageIsFollowedByItsMirrorImage) {
    const std::vector<Field> fields = {{std::string(kImages), {DType::u8, {2, 1, 3, 3}}},
                                       {std::string(kLabels), {DType::i32, {2}}}};
    const auto transform = mirroring_transform();
    const std::vector<MadeField> made = transform->makes(fields);
    ASSERT_EQ(made.size(), 1U);
    EXPECT_EQ(made[0].replaces, 0U);
    EXPECT_EQ(made[0].field.desc.shape, (Shape{4, 1, 3, 3}));
    const Levels images = {1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 15, 16, 17, 18, 19};
    Levels both(36);
    const std::array<std::span<const std::byte>, 2> from = {std::as_bytes(std::span(images)), {}};
    const std::array<std::span<std::byte>, 1> to = {std::as_writable_bytes(std::span(both))};
    transform->make(0, fields, from, to);
    EXPECT_EQ(both, (Levels{1,  2,  3,  4,  5,  6,  7,  8,  9,  7,  8,  9,  4,  5,  6,  1,  2,  3,
                            11, 12, 13, 14, 15, 16, 17, 18, 19, 17, 18, 19, 14, 15, 16, 11, 12, 13}));
}

TEST(CifarAugment, ChangesTrainingImagesOnly) {
    const test::TemporaryFolder folder;
    const std::string path = folder / "data_batch_1.bin";
    write_file(path, cifar10_records(3, 2));
    const auto image = [&](bool augment, const AugmentationSettings& augmentation) {
        const Cifar data(DatasetId::cifar10, {path}, {augment, DType::f32, 1, augmentation});
        return read_sample(data, 0, {0, 3}).image;
    };
    const AugmentationSettings changes{.rand_augment = {3, 30}, .random_erasing = 1};
    EXPECT_EQ(image(false, changes), image(false, {}));
    EXPECT_NE(image(true, changes), image(true, {}));
    EXPECT_NE(image(true, {.random_erasing = 1}), image(true, {}));
    EXPECT_EQ(image(true, changes), image(true, changes));
}

}  // namespace
}  // namespace cnntrain::data
