#include "data/images/operations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numbers>

namespace cnntrain::data {
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

}  // namespace cnntrain::data
