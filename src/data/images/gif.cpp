#ifdef CNNTRAIN_GIF

#include <gif_lib.h>

#include <algorithm>
#include <cstring>
#include <string>

#include "cnntrain/base/error.h"
#include "data/images/decoders.h"
#include "data/images/rgb_buffer.h"

namespace cnntrain::data {
namespace {

struct Unread {
    std::span<const std::byte> bytes;
};

int read_gif(GifFileType* gif, GifByteType* out, int count) {
    auto& bytes = static_cast<Unread*>(gif->UserData)->bytes;
    const std::size_t taken = std::min(bytes.size(), static_cast<std::size_t>(count));
    if (taken > 0) std::memcpy(out, bytes.data(), taken);
    bytes = bytes.subspan(taken);
    return static_cast<int>(taken);
}

[[noreturn]] void fail_gif(int error) {
    const char* const text = GifErrorString(error);
    throw Error(ErrorKind::data, "the GIF file is damaged: " + std::string(text == nullptr ? "unknown error" : text));
}

/// An open file, closed in any case.
class Gif {
public:
    explicit Gif(std::span<const std::byte> file) : unread_{file} {
        int error = 0;
        gif_ = DGifOpen(&unread_, read_gif, &error);
        if (gif_ == nullptr) fail_gif(error);
    }
    ~Gif() {
        int ignored = 0;
        DGifCloseFile(gif_, &ignored);
    }
    Gif(const Gif&) = delete;
    Gif& operator=(const Gif&) = delete;

    GifFileType* operator->() const { return gif_; }
    GifFileType* get() const { return gif_; }
    void check(int status) const {
        if (status == GIF_ERROR) fail_gif(gif_->Error);
    }

    /// Reads up to the first image's pixels. Returns its transparent colour, or NO_TRANSPARENT_COLOR.
    int find_image() const {
        int transparent = NO_TRANSPARENT_COLOR;
        for (;;) {
            GifRecordType type = UNDEFINED_RECORD_TYPE;
            check(DGifGetRecordType(gif_, &type));
            if (type == TERMINATE_RECORD_TYPE) throw Error(ErrorKind::data, "the GIF file holds no image");
            if (type == IMAGE_DESC_RECORD_TYPE) {
                check(DGifGetImageDesc(gif_));
                return transparent;
            }
            if (type == EXTENSION_RECORD_TYPE) read_extension(transparent);
        }
    }

private:
    void read_extension(int& transparent) const {
        int code = 0;
        GifByteType* block = nullptr;
        check(DGifGetExtension(gif_, &code, &block));
        while (block != nullptr) {
            GraphicsControlBlock control;
            if (code == GRAPHICS_EXT_FUNC_CODE && DGifExtensionToGCB(block[0], block + 1, &control) == GIF_OK)
                transparent = control.TransparentColor;
            check(DGifGetExtensionNext(gif_, &block));
        }
    }

    Unread unread_;
    GifFileType* gif_ = nullptr;
};

/// The rows of an image in the order of the file.
std::vector<int> rows_in_order(int height, bool interlaced) {
    struct Pass {
        int first;
        int step;
    };
    std::vector<int> rows;
    const std::vector<Pass> passes =
        interlaced ? std::vector<Pass>{{0, 8}, {4, 8}, {2, 4}, {1, 2}} : std::vector<Pass>{{0, 1}};
    for (const Pass& pass : passes) {
        for (int row = pass.first; row < height; row += pass.step)
            rows.push_back(row);
    }
    return rows;
}

}  // namespace

ImageSize decode_gif(std::span<const std::byte> file, std::vector<std::uint8_t>& pixels) {
    const Gif gif(file);
    const int transparent = gif.find_image();
    const GifImageDesc& image = gif->Image;
    const ColorMapObject* const map = image.ColorMap != nullptr ? image.ColorMap : gif->SColorMap;
    if (map == nullptr) throw Error(ErrorKind::data, "the GIF file has no palette");
    if (image.Width < 1 || image.Height < 1) throw Error(ErrorKind::data, "the GIF file's first image has no pixels");
    const ImageSize size{std::max(gif->SHeight, image.Top + image.Height),
                         std::max(gif->SWidth, image.Left + image.Width)};
    std::uint8_t* const out = room_for(size, pixels);
    std::fill_n(out, size.height * size.width * 3, std::uint8_t{255});
    std::vector<GifPixelType> line(static_cast<std::size_t>(image.Width));
    for (const int row : rows_in_order(image.Height, image.Interlace)) {
        gif.check(DGifGetLine(gif.get(), line.data(), image.Width));
        std::uint8_t* to = out + ((image.Top + row) * size.width + image.Left) * 3;
        for (const GifPixelType index : line) {
            if (index != transparent && index < map->ColorCount) {
                const GifColorType& colour = map->Colors[index];
                to[0] = colour.Red;
                to[1] = colour.Green;
                to[2] = colour.Blue;
            }
            to += 3;
        }
    }
    return size;
}

}  // namespace cnntrain::data

#endif
