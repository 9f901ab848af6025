#include "data/images/image_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cnntrain/base/error.h"
#include "cnntrain/base/tensor.h"

namespace cnntrain::data {
namespace {

std::byte* put(float value, float, std::byte* out) {
    std::memcpy(out, &value, sizeof value);
    return out + sizeof value;
}

std::byte* put(float value, BFloat16, std::byte* out) {
    const BFloat16 narrow = to_bfloat16(value);
    std::memcpy(out, &narrow, sizeof narrow);
    return out + sizeof narrow;
}

std::byte* put(float value, Half, std::byte* out) {
    const Half narrow = to_half(value);
    std::memcpy(out, &narrow, sizeof narrow);
    return out + sizeof narrow;
}

std::byte* put(float value, std::uint8_t, std::byte* out) {
    *out = static_cast<std::byte>(static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f)));
    return out + 1;
}

template <typename T>
void store_as(std::span<const float> values, const std::optional<nn::Normalisation>& normalise, std::byte* out) {
    if (!normalise) {
        for (const float value : values)
            out = put(value, T{}, out);
        return;
    }
    for (std::size_t i = 0; i + 2 < values.size(); i += 3) {
        for (std::size_t c = 0; c < 3; ++c)
            out = put(values[i + c] * normalise->scale[c] + normalise->shift[c], T{}, out);
    }
}

}  // namespace

void cmyk_to_rgb(std::span<std::uint8_t> pixels, std::size_t count, bool adobe) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t* inks = pixels.data() + 4 * i;
        const int flip = adobe ? 0 : 255;
        const int black = std::abs(inks[3] - flip);
        const std::array<int, 3> light = {std::abs(inks[0] - flip), std::abs(inks[1] - flip), std::abs(inks[2] - flip)};
        for (std::size_t c = 0; c < 3; ++c)
            pixels[3 * i + c] = static_cast<std::uint8_t>(light[c] * black / 255);
    }
}

namespace {

/// sRGB values as light, and light in steps of 1/65535 as sRGB values.
struct LightTables {
    static constexpr double kMost = 65535;
    std::array<double, 256> light{};
    std::array<std::uint8_t, 65536> value{};

    LightTables() {
        for (std::size_t i = 0; i < light.size(); ++i) {
            const double x = static_cast<double>(i) / 255;
            light[i] = kMost * (x <= 0.04045 ? x / 12.92 : std::pow((x + 0.055) / 1.055, 2.4));
        }
        for (std::size_t i = 0; i < value.size(); ++i) {
            const double y = static_cast<double>(i) / kMost;
            const double x = y <= 0.0031308 ? 12.92 * y : 1.055 * std::pow(y, 1 / 2.4) - 0.055;
            value[i] = static_cast<std::uint8_t>(std::lround(255 * x));
        }
    }
};

}  // namespace

void onto_white(std::span<std::uint8_t> pixels, std::size_t count) {
    static const LightTables tables;
    const std::uint8_t* from = pixels.data();
    std::uint8_t* to = pixels.data();
    for (std::size_t i = 0; i < count; ++i, from += 4) {
        const std::uint8_t alpha = from[3];
        for (std::size_t c = 0; c < 3; ++c) {
            if (alpha == 255) {
                *to++ = from[c];
                continue;
            }
            const double share = alpha / 255.0;
            const double light = share * tables.light[from[c]] + (1 - share) * LightTables::kMost;
            *to++ = tables.value[static_cast<std::size_t>(std::lround(light))];
        }
    }
}

void store_pixels(std::span<const float> values, const PixelFormat& format, std::span<std::byte> out) {
    CNNTRAIN_CHECK(out.size() == values.size() * size_bytes(format.dtype), "image of another size");
    switch (format.dtype) {
        case DType::f32:
            return store_as<float>(values, format.normalise, out.data());
        case DType::bf16:
            return store_as<BFloat16>(values, format.normalise, out.data());
        case DType::f16:
            return store_as<Half>(values, format.normalise, out.data());
        case DType::u8:
            return store_as<std::uint8_t>(values, format.normalise, out.data());
        default:
            CNNTRAIN_CHECK(false, "images are f32, bf16, f16 or u8");
    }
}

namespace {

/// The stored value of each level of each channel, size_bytes(T) bytes each.
template <typename T> void look_up_levels(std::span<const std::uint8_t> levels, const PixelFormat& format, T* out) {
    std::array<std::array<T, 256>, 3> values{};
    for (std::size_t level = 0; level < 256; ++level) {
        const std::array<float, 3> pixel = {static_cast<float>(level), static_cast<float>(level),
                                            static_cast<float>(level)};
        std::array<T, 3> stored{};
        store_pixels(pixel, format, std::as_writable_bytes(std::span(stored)));
        for (std::size_t c = 0; c < 3; ++c)
            values[c][level] = stored[c];
    }
    for (std::size_t i = 0; i + 2 < levels.size(); i += 3) {
        for (std::size_t c = 0; c < 3; ++c)
            out[i + c] = values[c][levels[i + c]];
    }
}

}  // namespace

void store_levels(std::span<const std::uint8_t> levels, const PixelFormat& format, std::span<std::byte> out) {
    CNNTRAIN_CHECK(out.size() == levels.size() * size_bytes(format.dtype), "image of another size");
    switch (format.dtype) {
        case DType::f32:
            return look_up_levels(levels, format, reinterpret_cast<float*>(out.data()));
        case DType::bf16:
            return look_up_levels(levels, format, reinterpret_cast<BFloat16*>(out.data()));
        case DType::f16:
            return look_up_levels(levels, format, reinterpret_cast<Half*>(out.data()));
        case DType::u8:
            std::memcpy(out.data(), levels.data(), levels.size());
            return;
        default:
            CNNTRAIN_CHECK(false, "images are f32, bf16, f16 or u8");
    }
}

void fill_rectangle(const Rectangle& rectangle, std::int64_t width, const std::array<float, 3>& pixel,
                    const PixelFormat& format, std::span<std::byte> image) {
    std::array<float, 3> values = pixel;
    if (format.dtype == DType::u8) std::ranges::transform(pixel, values.begin(), [](float x) { return x + 0.5f; });
    std::array<std::byte, 3 * sizeof(float)> stored{};
    const std::size_t bytes = 3 * size_bytes(format.dtype);
    store_pixels(values, format, std::span(stored).first(bytes));
    for (std::int64_t y = rectangle.top; y < rectangle.top + rectangle.height; ++y) {
        for (std::int64_t x = rectangle.left; x < rectangle.left + rectangle.width; ++x)
            std::memcpy(image.data() + static_cast<std::size_t>(y * width + x) * bytes, stored.data(), bytes);
    }
}

std::array<float, 256> standardisation_table(std::span<const std::uint8_t> image) {
    std::uint64_t sum = 0;
    std::uint64_t squares = 0;
    for (const std::uint64_t value : image) {
        sum += value;
        squares += value * value;
    }
    const auto count = static_cast<double>(image.size());
    const double mean = static_cast<double>(sum) / count;
    const double variance = std::max(static_cast<double>(squares) / count - mean * mean, 0.0);
    const double divisor = std::max(std::sqrt(variance), 1.0 / std::sqrt(count));
    std::array<float, 256> table{};
    for (std::size_t value = 0; value < table.size(); ++value)
        table[value] = static_cast<float>((static_cast<double>(value) - mean) / divisor);
    return table;
}

}  // namespace cnntrain::data
