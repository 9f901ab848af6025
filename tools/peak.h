// The rate that this machine reaches in a large matrix product: what other rates are compared with.
#pragma once

#include <dnnl.hpp>

#include "cnntrain/base/tensor.h"

namespace cnntrain {

/// Random numbers between 1 and 2, of either sign; of f32 or bfloat16. Processors multiply zeros with less power than numbers, and so at
/// a higher clock rate.
void fill_with_numbers(const dnnl::memory& memory, DType type);

/// Best of several products of square matrices of this type, in GFLOP/s.
double measured_peak_gflops(DType type, int threads);

}  // namespace cnntrain
