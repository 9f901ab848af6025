#include "data/images/augment.h"

#include <cmath>

#include "fixtures.h"

namespace cnntrain::data {
namespace {

constexpr int kDraws = 20000;

double area_share(const Rectangle& crop, ImageSize image) {
    return static_cast<double>(crop.height * crop.width) / static_cast<double>(image.height * image.width);
}

TEST(CropSampler, StaysInsideAndWithinItsRanges) {
    for (const ImageSize image : {ImageSize{375, 500}, {500, 333}, {64, 64}, {100, 1000}, {7, 5}, {1, 1}}) {
        for (int i = 0; i < 3000; ++i) {
            Rng rng(1, RngStream::crop, 0, static_cast<std::uint64_t>(i));
            const Rectangle crop = sample_crop(image, {}, rng);
            ASSERT_GE(crop.top, 0);
            ASSERT_GE(crop.left, 0);
            ASSERT_GE(crop.height, 1);
            ASSERT_GE(crop.width, 1);
            ASSERT_LE(crop.top + crop.height, image.height);
            ASSERT_LE(crop.left + crop.width, image.width);
            if (crop == Rectangle{0, 0, image.height, image.width}) continue;
            // The whole image is the object if there are no boxes; a crop must cover a tenth of it.
            ASSERT_GE(area_share(crop, image), 0.1);
            const double half_pixel = 0.5 / static_cast<double>(crop.height);
            const double aspect = static_cast<double>(crop.width) / static_cast<double>(crop.height);
            ASSERT_GE(aspect, 0.75 - half_pixel - 1e-9);
            ASSERT_LE(aspect, 1.33 + half_pixel + 1e-9);
        }
    }
}

TEST(CropSampler, HeightIsUniform) {
    // A square: for aspect a the height is uniform in [sqrt(0.05/a), min(1, sqrt(1/a), 1/a)] of the side; crops below
    // a tenth of the area are drawn again. Expected values integrate this over a in U[0.75, 1.33] (numerically here).
    const ImageSize image{1000, 1000};
    double weight = 0;
    double expected_height = 0;
    double expected_share = 0;
    for (int i = 0; i < 2000; ++i) {
        const double aspect = 0.75 + 0.58 * (i + 0.5) / 2000;
        const double low = std::sqrt(0.05 / aspect);
        const double high = std::min({1.0, std::sqrt(1 / aspect), 1 / aspect});
        const double accepted_low = std::sqrt(0.1 / aspect);
        const double part = (high - accepted_low) / (high - low);  // of this aspect's draws that are accepted
        weight += part;
        expected_height += part * (high + accepted_low) / 2;
        expected_share += part * aspect * (high * high + high * accepted_low + accepted_low * accepted_low) / 3;
    }
    expected_height /= weight;
    expected_share /= weight;

    double height = 0;
    double share = 0;
    double top = 0;
    for (int i = 0; i < kDraws; ++i) {
        Rng rng(2, RngStream::crop, 0, static_cast<std::uint64_t>(i));
        const Rectangle crop = sample_crop(image, {}, rng);
        height += static_cast<double>(crop.height) / 1000 / kDraws;
        share += area_share(crop, image) / kDraws;
        if (crop.height < 1000) top += static_cast<double>(crop.top) / static_cast<double>(1000 - crop.height) / kDraws;
    }
    EXPECT_NEAR(height, expected_height, 0.005);
    EXPECT_NEAR(share, expected_share, 0.006);
    EXPECT_NEAR(top, 0.5, 0.01);
}

TEST(CropSampler, CoversATenthOfABox) {
    const ImageSize image{400, 600};
    const std::vector<Box> boxes = {{0.0f, 0.0f, 0.1f, 0.1f}};  // 40 x 60 pixels in the top left corner
    int whole = 0;
    for (int i = 0; i < 2000; ++i) {
        Rng rng(3, RngStream::crop, 0, static_cast<std::uint64_t>(i));
        const Rectangle crop = sample_crop(image, boxes, rng);
        const std::int64_t rows = std::min<std::int64_t>(crop.top + crop.height, 40) - crop.top;
        const std::int64_t columns = std::min<std::int64_t>(crop.left + crop.width, 60) - crop.left;
        ASSERT_GT(rows, 0);
        ASSERT_GT(columns, 0);
        ASSERT_GE(rows * columns, 240);
        whole += crop == Rectangle{0, 0, 400, 600} ? 1 : 0;
    }
    EXPECT_LT(whole, 100);
}

TEST(CropSampler, WholeImageWhenNothingFits) {
    Rng rng(4, RngStream::crop);
    EXPECT_EQ(sample_crop({10, 1000}, {}, rng), (Rectangle{0, 0, 10, 1000}));  // 13 of 1000 columns: below 5 %
    const std::vector<Box> empty_box = {{0.5f, 0.5f, 0.5f, 0.5f}};
    EXPECT_EQ(sample_crop({100, 100}, empty_box, rng), (Rectangle{0, 0, 100, 100}));
    const std::vector<Box> nonsense = {{-3.0f, NAN, NAN, 7.0f}};
    EXPECT_EQ(sample_crop({100, 100}, nonsense, rng), (Rectangle{0, 0, 100, 100}));
}

TEST(CropSampler, DependsOnTheStreamOnly) {
    const auto draw = [](std::uint32_t epoch, std::uint64_t index) {
        Rng rng(7, RngStream::crop, epoch, index);
        return sample_crop({375, 500}, {}, rng);
    };
    EXPECT_EQ(draw(0, 5), draw(0, 5));
    EXPECT_FALSE(draw(0, 5) == draw(1, 5));
    EXPECT_FALSE(draw(0, 5) == draw(0, 6));
}

}  // namespace
}  // namespace cnntrain::data
