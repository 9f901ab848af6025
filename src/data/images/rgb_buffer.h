// The buffer into which whole images are decoded.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "data/images/jpeg.h"
#include "data/images/jpeg_errors.h"

namespace cnntrain::data {

/// A larger buffer, grown by one huge image, is released before the next image.
inline constexpr std::size_t kMostPixelBytesKept = std::size_t{1} << 26;

/// Makes room for so many bytes and kReadableBehindView more.
inline std::uint8_t* room_for(std::size_t bytes, std::vector<std::uint8_t>& buffer) {
    const std::size_t needed = bytes + kReadableBehindView;
    if (buffer.capacity() > kMostPixelBytesKept && needed <= kMostPixelBytesKept) buffer = {};
    if (buffer.size() < needed) buffer.resize(needed);
    return buffer.data();
}

/// Makes room for an image's pixels of `channels` bytes. Throws Error(data) if the image is too large or has no pixels.
inline std::uint8_t* room_for(ImageSize size, std::vector<std::uint8_t>& buffer, std::int64_t channels = 3) {
    const std::string problem = size_problem(size.height, size.width, kMostWholePixels);
    if (!problem.empty()) throw Error(ErrorKind::data, "the image " + problem);
    return room_for(static_cast<std::size_t>(size.height * size.width * channels), buffer);
}

}  // namespace cnntrain::data
