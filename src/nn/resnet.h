// The skeleton that ResNet and ResNeXt share.
#pragma once

#include <array>
#include <cstdint>

#include "nn/network.h"

namespace cnntrain::nn {

enum class Block : std::uint8_t { two_conv, bottleneck };

/// The differences between residual networks. Widths double from stage to stage.
struct ResidualShape {
    DatasetKind dataset = DatasetKind::imagenet;  // ImageNet: 7x7 stem with stride 2 and a max-pool; CIFAR: 3x3 stem
    Block block = Block::bottleneck;
    std::array<int, 4> units{};  // per stage; 0: no such stage
    std::int64_t stem_filters = 64;
    std::int64_t outputs = 256;  // of the units of stage 1
    std::int64_t width = 64;     // of their 3x3 convolutions
    std::int64_t groups = 1;     // of the bottlenecks' 3x3 convolutions
    std::int64_t classes = 1000;
};

Network residual_network(const ResidualShape& shape);

}  // namespace cnntrain::nn
