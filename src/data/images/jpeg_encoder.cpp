#include "data/images/jpeg_encoder.h"

#include <cstdlib>

#include "cnntrain/base/error.h"
#include "data/images/jpeg_errors.h"

namespace cnntrain::data {
namespace {

struct Compression {
    jpeg_compress_struct info{};
    JpegErrors errors{};
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

/// Returns false after an error; errors.message then has its text.
bool compress(Compression& to, const PixelView& rgb, int quality) {
    to.info.err = error_manager(to.errors);
    if (setjmp(to.errors.jump) != 0) return false;
    jpeg_create_compress(&to.info);
    jpeg_mem_dest(&to.info, &to.bytes, &to.size);
    to.info.image_height = static_cast<JDIMENSION>(rgb.size.height);
    to.info.image_width = static_cast<JDIMENSION>(rgb.size.width);
    to.info.input_components = 3;
    to.info.in_color_space = JCS_RGB;
    jpeg_set_defaults(&to.info);
    jpeg_set_quality(&to.info, quality, TRUE);
    to.info.comp_info[0].h_samp_factor = 1;
    to.info.comp_info[0].v_samp_factor = 1;
    jpeg_start_compress(&to.info, TRUE);
    while (to.info.next_scanline < to.info.image_height) {
        // libjpeg does not write to the row.
        auto* row = const_cast<JSAMPLE*>(rgb.pixels + rgb.row_bytes * to.info.next_scanline);
        jpeg_write_scanlines(&to.info, &row, 1);
    }
    jpeg_finish_compress(&to.info);
    return true;
}

}  // namespace

std::string encode_jpeg(const PixelView& rgb, int quality) {
    Compression to;
    if (!compress(to, rgb, quality)) {
        throw_if_out_of_memory(to.errors);
        throw Error(ErrorKind::data, "the image cannot be stored as a JPEG: " + std::string(to.errors.message.data()));
    }
    return {reinterpret_cast<const char*>(to.bytes), to.size};
}

}  // namespace cnntrain::data
