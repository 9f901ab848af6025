// Tiles of images as Winograd's filtering sees them, before and after their transforms.
#pragma once

#include <algorithm>
#include <cstdint>

#include "backend/cpu/kernels/conv.h"

namespace cnntrain::cpu {

inline constexpr std::int64_t kBlock = kWinogradChannels;
inline constexpr std::int64_t kOut = 4;   // pixels of y in a row of a tile
inline constexpr std::int64_t kIn = 6;    // pixels of x
inline constexpr std::int64_t kTaps = 3;  // elements in a row of a kernel
inline constexpr std::int64_t kPlaces = kIn * kIn;

/// Tiles of one place and all blocks of channels lie `place_floats()` apart. That is an odd number of cache lines, so
/// that the places of a tile do not evict each other from the first-level cache.
struct Transformed {
    float* data = nullptr;
    std::int64_t blocks = 0, tiles = 0;

    static std::int64_t place_floats(std::int64_t blocks, std::int64_t tiles) {
        return (blocks * tiles + (blocks * tiles + 1) % 2) * kBlock;
    }
    std::int64_t place_floats() const { return place_floats(blocks, tiles); }
    std::int64_t floats() const { return kPlaces * place_floats(); }
    std::int64_t offset(std::int64_t block, std::int64_t tile) const { return (block * tiles + tile) * kBlock; }
};

/// Tiles `first` ... `first + count - 1` of all samples, row by row.
struct TileRange {
    std::int64_t first = 0, count = 0;
};

/// A tensor whose blocks of channels are cut into tiles, tile (0, 0) of which begins at pixel (-top, -left).
template <typename T> struct TiledPicture {
    const Picture* picture = nullptr;
    std::int64_t tile_rows = 0, tile_columns = 0;  // in a sample
    std::int64_t top = 0, left = 0;
    T* data = nullptr;
};

/// The part of a tile, or of adjacent tiles, that lies inside the image, in pixels from the first one.
struct Inside {
    std::int64_t top = 0, bottom = 0, left = 0, right = 0;
    bool has(std::int64_t row, std::int64_t column) const {
        return row >= top && row < bottom && column >= left && column < right;
    }
};

/// Adjacent tiles of a row that are transformed together; their pixels stay in a first-level cache.
inline constexpr std::int64_t kMostTilesInRun = 8;

/// Position of sixteen channels of a tile: its pixel (row, column) is at offset + row * row_apart + column *
/// column_apart, the second eight channels half_apart further on.
struct TilePosition {
    std::int64_t offset = 0, row_apart = 0, column_apart = 0, half_apart = 0;
    Inside inside;
    std::int64_t at(std::int64_t row, std::int64_t column, std::int64_t channel) const {
        constexpr std::int64_t kHalf = kBlock / 2;
        return offset + row * row_apart + column * column_apart +
               (channel < kHalf ? channel : half_apart + channel - kHalf);
    }
};

/// The position of rows x columns pixels that begin with the pixels of a tile.
template <typename T> TilePosition position_of(const TiledPicture<T>& tiled, std::int64_t tile, std::int64_t block,
                                               std::int64_t rows, std::int64_t columns) {
    const Picture& picture = *tiled.picture;
    const std::int64_t sample = tile / (tiled.tile_rows * tiled.tile_columns);
    const std::int64_t row = tile / tiled.tile_columns % tiled.tile_rows * kOut - tiled.top;
    const std::int64_t column = tile % tiled.tile_columns * kOut - tiled.left;
    const std::int64_t lanes = picture.shape.lanes;
    const std::int64_t channel = block * kBlock;
    const std::int64_t second = channel + kBlock / 2;
    const std::int64_t begin = picture.shape.offset(sample, channel / lanes, 0) + channel % lanes;
    TilePosition position;
    position.row_apart = picture.width * lanes;
    position.column_apart = lanes;
    position.offset = begin + row * position.row_apart + column * position.column_apart;
    position.half_apart = picture.shape.offset(sample, second / lanes, 0) + second % lanes - begin;
    position.inside = {std::max<std::int64_t>(0, -row), std::min(rows, picture.height - row),
                       std::max<std::int64_t>(0, -column), std::min(columns, picture.width - column)};
    return position;
}

inline std::int64_t blocks_of(std::int64_t channels) {
    return channels / kBlock;
}

/// A picture of this convolution; tiles of y begin at pixel (0, 0), tiles of x at (-shape.top, -shape.left).
template <typename T> TiledPicture<T> tiled(const WinogradShape& shape, const Picture& picture, T* data,
                                            std::int64_t top = 0, std::int64_t left = 0) {
    return {&picture, ceil_div(shape.y.height, kOut), ceil_div(shape.y.width, kOut), top, left, data};
}

}  // namespace cnntrain::cpu
