// JPEG files through header, crop, shrunken decode and resize. Two bytes in front choose the crop and the shrink.
#include <cstdlib>
#include <memory>
#include <span>
// libjpeg's header uses FILE and size_t without including their headers, so it follows the standard ones.
#include <jpeglib.h>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "data/images/augment.h"
#include "data/images/jpeg.h"
#include "data/images/resize.h"
#include "fuzz/fuzz_target.h"

namespace cnntrain::fuzz {
namespace {

constexpr std::int64_t kSide = 12;
constexpr std::int64_t kMostPixels = 1 << 18;  // a header's claim of more is true in principle, but slow

struct Kind {
    int channels;
    J_COLOR_SPACE space;
    bool progressive;
    int sampling;
    int restart_rows;
};

std::string encode(const Kind& kind) {
    constexpr JDIMENSION kWidth = 37, kHeight = 29;
    jpeg_compress_struct info{};
    jpeg_error_mgr errors{};
    info.err = jpeg_std_error(&errors);
    jpeg_create_compress(&info);
    unsigned char* bytes = nullptr;
    unsigned long size = 0;
    jpeg_mem_dest(&info, &bytes, &size);
    info.image_width = kWidth;
    info.image_height = kHeight;
    info.input_components = kind.channels;
    info.in_color_space = kind.space;
    jpeg_set_defaults(&info);
    jpeg_set_quality(&info, 60, TRUE);
    info.comp_info[0].h_samp_factor = kind.sampling;
    info.comp_info[0].v_samp_factor = kind.sampling;
    info.restart_in_rows = kind.restart_rows;
    if (kind.progressive) jpeg_simple_progression(&info);
    jpeg_start_compress(&info, TRUE);
    std::vector<JSAMPLE> row(std::size_t{kWidth} * static_cast<std::size_t>(kind.channels));
    while (info.next_scanline < kHeight) {
        for (std::size_t i = 0; i < row.size(); ++i)
            row[i] = static_cast<JSAMPLE>(i * 5 + info.next_scanline * 7);
        JSAMPROW rows = row.data();
        jpeg_write_scanlines(&info, &rows, 1);
    }
    jpeg_finish_compress(&info);
    jpeg_destroy_compress(&info);
    const std::unique_ptr<unsigned char, decltype(&std::free)> owner(bytes, std::free);
    return {reinterpret_cast<const char*>(bytes), size};
}

void decode(std::span<const std::byte> jpeg, std::uint8_t crop_seed, std::uint8_t how) {
    static data::JpegDecoder decoder;
    static std::vector<std::uint8_t> pixels;
    static data::ResizeScratch scratch;
    const data::ImageSize size = decoder.open(jpeg);
    if (size.height * size.width > kMostPixels) return;
    Rng rng(crop_seed, RngStream::test);
    const data::Rectangle crop =
        crop_seed == 0 ? data::Rectangle{0, 0, size.height, size.width} : data::sample_crop(size, {}, rng);
    const int shrink = 1 << (how & 3);
    const data::PixelView view =
        decoder.decode(crop, {how & 4 ? data::DctMethod::fast : data::DctMethod::accurate, shrink}, pixels);
    // A fresh block of exactly the right size, so that writing beyond it is seen.
    std::vector<std::byte> image(kSide * kSide * 3);
    data::resize(view, {{kSide, kSide}, {0, 0, kSide, kSide}, (how & 8) != 0}, {DType::u8, {}}, image, scratch);
}

}  // namespace

std::vector<std::string> seeds() {
    const std::vector<Kind> kinds = {{3, JCS_RGB, false, 2, 0},       {3, JCS_RGB, true, 2, 0},
                                     {1, JCS_GRAYSCALE, false, 1, 0}, {4, JCS_CMYK, false, 1, 0},
                                     {3, JCS_RGB, false, 1, 1},       {1, JCS_GRAYSCALE, true, 1, 0}};
    std::vector<std::string> result;
    for (std::size_t i = 0; i < kinds.size(); ++i) {
        const std::string jpeg = encode(kinds[i]);
        result.push_back(std::string(1, static_cast<char>(i)) + static_cast<char>(3 * i) + jpeg);
    }
    return result;
}

std::vector<std::string> words() {
    return {};
}

}  // namespace cnntrain::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace cnntrain;
    if (size < 2) return 0;
    fuzz::accepted([&] { fuzz::decode(std::as_bytes(std::span(data + 2, size - 2)), data[0], data[1]); });
    return 0;
}
