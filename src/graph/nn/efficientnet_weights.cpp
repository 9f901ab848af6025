// Formats of other programs' weights of EfficientNet.
#include <algorithm>
#include <array>
#include <map>
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

constexpr double kTensorflowEpsilon = 1e-3;
constexpr double kPytorchEpsilon = 1e-5;

enum class Colours : std::uint8_t { imagenet, half };  // half: mean and deviation 0.5

/// The preparation of photos that a program publishes with its weights of a size.
struct Published {
    std::string_view size;
    std::int64_t image_size;
    double crop_fraction;
    std::string_view interpolation = "bicubic";
    Colours colours = Colours::imagenet;
};

void set_pixels(SourceNetwork& network, std::span<const Published> rows) {
    const auto row = std::ranges::find(rows, network.settings.size, &Published::size);
    if (row == rows.end()) {
        throw Error(ErrorKind::unsupported,
                    network.format + " has no " + family_info(Family::efficientnet).title(network.settings));
    }
    network.pixels.image_size = row->image_size;
    network.pixels.crop_fraction = row->crop_fraction;
    network.pixels.interpolation = row->interpolation;
    if (row->colours == Colours::half) network.pixels.mean = network.pixels.deviation = {0.5, 0.5, 0.5};
}

/// torchvision's first weights; those of B5 to B7 were converted from TensorFlow, as their norms show.
void complete_torchvision(SourceNetwork& network, const std::string& /*architecture*/) {
    static constexpr Published kRows[] = {
        {"B0", 224, 224.0 / 256},
        {"B1", 240, 240.0 / 256},
        {"B2", 288, 1},
        {"B3", 300, 300.0 / 320},
        {"B4", 380, 380.0 / 384},
        {"B5", 456, 1},
        {"B6", 528, 1},
        {"B7", 600, 1},
        {"V2-S", 384, 1, "bilinear"},
        {"V2-M", 480, 1, "bilinear"},
        {"V2-L", 480, 1, "bicubic", Colours::half},
    };
    constexpr std::array<std::string_view, 5> kFirstSizes = {"B0", "B1", "B2", "B3", "B4"};
    const bool first = std::ranges::find(kFirstSizes, network.settings.size) != kFirstSizes.end();
    network.settings.padding = PaddingRule::symmetric;
    network.settings.epsilon = first ? kPytorchEpsilon : kTensorflowEpsilon;
    set_pixels(network, kRows);
}

/// The conventions of timm's efficientnet_* and, after TensorFlow, of its tf_efficientnet_*.
void complete_as_in_timm(SourceNetwork& network, bool of_tensorflow) {
    static constexpr Published kRows[] = {
        {"B0", 224, 0.875},
        {"B1", 240, 0.882},
        {"B2", 260, 0.890},
        {"B3", 300, 0.904},
        {"B4", 380, 0.922},
        {"B5", 456, 0.934},
        {"B6", 528, 0.942},
        {"B7", 600, 0.949},
        {"Lite0", 224, 0.875, "bicubic", Colours::half},
        {"Lite1", 240, 0.882, "bicubic", Colours::half},
        {"Lite2", 260, 0.890, "bicubic", Colours::half},
        {"Lite3", 300, 0.904, "bilinear", Colours::half},
        {"Lite4", 380, 0.920, "bilinear", Colours::half},
        {"V2-B0", 224, 0.875},
        {"V2-B1", 240, 0.882},
        {"V2-B2", 260, 0.890},
        {"V2-B3", 300, 0.9, "bicubic", Colours::half},
        {"V2-S", 384, 1, "bicubic", Colours::half},
        {"V2-M", 480, 1, "bicubic", Colours::half},
        {"V2-L", 480, 1, "bicubic", Colours::half},
    };
    network.settings.padding = of_tensorflow ? PaddingRule::same : PaddingRule::symmetric;
    network.settings.epsilon = of_tensorflow ? kTensorflowEpsilon : kPytorchEpsilon;
    set_pixels(network, kRows);
    if (of_tensorflow) return;
    const SourcePixels imagenet;  // timm trains with these
    network.pixels.mean = imagenet.mean;
    network.pixels.deviation = imagenet.deviation;
}

