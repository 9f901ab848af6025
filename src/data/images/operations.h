// Operations on 8-bit RGB images, in place. Each gives the levels of Pillow, and so of torchvision's
// transforms on Pillow images with the same parameter.
#pragma once

#include <cstdint>
#include <vector>

#include "data/images/jpeg.h"

namespace cnntrain::data {

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

}  // namespace cnntrain::data
