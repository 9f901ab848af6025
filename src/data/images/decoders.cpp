#include "data/images/decoders.h"

#include <png.h>

#ifdef CNNTRAIN_GIF
#include <gif_lib.h>
#endif
#ifdef CNNTRAIN_TIFF
#include <tiffio.h>
#endif
#ifdef CNNTRAIN_WEBP
#include <webp/decode.h>
#include <webp/demux.h>
#endif

#include <algorithm>
#include <array>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "cnntrain/base/error.h"
#include "data/images/preprocess.h"

namespace cnntrain::data {
namespace {

using Bytes = std::span<const std::byte>;

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

void divide_by_alpha(std::uint8_t* rgba, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, rgba += 4) {
        const unsigned alpha = rgba[3];
        if (alpha == 255 || alpha == 0) continue;
        for (int c = 0; c < 3; ++c)
            rgba[c] = static_cast<std::uint8_t>(std::min((rgba[c] * 255U + alpha / 2) / alpha, 255U));
    }
}

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

namespace {

/// libpng's simple interface, whose parts must be freed in any case.
struct PngImage {
    png_image base{};
    PngImage() { base.version = PNG_IMAGE_VERSION; }
    ~PngImage() { png_image_free(&base); }
    PngImage(const PngImage&) = delete;
    PngImage& operator=(const PngImage&) = delete;
};

[[noreturn]] void fail_png(const PngImage& image) {
    throw Error(ErrorKind::data, "the PNG file is damaged: " + std::string(image.base.message));
}

}  // namespace

ImageSize decode_png(std::span<const std::byte> png, std::vector<std::uint8_t>& pixels) {
    PngImage image;
    if (png_image_begin_read_from_memory(&image.base, png.data(), png.size()) == 0) fail_png(image);
    const ImageSize size{image.base.height, image.base.width};
    image.base.format = PNG_FORMAT_RGB;
    image.base.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16-bit files without a gamma are meant as 8-bit ones are
    std::uint8_t* const out = room_for(size, pixels);
    const png_color white = {255, 255, 255};
    if (png_image_finish_read(&image.base, &white, out, 0, nullptr) == 0) fail_png(image);
    return size;
}

#ifdef CNNTRAIN_GIF

namespace {

int read_gif(GifFileType* gif, GifByteType* out, int count) {
    Bytes& bytes = *static_cast<Bytes*>(gif->UserData);
    const std::size_t taken = std::min(bytes.size(), static_cast<std::size_t>(count));
    if (taken > 0) std::memcpy(out, bytes.data(), taken);
    bytes = bytes.subspan(taken);
    return static_cast<int>(taken);
}

[[noreturn]] void fail_gif(int error) {
    const char* const text = GifErrorString(error);
    throw Error(ErrorKind::data, "the GIF file is damaged: " + std::string(text == nullptr ? "unknown error" : text));
}

/// An open file, closed in any case.
class Gif {
public:
    explicit Gif(std::span<const std::byte> file) : unread_(file) {
        int error = 0;
        gif_ = DGifOpen(&unread_, read_gif, &error);
        if (gif_ == nullptr) fail_gif(error);
    }
    ~Gif() {
        int ignored = 0;
        DGifCloseFile(gif_, &ignored);
    }
    Gif(const Gif&) = delete;
    Gif& operator=(const Gif&) = delete;

    GifFileType* operator->() const { return gif_; }
    GifFileType* get() const { return gif_; }
    void check(int status) const {
        if (status == GIF_ERROR) fail_gif(gif_->Error);
    }

