// Activations as PopLibs' non-linearities.
#pragma once

#include "backend/ipu/lower/node_context.h"
#include "cnntrain/graph/activation.h"

namespace cnntrain::ipu {

poplar::Tensor activated(const NodeContext& node, graph::Activation activation, const poplar::Tensor& x);

/// dy times the slope. `at` is y where graph::slope_follows_from_result(), else x; of dy's shape.
poplar::Tensor times_slope(const NodeContext& node, graph::Activation activation, const poplar::Tensor& at,
                           const poplar::Tensor& dy);

}  // namespace cnntrain::ipu
