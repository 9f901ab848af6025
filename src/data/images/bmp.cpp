#include <algorithm>
#include <array>
#include <bit>
#include <string>

#include "cnntrain/base/error.h"
#include "data/images/decoders.h"
#include "data/images/image_ops.h"
#include "data/images/rgb_buffer.h"

namespace cnntrain::data {
namespace {

constexpr std::size_t kFileHeader = 14;
constexpr std::size_t kCoreHeader = 12;   // of OS/2: 16-bit sides, palette entries of 3 bytes
constexpr std::size_t kInfoHeader = 40;   // the shortest of Windows
constexpr std::size_t kAlphaHeader = 56;  // the shortest with a mask of alpha
constexpr std::size_t kMasksAt = kFileHeader + kInfoHeader;

// Compressions.
constexpr std::uint32_t kPlain = 0, kRuns8 = 1, kRuns4 = 2, kMasks = 3, kAlphaMasks = 6;

[[noreturn]] void fail_bmp(const std::string& what) {
    throw Error(ErrorKind::data, "the BMP file " + what);
}

/// One channel of a pixel of 16 or 32 bits.
struct Channel {
    std::uint32_t mask = 0;
    int shift = 0;
    std::uint32_t most = 0;

    explicit Channel(std::uint32_t bits)
        : mask(bits), shift(bits == 0 ? 0 : std::countr_zero(bits)), most(bits == 0 ? 0 : bits >> shift) {}

