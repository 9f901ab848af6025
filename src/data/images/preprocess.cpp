#include "data/images/preprocess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <tuple>
#include <type_traits>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/data/settings.h"
#include "data/images/augment.h"
#include "data/images/image_file.h"
#include "data/images/jpeg.h"
#include "data/images/resize.h"

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
        const PixelFormat rounding{DType::u8, nn::Normalisation{{1, 1, 1}, {0.5f, 0.5f, 0.5f}}};
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

void prepare_photo(const HostTensor& pixels, const DataSettings& settings, const PixelFormat& format,
                   std::span<std::byte> image) {
    const std::span<const std::uint8_t> levels = pixels.as<std::uint8_t>();
    const ImageSize size{pixels.shape().at(0), pixels.shape().at(1)};
    if (!dataset_info(settings.dataset).normalised_by_channel) {
        CNNTRAIN_CHECK(size == (ImageSize{settings.image_size, settings.image_size}), "image of another size");
        const std::array<float, 256> value = standardisation_table(levels);
        std::vector<float> values(levels.size());
        std::ranges::transform(levels, values.begin(), [&](std::uint8_t level) { return value[level]; });
        store_pixels(values, format, image);
        return;
    }
    Workspace workspace;
    workspace.pixels.assign(levels.begin(), levels.end());
    workspace.pixels.resize(levels.size() + kReadableBehindView);
    const PhotoTarget target{settings.image_size, format, settings.preparation, mean_pixel(settings)};
    resize_for_evaluation(whole_view(workspace.pixels.data(), size), target, image, workspace);
}

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

/// The heat between the middles of its parts, at a place from 0 to 1 on both axes.
float heat_at(const Heat& heat, double y, double x) {
    const auto near = [](double place, std::int64_t parts) {
        const double at = std::clamp(place * static_cast<double>(parts) - 0.5, 0.0, static_cast<double>(parts - 1));
        const auto low = std::min(static_cast<std::int64_t>(at), std::max<std::int64_t>(parts - 2, 0));
        return std::tuple(low, std::min(low + 1, parts - 1), static_cast<float>(at - static_cast<double>(low)));
    };
    const auto [top, bottom, down] = near(y, heat.height);
    const auto [left, right, across] = near(x, heat.width);
    const auto value = [&](std::int64_t row, std::int64_t column) {
        return heat.values[static_cast<std::size_t>(row * heat.width + column)];
    };
    return std::lerp(std::lerp(value(top, left), value(top, right), across),
                     std::lerp(value(bottom, left), value(bottom, right), across), down);
}

void colour(std::vector<std::uint8_t>& levels, ImageSize size, const Heat& heat) {
    constexpr std::array<float, kChannels> kOrange = {255, 110, 0};
    constexpr std::array<float, kChannels> kBrightness = {0.299F, 0.587F, 0.114F};
    constexpr float kStrongest = 0.7F;
    const auto [least, most] = std::ranges::minmax(heat.values);
    const float scale = most > least ? kStrongest / (most - least) : 0;
    for (std::int64_t y = 0; y < size.height; ++y) {
        for (std::int64_t x = 0; x < size.width; ++x) {
            std::uint8_t* const pixel = levels.data() + kChannels * (y * size.width + x);
            const float above =
                scale * (heat_at(heat, (static_cast<double>(y) + 0.5) / static_cast<double>(size.height),
                                 (static_cast<double>(x) + 0.5) / static_cast<double>(size.width)) -
                         least);
            const float share = std::isfinite(above) ? above : 0;
            const float grey = std::inner_product(kBrightness.begin(), kBrightness.end(), pixel, 0.0F);
            for (std::size_t c = 0; c < kChannels; ++c)
                pixel[c] = static_cast<std::uint8_t>(std::lround(std::lerp(grey, kOrange[c], share)));
        }
    }
}

}  // namespace

std::string thumbnail(const TensorDesc& image, std::span<const std::byte> pixels, std::int64_t most_side,
                      const Heat* heat) {
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
    std::vector<std::uint8_t> levels = levels_of(shrunk(wide.as<float>(), from, to));
    if (heat != nullptr) colour(levels, to, *heat);
    return encode_jpeg(whole_view(levels.data(), to), kQuality);
}

namespace {

/// Stores the value as a float, a BFloat16 or a Half.
template <typename T> std::byte* put(float value, T stored, std::byte* out) {
    if constexpr (std::is_same_v<T, float>) stored = value;
    if constexpr (std::is_same_v<T, BFloat16>) stored = to_bfloat16(value);
    if constexpr (std::is_same_v<T, Half>) stored = to_half(value);
    std::memcpy(out, &stored, sizeof stored);
    return out + sizeof stored;
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
