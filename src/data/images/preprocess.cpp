#include "data/images/preprocess.h"

#include <algorithm>

#include "cnntrain/base/rng.h"
#include "data/images/crop.h"
#include "data/images/resize.h"
#include "data/images/stage_clock.h"

namespace cnntrain::data {

Workspace::Workspace()
    : example(std::make_unique<ImageExample>()),
      jpeg(std::make_unique<JpegDecoder>()),
      resize(std::make_unique<ResizeScratch>()) {}
Workspace::~Workspace() = default;

std::uint64_t Workspace::held_bytes() const {
    return record.capacity() + pixels.capacity() + turned.capacity() + example->boxes.capacity() * sizeof(Box) +
           jpeg->held_bytes() + resize->columns.capacity() * sizeof(ResizeColumn) +
           resize->rows.capacity() * sizeof(float);
}

int largest_shrink(ImageSize part, std::int64_t side) {
    int shrink = 8;
    while (shrink > 1 && std::min(part.height, part.width) < side * shrink) {
        shrink /= 2;
    }
    return shrink;
}

void preprocess_for_evaluation(const ImageFile& file, std::int64_t image_size, const PixelFormat& format,
                               std::span<std::byte> image, Workspace& workspace) {
    const ImageSize size = file.size();
    const PixelView whole = file.decode({0, 0, size.height, size.width}, {DctMethod::accurate});
    StageClock clock;
    const ImageSize full = aspect_preserving_size(size, evaluation_shorter_side(image_size), image_size);
    const Rectangle centre{(full.height - image_size) / 2, (full.width - image_size) / 2, image_size, image_size};
    resize(whole, {full, centre, false}, format, image, *workspace.resize);
    clock.add_to(workspace.seconds.resize);
}

void preprocess_for_training(const ImageFile& file, std::span<const Box> boxes, std::int64_t image_size,
                             const PixelFormat& format, std::uint64_t seed, SamplePosition position,
                             std::span<std::byte> image, Workspace& workspace) {
    Rng crop_rng(seed, RngStream::crop, position.epoch, position.index);
    Rng flip_rng(seed, RngStream::flip, position.epoch, position.index);
    const Rectangle crop = sample_crop(file.size(), boxes, crop_rng);
    const int shrink = largest_shrink({crop.height, crop.width}, image_size);
    const PixelView view = file.decode(crop, {DctMethod::fast, shrink});
    StageClock clock;
    const Resize how{{image_size, image_size}, {0, 0, image_size, image_size}, flip_rng.uniform() < 0.5};
    resize(view, how, format, image, *workspace.resize);
    clock.add_to(workspace.seconds.resize);
}

}  // namespace cnntrain::data
