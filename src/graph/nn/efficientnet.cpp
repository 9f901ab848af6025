// EfficientNets (Tan and Le 2019), with grouped spatial convolutions as an alternative to depthwise ones;
// EfficientNet-Lite (TensorFlow's authors, 2020); EfficientNetV2 (Tan and Le 2021).
#include <algorithm>
#include <cctype>
#include <cmath>
#include <span>
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

enum class BlockForm : std::uint8_t {
    separable,  // 1x1 widens, a spatial convolution by channels or groups, squeeze-excite, 1x1 narrows
    fused,      // a full spatial convolution widens, 1x1 narrows
    single,     // a full spatial convolution
};

/// A stage before scaling.
struct Stage {
    std::int64_t kernel;
    std::int64_t stride;  // of the first block
    std::int64_t outputs;
    int blocks;
    std::int64_t expansion;  // of its blocks' channels; 1: they are not widened
    BlockForm form = BlockForm::separable;
};

/// The networks that are scaled into sizes.
struct Architecture {
    std::span<const Stage> stages;
    std::int64_t stem = 32;
    /// The stem, the head, and the numbers of blocks of the first and last stages are scaled.
    bool scales_ends = true;
    /// Scaled channels are at least this share of the exact number.
    double least_channels = 0.9;
    bool squeeze_excite = true;  // of separable blocks
    graph::Activation activation = graph::Activation::swish;
};

constexpr std::int64_t kUsualExpansion = 6;  // --expand-ratio sets another one

constexpr Stage kStages[] = {
    {3, 1, 16, 1, 1},  {3, 2, 24, 2, 6},  {5, 2, 40, 2, 6},  {3, 2, 80, 3, 6},
    {5, 1, 112, 3, 6}, {5, 2, 192, 4, 6}, {3, 1, 320, 1, 6},
};
constexpr Stage kStagesV2B[] = {
    {3, 1, 16, 1, 1, BlockForm::single},
    {3, 2, 32, 2, 4, BlockForm::fused},
    {3, 2, 48, 2, 4, BlockForm::fused},
    {3, 2, 96, 3, 4},
    {3, 1, 112, 5, 6},
    {3, 2, 192, 8, 6},
};
constexpr Stage kStagesV2S[] = {
    {3, 1, 24, 2, 1, BlockForm::single},
    {3, 2, 48, 4, 4, BlockForm::fused},
    {3, 2, 64, 4, 4, BlockForm::fused},
    {3, 2, 128, 6, 4},
    {3, 1, 160, 9, 6},
    {3, 2, 256, 15, 6},
};
constexpr Stage kStagesV2M[] = {
    {3, 1, 24, 3, 1, BlockForm::single},
    {3, 2, 48, 5, 4, BlockForm::fused},
    {3, 2, 80, 5, 4, BlockForm::fused},
    {3, 2, 160, 7, 4},
    {3, 1, 176, 14, 6},
    {3, 2, 304, 18, 6},
    {3, 1, 512, 5, 6},
};
constexpr Stage kStagesV2L[] = {
    {3, 1, 32, 4, 1, BlockForm::single},
    {3, 2, 64, 7, 4, BlockForm::fused},
    {3, 2, 96, 7, 4, BlockForm::fused},
    {3, 2, 192, 10, 4},
    {3, 1, 224, 19, 6},
    {3, 2, 384, 25, 6},
    {3, 1, 640, 7, 6},
};

constexpr Architecture kFirst{.stages = kStages};
constexpr Architecture kLite{
    .stages = kStages, .scales_ends = false, .squeeze_excite = false, .activation = graph::Activation::relu6};
constexpr Architecture kV2B{.stages = kStagesV2B, .least_channels = 0};
constexpr Architecture kV2S{.stages = kStagesV2S, .stem = 24};
constexpr Architecture kV2M{.stages = kStagesV2M, .stem = 24};
constexpr Architecture kV2L{.stages = kStagesV2L};

struct EfficientNetSize {
    std::string_view name;
    double width;
    double depth;
    double dropout;
    std::int64_t pixels;  // height and width of the images
    const Architecture& architecture = kFirst;
    bool small_images = false;  // stem and stage 2 keep the resolution
};

