#include "data/images/image_file.h"

#include <algorithm>
#include <array>
#include <condition_variable>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "cnntrain/base/error.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/base/text.h"
#include "data/images/decoders.h"

namespace cnntrain::data {
namespace {

FileFormat known_format(std::span<const std::byte> bytes) {
    const std::optional<FileFormat> format = file_format(bytes);
    if (!format) throw Error(ErrorKind::data, unknown_format_text(bytes));
    return *format;
}

}  // namespace

ImageFile::ImageFile(std::span<const std::byte> bytes, Exif exif, Workspace& workspace)
    : workspace_(workspace),
      format_(known_format(bytes)),
      room_(claimed_size(bytes, format_).value_or(ImageSize{}), decoding_bytes_per_pixel(bytes, format_)) {
    StageClock clock;
    if (exif == Exif::applied) orientation_ = stored_orientation(bytes, format_);
    stored_size_ =
        format_ == FileFormat::jpeg ? workspace.jpeg->open(bytes) : decode_whole(format_, bytes, workspace.pixels);
    workspace.stored_pixels += stored_size_.width * stored_size_.height;
    clock.add_to(workspace.seconds.decode);
}

ImageFile::~ImageFile() {
    constexpr std::size_t kMostHeld = std::size_t{1} << 28;  // a common photo's memory is used again
    if (workspace_.pixels.capacity() > kMostHeld) workspace_.pixels = {};
    if (workspace_.turned.capacity() > kMostHeld) workspace_.turned = {};
}

PixelView ImageFile::stored_view(const Rectangle& part, const DecodeHow& how) const {
    if (format_ == FileFormat::jpeg) return workspace_.jpeg->decode(part, how, workspace_.pixels);
    const std::int64_t row_bytes = stored_size_.width * 3;
    const std::uint8_t* const first = workspace_.pixels.data() + part.top * row_bytes + part.left * 3;
    return {first, row_bytes, {part.height, part.width}, 1, part, part.top, part.left};
}

PixelView ImageFile::decode(const Rectangle& part, const DecodeHow& how) const {
    StageClock clock;
    PixelView view = stored_view(orientation_.stored(part, stored_size_), how);
    if (is_turned()) view = turned_upright(view, orientation_, stored_size_, workspace_.turned);
    clock.add_to(workspace_.seconds.decode);
    return view;
}

namespace {

/// Memory that all threads take for very large images.
struct Taken {
    std::mutex mutex;
    std::condition_variable given_back;
    std::uint64_t bytes = 0;
};

Taken& taken() {
    static Taken all;
    return all;
}

}  // namespace

LargeImage::LargeImage(ImageSize size, std::uint64_t bytes_per_pixel) {
    constexpr std::uint64_t kShareOfMemory = 2;                  // the network and other threads need some, too
    if (!size_problem(size.height, size.width).empty()) return;  // the decoder refuses it
    const std::uint64_t bytes = static_cast<std::uint64_t>(size.height * size.width) * bytes_per_pixel;
    if (bytes <= kMostPixelBytesKept) return;
    Taken& all = taken();
    std::unique_lock lock(all.mutex);
    for (;;) {
        const MemoryLeft left = memory_left();
        if (all.bytes + bytes <= left.bytes / kShareOfMemory) break;
        if (all.bytes == 0) {
            throw Error(ErrorKind::data, "the image claims " + std::to_string(size.width) + " x " +
                                             std::to_string(size.height) + " pixels, which take " + size_text(bytes) +
                                             " to decode, more than half of " + size_text(left.bytes) +
                                             " that the process has " + left.limit);
        }
        all.given_back.wait(lock);
    }
    all.bytes += bytes;
    bytes_ = bytes;
}

LargeImage::~LargeImage() {
    if (bytes_ == 0) return;
    Taken& all = taken();
    {
        const std::lock_guard lock(all.mutex);
        all.bytes -= bytes_;
    }
    all.given_back.notify_all();
}

namespace {

using Bytes = std::span<const std::byte>;
using namespace std::string_view_literals;

constexpr std::uint16_t kOrientationTag = 0x0112;
constexpr std::uint16_t kShort = 3;  // type of a value
constexpr std::string_view kExifBegin = "Exif\0\0"sv;

bool has_at(Bytes file, std::size_t offset, std::string_view text) {
    const auto wanted = std::as_bytes(std::span(text));
    return file.size() >= offset + wanted.size() && std::ranges::equal(file.subspan(offset, wanted.size()), wanted);
}

/// Layout of a directory in a TIFF structure: with 32-bit or with 64-bit offsets.
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
    const bool is_little = has_at(bytes, 0, "II");
    if (!is_little && !has_at(bytes, 0, "MM")) return {};
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
        if (marker == kApp1 && has_at(segment, 0, kExifBegin)) return in_tiff(segment.subspan(kExifBegin.size()));
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
        if (has_at(file, at + 4, "eXIf")) return in_tiff(file.subspan(at + kHead, length));
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
        if (has_at(file, at, "EXIF")) {
            const Bytes exif = file.subspan(at + kHead, length);
            return in_tiff(has_at(exif, 0, kExifBegin) ? exif.subspan(kExifBegin.size()) : exif);
        }
        at += kHead + length + length % 2;
    }
    return {};
}

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

