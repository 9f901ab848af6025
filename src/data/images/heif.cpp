// HEIC and AVIF. Not compiled without libheif.
#include "data/images/decoders.h"

#ifdef CNNTRAIN_HEIF

#include <libheif/heif.h>

#include <algorithm>
#include <memory>
#include <string>

#include "cnntrain/base/error.h"
#include "data/images/preprocess.h"

namespace cnntrain::data {
namespace {

void check_heif(const heif_error& error) {
    if (error.code == heif_error_Ok) return;
    if (error.code == heif_error_Memory_allocation_error) throw std::bad_alloc();
    throw Error(ErrorKind::data, "the HEIC or AVIF file cannot be decoded: " +
                                     std::string(error.message == nullptr ? "unknown error" : error.message));
}

constexpr int kLongestHeifSide = 65535;  // size_problem() limits the pixels

template <typename Part> using HeifOwner = std::unique_ptr<Part, void (*)(Part*)>;

void release_handle(heif_image_handle* handle) {
    heif_image_handle_release(handle);
}
void release_image(heif_image* image) {
    heif_image_release(image);
}

}  // namespace

ImageSize decode_heif(std::span<const std::byte> file, std::vector<std::uint8_t>& pixels) {
    const HeifOwner<heif_context> context(heif_context_alloc(), heif_context_free);
    const HeifOwner<heif_decoding_options> options(heif_decoding_options_alloc(), heif_decoding_options_free);
    if (!context || !options) throw std::bad_alloc();
    heif_context_set_maximum_image_size_limit(context.get(), kLongestHeifSide);
    check_heif(heif_context_read_from_memory_without_copy(context.get(), file.data(), file.size(), nullptr));
    heif_image_handle* opened = nullptr;
    check_heif(heif_context_get_primary_image_handle(context.get(), &opened));
    const HeifOwner<heif_image_handle> handle(opened, release_handle);
    const ImageSize size{heif_image_handle_get_height(opened), heif_image_handle_get_width(opened)};
    const bool alpha = heif_image_handle_has_alpha_channel(opened) != 0;
    const std::int64_t channels = alpha ? 4 : 3;
    std::uint8_t* const out = room_for(size, pixels, channels);
    options->convert_hdr_to_8bit = 1;
    options->strict_decoding = 1;
    heif_image* decoded = nullptr;
    check_heif(heif_decode_image(opened, &decoded, heif_colorspace_RGB,
                                 alpha ? heif_chroma_interleaved_RGBA : heif_chroma_interleaved_RGB, options.get()));
    const HeifOwner<heif_image> image(decoded, release_image);
    int row_bytes = 0;
    const std::uint8_t* const plane = heif_image_get_plane_readonly(decoded, heif_channel_interleaved, &row_bytes);
    const bool fits = plane != nullptr && heif_image_get_width(decoded, heif_channel_interleaved) == size.width &&
                      heif_image_get_height(decoded, heif_channel_interleaved) == size.height;
    if (!fits) throw Error(ErrorKind::data, "the HEIC or AVIF file has another size than it claims");
    for (std::int64_t y = 0; y < size.height; ++y)
        std::copy_n(plane + y * row_bytes, size.width * channels, out + y * size.width * channels);
    if (!alpha) return size;
    const auto count = static_cast<std::size_t>(size.height * size.width);
    if (heif_image_handle_is_premultiplied_alpha(opened) != 0) divide_by_alpha(out, count);
    onto_white(pixels, count);
    return size;
}

}  // namespace cnntrain::data

#endif
