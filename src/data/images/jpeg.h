// JPEG decoding with libjpeg-turbo: whole images or a rectangle of them, always to RGB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace cnntrain::data {

struct ImageSize {
    std::int64_t height = 0;
    std::int64_t width = 0;
    bool operator==(const ImageSize&) const = default;
};

/// Pixels; half-open.
struct Rectangle {
    std::int64_t top = 0;
    std::int64_t left = 0;
    std::int64_t height = 0;
    std::int64_t width = 0;
    bool operator==(const Rectangle&) const = default;
};

enum class DctMethod {
    accurate,  // "islow": evaluation
    fast,      // "ifast": training
};

struct DecodeHow {
    DctMethod method = DctMethod::accurate;
    int shrink = 1;  // 1, 2, 4 or 8: the inverse DCT delivers every side divided by it, averaged
};

/// At least this many bytes behind the last pixel of a view may be read.
inline constexpr std::size_t kReadableBehindView = 4;

/// A view of decoded RGB pixels.
struct PixelView {
    const std::uint8_t* pixels = nullptr;
    std::int64_t row_bytes = 0;
    ImageSize size;        // of the view; without shrinking, the wanted part and nothing else
    int shrink = 1;        // by this much is the image smaller than the full one
    Rectangle part;        // what was wanted, in pixels of the full image
    std::int64_t top = 0;  // place of the view's first pixel in the shrunken image
    std::int64_t left = 0;
};

/// The whole of an image that is in memory.
constexpr PixelView whole_view(const std::uint8_t* pixels, ImageSize size) {
    return {pixels, size.width * 3, size, 1, {0, 0, size.height, size.width}, 0, 0};
}

/// One thread's decoder. Error(data) says what is wrong with the image; the caller adds file and record.
class JpegDecoder {
public:
    JpegDecoder();
    ~JpegDecoder();

    /// Reads the header; the bytes must stay until decode() is done.
    ImageSize open(std::span<const std::byte> jpeg);

    /// Decodes the rectangle of the opened image, once per open(). Equal, bit for bit, to the same part of the whole
    /// image decoded with this shrink: a margin is decoded with it, because chroma upsampling looks at neighbours. A
    /// shrunken view reaches one pixel further than the part on each side, where there is one. The view is into
    /// `buffer`, which grows as needed and never shrinks.
    PixelView decode(const Rectangle& part, const DecodeHow& how, std::vector<std::uint8_t>& buffer);

    /// Memory that is kept for the next image.
    std::size_t held_bytes() const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cnntrain::data
