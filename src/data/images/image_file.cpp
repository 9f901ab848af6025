#include "data/images/image_file.h"

#include "cnntrain/base/error.h"
#include "data/images/exif.h"
#include "data/images/stage_clock.h"

namespace cnntrain::data {
namespace {

FileFormat known_format(std::span<const std::byte> bytes) {
    const std::optional<FileFormat> format = file_format(bytes);
    if (!format) throw Error(ErrorKind::data, unknown_format_text(bytes));
    return *format;
}

}  // namespace

ImageFile::ImageFile(std::span<const std::byte> bytes, Exif exif, Workspace& workspace)
    : workspace_(workspace),
      format_(known_format(bytes)),
      room_(claimed_size(bytes, format_).value_or(ImageSize{}), decoding_bytes_per_pixel(bytes, format_)) {
    StageClock clock;
    if (exif == Exif::applied) orientation_ = stored_orientation(bytes, format_);
    stored_size_ =
        format_ == FileFormat::jpeg ? workspace.jpeg->open(bytes) : decode_whole(format_, bytes, workspace.pixels);
    workspace.stored_pixels += stored_size_.width * stored_size_.height;
    clock.add_to(workspace.seconds.decode);
}

ImageFile::~ImageFile() {
    constexpr std::size_t kMostHeld = std::size_t{1} << 28;  // a common photo's memory is used again
    if (workspace_.pixels.capacity() > kMostHeld) workspace_.pixels = {};
    if (workspace_.turned.capacity() > kMostHeld) workspace_.turned = {};
}

PixelView ImageFile::stored_view(const Rectangle& part, const DecodeHow& how) const {
    if (format_ == FileFormat::jpeg) return workspace_.jpeg->decode(part, how, workspace_.pixels);
    const std::int64_t row_bytes = stored_size_.width * 3;
    const std::uint8_t* const first = workspace_.pixels.data() + part.top * row_bytes + part.left * 3;
    return {first, row_bytes, {part.height, part.width}, 1, part, part.top, part.left};
}

PixelView ImageFile::decode(const Rectangle& part, const DecodeHow& how) const {
    StageClock clock;
    PixelView view = stored_view(orientation_.stored(part, stored_size_), how);
    if (is_turned()) view = turned_upright(view, orientation_, stored_size_, workspace_.turned);
    clock.add_to(workspace_.seconds.decode);
    return view;
}

}  // namespace cnntrain::data
