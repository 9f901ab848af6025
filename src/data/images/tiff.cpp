#ifdef CNNTRAIN_TIFF

#include <tiffio.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string>

#include "cnntrain/base/error.h"
#include "data/images/decoders.h"
#include "data/images/image_ops.h"
#include "data/images/rgb_buffer.h"

namespace cnntrain::data {
namespace {

using Bytes = std::span<const std::byte>;

/// Highest number of bytes that libtiff may take at once, for a strip or a tile.
constexpr tmsize_t kMostBytesAtOnce = tmsize_t{1} << 30;

/// The file in memory, and the first message about it.
struct Source {
    Bytes bytes;
    toff_t position = 0;
    std::string message = {};
};

Source& source_of(thandle_t handle) {
    return *static_cast<Source*>(handle);
}

tmsize_t read_tiff(thandle_t handle, void* out, tmsize_t count) {
    Source& source = source_of(handle);
    const toff_t left = source.position < source.bytes.size() ? source.bytes.size() - source.position : 0;
    const auto taken = std::min(static_cast<toff_t>(std::max<tmsize_t>(count, 0)), left);
    if (taken > 0) std::memcpy(out, source.bytes.data() + source.position, taken);
    source.position += taken;
    return static_cast<tmsize_t>(taken);
}

tmsize_t write_nothing(thandle_t /*handle*/, void* /*bytes*/, tmsize_t /*count*/) {
    return 0;
}

toff_t seek(thandle_t handle, toff_t offset, int from) {
    Source& source = source_of(handle);
    const toff_t base = from == SEEK_CUR ? source.position : from == SEEK_END ? source.bytes.size() : 0;
    return source.position = base + offset;
}

int close_nothing(thandle_t /*handle*/) {
    return 0;
}

toff_t size_of(thandle_t handle) {
    return source_of(handle).bytes.size();
}

int on_tiff_error(TIFF* /*tiff*/, void* user, const char* /*module*/, const char* format, va_list values) {
    Source& source = *static_cast<Source*>(user);
    std::array<char, 256> text{};
    std::vsnprintf(text.data(), text.size(), format, values);
    if (source.message.empty()) source.message = text.data();
    return 1;  // the message is not printed
}

int on_warning(TIFF* /*tiff*/, void* /*user*/, const char* /*module*/, const char* /*format*/, va_list /*values*/) {
    return 1;
}

using Tiff = std::unique_ptr<TIFF, decltype(&TIFFClose)>;

Tiff open(Source& source) {
    const std::unique_ptr<TIFFOpenOptions, decltype(&TIFFOpenOptionsFree)> options(TIFFOpenOptionsAlloc(),
                                                                                   TIFFOpenOptionsFree);
    if (!options) throw std::bad_alloc();
    TIFFOpenOptionsSetMaxSingleMemAlloc(options.get(), kMostBytesAtOnce);
    TIFFOpenOptionsSetErrorHandlerExtR(options.get(), on_tiff_error, &source);
    TIFFOpenOptionsSetWarningHandlerExtR(options.get(), on_warning, nullptr);
    // "m": the file is not mapped, so that libtiff checks each read.
    return {TIFFClientOpenExt("", "rm", &source, read_tiff, write_nothing, seek, close_nothing, size_of, nullptr,
                              nullptr, options.get()),
            TIFFClose};
}

[[noreturn]] void fail_tiff(const Source& source) {
    throw Error(ErrorKind::data, "the TIFF file is damaged or of an unusual kind: " +
                                     (source.message.empty() ? "it cannot be decoded" : source.message));
}

/// libtiff multiplies colours by alpha.
void divide_by_alpha(std::uint8_t* rgba, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i, rgba += 4) {
        const unsigned alpha = rgba[3];
        if (alpha == 255 || alpha == 0) continue;
        for (int c = 0; c < 3; ++c)
            rgba[c] = static_cast<std::uint8_t>(std::min((rgba[c] * 255U + alpha / 2) / alpha, 255U));
    }
}

}  // namespace

ImageSize decode_tiff(Bytes file, std::vector<std::uint8_t>& pixels) {
    Source source{file};
    const Tiff tiff = open(source);
    if (!tiff) fail_tiff(source);
    std::uint32_t height = 0;
    std::uint32_t width = 0;
    std::uint16_t orientation = ORIENTATION_TOPLEFT;
    if (TIFFGetField(tiff.get(), TIFFTAG_IMAGELENGTH, &height) == 0 ||
        TIFFGetField(tiff.get(), TIFFTAG_IMAGEWIDTH, &width) == 0) {
        fail_tiff(source);
    }
    const ImageSize size{height, width};
    std::array<char, 1024> reason{};  // libtiff's fixed size
    if (TIFFRGBAImageOK(tiff.get(), reason.data()) == 0) {
        if (reason[0] != '\0') source.message = reason.data();
        fail_tiff(source);
    }
    TIFFGetFieldDefaulted(tiff.get(), TIFFTAG_ORIENTATION, &orientation);
    std::uint8_t* const out = room_for(size, pixels, 4);
    // libtiff's pixels are integers with red in the lowest byte.
    static_assert(std::endian::native == std::endian::little);
    auto* const raster = reinterpret_cast<std::uint32_t*>(out);
    // Given the orientation of the file, libtiff leaves rows and columns as they are stored.
    constexpr int kStopOnError = 1;
    if (TIFFReadRGBAImageOriented(tiff.get(), width, height, raster, orientation, kStopOnError) == 0) fail_tiff(source);
    const auto count = static_cast<std::size_t>(size.height * size.width);
    divide_by_alpha(out, count);
    onto_white(pixels, count);
    return size;
}

}  // namespace cnntrain::data

#endif
