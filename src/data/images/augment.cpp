#include "data/images/augment.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "cnntrain/base/error.h"
#include "data/images/crop.h"

namespace cnntrain::data {
namespace {

constexpr int kMostMagnitude = 30;

/// Element `magnitude` of 31 numbers from 0 to `most` at equal distances.
double share_of(double most, int magnitude) {
    return most * magnitude / kMostMagnitude;
}

double none(int /*magnitude*/, ImageSize /*size*/) {
    return 0;
}
double shear(int magnitude, ImageSize /*size*/) {
    return share_of(0.3, magnitude);
}
/// Up to 150 of 331 pixels, the image size of AutoAugment's paper.
double x_shift(int magnitude, ImageSize size) {
    return share_of(150.0 / 331.0 * static_cast<double>(size.width), magnitude);
}
double y_shift(int magnitude, ImageSize size) {
    return share_of(150.0 / 331.0 * static_cast<double>(size.height), magnitude);
}
double degrees(int magnitude, ImageSize /*size*/) {
    return share_of(30, magnitude);
}
double factor_change(int magnitude, ImageSize /*size*/) {
    return share_of(0.9, magnitude);
}
double kept_bits(int magnitude, ImageSize /*size*/) {
    return std::nearbyint(8 - 4.0 * magnitude / kMostMagnitude);
}
double threshold(int magnitude, ImageSize /*size*/) {
    return share_of(255, kMostMagnitude - magnitude);
}

constexpr RandAugmentOperation kOperations[] = {
    {"identity", none, false, [](const Canvas& /*image*/, double /*strength*/) {}},
    {"shear_x", shear, true, shear_x},
    {"shear_y", shear, true, shear_y},
    {"translate_x", x_shift, true,
     [](const Canvas& image, double shift) { translate_x(image, static_cast<std::int64_t>(shift)); }},
    {"translate_y", y_shift, true,
     [](const Canvas& image, double shift) { translate_y(image, static_cast<std::int64_t>(shift)); }},
    {"rotate", degrees, true, rotate},
    {"brightness", factor_change, true,
     [](const Canvas& image, double change) { adjust_brightness(image, 1 + change); }},
    {"colour", factor_change, true, [](const Canvas& image, double change) { adjust_saturation(image, 1 + change); }},
    {"contrast", factor_change, true, [](const Canvas& image, double change) { adjust_contrast(image, 1 + change); }},
    {"sharpness", factor_change, true, [](const Canvas& image, double change) { adjust_sharpness(image, 1 + change); }},
    {"posterize", kept_bits, false, [](const Canvas& image, double bits) { posterize(image, static_cast<int>(bits)); }},
    {"solarize", threshold, false, solarize},
    {"autocontrast", none, false, [](const Canvas& image, double /*strength*/) { autocontrast(image); }},
    {"equalize", none, false, [](const Canvas& image, double /*strength*/) { equalize(image); }},
};

}  // namespace

std::span<const RandAugmentOperation> rand_augment_operations() {
    return kOperations;
}

Augmenter::Augmenter(const AugmentationSettings& settings) : erasing_(settings.random_erasing) {
    if (!settings.crop_area.empty()) crop_area_ = {settings.crop_area.at(0), settings.crop_area.at(1)};
    if (!settings.rand_augment.empty()) {
        operations_ = static_cast<std::int64_t>(settings.rand_augment.at(0));
        magnitude_ = static_cast<int>(settings.rand_augment.at(1));
    }
    if (!settings.colour_jitter.empty()) {
        CNNTRAIN_CHECK(settings.colour_jitter.size() == jitter_.size(), "four ranges of colour jitter");
        std::ranges::copy(settings.colour_jitter, jitter_.begin());
        jitters_ = std::ranges::any_of(jitter_, [](double range) { return range > 0; });
    }
}

Rectangle Augmenter::crop(ImageSize image, std::span<const Box> boxes, Rng& rng) const {
    if (!crop_area_) return sample_crop(image, boxes, rng);
    return sample_resized_crop(image, crop_area_->front(), crop_area_->back(), rng);
}

void Augmenter::change_levels(const Canvas& image, std::uint64_t seed, SamplePosition position) const {
    Rng rng(seed, RngStream::augment, position.epoch, position.index);
    if (jitters_) jitter_colours(image, rng);
    for (std::int64_t i = 0; i < operations_; ++i) {
        const RandAugmentOperation& chosen =
            kOperations[static_cast<std::size_t>(rng.integer(0, std::ssize(kOperations)))];
        const double strength = chosen.strength(magnitude_, image.size);
        const bool negative = rng.uniform() < 0.5;
        chosen.apply(image, chosen.either_sign && negative ? -strength : strength);
    }
}

/// The order is random; every factor is drawn, so that a range of 0 changes no other draw.
void Augmenter::jitter_colours(const Canvas& image, Rng& rng) const {
    std::array<std::size_t, 4> order = {0, 1, 2, 3};
    for (std::size_t i = order.size() - 1; i > 0; --i)
        std::swap(order[i], order[static_cast<std::size_t>(rng.integer(0, static_cast<std::int64_t>(i) + 1))]);
    std::array<double, 4> drawn{};
    for (std::size_t i = 0; i < drawn.size(); ++i) {
        const double centre = i == 3 ? 0 : 1;
        const double low = i == 3 ? -jitter_[i] : std::max(centre - jitter_[i], 0.0);
        drawn[i] = rng.uniform(low, centre + jitter_[i]);
    }
    constexpr std::array kAdjust = {adjust_brightness, adjust_contrast, adjust_saturation, adjust_hue};
    for (const std::size_t which : order) {
        if (jitter_[which] > 0) kAdjust[which](image, drawn[which]);
    }
}

std::optional<Rectangle> Augmenter::erased(ImageSize size, std::uint64_t seed, SamplePosition position) const {
    if (erasing_ <= 0) return std::nullopt;
    Rng rng(seed, RngStream::erase, position.epoch, position.index);
    if (rng.uniform() >= erasing_) return std::nullopt;
    constexpr int kAttempts = 10;
    const auto pixels = static_cast<double>(size.height * size.width);
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
        const double area = pixels * rng.uniform(0.02, 0.33);
        const double aspect = std::exp(rng.uniform(std::log(0.3), std::log(3.3)));
        const auto height = static_cast<std::int64_t>(std::nearbyint(std::sqrt(area * aspect)));
        const auto width = static_cast<std::int64_t>(std::nearbyint(std::sqrt(area / aspect)));
        if (height >= size.height || width >= size.width) continue;
        const std::int64_t top = rng.integer(0, size.height - height + 1);
        return Rectangle{top, rng.integer(0, size.width - width + 1), height, width};
    }
    return std::nullopt;
}

}  // namespace cnntrain::data