void complete_timm(SourceNetwork& network, const std::string& architecture) {
    static const Patterns known({R"(^(tf_)?efficientnet_(b[0-7]|lite[0-4])(_aa|_ap|_ns|_jft|_in1k)*$)",
                                 R"(^efficientnetv2_[sml]$)",
                                 R"(^tf_efficientnetv2_(b[0-3]|[sml])(_in1k|_in21k|_in21ft1k)*$)"});
    if (!architecture.empty() && !known.match(base_architecture(architecture))) {
        throw Error(
            ErrorKind::unsupported,
            "architecture '" + architecture +
                "' is not known; expected efficientnet_b0 to efficientnet_b7, efficientnet_lite0 to "
                "efficientnet_lite4, efficientnetv2_s, efficientnetv2_m or efficientnetv2_l, perhaps with tf_ before "
                "it, or tf_efficientnetv2_b0 to tf_efficientnetv2_b3");
    }
    // timm publishes tf_* weights for all sizes of Lite and V2, its own for a few.
    const bool usually_tensorflow = !network.settings.size.starts_with("B");
    const bool of_tensorflow = architecture.empty() ? usually_tensorflow : architecture.starts_with("tf_");
    complete_as_in_timm(network, of_tensorflow);
    if (!architecture.empty()) return;
    network.assumed = of_tensorflow
                          ? "the padding, norms and pixels of tf_efficientnet*; if they are of efficientnet*, "
                            "give --padding symmetric --norm-epsilon 1e-05 --normalise-input"
                          : "the padding and norms of efficientnet_*; if they are of a tf_efficientnet_*, "
                            "give --padding same --norm-epsilon 0.001";
}

/// The package of that name, and its relatives for Lite, hold weights that were converted from TensorFlow.
void complete_efficientnet_pytorch(SourceNetwork& network, const std::string& /*architecture*/) {
    complete_as_in_timm(network, true);
}

/// Keras's EfficientNets of 2019 normalise by a layer with variables, the others by constants.
void complete_keras(SourceNetwork& network, const std::string& /*architecture*/) {
    network.settings.padding = PaddingRule::same;
    network.settings.epsilon = kTensorflowEpsilon;
    network.pixels.image_size = family_info(Family::efficientnet).image_size(network.settings.size);
    network.pixels.crop_fraction = 1;
    network.normalises_inside = network.settings.size.starts_with("B");
    const bool large = network.settings.size.starts_with("V2") && !network.settings.size.starts_with("V2-B");
    constexpr double kHalf = 128.0 / 255;  // x / 128 - 1
    if (large) network.pixels.mean = network.pixels.deviation = {kHalf, kHalf, kHalf};
}

/// "b0", "lite0", "s": the end of the names of architectures.
std::string ending(const NetworkSettings& network) {
    const bool second = network.size.starts_with("V2-");
    return in_lower_case(second ? network.size.substr(3) : network.size);
}

std::vector<std::string> torchvision_first(const NetworkSettings& network) {
    if (!network.size.starts_with("B")) return {};
    return {"efficientnet_" + ending(network)};
}
std::vector<std::string> torchvision_second(const NetworkSettings& network) {
    const bool published = network.size == "V2-S" || network.size == "V2-M" || network.size == "V2-L";
    return published ? std::vector<std::string>{"efficientnet_v2_" + ending(network)} : std::vector<std::string>();
}

/// The second one is TensorFlow's: it pads as TensorFlow does.
std::vector<std::string> timm_first(const NetworkSettings& network) {
    if (network.size.starts_with("V2")) return {};
    return {"efficientnet_" + ending(network), "tf_efficientnet_" + ending(network)};
}
std::vector<std::string> timm_second(const NetworkSettings& network) {
    if (!network.size.starts_with("V2")) return {};
    const std::string name = "efficientnetv2_" + ending(network);
    if (network.size.starts_with("V2-B")) return {"tf_" + name};
    return {name, "tf_" + name};
}

constexpr std::string_view kNoTensor;
constexpr std::string_view kFusedPart = ".conv_exp.";

