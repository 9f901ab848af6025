#include "dataset_tools/writing/image_convert.h"

#include <cstdint>
#include <cstdlib>
#include <span>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "data/images/image_ops.h"
#include "data/images/jpeg_errors.h"
#include "data/images/png.h"

namespace cnntrain::dataset_tools {
namespace {

using Pixels = std::vector<std::uint8_t>;

constexpr int kQuality = 100;
constexpr std::string_view kJpegBegin = "\xff\xd8";

// The functions that return bool return false after an error; errors.message then has its text.

/// Reads all data but computes only one pixel per block, which finds all damage in a fraction of the time.
bool look_through(jpeg_decompress_struct& info, data::JpegErrors& errors) {
    if (setjmp(errors.jump) != 0) return false;
    info.out_color_space = JCS_RGB;
    info.scale_num = 1;
    info.scale_denom = 8;
    jpeg_start_decompress(&info);
    const JSAMPARRAY row =
        (*info.mem->alloc_sarray)(reinterpret_cast<j_common_ptr>(&info), JPOOL_IMAGE, info.output_width * 3, 1);
    while (info.output_scanline < info.output_height) {
        jpeg_read_scanlines(&info, row, 1);
    }
    jpeg_finish_decompress(&info);
    return true;
}

/// `out` has room for four bytes per pixel.
bool read_inks(jpeg_decompress_struct& info, data::JpegErrors& errors, JSAMPLE* out) {
    if (setjmp(errors.jump) != 0) return false;
    info.out_color_space = JCS_CMYK;
    info.dct_method = JDCT_ISLOW;
    jpeg_start_decompress(&info);
    while (info.output_scanline < info.output_height) {
        JSAMPROW row = out + std::size_t{4} * info.output_scanline * info.output_width;
        jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_finish_decompress(&info);
    return true;
}

struct Compression {
    jpeg_compress_struct info{};
    data::JpegErrors errors{};
    unsigned char* bytes = nullptr;  // allocated by libjpeg with malloc
    unsigned long size = 0;          // NOLINT(google-runtime-int): libjpeg's type

    Compression() = default;
    ~Compression() {
        jpeg_destroy_compress(&info);
        std::free(bytes);
    }
    Compression(const Compression&) = delete;
    Compression& operator=(const Compression&) = delete;
};

/// Compresses without chroma subsampling: the source has none, or was already subsampled once.
bool compress(Compression& to, const JSAMPLE* rgb, JDIMENSION height, JDIMENSION width) {
    to.info.err = data::error_manager(to.errors);
    if (setjmp(to.errors.jump) != 0) return false;
    jpeg_create_compress(&to.info);
    jpeg_mem_dest(&to.info, &to.bytes, &to.size);
    to.info.image_height = height;
    to.info.image_width = width;
    to.info.input_components = 3;
    to.info.in_color_space = JCS_RGB;
    jpeg_set_defaults(&to.info);
    jpeg_set_quality(&to.info, kQuality, TRUE);
    to.info.comp_info[0].h_samp_factor = 1;
    to.info.comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(&to.info, TRUE);
    while (to.info.next_scanline < height) {
        // libjpeg does not write to the row.
        auto* row = const_cast<JSAMPLE*>(rgb + std::size_t{3} * to.info.next_scanline * width);
        jpeg_write_scanlines(&to.info, &row, 1);
    }
    jpeg_finish_compress(&to.info);
    return true;
}

[[noreturn]] void fail(const std::string& what) {
    throw Error(ErrorKind::data, what);
}

void check_size(std::int64_t height, std::int64_t width) {
    const std::string problem = data::size_problem(height, width);
    if (!problem.empty()) fail("the image " + problem);
}

StoredImage stored(const Pixels& rgb, std::int64_t height, std::int64_t width, std::string_view converted_from) {
    Compression to;
    if (!compress(to, rgb.data(), static_cast<JDIMENSION>(height), static_cast<JDIMENSION>(width))) {
        data::throw_if_out_of_memory(to.errors);
        fail("the image cannot be stored as a JPEG: " + std::string(to.errors.message.data()));
    }
    return {std::string(reinterpret_cast<const char*>(to.bytes), to.size), height, width, converted_from};
}

StoredImage from_png(const std::string& file) {
    Pixels rgb;
    const data::ImageSize size = data::decode_png(std::as_bytes(std::span(file)), rgb);
    return stored(rgb, size.height, size.width, "PNG");
}

}  // namespace

struct ImageConverter::State {
    jpeg_decompress_struct info{};
    data::JpegErrors errors{};
};

ImageConverter::ImageConverter() : state_(std::make_unique<State>()) {
    CNNTRAIN_CHECK(data::create_decompressor(state_->info, state_->errors), state_->errors.message.data());
}

ImageConverter::~ImageConverter() {
    jpeg_destroy_decompress(&state_->info);
}

StoredImage ImageConverter::convert(std::string file) {
    if (file.empty()) fail("the file is empty");
    if (data::is_png(std::as_bytes(std::span(file)))) return from_png(file);
    if (!file.starts_with(kJpegBegin)) fail("the file is neither a JPEG nor a PNG file");

    auto& info = state_->info;
    auto& errors = state_->errors;
    const auto fail_jpeg = [&] {
        data::throw_if_out_of_memory(errors);
        fail("the JPEG cannot be decoded: " + std::string(errors.message.data()));
    };
    if (!data::read_jpeg_header(info, errors, std::as_bytes(std::span(file)))) fail_jpeg();
    const std::int64_t height = info.image_height;
    const std::int64_t width = info.image_width;
    check_size(height, width);
    if (info.jpeg_color_space != JCS_CMYK && info.jpeg_color_space != JCS_YCCK) {
        if (!look_through(info, errors)) fail_jpeg();
        return {std::move(file), height, width, ""};
    }
    const auto count = static_cast<std::size_t>(height * width);
    Pixels pixels(count * 4);
    if (!read_inks(info, errors, pixels.data())) fail_jpeg();
    data::cmyk_to_rgb(pixels, count, info.saw_Adobe_marker != FALSE);
    return stored(pixels, height, width, "CMYK");
}

}  // namespace cnntrain::dataset_tools
