// Sums of exponentials along the last axis, from which softmax and log-sum-exp follow.
#pragma once

#include "backend/ipu/lower/node_context.h"

namespace cnntrain::ipu {

struct Exponentials {
    poplar::Tensor values;    // FLOAT [...,C]: exp(x - the row's largest x)
    poplar::Tensor sums;      // FLOAT [...]: of the values
    poplar::Tensor log_sums;  // FLOAT [...]: log(sum of exp(x))
};

/// Of x [...,C], HALF or FLOAT.
Exponentials exponentials(const NodeContext& node, const poplar::Tensor& x);

}  // namespace cnntrain::ipu
