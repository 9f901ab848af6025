// The yardstick for whole steps: the same convolutions, each by itself, by oneDNN's own convolution primitives.
#pragma once

#include "cnntrain/graph/graph.h"

namespace cnntrain {

/// Milliseconds of all convolutions of one micro-batch, forward and gradients: every one with the layouts that oneDNN
/// likes best, run `repeats` times in a row, the least time of each.
double convolutions_alone_ms(const graph::Graph& graph, int threads, int repeats);

}  // namespace cnntrain
