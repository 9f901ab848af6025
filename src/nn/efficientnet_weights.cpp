// Formats of other programs' weights of EfficientNet.
#include <string>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/patterns.h"
#include "nn/families.h"
#include "nn/source_format.h"

namespace cnntrain::nn {
namespace {

constexpr double kTensorflowEpsilon = 1e-3;
constexpr double kPytorchEpsilon = 1e-5;

int number_of(const SourceNetwork& network) {
    return network.settings.size.back() - '0';  // B0 to B7
}

/// EfficientNet-Lite, published for small devices, has the tensors of a network without squeeze-excite.
void doubt_without_squeeze_excite(SourceNetwork& network) {
    if (network.settings.efficientnet.squeeze_excite) return;
    network.sure_by = "no_se";
    network.doubt =
        "its EfficientNet has no squeeze-excite. EfficientNet-Lite has the same tensors and computes otherwise (ReLU6, "
        "other widths of B1 to B4, other means of images), and this program does not have it";
}

/// torchvision's first weights; those of B5 to B7 were converted from TensorFlow.
void complete_torchvision(SourceNetwork& network, const std::string& /*architecture*/) {
    doubt_without_squeeze_excite(network);
    constexpr std::array<int, 8> kResized = {256, 256, 288, 320, 384, 456, 528, 600};
    constexpr std::array<int, 8> kCropped = {224, 240, 288, 300, 380, 456, 528, 600};
    constexpr int kFirstConverted = 5;
    const auto size = static_cast<std::size_t>(number_of(network));
    network.settings.padding = PaddingRule::symmetric;
    network.settings.epsilon = number_of(network) >= kFirstConverted ? kTensorflowEpsilon : kPytorchEpsilon;
    network.pixels.image_size = kCropped.at(size);
    network.pixels.crop_fraction = static_cast<double>(kCropped.at(size)) / kResized.at(size);
    network.pixels.interpolation = "bicubic";
}

void complete_timm(SourceNetwork& network, const std::string& architecture) {
    doubt_without_squeeze_excite(network);
    static const Patterns known({R"(^(tf_)?efficientnet_b[0-7](_aa|_ap|_ns|_jft|_in1k)*$)"});
    if (!architecture.empty() && !known.match(base_architecture(architecture))) {
        throw Error(ErrorKind::unsupported, "architecture '" + architecture +
                                                "' is not known; expected efficientnet_b0 to efficientnet_b7, or "
                                                "tf_efficientnet_b0 to tf_efficientnet_b7");
    }
    const bool of_tensorflow = architecture.starts_with("tf_");
    network.settings.padding = of_tensorflow ? PaddingRule::same : PaddingRule::symmetric;
    network.settings.epsilon = of_tensorflow ? kTensorflowEpsilon : kPytorchEpsilon;
    constexpr std::array<double, 8> kCropFractions = {0.875, 0.882, 0.890, 0.904, 0.922, 0.934, 0.942, 0.949};
    network.pixels.image_size = family_info(Family::efficientnet).image_size(network.settings.size);
    network.pixels.crop_fraction = kCropFractions.at(static_cast<std::size_t>(number_of(network)));
    network.pixels.interpolation = "bicubic";
    if (architecture.empty()) {
        network.assumed =
            "the padding and norms of efficientnet_*; if they are of a tf_efficientnet_*, give --padding same "
            "--norm-epsilon 0.001";
    }
}

void complete_keras_efficientnet(SourceNetwork& network, const std::string& /*architecture*/) {
    doubt_without_squeeze_excite(network);
    network.settings.padding = PaddingRule::same;
    network.settings.epsilon = kTensorflowEpsilon;
    network.pixels.image_size = family_info(Family::efficientnet).image_size(network.settings.size);
    network.pixels.crop_fraction = 1;
    network.normalises_inside = true;
}

std::vector<std::string> torchvision_efficientnets(const NetworkSettings& network) {
    return {"efficientnet_b" + network.size.substr(1)};
}

/// The second one is TensorFlow's: it pads as TensorFlow does.
std::vector<std::string> timm_efficientnets(const NetworkSettings& network) {
    const std::string name = "efficientnet_b" + network.size.substr(1);
    return {name, "tf_" + name};
}

SourceFormat torchvision_format() {
    return {
        .name = "torchvision",
        .marks = {"features.0.0.weight", "features.0.1.weight", "features.1.0.block.0.0.weight"},
        .kernels = KernelOrder::oihw,
        .norm_leaves = {"weight", "bias", "running_mean", "running_var"},
        .names = {{"all/block0/conv/conv2d/kernel", "features.0.0.weight"},
                  {"all/block0/batch_norm/{n}", "features.0.1.{n}"},
                  {"all/block1{l}/b/conv/conv2d/kernel", "features.1.{1-}.block.0.0.weight"},
                  {"all/block1{l}/b/batch_norm/{n}", "features.1.{1-}.block.0.1.{n}"},
                  {"all/block1{l}/b/se/squeeze/conv2d/kernel", "features.1.{1-}.block.1.fc1.weight"},
                  {"all/block1{l}/b/se/squeeze/conv2d/bias", "features.1.{1-}.block.1.fc1.bias"},
                  {"all/block1{l}/b/se/excite/conv2d/kernel", "features.1.{1-}.block.1.fc2.weight"},
                  {"all/block1{l}/b/se/excite/conv2d/bias", "features.1.{1-}.block.1.fc2.bias"},
                  {"all/block1{l}/c/conv/conv2d/kernel", "features.1.{1-}.block.2.0.weight"},
                  {"all/block1{l}/c/batch_norm/{n}", "features.1.{1-}.block.2.1.{n}"},
                  {"all/block{d}{l}/a/conv/conv2d/kernel", "features.{1}.{2-}.block.0.0.weight"},
                  {"all/block{d}{l}/a/batch_norm/{n}", "features.{1}.{2-}.block.0.1.{n}"},
                  {"all/block{d}{l}/b/conv/conv2d/kernel", "features.{1}.{2-}.block.1.0.weight"},
                  {"all/block{d}{l}/b/batch_norm/{n}", "features.{1}.{2-}.block.1.1.{n}"},
                  {"all/block{d}{l}/b/se/squeeze/conv2d/kernel", "features.{1}.{2-}.block.2.fc1.weight"},
                  {"all/block{d}{l}/b/se/squeeze/conv2d/bias", "features.{1}.{2-}.block.2.fc1.bias"},
                  {"all/block{d}{l}/b/se/excite/conv2d/kernel", "features.{1}.{2-}.block.2.fc2.weight"},
                  {"all/block{d}{l}/b/se/excite/conv2d/bias", "features.{1}.{2-}.block.2.fc2.bias"},
                  {"all/block{d}{l}/c/conv/conv2d/kernel", "features.{1}.{2-}.block.3.0.weight"},
                  {"all/block{d}{l}/c/batch_norm/{n}", "features.{1}.{2-}.block.3.1.{n}"},
                  {"all/Top/conv/conv2d/kernel", "features.8.0.weight"},
                  {"all/Top/batch_norm/{n}", "features.8.1.{n}"},
                  {"all/Top/logits/dense/kernel", "classifier.1.weight"},
                  {"all/Top/logits/dense/bias", "classifier.1.bias"}},
        .ignored = {"num_batches_tracked"},
        .complete = complete_torchvision,
        .architectures = {torchvision_efficientnets, nullptr},
    };
}

SourceFormat timm_format() {
    return {
        .name = "timm",
        .marks = {"conv_stem.weight", "bn1.weight", "conv_head.weight", "blocks.0.0.conv_dw.weight"},
        .kernels = KernelOrder::oihw,
        .norm_leaves = {"weight", "bias", "running_mean", "running_var"},
        .names = {{"all/block0/conv/conv2d/kernel", "conv_stem.weight"},
                  {"all/block0/batch_norm/{n}", "bn1.{n}"},
                  {"all/block1{l}/b/conv/conv2d/kernel", "blocks.0.{1-}.conv_dw.weight"},
                  {"all/block1{l}/b/batch_norm/{n}", "blocks.0.{1-}.bn1.{n}"},
                  {"all/block1{l}/c/conv/conv2d/kernel", "blocks.0.{1-}.conv_pw.weight"},
                  {"all/block1{l}/c/batch_norm/{n}", "blocks.0.{1-}.bn2.{n}"},
                  {"all/block{d}{l}/a/conv/conv2d/kernel", "blocks.{1-}.{2-}.conv_pw.weight"},
                  {"all/block{d}{l}/a/batch_norm/{n}", "blocks.{1-}.{2-}.bn1.{n}"},
                  {"all/block{d}{l}/b/conv/conv2d/kernel", "blocks.{1-}.{2-}.conv_dw.weight"},
                  {"all/block{d}{l}/b/batch_norm/{n}", "blocks.{1-}.{2-}.bn2.{n}"},
                  {"all/block{d}{l}/b/se/squeeze/conv2d/kernel", "blocks.{1-}.{2-}.se.conv_reduce.weight"},
                  {"all/block{d}{l}/b/se/squeeze/conv2d/bias", "blocks.{1-}.{2-}.se.conv_reduce.bias"},
                  {"all/block{d}{l}/b/se/excite/conv2d/kernel", "blocks.{1-}.{2-}.se.conv_expand.weight"},
                  {"all/block{d}{l}/b/se/excite/conv2d/bias", "blocks.{1-}.{2-}.se.conv_expand.bias"},
                  {"all/block{d}{l}/c/conv/conv2d/kernel", "blocks.{1-}.{2-}.conv_pwl.weight"},
                  {"all/block{d}{l}/c/batch_norm/{n}", "blocks.{1-}.{2-}.bn3.{n}"},
                  {"all/Top/conv/conv2d/kernel", "conv_head.weight"},
                  {"all/Top/batch_norm/{n}", "bn2.{n}"},
                  {"all/Top/logits/dense/kernel", "classifier.weight"},
                  {"all/Top/logits/dense/bias", "classifier.bias"}},
        .foreign_parts = {{".se.fc", "another squeeze-excite than conv_reduce and conv_expand"},
                          {".conv_exp.", "fused blocks"},
                          {"conv_dw.0.", "convolutions of several kernel sizes"},
                          {".routing_fn.", "conditional convolutions"},
                          {".aa.", "an anti-aliasing filter"}},
        .ignored = {"num_batches_tracked"},
        .complete = complete_timm,
        .architectures = {nullptr, timm_efficientnets},
    };
}

SourceFormat keras_efficientnet() {
    return {
        .name = "Keras applications",
        .marks = {"stem_conv/kernel", "stem_bn/gamma", "block1a_project_conv/kernel"},
        .norm_leaves = {"gamma", "beta", "moving_mean", "moving_variance"},
        .names = {{"all/block0/conv/conv2d/kernel", "stem_conv/kernel"},
                  {"all/block0/batch_norm/{n}", "stem_bn/{n}"},
                  {"all/block{d}{l}/a/conv/conv2d/kernel", "block{1}{2}_expand_conv/kernel"},
                  {"all/block{d}{l}/a/batch_norm/{n}", "block{1}{2}_expand_bn/{n}"},
                  {"all/block{d}{l}/b/conv/conv2d/kernel", "block{1}{2}_dwconv/kernel"},
                  {"all/block{d}{l}/b/batch_norm/{n}", "block{1}{2}_bn/{n}"},
                  {"all/block{d}{l}/b/se/squeeze/conv2d/kernel", "block{1}{2}_se_reduce/kernel"},
                  {"all/block{d}{l}/b/se/squeeze/conv2d/bias", "block{1}{2}_se_reduce/bias"},
                  {"all/block{d}{l}/b/se/excite/conv2d/kernel", "block{1}{2}_se_expand/kernel"},
                  {"all/block{d}{l}/b/se/excite/conv2d/bias", "block{1}{2}_se_expand/bias"},
                  {"all/block{d}{l}/c/conv/conv2d/kernel", "block{1}{2}_project_conv/kernel"},
                  {"all/block{d}{l}/c/batch_norm/{n}", "block{1}{2}_project_bn/{n}"},
                  {"all/Top/conv/conv2d/kernel", "top_conv/kernel"},
                  {"all/Top/batch_norm/{n}", "top_bn/{n}"},
                  {"all/Top/logits/dense/kernel", "predictions/kernel"},
                  {"all/Top/logits/dense/bias", "predictions/bias"}},
        .ignored = {"/mean", "/variance", "/count"},  // of the layer that normalises the input
        .complete = complete_keras_efficientnet,
    };
}

}  // namespace

const std::vector<SourceFormat>& efficientnet_formats() {
    static const std::vector<SourceFormat> formats = {
        {.name = "this program", .own = true, .marks = {"all/block0/conv/conv2d/kernel"}},
        torchvision_format(),
        timm_format(),
        keras_efficientnet(),
    };
    return formats;
}

}  // namespace cnntrain::nn
