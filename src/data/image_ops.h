// Pixel arithmetic: resize, flip, standardise, store. Images are HWC, RGB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cnntrain/data/settings.h"
#include "data/jpeg.h"

namespace cnntrain::data {

/// In place, to three bytes per pixel at the front of `pixels`. Adobe files store the inks inverted.
void cmyk_to_rgb(std::span<std::uint8_t> pixels, std::size_t count, bool adobe);

/// Writes values in 0..255 to `out` in the batch's format; `values` is pixels x 3.
void store_pixels(std::span<const float> values, const PixelFormat& format, std::span<std::byte> out);

/// Sides after resizing so that the shorter one becomes `shorter`: ratio in float32, sides truncated (so that rounding
/// may give shorter - 1), but at least `least`.
ImageSize aspect_preserving_size(ImageSize size, std::int64_t shorter, std::int64_t least);

/// Evaluation: the shorter side for images of side S, floor(S * 256 / 224).
constexpr std::int64_t evaluation_shorter_side(std::int64_t image_size) {
    return image_size * 256 / 224;
}

struct Resize {
    ImageSize full;     // the source is resized to this
    Rectangle window;   // and this part of the result is stored
    bool flip = false;  // the source is mirrored left to right first
};

struct ResizeScratch {
    struct Column {
        std::int64_t low;  // byte offsets of two neighbours in a source row
        std::int64_t high;
        float weight;  // of the second
    };
    std::vector<Column> columns;
    std::vector<float> rows;
};

/// Bilinear, source coordinate = destination * in / out (no half-pixel offset, no antialiasing), in float32; each
/// value is lerp_y(lerp_x(top), lerp_x(bottom)).
void resize(const PixelView& source, const Resize& how, const PixelFormat& format, std::span<std::byte> out,
            ResizeScratch& scratch);

/// The 256 possible values of a standardised pixel: (x - mean) / max(deviation, 1 / sqrt(count)), population deviation.
std::array<float, 256> standardisation_table(std::span<const std::uint8_t> image);

}  // namespace cnntrain::data
