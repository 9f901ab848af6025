// Decoder, converter and checker call the same files damaged.
#include "data/images/jpeg.h"

// The macros of jerror.h use names of jpeglib.h, which the header above includes.
#include <jerror.h>

#include <new>

#include "data/write/imagenet_writer.h"
#include "fixtures.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::data {
namespace {

/// The error of a reader; "" if there is none.
std::string by_decoder(const std::string& jpeg) {
    return refusal_of(ErrorKind::data, [&] {
        JpegDecoder decoder;
        std::vector<std::uint8_t> buffer;
        const ImageSize size = decoder.open(std::as_bytes(std::span(jpeg)));
        decoder.decode({0, 0, size.height, size.width}, {}, buffer);
    });
}

std::string by_converter(const std::string& jpeg) {
    return refusal_of(ErrorKind::data, [&] { data::ImageConverter().convert(jpeg); });
}

std::string by_checker(const std::string& jpeg) {
    return JpegChecker().problem(std::as_bytes(std::span(jpeg)));
}

void expect_damage(const std::string& jpeg, const std::string& message) {
    EXPECT_THAT(by_decoder(jpeg), HasSubstr(message));
    EXPECT_THAT(by_converter(jpeg), HasSubstr(message));
    EXPECT_THAT(by_checker(jpeg), HasSubstr(message));
}

TEST(JpegErrors, MissingDataAreDamage) {
    const std::string jpeg = encode_jpeg(make_photo(64, 64));
    expect_damage(jpeg.substr(0, jpeg.size() / 2), "Premature end of JPEG file");
}

TEST(JpegErrors, ARestartMarkerOutOfTurnIsDamage) {
    std::string jpeg = encode_jpeg(make_photo(64, 64), {.restart_rows = 1});
    const std::size_t second = jpeg.find("\xff\xd1");
    ASSERT_NE(second, std::string::npos);
    EXPECT_THAT(by_decoder(jpeg), IsEmpty());
    jpeg[second + 1] = '\xd4';
    expect_damage(jpeg, "instead of RST1");
}

TEST(JpegErrors, StrayBytesBetweenMarkersAreOnlyTold) {
    const std::string good = encode_jpeg(make_photo(64, 64));
    std::string jpeg = good;
    jpeg.insert(jpeg.find("\xff\xdb"), "stray");
    EXPECT_THAT(by_decoder(jpeg), IsEmpty());
    EXPECT_THAT(by_converter(jpeg), IsEmpty());
    JpegChecker checker;
    EXPECT_THAT(checker.problem(std::as_bytes(std::span(jpeg))), HasSubstr("5 extraneous bytes"));
    EXPECT_THAT(checker.problem(std::as_bytes(std::span(good))), IsEmpty());  // nothing is left of the first
}

TEST(JpegErrors, ArithmeticCodingHidesDamageAndIsRefused) {
    const std::string jpeg = encode_jpeg(make_photo(64, 64), {.arithmetic = true});
    expect_damage(jpeg, "arithmetic-coded");
    EXPECT_THAT(by_decoder(encode_jpeg(make_photo(64, 64))), IsEmpty());  // nothing is left of the refusal
}

TEST(JpegErrors, ALackOfMemorySaysNothingAboutTheImage) {
    JpegDecompressor jpeg;
    auto& [info, errors] = jpeg;
    EXPECT_NO_THROW(throw_if_out_of_memory(errors));
    if (setjmp(errors.jump) == 0) ERREXIT1(&info, JERR_OUT_OF_MEMORY, 1);
    EXPECT_THROW(throw_if_out_of_memory(errors), std::bad_alloc);
}

TEST(JpegErrors, ClaimsAreLimited) {
    EXPECT_EQ(size_problem(1 << 14, 1 << 14), "");
    EXPECT_THAT(size_problem(1 << 14, (1 << 14) + 1), HasSubstr("claims 16385 x 16384 pixels"));
    EXPECT_THAT(size_problem(16383, 16383, kMostWholePixels), HasSubstr("claims 16383 x 16383 pixels"))
        << "the largest WebP image";
}

}  // namespace
}  // namespace cnntrain::data
