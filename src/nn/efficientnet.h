// EfficientNets (Tan and Le 2019), with grouped spatial convolutions as an alternative to depthwise ones.
#pragma once

#include <string>
#include <vector>

#include "nn/network.h"

namespace cnntrain::nn {

std::vector<std::string> efficientnet_sizes(DatasetKind dataset);

/// `settings.size` must be one of efficientnet_sizes(). Error(usage): values that make no network, such as groups that
/// do not divide the channels of a block.
Network efficientnet(const NetworkSettings& settings);

}  // namespace cnntrain::nn
