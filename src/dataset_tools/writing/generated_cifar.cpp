#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <numbers>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/base/rng.h"
#include "cnntrain/data/settings.h"
#include "cnntrain/dataset_tools/writers.h"

namespace cnntrain::dataset_tools {
namespace {

constexpr int kSide = 32;
constexpr std::size_t kRecordBytes = 1 + 3 * kSide * kSide;
constexpr std::int64_t kTrainFiles = 5;
constexpr double kTurn = 2 * std::numbers::pi;

/// The patterns are unchanged by mirroring, which training applies.
enum class Pattern { horizontal, vertical, diagonal, checks, rings };
constexpr std::int32_t kPatterns = 5;

/// All random choices for one image, drawn before its pixels.
struct Scene {
    Pattern pattern;
    double period;  // in pixels
    double phase;
    double tilt;  // in radians
    double mirror;
    double centre_x, centre_y, radius;
    double noise;
    std::array<double, 3> base, ramp_x, ramp_y, contrast;  // per channel
};

Scene sample_scene(std::int32_t label, Rng& rng) {
    Scene scene{};
    scene.pattern = static_cast<Pattern>(label % kPatterns);
    const bool fine = label < kPatterns;
    scene.period = fine ? rng.uniform(3.0, 4.4) : rng.uniform(5.6, 8.0);
    scene.phase = rng.uniform(0, kTurn);
    scene.tilt = rng.uniform(-0.2, 0.2);
    scene.mirror = rng.uniform() < 0.5 ? -1 : 1;
    scene.radius = rng.uniform(8, 13);
    scene.centre_x = rng.uniform(10, kSide - 10);
    scene.centre_y = rng.uniform(10, kSide - 10);
    scene.noise = rng.uniform(10, 35);
    for (std::size_t c = 0; c < 3; ++c) {
        scene.base[c] = rng.uniform(60, 196);
        scene.ramp_x[c] = rng.uniform(-2, 2);
        scene.ramp_y[c] = rng.uniform(-2, 2);
        scene.contrast[c] = (rng.uniform() < 0.5 ? -1 : 1) * rng.uniform(15, 70);
    }
    return scene;
}

/// Value in -1..1 at an offset from the patch's centre.
double pattern_value(const Scene& scene, double dx, double dy) {
    const double x = dx * std::cos(scene.tilt) - dy * std::sin(scene.tilt);
    const double y = dx * std::sin(scene.tilt) + dy * std::cos(scene.tilt);
    const auto wave = [&](double distance) { return std::sin(kTurn * distance / scene.period + scene.phase); };
    switch (scene.pattern) {
        case Pattern::horizontal:
            return wave(y);
        case Pattern::vertical:
            return wave(x);
        case Pattern::diagonal:
            return wave((x + scene.mirror * y) / std::numbers::sqrt2);
        case Pattern::checks:
            return wave(x) * wave(y);
        case Pattern::rings:
            return wave(std::hypot(x, y));
    }
    return 0;
}

void draw(const Scene& scene, Rng& rng, std::uint8_t* planes) {
    for (int y = 0; y < kSide; ++y) {
        for (int x = 0; x < kSide; ++x) {
            const double dx = x - scene.centre_x;
            const double dy = y - scene.centre_y;
            const double value = std::hypot(dx, dy) < scene.radius ? pattern_value(scene, dx, dy) : 0;
            for (std::size_t c = 0; c < 3; ++c) {
                const double light = scene.base[c] + scene.ramp_x[c] * (x - 16) + scene.ramp_y[c] * (y - 16) +
                                     scene.contrast[c] * value + scene.noise * rng.normal();
                planes[c * kSide * kSide + static_cast<std::size_t>(y * kSide + x)] =
                    static_cast<std::uint8_t>(std::clamp(light, 0.0, 255.0));
            }
        }
    }
}

/// Image `index` of a split (0 train, 1 test) is the same in sets of any size.
void write_file(const std::string& path, const GeneratedCifarSettings& settings, std::uint32_t split,
                std::int64_t first, std::int64_t end) {
    const std::unique_ptr<OutputFile> file = posix_files().create(path);
    std::array<std::uint8_t, kRecordBytes> record{};
    for (std::int64_t index = first; index < end; ++index) {
        Rng rng(settings.seed, RngStream::generated_data, split, static_cast<std::uint64_t>(index));
        const auto label = static_cast<std::int32_t>(index % settings.classes);
        record[0] = static_cast<std::uint8_t>(label);
        draw(sample_scene(label, rng), rng, record.data() + 1);
        file->write(std::as_bytes(std::span(record)));
    }
    file->commit();
}

}  // namespace

std::string write_generated_cifar(const GeneratedCifarSettings& settings) {
    const auto& [folder, seed, train_images, test_images, classes] = settings;
    if (train_images < kTrainFiles || test_images < 1 || classes < 2 || classes > 10) {
        throw Error(ErrorKind::usage, "a generated CIFAR-10 set needs at least " + std::to_string(kTrainFiles) +
                                          " training images, 1 test image and 2..10 classes; asked for " +
                                          std::to_string(train_images) + ", " + std::to_string(test_images) + " and " +
                                          std::to_string(classes));
    }
    const std::filesystem::path target =
        std::filesystem::path(folder) / data::dataset_info(data::DatasetId::cifar10).folder;
    posix_files().make_directories(target.string());
    for (std::int64_t i = 0; i < kTrainFiles; ++i) {
        const std::string name = "data_batch_" + std::to_string(i + 1) + ".bin";
        write_file((target / name).string(), settings, 0, train_images * i / kTrainFiles,
                   train_images * (i + 1) / kTrainFiles);
    }
    write_file((target / "test_batch.bin").string(), settings, 1, 0, test_images);
    return target.string();
}

}  // namespace cnntrain::dataset_tools
