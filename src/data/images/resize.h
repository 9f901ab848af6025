// Bilinear resize of decoded pixels directly into a batch's slot. Images are HWC, RGB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cnntrain/data/settings.h"
#include "data/images/jpeg.h"

namespace cnntrain::data {

/// The size after the shorter side is resized to `shorter`: ratio in float32, sides truncated (so that the result may
/// be shorter - 1), but at least `least`.
ImageSize aspect_preserving_size(ImageSize size, std::int64_t shorter, std::int64_t least);

struct Resize {
    ImageSize full;     // the wanted part is resized to this size
    Rectangle window;   // the part of the result that is stored
    bool flip = false;  // mirror the wanted part left to right first
};

/// One output column: the two source pixels around it.
struct ResizeColumn {
    std::int32_t low;  // byte offsets of two neighbours in a source row
    std::int32_t high;
    float weight;  // weight of the second
};

struct ResizeScratch {
    std::vector<ResizeColumn> columns;
    std::vector<float> rows;
};

/// Bilinear in float32, with source coordinate = destination * in / out (no half-pixel offset, no antialiasing). Each
/// value is lerp_y(lerp_x(top), lerp_x(bottom)). Coordinate p of the full image is at (p + 1/2) / k - 1/2 in a view
/// shrunk by k, which is the same point of the picture. Results do not depend on the processor.
void resize(const PixelView& source, const Resize& how, const PixelFormat& format, std::span<std::byte> out,
            ResizeScratch& scratch);

}  // namespace cnntrain::data
