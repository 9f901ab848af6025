// Convolutions by Winograd's filtering, where it is faster than a direct convolution.
#pragma once

#include "backend/cpu/lower/node_context.h"

namespace cnntrain::cpu {

// Each adds the node's steps and returns true if Winograd's filtering is the faster implementation.
bool lower_winograd_conv(const NodeContext& lower);
bool lower_winograd_input_grad(const NodeContext& lower);
bool lower_winograd_weight_grad(const NodeContext& lower);

}  // namespace cnntrain::cpu
