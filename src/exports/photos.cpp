#include "exports/photos.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <random>
#include <span>

#include "cnntrain/base/error.h"
#include "cnntrain/data/photo_input.h"
#include "cnntrain/data/resolve.h"

namespace cnntrain::exports {

namespace {

/// Waves with noise, so that neighbouring pixels resemble each other as in photos.
HostTensor drawn(std::int64_t height, std::int64_t width, std::mt19937_64& random) {
    constexpr double kMiddle = 128;
    constexpr double kWave = 80;
    constexpr double kNoise = 15;
    HostTensor pixels({DType::u8, {height, width, 3}});
    std::uniform_real_distribution<double> turns(0, 2 * std::numbers::pi);
    std::uniform_real_distribution<double> waves(1, 12);
    std::normal_distribution<double> noise(0, kNoise);
    for (std::int64_t colour = 0; colour < 3; ++colour) {
        const double phase = turns(random);
        const double down = waves(random) / static_cast<double>(height);
        const double across = waves(random) / static_cast<double>(width);
        for (std::int64_t i = 0; i < height * width; ++i) {
            const double wave = std::sin(phase + down * static_cast<double>(i / width)) *
                                std::cos(phase + across * static_cast<double>(i % width));
            pixels.set(i * 3 + colour, std::clamp(std::round(kMiddle + kWave * wave + noise(random)), 0.0, 255.0));
        }
    }
    return pixels;
}

}  // namespace

std::vector<HostTensor> read_photos(const FileSystem& files, const data::DataSettings& images,
                                    const std::vector<std::string>& names) {
    std::vector<HostTensor> photos;
    const std::filesystem::path folder = names.empty() ? "" : data::find_data_folder(images.dataset, images.data_dir);
    for (const std::string& name : names) {
        try {
            const std::string content = read_text(files, (folder / name).string());
            photos.push_back(data::decoded_photo(std::as_bytes(std::span(content))));
        } catch (const Error& error) {
            if (error.kind() != ErrorKind::data) throw;
        }
    }
    return photos;
}

std::vector<HostTensor> drawn_photos(const data::DataSettings& images, std::int64_t count) {
    /// Sides as multiples of the network's.
    struct Sides {
        double height;
        double width;
    };
    constexpr auto kSides = std::to_array<Sides>({{1.7, 2.23}, {2.23, 1.7}, {1, 1}, {0.6, 0.8}, {1.15, 4.1}, {3, 1.2}});
    const bool any_size = data::dataset_info(images.dataset).any_image_size;
    const auto scaled = [&](double share) {
        return any_size ? static_cast<std::int64_t>(share * static_cast<double>(images.image_size)) : images.image_size;
    };
    std::mt19937_64 random(1);
    std::vector<HostTensor> photos;
    for (std::int64_t i = 0; i < count; ++i) {
        const Sides& sides = kSides[static_cast<std::size_t>(i) % kSides.size()];
        photos.push_back(drawn(scaled(sides.height), scaled(sides.width), random));
    }
    return photos;
}

}  // namespace cnntrain::exports
