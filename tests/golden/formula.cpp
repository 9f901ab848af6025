#include "golden/formula.h"

#include <cmath>

namespace cnntrain::golden {
namespace {

constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::int64_t kSquares = 8;  // per side

double fixed_point(double value, double steps_per_unit) {
    return std::floor(value * steps_per_unit + 0.5) / steps_per_unit;
}

/// One image's share of colour squares, added to `pixels` [size,size,3].
void add_squares(const std::string& text, std::int64_t size, std::vector<double>& pixels) {
    const Stream colours(text);
    for (std::int64_t h = 0, i = 0; h < size; ++h) {
        for (std::int64_t w = 0; w < size; ++w) {
            const std::int64_t square = h * kSquares / size * kSquares + w * kSquares / size;
            for (std::int64_t c = 0; c < 3; ++c, ++i)
                pixels[static_cast<std::size_t>(i)] += colours.noise(square * 3 + c);
        }
    }
}

}  // namespace

Stream::Stream(std::string_view text) : hash_(0x811C9DC5U) {
    for (const char c : text)
        hash_ = (hash_ ^ static_cast<unsigned char>(c)) * 0x01000193U;
}

std::uint32_t Stream::bits(std::int64_t i) const {
    std::uint32_t x = hash_ + static_cast<std::uint32_t>(i) * 0x9E3779B9U;
    x = (x ^ (x >> 16U)) * 0x85EBCA6BU;
    x = (x ^ (x >> 13U)) * 0xC2B2AE35U;
    return x ^ (x >> 16U);
}

double Stream::noise(std::int64_t i) const {
    return static_cast<double>(bits(i)) / 2147483648.0 - 1.0;
}

double Stream::sign(std::int64_t i) const {
    return (bits(i) & 1U) != 0 ? -1.0 : 1.0;
}

HostTensor initial_value(const std::string& name, const Shape& shape, std::string_view choices) {
    HostTensor tensor({DType::f32, shape});
    const Stream stream(name);
    const bool third_norm = name.find("/bn3/") != std::string::npos;
    const std::int64_t fan_in = tensor.elements() / shape.back();
    const double limit = std::sqrt(3.0 / static_cast<double>(fan_in));
    for (std::int64_t i = 0; i < tensor.elements(); ++i) {
        double value = stream.noise(i);
        if (name.ends_with("/gamma")) {
            value = (third_norm ? 0.25 : 1.0) * (1.0 + 0.25 * value);
        } else if (name.ends_with("/proxy")) {
            const std::int64_t row = i / shape.back();
            value = 0.25 * value + (row == 1 || row == 3 ? 1.0 : 0.0);  // gamma, inverse deviation
        } else if (name.ends_with("/beta") || name.ends_with("/bias")) {
            value *= 0.25;
            if (!choices.empty()) {
                const auto choice = static_cast<double>(kLetters.find(choices.at(static_cast<std::size_t>(i))));
                value += (choice - 31.5) / 128.0;
            }
        } else {
            value *= limit;
            if (name == "all/stage0/conv0/weight") value = fixed_point(value, 128.0);
        }
        tensor.set(i, value);
    }
    return tensor;
}

Images make_images(std::int64_t index, std::int64_t samples, std::int64_t size) {
    const std::string batch = std::to_string(index);
    const Stream labels("labels/" + batch);
    const Stream noise("images/" + batch);
    const std::int64_t count = size * size * 3;
    Images images;
    std::vector<double> pixels(static_cast<std::size_t>(count));
    for (std::int64_t n = 0; n < samples; ++n) {
        const std::uint32_t label = labels.bits(n) % 10U;
        images.labels.push_back(static_cast<std::int32_t>(label));
        for (std::int64_t i = 0; i < count; ++i)
            pixels[static_cast<std::size_t>(i)] = 0.5 * noise.noise(n * count + i);
        add_squares("class/" + std::to_string(label), size, pixels);
        add_squares("sample/" + batch + "/" + std::to_string(n), size, pixels);
        for (const double pixel : pixels)
            images.pixels.push_back(static_cast<float>(fixed_point(pixel, 16.0)));
    }
    return images;
}

}  // namespace cnntrain::golden
