#include "cnntrain/base/tensor.h"
#include "data/images/preprocess.h"

#include <cmath>

#include "cnntrain/data/settings.h"
#include "data/images/resize.h"
#include "fixtures.h"

namespace cnntrain::data {
namespace {

std::vector<float> resized(const TestImage& image, const Resize& how) {
    std::vector<std::uint8_t> pixels = image.pixels;
    pixels.resize(pixels.size() + kReadableBehindView);
    std::vector<float> out(static_cast<std::size_t>(how.window.height * how.window.width * 3));
    ResizeScratch scratch;
    resize(whole_view(pixels.data(), {image.height, image.width}), how, {}, std::as_writable_bytes(std::span(out)),
           scratch);
    return out;
}

Resize to(std::int64_t height, std::int64_t width, bool flip = false) {
    return {{height, width}, {0, 0, height, width}, flip};
}

/// One row, one value per pixel (all channels equal).
TestImage row_of(const std::vector<std::uint8_t>& values) {
    TestImage image{1, static_cast<std::int64_t>(values.size()), 3, {}};
    for (const std::uint8_t value : values)
        image.pixels.insert(image.pixels.end(), 3, value);
    return image;
}

std::vector<float> first_channel(const std::vector<float>& values) {
    std::vector<float> out;
    for (std::size_t i = 0; i < values.size(); i += 3)
        out.push_back(values[i]);
    return out;
}

TEST(Resize, LegacyCoordinatesByHand) {
    // Destination x reads source x * 2 / 4 = 0, 0.5, 1, 1.5 (clamped at the edge).
    EXPECT_EQ(first_channel(resized(row_of({10, 30}), to(1, 4))), (std::vector<float>{10, 20, 30, 30}));
    // Shrinking picks 0, 2 without averaging: no half-pixel offset and no antialiasing.
    EXPECT_EQ(first_channel(resized(row_of({10, 99, 30, 98}), to(1, 2))), (std::vector<float>{10, 30}));
    // 3 -> 2: 0 and 1.5.
    EXPECT_EQ(first_channel(resized(row_of({10, 20, 60}), to(1, 2))), (std::vector<float>{10, 40}));
}

TEST(Resize, MatchesTheFormulaAtEverySize) {
    const TestImage image = make_photo(13, 17);
    for (const auto& [height, width] : {std::pair{5, 7}, {13, 17}, {26, 40}, {31, 4}}) {
        const std::vector<float> got = resized(image, to(height, width));
        for (std::int64_t y = 0; y < height; ++y) {
            for (std::int64_t x = 0; x < width; ++x) {
                const float sy = static_cast<float>(y) * (13.0f / static_cast<float>(height));
                const float sx = static_cast<float>(x) * (17.0f / static_cast<float>(width));
                const auto y0 = static_cast<std::int64_t>(sy);
                const auto x0 = static_cast<std::int64_t>(sx);
                const std::int64_t y1 = std::min<std::int64_t>(y0 + 1, 12);
                const std::int64_t x1 = std::min<std::int64_t>(x0 + 1, 16);
                const double fy = sy - static_cast<float>(y0);
                const double fx = sx - static_cast<float>(x0);
                for (std::int64_t c = 0; c < 3; ++c) {
                    const double top = image.at(y0, x0, c) * (1 - fx) + image.at(y0, x1, c) * fx;
                    const double bottom = image.at(y1, x0, c) * (1 - fx) + image.at(y1, x1, c) * fx;
                    ASSERT_NEAR(got[static_cast<std::size_t>((y * width + x) * 3 + c)], top * (1 - fy) + bottom * fy,
                                1e-3)
                        << height << " " << width << " " << y << " " << x;
                }
            }
        }
    }
}

TEST(Resize, SameSizeChangesNothing) {
    const TestImage image = make_photo(9, 11);
    const std::vector<float> got = resized(image, to(9, 11));
    EXPECT_TRUE(std::equal(got.begin(), got.end(), image.pixels.begin(), image.pixels.end()));
}

TEST(Resize, FlipIsFlippingTheSourceFirst) {
    const TestImage image = make_photo(10, 23);
    TestImage mirrored = image;
    for (std::int64_t y = 0; y < 10; ++y) {
        for (std::int64_t x = 0; x < 23; ++x) {
            for (std::int64_t c = 0; c < 3; ++c)
                mirrored.pixels[static_cast<std::size_t>((y * 23 + x) * 3 + c)] = image.at(y, 22 - x, c);
        }
    }
    EXPECT_EQ(resized(image, to(8, 9, true)), resized(mirrored, to(8, 9)));
    EXPECT_NE(resized(image, to(8, 9, true)), resized(image, to(8, 9)));
}

TEST(Resize, WindowIsThatPartOfTheWholeResult) {
    const TestImage image = make_photo(20, 30);
    const std::vector<float> whole = resized(image, to(40, 50));
    const std::vector<float> part = resized(image, {{40, 50}, {6, 11, 7, 8}, false});
    for (std::size_t y = 0; y < 7; ++y) {
        for (std::size_t i = 0; i < 8 * 3; ++i) {
            ASSERT_EQ(part[y * 24 + i], whole[((y + 6) * 50 + 11) * 3 + i]);
        }
    }
}

TEST(Resize, EveryFormatIsTheFloatResultStored) {
    const TestImage image = make_photo(40, 50);
    std::vector<std::uint8_t> pixels = image.pixels;
    pixels.resize(pixels.size() + kReadableBehindView);
    const PixelView view = whole_view(pixels.data(), {40, 50});
    ResizeScratch scratch;
    for (const std::int64_t width : {1, 2, 5, 16, 37}) {  // narrower and wider than a vector, whole vectors and not
        const std::vector<float> values = resized(image, to(9, width));
        for (const DType dtype : {DType::f32, DType::bf16, DType::f16, DType::u8}) {
            for (const auto& normalise : {std::optional<nn::Normalisation>(), {imagenet_normalisation(true)}}) {
                const PixelFormat format{dtype, normalise};
                std::vector<std::byte> expected(values.size() * size_bytes(dtype));
                std::vector<std::byte> got(expected.size());
                store_pixels(values, format, expected);
                resize(view, to(9, width), format, got, scratch);
                EXPECT_EQ(got, expected) << width << " " << static_cast<int>(dtype) << normalise.has_value();
            }
        }
    }
}

/// A view of the image shrunk by averaging, as the decoder makes it, of a part and one pixel around it.
struct ShrunkenView {
    std::vector<std::uint8_t> pixels;
    PixelView view;
};

ShrunkenView shrink_part(const TestImage& image, int shrink, const Rectangle& part) {
    ShrunkenView result;
    const std::int64_t top = std::max<std::int64_t>(part.top / shrink - 1, 0);
    const std::int64_t left = std::max<std::int64_t>(part.left / shrink - 1, 0);
    const std::int64_t bottom = std::min((part.top + part.height + shrink - 1) / shrink + 1, image.height / shrink);
    const std::int64_t right = std::min((part.left + part.width + shrink - 1) / shrink + 1, image.width / shrink);
    for (std::int64_t y = top; y < bottom; ++y) {
        for (std::int64_t x = left; x < right; ++x) {
            for (std::int64_t c = 0; c < 3; ++c) {
                int sum = 0;
                for (int i = 0; i < shrink * shrink; ++i)
                    sum += image.at(y * shrink + i / shrink, x * shrink + i % shrink, c);
                result.pixels.push_back(static_cast<std::uint8_t>(sum / (shrink * shrink)));
            }
        }
    }
    result.pixels.resize(result.pixels.size() + kReadableBehindView);
    result.view = {result.pixels.data(), (right - left) * 3, {bottom - top, right - left}, shrink, part, top, left};
    return result;
}

TEST(Resize, ShrunkenViewsShowTheSamePlaceOfThePhotograph) {
    // The average of a block of a slope is the value at its centre, so that shrinking first must change nothing.
    TestImage slope{128, 192, 3, {}};
    for (std::int64_t y = 0; y < slope.height; ++y) {
        for (std::int64_t x = 0; x < slope.width; ++x)
            slope.pixels.insert(slope.pixels.end(), 3, static_cast<std::uint8_t>((x + y) * 3 / 4));
    }
    const Rectangle part{17, 33, 90, 131};
    TestImage cut{part.height, part.width, 3, {}};
    for (std::int64_t y = 0; y < part.height; ++y) {
        const auto row = slope.pixels.begin() + ((y + part.top) * slope.width + part.left) * 3;
        cut.pixels.insert(cut.pixels.end(), row, row + part.width * 3);
    }
    for (const int shrink : {2, 4, 8}) {
        const ShrunkenView shrunken = shrink_part(slope, shrink, part);
        for (const bool flip : {false, true}) {
            const Resize how = to(11, 16, flip);
            std::vector<float> got(static_cast<std::size_t>(11 * 16 * 3));
            ResizeScratch scratch;
            resize(shrunken.view, how, {}, std::as_writable_bytes(std::span(got)), scratch);
            EXPECT_THAT(got, testing::Pointwise(testing::FloatNear(1.6f), resized(cut, how))) << shrink << flip;
        }
    }
}

TEST(AspectResize, TruncatesAsFloat32Does) {
    EXPECT_EQ(aspect_preserving_size({375, 500}, 256, 224), (ImageSize{256, 341}));
    EXPECT_EQ(aspect_preserving_size({500, 375}, 256, 224), (ImageSize{341, 256}));
    EXPECT_EQ(aspect_preserving_size({256, 256}, 256, 224), (ImageSize{256, 256}));
    int one_less = 0;
    for (std::int64_t side = 1; side < 2000; ++side) {
        const std::int64_t shorter = aspect_preserving_size({side, 2000}, 256, 224).height;
        ASSERT_TRUE(shorter == 256 || shorter == 255) << side;
        one_less += shorter == 255 ? 1 : 0;
    }
    EXPECT_GT(one_less, 0);  // float rounding shows, as in the reference
    EXPECT_EQ(aspect_preserving_size({1, 1}, 2, 2), (ImageSize{2, 2}));
}

TEST(AspectResize, ShorterSides) {
    const std::vector<std::pair<int, int>> sides = {{224, 256}, {240, 274}, {260, 297}, {300, 342},
                                                    {380, 434}, {456, 521}, {528, 603}, {600, 685}};
    for (const auto& [size, shorter] : sides) {
        EXPECT_EQ(evaluation_shorter_side(size), shorter);
    }
}

TEST(StorePixels, EachType) {
    const std::vector<float> values = {0.0f, 1.99f, 255.0f, 254.999f, 300.0f, -3.0f};
    std::vector<std::uint8_t> bytes(6);
    store_pixels(values, {DType::u8, {}}, std::as_writable_bytes(std::span(bytes)));
    EXPECT_EQ(bytes, (std::vector<std::uint8_t>{0, 1, 255, 254, 255, 0}));  // truncated, clamped

    // 1 + 2^-8 lies between two bf16 values and goes to the even one; so does 1 + 3 * 2^-8.
    const std::vector<float> ties = {1.00390625f, 1.01171875f, -1.00390625f};
    std::vector<BFloat16> halves(3);
    store_pixels(ties, {DType::bf16, {}}, std::as_writable_bytes(std::span(halves)));
    EXPECT_EQ(to_float(halves[0]), 1.0f);
    EXPECT_EQ(to_float(halves[1]), 1.015625f);
    EXPECT_EQ(to_float(halves[2]), -1.0f);

    const std::vector<float> ties_of_f16 = {1 + 0x1p-11f, 1 + 3 * 0x1p-11f, -65519.0f};
    std::vector<Half> f16(3);
    store_pixels(ties_of_f16, {DType::f16, {}}, std::as_writable_bytes(std::span(f16)));
    EXPECT_EQ(to_float(f16[0]), 1.0f);
    EXPECT_EQ(to_float(f16[1]), 1 + 0x1p-9f);
    EXPECT_EQ(to_float(f16[2]), -65504.0f);
}

TEST(StorePixels, BothNormalisations) {
    const std::vector<float> values = {0, 127.5f, 255, 255, 0, 64};
    std::vector<float> out(6);
    store_pixels(values, {DType::f32, imagenet_normalisation(false)}, std::as_writable_bytes(std::span(out)));
    EXPECT_THAT(out,
                testing::Pointwise(testing::FloatNear(1e-4f), {-123.68f, 10.72f, 151.06f, 131.32f, -116.78f, -39.94f}));
    store_pixels(values, {DType::f32, imagenet_normalisation(true)}, std::as_writable_bytes(std::span(out)));
    const std::vector<double> mean = {0.485, 0.456, 0.406};
    const std::vector<double> deviation = {0.229, 0.224, 0.225};
    for (std::size_t i = 0; i < 6; ++i) {
        EXPECT_NEAR(out[i], (static_cast<double>(values[i]) / 255 - mean[i % 3]) / deviation[i % 3], 1e-6);
    }
}

TEST(Standardisation, MeanAndDeviation) {
    const std::vector<std::uint8_t> image = {0, 0, 10, 10};
    const auto table = standardisation_table(image);
    EXPECT_FLOAT_EQ(table[0], -1);
    EXPECT_FLOAT_EQ(table[10], 1);
    EXPECT_FLOAT_EQ(table[5], 0);
}

TEST(Standardisation, FlatImageIsZeroAndTheDivisorHasAFloor) {
    const std::vector<std::uint8_t> image(3072, 200);
    const auto table = standardisation_table(image);
    EXPECT_EQ(table[200], 0);
    EXPECT_NEAR(table[201], std::sqrt(3072.0), 1e-3);
}

TEST(Inks, PlainCmykWithoutAdobeMarker) {
    std::vector<std::uint8_t> pixels = {0, 255, 55, 0, 0, 0, 0, 255};  // white but for full magenta; black
    cmyk_to_rgb(pixels, 2, false);
    EXPECT_EQ((std::vector<std::uint8_t>(pixels.begin(), pixels.begin() + 6)),
              (std::vector<std::uint8_t>{255, 0, 200, 0, 0, 0}));
}

}  // namespace
}  // namespace cnntrain::data
