// Augmentation, antialiased resizes, evaluation crops and class weights against torchvision, Pillow and PyTorch; the
// generator is tools/golden/make_preparation_golden.py.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "cnntrain/backend/backends.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/passes.h"
#include "data/images/augment.h"
#include "data/images/preprocess.h"
#include "data/images/resize.h"
#include "golden/formula.h"
#include "nn/requests.h"
#include "ops/run_op.h"
#include "support/tensor_source.h"

namespace cnntrain::golden {
namespace {

using graph::OpKind;
using nlohmann::json;
using namespace data;

const json& golden() {
    static const json document =
        json::parse(std::ifstream(std::string(CNNTRAIN_SOURCE_DIR) + "/tests/golden/preparation.json"));
    return document;
}

using Levels = std::vector<std::uint8_t>;

/// picture() of the generator.
Levels picture(std::int64_t height, std::int64_t width, std::int64_t low = 0, std::int64_t high = 255) {
    Levels levels;
    for (std::int64_t y = 0; y < height; ++y) {
        for (std::int64_t x = 0; x < width; ++x) {
            for (std::int64_t c = 0; c < 3; ++c) {
                const std::int64_t raw = (y * 13 + x * 7 + c * 37 + x * y * (c + 1) * 3) % 256;
                levels.push_back(static_cast<std::uint8_t>(low + raw * (high - low) / 255));
            }
        }
    }
    return levels;
}

Levels decoded(const std::string& base64) {
    constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    Levels levels;
    std::uint32_t bits = 0;
    int count = 0;
    for (const char digit : base64.substr(0, base64.find('='))) {
        bits = bits << 6 | static_cast<std::uint32_t>(kDigits.find(digit));
        count += 6;
        if (count < 8) continue;
        count -= 8;
        levels.push_back(static_cast<std::uint8_t>(bits >> count & 255));
    }
    return levels;
}

int largest_difference(const Levels& a, const Levels& b) {
    EXPECT_EQ(a.size(), b.size());
    int largest = 0;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        largest = std::max(largest, std::abs(a[i] - b[i]));
    return largest;
}

/// Applies the operation with the generator's name and argument.
void apply(const std::string& name, double argument, const Canvas& image) {
    if (name == "hue") return adjust_hue(image, argument);
    for (const RandAugmentOperation& operation : rand_augment_operations()) {
        if (operation.name != name) continue;
        const bool is_factor = name == "brightness" || name == "colour" || name == "contrast" || name == "sharpness";
        return operation.apply(image, is_factor ? argument - 1 : argument);
    }
    FAIL() << name;
}

TEST(Preparation, OperationsGiveTorchvisionsLevels) {
    constexpr ImageSize kSize{9, 11};
    Levels scratch;
    for (const json& run : golden().at("operations")) {
        Levels levels = picture(kSize.height, kSize.width, run.at("low"), run.at("high"));
        apply(run.at("name"), run.at("argument"), {levels.data(), kSize, scratch});
        EXPECT_LE(largest_difference(levels, decoded(run.at("pixels"))), 1) << run.at("name") << run.at("argument");
    }
}

TEST(Preparation, StrengthsAreRandAugments) {
    constexpr ImageSize kSize{224, 160};
    std::size_t compared = 0;
    for (const RandAugmentOperation& operation : rand_augment_operations()) {
        const auto theirs = golden().at("strengths").find(operation.name);
        if (theirs == golden().at("strengths").end()) continue;
        EXPECT_EQ(operation.either_sign, theirs->at("signed").get<bool>()) << operation.name;
        for (int magnitude = 0; magnitude <= 30; ++magnitude) {
            const double expected = theirs->at("strengths").at(static_cast<std::size_t>(magnitude));
            EXPECT_NEAR(operation.strength(magnitude, kSize), expected, 1e-4) << operation.name << magnitude;
        }
        ++compared;
    }
    EXPECT_EQ(compared, golden().at("strengths").size());
}

Interpolation interpolation_named(const std::string& name) {
    return name == "bicubic" ? Interpolation::bicubic : Interpolation::bilinear;
}

TEST(Preparation, ResizesGivePillowsLevels) {
    AntialiasScratch scratch;
    for (const json& run : golden().at("resizes")) {
        const ImageSize from{run.at("from").at(0), run.at("from").at(1)};
        const ImageSize to{run.at("to").at(0), run.at("to").at(1)};
        const Levels source = picture(from.height, from.width);
        Levels out(static_cast<std::size_t>(to.height * to.width * 3));
        resize_antialiased(whole_view(source.data(), from), {to, {0, 0, to.height, to.width}},
                           interpolation_named(run.at("interpolation")), out, scratch);
        EXPECT_EQ(largest_difference(out, decoded(run.at("pixels"))), 0) << run.at("from") << run.at("to");
    }
}

TEST(Preparation, EvaluationCropsGiveTorchvisionsLevels) {
    AntialiasScratch scratch;
    for (const json& run : golden().at("views")) {
        const ImageSize photo{run.at("photo").at(0), run.at("photo").at(1)};
        PhotoTarget target{.image_size = run.at("side")};
        target.preparation.crop_fraction = run.at("crop_fraction");
        target.preparation.interpolation = Interpolation::bicubic;
        const EvaluationView view = evaluation_view(photo, target);
        const Levels source = picture(photo.height, photo.width);
        Levels out(static_cast<std::size_t>(target.image_size * target.image_size * 3));
        resize_antialiased(whole_view(source.data(), photo), {view.full, view.window}, Interpolation::bicubic, out,
                           scratch);
        EXPECT_EQ(largest_difference(out, decoded(run.at("pixels"))), 0) << run.at("photo") << run.at("side");
    }
}

std::vector<double> flat(const json& rows) {
    std::vector<double> values;
    for (const json& row : rows)
        values.insert(values.end(), row.begin(), row.end());
    return values;
}

TEST(Preparation, WeightedLossesArePyTorchs) {
    for (const json& run : golden().at("losses")) {
        const std::vector<double> logits = flat(run.at("logits"));
        const std::vector<double> labels = run.at("labels");
        const std::vector<double> weights = run.at("weights");
        const auto samples = std::ssize(labels);
        const bool mixed = run.contains("shares");
        std::vector<graph::RefTensor> inputs = {test::tensor({samples, std::ssize(weights)}, logits),
                                                test::tensor({samples}, labels, DType::i32)};
        if (mixed) inputs.push_back(test::tensor({samples, 2}, flat(run.at("shares"))));
        const double smoothing = run.at("smoothing");
        const graph::Attrs attrs = mixed ? graph::Attrs(graph::MixedTargetsAttrs{smoothing, {0, 1}, weights})
                                         : graph::Attrs(graph::SoftmaxAttrs{smoothing, weights});
        const auto count = static_cast<double>(samples);
        const auto loss = test::run(mixed ? OpKind::mixed_cross_entropy : OpKind::softmax_cross_entropy, attrs, inputs);
        EXPECT_NEAR(loss[0].values[0] / count, run.at("mean_loss"), 1e-12);
        inputs.push_back(test::tensor({}, {1 / count}));
        const auto gradient =
            test::run(mixed ? OpKind::mixed_cross_entropy_grad : OpKind::softmax_cross_entropy_grad, attrs, inputs);
        const std::vector<double> expected = flat(run.at("gradient_of_mean"));
        for (std::size_t i = 0; i < expected.size(); ++i)
            EXPECT_NEAR(gradient[0].values[i], expected[i], 1e-12);
    }
}

/// Images and labels of 4 samples, 32 x 32, by their formula: one or two views of each.
test::TensorSource batch_of(std::int64_t views) {
    constexpr std::int64_t kSize = 32;
    const Images images = make_images(0, 4, kSize);
    HostTensor pixels({DType::f32, {4, kSize, kSize, 3}});
    std::ranges::copy(images.pixels, pixels.as<float>().begin());
    HostTensor labels({DType::i32, {4 / views}});
    std::copy_n(images.labels.begin(), 4 / views, labels.as<std::int32_t>().begin());
    return test::TensorSource({{std::string(nn::kImages), std::move(pixels)}, {std::string(nn::kLabels), labels}});
}

HostTensor logits_of(const backend::Backend& backend, std::int64_t views) {
    test::TensorSource source = batch_of(views);
    nn::BuildRequest request = nn::cifar_request("8", 4);
    request.model.norm = nn::NormKind::group;
    request.input.views = views;
    nn::Model model = nn::build_evaluation(request, ops::op_table());
    EXPECT_EQ(model.graph.desc(model.values.logits).shape, (Shape{4 / views, 10}));
    model.graph.mark_output("logits", model.values.logits);
    const graph::Graph graph = graph::apply_rewrites(std::move(model.graph), backend.rewrites().evaluation);
    const auto executable = backend.compile({&graph, source.fields(), {}});
    for (const graph::ValueId id : graph.variables()) {
        const graph::Value& variable = graph.value(id);
        executable->load(variable.name, initial_value(variable.name, variable.desc.shape, ""));
    }
    executable->evaluate(source, 1);
    return executable->output("logits");
}

TEST(Preparation, ViewsOfASampleGiveTheirMeanLogits) {
    const auto ref = backend::make_ref_backend();
    const auto cpu = backend::make_cpu_backend();
    for (const backend::Backend* backend : {ref.get(), cpu.get()}) {
        const HostTensor alone = logits_of(*backend, 1);
        const HostTensor together = logits_of(*backend, 2);
        for (std::int64_t sample = 0; sample < 2; ++sample) {
            for (std::int64_t c = 0; c < 10; ++c) {
                const double mean = (alone.at(2 * sample * 10 + c) + alone.at((2 * sample + 1) * 10 + c)) / 2;
                EXPECT_NEAR(together.at(sample * 10 + c), mean, 1e-5);
            }
        }
        EXPECT_NE(together.at(0), together.at(10));
    }
}

}  // namespace
}  // namespace cnntrain::golden
