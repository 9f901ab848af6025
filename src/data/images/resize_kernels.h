// The inner loops of resize(), compiled for every vector width and selected at run time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cnntrain/base/tensor.h"
#include "data/images/resize.h"

namespace cnntrain::data {

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
