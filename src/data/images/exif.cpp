#include "data/images/exif.h"

#include <algorithm>
#include <string_view>

#include "data/images/byte_order.h"

namespace cnntrain::data {
namespace {

using Bytes = std::span<const std::byte>;
using namespace std::string_view_literals;

constexpr std::uint16_t kOrientationTag = 0x0112;
constexpr std::uint16_t kShort = 3;  // type of a value
constexpr std::string_view kExifBegin = "Exif\0\0"sv;

bool begins_with(Bytes bytes, std::string_view text) {
    const auto wanted = std::as_bytes(std::span(text));
    return bytes.size() >= wanted.size() && std::ranges::equal(bytes.first(wanted.size()), wanted);
}

/// How a TIFF structure lays out a directory: with 32-bit or with 64-bit offsets.
struct Layout {
    std::size_t directory_at;  // where the offset of the first directory is
    std::size_t offset_bytes;
    std::size_t count_bytes;
    std::size_t entry_bytes;
    std::size_t value_at;  // in an entry
};
constexpr Layout kClassic = {4, 4, 2, 12, 8};
constexpr Layout kBig = {8, 8, 8, 20, 12};

/// Exif data are a TIFF structure: its first directory has the orientation.
Orientation in_tiff(Bytes bytes) {
    const bool is_little = begins_with(bytes, "II");
    if (!is_little && !begins_with(bytes, "MM")) return {};
    const ByteOrder tiff(bytes, is_little ? std::endian::little : std::endian::big);
    if (!tiff.holds(0, 16)) return {};
    const std::uint16_t version = tiff.u16(2);
    if (version != 42 && version != 43) return {};
    const Layout& layout = version == 42 ? kClassic : kBig;
    const auto word = [&](std::size_t at, std::size_t count) -> std::uint64_t {
        return count == 2 ? tiff.u16(at) : count == 4 ? tiff.u32(at) : tiff.u64(at);
    };
    const std::uint64_t directory = word(layout.directory_at, layout.offset_bytes);
    if (!tiff.holds(directory, layout.count_bytes)) return {};
    const std::uint64_t count = word(directory, layout.count_bytes);
    std::uint64_t at = directory + layout.count_bytes;
    for (std::uint64_t i = 0; i < count && tiff.holds(at, layout.entry_bytes); ++i, at += layout.entry_bytes) {
        if (tiff.u16(at) != kOrientationTag) continue;
        return tiff.u16(at + 2) == kShort ? Orientation::from_exif(tiff.u16(at + layout.value_at)) : Orientation();
    }
    return {};
}

Orientation in_jpeg(Bytes file) {
    const ByteOrder jpeg(file, std::endian::big);
    for (std::size_t at = 2; jpeg.holds(at, 4) && jpeg.u8(at) == 0xff;) {
        const unsigned marker = jpeg.u8(at + 1);
        if (marker == 0xff) {
            ++at;  // padding
            continue;
        }
        constexpr unsigned kScan = 0xda, kEnd = 0xd9, kApp1 = 0xe1;
        const std::size_t length = jpeg.u16(at + 2);
        if (marker == kScan || marker == kEnd || length < 2 || !jpeg.holds(at + 2, length)) break;
        const Bytes segment = file.subspan(at + 4, length - 2);
        if (marker == kApp1 && begins_with(segment, kExifBegin)) return in_tiff(segment.subspan(kExifBegin.size()));
        at += 2 + length;
    }
    return {};
}

Orientation in_png(Bytes file) {
    constexpr std::size_t kSignature = 8, kHead = 8, kChecksum = 4;
    const ByteOrder png(file, std::endian::big);
    for (std::size_t at = kSignature; png.holds(at, kHead);) {
        const std::size_t length = png.u32(at);
        if (!png.holds(at + kHead, length)) break;
        if (begins_with(file.subspan(at + 4), "eXIf")) return in_tiff(file.subspan(at + kHead, length));
        at += kHead + length + kChecksum;
    }
    return {};
}

Orientation in_webp(Bytes file) {
    constexpr std::size_t kFirstChunk = 12, kHead = 8;
    const ByteOrder riff(file, std::endian::little);
    for (std::size_t at = kFirstChunk; riff.holds(at, kHead);) {
        const std::size_t length = riff.u32(at + 4);
        if (!riff.holds(at + kHead, length)) break;
        if (begins_with(file.subspan(at), "EXIF")) {
            const Bytes exif = file.subspan(at + kHead, length);
            return in_tiff(begins_with(exif, kExifBegin) ? exif.subspan(kExifBegin.size()) : exif);
        }
        at += kHead + length + length % 2;
    }
    return {};
}

}  // namespace

Orientation stored_orientation(Bytes file, FileFormat format) {
    switch (format) {
        case FileFormat::jpeg:
            return in_jpeg(file);
        case FileFormat::png:
            return in_png(file);
        case FileFormat::webp:
            return in_webp(file);
        case FileFormat::tiff:
            return in_tiff(file);
        case FileFormat::bmp:
        case FileFormat::gif:
            break;
    }
    return {};
}

}  // namespace cnntrain::data
