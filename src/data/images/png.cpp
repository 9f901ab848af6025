#include <png.h>

#include <string>

#include "cnntrain/base/error.h"
#include "data/images/decoders.h"
#include "data/images/rgb_buffer.h"

namespace cnntrain::data {
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

}  // namespace cnntrain::data
