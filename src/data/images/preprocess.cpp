#include "data/images/preprocess.h"

#include <algorithm>
#include <cmath>

#include "cnntrain/base/rng.h"
#include "cnntrain/data/photo_input.h"
#include "data/images/antialias.h"
#include "data/images/crop.h"
#include "data/images/image_ops.h"
#include "data/images/resize.h"
#include "data/images/stage_clock.h"

namespace cnntrain::data {

Workspace::Workspace()
    : example(std::make_unique<ImageExample>()),
      jpeg(std::make_unique<JpegDecoder>()),
      resize(std::make_unique<ResizeScratch>()),
      antialias(std::make_unique<AntialiasScratch>()) {}
Workspace::~Workspace() = default;

std::uint64_t Workspace::held_bytes() const {
    return record.capacity() + pixels.capacity() + turned.capacity() + example->boxes.capacity() * sizeof(Box) +
           resize->columns.capacity() * sizeof(ResizeColumn) + resize->rows.capacity() * sizeof(float) +
           antialias->held_bytes() + levels.capacity() + scratch.capacity();
}

int largest_shrink(ImageSize part, std::int64_t side) {
    int shrink = 8;
    while (shrink > 1 && std::min(part.height, part.width) < side * shrink)
        shrink /= 2;
    return shrink;
}

namespace {

constexpr std::int64_t kPictureColours = 3;

/// Half of a difference, rounded as torchvision does: to the even number.
std::int64_t half(std::int64_t difference) {
    return static_cast<std::int64_t>(std::nearbyint(static_cast<double>(difference) / 2));
}

/// The shorter side is `shorter`, the longer one truncated.
ImageSize with_shorter_side(ImageSize photo, std::int64_t shorter) {
    if (photo.height < photo.width) return {shorter, shorter * photo.width / photo.height};
    return {shorter * photo.height / photo.width, shorter};
}

/// The longer side is `longer`, the shorter one rounded.
ImageSize with_longer_side(ImageSize photo, std::int64_t longer) {
    const auto scaled = [&](std::int64_t side) {
        const double exact = static_cast<double>(side) * static_cast<double>(longer) /
                             static_cast<double>(std::max(photo.height, photo.width));
        return std::max<std::int64_t>(static_cast<std::int64_t>(std::nearbyint(exact)), 1);
    };
    return {scaled(photo.height), scaled(photo.width)};
}

std::span<std::uint8_t> sized(std::vector<std::uint8_t>& levels, ImageSize size) {
    const auto bytes = static_cast<std::size_t>(size.height * size.width * kPictureColours);
    if (levels.size() < bytes) levels.resize(bytes);
    return std::span(levels).first(bytes);
}

/// Levels are rounded.
void resize_to_levels(const PixelView& view, const Resize& how, Interpolation interpolation,
                      std::span<std::uint8_t> levels, Workspace& workspace) {
    if (interpolation == Interpolation::tf1_bilinear) {
        const PixelFormat rounding{DType::u8, Normalisation{{1, 1, 1}, {0.5f, 0.5f, 0.5f}}};
        resize(view, how, rounding, std::as_writable_bytes(levels), *workspace.resize);
    } else {
        resize_antialiased(view, how, interpolation, levels, *workspace.antialias);
    }
}

/// An S x S image with `part` at (top, left) and the mean pixel elsewhere.
void pad(std::span<const std::uint8_t> part, const EvaluationView& view, const PhotoTarget& target,
         std::span<std::uint8_t> levels) {
    std::array<std::uint8_t, kPictureColours> mean{};
    std::ranges::transform(target.mean_pixel, mean.begin(),
                           [](float level) { return static_cast<std::uint8_t>(std::lround(level)); });
    for (std::size_t i = 0; i < levels.size(); ++i)
        levels[i] = mean[i % kPictureColours];
    const auto row = static_cast<std::size_t>(view.window.width * kPictureColours);
    for (std::int64_t y = 0; y < view.window.height; ++y) {
        const std::int64_t first = ((view.top + y) * target.image_size + view.left) * kPictureColours;
        std::ranges::copy(part.subspan(static_cast<std::size_t>(y) * row, row),
                          levels.begin() + static_cast<std::ptrdiff_t>(first));
    }
}

}  // namespace

EvaluationView evaluation_view(ImageSize photo, const PhotoTarget& target) {
    const std::int64_t side = target.image_size;
    const Rectangle all{0, 0, side, side};
    switch (target.preparation.resize_mode) {
        case ResizeMode::squash:
            return {{side, side}, all};
        case ResizeMode::pad: {
            const ImageSize full = with_longer_side(photo, side);
            return {full, {0, 0, full.height, full.width}, (side - full.height) / 2, (side - full.width) / 2};
        }
        case ResizeMode::crop:
            break;
    }
    const std::int64_t shorter = evaluation_shorter_side(side, target.preparation.crop_fraction);
    if (target.preparation.interpolation == Interpolation::tf1_bilinear) {
        const ImageSize full = aspect_preserving_size(photo, shorter, side);
        return {full, {(full.height - side) / 2, (full.width - side) / 2, side, side}};
    }
    const ImageSize full = with_shorter_side(photo, shorter);
    return {full, {half(full.height - side), half(full.width - side), side, side}};
}

void resize_for_evaluation(const PixelView& photo, const PhotoTarget& target, std::span<std::byte> image,
                           Workspace& workspace) {
    const PreparationSettings& preparation = target.preparation;
    const EvaluationView view = evaluation_view({photo.part.height, photo.part.width}, target);
    const bool pads = preparation.resize_mode == ResizeMode::pad;
    if (preparation.interpolation == Interpolation::tf1_bilinear && !pads) {
        resize(photo, {view.full, view.window}, target.format, image, *workspace.resize);
        return;
    }
    const ImageSize square{target.image_size, target.image_size};
    const std::span<std::uint8_t> levels = sized(workspace.levels, square);
    const std::span<std::uint8_t> part = pads ? sized(workspace.scratch, view.full) : levels;
    resize_to_levels(photo, {view.full, view.window}, preparation.interpolation, part, workspace);
    if (pads) pad(part, view, target, levels);
    store_levels(levels, target.format, image);
}

void preprocess_for_evaluation(const ImageFile& file, const PhotoTarget& target, std::span<std::byte> image,
                               Workspace& workspace) {
    const ImageSize size = file.size();
    const PixelView whole = file.decode({0, 0, size.height, size.width}, {DctMethod::accurate});
    StageClock clock;
    resize_for_evaluation(whole, target, image, workspace);
    clock.add_to(workspace.seconds.resize);
}

void preprocess_for_training(const ImageFile& file, std::span<const Box> boxes, const PhotoTarget& target,
                             const Augmenter& augmenter, std::uint64_t seed, SamplePosition position,
                             std::span<std::byte> image, Workspace& workspace) {
    Rng crop_rng(seed, RngStream::crop, position.epoch, position.index);
    Rng flip_rng(seed, RngStream::flip, position.epoch, position.index);
    const Rectangle crop = augmenter.crop(file.size(), boxes, crop_rng);
    const ImageSize square{target.image_size, target.image_size};
    const int shrink = largest_shrink({crop.height, crop.width}, target.image_size);
    const PixelView view = file.decode(crop, {DctMethod::fast, shrink});
    StageClock clock;
    const Resize how{square, {0, 0, square.height, square.width}, flip_rng.uniform() < 0.5};
    const Interpolation interpolation = target.preparation.interpolation;
    if (interpolation == Interpolation::tf1_bilinear && !augmenter.changes_levels()) {
        resize(view, how, target.format, image, *workspace.resize);
        clock.add_to(workspace.seconds.resize);
    } else {
        const std::span<std::uint8_t> levels = sized(workspace.levels, square);
        resize_to_levels(view, how, interpolation, levels, workspace);
        clock.add_to(workspace.seconds.resize);
        if (augmenter.changes_levels()) {
            augmenter.change_levels({levels.data(), square, workspace.scratch}, seed, position);
            clock.add_to(workspace.seconds.augment);
        }
        store_levels(levels, target.format, image);
        clock.add_to(workspace.seconds.resize);
    }
    if (const auto erased = augmenter.erased(square, seed, position)) {
        fill_rectangle(*erased, target.image_size, target.mean_pixel, target.format, image);
        clock.add_to(workspace.seconds.augment);
    }
}

}  // namespace cnntrain::data
