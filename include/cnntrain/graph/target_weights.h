// Weights of image networks for other programs: the tables of source_weights.h in the other direction.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/settings.h"

namespace cnntrain::nn {

enum class TargetProgram : std::uint8_t { torchvision, timm };

std::string_view name(TargetProgram program);

/// Weights with the names, the layout and the additional buffers of another program's network.
struct TargetWeights {
    std::string architecture;  // "resnet50", "tf_efficientnet_b0"
    std::map<std::string, HostTensor> tensors;
};

/// The program's own name of the network. Error(unsupported) says in what the networks differ: padding, norms, sizes.
std::string target_architecture(TargetProgram program, const NetworkSettings& network);

/// Why neither program has the network; "" if one of them has, or if there is no network of this size.
std::string why_no_target(const NetworkSettings& network);

/// `variables`: parameters and moving averages of the network. Errors as target_architecture().
TargetWeights in_target_layout(TargetProgram program, const NetworkSettings& network,
                               const std::map<std::string, HostTensor>& variables);

}  // namespace cnntrain::nn
