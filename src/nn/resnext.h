// Residual networks with grouped convolutions (Xie et al. 2016).
#pragma once

#include <string>
#include <vector>

#include "nn/network.h"

namespace cnntrain::nn {

std::vector<std::string> resnext_sizes(DatasetKind dataset);

/// `settings.size` must be one of resnext_sizes(). Error(usage): a group without channels.
Network resnext(const NetworkSettings& settings);

}  // namespace cnntrain::nn
