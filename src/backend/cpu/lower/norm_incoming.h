// Gradients that a norm's gradient makes of smaller tensors as it reads them.
#pragma once

#include "backend/cpu/lower/node_context.h"

namespace cnntrain::cpu {

/// Is this result of the current node read by a norm's gradient alone, as dy or as one of its two summands?
bool is_left_to_norm(const NodeContext& lower, graph::ValueId result);

}  // namespace cnntrain::cpu