namespace {

/// A mark of a format in the first bytes of a file.
template <typename Meaning> struct Mark {
    Meaning meaning;
    std::string_view begin;
    std::size_t offset = 0;
    std::string_view also = {};  // at `offset`

    bool in(Bytes file) const { return has_at(file, 0, begin) && (also.empty() || has_at(file, offset, also)); }
};

constexpr Mark<FileFormat> kRead[] = {
    {FileFormat::jpeg, "\xff\xd8\xff"},    {FileFormat::png, "\x89PNG\r\n\x1a\n"},
    {FileFormat::webp, "RIFF", 8, "WEBP"}, {FileFormat::bmp, "BM"},
    {FileFormat::gif, "GIF87a"},           {FileFormat::gif, "GIF89a"},
    {FileFormat::tiff, "II*\0"sv},         {FileFormat::tiff, "MM\0*"sv},
    {FileFormat::tiff, "II+\0"sv},  // with 64-bit offsets
    {FileFormat::tiff, "MM\0+"sv},         {FileFormat::heic, "", 4, "ftyphei"},
    {FileFormat::heic, "", 4, "ftypmif1"}, {FileFormat::avif, "", 4, "ftypavi"},
};

constexpr Mark<std::string_view> kUnread[] = {
    {"MP4", "", 4, "ftyp"},  {"JPEG XL", "\0\0\0\x0cJXL "sv},
    {"JPEG XL", "\xff\x0a"}, {"JPEG 2000", "\0\0\0\x0cjP  "sv},
    {"Photoshop", "8BPS"},   {"PDF", "%PDF"},
    {"ZIP", "PK\x03\x04"},   {"gzip", "\x1f\x8b"},
    {"HTML", "<!DOCTYPE"},   {"HTML", "<html"},
    {"SVG", "<svg"},         {"XML", "<?xml"},
};

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

std::optional<ImageSize> size_of_jpeg(Bytes head) {
    const auto frame = frame_of_jpeg(ByteOrder(head, std::endian::big));
    return frame ? std::optional(frame->size) : std::nullopt;
}

std::optional<ImageSize> size_of_png(Bytes head) {
    const ByteOrder bytes(head, std::endian::big);
    return bytes.holds(0, 24) ? std::optional(ImageSize{bytes.u32(20), bytes.u32(16)}) : std::nullopt;
}

std::optional<ImageSize> size_of_gif(Bytes head) {
    const ByteOrder bytes(head, std::endian::little);
    return bytes.holds(0, 10) ? std::optional(ImageSize{bytes.u16(8), bytes.u16(6)}) : std::nullopt;
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

std::optional<ImageSize> size_of_webp(Bytes file) {
    const ByteOrder head(file, std::endian::little);
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

/// The largest of the sizes in the boxes "ispe" (ISO/IEC 23008-12): the others are of tiles and small copies.
std::optional<ImageSize> size_of_heif(Bytes file) {
    constexpr std::string_view kBox = "ispe";
    constexpr std::size_t kVersion = 4;
    const ByteOrder bytes(file, std::endian::big);
    const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
    const auto pixels = [](const ImageSize& size) {  // of sides below 2^32
        return static_cast<std::uint64_t>(size.height) * static_cast<std::uint64_t>(size.width);
    };
    std::optional<ImageSize> largest;
    for (std::size_t at = text.find(kBox); at != std::string_view::npos; at = text.find(kBox, at + 1)) {
        const std::size_t width = at + kBox.size() + kVersion;
        if (!bytes.holds(width, 8)) break;
        const ImageSize size{bytes.u32(width + 4), bytes.u32(width)};
        if (!largest || pixels(size) > pixels(*largest)) largest = size;
    }
    return largest;
}

struct FormatRow {
    FileFormat format;
    std::string_view name;
    std::string_view missing;  // package
    ImageSize (*decode)(Bytes file, std::vector<std::uint8_t>& pixels);
    std::optional<ImageSize> (*claimed_size)(Bytes head);
    Orientation (*orientation)(Bytes file) = nullptr;  // null: decoded images are upright
};

constexpr FormatRow kFormats[] = {
    {FileFormat::jpeg, "JPEG", "", nullptr, size_of_jpeg, in_jpeg},
    {FileFormat::png, "PNG", "", decode_png, size_of_png, in_png},
    {FileFormat::webp, "WebP", kMissingWebp, decode_webp, size_of_webp, in_webp},
    {FileFormat::bmp, "BMP", "", decode_bmp, size_of_bmp},
    {FileFormat::gif, "GIF", kMissingGif, decode_gif, size_of_gif},
    {FileFormat::tiff, "TIFF", kMissingTiff, decode_tiff, size_of_tiff, in_tiff},
    {FileFormat::heic, "HEIC", kMissingHeif, decode_heif, size_of_heif},  // turned by libheif
    {FileFormat::avif, "AVIF", kMissingHeif, decode_heif, size_of_heif},
};

const FormatRow& row_of(FileFormat format) {
    return *std::ranges::find(kFormats, format, &FormatRow::format);
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
    return row_of(format).claimed_size(head);
}

Orientation stored_orientation(Bytes file, FileFormat format) {
    const auto orientation = row_of(format).orientation;
    return orientation != nullptr ? orientation(file) : Orientation();
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
