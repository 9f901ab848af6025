// Decodes JPEG images with libjpeg-turbo: whole images or a rectangle of them, always to RGB.
#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

// libjpeg's errors and warnings, for all code that decodes or encodes JPEGs with it.
//
// A warning that pixels are missing or wrong counts as an error, because libjpeg would continue with grey or displaced
// pixels: the data end early, a code is invalid, a restart marker is missing or out of order. Other warnings, such as
// stray bytes between markers, are common in the published data and harmless; the first one is kept for reports.

// Must follow <cstdio>: libjpeg's header uses FILE and size_t without including them.
#include <jpeglib.h>

namespace cnntrain::data {

/// The error state of one libjpeg object. libjpeg leaves a failing function by longjmp to `jump`. Every function that
/// calls libjpeg therefore starts with `if (setjmp(errors.jump) != 0) return false;` and owns nothing that needs a
/// destructor.
struct JpegErrors {
    jpeg_error_mgr base;  // must be first: libjpeg accesses only this part
    std::jmp_buf jump;
    std::array<char, JMSG_LENGTH_MAX> message;  // the error, otherwise the first harmless warning, otherwise ""
};

/// An object of libjpeg that decodes.
struct JpegDecompressor {
    jpeg_decompress_struct info{};
    JpegErrors errors{};

    JpegDecompressor();
    ~JpegDecompressor() { jpeg_destroy_decompress(&info); }
    JpegDecompressor(const JpegDecompressor&) = delete;
    JpegDecompressor& operator=(const JpegDecompressor&) = delete;
};

/// Reads the header, whatever the object did before. The bytes must stay valid until the image is decoded. Refuses
/// arithmetic coding, in which almost any damaged data decode without a warning. Returns false after an error;
/// errors.message then has its text.
bool read_jpeg_header(jpeg_decompress_struct& info, JpegErrors& errors, std::span<const std::byte> jpeg);

/// Throws std::bad_alloc if the error was lack of memory, which is not a fault of the image.
void throw_if_out_of_memory(const JpegErrors& errors);

/// Highest number of pixels of a JPEG file, of which only a part or a smaller scale may be decoded.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;
/// Highest number of pixels of other files, which are decoded as a whole: a file of a few bytes can make a decoder take
/// 7 bytes for each. Pillow has the same limit.
inline constexpr std::int64_t kMostWholePixels = 178'956'970;

/// "" if this program accepts images of that size; otherwise "claims ... pixels, ...". Call it before allocating
/// memory: damaged headers claim up to 65500 x 65500 pixels, those of PNG files even more.
std::string size_problem(std::int64_t height, std::int64_t width, std::int64_t most = kMostPixels);

struct ImageSize {
    std::int64_t height = 0;
    std::int64_t width = 0;
    bool operator==(const ImageSize&) const = default;
};

/// A part of an image in pixels; half-open.
struct Rectangle {
    std::int64_t top = 0;
    std::int64_t left = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;
    bool operator==(const Rectangle&) const = default;
};

enum class DctMethod {
    accurate,  // "islow", for evaluation
    fast,      // "ifast", for training
};

struct DecodeHow {
    DctMethod method = DctMethod::accurate;
    int shrink = 1;  // 1, 2, 4 or 8: the inverse DCT divides each side by it and averages
};

/// Number of bytes that are readable after the last pixel of a view, at least.
inline constexpr std::size_t kReadableBehindView = 4;

/// A view of decoded RGB pixels.
struct PixelView {
    const std::uint8_t* pixels = nullptr;
    std::int64_t row_bytes = 0;
    ImageSize size;        // size of the view; without shrinking, exactly the requested part
    int shrink = 1;        // factor by which the image is smaller than the full one
    Rectangle part;        // the requested part, in pixels of the full image
    std::int64_t top = 0;  // position of the view's first pixel in the shrunken image
    std::int64_t left = 0;
};

/// A view of a whole image in memory.
constexpr PixelView whole_view(const std::uint8_t* pixels, ImageSize size) {
    return {pixels, size.width * 3, size, 1, {0, 0, size.height, size.width}, 0, 0};
}

/// One thread's decoder. Error(data) describes the fault in the image; the caller adds file and record.
class JpegDecoder {
public:
    /// Reads the header. The bytes must stay valid until decode() returns.
    ImageSize open(std::span<const std::byte> jpeg);

    /// Decodes the rectangle of the opened image; call once per open(). The result is bit-identical to the same part of
    /// the whole image decoded with this shrink: a margin is decoded too, because chroma upsampling reads neighbours. A
    /// shrunken view extends one pixel beyond the part on each side, if there is one. The view refers to `buffer`,
    /// which grows as needed and never shrinks.
    PixelView decode(const Rectangle& part, const DecodeHow& how, std::vector<std::uint8_t>& buffer);

private:
    JpegDecompressor jpeg_;
};

// Checks a JPEG: its header, and whether all of it decodes. Stricter than decoding for training.

enum class JpegColours { grey, colour, inks };  // inks: CMYK or YCCK

struct JpegHeader {
    std::int64_t height = 0;
    std::int64_t width = 0;
    JpegColours colours = JpegColours::colour;
    bool progressive = false;
};

/// Checks JPEG files, for one thread.
class JpegChecker {
public:
    /// Empty if this is not a JPEG.
    std::optional<JpegHeader> header(std::span<const std::byte> jpeg);
    /// Decodes the whole image. "" if libjpeg reports nothing, otherwise its error or its first warning.
    std::string problem(std::span<const std::byte> jpeg);

private:
    JpegDecompressor jpeg_;
    std::vector<JSAMPLE> pixels_;
};

// Encodes RGB pixels as JPEG with libjpeg-turbo.

/// Encodes without chroma subsampling. `quality`: 1..100. Error(data) if libjpeg cannot encode the image.
std::string encode_jpeg(const PixelView& rgb, int quality);

}  // namespace cnntrain::data
