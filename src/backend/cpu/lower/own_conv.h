// Convolutions in f32 that own kernels compute: depthwise ones, 1x1 ones of inference or of few channels.
#pragma once

#include "backend/cpu/lower/node_context.h"

namespace cnntrain::cpu {

bool is_depthwise(const graph::ConvAttrs& attrs, const Shape& kernel);

/// Lowers the current node, a conv2d, if an own kernel is the faster implementation.
bool lower_own_conv(const NodeContext& lower);
/// The same for a conv2d_input_grad.
bool lower_own_input_grad(const NodeContext& lower);
/// The same for a conv2d_weight_grad of a 1x1 convolution.
bool lower_own_weight_grad(const NodeContext& lower);

/// Is the current node, a scale_channels, computed by the convolution that alone reads its result?
bool is_left_to_conv(const NodeContext& lower);

// Convolutions by Winograd's filtering, where it is faster than a direct convolution.

// Each adds the node's steps and returns true if Winograd's filtering is the faster implementation.
bool lower_winograd_conv(const NodeContext& lower);
bool lower_winograd_input_grad(const NodeContext& lower);
bool lower_winograd_weight_grad(const NodeContext& lower);

}  // namespace cnntrain::cpu