constexpr EfficientNetSize kSizes[] = {
    {"CIFAR", 0.5, 1.0, 0.0, 32, kFirst, true},
    {"B0", 1.0, 1.0, 0.2, 224},
    {"B1", 1.0, 1.1, 0.2, 240},
    {"B2", 1.1, 1.2, 0.3, 260},
    {"B3", 1.2, 1.4, 0.3, 300},
    {"B4", 1.4, 1.8, 0.4, 380},
    {"B5", 1.6, 2.2, 0.4, 456},
    {"B6", 1.8, 2.6, 0.5, 528},
    {"B7", 2.0, 3.1, 0.5, 600},
    {"Lite0", 1.0, 1.0, 0.2, 224, kLite},
    {"Lite1", 1.0, 1.1, 0.2, 240, kLite},
    {"Lite2", 1.1, 1.2, 0.3, 260, kLite},
    {"Lite3", 1.2, 1.4, 0.3, 280, kLite},
    {"Lite4", 1.4, 1.8, 0.3, 300, kLite},
    {"V2-B0", 1.0, 1.0, 0.2, 224, kV2B},
    {"V2-B1", 1.0, 1.1, 0.2, 240, kV2B},
    {"V2-B2", 1.1, 1.2, 0.3, 260, kV2B},
    {"V2-B3", 1.2, 1.4, 0.3, 300, kV2B},
    {"V2-S", 1.0, 1.0, 0.2, 384, kV2S},
    {"V2-M", 1.0, 1.0, 0.3, 480, kV2M},
    {"V2-L", 1.0, 1.0, 0.4, 480, kV2L},
};

constexpr double kSqueeze = 0.25;  // of a block's input channels
const Initialiser kPointwise{.kind = Initialiser::Kind::truncated_normal_fan_out, .value = 2};
const Initialiser kSpatial{.kind = Initialiser::Kind::truncated_normal_fan_in, .value = 2};

/// The nearest multiple of `divisor` that is at least the share `least` of the scaled count.
std::int64_t scaled_channels(std::int64_t base, double width, std::int64_t divisor, double least) {
    const double wanted = static_cast<double>(base) * width;
    const auto step = static_cast<double>(divisor);
    const double rounded = std::max(step, std::floor((wanted + step / 2) / step) * step);
    return static_cast<std::int64_t>(rounded < least * wanted ? rounded + step : rounded);
}

/// The activations of a network.
struct ActivationSettings {
    graph::Activation function = graph::Activation::swish;
    bool proxy_norm = false;
    double proxy_epsilon = 0;
};

/// One inverted bottleneck. Separable: a widens, b is spatial, c narrows. Fused: a is spatial and widens, c narrows.
/// Single: c is spatial.
struct MbConv {
    std::string name;  // "block2a"
    BlockForm form = BlockForm::separable;
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
    ConvShape shape{.filters = block.middle, .initialiser = kPointwise};
    if (block.form == BlockForm::fused) {
        shape.kernel = block.kernel;
        shape.stride = block.stride;
    }
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
    if (block.form == BlockForm::single) {
        const ConvShape shape{
            .filters = block.outputs, .kernel = block.kernel, .stride = block.stride, .initialiser = kPointwise};
        return conv_norm_activation(layers, x, scope, shape, block.activation, ProxyScale::at_once).value;
    }
    x = layers.conv(x, scope + "/conv/conv2d", {.filters = block.outputs, .initialiser = kPointwise});
    return block.activation.proxy_norm ? layers.norm_without_shift(x, scope) : layers.norm(x, scope);
}

ValueId residual_block(Layers& layers, ValueId x, const std::string& scope, const MbConv& block) {
    ValueId branch = block.expands() ? part_a(layers, x, scope + "/a", block) : x;
    if (block.form == BlockForm::separable) branch = part_b(layers, branch, scope + "/b", block);
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
    if (block.form == BlockForm::separable) {
        network.push_back({block.name + "/b", [block](Layers& layers, ValueId x, const std::string& scope) {
                               return part_b(layers, x, scope, block);
                           }});
    }
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
    ActivationSettings activation;
};

