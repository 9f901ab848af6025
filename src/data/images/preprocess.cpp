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
    return record.capacity() + pixels.capacity() + example->boxes.capacity() * sizeof(Box) + jpeg->held_bytes() +
           resize->columns.capacity() * sizeof(ResizeColumn) + resize->rows.capacity() * sizeof(float);
}

int largest_shrink(ImageSize part, std::int64_t side) {
    int shrink = 8;
    while (shrink > 1 && std::min(part.height, part.width) < side * shrink) {
        shrink /= 2;
    }
    return shrink;
}

void preprocess_for_evaluation(std::span<const std::byte> jpeg, std::int64_t image_size, const PixelFormat& format,
                               std::span<std::byte> image, Workspace& workspace) {
    StageClock clock;
    const ImageSize size = workspace.jpeg->open(jpeg);
    const PixelView whole =
        workspace.jpeg->decode({0, 0, size.height, size.width}, {DctMethod::accurate}, workspace.pixels);
    clock.add_to(workspace.seconds.decode);
    const ImageSize full = aspect_preserving_size(size, evaluation_shorter_side(image_size), image_size);
    const Rectangle centre{(full.height - image_size) / 2, (full.width - image_size) / 2, image_size, image_size};
    resize(whole, {full, centre, false}, format, image, *workspace.resize);
    clock.add_to(workspace.seconds.resize);
}

void preprocess_for_training(std::span<const std::byte> jpeg, std::span<const Box> boxes, std::int64_t image_size,
                             const PixelFormat& format, std::uint64_t seed, SamplePosition position,
                             std::span<std::byte> image, Workspace& workspace) {
    StageClock clock;
    Rng crop_rng(seed, RngStream::crop, position.epoch, position.index);
    Rng flip_rng(seed, RngStream::flip, position.epoch, position.index);
    const ImageSize size = workspace.jpeg->open(jpeg);
    const Rectangle crop = sample_crop(size, boxes, crop_rng);
    const int shrink = largest_shrink({crop.height, crop.width}, image_size);
    const PixelView view = workspace.jpeg->decode(crop, {DctMethod::fast, shrink}, workspace.pixels);
    clock.add_to(workspace.seconds.decode);
    const Resize how{{image_size, image_size}, {0, 0, image_size, image_size}, flip_rng.uniform() < 0.5};
    resize(view, how, format, image, *workspace.resize);
    clock.add_to(workspace.seconds.resize);
}

}  // namespace cnntrain::data
