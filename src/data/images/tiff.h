// TIFF decoding with libtiff: the first image of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/images/jpeg.h"

namespace cnntrain::data {

#ifdef CNNTRAIN_TIFF
inline constexpr std::string_view kMissingTiff;
#else
inline constexpr std::string_view kMissingTiff = "libtiff-dev";
#endif

/// As decode_whole() in file_format.h: rows and columns as stored, whatever the orientation.
ImageSize decode_tiff(std::span<const std::byte> file, std::vector<std::uint8_t>& pixels);

}  // namespace cnntrain::data
