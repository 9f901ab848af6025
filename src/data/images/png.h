// PNG decoding with libpng.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "data/images/jpeg.h"

namespace cnntrain::data {

/// As decode_whole() in file_format.h.
ImageSize decode_png(std::span<const std::byte> png, std::vector<std::uint8_t>& pixels);

}  // namespace cnntrain::data
