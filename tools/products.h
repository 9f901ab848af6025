// The yardsticks for whole steps: the same convolutions and matrix products, each by itself, by oneDNN's own
// primitives; and the rate that this machine reaches in a large product.
#pragma once

#include "cnntrain/graph/graph.h"

namespace cnntrain {

/// Milliseconds of all convolutions and matrix products of one micro-batch, forward and gradients: every one with the
/// layouts that oneDNN likes best, run `repeats` times in a row, the least time of each. Attention counts as its two
/// products forward and four in backward.
double products_alone_ms(const graph::Graph& graph, int threads, int repeats);

/// Best of several products of square matrices of this type, in GFLOP/s.
double measured_peak_gflops(DType type, int threads);

}  // namespace cnntrain
