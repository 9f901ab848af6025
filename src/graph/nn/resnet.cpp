#include "graph/nn/families.h"

#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "cnntrain/base/error.h"

namespace cnntrain::nn {

using graph::ValueId;

namespace {

struct ResNetSize {
    std::string_view name;
    Block block;
    std::array<int, 4> units;  // per stage; 0: no such stage
};

constexpr std::array<ResNetSize, 8> kLargeResNets{{
    {"10", Block::two_conv, {1, 1, 1, 1}},
    {"14", Block::bottleneck, {1, 1, 1, 1}},
    {"18", Block::two_conv, {2, 2, 2, 2}},
    {"26", Block::bottleneck, {2, 2, 2, 2}},
    {"34", Block::two_conv, {3, 4, 6, 3}},
    {"50", Block::bottleneck, {3, 4, 6, 3}},
    {"101", Block::bottleneck, {3, 4, 23, 3}},
    {"152", Block::bottleneck, {3, 8, 36, 3}},
}};

// Two-conv: 6n + 2 layers, bottleneck: 9n + 2. 56 = 6*9 + 2 = 9*6 + 2 is the paper's two-conv net.
constexpr std::array<ResNetSize, 13> kSmallResNets{{
    {"8", Block::two_conv, {1, 1, 1, 0}},
    {"11", Block::bottleneck, {1, 1, 1, 0}},
    {"14", Block::two_conv, {2, 2, 2, 0}},
    {"20", Block::two_conv, {3, 3, 3, 0}},
    {"29", Block::bottleneck, {3, 3, 3, 0}},
    {"32", Block::two_conv, {5, 5, 5, 0}},
    {"38", Block::bottleneck, {4, 4, 4, 0}},
    {"44", Block::two_conv, {7, 7, 7, 0}},
    {"47", Block::bottleneck, {5, 5, 5, 0}},
    {"56", Block::two_conv, {9, 9, 9, 0}},
    {"56b", Block::bottleneck, {6, 6, 6, 0}},
    {"65", Block::bottleneck, {7, 7, 7, 0}},
    {"110", Block::two_conv, {18, 18, 18, 0}},
}};

constexpr std::int64_t kBottleneckExpansion = 4;

std::span<const ResNetSize> resnet_sizes_of(NetworkForm form) {
    if (form == NetworkForm::large_images) return kLargeResNets;
    return kSmallResNets;
}

enum class Projection : std::uint8_t {
    conv,  // type B: 1x1 convolution and norm
    pad,   // type A: subsampled, channels zero-padded; no variables
};

bool pads_shortcuts(NetworkForm form, Block block) {
    return form == NetworkForm::small_images && block == Block::two_conv;
}

struct Unit {
    std::int64_t width = 0;  // of the 3x3 convolutions
    std::int64_t outputs = 0;
    std::int64_t stride = 1;
    std::int64_t groups = 1;  // of a bottleneck's 3x3 convolution
    BottleneckStride bottleneck_stride = BottleneckStride::spatial;
    Block block = Block::two_conv;
    Projection projection = Projection::conv;
    bool first = false;  // of its stage
};

ValueId shortcut(Layers& layers, ValueId x, const std::string& scope, const Unit& unit) {
    if (unit.stride == 1 && layers.channels(x) == unit.outputs) return x;
    if (unit.projection == Projection::pad)
        return layers.shortcut_pad(x, scope + "/shortcut", unit.outputs, unit.stride);
    const ValueId conv =
        layers.conv(x, scope + "/conv1sc", {.filters = unit.outputs, .kernel = 1, .stride = unit.stride});
    return layers.norm(conv, scope, "sc", Gamma::one);
}

ValueId two_conv_branch(Layers& layers, ValueId x, const std::string& scope, const Unit& unit) {
    x = layers.conv(x, scope + "/conv1", {.filters = unit.width, .kernel = 3, .stride = unit.stride});
    x = layers.activation(layers.norm(x, scope, "1", Gamma::one), scope + "/relu1", graph::Activation::relu);
    x = layers.conv(x, scope + "/conv2", {.filters = unit.outputs, .kernel = 3});
    return layers.norm(x, scope, "2", Gamma::one);
}

ValueId bottleneck_branch(Layers& layers, ValueId x, const std::string& scope, const Unit& unit) {
    const bool first = unit.bottleneck_stride == BottleneckStride::first;
    x = layers.conv(x, scope + "/conv1", {.filters = unit.width, .stride = first ? unit.stride : 1});
    x = layers.activation(layers.norm(x, scope, "1", Gamma::one), scope + "/relu1", graph::Activation::relu);
    x = layers.conv(x, scope + "/conv2",
                    {.filters = unit.width, .kernel = 3, .stride = first ? 1 : unit.stride, .groups = unit.groups});
    x = layers.activation(layers.norm(x, scope, "2", Gamma::one), scope + "/relu2", graph::Activation::relu);
    x = layers.conv(x, scope + "/conv3", {.filters = unit.outputs});
    return layers.norm(x, scope, "3", unit.first ? Gamma::one : Gamma::zero);
}

/// A unit up to and including the addition.
ValueId residual_unit(Layers& layers, ValueId x, const std::string& scope, const Unit& unit) {
    const ValueId branch = unit.block == Block::two_conv ? two_conv_branch(layers, x, scope, unit)
                                                         : bottleneck_branch(layers, x, scope, unit);
    return layers.add(branch, shortcut(layers, x, scope, unit), scope + "/add");
}

ValueId stem(Layers& layers, ValueId x, const std::string& scope, NetworkForm form, std::int64_t filters) {
    const bool large = form == NetworkForm::large_images;
    const ConvShape conv{.filters = filters, .kernel = large ? 7 : 3, .stride = large ? 2 : 1};
    x = layers.conv(x, scope + "/conv0", conv);
    x = layers.activation(layers.norm(x, scope, "0", Gamma::one), scope + "/relu", graph::Activation::relu);
    return large ? layers.max_pool(x, scope + "/max_pool", 3, 2) : x;
}

Unit describe_unit(const ResidualShape& shape, int stage, int unit) {
    Unit result;
    result.width = shape.width << (stage - 1);
    result.outputs = shape.outputs << (stage - 1);
    result.groups = shape.groups;
    result.bottleneck_stride = shape.bottleneck_stride;
    result.block = shape.block;
    result.first = unit == 1;
    result.stride = result.first && stage > 1 ? 2 : 1;
    result.projection = pads_shortcuts(shape.form, shape.block) ? Projection::pad : Projection::conv;
    return result;
}

}  // namespace

Network residual_network(const ResidualShape& shape) {
    Network network;
    network.push_back({"stage0", [shape](Layers& layers, ValueId x, const std::string& scope) {
                           return stem(layers, x, scope, shape.form, shape.stem_filters);
                       }});
    for (int stage = 1; stage <= 4; ++stage) {
        for (int u = 1; u <= shape.units[static_cast<std::size_t>(stage - 1)]; ++u) {
            const std::string name = "stage" + std::to_string(stage) + "/unit" + std::to_string(u);
            const Unit unit = describe_unit(shape, stage, u);
            network.push_back({name, [unit](Layers& layers, ValueId x, const std::string& scope) {
                                   return residual_unit(layers, x, scope, unit);
                               }});
            network.push_back({name + "/relu", [](Layers& layers, ValueId x, const std::string& scope) {
                                   return layers.activation(x, scope, graph::Activation::relu);
                               }});
        }
    }
    network.push_back({"reduce_mean", [](Layers& layers, ValueId x, const std::string& scope) {
                           return layers.global_average_pool(x, scope);
                       }});
    network.push_back({"fc1", [classes = shape.classes](Layers& layers, ValueId x, const std::string& scope) {
                           return layers.dense(x, scope, classes);
                       }});
    return network;
}

FormDefaults residual_defaults(NetworkForm form, std::string_view size, std::int64_t micro_batch_size) {
    using enum graph::UpdateRule;
    if (form == NetworkForm::large_images) {
        return {.size = size,
                .micro_batch_size = micro_batch_size,
                .norm = NormKind::group,
                .groups = 32,
                .weight_decay = 1e-4,
                .rate_exponents = {{sgd, -8}, {momentum, -11}},
                .epochs = 100,
                .drop_fractions = {0.3, 0.6, 0.8, 0.9}};
    }
    return {.size = size,
            .micro_batch_size = micro_batch_size,
            .norm = NormKind::batch,
            .groups = 16,
            .weight_decay = 1e-6,
            .rate_exponents = {{sgd, -6}, {rmsprop, -6}, {momentum, -6}, {lars, -6}},
            .epochs = 160,
            .drop_fractions = {0.5, 0.75}};
}

namespace {

std::vector<std::string> resnet_sizes(NetworkForm form) {
    std::vector<std::string> names;
    for (const ResNetSize& size : resnet_sizes_of(form))
        names.emplace_back(size.name);
    return names;
}

const ResNetSize& size_of(const NetworkSettings& settings) {
    const auto table = resnet_sizes_of(settings.form);
    const auto size =
        std::find_if(table.begin(), table.end(), [&](const ResNetSize& s) { return s.name == settings.size; });
    CNNTRAIN_CHECK(size != table.end(), "resnet size " + settings.size);
    return *size;
}

Network resnet(const NetworkSettings& settings) {
    const ResNetSize& size = size_of(settings);
    ResidualShape shape;
    shape.form = settings.form;
    shape.block = size.block;
    shape.units = size.units;
    shape.stem_filters = settings.form == NetworkForm::large_images ? 64 : 16;
    shape.width = shape.stem_filters;
    shape.outputs = size.block == Block::two_conv ? shape.width : shape.width * kBottleneckExpansion;
    shape.bottleneck_stride = settings.bottleneck_stride;
    shape.classes = settings.classes;
    return residual_network(shape);
}

/// The size with these units. Throws Error(unsupported) without one.
const ResNetSize& size_with(const ResidualFacts& facts, const SourceShapes& shapes) {
    for (const ResNetSize& size : resnet_sizes_of(facts.form)) {
        if (size.units == facts.units && (size.block == Block::bottleneck) == facts.bottleneck) return size;
    }
    refuse_units(facts, shapes);
}

NetworkSettings settings_of(const ResidualFacts& facts, Family family, std::string_view size) {
    NetworkSettings settings;
    settings.family = family;
    settings.size = size;
    settings.norm = facts.norm;
    settings.form = facts.form;
    settings.classes = facts.classes;
    return settings;
}

/// A ResNet's bottlenecks are as wide as its stem; wider ones, or ones with groups, are a ResNeXt's.
std::optional<NetworkSettings> resnet_of(const SourceShapes& shapes) {
    const std::optional<ResidualFacts> facts = residual_facts(shapes);
    if (!facts || (facts->bottleneck && (facts->groups != 1 || facts->width != facts->stem_filters)))
        return std::nullopt;
    return settings_of(*facts, Family::resnet, size_with(*facts, shapes).name);
}

bool resnet_pads_shortcuts(const NetworkSettings& settings) {
    return pads_shortcuts(settings.form, size_of(settings).block);
}

}  // namespace

FamilyRow resnet_family() {
    return {.sizes = resnet_sizes,
            .network = resnet,
            .pads_shortcuts = resnet_pads_shortcuts,
            .network_of = resnet_of,
            .formats = residual_formats,
            .head_scope = kResidualHead,
            .info = {.run_prefix = "RN",
                     .title = [](const ModelSettings& model) { return "ResNet-" + model.size; },
                     .large_images = residual_defaults(NetworkForm::large_images, "18", 4),
                     .small_images = residual_defaults(NetworkForm::small_images, "20", 32)}};
}

// Residual networks with grouped convolutions (Xie et al. 2016).

namespace {

/// The sizes are those of ResNets with bottlenecks; no other one is called 56.
std::string_view resnext_name(const ResNetSize& size) {
    return size.block != Block::bottleneck ? "" : size.name == "56b" ? "56" : size.name;
}

std::vector<std::string> resnext_sizes(NetworkForm form) {
    std::vector<std::string> names;
    for (const ResNetSize& size : resnet_sizes_of(form)) {
        if (const std::string_view name = resnext_name(size); !name.empty()) names.emplace_back(name);
    }
    return names;
}

Network resnext(const NetworkSettings& settings) {
    const auto table = resnet_sizes_of(settings.form);
    const auto size = std::ranges::find(table, settings.size, resnext_name);
    CNNTRAIN_CHECK(size != table.end(), "resnext size " + settings.size);
    const ResnextSettings& groups = settings.resnext;
    if (groups.convolution_groups < 1 || groups.group_dim < 1) {
        throw Error(ErrorKind::usage, "resnext: expected --convolution-groups and --group-dim of at least 1, got " +
                                          std::to_string(groups.convolution_groups) + " and " +
                                          std::to_string(groups.group_dim));
    }

    ResidualShape shape;
    shape.form = settings.form;
    shape.units = size->units;
    shape.stem_filters = settings.form == NetworkForm::large_images || groups.widenet ? 64 : 16;
    shape.outputs = 4 * shape.stem_filters;
    shape.width = groups.convolution_groups * groups.group_dim;
    shape.groups = groups.convolution_groups;
    shape.bottleneck_stride = settings.bottleneck_stride;
    shape.classes = settings.classes;
    return residual_network(shape);
}

std::optional<NetworkSettings> resnext_of(const SourceShapes& shapes) {
    const std::optional<ResidualFacts> facts = residual_facts(shapes);
    if (!facts || !facts->bottleneck) return std::nullopt;
    NetworkSettings settings = settings_of(*facts, Family::resnext, resnext_name(size_with(*facts, shapes)));
    settings.resnext.convolution_groups = facts->groups;
    settings.resnext.group_dim = facts->width / facts->groups;
    settings.resnext.widenet = facts->form == NetworkForm::small_images && facts->stem_filters == 64;
    return settings;
}

std::string resnext_title(const ModelSettings& model) {
    return "ResNeXt-" + model.size + "_" + std::to_string(model.resnext.convolution_groups) + "-" +
           std::to_string(model.resnext.group_dim) + "d";
}

}  // namespace

FamilyRow resnext_family() {
    FormDefaults large_images = residual_defaults(NetworkForm::large_images, "14", 1);
    large_images.two_pass_variance = true;
    return {.sizes = resnext_sizes,
            .network = resnext,
            .network_of = resnext_of,
            .head_scope = kResidualHead,
            .info = {.run_prefix = "RNX",
                     .title = resnext_title,
                     .convolution_groups = 32,
                     .group_dim = 4,
                     .large_images = large_images,
                     .small_images = residual_defaults(NetworkForm::small_images, "11", 8)}};
}

}  // namespace cnntrain::nn
