// The limit of a processor: its widest multiply instruction on registers alone.
#pragma once

#include <string>

#include "cnntrain/base/tensor.h"

namespace cnntrain {

struct MultiplyLoop {
    double gflops = 0;
    std::string instruction = {};
};

/// The best of several runs of a loop on `threads` threads. The instruction is the widest one for this type that the
/// CPU backend may use (ONEDNN_MAX_CPU_ISA limits it): TMUL tiles and AVX512-BF16's dot products for bf16, fused
/// multiply-adds for f32 and for bf16 without these.
MultiplyLoop measured_multiply_loop(DType type, int threads);

}  // namespace cnntrain
