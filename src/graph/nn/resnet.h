// The skeleton that ResNet and ResNeXt share.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "cnntrain/graph/model.h"
#include "graph/nn/layers.h"

namespace cnntrain::nn {

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
