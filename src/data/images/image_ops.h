// Pixel arithmetic: standardise, convert, store. Images are HWC, RGB.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "cnntrain/data/settings.h"
#include "data/images/jpeg.h"

namespace cnntrain::data {

/// Converts in place to three bytes per pixel, at the front of `pixels`. Adobe files store inverted ink values.
void cmyk_to_rgb(std::span<std::uint8_t> pixels, std::size_t count, bool adobe);

/// Converts RGBA in place to three bytes per pixel, at the front of `pixels`: blended with white in linear light, as
/// libpng does. Colours are sRGB, not multiplied by alpha.
void onto_white(std::span<std::uint8_t> pixels, std::size_t count);

/// Writes values in 0..255 to `out` in the batch's format. `values`: pixels x 3.
void store_pixels(std::span<const float> values, const PixelFormat& format, std::span<std::byte> out);

/// Writes 8-bit levels to `out` in the batch's format. `levels`: pixels x 3.
void store_levels(std::span<const std::uint8_t> levels, const PixelFormat& format, std::span<std::byte> out);

/// Replaces the pixels of a rectangle in a stored image, `width` pixels wide, by a pixel of levels 0..255.
void fill_rectangle(const Rectangle& rectangle, std::int64_t width, const std::array<float, 3>& pixel,
                    const PixelFormat& format, std::span<std::byte> image);

/// Maps each of the 256 pixel values x to (x - mean) / max(deviation, 1 / sqrt(count)), with the population deviation.
std::array<float, 256> standardisation_table(std::span<const std::uint8_t> image);

}  // namespace cnntrain::data
