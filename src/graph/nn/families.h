// A model family: a file like resnet.cpp that defines its row. model.cpp lists them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/model.h"
#include "graph/nn/layers.h"
#include "graph/nn/source_format.h"

namespace cnntrain::nn {

struct FamilyRow {
    /// The sizes, smallest first.
    std::vector<std::string> (*sizes)(NetworkForm form);
    /// `settings.size` is one of sizes(). Error(usage) for impossible values, such as groups that do not divide
    /// channels.
    Network (*network)(const NetworkSettings& settings);
    /// True if shortcuts that change shape are padded (type A) instead of projected (B). Null: projected.
    bool (*pads_shortcuts)(const NetworkSettings& settings) = nullptr;
    /// The network of which these are the tensors; empty for one of another family. Error(unsupported) for one that
    /// the family does not have.
    std::optional<NetworkSettings> (*network_of)(const SourceShapes& shapes);
    /// Formats of other programs' weights; null: another family has them.
    const std::vector<SourceFormat>& (*formats)() = nullptr;
    std::string_view head_scope;  // of the variables of the last layer
    FamilyInfo info;
};

/// A family without a row does not compile.
FamilyRow row_of(Family family);

FamilyRow resnet_family();        // He et al. 2015, bottlenecks with the stride on the 3x3 convolution (v1.5)
FamilyRow resnext_family();       // Xie et al. 2016
FamilyRow efficientnet_family();  // Tan and Le 2019

/// a, b, ..., z, aa, ab, ...: the blocks of an EfficientNet's stage.
std::string block_letters(int index);

// The skeleton that ResNet and ResNeXt share.

enum class Block : std::uint8_t { two_conv, bottleneck };

/// The differences between residual networks. Widths double from stage to stage.
struct ResidualShape {
    /// The stem for large images is a 7x7 convolution with stride 2 and a max-pool; the stem for small images is a 3x3
    /// convolution.
    NetworkForm form = NetworkForm::large_images;
    Block block = Block::bottleneck;
    std::array<int, 4> units{};  // per stage; 0: no such stage
    std::int64_t stem_filters = 64;
    std::int64_t outputs = 256;  // of the units of stage 1
    std::int64_t width = 64;     // of their 3x3 convolutions
    std::int64_t groups = 1;     // of the bottlenecks' 3x3 convolutions
    BottleneckStride bottleneck_stride = BottleneckStride::spatial;
    std::int64_t classes = 1000;
};

inline constexpr std::string_view kResidualHead = "all/fc1/";

Network residual_network(const ResidualShape& shape);

/// Defaults of both families.
FormDefaults residual_defaults(NetworkForm form, std::string_view size, std::int64_t micro_batch_size);

}  // namespace cnntrain::nn
