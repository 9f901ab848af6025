#include "dataset_tools/writing/image_convert.h"

#include <span>
#include <utility>

#include "cnntrain/base/error.h"
#include "data/images/image_file.h"
#include "data/images/jpeg.h"
#include "data/images/jpeg_errors.h"

namespace cnntrain::dataset_tools {
namespace {

constexpr int kQuality = 100;

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

[[noreturn]] void fail_convert(const std::string& what) {
    throw Error(ErrorKind::data, what);
}

StoredImage stored(const data::PixelView& rgb, std::string_view converted_from, bool turned) {
    return {data::encode_jpeg(rgb, kQuality), rgb.size.height, rgb.size.width, converted_from, turned};
}

}  // namespace

struct ImageConverter::State {
    jpeg_decompress_struct info{};
    data::JpegErrors errors{};
    data::Workspace workspace;

    [[noreturn]] void fail_jpeg() const {
        data::throw_if_out_of_memory(errors);
        fail_convert("the JPEG cannot be decoded: " + std::string(errors.message.data()));
    }
};

ImageConverter::ImageConverter() : state_(std::make_unique<State>()) {
    CNNTRAIN_CHECK(data::create_decompressor(state_->info, state_->errors), state_->errors.message.data());
}

ImageConverter::~ImageConverter() {
    jpeg_destroy_decompress(&state_->info);
}

StoredImage ImageConverter::convert(std::string file) {
    if (file.empty()) fail_convert("the file is empty");
    const auto bytes = std::as_bytes(std::span(file));
    const data::ImageFile opened(bytes, data::Exif::applied, state_->workspace);
    const data::ImageSize size = opened.size();
    std::string_view from;
    if (opened.format() == data::FileFormat::jpeg) {
        if (!data::read_jpeg_header(state_->info, state_->errors, bytes)) state_->fail_jpeg();
        const bool inks = state_->info.jpeg_color_space == JCS_CMYK || state_->info.jpeg_color_space == JCS_YCCK;
        if (inks) {
            from = "CMYK";
        } else if (!opened.is_turned()) {
            if (!look_through(state_->info, state_->errors)) state_->fail_jpeg();
            return {std::move(file), size.height, size.width, "", false};
        }
    } else {
        from = data::format_name(opened.format());
    }
    return stored(opened.decode({0, 0, size.height, size.width}, {data::DctMethod::accurate}), from,
                  opened.is_turned());
}

}  // namespace cnntrain::dataset_tools
