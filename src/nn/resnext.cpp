// Residual networks with grouped convolutions (Xie et al. 2016).
#include <algorithm>
#include <array>
#include <span>
#include <string_view>

#include "cnntrain/base/error.h"
#include "nn/families.h"
#include "nn/resnet.h"

namespace cnntrain::nn {
namespace {

struct ResNeXtSize {
    std::string_view name;
    std::array<int, 4> units;  // per stage; 0: no such stage
};

constexpr std::array<ResNeXtSize, 5> kLargeResNeXts{{
    {"14", {1, 1, 1, 1}},
    {"26", {2, 2, 2, 2}},
    {"50", {3, 4, 6, 3}},
    {"101", {3, 4, 23, 3}},
    {"152", {3, 8, 36, 3}},
}};

constexpr std::array<ResNeXtSize, 6> kSmallResNeXts{{
    {"11", {1, 1, 1, 0}},
    {"29", {3, 3, 3, 0}},
    {"38", {4, 4, 4, 0}},
    {"47", {5, 5, 5, 0}},
    {"56", {6, 6, 6, 0}},
    {"65", {7, 7, 7, 0}},
}};

std::span<const ResNeXtSize> resnext_sizes_of(NetworkForm form) {
    if (form == NetworkForm::large_images) return kLargeResNeXts;
    return kSmallResNeXts;
}

std::vector<std::string> resnext_sizes(NetworkForm form) {
    std::vector<std::string> names;
    for (const ResNeXtSize& size : resnext_sizes_of(form))
        names.emplace_back(size.name);
    return names;
}

Network resnext(const NetworkSettings& settings) {
    const auto table = resnext_sizes_of(settings.form);
    const auto size =
        std::find_if(table.begin(), table.end(), [&](const ResNeXtSize& s) { return s.name == settings.size; });
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

}  // namespace

namespace {

std::optional<NetworkSettings> resnext_of(const SourceShapes& shapes) {
    const std::optional<ResidualFacts> facts = residual_facts(shapes);
    if (!facts || !facts->bottleneck) return std::nullopt;
    for (const ResNeXtSize& size : resnext_sizes_of(facts->form)) {
        if (size.units != facts->units) continue;
        NetworkSettings settings;
        settings.family = Family::resnext;
        settings.size = size.name;
        settings.norm = facts->norm;
        settings.form = facts->form;
        settings.classes = facts->classes;
        settings.resnext.convolution_groups = facts->groups;
        settings.resnext.group_dim = facts->width / facts->groups;
        settings.resnext.widenet = facts->form == NetworkForm::small_images && facts->stem_filters == 64;
        return settings;
    }
    refuse_units(*facts, shapes);
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
