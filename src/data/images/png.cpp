#include "data/images/png.h"

#include <png.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "cnntrain/base/error.h"
#include "data/images/jpeg_errors.h"

namespace cnntrain::data {
namespace {

constexpr std::string_view kBegin = "\x89PNG\r\n\x1a\n";

/// libpng's simple interface, whose parts must be freed in any case.
struct PngImage {
    png_image base{};
    PngImage() { base.version = PNG_IMAGE_VERSION; }
    ~PngImage() { png_image_free(&base); }
    PngImage(const PngImage&) = delete;
    PngImage& operator=(const PngImage&) = delete;
};

[[noreturn]] void fail(const PngImage& image) {
    throw Error(ErrorKind::data, "the PNG file is damaged: " + std::string(image.base.message));
}

}  // namespace

bool is_png(std::span<const std::byte> file) {
    const auto begin = std::as_bytes(std::span(kBegin));
    return file.size() >= begin.size() && std::ranges::equal(file.first(begin.size()), begin);
}

ImageSize decode_png(std::span<const std::byte> png, std::vector<std::uint8_t>& pixels) {
    PngImage image;
    if (png_image_begin_read_from_memory(&image.base, png.data(), png.size()) == 0) fail(image);
    const ImageSize size{image.base.height, image.base.width};
    const std::string problem = size_problem(size.height, size.width);
    if (!problem.empty()) throw Error(ErrorKind::data, "the image " + problem);
    image.base.format = PNG_FORMAT_RGB;
    image.base.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16-bit files without a gamma are meant as 8-bit ones are
    const std::size_t bytes = PNG_IMAGE_SIZE(image.base);
    pixels.resize(std::max(pixels.size(), bytes + kReadableBehindView));
    const png_color white = {255, 255, 255};
    if (png_image_finish_read(&image.base, &white, pixels.data(), 0, nullptr) == 0) fail(image);
    return size;
}

}  // namespace cnntrain::data
