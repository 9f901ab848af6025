#include "data/image_ops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "cnntrain/base/error.h"

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

std::byte* put(float value, std::uint8_t, std::byte* out) {
    *out = static_cast<std::byte>(static_cast<std::uint8_t>(std::clamp(value, 0.0f, 255.0f)));
    return out + 1;
}

template <typename T>
void store_as(std::span<const float> values, const std::optional<Normalisation>& normalise, std::byte* out) {
    if (!normalise) {
        for (const float value : values) {
            out = put(value, T{}, out);
        }
        return;
    }
    for (std::size_t i = 0; i + 2 < values.size(); i += 3) {
        for (std::size_t c = 0; c < 3; ++c) {
            out = put(values[i + c] * normalise->scale[c] + normalise->shift[c], T{}, out);
        }
    }
}

/// One axis of the resize: two neighbouring source positions and the weight of the second.
struct Tap {
    std::int64_t low;
    std::int64_t high;
    float weight;
};

class Axis {
public:
    Axis(std::int64_t in, std::int64_t out) : in_(in), scale_(static_cast<float>(in) / static_cast<float>(out)) {}

    Tap at(std::int64_t destination) const {
        const float position = static_cast<float>(destination) * scale_;
        const auto low = std::min(static_cast<std::int64_t>(position), in_ - 1);
        return {low, std::min(low + 1, in_ - 1), position - static_cast<float>(low)};
    }

private:
    std::int64_t in_;
    float scale_;
};

void interpolate_row(const std::uint8_t* source, std::span<const ResizeScratch::Column> columns, float* out) {
    for (const auto& column : columns) {
        for (std::int64_t c = 0; c < 3; ++c) {
            const auto low = static_cast<float>(source[column.low + c]);
            const auto high = static_cast<float>(source[column.high + c]);
            *out++ = low + (high - low) * column.weight;
        }
    }
}

}  // namespace

void cmyk_to_rgb(std::span<std::uint8_t> pixels, std::size_t count, bool adobe) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint8_t* inks = pixels.data() + 4 * i;
        const int flip = adobe ? 0 : 255;
        const int black = std::abs(inks[3] - flip);
        const std::array<int, 3> light = {std::abs(inks[0] - flip), std::abs(inks[1] - flip), std::abs(inks[2] - flip)};
        for (std::size_t c = 0; c < 3; ++c) {
            pixels[3 * i + c] = static_cast<std::uint8_t>(light[c] * black / 255);
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
        case DType::u8:
            return store_as<std::uint8_t>(values, format.normalise, out.data());
        default:
            CNNTRAIN_CHECK(false, "images are f32, bf16 or u8");
    }
}

ImageSize aspect_preserving_size(ImageSize size, std::int64_t shorter, std::int64_t least) {
    const float ratio = static_cast<float>(shorter) / static_cast<float>(std::min(size.height, size.width));
    const auto scaled = [&](std::int64_t side) {
        return std::max(static_cast<std::int64_t>(static_cast<float>(side) * ratio), least);
    };
    return {scaled(size.height), scaled(size.width)};
}

void resize(const PixelView& source, const Resize& how, const PixelFormat& format, std::span<std::byte> out,
            ResizeScratch& scratch) {
    const std::int64_t width = how.window.width;
    const auto row_values = static_cast<std::size_t>(width) * 3;
    const std::size_t row_bytes = row_values * size_bytes(format.dtype);
    CNNTRAIN_CHECK(out.size() == row_bytes * static_cast<std::size_t>(how.window.height), "image of another size");

    std::vector<ResizeScratch::Column>& columns = scratch.columns;
    std::vector<float>& rows = scratch.rows;
    columns.clear();
    const Axis across(source.size.width, how.full.width);
    for (std::int64_t x = 0; x < width; ++x) {
        const Tap tap = across.at(how.window.left + x);
        const auto byte_offset = [&](std::int64_t column) {
            return 3 * (how.flip ? source.size.width - 1 - column : column);
        };
        columns.push_back({byte_offset(tap.low), byte_offset(tap.high), tap.weight});
    }

    // Two source rows, interpolated across, are kept for the next output rows that need them.
    rows.resize(3 * row_values);
    std::array<float*, 2> kept = {rows.data(), rows.data() + row_values};
    std::array<std::int64_t, 2> kept_row = {-1, -1};
    const std::span<float> result(rows.data() + 2 * row_values, row_values);
    const auto ensure = [&](std::size_t slot, std::int64_t row) {
        if (kept_row[slot] == row) return;
        interpolate_row(source.pixels + row * source.row_bytes, columns, kept[slot]);
        kept_row[slot] = row;
    };
    const Axis down(source.size.height, how.full.height);
    for (std::int64_t y = 0; y < how.window.height; ++y) {
        const Tap tap = down.at(how.window.top + y);
        if (tap.low == kept_row[1]) {
            std::swap(kept[0], kept[1]);
            std::swap(kept_row[0], kept_row[1]);
        }
        ensure(0, tap.low);
        ensure(1, tap.high);
        for (std::size_t i = 0; i < row_values; ++i) {
            result[i] = kept[0][i] + (kept[1][i] - kept[0][i]) * tap.weight;
        }
        store_pixels(result, format, out.subspan(static_cast<std::size_t>(y) * row_bytes, row_bytes));
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
    for (std::size_t value = 0; value < table.size(); ++value) {
        table[value] = static_cast<float>((static_cast<double>(value) - mean) / divisor);
    }
    return table;
}

}  // namespace cnntrain::data
