// The speed of matrix products on this machine, as a yardstick for whole steps.
#pragma once

#include <dnnl.hpp>

#include "cnntrain/base/tensor.h"

namespace cnntrain::cpu {

/// FLOPs a second of the fastest of several products of large matrices of this type, f32 or bf16. Takes about 0.12
/// seconds, longer where other programs compute.
double measure_products(DType type, int threads);

/// Random numbers between 1 and 2, of either sign; of f32 or bfloat16. Processors multiply zeros with less power than
/// numbers, and so at a higher clock rate.
void fill_with_numbers(const dnnl::memory& memory, DType type);

}  // namespace cnntrain::cpu