    std::uint8_t of(std::uint32_t pixel) const {
        if (mask == 0) return 0;
        return static_cast<std::uint8_t>(std::uint64_t{(pixel & mask) >> shift} * 255 / most);
    }
};

using Colour = std::array<std::uint8_t, 3>;

struct BmpHeader {
    ImageSize size;
    bool top_down = false;
    int bits = 0;
    std::uint32_t compression = kPlain;
    std::size_t pixels_at = 0;
    std::array<std::uint32_t, 4> masks = {};  // red, green, blue, alpha
    std::vector<Colour> palette = {};
};

struct Sides {
    ImageSize size;
    bool top_down;
};

Sides sides(ByteOrder file, std::size_t header_bytes) {
    if (header_bytes == kCoreHeader) return {{file.u16(20), file.u16(18)}, false};
    const auto height = static_cast<std::int32_t>(file.u32(22));
    const auto width = static_cast<std::int32_t>(file.u32(18));
    return {{height < 0 ? -std::int64_t{height} : height, width}, height < 0};
}

void read_masks(ByteOrder file, std::size_t header_bytes, BmpHeader& header) {
    if (header.compression == kMasks || header.compression == kAlphaMasks) {
        const bool has_alpha = header_bytes >= kAlphaHeader || header.compression == kAlphaMasks;
        const std::size_t count = has_alpha ? 4 : 3;
        if (!file.holds(kMasksAt, 4 * count)) fail_bmp("ends in its header");
        for (std::size_t i = 0; i < count; ++i)
            header.masks[i] = file.u32(kMasksAt + 4 * i);
    } else if (header.bits == 16) {
        header.masks = {0x7c00, 0x03e0, 0x001f, 0};
    } else {
        header.masks = {0xff0000, 0x00ff00, 0x0000ff, 0};
    }
}

/// Entries that the file lacks are black.
void read_palette(ByteOrder file, std::size_t header_bytes, BmpHeader& header) {
    const std::size_t entry = header_bytes == kCoreHeader ? 3 : 4;
    std::size_t at = kFileHeader + header_bytes;
    if (header_bytes == kInfoHeader && header.compression == kMasks) at += 12;
    std::size_t count = std::size_t{1} << header.bits;
    if (header_bytes != kCoreHeader && file.u32(46) != 0) count = std::min<std::size_t>(count, file.u32(46));
    header.palette.resize(256);
    for (std::size_t i = 0; i < count && file.holds(at, 3) && at + entry <= header.pixels_at; ++i, at += entry)
        header.palette[i] = {file.u8(at + 2), file.u8(at + 1), file.u8(at)};
}

BmpHeader read_header(std::span<const std::byte> bytes) {
    const ByteOrder file(bytes, std::endian::little);
    if (!file.holds(0, kFileHeader + kCoreHeader)) fail_bmp("ends in its header");
    const std::size_t header_bytes = file.u32(kFileHeader);
    if (header_bytes != kCoreHeader && header_bytes < kInfoHeader)
        fail_bmp("has a header of " + std::to_string(header_bytes) + " bytes, expected 12, 40 or more");
    if (!file.holds(kFileHeader, header_bytes)) fail_bmp("ends in its header");
    BmpHeader header;
    const Sides found = sides(file, header_bytes);
    header.size = found.size;
    header.top_down = found.top_down;
    header.pixels_at = file.u32(10);
    const bool is_core = header_bytes == kCoreHeader;
    header.bits = file.u16(is_core ? 24 : 28);
    if (!is_core) header.compression = file.u32(30);
    const bool known_bits = header.bits == 1 || header.bits == 4 || header.bits == 8 || header.bits == 16 ||
                            header.bits == 24 || header.bits == 32;
    if (!known_bits) fail_bmp("has " + std::to_string(header.bits) + " bits a pixel, expected 1, 4, 8, 16, 24 or 32");
    const bool has_masks = header.compression == kMasks || header.compression == kAlphaMasks;
    const bool fits = header.compression == kPlain || (header.compression == kRuns8 && header.bits == 8) ||
                      (header.compression == kRuns4 && header.bits == 4) ||
                      (has_masks && (header.bits == 16 || header.bits == 32));
    if (!fits) {
        fail_bmp("has compression " + std::to_string(header.compression) + " with " + std::to_string(header.bits) +
                 " bits a pixel, which is not read");
    }
    read_masks(file, header_bytes, header);
    if (header.bits <= 8) read_palette(file, header_bytes, header);
    return header;
}

/// Writes the pixels of a row; `out` has three bytes each, or four with alpha.
void unpack_row(const BmpHeader& header, ByteOrder row, std::size_t at, std::uint8_t* out) {
    const auto width = static_cast<std::size_t>(header.size.width);
    if (header.bits <= 8) {
        const auto bits = static_cast<std::size_t>(header.bits);
        for (std::size_t x = 0; x < width; ++x) {
            const std::size_t bit = x * bits;
            const unsigned byte = row.u8(at + bit / 8);
            const unsigned index = byte >> (8 - bits - bit % 8) & ((1U << bits) - 1);
            std::ranges::copy(header.palette[index], out + 3 * x);
        }
        return;
    }
    if (header.bits == 24) {
        for (std::size_t x = 0; x < width; ++x, at += 3)
            std::ranges::copy(Colour{row.u8(at + 2), row.u8(at + 1), row.u8(at)}, out + 3 * x);
        return;
    }
    const std::array<Channel, 4> channels = {Channel(header.masks[0]), Channel(header.masks[1]),
                                             Channel(header.masks[2]), Channel(header.masks[3])};
    const std::size_t count = header.masks[3] == 0 ? 3 : 4;
    for (std::size_t x = 0; x < width; ++x) {
        const std::uint32_t pixel = header.bits == 16 ? row.u16(at + 2 * x) : row.u32(at + 4 * x);
        for (std::size_t channel = 0; channel < count; ++channel)
            out[count * x + channel] = channels[channel].of(pixel);
    }
}

void unpack(const BmpHeader& header, ByteOrder file, std::uint8_t* out, std::size_t channels) {
    const auto height = static_cast<std::size_t>(header.size.height);
    const auto width = static_cast<std::size_t>(header.size.width);
    const std::size_t row_bytes = (width * static_cast<std::size_t>(header.bits) + 31) / 32 * 4;
    if (!file.holds(header.pixels_at, row_bytes * height)) {
        fail_bmp("ends early: expected " + std::to_string(row_bytes * height) + " bytes of pixels from byte " +
                 std::to_string(header.pixels_at) + " on, the file has " + std::to_string(file.size()));
    }
    for (std::size_t i = 0; i < height; ++i) {
        const std::size_t row = header.top_down ? i : height - 1 - i;
        unpack_row(header, file, header.pixels_at + i * row_bytes, out + row * width * channels);
    }
}

/// Programs that know no alpha leave it 0 everywhere.
void make_opaque_if_empty(std::uint8_t* rgba, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
        if (rgba[4 * i + 3] != 0) return;
    }
    for (std::size_t i = 0; i < count; ++i)
        rgba[4 * i + 3] = 255;
}

/// Decodes runs of pixels, from the bottom row up. Pixels that no run sets have the palette's first colour.
class Runs {
public:
    Runs(const BmpHeader& header, ByteOrder file, std::uint8_t* out)
        : header_(header), file_(file), at_(header.pixels_at), out_(out) {}

