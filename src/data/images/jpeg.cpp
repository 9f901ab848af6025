#include "data/images/jpeg.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "data/images/decoders.h"
#include "data/images/preprocess.h"

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

/// The value of `info.err` that must be set before the object is created.
jpeg_error_mgr* error_manager(JpegErrors& errors) {
    jpeg_error_mgr* base = jpeg_std_error(&errors.base);
    base->error_exit = on_error;
    base->emit_message = on_message;
    return base;
}

/// Returns false after an error; errors.message then has its text.
bool create_decompressor(jpeg_decompress_struct& info, JpegErrors& errors) {
    info.err = error_manager(errors);
    if (setjmp(errors.jump) != 0) return false;
    jpeg_create_decompress(&info);
    return true;
}

}  // namespace

JpegDecompressor::JpegDecompressor() {
    CNNTRAIN_CHECK(create_decompressor(info, errors), errors.message.data());
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

namespace {

/// Extra columns decoded on each side of a part. Upsampling reads at most two luma pixels beyond it, and libjpeg itself
/// starts at a block boundary on the left.
constexpr std::int64_t kMargin = 16;

// These functions return false after an error; errors.message then has its text.

/// Sets the columns to deliver: libjpeg moves `left` down to a block boundary and keeps the right edge.
bool start_crop(jpeg_decompress_struct& info, JpegErrors& errors, JDIMENSION* left, JDIMENSION* width) {
    if (setjmp(errors.jump) != 0) return false;
    jpeg_start_decompress(&info);
    if (*left != 0 || *width != info.output_width) jpeg_crop_scanline(&info, left, width);
    return true;
}

/// Reads rows from row `top` on into memory with a stride of `row_bytes`.
bool read_crop(jpeg_decompress_struct& info, JpegErrors& errors, JDIMENSION top, JDIMENSION rows, JSAMPLE* out,
               std::size_t row_bytes) {
    if (setjmp(errors.jump) != 0) return false;
    if (top != 0) jpeg_skip_scanlines(&info, top);
    while (info.output_scanline < top + rows) {
        JSAMPROW row = out + (info.output_scanline - top) * row_bytes;
        jpeg_read_scanlines(&info, &row, 1);
    }
    jpeg_abort_decompress(&info);
    return true;
}

[[noreturn]] void fail_jpeg(JpegErrors& errors) {
    throw_if_out_of_memory(errors);
    throw Error(ErrorKind::data,
                "the image is not a JPEG, is damaged or of an unusual kind: " + std::string(errors.message.data()));
}

/// One dimension of the view: the pixel range in the shrunken image.
struct JpegRange {
    std::int64_t first;
    std::int64_t end;
};

JpegRange seen(std::int64_t first, std::int64_t count, std::int64_t side, int shrink) {
    if (shrink == 1) return {first, first + count};
    const auto divided_up = [&](std::int64_t value) { return (value + shrink - 1) / shrink; };
    return {std::max<std::int64_t>(first / shrink - 1, 0), std::min(divided_up(first + count) + 1, divided_up(side))};
}

}  // namespace

ImageSize JpegDecoder::open(std::span<const std::byte> jpeg) {
    auto& [info, errors] = jpeg_;
    if (!read_jpeg_header(info, errors, jpeg)) fail_jpeg(errors);
    const ImageSize size{info.image_height, info.image_width};
    const std::string problem = size_problem(size.height, size.width);
    if (!problem.empty()) throw Error(ErrorKind::data, "the image " + problem);
    return size;
}

PixelView JpegDecoder::decode(const Rectangle& part, const DecodeHow& how, std::vector<std::uint8_t>& buffer) {
    auto& [info, errors] = jpeg_;
    const ImageSize whole{info.image_height, info.image_width};
    CNNTRAIN_CHECK(part.top >= 0 && part.left >= 0 && part.height > 0 && part.width > 0 &&
                       part.top + part.height <= whole.height && part.left + part.width <= whole.width,
                   "part outside of the image");
    const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
    info.out_color_space = inks ? JCS_CMYK : JCS_RGB;
    info.dct_method = how.method == DctMethod::fast ? JDCT_IFAST : JDCT_ISLOW;
    info.scale_num = 1;
    info.scale_denom = static_cast<unsigned>(how.shrink);

    const JpegRange rows = seen(part.top, part.height, whole.height, how.shrink);
    const JpegRange columns = seen(part.left, part.width, whole.width, how.shrink);
    const std::int64_t row_end = (whole.width + how.shrink - 1) / how.shrink;
    const std::int64_t first = std::max<std::int64_t>(columns.first - kMargin, 0);
    auto left = static_cast<JDIMENSION>(first);
    auto width = static_cast<JDIMENSION>(std::min(columns.end + kMargin, row_end) - first);
    if (!start_crop(info, errors, &left, &width)) fail_jpeg(errors);

    const std::size_t row_bytes = width * std::size_t{inks ? 4U : 3U};
    const auto count = static_cast<std::size_t>(rows.end - rows.first);
    std::uint8_t* const out = room_for(count * row_bytes, buffer);
    if (!read_crop(info, errors, static_cast<JDIMENSION>(rows.first), static_cast<JDIMENSION>(count), out, row_bytes))
        fail_jpeg(errors);
    if (inks) cmyk_to_rgb(buffer, count * width, info.saw_Adobe_marker != FALSE);
    return {.pixels = out + static_cast<std::size_t>(columns.first - left) * 3,
            .row_bytes = static_cast<std::int64_t>(width) * 3,
            .size = {rows.end - rows.first, columns.end - columns.first},
            .shrink = how.shrink,
            .part = part,
            .top = rows.first,
            .left = columns.first};
}

namespace {

constexpr JDIMENSION kRowsAtOnce = 16;

// These functions return false after an error; errors.message then has its text.

bool start(jpeg_decompress_struct& info, JpegErrors& errors) {
    if (setjmp(errors.jump) != 0) return false;
    jpeg_start_decompress(&info);
    return true;
}

bool read_rows(jpeg_decompress_struct& info, JpegErrors& errors, JSAMPARRAY rows) {
    if (setjmp(errors.jump) != 0) return false;
    while (info.output_scanline < info.output_height)
        jpeg_read_scanlines(&info, rows, kRowsAtOnce);
    jpeg_finish_decompress(&info);
    return true;
}

}  // namespace

std::optional<JpegHeader> JpegChecker::header(std::span<const std::byte> jpeg) {
    const jpeg_decompress_struct& info = jpeg_.info;
    if (!read_jpeg_header(jpeg_.info, jpeg_.errors, jpeg)) return std::nullopt;
    const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
    const bool grey = info.jpeg_color_space == JCS_GRAYSCALE;
    return JpegHeader{info.image_height, info.image_width,
                      inks   ? JpegColours::inks
                      : grey ? JpegColours::grey
                             : JpegColours::colour,
                      info.progressive_mode != FALSE};
}

std::string JpegChecker::problem(std::span<const std::byte> jpeg) {
    auto& [info, errors] = jpeg_;
    const std::optional<JpegHeader> size = header(jpeg);
    throw_if_out_of_memory(errors);
    if (!size) return errors.message.data();
    const std::string too_large = size_problem(size->height, size->width);
    if (!too_large.empty()) return "it " + too_large;
    if (!start(info, errors)) {
        throw_if_out_of_memory(errors);
        return errors.message.data();
    }
    const std::size_t row_bytes =
        static_cast<std::size_t>(info.output_width) * static_cast<std::size_t>(info.output_components);
    pixels_.resize(row_bytes * kRowsAtOnce);
    std::array<JSAMPROW, kRowsAtOnce> rows{};
    for (std::size_t row = 0; row < rows.size(); ++row)
        rows[row] = pixels_.data() + row * row_bytes;
    if (!read_rows(info, errors, rows.data())) throw_if_out_of_memory(errors);
    return errors.message.data();
}

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
