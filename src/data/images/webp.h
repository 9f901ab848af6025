// WebP decoding with libwebp; of an animation, the first image.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "data/images/jpeg.h"

namespace cnntrain::data {

#ifdef CNNTRAIN_WEBP
inline constexpr std::string_view kMissingWebp;
#else
inline constexpr std::string_view kMissingWebp = "libwebp-dev";
#endif

/// As decode_whole() in file_format.h.
ImageSize decode_webp(std::span<const std::byte> file, std::vector<std::uint8_t>& pixels);

}  // namespace cnntrain::data
