// Photos that an ONNX file prepares itself, compared with photos that evaluation prepares.
#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <random>
#include <tuple>

#include "cnntrain/base/error.h"
#include "cnntrain/base/io.h"
#include "cnntrain/data/settings.h"
#include "exports/network.h"
#include "weights/onnx/lowering.h"

namespace cnntrain::weights {
namespace {

using data::Interpolation;
using data::ResizeMode;

data::DataSettings folder_settings(ResizeMode mode, Interpolation interpolation) {
    data::DataSettings images{.dataset = data::DatasetId::folder, .image_size = 53, .normalise_input = true};
    images.preparation.resize_mode = mode;
    images.preparation.interpolation = interpolation;
    return images;
}

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

/// [1,S,S,3]
HostTensor prepared(const HostTensor& photo, const data::DataSettings& images) {
    data::PixelFormat format{DType::f32, {}};
    if (data::dataset_info(images.dataset).normalised_by_channel)
        format.normalise = data::channel_normalisation(images);
    HostTensor image({DType::f32, {1, images.image_size, images.image_size, 3}});
    data::prepare_photo(photo, images, format, image.bytes());
    return image;
}

/// The nodes of the preparation alone, written, read and run; [1,3,S,S].
Array run_preparation(const data::DataSettings& images, const HostTensor& photo) {
    OnnxModel model;
    OnnxBuilder builder(model, OnnxWeights::f32);
    builder.reserve("images");
    model.inputs.push_back(photo_port("images", images));
    const std::string result = add_preparation(builder, "images", images);
    model.outputs.push_back({result, DType::f32, {{0, "batch"}, {3, {}}, {0, "rows"}, {0, "columns"}}});
    Products products;
    const OnnxProgram program(decode(encode(model)), products);
    Array input{.shape = {1, photo.shape()[0], photo.shape()[1], 3}, .real = false};
    for (const std::uint8_t level : photo.as<std::uint8_t>())
        input.integers.push_back(level);
    return program.run({{"images", input}}).at(result);
}

/// Count of the numbers that differ by more than rounding, and the greatest difference, in levels.
struct Differences {
    std::int64_t count = 0;
    double greatest = 0;
};

Differences differences(const Array& got, const HostTensor& expected, double levels) {
    const std::int64_t side = expected.shape()[1];
    EXPECT_EQ(got.shape, (Shape{1, 3, side, side}));
    Differences result;
    for (std::int64_t i = 0; i < expected.elements(); ++i) {
        const auto place = static_cast<std::size_t>(i % 3 * side * side + i / 3);
        const double apart = std::abs(expected.at(i) - got.reals.at(place)) * levels;
        if (apart > 0.02) ++result.count;
        result.greatest = std::max(result.greatest, apart);
    }
    return result;
}

class EveryPreparation : public ::testing::TestWithParam<std::tuple<ResizeMode, Interpolation>> {};

TEST_P(EveryPreparation, IsThatOfEvaluation) {
    const auto [mode, interpolation] = GetParam();
    const data::DataSettings images = folder_settings(mode, interpolation);
    std::int64_t apart = 0;
    std::int64_t all = 0;
    for (const HostTensor& photo : drawn_photos(images, 12)) {
        SCOPED_TRACE(to_string(photo.shape()));
        const Differences found = differences(run_preparation(images, photo), prepared(photo, images), 255 * 0.229);
        EXPECT_LT(found.greatest, 1.03);  // one level, where a sum lies between two
        apart += found.count;
        all += images.image_size * images.image_size * 3;
    }
    EXPECT_LE(apart, all / 100);
}

INSTANTIATE_TEST_SUITE_P(Exports, EveryPreparation,
                         ::testing::Combine(::testing::Values(ResizeMode::crop, ResizeMode::squash, ResizeMode::pad),
                                            ::testing::Values(Interpolation::tf1_bilinear, Interpolation::bilinear,
                                                              Interpolation::bicubic)));

TEST(Preparation, ImagesOfCifarAreStandardisedOneByOne) {
    const data::DataSettings images{.dataset = data::DatasetId::cifar10, .image_size = 32};
    std::vector<HostTensor> photos = drawn_photos(images, 2);
    photos.emplace_back(TensorDesc{DType::u8, {32, 32, 3}});  // black: the deviation has a least value
    for (const HostTensor& photo : photos)
        EXPECT_LT(differences(run_preparation(images, photo), prepared(photo, images), 1).greatest, 1e-5);
    EXPECT_EQ(photo_port("images", images).shape.at(1).size, 32);
}

/// Sizes whose sides are halves, and a crop fraction that a rounding makes a whole number of pixels.
TEST(Preparation, SidesAreRoundedAsInEvaluation) {
    for (const auto& [height, width] : {std::pair<std::int64_t, std::int64_t>{97, 64}, {64, 98}, {99, 66}, {48, 49}}) {
        data::DataSettings images = folder_settings(ResizeMode::pad, Interpolation::bilinear);
        images.image_size = 33;
        HostTensor photo = drawn_photos(images, 1).front();
        HostTensor part({DType::u8, {height, width, 3}});
        for (std::int64_t i = 0; i < part.elements(); ++i)
            part.set(i, photo.at(i % photo.elements()));
        for (const ResizeMode mode : {ResizeMode::pad, ResizeMode::crop}) {
            images.preparation.resize_mode = mode;
            images.preparation.crop_fraction = 33.0 / 38.0;
            EXPECT_LT(differences(run_preparation(images, part), prepared(part, images), 255 * 0.229).greatest, 1.03)
                << height << " x " << width;
        }
    }
}

/// A whole network, in every type of weights.
TEST(Preparation, ANetworkAnswersOfPhotosAsOfItsOwnInput) {
    const data::DataSettings images = folder_settings(ResizeMode::crop, Interpolation::bicubic);
    nn::NetworkSettings model;
    model.size = "10";
    model.form = nn::NetworkForm::large_images;
    model.norm = nn::NormKind::batch;
    model.classes = 5;
    model.image_size = images.image_size;
    TestNetwork network = image_network(model, 6);
    const std::vector<HostTensor> photos = drawn_photos(images, 6);
    HostTensor inputs({DType::f32, {6, model.image_size, model.image_size, 3}});
    const std::size_t bytes = inputs.bytes().size() / 6;
    for (std::size_t i = 0; i < photos.size(); ++i)
        std::ranges::copy(prepared(photos[i], images).bytes(), inputs.bytes().subspan(i * bytes, bytes).begin());
    network.samples = {};
    network.answer({{"images", inputs}, {"labels", HostTensor({DType::i32, {6}})}});
    network.samples.photos = photos;
    for (const auto& [weights, allowed] :
         {std::pair(OnnxWeights::f32, 1e-3), {OnnxWeights::f16, 1e-2}, {OnnxWeights::bf16, 5e-2}}) {
        const OnnxModel exported = to_onnx(network.part(), {.weights = weights, .preparation = images});
        EXPECT_EQ(exported.inputs.at(0).dtype, DType::u8);
        EXPECT_EQ(exported.inputs.at(0).shape.at(2).name, "width");
        EXPECT_LT(apart(exported, network.samples), allowed);
    }
    network.samples.photos[3] = photos[4];
    EXPECT_GT(apart(to_onnx(network.part(), {.preparation = images}), network.samples), 1e-3);
}

}  // namespace
}  // namespace cnntrain::weights
