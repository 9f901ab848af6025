// EfficientNets (Tan and Le 2019), with grouped spatial convolutions as an alternative to depthwise ones.
#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/text.h"
#include "graph/nn/families.h"
#include "graph/nn/source_format.h"

namespace cnntrain::nn {

using graph::Initialiser;
using graph::ValueId;

namespace {

struct EfficientNetSize {
    std::string_view name;
    double width;
    double depth;
    double dropout;
    bool small_images;  // stem and stage 2 keep the resolution
};

constexpr std::array<EfficientNetSize, 9> kSizes{{
    {"CIFAR", 0.5, 1.0, 0.0, true},
    {"B0", 1.0, 1.0, 0.2, false},
    {"B1", 1.0, 1.1, 0.2, false},
    {"B2", 1.1, 1.2, 0.3, false},
    {"B3", 1.2, 1.4, 0.3, false},
    {"B4", 1.4, 1.8, 0.4, false},
    {"B5", 1.6, 2.2, 0.4, false},
    {"B6", 1.8, 2.6, 0.5, false},
    {"B7", 2.0, 3.1, 0.5, false},
}};

/// A stage before scaling.
struct Stage {
    std::int64_t kernel;
    std::int64_t stride;  // of the first block
    std::int64_t outputs;
    int blocks;
    bool expands;
};

constexpr std::array<Stage, 7> kStages{{
    {3, 1, 16, 1, false},
    {3, 2, 24, 2, true},
    {5, 2, 40, 2, true},
    {3, 2, 80, 3, true},
    {5, 1, 112, 3, true},
    {5, 2, 192, 4, true},
    {3, 1, 320, 1, true},
}};

constexpr std::int64_t kStemFilters = 32;
constexpr double kSqueeze = 0.25;  // of a block's input channels
const Initialiser kPointwise{.kind = Initialiser::Kind::truncated_normal_fan_out, .value = 2};
const Initialiser kSpatial{.kind = Initialiser::Kind::truncated_normal_fan_in, .value = 2};

/// The nearest multiple of `divisor` that is at least 90 % of the scaled count.
std::int64_t scaled_channels(std::int64_t base, double width, std::int64_t divisor) {
    const double wanted = static_cast<double>(base) * width;
    const auto step = static_cast<double>(divisor);
    const double rounded = std::max(step, std::floor((wanted + step / 2) / step) * step);
    return static_cast<std::int64_t>(rounded < 0.9 * wanted ? rounded + step : rounded);
}

/// a, b, ..., z, aa, ab, ...: large coefficients give many blocks.
std::string block_letters(int index) {
    const std::string last(1, static_cast<char>('a' + index % 26));
    return index < 26 ? last : block_letters(index / 26 - 1) + last;
}

/// The activations of a network.
struct ActivationSettings {
    graph::Activation function = graph::Activation::swish;
    bool proxy_norm = false;
    double proxy_epsilon = 0;
};

/// One inverted bottleneck: a widens, b is spatial, c narrows.
struct MbConv {
    std::string name;  // "block2a"
    std::int64_t kernel = 3;
    std::int64_t stride = 1;
    std::int64_t inputs = 0;
    std::int64_t middle = 0;
    std::int64_t outputs = 0;
    std::int64_t groups = 1;    // of the spatial convolution
    std::int64_t squeezed = 0;  // channels between squeeze and excite; 0: neither
    double survival = 1;        // of the branch, in training
    ActivationSettings activation;

