#include "cnntrain/data/settings.h"

#include <gtest/gtest.h>

#include <limits>
#include <span>
#include <string>
#include <vector>

#include "data/images/jpeg.h"

namespace cnntrain::data {
namespace {

/// Pixels of a picture whose left half has the value `left` and whose right half has `right`, in each channel.
HostTensor halves(DType type, std::int64_t side, double left, double right) {
    HostTensor image({type, {side, side, 3}});
    for (std::int64_t i = 0; i < image.elements(); ++i)
        image.set(i, i / 3 % side < side / 2 ? left : right);
    return image;
}

struct Decoded {
    ImageSize size;
    int left = 0, right = 0;  // levels of a pixel near each edge
};
Decoded decoded(const HostTensor& image, std::int64_t most_side) {
    const std::string jpeg = thumbnail(image.desc(), image.bytes(), most_side);
    JpegDecoder decoder;
    const ImageSize size = decoder.open(std::as_bytes(std::span(jpeg)));
    std::vector<std::uint8_t> buffer;
    const PixelView view = decoder.decode({0, 0, size.height, size.width}, {}, buffer);
    return {size, view.pixels[0], view.pixels[(size.width - 1) * 3]};
}

TEST(Thumbnail, IsStretchedToBlackAndWhiteAndNotEnlarged) {
    for (const DType type : {DType::f32, DType::bf16, DType::u8}) {
        const bool bytes = type == DType::u8;
        const Decoded found = decoded(halves(type, 32, bytes ? 10 : -1.5, bytes ? 90 : 0.5), 128);
        EXPECT_EQ(found.size, (ImageSize{32, 32}));
        EXPECT_NEAR(found.left, 0, 6);
        EXPECT_NEAR(found.right, 255, 6);
    }
}

TEST(Thumbnail, OfALargeImageIsSmall) {
    HostTensor image({DType::f32, {300, 200, 3}});
    for (std::int64_t i = 0; i < image.elements(); ++i)
        image.set(i, i / 3 % 200 < 100 ? 0 : 1);
    const Decoded found = decoded(image, 96);
    EXPECT_EQ(found.size, (ImageSize{96, 64}));
    EXPECT_NEAR(found.left, 0, 6);
    EXPECT_NEAR(found.right, 255, 6);
}

TEST(Thumbnail, OfOneColourOrOfNoNumbersIsThere) {
    EXPECT_EQ(decoded(halves(DType::f32, 8, 2, 2), 96).size, (ImageSize{8, 8}));
    const double nan = std::numeric_limits<double>::quiet_NaN();
    EXPECT_EQ(decoded(halves(DType::f32, 8, nan, nan), 96).size, (ImageSize{8, 8}));
}

}  // namespace
}  // namespace cnntrain::data