    void decode() {
        const std::size_t count = static_cast<std::size_t>(header_.size.height * header_.size.width);
        for (std::size_t i = 0; i < count; ++i)
            std::ranges::copy(header_.palette[0], out_ + 3 * i);
        for (;;) {
            const unsigned length = next();
            const unsigned value = next();
            if (length > 0) {
                for (unsigned i = 0; i < length; ++i)
                    put(index_of(value, i));
            } else if (value == kEndOfRow) {
                x_ = 0;
                ++row_;
            } else if (value == kEnd) {
                return;
            } else if (value == kMove) {
                x_ += next();
                row_ += next();
            } else {
                literal(value);
            }
        }
    }

private:
    static constexpr unsigned kEndOfRow = 0, kEnd = 1, kMove = 2;

    unsigned next() {
        if (!file_.holds(at_, 1)) fail_bmp("ends in its pixels");
        return file_.u8(at_++);
    }
    /// Pixel `i` of those that a byte, or a repeated byte, holds.
    unsigned index_of(unsigned byte, unsigned i) const {
        if (header_.bits == 8) return byte;
        return i % 2 == 0 ? byte >> 4 : byte & 0x0f;
    }
    void literal(unsigned count) {
        const std::size_t begin = at_;
        unsigned byte = 0;
        for (unsigned i = 0; i < count; ++i) {
            if (header_.bits == 8 || i % 2 == 0) byte = next();
            put(index_of(byte, i));
        }
        at_ += (at_ - begin) % 2;
    }
    /// Pixels beyond the image are dropped.
    void put(unsigned index) {
        if (x_ >= header_.size.width || row_ >= header_.size.height) return;
        const std::int64_t row = header_.top_down ? row_ : header_.size.height - 1 - row_;
        std::ranges::copy(header_.palette[index], out_ + (row * header_.size.width + x_) * 3);
        ++x_;
    }

    const BmpHeader& header_;
    ByteOrder file_;
    std::size_t at_;
    std::uint8_t* out_;
    std::int64_t x_ = 0;
    std::int64_t row_ = 0;
};

}  // namespace

std::optional<ImageSize> size_of_bmp(std::span<const std::byte> head) {
    const ByteOrder file(head, std::endian::little);
    if (!file.holds(0, kFileHeader + kCoreHeader)) return std::nullopt;
    return sides(file, file.u32(kFileHeader)).size;
}

ImageSize decode_bmp(std::span<const std::byte> bytes, std::vector<std::uint8_t>& pixels) {
    const BmpHeader header = read_header(bytes);
    const ByteOrder file(bytes, std::endian::little);
    const bool has_alpha = header.bits > 8 && header.masks[3] != 0;
    const std::size_t channels = has_alpha ? 4 : 3;
    std::uint8_t* const out = room_for(header.size, pixels, static_cast<std::int64_t>(channels));
    if (header.compression == kRuns8 || header.compression == kRuns4) {
        Runs(header, file, out).decode();
    } else {
        unpack(header, file, out, channels);
    }
    if (has_alpha) {
        const auto count = static_cast<std::size_t>(header.size.height * header.size.width);
        make_opaque_if_empty(out, count);
        onto_white(pixels, count);
    }
    return header.size;
}

}  // namespace cnntrain::data