    /// Reads up to the first image's pixels. Returns its transparent colour, or NO_TRANSPARENT_COLOR.
    int find_image() const {
        int transparent = NO_TRANSPARENT_COLOR;
        for (;;) {
            GifRecordType type = UNDEFINED_RECORD_TYPE;
            check(DGifGetRecordType(gif_, &type));
            if (type == TERMINATE_RECORD_TYPE) throw Error(ErrorKind::data, "the GIF file holds no image");
            if (type == IMAGE_DESC_RECORD_TYPE) {
                check(DGifGetImageDesc(gif_));
                return transparent;
            }
            if (type == EXTENSION_RECORD_TYPE) read_extension(transparent);
        }
    }

private:
    void read_extension(int& transparent) const {
        int code = 0;
        GifByteType* block = nullptr;
        check(DGifGetExtension(gif_, &code, &block));
        while (block != nullptr) {
            GraphicsControlBlock control;
            if (code == GRAPHICS_EXT_FUNC_CODE && DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
                transparent = control.TransparentColor;
            check(DGifGetExtensionNext(gif_, &block));
        }
    }

    Bytes unread_;
    GifFileType* gif_ = nullptr;
};

/// The rows of an image in the order of the file.
std::vector<int> rows_in_order(int height, bool interlaced) {
    struct Pass {
        int first;
        int step;
    };
    std::vector<int> rows;
    const std::vector<Pass> passes =
        interlaced ? std::vector<Pass>{{0, 8}, {4, 8}, {2, 4}, {1, 2}} : std::vector<Pass>{{0, 1}};
    for (const Pass& pass : passes) {
        for (int row = pass.first; row < height; row += pass.step)
            rows.push_back(row);
    }
    return rows;
}

}  // namespace

ImageSize decode_gif(std::span<const std::byte> file, std::vector<std::uint8_t>& pixels) {
    const Gif gif(file);
    const int transparent = gif.find_image();
    const GifImageDesc& image = gif->Image;
    const ColorMapObject* const map = image.ColorMap != nullptr ? image.ColorMap : gif->SColorMap;
    if (map == nullptr) throw Error(ErrorKind::data, "the GIF file has no palette");
    if (image.Width < 1 || image.Height < 1) throw Error(ErrorKind::data, "the GIF file's first image has no pixels");
    const ImageSize size{std::max(gif->SHeight, image.Top + image.Height),
                         std::max(gif->SWidth, image.Left + image.Width)};
    std::uint8_t* const out = room_for(size, pixels);
    std::fill_n(out, size.height * size.width * 3, std::uint8_t{255});
    std::vector<GifPixelType> line(static_cast<std::size_t>(image.Width));
    for (const int row : rows_in_order(image.Height, image.Interlace)) {
        gif.check(DGifGetLine(gif.get(), line.data(), image.Width));
        std::uint8_t* to = out + ((image.Top + row) * size.width + image.Left) * 3;
        for (const GifPixelType index : line) {
            if (index != transparent && index < map->ColorCount) {
                const GifColorType& colour = map->Colors[index];
                to[0] = colour.Red;
                to[1] = colour.Green;
                to[2] = colour.Blue;
            }
            to += 3;
        }
    }
    return size;
}

#endif

#ifdef CNNTRAIN_TIFF

namespace {

/// Highest number of bytes that libtiff may take at once, for a strip or a tile.
constexpr tmsize_t kMostBytesAtOnce = tmsize_t{1} << 30;

/// The file in memory, and the first message about it.
struct Source {
    Bytes bytes;
    toff_t position = 0;
    std::string message = {};
};

Source& source_of(thandle_t handle) {
    return *static_cast<Source*>(handle);
}

tmsize_t read_tiff(thandle_t handle, void* out, tmsize_t count) {
    Source& source = source_of(handle);
    const toff_t left = source.position < source.bytes.size() ? source.bytes.size() - source.position : 0;
    const auto taken = std::min(static_cast<toff_t>(std::max<tmsize_t>(count, 0)), left);
    if (taken > 0) std::memcpy(out, source.bytes.data() + source.position, taken);
    source.position += taken;
    return static_cast<tmsize_t>(taken);
}

tmsize_t write_nothing(thandle_t /*handle*/, void* /*bytes*/, tmsize_t /*count*/) {
    return 0;
}

toff_t seek(thandle_t handle, toff_t offset, int from) {
    Source& source = source_of(handle);
    const toff_t base = from == SEEK_CUR ? source.position : from == SEEK_END ? source.bytes.size() : 0;
    return source.position = base + offset;
}

int close_nothing(thandle_t /*handle*/) {
    return 0;
}

toff_t size_of(thandle_t handle) {
    return source_of(handle).bytes.size();
}

int on_tiff_error(TIFF* /*tiff*/, void* user, const char* /*module*/, const char* format, va_list values) {
    Source& source = *static_cast<Source*>(user);
    std::array<char, 256> text{};
    std::vsnprintf(text.data(), text.size(), format, values);
    if (source.message.empty()) source.message = text.data();
    return 1;  // the message is not printed
}

int on_warning(TIFF* /*tiff*/, void* /*user*/, const char* /*module*/, const char* /*format*/, va_list /*values*/) {
    return 1;
}

using Tiff = std::unique_ptr<TIFF, decltype(&TIFFClose)>;

Tiff open(Source& source) {
    const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(),
                                                                                   TIFFOpenOptionsFree);
    if (!options) throw std::bad_alloc();
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMostBytesAtOnce);
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_tiff_error, &source);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, nullptr);
    // "m": the file is not mapped, so that libtiff checks each read.
    return {TIFFClientOpenExt("", "rm", &source, read_tiff, write_nothing, seek, close_nothing, size_of, nullptr,
                              nullptr, options.get()),
            TIFFClose};
}

[[noreturn]] void fail_tiff(const Source& source) {
    throw Error(ErrorKind::data, "the TIFF file is damaged or of an unusual kind: " +
                                     (source.message.empty() ? "it cannot be decoded" : source.message));
}

}  // namespace

