// Random changes of a training image besides its crop and mirroring: colour jitter, RandAugment (Cubuk et al. 2019) and
// random erasing (Zhong et al. 2017). Operations and distributions are those of torchvision.transforms.v2; the random
// numbers depend only on seed and position.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "cnntrain/base/rng.h"
#include "cnntrain/data/dataset.h"
#include "cnntrain/data/settings.h"
#include "data/images/jpeg.h"
#include "data/records/example.h"

namespace cnntrain::data {

// Operations on 8-bit RGB images, in place. Each gives the levels of Pillow, and so of torchvision's
// transforms on Pillow images with the same parameter.

/// An image [height][width][3] that operations change, and their memory.
struct Canvas {
    std::uint8_t* pixels = nullptr;
    ImageSize size;
    std::vector<std::uint8_t>& scratch;

    std::int64_t bytes() const { return size.height * size.width * 3; }
};

// The nearest pixel of the source; black outside of it.
void shear_x(const Canvas& image, double factor);  // pixel (y, x) comes from (y, x + factor * y)
void shear_y(const Canvas& image, double factor);
void translate_x(const Canvas& image, std::int64_t right);
void translate_y(const Canvas& image, std::int64_t down);
void rotate(const Canvas& image, double degrees);  // counterclockwise, about the centre

// factor * image + (1 - factor) * B, clamped. B is black, the mean grey level, the grey image, or the smoothed image.
void adjust_brightness(const Canvas& image, double factor);
void adjust_contrast(const Canvas& image, double factor);
void adjust_saturation(const Canvas& image, double factor);
void adjust_sharpness(const Canvas& image, double factor);

/// Turns the hue by a share of a full turn, -1/2 to 1/2. Hue, saturation and value are rounded to 8 bits.
void adjust_hue(const Canvas& image, double turn);

void posterize(const Canvas& image, int bits);         // keeps the highest bits of each level
void solarize(const Canvas& image, double threshold);  // inverts the levels from the threshold on
void autocontrast(const Canvas& image);                // stretches each channel to 0..255
void equalize(const Canvas& image);                    // makes each channel's histogram uniform

/// An operation of RandAugment. `strength`: for a magnitude of 0 to 30 and an image size.
struct RandAugmentOperation {
    std::string_view name;
    double (*strength)(int magnitude, ImageSize size);
    bool either_sign;
    void (*apply)(const Canvas& image, double strength);
};

/// All operations; each is as likely as the others.
std::span<const RandAugmentOperation> rand_augment_operations();

class Augmenter {
public:
    /// Makes an augmenter that changes nothing.
    Augmenter() = default;
    explicit Augmenter(const AugmentationSettings& settings);

    /// The part of a training photo: sample_crop(), or with --crop-area sample_resized_crop().
    Rectangle crop(ImageSize image, std::span<const Box> boxes, Rng& rng) const;

    bool changes_levels() const { return operations_ > 0 || jitters_; }
    /// Colour jitter, then RandAugment.
    void change_levels(const Canvas& image, std::uint64_t seed, SamplePosition position) const;

    /// The rectangle to erase, if there is one: 2 to 33 % of the image's area, height / width in 0.3..3.3.
    std::optional<Rectangle> erased(ImageSize size, std::uint64_t seed, SamplePosition position) const;

private:
    void jitter_colours(const Canvas& image, Rng& rng) const;

    std::optional<std::array<double, 2>> crop_area_;
    std::int64_t operations_ = 0;
    int magnitude_ = 0;
    bool jitters_ = false;
    std::array<double, 4> jitter_{};  // brightness, contrast, saturation, hue
    double erasing_ = 0;
};

// The random crop for ImageNet training.

/// Draws a rectangle with 5 to 100 % of the image's area and width / height in 0.75..1.33 before rounding. It covers at
/// least a tenth of one of the boxes (or of the image, without boxes). Returns the whole image if 100 attempts fail.
Rectangle sample_crop(ImageSize image, std::span<const Box> boxes, Rng& rng);

/// Draws a rectangle with `least` to `most` of the image's area and width / height in 3/4..4/3 (logarithmically
/// uniform). After 10 attempts without one inside of the image, returns the largest centred rectangle with a ratio in
/// that range. The distribution is that of torchvision's RandomResizedCrop.
Rectangle sample_resized_crop(ImageSize image, double least, double most, Rng& rng);

}  // namespace cnntrain::data
