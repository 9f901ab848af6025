// The inner loops of resize(), compiled for every vector width and chosen at run time.
#pragma once

#include <cstddef>
#include <cstdint>

#include "cnntrain/base/tensor.h"
#include "data/images/resize.h"

namespace cnntrain::data {

/// One source row across: out[3 * i + c] = low + (high - low) * weight. Reads 4 bytes at each pixel and writes 4 values
/// for each column, so `out` has room for one value more.
void interpolate_row(const std::uint8_t* source, const ResizeColumn* columns, std::size_t count, float* out);

/// Two rows that interpolate_row() made, `count` values each, and how they become pixels.
struct RowBlend {
    const float* top = nullptr;
    const float* bottom = nullptr;
    float weight = 0;              // of the bottom row
    const float* scale = nullptr;  // with shift, one for each value; null: values stay in 0..255
    const float* shift = nullptr;
    std::size_t count = 0;
};

/// float32; bfloat16, nearest even; or uint8, truncated and clamped.
void blend_rows(const RowBlend& rows, float* out);
void blend_rows(const RowBlend& rows, BFloat16* out);
void blend_rows(const RowBlend& rows, std::uint8_t* out);

}  // namespace cnntrain::data
