#include "data/images/crop.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace cnntrain::data {
namespace {

constexpr int kCropAttempts = 100;
constexpr double kAspectLow = 0.75;
constexpr double kAspectHigh = 1.33;
constexpr double kAreaLow = 0.05;
constexpr double kAreaHigh = 1.0;
constexpr double kCoverage = 0.1;

std::int64_t rounded_size(double value) {
    return static_cast<std::int64_t>(std::lround(value));
}

/// Draws the size only; nothing if this attempt gives no valid size.
std::optional<ImageSize> sample_size(ImageSize image, Rng& rng) {
    const double aspect = rng.uniform(kAspectLow, kAspectHigh);
    const auto area = static_cast<double>(image.height * image.width);
    std::int64_t highest = std::min(rounded_size(std::sqrt(kAreaHigh * area / aspect)), image.height);
    highest = std::min(highest, rounded_size(static_cast<double>(image.width + 1) / aspect));
    while (highest > 0 && rounded_size(static_cast<double>(highest) * aspect) > image.width)
        --highest;
    const std::int64_t lowest = std::min(rounded_size(std::sqrt(kAreaLow * area / aspect)), highest);
    std::int64_t height = rng.integer(lowest, highest + 1);
    const auto width_at = [&](std::int64_t rows) { return rounded_size(static_cast<double>(rows) * aspect); };
    const auto area_at = [&](std::int64_t rows) { return static_cast<double>(rows * width_at(rows)); };
    if (area_at(height) < kAreaLow * area) {
        ++height;
    } else if (area_at(height) > kAreaHigh * area) {
        --height;
    }
    const std::int64_t width = width_at(height);
    const double crop_area = area_at(height);
    if (height < 1 || width < 1 || height > image.height || width > image.width || crop_area < kAreaLow * area ||
        crop_area > kAreaHigh * area) {
        return std::nullopt;
    }
    return ImageSize{height, width};
}

/// Truncates to whole pixels, inside the image.
Rectangle to_pixels(const Box& box, ImageSize image) {
    const auto position = [](float relative, std::int64_t side) {
        const double clamped = std::clamp(static_cast<double>(relative), 0.0, 1.0);  // NaN becomes 0 below
        return std::isnan(clamped) ? 0 : static_cast<std::int64_t>(clamped * static_cast<double>(side));
    };
    const std::int64_t top = position(box.y_min, image.height);
    const std::int64_t left = position(box.x_min, image.width);
    return {top, left, position(box.y_max, image.height) - top, position(box.x_max, image.width) - left};
}

bool covers_enough(const Rectangle& crop, const Rectangle& object) {
    if (object.height < 1 || object.width < 1) return false;
    const std::int64_t rows =
        std::min(crop.top + crop.height, object.top + object.height) - std::max(crop.top, object.top);
    const std::int64_t columns =
        std::min(crop.left + crop.width, object.left + object.width) - std::max(crop.left, object.left);
    if (rows <= 0 || columns <= 0) return false;
    return static_cast<double>(rows * columns) >= kCoverage * static_cast<double>(object.height * object.width);
}

}  // namespace

Rectangle sample_crop(ImageSize image, std::span<const Box> boxes, Rng& rng) {
    const Rectangle whole{0, 0, image.height, image.width};
    const auto accepted = [&](const Rectangle& crop) {
        if (boxes.empty()) return covers_enough(crop, whole);
        return std::any_of(boxes.begin(), boxes.end(),
                           [&](const Box& box) { return covers_enough(crop, to_pixels(box, image)); });
    };
    for (int attempt = 0; attempt < kCropAttempts; ++attempt) {
        const std::optional<ImageSize> size = sample_size(image, rng);
        if (!size) continue;
        const auto offset = [&](std::int64_t slack) { return slack > 0 ? rng.integer(0, slack) : 0; };
        const std::int64_t top = offset(image.height - size->height);
        const std::int64_t left = offset(image.width - size->width);
        const Rectangle crop{top, left, size->height, size->width};
        if (accepted(crop)) return crop;
    }
    return whole;
}

Rectangle sample_resized_crop(ImageSize image, double least, double most, Rng& rng) {
    constexpr int kResizedAttempts = 10;
    constexpr double kNarrowest = 3.0 / 4.0;
    constexpr double kWidest = 4.0 / 3.0;
    const auto area = static_cast<double>(image.height * image.width);
    for (int attempt = 0; attempt < kResizedAttempts; ++attempt) {
        const double wanted = area * rng.uniform(least, most);
        const double aspect = std::exp(rng.uniform(std::log(kNarrowest), std::log(kWidest)));
        const auto width = static_cast<std::int64_t>(std::nearbyint(std::sqrt(wanted * aspect)));
        const auto height = static_cast<std::int64_t>(std::nearbyint(std::sqrt(wanted / aspect)));
        if (width < 1 || width > image.width || height < 1 || height > image.height) continue;
        const std::int64_t top = rng.integer(0, image.height - height + 1);
        return {top, rng.integer(0, image.width - width + 1), height, width};
    }
    ImageSize size = image;
    const double aspect = static_cast<double>(image.width) / static_cast<double>(image.height);
    if (aspect < kNarrowest) {
        size.height = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(image.width) / kNarrowest));
    } else if (aspect > kWidest) {
        size.width = static_cast<std::int64_t>(std::nearbyint(static_cast<double>(image.height) * kWidest));
    }
    return {(image.height - size.height) / 2, (image.width - size.width) / 2, size.height, size.width};
}

}  // namespace cnntrain::data
