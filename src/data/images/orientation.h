// Turns images that were stored turned or mirrored.
#pragma once

#include <cstdint>
#include <vector>

#include "data/images/jpeg.h"

namespace cnntrain::data {

/// How the rows and columns of a stored image become those of the upright one.
struct Orientation {
    bool transposed = false;        // upright rows are stored as columns
    bool rows_reversed = false;     // the stored rows, from the last one
    bool columns_reversed = false;  // the stored columns

    bool operator==(const Orientation&) const = default;

    /// Values 1 to 8 of Exif's tag 0x0112; others mean upright.
    static Orientation from_exif(int value);

    /// The size of the upright image.
    ImageSize upright(ImageSize stored) const { return transposed ? ImageSize{stored.width, stored.height} : stored; }
    /// The part of a stored image that shows `part` of the upright one.
    Rectangle stored(const Rectangle& part, ImageSize stored) const;
};

/// Copies a view of a stored image into `buffer`, turned upright. A part of a shrunken view keeps its place to a
/// fraction of a pixel: positions count from where the shrunken image begins, which may lie before the full one.
PixelView turned_upright(const PixelView& view, Orientation orientation, ImageSize stored,
                         std::vector<std::uint8_t>& buffer);

}  // namespace cnntrain::data