/// Numbers of blocks count through all stages there: {"_blocks.3.", "_blocks.3a."}. The first block of a stage changes
/// the number of channels.
std::map<std::string, std::string> stages_of_blocks(const TensorDescs& tensors) {
    std::map<std::string, std::string> prefixes;
    int stage = 0;
    int place = 0;
    for (int i = 0;; ++i) {
        const std::string scope = "_blocks." + std::to_string(i) + ".";
        const auto shape_of = [&](const char* leaf) -> const Shape* {
            const auto found = tensors.find(scope + leaf);
            const bool fits = found != tensors.end() && found->second.shape.size() == kKernelRank;
            return fits ? &found->second.shape : nullptr;
        };
        const Shape* const narrow = shape_of("_project_conv.weight");
        if (narrow == nullptr) return prefixes;
        const Shape* const widen = shape_of("_expand_conv.weight");
        const std::int64_t inputs = (widen != nullptr ? *widen : *narrow)[1];
        const bool begins = inputs != (*narrow)[0];
        stage += begins ? 1 : 0;
        place = begins ? 0 : place + 1;
        prefixes.emplace(scope, "_blocks." + std::to_string(stage) + block_letters(place) + ".");
    }
}

/// The rules of `first`, then those of `rest`.
std::vector<NameRule> rules_before(std::vector<NameRule> first, const std::vector<NameRule>& rest) {
    first.insert(first.end(), rest.begin(), rest.end());
    return first;
}

SourceFormat torchvision_format() {
    return {
        .name = "torchvision",
        .marks = {"features.0.0.weight", "features.0.1.weight", "features.1.0.block.1.fc1.weight"},
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
        .architectures = {torchvision_first, nullptr},
    };
}

/// Two stages have fused blocks. The head is after six or seven stages.
SourceFormat torchvision_v2_format(bool has_seven_stages) {
    SourceFormat format = torchvision_format();
    format.marks = {"features.0.0.weight", "features.1.0.block.0.0.weight", "features.2.0.block.1.0.weight",
                    has_seven_stages ? "features.8.0.weight" : "features.7.0.weight"};
    format.names =
        rules_before({{"all/block1{l}/c/conv/conv2d/kernel", "features.1.{1-}.block.0.0.weight"},
                      {"all/block1{l}/c/batch_norm/{n}", "features.1.{1-}.block.0.1.{n}"},
                      {"all/block1{l}/b/conv/conv2d/kernel", kNoTensor},
                      {"all/block2{l}/b/conv/conv2d/kernel", kNoTensor},
                      {"all/block2{l}/c/conv/conv2d/kernel", "features.2.{1-}.block.1.0.weight"},
                      {"all/block2{l}/c/batch_norm/{n}", "features.2.{1-}.block.1.1.{n}"},
                      {"all/block3{l}/b/conv/conv2d/kernel", kNoTensor},
                      {"all/block3{l}/c/conv/conv2d/kernel", "features.3.{1-}.block.1.0.weight"},
                      {"all/block3{l}/c/batch_norm/{n}", "features.3.{1-}.block.1.1.{n}"},
                      {"all/Top/conv/conv2d/kernel", has_seven_stages ? "features.8.0.weight" : "features.7.0.weight"},
                      {"all/Top/batch_norm/{n}", has_seven_stages ? "features.8.1.{n}" : "features.7.1.{n}"}},
                     format.names);
    format.architectures = {torchvision_second, nullptr};
    return format;
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
                          {kFusedPart, "fused blocks"},
                          {"conv_dw.0.", "convolutions of several kernel sizes"},
                          {".routing_fn.", "conditional convolutions"},
                          {".aa.", "an anti-aliasing filter"}},
        .ignored = {"num_batches_tracked"},
        .complete = complete_timm,
        .architectures = {nullptr, timm_first},
    };
}

