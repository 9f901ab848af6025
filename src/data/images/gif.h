// GIF decoding with giflib: the first image of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/images/jpeg.h"

namespace cnntrain::data {

#ifdef CNNTRAIN_GIF
inline constexpr std::string_view kMissingGif;
#else
inline constexpr std::string_view kMissingGif = "libgif-dev";
#endif

/// As decode_whole() in file_format.h. The image has the size of the canvas; what the first image leaves open is white.
ImageSize decode_gif(std::span<const std::byte> file, std::vector<std::uint8_t>& pixels);

}  // namespace cnntrain::data
