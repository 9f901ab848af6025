#include "data/images/jpeg.h"

#include "cnntrain/base/rng.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::data {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
    return std::as_bytes(std::span(text));
}

std::vector<std::uint8_t> pixels_of(const PixelView& view) {
    std::vector<std::uint8_t> pixels;
    for (std::int64_t y = 0; y < view.size.height; ++y) {
        const std::uint8_t* row = view.pixels + y * view.row_bytes;
        pixels.insert(pixels.end(), row, row + view.size.width * 3);
    }
    return pixels;
}

/// The decoded part as a compact image.
TestImage decode_part(JpegDecoder& decoder, const std::string& jpeg, const Rectangle& part, const DecodeHow& how) {
    std::vector<std::uint8_t> buffer;
    decoder.open(bytes_of(jpeg));
    const PixelView view = decoder.decode(part, how, buffer);
    return {view.size.height, view.size.width, 3, pixels_of(view)};
}

TestImage part_of(const TestImage& image, const Rectangle& part) {
    TestImage result{part.height, part.width, 3, {}};
    for (std::int64_t y = part.top; y < part.top + part.height; ++y) {
        for (std::int64_t x = part.left; x < part.left + part.width; ++x) {
            for (std::int64_t c = 0; c < 3; ++c)
                result.pixels.push_back(image.at(y, x, c));
        }
    }
    return result;
}

struct Sampling {
    int horizontal;
    int vertical;
    bool progressive;
};

class JpegParts : public testing::TestWithParam<Sampling> {};

TEST_P(JpegParts, EqualTheSamePartOfTheWholeImage) {
    const Sampling sampling = GetParam();
    const std::string jpeg = encode_jpeg(make_photo(131, 173), {.horizontal_sampling = sampling.horizontal,
                                                                .vertical_sampling = sampling.vertical,
                                                                .progressive = sampling.progressive});
    JpegDecoder decoder;
    Rng rng(5, RngStream::test);
    for (const DctMethod method : {DctMethod::fast, DctMethod::accurate}) {
        const TestImage whole = decode_whole(jpeg, {method});
        for (int i = 0; i < 150; ++i) {
            Rectangle part;
            part.height = rng.integer(1, whole.height + 1);
            part.width = rng.integer(1, whole.width + 1);
            part.top = rng.integer(0, whole.height - part.height + 1);
            part.left = rng.integer(0, whole.width - part.width + 1);
            ASSERT_EQ(decode_part(decoder, jpeg, part, {method}).pixels, part_of(whole, part).pixels)
                << part.top << " " << part.left << " " << part.height << " " << part.width;
        }
    }
}

