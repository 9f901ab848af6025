// libjpeg's errors and warnings, for all code that decodes or encodes JPEGs with it.
//
// A warning that pixels are missing or wrong counts as an error, because libjpeg would continue with grey or displaced
// pixels: the data end early, a code is invalid, a restart marker is missing or out of order. Other warnings, such as
// stray bytes between markers, are common in the published data and harmless; the first one is kept for reports.
#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
// Must follow <cstdio>: libjpeg's header uses FILE and size_t without including them.
#include <jpeglib.h>

namespace cnntrain::data {

/// The error state of one libjpeg object. libjpeg leaves a failing function by longjmp to `jump`. Every function that
/// calls libjpeg therefore starts with `if (setjmp(errors.jump) != 0) return false;` and owns nothing that needs a
/// destructor.
struct JpegErrors {
    jpeg_error_mgr base;  // must be first: libjpeg accesses only this part
    std::jmp_buf jump;
    std::array<char, JMSG_LENGTH_MAX> message;  // the error, otherwise the first harmless warning, otherwise ""
};

/// The value of `info.err` that must be set before the object is created.
jpeg_error_mgr* error_manager(JpegErrors& errors);

// These functions return false after an error; errors.message then has its text.

bool create_decompressor(jpeg_decompress_struct& info, JpegErrors& errors);
/// Reads the header, whatever the object did before. The bytes must stay valid until the image is decoded. Refuses
/// arithmetic coding, in which almost any damaged data decode without a warning.
bool read_jpeg_header(jpeg_decompress_struct& info, JpegErrors& errors, std::span<const std::byte> jpeg);

/// Throws std::bad_alloc if the error was lack of memory, which is not a fault of the image.
void throw_if_out_of_memory(const JpegErrors& errors);

/// Highest number of pixels of a JPEG file, of which only a part or a smaller scale may be decoded.
inline constexpr std::int64_t kMostPixels = std::int64_t{1} << 28;
/// Highest number of pixels of other files, which are decoded as a whole: a file of a few bytes can make a decoder take
/// 7 bytes for each. Pillow has the same limit.
inline constexpr std::int64_t kMostWholePixels = 178'956'970;

/// "" if this program accepts images of that size; otherwise "claims ... pixels, ...". Call it before allocating
/// memory: damaged headers claim up to 65500 x 65500 pixels, those of PNG files even more.
std::string size_problem(std::int64_t height, std::int64_t width, std::int64_t most = kMostPixels);

}  // namespace cnntrain::data
