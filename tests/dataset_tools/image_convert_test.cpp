#include "data/write/imagenet_writer.h"

#include <png.h>

#include "data/fixtures.h"
#include "data/format_fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::data {
namespace {

struct PngOptions {
    int depth = 8;
    int type = PNG_COLOR_TYPE_RGB;
    std::vector<png_color> palette = {};
    bool interlaced = false;
};

/// `row` is one row as stored, repeated.
std::string encode_png(unsigned width, unsigned height, const std::string& row, const PngOptions& options = {}) {
    png_structp png = png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
    png_infop info = png_create_info_struct(png);
    std::string bytes;
    png_set_write_fn(
        png, &bytes,
        [](png_structp from, png_bytep data, std::size_t size) {
            static_cast<std::string*>(png_get_io_ptr(from))->append(reinterpret_cast<const char*>(data), size);
        },
        nullptr);
    png_set_IHDR(png, info, width, height, options.depth, options.type,
                 options.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT,
                 PNG_FILTER_TYPE_DEFAULT);
    if (!options.palette.empty())
        png_set_PLTE(png, info, options.palette.data(), static_cast<int>(options.palette.size()));
    png_write_info(png, info);
    std::vector<png_bytep> rows(height, reinterpret_cast<png_bytep>(const_cast<char*>(row.data())));
    png_write_image(png, rows.data());
    png_write_end(png, info);
    png_destroy_write_struct(&png, &info);
    return bytes;
}

std::string repeated(const std::string& pixel, int count) {
    std::string row;
    for (int i = 0; i < count; ++i)
        row += pixel;
    return row;
}

void expect_colour(const StoredImage& image, int red, int green, int blue) {
    const data::TestImage pixels = data::decode_whole(image.jpeg, {data::DctMethod::accurate});
    ASSERT_EQ(pixels.channels, 3);
    EXPECT_EQ(pixels.height, image.height);
    EXPECT_EQ(pixels.width, image.width);
    EXPECT_NEAR(pixels.at(3, 3, 0), red, 2);
    EXPECT_NEAR(pixels.at(3, 3, 1), green, 2);
    EXPECT_NEAR(pixels.at(3, 3, 2), blue, 2);
}

std::string reason(const std::string& file) {
    ImageConverter converter;
    return message_of(ErrorKind::data, [&] { converter.convert(file); });
}

TEST(ImageConvert, SoundJpegsPassUnchanged) {
    ImageConverter converter;
    for (const bool progressive : {false, true}) {
        for (const std::int64_t channels : {1, 3}) {
            const std::string jpeg =
                data::encode_jpeg(data::make_photo(37, 53, 1, channels), {.progressive = progressive});
            const StoredImage stored = converter.convert(jpeg);
            EXPECT_EQ(stored.jpeg, jpeg);
            EXPECT_EQ(stored.height, 37);
            EXPECT_EQ(stored.width, 53);
            EXPECT_EQ(stored.converted_from, "");
        }
    }
}

TEST(ImageConvert, InksBecomeRgb) {
    // libjpeg writes an Adobe marker, so that the stored values are inverted inks: light * black / 255.
    ImageConverter converter;
    for (const bool cmyk : {true, false}) {
        const StoredImage stored = converter.convert(
            data::encode_jpeg(data::make_plain(16, 24, {200, 100, 50, 204}), {.quality = 100, .cmyk = cmyk}));
        EXPECT_EQ(stored.converted_from, "CMYK");
        EXPECT_EQ(stored.height, 16);
        EXPECT_EQ(stored.width, 24);
        expect_colour(stored, 160, 80, 40);
    }
}

TEST(ImageConvert, PngBecomesJpeg) {
    ImageConverter converter;
    const std::string file = encode_png(8, 5, repeated("\xc8\x64\x32", 8));
    const StoredImage stored = converter.convert(file);
    EXPECT_EQ(stored.converted_from, "PNG");
    EXPECT_EQ(stored.height, 5);
    EXPECT_EQ(stored.width, 8);
    EXPECT_THAT(stored.jpeg, StartsWith("\xff\xd8"));
    expect_colour(stored, 200, 100, 50);
    EXPECT_EQ(converter.convert(file).jpeg, stored.jpeg);
    expect_colour(converter.convert(encode_png(8, 5, repeated("\xc8\x64\x32", 8), {.interlaced = true})), 200, 100, 50);
}

TEST(ImageConvert, EveryKindOfPng) {
    ImageConverter converter;
    const auto converted = [&](const std::string& row, const PngOptions& options) {
        return converter.convert(encode_png(8, 8, row, options));
    };
    expect_colour(converted(repeated("\x4d", 8), {.type = PNG_COLOR_TYPE_GRAY}), 77, 77, 77);
    expect_colour(converted("\xff", {.depth = 1, .type = PNG_COLOR_TYPE_GRAY}), 255, 255, 255);
    // 16 bits: the high byte, in the same scale as 8 bits.
    expect_colour(converted(repeated("\xc8\x80\x64\x10\x32\xff", 8), {.depth = 16}), 200, 100, 51);
    expect_colour(converted(repeated("\x4d\x4d", 8), {.depth = 16, .type = PNG_COLOR_TYPE_GRAY}), 77, 77, 77);
    const std::vector<png_color> palette = {{1, 2, 3}, {200, 100, 50}};
    expect_colour(converted(repeated("\x01", 8), {.type = PNG_COLOR_TYPE_PALETTE, .palette = palette}), 200, 100, 50);
    expect_colour(converted("\xff", {.depth = 1, .type = PNG_COLOR_TYPE_PALETTE, .palette = palette}), 200, 100, 50);
}

TEST(ImageConvert, TransparentPartsAreWhite) {
    ImageConverter converter;
    const PngOptions with_alpha{.type = PNG_COLOR_TYPE_RGB_ALPHA};
    const auto converted = [&](const std::string& pixel) {
        return converter.convert(encode_png(8, 8, repeated(pixel, 8), with_alpha));
    };
    expect_colour(converted({"\xc8\x64\x32\xff", 4}), 200, 100, 50);
    expect_colour(converted({"\xc8\x64\x32\x00", 4}), 255, 255, 255);
    // Half of the light of black on white: 0.5 in linear light is 188 in sRGB.
    expect_colour(converted({"\x00\x00\x00\x80", 4}), 187, 187, 187);
}

TEST(ImageConvert, DamageIsFoundWhereverItIs) {
    for (const bool progressive : {false, true}) {
        const std::string jpeg = data::encode_jpeg(data::make_photo(64, 64), {.progressive = progressive});
        for (std::size_t size = 0; size < jpeg.size(); size += 61)
            reason(jpeg.substr(0, size));
        reason(jpeg.substr(0, jpeg.size() - 1));
    }
    const std::string png = encode_png(40, 40, repeated("\xc8\x64\x32", 40));
    for (std::size_t size = 0; size < png.size() - 12; ++size) {  // without the end marker it is whole
        reason(png.substr(0, size));
    }
    std::string wrong_checksum = png;
    wrong_checksum[60] = static_cast<char>(wrong_checksum[60] ^ 1);
    EXPECT_THAT(reason(wrong_checksum), HasSubstr("PNG"));
    const std::string inks = data::encode_jpeg(data::make_photo(64, 64, 1, 4));
    reason(inks.substr(0, inks.size() / 2));
}

TEST(ImageConvert, OtherFormatsAndTurnedPhotosBecomeUprightJpegs) {
    ImageConverter converter;
    const StoredImage bmp = converter.convert(data::encode_bmp({6, 9, 3, std::vector<std::uint8_t>(6 * 9 * 3, 120)}));
    EXPECT_EQ(bmp.converted_from, "BMP");
    EXPECT_FALSE(bmp.turned);
    expect_colour(bmp, 120, 120, 120);
    const std::string photo = data::encode_jpeg(data::make_photo(20, 32));
    const StoredImage turned = converter.convert(data::with_orientation(photo, 8));
    EXPECT_TRUE(turned.turned);
    EXPECT_EQ(turned.converted_from, "");
    EXPECT_EQ(turned.height, 32);
    EXPECT_EQ(turned.width, 20);
    const std::string upright = data::with_orientation(photo, 1);
    EXPECT_EQ(converter.convert(upright).jpeg, upright);
}

TEST(ImageConvert, BadFilesAreNamedAndTheConverterGoesOn) {
    EXPECT_EQ(reason(""), "the file is empty");
    EXPECT_THAT(reason("hello"), HasSubstr("JPEG"));
    ImageConverter converter;
    const std::string good = data::encode_jpeg(data::make_photo(64, 64));
    for (int i = 0; i < 3; ++i) {
        EXPECT_THROW(converter.convert(good.substr(0, 500)), Error);
        EXPECT_EQ(converter.convert(good).jpeg, good);
    }
    std::string huge = good;  // claims 65535 x 65535
    const std::size_t frame = huge.find(std::string("\xff\xc0", 2));
    ASSERT_NE(frame, std::string::npos);
    huge.replace(frame + 5, 4, "\xfe\xfe\xfe\xfe");
    EXPECT_THAT(reason(huge), HasSubstr("pixels"));
}

}  // namespace
}  // namespace cnntrain::data
