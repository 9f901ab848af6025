#include "data/images/augment.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>
#include <optional>
#include <utility>

#include "cnntrain/base/error.h"

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

namespace {

constexpr int kLevels = 256;
constexpr std::size_t kPixelBytes = 3;
using Table = std::array<std::uint8_t, kLevels>;

std::uint8_t clamped(double value) {
    return static_cast<std::uint8_t>(std::clamp(value, 0.0, 255.0));
}

/// The image before the operation.
const std::uint8_t* copy_of(const Canvas& image) {
    image.scratch.assign(image.pixels, image.pixels + image.bytes());
    return image.scratch.data();
}

// ---- Geometry: the source of output pixel (y, x), whose centre is at (y + 1/2, x + 1/2) ----

/// Source x = a * x + b * y + c, source y = d * x + e * y + f.
struct Affine {
    double a, b, c, d, e, f;
};

/// Coordinates have 16 binary places, as in Pillow.
constexpr int kPlaces = 16;

std::int64_t fixed_point(double value) {
    return static_cast<std::int64_t>(std::floor(value * (1 << kPlaces) + 0.5));
}

void transform(const Canvas& image, const Affine& map) {
    const std::uint8_t* const source = copy_of(image);
    const auto [height, width] = image.size;
    const std::int64_t x_step = fixed_point(map.a);
    const std::int64_t y_step = fixed_point(map.d);
    std::int64_t row_x = fixed_point(map.c + map.a * 0.5 + map.b * 0.5);
    std::int64_t row_y = fixed_point(map.f + map.d * 0.5 + map.e * 0.5);
    std::uint8_t* out = image.pixels;
    for (std::int64_t y = 0; y < height; ++y) {
        std::int64_t at_x = row_x;
        std::int64_t at_y = row_y;
        for (std::int64_t x = 0; x < width; ++x, out += kPixelBytes) {
            const std::int64_t from_x = at_x >> kPlaces;
            const std::int64_t from_y = at_y >> kPlaces;
            if (from_x >= 0 && from_x < width && from_y >= 0 && from_y < height) {
                std::memcpy(out, source + (from_y * width + from_x) * 3, kPixelBytes);
            } else {
                std::memset(out, 0, kPixelBytes);
            }
            at_x += x_step;
            at_y += y_step;
        }
        row_x += fixed_point(map.b);
        row_y += fixed_point(map.e);
    }
}

// ---- Blends ----

/// Level `base` moves to factor * level + (1 - factor) * base, in float32, truncated.
std::uint8_t blended(int base, int level, float factor) {
    return clamped(static_cast<double>(static_cast<float>(base) + factor * static_cast<float>(level - base)));
}

Table blend_table(int base, float factor) {
    Table table{};
    for (int level = 0; level < kLevels; ++level)
        table[static_cast<std::size_t>(level)] = blended(base, level, factor);
    return table;
}

void look_up(const Table& table, const Canvas& image) {
    std::for_each(image.pixels, image.pixels + image.bytes(), [&](std::uint8_t& level) { level = table[level]; });
}

/// One table for each channel.
void look_up(const std::array<Table, kPixelBytes>& tables, const Canvas& image) {
    for (std::int64_t i = 0; i < image.bytes(); i += 3) {
        for (std::size_t c = 0; c < kPixelBytes; ++c) {
            std::uint8_t& level = image.pixels[i + static_cast<std::int64_t>(c)];
            level = tables[c][level];
        }
    }
}

/// Luma of ITU-R 601 with 16 binary places.
int grey(const std::uint8_t* pixel) {
    return (pixel[0] * 19595 + pixel[1] * 38470 + pixel[2] * 7471 + 0x8000) >> 16;
}

// ---- Hue ----

struct Hsv {
    int hue, saturation, value;  // 0..255
};

Hsv to_hsv(const std::uint8_t* pixel) {
    const int red = pixel[0], green = pixel[1], blue = pixel[2];
    const int most = std::max({red, green, blue});
    const int least = std::min({red, green, blue});
    if (most == least) return {0, 0, most};
    const auto range = static_cast<float>(most - least);
    const float saturation = range / static_cast<float>(most);
    const float from_red = static_cast<float>(most - red) / range;
    const float from_green = static_cast<float>(most - green) / range;
    const float from_blue = static_cast<float>(most - blue) / range;
    float sixths = 0;
    if (red == most) {
        sixths = from_blue - from_green;
    } else if (green == most) {
        sixths = static_cast<float>(2.0 + static_cast<double>(from_red) - static_cast<double>(from_blue));
    } else {
        sixths = static_cast<float>(4.0 + static_cast<double>(from_green) - static_cast<double>(from_red));
    }
    const auto turn = static_cast<float>(std::fmod(static_cast<double>(sixths) / 6.0 + 1.0, 1.0));
    return {clamped(static_cast<double>(turn) * 255.0), clamped(static_cast<double>(saturation) * 255.0), most};
}

void store_hsv(const Hsv& colour, std::uint8_t* pixel) {
    const auto value = static_cast<std::uint8_t>(colour.value);
    if (colour.saturation == 0) {
        std::memset(pixel, value, kPixelBytes);
        return;
    }
    const auto sixths = static_cast<float>(static_cast<double>(static_cast<float>(colour.hue)) * 6.0 / 255.0);
    const auto saturation = static_cast<float>(static_cast<double>(static_cast<float>(colour.saturation)) / 255.0);
    const float sector = std::floor(sixths);
    const float rest = sixths - sector;
    const auto share = [&](double part) {
        return clamped(std::round(static_cast<double>(static_cast<float>(colour.value)) * (1.0 - part)));
    };
    const std::uint8_t low = share(static_cast<double>(saturation));
    const std::uint8_t falling = share(static_cast<double>(saturation * rest));
    const std::uint8_t rising = share(static_cast<double>(saturation) * (1.0 - static_cast<double>(rest)));
    const std::array<std::array<std::uint8_t, kPixelBytes>, 6> sectors = {{{value, rising, low},
                                                                           {falling, value, low},
                                                                           {low, value, rising},
                                                                           {low, falling, value},
                                                                           {rising, low, value},
                                                                           {value, low, falling}}};
    std::ranges::copy(sectors[static_cast<std::size_t>(sector) % sectors.size()], pixel);
}

// ---- Histograms ----

std::array<std::array<std::int64_t, kLevels>, kPixelBytes> histograms(const Canvas& image) {
    std::array<std::array<std::int64_t, kLevels>, kPixelBytes> counts{};
    for (std::int64_t i = 0; i < image.bytes(); i += 3) {
        for (std::size_t c = 0; c < kPixelBytes; ++c)
            ++counts[c][image.pixels[i + static_cast<std::int64_t>(c)]];
    }
    return counts;
}

Table unchanged() {
    Table table{};
    for (std::size_t level = 0; level < table.size(); ++level)
        table[level] = static_cast<std::uint8_t>(level);
    return table;
}

Table stretching(const std::array<std::int64_t, kLevels>& counts) {
    const auto present = [](std::int64_t count) { return count > 0; };
    const auto low = std::ranges::find_if(counts, present) - counts.begin();
    const auto high = std::find_if(counts.rbegin(), counts.rend(), present).base() - counts.begin() - 1;
    Table table = unchanged();
    if (high <= low) return table;
    const double scale = 255.0 / static_cast<double>(high - low);
    const double offset = -static_cast<double>(low) * scale;
    for (std::uint8_t& level : table)
        level = clamped(static_cast<double>(level) * scale + offset);
    return table;
}

/// The share of levels below each level, in steps of 1 / 255 of the pixels without those of the highest level.
Table equalizing(const std::array<std::int64_t, kLevels>& counts) {
    std::int64_t total = 0;
    std::int64_t last = 0;
    for (const std::int64_t count : counts) {
        total += count;
        if (count > 0) last = count;
    }
    const std::int64_t step = (total - last) / 255;
    Table table = unchanged();
    if (step == 0) return table;
    std::int64_t below = step / 2;
    for (std::size_t level = 0; level < table.size(); ++level) {
        table[level] = static_cast<std::uint8_t>(std::min<std::int64_t>(below / step, 255));
        below += counts[level];
    }
    return table;
}

}  // namespace

