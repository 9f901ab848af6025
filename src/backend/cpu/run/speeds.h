// Speeds of this machine, as yardsticks for whole steps.
#pragma once

#include <dnnl.hpp>

#include "cnntrain/backend/backend.h"
#include "cnntrain/base/tensor.h"

namespace cnntrain::cpu {

/// The best of several products of large matrices of this type (f32 or bf16), and of several copies of memory beyond
/// the caches. Takes about 0.2 seconds, longer where other programs compute.
backend::Speeds measure_speeds(DType type, int threads);

/// Random numbers between 1 and 2, of either sign; of f32 or bfloat16. Processors multiply zeros with less power than
/// numbers, and so at a higher clock rate.
void fill_with_numbers(const dnnl::memory& memory, DType type);

}  // namespace cnntrain::cpu
