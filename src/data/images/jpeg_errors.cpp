#include "data/images/jpeg_errors.h"

// Must follow jpeglib.h: the macros use its names.
#include <jerror.h>

#include <algorithm>
#include <new>
#include <string_view>

namespace cnntrain::data {
namespace {

JpegErrors& errors_of(j_common_ptr info) {
    return *reinterpret_cast<JpegErrors*>(info->err);
}

/// Must not return. Between setjmp and here there are only frames of libjpeg and of functions that own no resources.
[[noreturn]] void on_error(j_common_ptr info) {
    JpegErrors& errors = errors_of(info);
    (*info->err->format_message)(info, errors.message.data());
    std::longjmp(errors.jump, 1);
}

bool is_damage(int code) {
    switch (code) {
        case JWRN_HIT_MARKER:
        case JWRN_HUFF_BAD_CODE:
        case JWRN_JPEG_EOF:
        case JWRN_MUST_RESYNC:
            return true;
        default:
            return false;
    }
}

void on_message(j_common_ptr info, int level) {
    if (level >= 0) return;  // a trace message
    if (is_damage(info->err->msg_code)) on_error(info);
    if (info->err->num_warnings++ == 0) (*info->err->format_message)(info, errors_of(info).message.data());
}

}  // namespace

jpeg_error_mgr* error_manager(JpegErrors& errors) {
    jpeg_error_mgr* base = jpeg_std_error(&errors.base);
    base->error_exit = on_error;
    base->emit_message = on_message;
    return base;
}

bool create_decompressor(jpeg_decompress_struct& info, JpegErrors& errors) {
    info.err = error_manager(errors);
    if (setjmp(errors.jump) != 0) return false;
    jpeg_create_decompress(&info);
    return true;
}

bool read_jpeg_header(jpeg_decompress_struct& info, JpegErrors& errors, std::span<const std::byte> jpeg) {
    if (setjmp(errors.jump) != 0) return false;
    jpeg_abort_decompress(&info);
    errors.base.num_warnings = 0;
    errors.base.msg_code = 0;
    errors.message[0] = '\0';
    jpeg_mem_src(&info, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size());
    jpeg_read_header(&info, TRUE);
    if (info.arith_code == FALSE) return true;
    constexpr std::string_view kText =
        "its pixels are arithmetic-coded, where damage cannot be noticed; jpegtran -optimize makes a file without";
    static_assert(kText.size() < JMSG_LENGTH_MAX);
    *std::copy(kText.begin(), kText.end(), errors.message.begin()) = '\0';
    return false;
}

void throw_if_out_of_memory(const JpegErrors& errors) {
    if (errors.base.msg_code == JERR_OUT_OF_MEMORY) throw std::bad_alloc();
}

std::string size_problem(std::int64_t height, std::int64_t width, std::int64_t most) {
    if (height < 1 || width < 1) return "has no pixels";
    if (height <= most / width) return "";
    return "claims " + std::to_string(width) + " x " + std::to_string(height) + " pixels, more than this program reads";
}

}  // namespace cnntrain::data
