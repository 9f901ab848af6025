// The rate that this machine reaches in a large matrix product: what other rates are compared with.
#pragma once

#include "cnntrain/base/tensor.h"

namespace cnntrain {

/// Best of several products of square matrices of this type, in GFLOP/s.
double measured_peak_gflops(DType type, int threads);

}  // namespace cnntrain
