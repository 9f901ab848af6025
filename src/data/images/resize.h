// Bilinear resize of decoded pixels directly into a batch's slot. Images are HWC, RGB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "cnntrain/base/tensor.h"
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

// Antialiased resize of 8-bit RGB images to the levels that Pillow computes, and so torchvision on Pillow images.

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

// The inner loops of resize(), compiled for every vector width and selected at run time.

/// Horizontal interpolation of one source row: out[3 * i + c] = low + (high - low) * weight. Reads 4 bytes at each
/// pixel and writes 4 values per column, so `out` needs room for one extra value.
void interpolate_row(const std::uint8_t* source, const ResizeColumn* columns, std::size_t count, float* out);

/// Two rows made by interpolate_row(), `count` values each, and how to convert them to pixels.
struct RowBlend {
    const float* top = nullptr;
    const float* bottom = nullptr;
    float weight = 0;              // of the bottom row
    const float* scale = nullptr;  // with shift: one per value; null: values stay in 0..255
    const float* shift = nullptr;
    std::size_t count = 0;
};

/// Output in float32; bfloat16, rounded to nearest even; or uint8, truncated and clamped.
void blend_rows(const RowBlend& rows, float* out);
void blend_rows(const RowBlend& rows, BFloat16* out);
void blend_rows(const RowBlend& rows, std::uint8_t* out);

}  // namespace cnntrain::data
