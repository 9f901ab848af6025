#include "data/images/file_format.h"

#include <algorithm>

#include "cnntrain/base/error.h"
#include "data/images/decoders.h"

namespace cnntrain::data {
namespace {

using Bytes = std::span<const std::byte>;

bool has_at(Bytes file, std::size_t offset, std::string_view text) {
    const auto wanted = std::as_bytes(std::span(text));
    return file.size() >= offset + wanted.size() && std::ranges::equal(file.subspan(offset, wanted.size()), wanted);
}

/// A mark of a format in the first bytes of a file.
template <typename Meaning> struct Mark {
    Meaning meaning;
    std::string_view begin;
    std::size_t offset = 0;
    std::string_view also = {};  // at `offset`

    bool in(Bytes file) const { return has_at(file, 0, begin) && (also.empty() || has_at(file, offset, also)); }
};

using namespace std::string_view_literals;

constexpr Mark<FileFormat> kRead[] = {
    {FileFormat::jpeg, "\xff\xd8\xff"},    {FileFormat::png, "\x89PNG\r\n\x1a\n"},
    {FileFormat::webp, "RIFF", 8, "WEBP"}, {FileFormat::bmp, "BM"},
    {FileFormat::gif, "GIF87a"},           {FileFormat::gif, "GIF89a"},
    {FileFormat::tiff, "II*\0"sv},         {FileFormat::tiff, "MM\0*"sv},
    {FileFormat::tiff, "II+\0"sv},  // with 64-bit offsets
    {FileFormat::tiff, "MM\0+"sv},
};

constexpr Mark<std::string_view> kUnread[] = {
    {"HEIC", "", 4, "ftyphei"},
    {"HEIC", "", 4, "ftypmif1"},
    {"AVIF", "", 4, "ftypavi"},
    {"MP4", "", 4, "ftyp"},
    {"JPEG XL", "\0\0\0\x0cJXL "sv},
    {"JPEG XL", "\xff\x0a"},
    {"JPEG 2000", "\0\0\0\x0cjP  "sv},
    {"Photoshop", "8BPS"},
    {"PDF", "%PDF"},
    {"ZIP", "PK\x03\x04"},
    {"gzip", "\x1f\x8b"},
    {"HTML", "<!DOCTYPE"},
    {"HTML", "<html"},
    {"SVG", "<svg"},
    {"XML", "<?xml"},
};

struct FormatRow {
    FileFormat format;
    std::string_view name;
    std::string_view missing;  // package
    ImageSize (*decode)(Bytes file, std::vector<std::uint8_t>& pixels);
};

constexpr FormatRow kFormats[] = {
    {FileFormat::jpeg, "JPEG", "", nullptr},
    {FileFormat::png, "PNG", "", decode_png},
    {FileFormat::webp, "WebP", kMissingWebp, decode_webp},
    {FileFormat::bmp, "BMP", "", decode_bmp},
    {FileFormat::gif, "GIF", kMissingGif, decode_gif},
    {FileFormat::tiff, "TIFF", kMissingTiff, decode_tiff},
};

const FormatRow& row_of(FileFormat format) {
    return *std::ranges::find(kFormats, format, &FormatRow::format);
}

struct JpegFrame {
    ImageSize size;
    bool progressive = false;
};

/// Follows the segments of a JPEG to its frame header.
std::optional<JpegFrame> frame_of_jpeg(ByteOrder head) {
    for (std::size_t at = 2; head.holds(at, 9);) {
        if (head.u8(at) != 0xff) return std::nullopt;
        const unsigned marker = head.u8(at + 1);
        if (marker == 0xff) {
            ++at;  // padding
            continue;
        }
        const bool is_frame = marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
        if (is_frame) return JpegFrame{{head.u16(at + 5), head.u16(at + 7)}, (marker & 3) == 2};
        if (marker == 0xda || marker == 0xd9) return std::nullopt;
        at += 2 + std::size_t{head.u16(at + 2)};
    }
    return std::nullopt;
}

/// Reads the size from the first directory of a file with 32-bit offsets.
std::optional<ImageSize> size_of_tiff(Bytes file) {
    constexpr unsigned kWidth = 256;
    constexpr unsigned kHeight = 257;
    constexpr unsigned kShortValue = 3;
    constexpr std::size_t kEntryBytes = 12;
    if (file.size() < 8) return std::nullopt;
    const ByteOrder bytes(file, file[0] == std::byte{'M'} ? std::endian::big : std::endian::little);
    const std::uint64_t directory = bytes.u32(4);
    if (bytes.u16(2) != 42 || !bytes.holds(directory, 2)) return std::nullopt;
    ImageSize size{0, 0};
    const std::size_t entries = bytes.u16(directory);
    for (std::size_t i = 0; i < entries; ++i) {
        const std::uint64_t at = directory + 2 + i * kEntryBytes;
        if (!bytes.holds(at, kEntryBytes)) return std::nullopt;
        const unsigned tag = bytes.u16(at);
        const std::int64_t value = bytes.u16(at + 2) == kShortValue ? bytes.u16(at + 8) : bytes.u32(at + 8);
        if (tag == kWidth) size.width = value;
        if (tag == kHeight) size.height = value;
    }
    return size.width > 0 && size.height > 0 ? std::optional(size) : std::nullopt;
}

std::optional<ImageSize> size_of_webp(ByteOrder head) {
    if (!head.holds(0, 30)) return std::nullopt;
    const auto u24 = [&](std::size_t at) { return std::int64_t{head.u16(at)} | std::int64_t{head.u8(at + 2)} << 16; };
    constexpr std::int64_t kSideBits = 0x3fff;
    switch (head.u8(15)) {
        case 'X':
            return ImageSize{u24(27) + 1, u24(24) + 1};
        case 'L': {
            const std::int64_t bits = head.u32(21);
            return ImageSize{(bits >> 14 & kSideBits) + 1, (bits & kSideBits) + 1};
        }
        default:
            return ImageSize{head.u16(28) & kSideBits, head.u16(26) & kSideBits};
    }
}

}  // namespace

std::optional<FileFormat> file_format(Bytes file) {
    for (const Mark<FileFormat>& mark : kRead) {
        if (mark.in(file)) return mark.meaning;
    }
    return std::nullopt;
}

std::string_view format_name(FileFormat format) {
    return row_of(format).name;
}

std::string_view missing_package(FileFormat format) {
    return row_of(format).missing;
}

std::string_view unread_kind(Bytes file) {
    for (const Mark<std::string_view>& mark : kUnread) {
        if (mark.in(file)) return mark.meaning;
    }
    return "";
}

std::string unknown_format_text(Bytes file) {
    if (file.empty()) return "the file is empty";
    std::string formats;
    for (const FormatRow& row : kFormats)
        formats += (formats.empty() ? "" : &row == std::end(kFormats) - 1 ? " or " : ", ") + std::string(row.name);
    const std::string kind(unread_kind(file));
    return "the image is not a " + formats + " file" + (kind.empty() ? "" : ", but a " + kind + " file");
}

std::optional<ImageSize> claimed_size(Bytes head, FileFormat format) {
    const ByteOrder big(head, std::endian::big);
    const ByteOrder little(head, std::endian::little);
    switch (format) {
        case FileFormat::jpeg:
            if (const auto frame = frame_of_jpeg(big)) return frame->size;
            return std::nullopt;
        case FileFormat::png:
            if (!big.holds(0, 24)) return std::nullopt;
            return ImageSize{big.u32(20), big.u32(16)};
        case FileFormat::webp:
            return size_of_webp(little);
        case FileFormat::bmp:
            return size_of_bmp(head);
        case FileFormat::gif:
            if (!little.holds(0, 10)) return std::nullopt;
            return ImageSize{little.u16(8), little.u16(6)};
        case FileFormat::tiff:
            return size_of_tiff(head);
    }
    return std::nullopt;
}

std::uint64_t decoding_bytes_per_pixel(Bytes file, FileFormat format) {
    constexpr std::uint64_t kPixels = 3;
    constexpr std::uint64_t kCoefficients = 6;  // which libjpeg keeps of all scans of a progressive file
    constexpr std::uint64_t kOtherDecoders = 8;
    if (format != FileFormat::jpeg) return kOtherDecoders;
    const auto frame = frame_of_jpeg(ByteOrder(file, std::endian::big));
    return frame && frame->progressive ? kPixels + kCoefficients : kPixels;
}

ImageSize decode_whole(FileFormat format, Bytes file, std::vector<std::uint8_t>& pixels) {
    const FormatRow& row = row_of(format);
    if (!row.missing.empty()) {
        throw Error(ErrorKind::data, "the file is " + std::string(row.name) + ", which this build does not read: " +
                                         std::string(row.missing) + " was missing when it was configured");
    }
    CNNTRAIN_CHECK(row.decode != nullptr, "JPEG files are decoded in parts");
    return row.decode(file, pixels);
}

}  // namespace cnntrain::data
