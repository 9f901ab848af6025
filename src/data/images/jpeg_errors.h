// libjpeg's errors and warnings, for all that decode or encode JPEGs with it.
//
// One rule says what is damage: a warning that pixels are missing or wrong (the data end early, a code cannot be read,
// a restart marker is missing or out of turn) is an error, because libjpeg would go on with grey or displaced pixels.
// Other warnings, such as stray bytes between markers, are common in the published set and harmless; the first one is
// kept for those who want to tell it.
#pragma once

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <span>
#include <string>
// After <cstdio>: libjpeg's header uses FILE and size_t without including them.
#include <jpeglib.h>

namespace cnntrain::data {

/// One libjpeg object's. libjpeg leaves an erring function by longjmp to `jump`, so every function that calls libjpeg
/// does `if (setjmp(errors.jump) != 0) return false;` first and owns nothing that needs a destructor.
struct JpegErrors {
    jpeg_error_mgr base;  // first: libjpeg knows only this part
    std::jmp_buf jump;
    std::array<char, JMSG_LENGTH_MAX> message;  // of the error, otherwise of the first harmless warning, otherwise ""
};

/// What `info.err` must be before the object is created.
jpeg_error_mgr* error_manager(JpegErrors& errors);

// Each of these is false after an error, whose text is then in `errors.message`.

bool create_decompressor(jpeg_decompress_struct& info, JpegErrors& errors);
/// Whatever the object did before; the bytes must stay until the image is decoded. Arithmetic coding is refused: nearly
/// all damaged data decode to something there, without a warning.
bool read_jpeg_header(jpeg_decompress_struct& info, JpegErrors& errors, std::span<const std::byte> jpeg);

/// std::bad_alloc when the error was a lack of memory, which says nothing about the image.
void throw_if_out_of_memory(const JpegErrors& errors);

/// "" if this program reads images of that size; otherwise "claims ... pixels, ...", to be said before memory is asked
/// for: damaged headers claim up to 65500 x 65500, those of PNG files even more.
std::string size_problem(std::int64_t height, std::int64_t width);

}  // namespace cnntrain::data
