// Antialiased resize of 8-bit RGB images to the levels that Pillow computes, and so torchvision on Pillow images.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "cnntrain/data/settings.h"
#include "data/images/jpeg.h"
#include "data/images/resize.h"

namespace cnntrain::data {

/// The source pixels of each output pixel along one axis, and their weights with 22 binary places.
struct FilterTaps {
    struct Range {
        std::int64_t first = 0;
        std::int64_t count = 0;
    };
    std::vector<Range> ranges;  // one for each output pixel
    std::vector<std::int32_t> weights;
    std::int64_t stride = 0;  // weights of output pixel i begin at i * stride
};

/// Memory of resize_antialiased(), reused for all images.
struct AntialiasScratch {
    FilterTaps columns;
    FilterTaps rows;
    std::vector<std::uint8_t> lines;  // after the first pass
    std::vector<std::int32_t> sums;

    std::uint64_t held_bytes() const;
};

/// Resizes source.part to how.full and stores the window's pixels in `out`, [height][width][3]. The filter is a
/// triangle or a cubic (a = -1/2), stretched by in / out where the image shrinks; the result of the first pass is
/// rounded to 8 bits. A shrunken view stands for the part of the full image that it covers.
void resize_antialiased(const PixelView& source, const Resize& how, Interpolation interpolation,
                        std::span<std::uint8_t> out, AntialiasScratch& scratch);

}  // namespace cnntrain::data
