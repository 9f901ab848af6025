// Bilinear resize of decoded pixels straight into a batch's slot. Images are HWC, RGB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cnntrain/data/settings.h"
#include "data/images/jpeg.h"

namespace cnntrain::data {

/// Sides after resizing so that the shorter one becomes `shorter`: ratio in float32, sides truncated (so that rounding
/// may give shorter - 1), but at least `least`.
ImageSize aspect_preserving_size(ImageSize size, std::int64_t shorter, std::int64_t least);

/// Evaluation: the shorter side for images of side S, floor(S * 256 / 224).
constexpr std::int64_t evaluation_shorter_side(std::int64_t image_size) {
    return image_size * 256 / 224;
}

struct Resize {
    ImageSize full;     // the wanted part is resized to this
    Rectangle window;   // and this part of the result is stored
    bool flip = false;  // the wanted part is mirrored left to right first
};

/// One output column: the source pixels it lies between.
struct ResizeColumn {
    std::int32_t low;  // byte offsets of two neighbours in a source row
    std::int32_t high;
    float weight;  // of the second
};

struct ResizeScratch {
    std::vector<ResizeColumn> columns;
    std::vector<float> rows;
};

/// Bilinear, source coordinate = destination * in / out (no half-pixel offset, no antialiasing), in float32; each
/// value is lerp_y(lerp_x(top), lerp_x(bottom)). In a view shrunk by k the coordinate p of the full image lies at
/// (p + 1/2) / k - 1/2, the same place of the photograph. Results do not depend on the processor.
void resize(const PixelView& source, const Resize& how, const PixelFormat& format, std::span<std::byte> out,
            ResizeScratch& scratch);

}  // namespace cnntrain::data
