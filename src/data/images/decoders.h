// Decoders of whole files, as decode_whole() in image_file.h describes them. A build without the library of a format
// has no decoder of it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "data/images/jpeg.h"

namespace cnntrain::data {

// The buffer into which whole images are decoded.

/// A larger buffer, grown by one huge image, is released before the next image.
inline constexpr std::size_t kMostPixelBytesKept = std::size_t{1} << 26;

/// Makes room for so many bytes and kReadableBehindView more.
inline std::uint8_t* room_for(std::size_t bytes, std::vector<std::uint8_t>& buffer) {
    const std::size_t needed = bytes + kReadableBehindView;
    if (buffer.capacity() > kMostPixelBytesKept && needed <= kMostPixelBytesKept) buffer = {};
    if (buffer.size() < needed) buffer.resize(needed);
    return buffer.data();
}

/// Makes room for an image's pixels of `channels` bytes. Throws Error(data) if the image is too large or has no pixels.
inline std::uint8_t* room_for(ImageSize size, std::vector<std::uint8_t>& buffer, std::int64_t channels = 3) {
    const std::string problem = size_problem(size.height, size.width, kMostWholePixels);
    if (!problem.empty()) throw Error(ErrorKind::data, "the image " + problem);
    return room_for(static_cast<std::size_t>(size.height * size.width * channels), buffer);
}

/// Undoes a multiplication of colours by alpha in RGBA.
void divide_by_alpha(std::uint8_t* rgba, std::size_t count);

/// Decodes with libpng.
ImageSize decode_png(std::span<const std::byte> png, std::vector<std::uint8_t>& pixels);

/// Decodes files of Windows and OS/2 with 1 to 32 bits a pixel, plain or run-length encoded.
ImageSize decode_bmp(std::span<const std::byte> file, std::vector<std::uint8_t>& pixels);
/// The size in the header; nothing if `head` does not hold one.
std::optional<ImageSize> size_of_bmp(std::span<const std::byte> head);

#ifdef CNNTRAIN_GIF
/// Decodes the first image with giflib. It has the size of the canvas; parts of the canvas outside the first image are
/// white.
ImageSize decode_gif(std::span<const std::byte> file, std::vector<std::uint8_t>& pixels);
inline constexpr std::string_view kMissingGif;
#else
inline constexpr std::nullptr_t decode_gif = nullptr;
inline constexpr std::string_view kMissingGif = "libgif-dev";
#endif

#ifdef CNNTRAIN_TIFF
/// Decodes the first image with libtiff, with rows and columns as stored, whatever the orientation.
ImageSize decode_tiff(std::span<const std::byte> file, std::vector<std::uint8_t>& pixels);
inline constexpr std::string_view kMissingTiff;
#else
inline constexpr std::nullptr_t decode_tiff = nullptr;
inline constexpr std::string_view kMissingTiff = "libtiff-dev";
#endif

#ifdef CNNTRAIN_WEBP
/// Decodes with libwebp; of an animation, the first image.
ImageSize decode_webp(std::span<const std::byte> file, std::vector<std::uint8_t>& pixels);
inline constexpr std::string_view kMissingWebp;
#else
inline constexpr std::nullptr_t decode_webp = nullptr;
inline constexpr std::string_view kMissingWebp = "libwebp-dev";
#endif

#ifdef CNNTRAIN_HEIF
/// Decodes the primary image of a HEIC or AVIF file with libheif, turned as the file says.
ImageSize decode_heif(std::span<const std::byte> file, std::vector<std::uint8_t>& pixels);
inline constexpr std::string_view kMissingHeif;
#else
inline constexpr std::nullptr_t decode_heif = nullptr;
inline constexpr std::string_view kMissingHeif = "libheif-dev";
#endif

// Integers in bytes of a given order.

/// A view of bytes. Numbers must lie inside it, which holds() checks.
class ByteOrder {
public:
    ByteOrder(std::span<const std::byte> bytes, std::endian order) : bytes_(bytes), order_(order) {}

    std::size_t size() const { return bytes_.size(); }
    bool holds(std::uint64_t offset, std::uint64_t count) const {
        return offset <= bytes_.size() && count <= bytes_.size() - offset;
    }

    std::uint8_t u8(std::size_t at) const { return static_cast<std::uint8_t>(bytes_[at]); }
    std::uint16_t u16(std::size_t at) const { return static_cast<std::uint16_t>(number(at, 2)); }
    std::uint32_t u32(std::size_t at) const { return static_cast<std::uint32_t>(number(at, 4)); }
    std::uint64_t u64(std::size_t at) const { return number(at, 8); }

private:
    std::uint64_t number(std::size_t at, std::size_t count) const {
        std::uint64_t result = 0;
        for (std::size_t i = 0; i < count; ++i)
            result = result << 8 | u8(order_ == std::endian::big ? at + i : at + count - 1 - i);
        return result;
    }

    std::span<const std::byte> bytes_;
    std::endian order_;
};

}  // namespace cnntrain::data