SourceFormat timm_v2_format() {
    SourceFormat format = timm_format();
    format.marks = {"conv_stem.weight", "bn1.weight", "conv_head.weight", "blocks.0.0.conv.weight"};
    format.names = rules_before({{"all/block1{l}/c/conv/conv2d/kernel", "blocks.0.{1-}.conv.weight"},
                                 {"all/block1{l}/c/batch_norm/{n}", "blocks.0.{1-}.bn1.{n}"},
                                 {"all/block2{l}/a/conv/conv2d/kernel", "blocks.1.{1-}.conv_exp.weight"},
                                 {"all/block2{l}/c/batch_norm/{n}", "blocks.1.{1-}.bn2.{n}"},
                                 {"all/block3{l}/a/conv/conv2d/kernel", "blocks.2.{1-}.conv_exp.weight"},
                                 {"all/block3{l}/c/batch_norm/{n}", "blocks.2.{1-}.bn2.{n}"}},
                                format.names);
    std::erase_if(format.foreign_parts, [](const ForeignPart& row) { return row.part == kFusedPart; });
    format.architectures = {nullptr, timm_second};
    return format;
}

SourceFormat efficientnet_pytorch_format() {
    return {
        .name = "efficientnet_pytorch",
        .marks = {"_conv_stem.weight", "_bn0.weight", "_blocks.0._depthwise_conv.weight", "_conv_head.weight"},
        .prefixes = stages_of_blocks,
        .kernels = KernelOrder::oihw,
        .norm_leaves = {"weight", "bias", "running_mean", "running_var"},
        .names = {{"all/block0/conv/conv2d/kernel", "_conv_stem.weight"},
                  {"all/block0/batch_norm/{n}", "_bn0.{n}"},
                  {"all/block{d}{l}/a/conv/conv2d/kernel", "_blocks.{1}{2}._expand_conv.weight"},
                  {"all/block{d}{l}/a/batch_norm/{n}", "_blocks.{1}{2}._bn0.{n}"},
                  {"all/block{d}{l}/b/conv/conv2d/kernel", "_blocks.{1}{2}._depthwise_conv.weight"},
                  {"all/block{d}{l}/b/batch_norm/{n}", "_blocks.{1}{2}._bn1.{n}"},
                  {"all/block{d}{l}/b/se/squeeze/conv2d/kernel", "_blocks.{1}{2}._se_reduce.weight"},
                  {"all/block{d}{l}/b/se/squeeze/conv2d/bias", "_blocks.{1}{2}._se_reduce.bias"},
                  {"all/block{d}{l}/b/se/excite/conv2d/kernel", "_blocks.{1}{2}._se_expand.weight"},
                  {"all/block{d}{l}/b/se/excite/conv2d/bias", "_blocks.{1}{2}._se_expand.bias"},
                  {"all/block{d}{l}/c/conv/conv2d/kernel", "_blocks.{1}{2}._project_conv.weight"},
                  {"all/block{d}{l}/c/batch_norm/{n}", "_blocks.{1}{2}._bn2.{n}"},
                  {"all/Top/conv/conv2d/kernel", "_conv_head.weight"},
                  {"all/Top/batch_norm/{n}", "_bn1.{n}"},
                  {"all/Top/logits/dense/kernel", "_fc.weight"},
                  {"all/Top/logits/dense/bias", "_fc.bias"}},
        .ignored = {"num_batches_tracked"},
        .complete = complete_efficientnet_pytorch,
    };
}

SourceFormat keras_format() {
    return {
        .name = "Keras applications",
        .marks = {"stem_conv/kernel", "stem_bn/gamma", "block1a_dwconv/kernel"},
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
        .complete = complete_keras,
    };
}

SourceFormat keras_v2_format() {
    SourceFormat format = keras_format();
    format.marks = {"stem_conv/kernel", "stem_bn/gamma", "block1a_project_conv/kernel", "block4a_dwconv2/kernel"};
    format.names = rules_before({{"all/block{d}{l}/b/conv/conv2d/kernel", "block{1}{2}_dwconv2/kernel"}}, format.names);
    return format;
}

}  // namespace

const std::vector<SourceFormat>& efficientnet_formats() {
    static const std::vector<SourceFormat> formats = {
        {.name = "this program", .own = true, .marks = {"all/block0/conv/conv2d/kernel"}},
        torchvision_format(),
        torchvision_v2_format(false),
        torchvision_v2_format(true),
        timm_format(),
        timm_v2_format(),
        efficientnet_pytorch_format(),
        keras_format(),
        keras_v2_format(),
    };
    return formats;
}

}  // namespace cnntrain::nn
