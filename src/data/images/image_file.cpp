#include "data/images/image_file.h"

#include "data/images/png.h"
#include "data/images/stage_clock.h"

namespace cnntrain::data {

ImageFile::ImageFile(std::span<const std::byte> bytes, Workspace& workspace)
    : workspace_(workspace), is_png_(is_png(bytes)) {
    StageClock clock;
    size_ = is_png_ ? decode_png(bytes, workspace.pixels) : workspace.jpeg->open(bytes);
    clock.add_to(workspace.seconds.decode);
}

PixelView ImageFile::decode(const Rectangle& part, const DecodeHow& how) const {
    StageClock clock;
    PixelView view;
    if (is_png_) {
        const std::int64_t row_bytes = size_.width * 3;
        const std::uint8_t* const first = workspace_.pixels.data() + part.top * row_bytes + part.left * 3;
        view = {first, row_bytes, {part.height, part.width}, 1, part, part.top, part.left};
    } else {
        view = workspace_.jpeg->decode(part, how, workspace_.pixels);
    }
    clock.add_to(workspace_.seconds.decode);
    return view;
}

}  // namespace cnntrain::data
