#include "data/images/orientation.h"

#include <algorithm>
#include <array>
#include <utility>

#include "data/images/rgb_buffer.h"

namespace cnntrain::data {
namespace {

/// The range of a view in one dimension of the stored image.
struct Extent {
    std::int64_t first;  // of the view, in shrunken pixels
    std::int64_t count;
    std::int64_t part_first;  // in full pixels
    std::int64_t part_count;
};

/// The same range counted from the other end of the shrunken image.
Extent reversed(const Extent& extent, std::int64_t side, int shrink) {
    const std::int64_t shrunken = (side + shrink - 1) / shrink;
    return {shrunken - extent.first - extent.count, extent.count,
            shrunken * shrink - extent.part_first - extent.part_count, extent.part_count};
}

void copy_pixel(const std::uint8_t* from, std::uint8_t* to) {
    to[0] = from[0];
    to[1] = from[1];
    to[2] = from[2];
}

/// Copies in square blocks, so that both sides of a transposition stay in the cache. `first` is the source of the first
/// pixel; the steps lead to the sources of the next row and column.
void copy_turned(const std::uint8_t* first, std::int64_t row_step, std::int64_t column_step, ImageSize size,
                 std::uint8_t* out) {
    constexpr std::int64_t kBlock = 32;
    for (std::int64_t top = 0; top < size.height; top += kBlock) {
        const std::int64_t bottom = std::min(top + kBlock, size.height);
        for (std::int64_t left = 0; left < size.width; left += kBlock) {
            const std::int64_t right = std::min(left + kBlock, size.width);
            for (std::int64_t y = top; y < bottom; ++y) {
                for (std::int64_t x = left; x < right; ++x)
                    copy_pixel(first + y * row_step + x * column_step, out + (y * size.width + x) * 3);
            }
        }
    }
}

}  // namespace

Orientation Orientation::from_exif(int value) {
    constexpr std::array<Orientation, 8> kByValue = {{{false, false, false},
                                                      {false, false, true},
                                                      {false, true, true},
                                                      {false, true, false},
                                                      {true, false, false},
                                                      {true, true, false},
                                                      {true, true, true},
                                                      {true, false, true}}};
    return value >= 1 && value <= 8 ? kByValue[static_cast<std::size_t>(value - 1)] : Orientation();
}

Rectangle Orientation::stored(const Rectangle& part, ImageSize stored) const {
    Rectangle result = part;
    if (transposed) result = {part.left, part.top, part.width, part.height};
    if (rows_reversed) result.top = stored.height - result.top - result.height;
    if (columns_reversed) result.left = stored.width - result.left - result.width;
    return result;
}

PixelView turned_upright(const PixelView& view, Orientation orientation, ImageSize stored,
                         std::vector<std::uint8_t>& buffer) {
    Extent rows{view.top, view.size.height, view.part.top, view.part.height};
    Extent columns{view.left, view.size.width, view.part.left, view.part.width};
    const std::uint8_t* first = view.pixels;
    std::int64_t row_step = view.row_bytes;
    std::int64_t column_step = 3;
    if (orientation.rows_reversed) {
        rows = reversed(rows, stored.height, view.shrink);
        first += (view.size.height - 1) * view.row_bytes;
        row_step = -row_step;
    }
    if (orientation.columns_reversed) {
        columns = reversed(columns, stored.width, view.shrink);
        first += (view.size.width - 1) * 3;
        column_step = -column_step;
    }
    if (orientation.transposed) {
        std::swap(rows, columns);
        std::swap(row_step, column_step);
    }
    const ImageSize size{rows.count, columns.count};
    std::uint8_t* const pixels = room_for(static_cast<std::size_t>(size.height * size.width) * 3, buffer);
    copy_turned(first, row_step, column_step, size, pixels);
    return {.pixels = pixels,
            .row_bytes = size.width * 3,
            .size = size,
            .shrink = view.shrink,
            .part = {rows.part_first, columns.part_first, rows.part_count, columns.part_count},
            .top = rows.first,
            .left = columns.first};
}

}  // namespace cnntrain::data
