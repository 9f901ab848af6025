// Image files of every format through their headers, Exif data, decoders, turns and the resize of training.
#include <span>

#include <png.h>

#include "cnntrain/base/error.h"
#include "data/format_fixtures.h"
#include "data/images/image_file.h"
#include "data/images/preprocess.h"
#include "fuzz/fuzz_target.h"

namespace cnntrain::fuzz {
namespace {

constexpr std::int64_t kSide = 12;
constexpr std::int64_t kMostPixels = 1 << 18;  // a header's claim of more is true in principle, but slow

std::string encode_png(const data::RawImage& image) {
    png_image png{};
    png.version = PNG_IMAGE_VERSION;
    png.width = static_cast<png_uint_32>(image.width);
    png.height = static_cast<png_uint_32>(image.height);
    png.format = image.channels == 4 ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
    png_alloc_size_t size = 0;
    png_image_write_to_memory(&png, nullptr, &size, 0, image.pixels.data(), 0, nullptr);
    std::string bytes(size, '\0');
    png_image_write_to_memory(&png, bytes.data(), &size, 0, image.pixels.data(), 0, nullptr);
    return bytes.substr(0, size);
}

bool is_large(std::span<const std::byte> file) {
    const auto format = data::file_format(file);
    const auto size = format ? data::claimed_size(file, *format) : std::nullopt;
    return size && size->height > 0 && size->width > kMostPixels / size->height;
}

void decode(std::span<const std::byte> file) {
    static data::Workspace workspace;
    if (is_large(file)) return;
    const data::ImageFile image(file, data::Exif::applied, workspace);
    const data::ImageSize size = image.size();
    if (size.height * size.width > kMostPixels) return;
    // A fresh block of exactly the right size, so that writing beyond it is seen.
    std::vector<std::byte> pixels(kSide * kSide * 3);
    static const data::Augmenter unchanged(data::AugmentationSettings{});
    const data::PhotoTarget target{.image_size = kSide, .format = {DType::u8, {}}};
    data::preprocess_for_training(image, {}, target, unchanged, 1, {0, file.size()}, pixels, workspace);
}

}  // namespace

std::vector<std::string> seeds() {
    std::vector<std::string> result;
    for (const int channels : {3, 4}) {
        const data::RawImage image = data::make_ramp(19, 23, channels);
        for (const std::string& file :
             {data::encode_bmp(image), data::encode_webp(image), data::encode_tiff(image), data::encode_tiff(image, 8),
              encode_png(image), data::encode_heif(image, false), data::encode_heif(image, true)}) {
            if (!file.empty()) result.push_back(file);
        }
    }
    result.push_back(data::encode_runs_bmp(9, 7));
    for (const bool interlaced : {false, true}) {
        const std::string gif = data::encode_gif(data::make_ramp(17, 9), interlaced);
        if (!gif.empty()) result.push_back(gif);
    }
    return result;
}

std::vector<std::string> words() {
    return {};
}

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    fuzz::accepted([&] { fuzz::decode(std::as_bytes(std::span(data, size))); });
    return 0;
}
