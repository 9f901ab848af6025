// Formats of other programs' weights of ResNet and ResNeXt.
#include <algorithm>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "graph/nn/families.h"
#include "graph/nn/source_format.h"

namespace cnntrain::nn {
namespace {

constexpr std::int64_t kLargeStemKernel = 7;
constexpr const char* kStem = "all/stage0/conv0/weight";

std::string unit_scope(int stage, int unit) {
    return "all/stage" + std::to_string(stage) + "/unit" + std::to_string(unit);
}

int units_of(const SourceShapes& shapes, int stage) {
    int units = 0;
    while (shapes.has(unit_scope(stage, units + 1) + "/conv1/weight"))
        ++units;
    return units;
}

/// torchvision's and timm's names of the networks that we have. Others have the same tensors, and other pools or
/// paddings.
bool is_plain_residual(std::string_view architecture) {
    static const Patterns plain({R"(^(tv_|gluon_|ssl_|swsl_)?(wide_)?resnet\d+(_2)?$)",
                                 R"(^(tv_|gluon_|ssl_|swsl_|ig_|fb_)?resnext\d+_\d+x\d+d$)"});
    return plain.match(architecture);
}

void complete_pytorch(SourceNetwork& network, const std::string& architecture) {
    if (!architecture.empty() && !is_plain_residual(base_architecture(architecture))) {
        throw Error(ErrorKind::unsupported, "architecture '" + architecture +
                                                "': its tensors have the names of a plain ResNet, but it pads, pools "
                                                "or activates otherwise; expected resnet18, resnet50, resnext50_32x4d "
                                                "or another plain ResNet or ResNeXt");
    }
    network.settings.padding = PaddingRule::symmetric;
    network.settings.epsilon = 1e-5;
}

/// "resnext50_32x4d", "wide_resnet50_2"; "" for a bottleneck of another width.
std::string pytorch_name(const NetworkSettings& network) {
    if (network.family == Family::resnet) return "resnet" + network.size;
    const std::int64_t groups = network.resnext.convolution_groups;
    const std::int64_t width = network.resnext.group_dim;
    if (groups > 1) return "resnext" + network.size + "_" + std::to_string(groups) + "x" + std::to_string(width) + "d";
    return width == 128 ? "wide_resnet" + network.size + "_2" : "";
}

std::vector<std::string> if_among(const NetworkSettings& network, std::span<const std::string_view> known) {
    const std::string name = pytorch_name(network);
    if (std::ranges::find(known, name) == known.end()) return {};
    return {name};
}

std::vector<std::string> torchvision_resnets(const NetworkSettings& network) {
    static constexpr auto kKnown = std::to_array<std::string_view>(
        {"resnet18", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d", "resnext101_32x8d",
         "resnext101_64x4d", "wide_resnet50_2", "wide_resnet101_2"});
    return if_among(network, kKnown);
}

std::vector<std::string> timm_resnets(const NetworkSettings& network) {
    static constexpr auto kKnown = std::to_array<std::string_view>(
        {"resnet18", "resnet26", "resnet34", "resnet50", "resnet101", "resnet152", "resnext50_32x4d",
         "resnext101_32x4d", "resnext101_32x8d", "resnext101_32x16d", "resnext101_32x32d", "resnext101_64x4d",
         "wide_resnet50_2", "wide_resnet101_2"});
    return if_among(network, kKnown);
}

SourceFormat pytorch_format() {
    return {
        .name = "torchvision and timm",
        .marks = {"bn1.weight", "layer1.0.conv1.weight"},
        .kernels = KernelOrder::oihw,
        .norm_leaves = {"weight", "bias", "running_mean", "running_var"},
        .names = {{"all/stage0/conv0/weight", "conv1.weight"},
                  {"all/stage0/bn0/batch_norm/{n}", "bn1.{n}"},
                  {"all/stage{d}/unit{d}/conv{d}/weight", "layer{1}.{2-}.conv{3}.weight"},
                  {"all/stage{d}/unit{d}/bn{d}/batch_norm/{n}", "layer{1}.{2-}.bn{3}.{n}"},
                  {"all/stage{d}/unit{d}/conv1sc/weight", "layer{1}.{2-}.downsample.0.weight"},
                  {"all/stage{d}/unit{d}/bnsc/batch_norm/{n}", "layer{1}.{2-}.downsample.1.{n}"},
                  {"all/fc1/weight", "fc.weight"},
                  {"all/fc1/bias", "fc.bias"}},
        .foreign_parts = {{"conv1.0.", "a stem of several convolutions"},
                          {".se.", "squeeze-excite behind the convolutions of a ResNet"},
                          {".conv2.conv", "selective kernels or split attention"},
                          {".attn", "attention"},
                          {".eca", "channel attention"},
                          {".aa.", "an anti-aliasing filter"},
                          {"downsample.2.", "average pooling before the projection of a shortcut"},
                          {"fc.0.", "a last layer of several layers"}},
        .ignored = {"num_batches_tracked"},
        .complete = complete_pytorch,
        .architectures = {torchvision_resnets, timm_resnets},
    };
}

/// Keras applications: the stride is on the first convolution, and convolutions have biases, which the norms after them
/// make superfluous. Images are B, G, R in 0..255, with the means subtracted.
void complete_keras_resnet(SourceNetwork& network, const std::string& /*architecture*/) {
    network.settings.padding = PaddingRule::symmetric;
    network.settings.epsilon = 1.001e-5;
    network.settings.bottleneck_stride = BottleneckStride::first;
    constexpr double kLevels = 255;
    network.pixels.mean = {123.68 / kLevels, 116.779 / kLevels, 103.939 / kLevels};
    network.pixels.deviation = {1 / kLevels, 1 / kLevels, 1 / kLevels};
}

SourceFormat keras_resnet() {
    return {
        .name = "Keras applications",
        .marks = {"conv1_conv/kernel", "conv1_bn/gamma", "conv2_block1_1_conv/kernel"},
        .norm_leaves = {"gamma", "beta", "moving_mean", "moving_variance"},
        .names = {{"all/stage0/conv0/weight", "conv1_conv/kernel"},
                  {"all/stage0/bn0/batch_norm/{n}", "conv1_bn/{n}"},
                  {"all/stage0/bn0/batch_norm/moving_mean/conv_bias", "conv1_conv/bias"},
                  {"all/stage{d}/unit{d}/conv{d}/weight", "conv{1+}_block{2}_{3}_conv/kernel"},
                  {"all/stage{d}/unit{d}/bn{d}/batch_norm/{n}", "conv{1+}_block{2}_{3}_bn/{n}"},
                  {"all/stage{d}/unit{d}/bn{d}/batch_norm/moving_mean/conv_bias", "conv{1+}_block{2}_{3}_conv/bias"},
                  {"all/stage{d}/unit{d}/conv1sc/weight", "conv{1+}_block{2}_0_conv/kernel"},
                  {"all/stage{d}/unit{d}/bnsc/batch_norm/{n}", "conv{1+}_block{2}_0_bn/{n}"},
                  {"all/stage{d}/unit{d}/bnsc/batch_norm/moving_mean/conv_bias", "conv{1+}_block{2}_0_conv/bias"},
                  {"all/fc1/weight", "predictions/kernel"},
                  {"all/fc1/bias", "predictions/bias"}},
        .foreign_parts = {{"_preact_", "norms in front of the convolutions (ResNetV2)"}},
        .convolutions_have_biases = true,
        .blue_first = kStem,
        .complete = complete_keras_resnet,
    };
}

}  // namespace

std::optional<ResidualFacts> residual_facts(const SourceShapes& shapes) {
    if (!shapes.has(kStem)) return std::nullopt;
    const Shape stem = shapes.expect(kStem, 4);
    if ((stem[0] != kLargeStemKernel && stem[0] != 3) || stem[2] != 3) {
        throw Error(ErrorKind::unsupported, shapes.name(kStem) +
                                                ": expected a convolution of 7 x 7 pixels (or 3 x 3, "
                                                "for small images) with 3 colours, got " +
                                                std::to_string(stem[0]) + " x " + std::to_string(stem[1]) + " and " +
                                                std::to_string(stem[2]));
    }
    const std::string first = unit_scope(1, 1);
    ResidualFacts facts;
    facts.form = stem[0] == kLargeStemKernel ? NetworkForm::large_images : NetworkForm::small_images;
    facts.stem_filters = stem[3];
    facts.bottleneck = shapes.has(first + "/conv3/weight");
    for (int stage = 1; stage <= 4; ++stage)
        facts.units[static_cast<std::size_t>(stage - 1)] = units_of(shapes, stage);
    if (facts.units[0] == 0) return std::nullopt;
    const Shape spatial = shapes.expect(first + (facts.bottleneck ? "/conv2/weight" : "/conv1/weight"), 4);
    facts.width = spatial[3];
    const std::int64_t inputs = facts.bottleneck ? facts.width : facts.stem_filters;
    if (spatial[2] < 1 || inputs % spatial[2] != 0 || facts.width % (inputs / spatial[2]) != 0) {
        throw Error(ErrorKind::unsupported, shapes.name(first + "/conv2/weight") +
                                                ": expected a convolution whose groups divide its channels, got " +
                                                to_string(spatial));
    }
    facts.groups = inputs / spatial[2];
    if (const auto head = shapes("all/fc1/weight"); head && head->size() == 2) facts.classes = (*head)[1];
    const std::string mean = "all/stage0/bn0/batch_norm/moving_mean";
    if (shapes.has("all/stage0/gn0/GroupNorm/gamma")) {
        facts.norm = NormKind::group;
    } else if (!shapes.has(mean)) {
        throw Error(ErrorKind::unsupported, "there is no tensor " + shapes.name(mean) +
                                                ": the network normalises by groups or layers, as resnet50_gn does; "
                                                "networks of other programs are read with batch norm");
    }
    return facts;
}

void refuse_units(const ResidualFacts& facts, const SourceShapes& shapes) {
    const std::string units = joined(facts.units, ", ", [](int count) { return std::to_string(count); });
    throw Error(ErrorKind::unsupported, "no residual network of this program has " + units + " units of " +
                                            (facts.bottleneck ? "three" : "two") +
                                            " convolutions in its stages, as the tensors " +
                                            shapes.name(unit_scope(1, 1) + "/conv1/weight") + ", ... tell");
}

const std::vector<SourceFormat>& residual_formats() {
    static const std::vector<SourceFormat> formats = {
        {.name = "this program", .own = true, .marks = {kStem}},
        pytorch_format(),
        keras_resnet(),
    };
    return formats;
}

}  // namespace cnntrain::nn
