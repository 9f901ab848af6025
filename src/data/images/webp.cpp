#ifdef CNNTRAIN_WEBP

#include <webp/decode.h>
#include <webp/demux.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cnntrain/base/error.h"
#include "data/images/decoders.h"
#include "data/images/image_ops.h"
#include "data/images/rgb_buffer.h"

namespace cnntrain::data {
namespace {

using Bytes = std::span<const std::byte>;

[[noreturn]] void fail_webp(const std::string& what) {
    throw Error(ErrorKind::data, "the WebP file is damaged: " + what);
}

std::string text_of(VP8StatusCode status) {
    switch (status) {
        case VP8_STATUS_OUT_OF_MEMORY:
            throw std::bad_alloc();
        case VP8_STATUS_NOT_ENOUGH_DATA:
            return "it ends early";
        case VP8_STATUS_UNSUPPORTED_FEATURE:
            return "it has a feature that libwebp does not read";
        default:
            return "its pixels cannot be decoded";
    }
}

const std::uint8_t* begin_of(Bytes bytes) {
    return reinterpret_cast<const std::uint8_t*>(bytes.data());
}

/// Decodes one image, without the container's other parts, to RGB or RGBA.
void decode(Bytes image, bool alpha, ImageSize size, std::uint8_t* out) {
    WebPDecoderConfig config;
    CNNTRAIN_CHECK(WebPInitDecoderConfig(&config) != 0, "libwebp of another version");
    const std::int64_t channels = alpha ? 4 : 3;
    config.output.colorspace = alpha ? MODE_RGBA : MODE_RGB;
    config.output.is_external_memory = 1;
    config.output.u.RGBA.rgba = out;
    config.output.u.RGBA.stride = static_cast<int>(size.width * channels);
    config.output.u.RGBA.size = static_cast<std::size_t>(size.height * size.width * channels);
    const VP8StatusCode status = WebPDecode(begin_of(image), image.size(), &config);
    if (status != VP8_STATUS_OK) fail_webp(text_of(status));
}

struct Deleter {
    void operator()(WebPDemuxer* demuxer) const { WebPDemuxDelete(demuxer); }
};

/// The first image may cover a part of the canvas only; the rest is transparent.
void decode_first_of_animation(Bytes file, ImageSize canvas, std::vector<std::uint8_t>& pixels) {
    const WebPData data = {begin_of(file), file.size()};
    const std::unique_ptr<WebPDemuxer, Deleter> demuxer(WebPDemux(&data));
    WebPIterator frame;
    if (!demuxer || WebPDemuxGetFrame(demuxer.get(), 1, &frame) == 0) fail_webp("it holds no whole image");
    const std::unique_ptr<WebPIterator, decltype(&WebPDemuxReleaseIterator)> owner(&frame, WebPDemuxReleaseIterator);
    const ImageSize size{frame.height, frame.width};
    const bool fits = size.height > 0 && size.width > 0 && frame.y_offset >= 0 && frame.x_offset >= 0 &&
                      frame.y_offset + size.height <= canvas.height && frame.x_offset + size.width <= canvas.width;
    if (!fits) fail_webp("its first image lies outside of the canvas");
    std::vector<std::uint8_t> rgba(static_cast<std::size_t>(size.height * size.width * 4));
    decode({reinterpret_cast<const std::byte*>(frame.fragment.bytes), frame.fragment.size}, true, size, rgba.data());
    onto_white(rgba, static_cast<std::size_t>(size.height * size.width));
    std::uint8_t* const out = room_for(canvas, pixels);
    std::fill_n(out, canvas.height * canvas.width * 3, std::uint8_t{255});
    for (std::int64_t y = 0; y < size.height; ++y) {
        std::copy_n(rgba.data() + y * size.width * 3, size.width * 3,
                    out + ((frame.y_offset + y) * canvas.width + frame.x_offset) * 3);
    }
}

}  // namespace

ImageSize decode_webp(Bytes file, std::vector<std::uint8_t>& pixels) {
    WebPBitstreamFeatures features;
    const VP8StatusCode status = WebPGetFeatures(begin_of(file), file.size(), &features);
    if (status != VP8_STATUS_OK) fail_webp(text_of(status));
    const ImageSize size{features.height, features.width};
    const bool alpha = features.has_alpha != 0;
    std::uint8_t* const out = room_for(size, pixels, alpha ? 4 : 3);
    if (features.has_animation != 0) {
        decode_first_of_animation(file, size, pixels);
        return size;
    }
    decode(file, alpha, size, out);
    if (alpha) onto_white(pixels, static_cast<std::size_t>(size.height * size.width));
    return size;
}

}  // namespace cnntrain::data

#endif
