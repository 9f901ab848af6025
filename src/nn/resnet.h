// Residual networks (He et al. 2015), bottlenecks with the stride on the 3x3 (v1.5).
#pragma once

#include <string>
#include <vector>

#include "nn/network.h"

namespace cnntrain::nn {

std::vector<std::string> resnet_sizes(DatasetKind dataset);

/// `settings.size` must be one of resnet_sizes().
Network resnet(const ModelSettings& settings);

}  // namespace cnntrain::nn
