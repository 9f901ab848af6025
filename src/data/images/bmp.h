// BMP decoding: files of Windows and OS/2 with 1 to 32 bits a pixel, plain or run-length encoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "data/images/jpeg.h"

namespace cnntrain::data {

/// The size in the header; nothing if `head` does not hold one.
std::optional<ImageSize> size_of_bmp(std::span<const std::byte> head);

/// As decode_whole() in file_format.h.
ImageSize decode_bmp(std::span<const std::byte> file, std::vector<std::uint8_t>& pixels);

}  // namespace cnntrain::data
