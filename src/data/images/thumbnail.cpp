#include "cnntrain/data/thumbnail.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "cnntrain/base/error.h"
#include "data/images/jpeg_encoder.h"

namespace cnntrain::data {
namespace {

constexpr int kQuality = 85;
constexpr std::int64_t kChannels = 3;

/// The mean of the pixels that each smaller pixel covers; every pixel counts for one of them.
std::vector<float> shrunk(std::span<const float> pixels, ImageSize from, ImageSize to) {
    std::vector<float> sums(static_cast<std::size_t>(to.height * to.width * kChannels));
    std::vector<float> counts(static_cast<std::size_t>(to.height * to.width));
    for (std::int64_t y = 0; y < from.height; ++y) {
        for (std::int64_t x = 0; x < from.width; ++x) {
            const auto place =
                static_cast<std::size_t>(y * to.height / from.height * to.width + x * to.width / from.width);
            counts[place] += 1;
            for (std::size_t c = 0; c < kChannels; ++c)
                sums[kChannels * place + c] += pixels[static_cast<std::size_t>((y * from.width + x) * kChannels) + c];
        }
    }
    for (std::size_t i = 0; i < sums.size(); ++i)
        sums[i] /= counts[i / kChannels];
    return sums;
}

std::vector<std::uint8_t> levels_of(std::span<const float> values) {
    float least = INFINITY;
    float most = -INFINITY;
    for (const float value : values) {
        if (!std::isfinite(value)) continue;
        least = std::min(least, value);
        most = std::max(most, value);
    }
    const float scale = most > least ? 255.0F / (most - least) : 0;
    std::vector<std::uint8_t> levels;
    levels.reserve(values.size());
    for (const float value : values) {
        const float level = std::isfinite(value) ? (value - least) * scale : 0;
        levels.push_back(static_cast<std::uint8_t>(std::lround(std::clamp(level, 0.0F, 255.0F))));
    }
    return levels;
}

}  // namespace

std::string thumbnail(const TensorDesc& image, std::span<const std::byte> pixels, std::int64_t most_side) {
    const bool is_picture = image.shape.size() == 3 && image.shape[2] == kChannels && image.elements() > 0;
    CNNTRAIN_CHECK(is_picture && pixels.size() == image.bytes(), "a thumbnail needs pixels [H,W,3]");
    HostTensor stored(image);
    std::memcpy(stored.bytes().data(), pixels.data(), pixels.size());
    const HostTensor wide = stored.cast(DType::f32);
    const ImageSize from{image.shape[0], image.shape[1]};
    const double shrink =
        std::max(1.0, static_cast<double>(std::max(from.height, from.width)) / static_cast<double>(most_side));
    const auto side = [&](std::int64_t length) {
        return std::max<std::int64_t>(1, std::llround(static_cast<double>(length) / shrink));
    };
    const ImageSize to{side(from.height), side(from.width)};
    const std::vector<std::uint8_t> levels = levels_of(shrunk(wide.as<float>(), from, to));
    return encode_jpeg(whole_view(levels.data(), to), kQuality);
}

}  // namespace cnntrain::data
