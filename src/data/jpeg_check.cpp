#include "data/jpeg_check.h"

#include <csetjmp>
#include <cstdio>
// After <cstdio>: libjpeg's header uses FILE and size_t without including them.
#include <jpeglib.h>

#include <array>
#include <cstring>
#include <vector>

#include "cnntrain/base/error.h"

namespace cnntrain::data {
namespace {

/// As in training: damaged headers claim up to 65500 x 65500.
constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;
constexpr JDIMENSION kRowsAtOnce = 16;

struct Messages {
    jpeg_error_mgr base;  // first: libjpeg knows only this part
    std::jmp_buf jump;
    std::array<char, JMSG_LENGTH_MAX> text;  // of the error, or else of the first warning
};

[[noreturn]] void on_error(j_common_ptr info) {
    auto* messages = reinterpret_cast<Messages*>(info->err);
    (*info->err->format_message)(info, messages->text.data());
    std::longjmp(messages->jump, 1);
}

void on_message(j_common_ptr info, int level) {
    if (level >= 0 || info->err->num_warnings++ > 0) return;
    auto* messages = reinterpret_cast<Messages*>(info->err);
    (*info->err->format_message)(info, messages->text.data());
}

// libjpeg leaves these functions by longjmp; they own nothing that needs a destructor.

bool create(jpeg_decompress_struct& info, Messages& messages) {
    info.err = jpeg_std_error(&messages.base);
    messages.base.error_exit = on_error;
    messages.base.emit_message = on_message;
    if (setjmp(messages.jump) != 0) return false;
    jpeg_create_decompress(&info);
    return true;
}

bool read_header(jpeg_decompress_struct& info, Messages& messages, const unsigned char* bytes, std::size_t size) {
    if (setjmp(messages.jump) != 0) return false;
    jpeg_abort_decompress(&info);
    messages.base.num_warnings = 0;
    messages.text[0] = '\0';
    jpeg_mem_src(&info, bytes, size);
    jpeg_read_header(&info, TRUE);
    return true;
}

bool start(jpeg_decompress_struct& info, Messages& messages) {
    if (setjmp(messages.jump) != 0) return false;
    jpeg_start_decompress(&info);
    return true;
}

bool read_rows(jpeg_decompress_struct& info, Messages& messages, JSAMPARRAY rows) {
    if (setjmp(messages.jump) != 0) return false;
    while (info.output_scanline < info.output_height) {
        jpeg_read_scanlines(&info, rows, kRowsAtOnce);
    }
    jpeg_finish_decompress(&info);
    return true;
}

}  // namespace

struct JpegChecker::State {
    jpeg_decompress_struct info{};
    Messages messages{};
    std::vector<JSAMPLE> pixels;
};

JpegChecker::JpegChecker() : state_(std::make_unique<State>()) {
    CNNTRAIN_CHECK(create(state_->info, state_->messages), state_->messages.text.data());
}

JpegChecker::~JpegChecker() {
    jpeg_destroy_decompress(&state_->info);
}

std::optional<JpegHeader> JpegChecker::header(std::span<const std::byte> jpeg) {
    jpeg_decompress_struct& info = state_->info;
    if (!read_header(info, state_->messages, reinterpret_cast<const unsigned char*>(jpeg.data()), jpeg.size())) {
        return std::nullopt;
    }
    const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
    const bool grey = info.jpeg_color_space == JCS_GRAYSCALE;
    return JpegHeader{info.image_height, info.image_width,
                      inks   ? JpegColours::inks
                      : grey ? JpegColours::grey
                             : JpegColours::colour,
                      info.progressive_mode != FALSE};
}

std::string JpegChecker::problem(std::span<const std::byte> jpeg) {
    auto& [info, messages, pixels] = *state_;
    const std::optional<JpegHeader> size = header(jpeg);
    if (!size) return messages.text.data();
    if (size->height * size->width > kMostPixels) {
        return "it claims " + std::to_string(size->width) + " x " + std::to_string(size->height) +
               " pixels, more than this program reads";
    }
    if (!start(info, messages)) return messages.text.data();
    const std::size_t row_bytes =
        static_cast<std::size_t>(info.output_width) * static_cast<std::size_t>(info.output_components);
    pixels.resize(row_bytes * kRowsAtOnce);
    std::array<JSAMPROW, kRowsAtOnce> rows{};
    for (std::size_t row = 0; row < rows.size(); ++row) {
        rows[row] = pixels.data() + row * row_bytes;
    }
    read_rows(info, messages, rows.data());
    return messages.text.data();
}

}  // namespace cnntrain::data
