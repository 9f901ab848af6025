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

/// A view of decoded RGB pixels; rows may be longer than the part wanted.
struct PixelView {
    const std::uint8_t* pixels = nullptr;  // of the first pixel wanted
    std::int64_t row_bytes = 0;
    ImageSize size;
};

/// One thread's decoder. Error(data) says what is wrong with the image; the caller adds file and record.
class JpegDecoder {
public:
    JpegDecoder();
    ~JpegDecoder();

    /// Reads the header; the bytes must stay until decode() is done.
    ImageSize open(std::span<const std::byte> jpeg);

    /// Decodes the rectangle of the opened image, once per open(). Equal, bit for bit, to the same part of the whole
    /// image: a margin is decoded with it, because chroma upsampling looks at neighbours. The view is into `buffer`.
    PixelView decode(const Rectangle& part, DctMethod method, std::vector<std::uint8_t>& buffer);

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace cnntrain::data