    bool expands() const { return middle != inputs; }
    bool residual() const { return stride == 1 && inputs == outputs; }
};

/// Proxy norm: the place where an activation is multiplied by its inverse proxy deviation.
enum class ProxyScale : std::uint8_t { at_once, later };

struct Activated {
    ValueId value;
    ValueId scale;  // a pending factor, the inverse proxy deviation; invalid: none
};

Activated conv_norm_activation(Layers& layers, ValueId x, const std::string& scope, const ConvShape& shape,
                               const ActivationSettings& settings, ProxyScale where) {
    x = layers.conv(x, scope + "/conv/conv2d", shape);
    if (!settings.proxy_norm)
        return {layers.activation(layers.norm(x, scope), scope + "/activation", settings.function), {}};
    graph::ProxyNormAttrs attrs;
    attrs.activation = settings.function;
    attrs.epsilon = settings.proxy_epsilon;
    const ProxyRows proxy = layers.proxy_rows(scope, shape.filters, attrs);
    x = layers.activation(layers.norm_with(x, scope, proxy.gamma, proxy.beta), scope + "/activation",
                          settings.function);
    const bool at_once = where == ProxyScale::at_once;
    x = layers.standardise(x, scope + "/standardise", proxy.mean, at_once ? proxy.inverse_deviation : ValueId{});
    return {x, at_once ? ValueId{} : proxy.inverse_deviation};
}

ValueId squeeze_excite(Layers& layers, const Activated& x, const std::string& scope, const MbConv& block) {
    ValueId gate = layers.global_average_pool(x.value, scope + "/mean");
    gate = layers.pixel_conv(gate, scope + "/squeeze/conv2d", block.squeezed, kPointwise);
    gate = layers.activation(gate, scope + "/activation", block.activation.function);
    gate = layers.pixel_conv(gate, scope + "/excite/conv2d", block.middle, kPointwise);
    gate = layers.activation(gate, scope + "/sigmoid", graph::Activation::sigmoid);
    if (x.scale.valid()) gate = layers.standardise(gate, scope + "/proxy_scale", {}, x.scale);
    return layers.scale_channels(x.value, gate, scope + "/scale");
}

ValueId part_a(Layers& layers, ValueId x, const std::string& scope, const MbConv& block) {
    const ConvShape shape{.filters = block.middle, .initialiser = kPointwise};
    return conv_norm_activation(layers, x, scope, shape, block.activation, ProxyScale::at_once).value;
}

/// Adds the middle part of a block. If it has a proxy norm, the gate contains the scale, and squeeze-excite averages
/// unscaled values. Without squeeze-excite the scale is dropped, as in the original program; the next norm compensates
/// for it.
ValueId part_b(Layers& layers, ValueId x, const std::string& scope, const MbConv& block) {
    const ConvShape shape{.filters = block.middle,
                          .kernel = block.kernel,
                          .stride = block.stride,
                          .groups = block.groups,
                          .initialiser = kSpatial};
    const Activated y = conv_norm_activation(layers, x, scope, shape, block.activation, ProxyScale::later);
    return block.squeezed > 0 ? squeeze_excite(layers, y, scope + "/se", block) : y.value;
}

ValueId part_c(Layers& layers, ValueId x, const std::string& scope, const MbConv& block) {
    x = layers.conv(x, scope + "/conv/conv2d", {.filters = block.outputs, .initialiser = kPointwise});
    return block.activation.proxy_norm ? layers.norm_without_shift(x, scope) : layers.norm(x, scope);
}

ValueId residual_block(Layers& layers, ValueId x, const std::string& scope, const MbConv& block) {
    ValueId branch = block.expands() ? part_a(layers, x, scope + "/a", block) : x;
    branch = part_b(layers, branch, scope + "/b", block);
    branch = part_c(layers, branch, scope + "/c", block);
    branch = layers.drop(branch, scope + "/drop", {.keep = block.survival, .per_sample = true});
    return layers.add(branch, x, scope + "/add");
}

/// A residual block is one function; each part of another block is a function.
void append(Network& network, const MbConv& block) {
    if (block.residual()) {
        network.push_back({block.name, [block](Layers& layers, ValueId x, const std::string& scope) {
                               return residual_block(layers, x, scope, block);
                           }});
        return;
    }
    if (block.expands()) {
        network.push_back({block.name, [block](Layers& layers, ValueId x, const std::string& scope) {
                               return part_a(layers, x, scope + "/a", block);
                           }});
    }
    network.push_back({block.name + "/b", [block](Layers& layers, ValueId x, const std::string& scope) {
                           return part_b(layers, x, scope, block);
                       }});
    network.push_back({block.name + "/c", [block](Layers& layers, ValueId x, const std::string& scope) {
                           return part_c(layers, x, scope, block);
                       }});
}

/// Sizes of a network after scaling.
struct Plan {
    std::int64_t stem = 0;
    std::int64_t stem_stride = 2;
    std::vector<MbConv> blocks;
    std::int64_t head = 0;
    double dropout = 0;
};

std::int64_t spatial_groups(const std::string& network, const std::string& block, std::int64_t channels,
                            std::int64_t group_dim) {
    const std::int64_t groups = std::max(channels / group_dim, std::int64_t{1});
    if (channels % groups == 0) return groups;
    throw Error(ErrorKind::usage, network + " with --group-dim " + std::to_string(group_dim) +
                                      ": the spatial convolution of " + block + " has " + std::to_string(channels) +
                                      " channels, which cannot be divided into " + std::to_string(groups) +
                                      " equal groups; choose a --group-dim that divides them");
}

void check_settings(const EfficientnetSettings& settings) {
    const auto require = [](bool holds, const char* message, double got) {
        if (!holds)
            throw Error(ErrorKind::usage, std::string("efficientnet: ") + message + ", got " + std::to_string(got));
    };
    const auto number = [](std::int64_t value) { return static_cast<double>(value); };
    require(settings.depth_divisor >= 1, "expected --depth-divisor of at least 1", number(settings.depth_divisor));
    require(settings.expand_ratio >= 1, "expected --expand-ratio of at least 1", number(settings.expand_ratio));
    require(settings.group_dim >= 1, "expected --group-dim of at least 1", number(settings.group_dim));
    require(settings.width_coefficient >= 0, "expected --width-coefficient of at least 0", settings.width_coefficient);
    require(settings.depth_coefficient >= 0, "expected --depth-coefficient of at least 0", settings.depth_coefficient);
    const double rate = settings.dropout_rate.value_or(0);
    require(rate >= 0 && rate < 1, "expected 0 <= --dropout-rate < 1", rate);
}

ActivationSettings activation_settings(const EfficientnetSettings& settings) {
    return {settings.swish ? graph::Activation::swish : graph::Activation::relu, settings.proxy_norm,
            settings.proxy_epsilon};
}

Plan make_plan(const ModelSettings& model, const EfficientNetSize& size) {
    const EfficientnetSettings& settings = model.efficientnet;
    const double width = settings.width_coefficient > 0 ? settings.width_coefficient : size.width;
    const double depth = settings.depth_coefficient > 0 ? settings.depth_coefficient : size.depth;
    const auto channels = [&](std::int64_t base) { return scaled_channels(base, width, settings.depth_divisor); };

    Plan plan;
    plan.stem = channels(kStemFilters);
    plan.stem_stride = size.small_images ? 1 : 2;
    plan.head = channels(settings.top_width);
    plan.dropout = settings.dropout_rate.value_or(size.dropout);
    std::int64_t inputs = plan.stem;
    for (std::size_t s = 0; s < kStages.size(); ++s) {
        const Stage& stage = kStages[s];
        const auto repeats = static_cast<int>(std::ceil(depth * stage.blocks));
        for (int r = 0; r < repeats; ++r) {
            const bool keeps_resolution = r > 0 || (s == 1 && size.small_images);
            MbConv block;
            block.name = "block" + std::to_string(s + 1) + block_letters(r);
            block.kernel = stage.kernel;
            block.stride = keeps_resolution ? 1 : stage.stride;
            block.inputs = inputs;
            block.middle = inputs * (stage.expands ? settings.expand_ratio : 1);
            block.outputs = channels(stage.outputs);
            block.groups = spatial_groups("efficientnet " + model.size, block.name, block.middle, settings.group_dim);
            block.activation = activation_settings(settings);
            if (settings.squeeze_excite) {
                const auto squeezed = static_cast<std::int64_t>(kSqueeze * static_cast<double>(inputs));
                block.squeezed = std::max(squeezed, std::int64_t{1});
            }
            inputs = block.outputs;
            plan.blocks.push_back(std::move(block));
        }
    }
    for (std::size_t i = 0; i < plan.blocks.size(); ++i) {
        const double share = static_cast<double>(i) / static_cast<double>(plan.blocks.size());
        plan.blocks[i].survival = 1 - (1 - settings.block_survival_prob) * share;
    }
    return plan;
}

/// A block as its tensors describe it.
struct FoundBlock {
    std::int64_t inputs, middle, outputs, kernel;
    bool operator==(const FoundBlock&) const = default;
};

std::vector<FoundBlock> found_blocks(const SourceShapes& shapes) {
    std::vector<FoundBlock> blocks;
    for (std::size_t stage = 1; stage <= kStages.size(); ++stage) {
        for (int r = 0;; ++r) {
            const std::string scope = "all/block" + std::to_string(stage) + block_letters(r);
            if (!shapes.has(scope + "/c/conv/conv2d/kernel")) break;
            const Shape narrow = shapes.expect(scope + "/c/conv/conv2d/kernel", 4);
            const bool expands = kStages[stage - 1].expands;
            const auto widen = expands ? shapes(scope + "/a/conv/conv2d/kernel") : std::nullopt;
            const std::int64_t kernel = shapes.expect(scope + "/b/conv/conv2d/kernel", 4)[0];
            blocks.push_back({widen && widen->size() == 4 ? (*widen)[2] : narrow[2], narrow[2], narrow[3], kernel});
        }
    }
    return blocks;
}

std::optional<NetworkSettings> efficientnet_of(const SourceShapes& shapes) {
    const std::string stem = "all/block0/conv/conv2d/kernel";
    if (!shapes.has(stem)) return std::nullopt;
    const std::vector<FoundBlock> told = found_blocks(shapes);
    const Shape spatial = shapes.expect("all/block1a/b/conv/conv2d/kernel", 4);
    NetworkSettings settings;
    settings.family = Family::efficientnet;
    settings.efficientnet.group_dim = spatial[2] == 1 || spatial[3] == 1 ? 1 : spatial[2];
    settings.efficientnet.squeeze_excite = shapes.has("all/block1a/b/se/squeeze/conv2d/kernel");
    if (shapes.has("all/block0/GroupNorm/gamma")) settings.norm = NormKind::group;
    if (const auto head = shapes("all/Top/logits/dense/kernel"); head && head->size() == 2) {
        settings.classes = (*head)[1];
    } else {
        settings.classes = 0;
    }
    for (const EfficientNetSize& size : kSizes) {
        settings.size = size.name;
        settings.form = size.small_images ? NetworkForm::small_images : NetworkForm::large_images;
        const Plan plan = make_plan(settings, size);
        std::vector<FoundBlock> planned;
        for (const MbConv& block : plan.blocks)
            planned.push_back({block.inputs, block.middle, block.outputs, block.kernel});
        const bool same = planned == told && shapes.expect(stem, 4)[3] == plan.stem &&
                          shapes.expect("all/Top/conv/conv2d/kernel", 4)[3] == plan.head;
        if (same) return settings;
    }
    throw Error(ErrorKind::unsupported, "no EfficientNet of this program has the tensors of this one: " +
                                            shapes.name(stem) + " with " + std::to_string(shapes.expect(stem, 4)[3]) +
                                            " filters, " + std::to_string(told.size()) + " blocks; B0 to B7 are known");
}

std::vector<std::string> efficientnet_sizes(NetworkForm /*form*/) {
    std::vector<std::string> names;
    names.reserve(std::size(kSizes));
    for (const EfficientNetSize& size : kSizes)
        names.emplace_back(size.name);
    return names;
}

Network efficientnet(const NetworkSettings& settings) {
    const auto* size =
        std::find_if(kSizes.begin(), kSizes.end(), [&](const EfficientNetSize& s) { return s.name == settings.size; });
    CNNTRAIN_CHECK(size != kSizes.end(), "efficientnet size " + settings.size);
    check_settings(settings.efficientnet);
    const Plan plan = make_plan(settings, *size);
    const ActivationSettings act = activation_settings(settings.efficientnet);

    Network network;
    const ConvShape stem{.filters = plan.stem, .kernel = 3, .stride = plan.stem_stride, .initialiser = kPointwise};
    network.push_back({"block0", [stem, act](Layers& layers, ValueId x, const std::string& scope) {
                           return conv_norm_activation(layers, x, scope, stem, act, ProxyScale::at_once).value;
                       }});
    for (const MbConv& block : plan.blocks)
        append(network, block);
    const ConvShape head{.filters = plan.head, .initialiser = kPointwise};
    const graph::RandomScaleAttrs dropout{.keep = 1 - plan.dropout};
    network.push_back(
        {"Top", [head, dropout, act, classes = settings.classes](Layers& layers, ValueId x, const std::string& scope) {
             // The scale of a proxy norm is dropped: the dense layer after the mean has its own.
             x = conv_norm_activation(layers, x, scope, head, act, ProxyScale::later).value;
             x = layers.global_average_pool(x, scope + "/mean");
             x = layers.drop(x, scope + "/dropout", dropout);
             return layers.dense(x, scope + "/logits/dense", classes);
         }});
    return network;
}

/// "4" and "b4" are B4, "cifar" is CIFAR.
std::string spelled_size(std::string size) {
    std::transform(size.begin(), size.end(), size.begin(),
                   [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
    const bool bare =
        !size.empty() && std::all_of(size.begin(), size.end(), [](unsigned char c) { return std::isdigit(c) != 0; });
    return bare ? "B" + size : size;
}

/// Indexed by size B0, B1, ...
constexpr std::array<std::int64_t, 8> kPixels = {224, 240, 260, 300, 380, 456, 528, 600};

std::int64_t image_size(std::string_view size) {
    const bool numbered = size.size() == 2 && size[0] == 'B' && size[1] >= '0' && size[1] <= '7';
    if (numbered) return kPixels[static_cast<std::size_t>(size[1] - '0')];
    return size == "CIFAR" ? 32 : 0;
}

FormDefaults large_image_defaults() {
    using enum graph::UpdateRule;
    return {.size = "B0",
            .micro_batch_size = 4,
            .norm = NormKind::group,
            .groups = 4,
            .weight_decay = 1e-5,
            .rate_exponents = {{sgd, -7}, {rmsprop, -14}, {momentum, -10}},
            .rmsprop_base_decay_exp = -14,
            .epochs = 350,
            .drop_fractions = {0.3, 0.6, 0.8, 0.9},
            .rate_decay = 0.97,
            .rate_drops = 146,
            .label_smoothing = 0.1,
            .two_pass_variance = true};
}

FormDefaults small_image_defaults() {
    using enum graph::UpdateRule;
    return {.size = "B0",
            .micro_batch_size = 8,
            .norm = NormKind::group,
            .groups = 4,
            .weight_decay = 1e-6,
            .rate_exponents = {{sgd, -6}, {rmsprop, -6}, {momentum, -6}, {lars, -6}},
            .epochs = 300,
            .drop_fractions = {0.5, 0.75},
            .rate_decay = 0.97,
            .rate_drops = 146};
}

}  // namespace

FamilyRow efficientnet_family() {
    return {.sizes = efficientnet_sizes,
            .network = efficientnet,
            .network_of = efficientnet_of,
            .formats = efficientnet_formats,
            .head_scope = "all/Top/logits/",
            .info = {.run_prefix = "EfficientNet-",
                     .run_name = RunNameStyle::accumulation_first,
                     .title = [](const ModelSettings& model) { return "EfficientNet-" + model.size; },
                     .spelled_size = spelled_size,
                     .image_size = image_size,
                     .advice_for_small_images = "use --model-size cifar",
                     .group_dim = 1,
                     .norm_epsilon = 1e-3,
                     .large_images = large_image_defaults(),
                     .small_images = small_image_defaults(),
                     .undecayed = {"beta", "gamma", "proxy", "moving_"},
                     .one_group_with_batch_norm = true,
                     .always_tells_decay = true,
                     .splits_before_any_function = true}};
}

// Formats of other programs' weights of EfficientNet.

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

/// torchvision's first weights; the weights of B5 to B7 were converted from TensorFlow.
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