void shear_x(const Canvas& image, double factor) {
    transform(image, {1, factor, 0, 0, 1, 0});
}

void shear_y(const Canvas& image, double factor) {
    transform(image, {1, 0, 0, factor, 1, 0});
}

void translate_x(const Canvas& image, std::int64_t right) {
    transform(image, {1, 0, -static_cast<double>(right), 0, 1, 0});
}

void translate_y(const Canvas& image, std::int64_t down) {
    transform(image, {1, 0, 0, 0, 1, -static_cast<double>(down)});
}

void rotate(const Canvas& image, double degrees) {
    const double angle = -degrees * std::numbers::pi / 180;
    const double cosine = std::cos(angle);
    const double sine = std::sin(angle);
    const double x = static_cast<double>(image.size.width) / 2;
    const double y = static_cast<double>(image.size.height) / 2;
    transform(image, {cosine, sine, x - cosine * x - sine * y, -sine, cosine, y + sine * x - cosine * y});
}

void adjust_brightness(const Canvas& image, double factor) {
    look_up(blend_table(0, static_cast<float>(factor)), image);
}

void adjust_contrast(const Canvas& image, double factor) {
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < image.bytes(); i += 3)
        sum += grey(image.pixels + i);
    const double mean = static_cast<double>(sum) / static_cast<double>(image.size.height * image.size.width);
    look_up(blend_table(static_cast<int>(mean + 0.5), static_cast<float>(factor)), image);
}