TEST_P(JpegParts, ShrunkenPartsEqualTheShrunkenWhole) {
    const Sampling sampling = GetParam();
    const std::string jpeg = encode_jpeg(make_photo(131, 173), {.horizontal_sampling = sampling.horizontal,
                                                                .vertical_sampling = sampling.vertical,
                                                                .progressive = sampling.progressive});
    JpegDecoder decoder;
    Rng rng(6, RngStream::test);
    std::vector<std::uint8_t> buffer;
    for (const int shrink : {2, 4, 8}) {
        const TestImage whole = decode_whole(jpeg, {DctMethod::fast, shrink});
        EXPECT_EQ(whole.height, (131 + shrink - 1) / shrink);
        for (int i = 0; i < 100; ++i) {
            Rectangle part;
            part.height = rng.integer(1, 132);
            part.width = rng.integer(1, 174);
            part.top = rng.integer(0, 131 - part.height + 1);
            part.left = rng.integer(0, 173 - part.width + 1);
            decoder.open(bytes_of(jpeg));
            const PixelView view = decoder.decode(part, {DctMethod::fast, shrink}, buffer);
            EXPECT_EQ(view.shrink, shrink);
            EXPECT_EQ(view.part, part);
            // The part is covered, with a pixel around it wherever the image goes on.
            EXPECT_EQ(view.top, std::max<std::int64_t>(part.top / shrink - 1, 0));
            EXPECT_GE((view.left + view.size.width) * shrink, part.left + part.width);
            ASSERT_EQ(pixels_of(view), part_of(whole, {view.top, view.left, view.size.height, view.size.width}).pixels)
                << shrink << ": " << part.top << " " << part.left << " " << part.height << " " << part.width;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(Samplings, JpegParts,
                         testing::Values(Sampling{2, 2, false}, Sampling{2, 1, false}, Sampling{1, 2, false},
                                         Sampling{1, 1, false}, Sampling{4, 1, false}, Sampling{2, 2, true}));

TEST(Jpeg, GreyBecomesThreeEqualChannels) {
    const std::string jpeg = encode_jpeg(make_plain(20, 30, {77}), {.quality = 100});
    JpegDecoder decoder;
    EXPECT_EQ(decoder.open(bytes_of(jpeg)), (ImageSize{20, 30}));
    EXPECT_THAT(decode_part(decoder, jpeg, {3, 4, 5, 6}, {DctMethod::fast}).pixels, testing::Each(77));
}

TEST(Jpeg, InksBecomeRgb) {
    // libjpeg writes an Adobe marker, so that the stored values are inverted inks: light * black / 255.
    const TestImage inks = make_plain(16, 16, {200, 100, 50, 204});
    for (const bool cmyk : {true, false}) {
        const std::string jpeg = encode_jpeg(inks, {.quality = 100, .cmyk = cmyk});
        JpegDecoder decoder;
        const TestImage rgb = decode_part(decoder, jpeg, {0, 0, 16, 16}, {DctMethod::accurate});
        EXPECT_NEAR(rgb.at(8, 8, 0), 160, 2);
        EXPECT_NEAR(rgb.at(8, 8, 1), 80, 2);
        EXPECT_NEAR(rgb.at(8, 8, 2), 40, 2);
    }
}

TEST(Jpeg, BadImagesAreErrorsAndTheDecoderGoesOn) {
    JpegDecoder decoder;
    const std::string good = encode_jpeg(make_photo(64, 64));
    const TestImage expected = decode_whole(good, {DctMethod::fast});
    const std::string text = "this is no image";
    const std::string png = "\x89PNG\r\n\x1a\n and so on";
    EXPECT_THAT(message_of(ErrorKind::data, [&] { decoder.open(bytes_of(text)); }), HasSubstr("JPEG"));
    EXPECT_THAT(message_of(ErrorKind::data, [&] { decoder.open(bytes_of(png)); }), Not(IsEmpty()));
    EXPECT_THROW(decoder.open({}), Error);
    const Rectangle all{0, 0, 64, 64};
    for (std::size_t size = 2; size < good.size() - 2; size += 97) {
        EXPECT_THROW(decode_part(decoder, good.substr(0, size), all, {DctMethod::fast}), Error) << size;
    }
    EXPECT_EQ(decode_part(decoder, good, all, {DctMethod::fast}).pixels, expected.pixels);
}

TEST(Jpeg, RandomDamageNeverCrashes) {
    const std::string good = encode_jpeg(make_photo(48, 40));
    JpegDecoder decoder;
    Rng rng(9, RngStream::test);
    int errors = 0;
    for (int i = 0; i < 2000; ++i) {
        std::string damaged = good;
        for (int k = 0; k < 3; ++k) {
            const auto at = static_cast<std::size_t>(rng.integer(2, static_cast<std::int64_t>(good.size())));
            damaged[at] = static_cast<char>(rng.next_u32());
        }
        const std::string refusal = refusal_of(ErrorKind::data, [&] {
            const ImageSize size = decoder.open(bytes_of(damaged));
            if (size.height * size.width > 100000) return;
            decode_part(decoder, damaged, {0, 0, size.height, size.width}, {DctMethod::fast});
        });
        if (!refusal.empty()) ++errors;
    }
    EXPECT_GT(errors, 100);
}

TEST(Jpeg, ClaimOfAHugeImageIsRefused) {
    std::string jpeg = encode_jpeg(make_plain(16, 16, {1, 2, 3}));
    const std::size_t frame = jpeg.find("\xff\xc0");
    ASSERT_NE(frame, std::string::npos);
    jpeg.replace(frame + 5, 4, "\xff\x00\xff\x00", 4);
    JpegDecoder decoder;
    EXPECT_THAT(message_of(ErrorKind::data, [&] { decoder.open(bytes_of(jpeg)); }), HasSubstr("65280 x 65280"));
}

}  // namespace
}  // namespace cnntrain::data
