// Decodes JPEG images with libjpeg-turbo: whole images or a rectangle of them, always to RGB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace cnntrain::data {

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
    JpegDecoder();
    ~JpegDecoder();

    /// Reads the header. The bytes must stay valid until decode() returns.
    ImageSize open(std::span<const std::byte> jpeg);

    /// Decodes the rectangle of the opened image; call once per open(). The result is bit-identical to the same part of
    /// the whole image decoded with this shrink: a margin is decoded too, because chroma upsampling reads neighbours. A
    /// shrunken view extends one pixel beyond the part on each side, if there is one. The view refers to `buffer`,
    /// which grows as needed and never shrinks.
    PixelView decode(const Rectangle& part, const DecodeHow& how, std::vector<std::uint8_t>& buffer);

private:
    struct State;
    std::unique_ptr<State> state_;
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
    JpegChecker();
    ~JpegChecker();

    /// Empty if this is not a JPEG.
    std::optional<JpegHeader> header(std::span<const std::byte> jpeg);
    /// Decodes the whole image. "" if libjpeg reports nothing, otherwise its error or its first warning
    /// (jpeg_errors.h).
    std::string problem(std::span<const std::byte> jpeg);

private:
    struct State;
    std::unique_ptr<State> state_;
};

// Encodes RGB pixels as JPEG with libjpeg-turbo.

/// Encodes without chroma subsampling. `quality`: 1..100. Error(data) if libjpeg cannot encode the image.
std::string encode_jpeg(const PixelView& rgb, int quality);

}  // namespace cnntrain::data