void adjust_saturation(const Canvas& image, double factor) {
    for (std::int64_t i = 0; i < image.bytes(); i += 3) {
        std::uint8_t* const pixel = image.pixels + i;
        const int base = grey(pixel);
        for (std::size_t c = 0; c < kPixelBytes; ++c)
            pixel[c] = blended(base, pixel[c], static_cast<float>(factor));
    }
}

/// The smoothed image: the mean of 3 x 3 pixels with weight 5 / 13 for the middle one. Pixels at the edge are
/// unchanged.
void adjust_sharpness(const Canvas& image, double factor) {
    const std::uint8_t* const source = copy_of(image);
    const std::int64_t row = image.size.width * 3;
    for (std::int64_t y = 1; y + 1 < image.size.height; ++y) {
        for (std::int64_t i = y * row + 3; i < (y + 1) * row - 3; ++i) {
            int sum = 4 * source[i];
            for (const std::int64_t line : {i - row, i, i + row})
                sum += source[line - 3] + source[line] + source[line + 3];
            image.pixels[i] = blended((2 * sum + 13) / 26, source[i], static_cast<float>(factor));
        }
    }
}

void adjust_hue(const Canvas& image, double turn) {
    const int shift = static_cast<int>(turn * 255);
    for (std::int64_t i = 0; i < image.bytes(); i += 3) {
        Hsv colour = to_hsv(image.pixels + i);
        colour.hue = (colour.hue + shift) & 255;
        store_hsv(colour, image.pixels + i);
    }
}

void posterize(const Canvas& image, int bits) {
    Table table = unchanged();
    for (std::uint8_t& level : table)
        level = static_cast<std::uint8_t>(level >> (8 - bits) << (8 - bits));
    look_up(table, image);
}

void solarize(const Canvas& image, double threshold) {
    Table table = unchanged();
    for (std::uint8_t& level : table) {
        if (static_cast<double>(level) >= threshold) level = static_cast<std::uint8_t>(255 - level);
    }
    look_up(table, image);
}

void autocontrast(const Canvas& image) {
    const auto counts = histograms(image);
    look_up({stretching(counts[0]), stretching(counts[1]), stretching(counts[2])}, image);
}

void equalize(const Canvas& image) {
    const auto counts = histograms(image);
    look_up({equalizing(counts[0]), equalizing(counts[1]), equalizing(counts[2])}, image);
}

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
