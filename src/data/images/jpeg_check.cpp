#include "data/images/jpeg_check.h"

#include <array>
#include <vector>

#include "cnntrain/base/error.h"
#include "data/images/jpeg_errors.h"

namespace cnntrain::data {
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

struct JpegChecker::State {
    jpeg_decompress_struct info{};
    JpegErrors errors{};
    std::vector<JSAMPLE> pixels;
};

JpegChecker::JpegChecker() : state_(std::make_unique<State>()) {
    CNNTRAIN_CHECK(create_decompressor(state_->info, state_->errors), state_->errors.message.data());
}

JpegChecker::~JpegChecker() {
    jpeg_destroy_decompress(&state_->info);
}

std::optional<JpegHeader> JpegChecker::header(std::span<const std::byte> jpeg) {
    jpeg_decompress_struct& info = state_->info;
    if (!read_jpeg_header(info, state_->errors, jpeg)) return std::nullopt;
    const bool inks = info.jpeg_color_space == JCS_CMYK || info.jpeg_color_space == JCS_YCCK;
    const bool grey = info.jpeg_color_space == JCS_GRAYSCALE;
    return JpegHeader{info.image_height, info.image_width,
                      inks   ? JpegColours::inks
                      : grey ? JpegColours::grey
                             : JpegColours::colour,
                      info.progressive_mode != FALSE};
}

std::string JpegChecker::problem(std::span<const std::byte> jpeg) {
    auto& [info, errors, pixels] = *state_;
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
    pixels.resize(row_bytes * kRowsAtOnce);
    std::array<JSAMPROW, kRowsAtOnce> rows{};
    for (std::size_t row = 0; row < rows.size(); ++row)
        rows[row] = pixels.data() + row * row_bytes;
    if (!read_rows(info, errors, rows.data())) throw_if_out_of_memory(errors);
    return errors.message.data();
}

}  // namespace cnntrain::data