ImageSize decode_tiff(Bytes file, std::vector<std::uint8_t>& pixels) {
    Source source{file};
    const Tiff tiff = open(source);
    if (!tiff) fail_tiff(source);
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    std::uint16_t orientation = ORIENTATION_TOPLEFT;
    if (TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height) == 0 ||
        TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) == 0) {
        fail_tiff(source);
    }
    const ImageSize size{height, width};
    std::array<char, 1024> reason{};  // libtiff's fixed size
    if (TIFFRGBAImageOK(tiff.get(), reason.data()) == 0) {
        if (reason[0] != '\0') source.message = reason.data();
        fail_tiff(source);
    }
    TIFFGetFieldDefaulted(tiff.get(), TIFFTAG_ORIENTATION, &orientation);
    std::uint8_t* const out = room_for(size, pixels, 4);
    // libtiff's pixels are integers with red in the lowest byte.
    static_assert(std::endian::native == std::endian::little);
    auto* const raster = reinterpret_cast<std::uint32_t*>(out);
    // Given the orientation of the file, libtiff leaves rows and columns as they are stored.
    constexpr int kStopOnError = 1;
    if (TIFFReadRGBAImageOriented(tiff.get(), width, height, raster, orientation, kStopOnError) == 0) fail_tiff(source);
    const auto count = static_cast<std::size_t>(size.height * size.width);
    divide_by_alpha(out, count);  // libtiff multiplies
    onto_white(pixels, count);
    return size;
}

#endif

#ifdef CNNTRAIN_WEBP

namespace {

[[noreturn]] void fail_webp(const std::string& what) {
    throw Error(ErrorKind::data, "the WebP file is damaged: " + what);
}

std::string text_of(VP8StatusCode status) {
    switch (status) {
        case VP8_STATUS_OUT_OF_MEMORY:
            throw std::bad_alloc();
        case VP8_STATUS_NOT_ENOUGH_DATA:
            return "it ends early";
        case VP8_STATUS_UNSUPPORTED_FEATURE:
            return "it has a feature that libwebp does not read";
        default:
            return "its pixels cannot be decoded";
    }
}

const std::uint8_t* begin_of(Bytes bytes) {
    return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

/// Decodes one image, without the container's other parts, to RGB or RGBA.
void decode(Bytes image, bool alpha, ImageSize size, std::uint8_t* out) {
    WebPDecoderConfig config;
    CNNTRAIN_CHECK(WebPInitDecoderConfig(&config) != 0, "libwebp of another version");
    const std::int64_t channels = alpha ? 4 : 3;
    config.output.colorspace = alpha ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = out;
    config.output.u.RGBA.stride = static_cast<int>(size.width * channels);
    config.output.u.RGBA.size = static_cast<std::size_t>(size.height * size.width * channels);
    const VP8StatusCode status = WebPDecode(begin_of(image), image.size(), &config);
    if (status != VP8_STATUS_OK) fail_webp(text_of(status));
}

/// The first image may cover a part of the canvas only; the rest is transparent.
void decode_first_of_animation(Bytes file, ImageSize canvas, std::vector<std::uint8_t>& pixels) {
    const WebPData data = {begin_of(file), file.size()};
    const std::unique_ptr<WebPDemuxer, decltype(&WebPDemuxDelete)> demuxer(WebPDemux(&data), WebPDemuxDelete);
    WebPIterator frame;
    if (!demuxer || WebPDemuxGetFrame(demuxer.get(), 1, &frame) == 0) fail_webp("it holds no whole image");
    const std::unique_ptr<WebPIterator, decltype(&WebPDemuxReleaseIterator)> owner(&frame, WebPDemuxReleaseIterator);
    const ImageSize size{frame.height, frame.width};
    const bool fits = size.height > 0 && size.width > 0 && frame.y_offset >= 0 && frame.x_offset >= 0 &&
                      frame.y_offset + size.height <= canvas.height && frame.x_offset + size.width <= canvas.width;
    if (!fits) fail_webp("its first image lies outside of the canvas");
    std::vector<std::uint8_t> rgba(static_cast<std::size_t>(size.height * size.width * 4));
    decode({reinterpret_cast<const std::byte*>(frame.fragment.bytes), frame.fragment.size}, true, size, rgba.data());
    onto_white(rgba, static_cast<std::size_t>(size.height * size.width));
    std::uint8_t* const out = room_for(canvas, pixels);
    std::fill_n(out, canvas.height * canvas.width * 3, std::uint8_t{255});
    for (std::int64_t y = 0; y < size.height; ++y) {
        std::copy_n(rgba.data() + y * size.width * 3, size.width * 3,
                    out + ((frame.y_offset + y) * canvas.width + frame.x_offset) * 3);
    }
}

}  // namespace

ImageSize decode_webp(Bytes file, std::vector<std::uint8_t>& pixels) {
    WebPBitstreamFeatures features;
    const VP8StatusCode status = WebPGetFeatures(begin_of(file), file.size(), &features);
    if (status != VP8_STATUS_OK) fail_webp(text_of(status));
    const ImageSize size{features.height, features.width};
    const bool alpha = features.has_alpha != 0;
    std::uint8_t* const out = room_for(size, pixels, alpha ? 4 : 3);
    if (features.has_animation != 0) {
        decode_first_of_animation(file, size, pixels);
        return size;
    }
    decode(file, alpha, size, out);
    if (alpha) onto_white(pixels, static_cast<std::size_t>(size.height * size.width));
    return size;
}

#endif

}  // namespace cnntrain::data
