// PNG decoding with libpng, always to RGB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/images/jpeg.h"

namespace cnntrain::data {

/// By its first bytes, whatever its name.
bool is_png(std::span<const std::byte> file);

/// Decodes the whole image into `pixels`, which grows as needed and never shrinks: rows of RGB without gaps, and
/// kReadableBehindView bytes behind them. Transparent parts become white, 16 bits become 8. Error(data) says what is
/// wrong with the image; the caller adds the file.
ImageSize decode_png(std::span<const std::byte> png, std::vector<std::uint8_t>& pixels);

}  // namespace cnntrain::data
