// The memory that threads take at once to decode large images.
#pragma once

#include <cstdint>

#include "data/images/jpeg.h"

namespace cnntrain::data {

/// A share of the memory that the process may still take, for one image as long as its pixels are needed. Where memory
/// is short, large images are decoded one after the other.
class LargeImage {
public:
    LargeImage() = default;
    /// Waits until there is room. Error(data) if there is none even for this image alone.
    LargeImage(ImageSize size, std::uint64_t bytes_per_pixel);
    ~LargeImage();
    LargeImage(const LargeImage&) = delete;
    LargeImage& operator=(const LargeImage&) = delete;

private:
    std::uint64_t bytes_ = 0;
};

}  // namespace cnntrain::data