void check_groups(const std::string& network, const MbConv& block, std::int64_t group_dim) {
    if (block.middle % block.groups == 0) return;
    throw Error(ErrorKind::usage,
                network + " with --group-dim " + std::to_string(group_dim) + ": the spatial convolution of " +
                    block.name + " has " + std::to_string(block.middle) + " channels, which cannot be divided into " +
                    std::to_string(block.groups) + " equal groups; choose a --group-dim that divides them");
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

ActivationSettings activation_settings(const EfficientnetSettings& settings, const Architecture& architecture) {
    return {settings.swish ? architecture.activation : graph::Activation::relu, settings.proxy_norm,
            settings.proxy_epsilon};
}

Plan make_plan(const ModelSettings& model, const EfficientNetSize& size) {
    const EfficientnetSettings& settings = model.efficientnet;
    const double width = settings.width_coefficient > 0 ? settings.width_coefficient : size.width;
    const double depth = settings.depth_coefficient > 0 ? settings.depth_coefficient : size.depth;
    const Architecture& architecture = size.architecture;
    const auto channels = [&](std::int64_t base) {
        return scaled_channels(base, width, settings.depth_divisor, architecture.least_channels);
    };
    const auto end_channels = [&](std::int64_t base) { return architecture.scales_ends ? channels(base) : base; };

    Plan plan;
    plan.stem = end_channels(architecture.stem);
    plan.stem_stride = size.small_images ? 1 : 2;
    plan.head = end_channels(settings.top_width);
    plan.dropout = settings.dropout_rate.value_or(size.dropout);
    plan.activation = activation_settings(settings, architecture);
    std::int64_t inputs = plan.stem;
    for (std::size_t s = 0; s < architecture.stages.size(); ++s) {
        const Stage& stage = architecture.stages[s];
        const bool is_end = s == 0 || s + 1 == architecture.stages.size();
        const bool scales = architecture.scales_ends || !is_end;
        const int repeats = scales ? static_cast<int>(std::ceil(depth * stage.blocks)) : stage.blocks;
        const std::int64_t expansion = stage.expansion == kUsualExpansion ? settings.expand_ratio : stage.expansion;
        for (int r = 0; r < repeats; ++r) {
            const bool keeps_resolution = r > 0 || (s == 1 && size.small_images);
            MbConv block;
            block.name = "block" + std::to_string(s + 1) + block_letters(r);
            block.form = stage.form;
            block.kernel = stage.kernel;
            block.stride = keeps_resolution ? 1 : stage.stride;
            block.inputs = inputs;
            block.middle = inputs * expansion;
            block.outputs = channels(stage.outputs);
            block.activation = plan.activation;
            if (stage.form == BlockForm::separable) {
                block.groups = std::max(block.middle / settings.group_dim, std::int64_t{1});
                if (settings.squeeze_excite && architecture.squeeze_excite) {
                    const auto squeezed = static_cast<std::int64_t>(kSqueeze * static_cast<double>(inputs));
                    block.squeezed = std::max(squeezed, std::int64_t{1});
                }
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
    BlockForm form;
    std::int64_t inputs, middle, outputs, kernel, squeezed;
    bool operator==(const FoundBlock&) const = default;
};

FoundBlock found_block(const SourceShapes& shapes, const std::string& scope, bool may_expand) {
    const auto kernel_of = [&](const std::string& part) -> std::optional<Shape> {
        const std::string name = scope + part + "/conv2d/kernel";
        return shapes.has(name) ? std::optional(shapes.expect(name, kKernelRank)) : std::nullopt;
    };
    const Shape narrow = shapes.expect(scope + "/c/conv/conv2d/kernel", kKernelRank);
    const auto widen = may_expand ? kernel_of("/a/conv") : std::nullopt;
    const auto spatial = kernel_of("/b/conv");
    const auto squeeze = kernel_of("/b/se/squeeze");
    const BlockForm form = spatial ? BlockForm::separable : widen ? BlockForm::fused : BlockForm::single;
    return {.form = form,
            .inputs = widen ? (*widen)[2] : narrow[2],
            .middle = narrow[2],
            .outputs = narrow[3],
            .kernel = (spatial ? *spatial
                       : widen ? *widen
                               : narrow)[0],
            .squeezed = squeeze ? squeeze->back() : 0};
}

std::vector<FoundBlock> found_blocks(const SourceShapes& shapes) {
    std::vector<FoundBlock> blocks;
    constexpr int kMostStages = 7;
    for (int stage = 1; stage <= kMostStages; ++stage) {
        for (int r = 0;; ++r) {
            const std::string scope = "all/block" + std::to_string(stage) + block_letters(r);
            if (!shapes.has(scope + "/c/conv/conv2d/kernel")) break;
            blocks.push_back(found_block(shapes, scope, stage > 1));  // no network widens in its first stage
        }
    }
    return blocks;
}

std::optional<NetworkSettings> efficientnet_of(const SourceShapes& shapes) {
    const std::string stem = "all/block0/conv/conv2d/kernel";
    if (!shapes.has(stem)) return std::nullopt;
    const std::vector<FoundBlock> found = found_blocks(shapes);
    NetworkSettings settings;
    settings.family = Family::efficientnet;
    const auto spatial = shapes("all/block1a/b/conv/conv2d/kernel");
    const bool grouped = spatial && spatial->size() == kKernelRank && (*spatial)[2] != 1 && (*spatial)[3] != 1;
    settings.efficientnet.group_dim = grouped ? (*spatial)[2] : 1;
    if (shapes.has("all/block0/GroupNorm/gamma")) settings.norm = NormKind::group;
    const auto head = shapes("all/Top/logits/dense/kernel");
    settings.classes = head && head->size() == 2 ? (*head)[1] : 0;
    for (const bool squeeze_excite : {true, false}) {  // Lite has none anyway, and is likelier than --no-se
        settings.efficientnet.squeeze_excite = squeeze_excite;
        for (const EfficientNetSize& size : kSizes) {
            settings.size = size.name;
            settings.form = size.small_images ? NetworkForm::small_images : NetworkForm::large_images;
            const Plan plan = make_plan(settings, size);
            std::vector<FoundBlock> planned;
            for (const MbConv& block : plan.blocks) {
                planned.push_back(
                    {block.form, block.inputs, block.middle, block.outputs, block.kernel, block.squeezed});
            }
            const bool same = planned == found && shapes.expect(stem, kKernelRank)[3] == plan.stem &&
                              shapes.expect("all/Top/conv/conv2d/kernel", kKernelRank)[3] == plan.head;
            if (same) return settings;
        }
    }
    throw Error(ErrorKind::unsupported,
                "no EfficientNet of this program has the tensors of this one: " + shapes.name(stem) + " with " +
                    std::to_string(shapes.expect(stem, kKernelRank)[3]) + " filters, " + std::to_string(found.size()) +
                    " blocks; B0 to B7, Lite0 to Lite4, V2-B0 to V2-B3, V2-S, V2-M and V2-L "
                    "are known");
}

std::vector<std::string> efficientnet_sizes(NetworkForm /*form*/) {
    std::vector<std::string> names;
    names.reserve(std::size(kSizes));
    for (const EfficientNetSize& size : kSizes)
        names.emplace_back(size.name);
    return names;
}

Network efficientnet(const NetworkSettings& settings) {
    const auto* size = std::ranges::find(kSizes, settings.size, &EfficientNetSize::name);
    CNNTRAIN_CHECK(size != std::end(kSizes), "efficientnet size " + settings.size);
    check_settings(settings.efficientnet);
    const Plan plan = make_plan(settings, *size);
    const ActivationSettings& act = plan.activation;

    Network network;
    const ConvShape stem{.filters = plan.stem, .kernel = 3, .stride = plan.stem_stride, .initialiser = kPointwise};
    network.push_back({"block0", [stem, act](Layers& layers, ValueId x, const std::string& scope) {
                           return conv_norm_activation(layers, x, scope, stem, act, ProxyScale::at_once).value;
                       }});
    for (const MbConv& block : plan.blocks) {
        check_groups("efficientnet " + settings.size, block, settings.efficientnet.group_dim);
        append(network, block);
    }
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

/// "4" and "b4" are B4, "v2s" and "V2_S" are V2-S: case and separators do not count.
std::string spelled_size(std::string size) {
    const auto letters = [](std::string_view text) {
        std::string kept;
        for (const unsigned char c : text) {
            if (std::isalnum(c) != 0) kept += static_cast<char>(std::toupper(c));
        }
        return kept;
    };
    for (const EfficientNetSize& known : kSizes) {
        if (letters(known.name) == letters(size) || letters(known.name) == "B" + size) return std::string(known.name);
    }
    return size;
}

std::int64_t image_size(std::string_view size) {
    const auto* const found = std::ranges::find(kSizes, size, &EfficientNetSize::name);
    return found == std::end(kSizes) ? 0 : found->pixels;
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

std::string block_letters(int index) {  // large coefficients give many blocks
    const std::string last(1, static_cast<char>('a' + index % 26));
    return index < 26 ? last : block_letters(index / 26 - 1) + last;
}

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

}  // namespace cnntrain::nn
