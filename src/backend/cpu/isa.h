// What the processor's instructions make fast, as far as oneDNN is allowed to use them.
#pragma once

#include "cnntrain/backend/backend.h"

namespace cnntrain::cpu {

/// Instruction sets that decide how a graph is computed.
struct Isa {
    bool avx512 = false;       // F, BW, VL, DQ: the least that oneDNN's 16-bit primitives need
    bool avx512_bf16 = false;  // dot products of bfloat16 pairs
    bool amx = false;          // bfloat16 tiles
    bool amd = false;          // the vendor
};

/// Of this processor, within the limit that the environment variable ONEDNN_MAX_CPU_ISA sets.
Isa effective_isa();

/// What is fastest with such a processor for a 16-bit precision. AMX multiplies bfloat16 many times faster than f32,
/// and AMD's cores (Zen 4 and later) twice as fast; where Intel's AMX is masked, bfloat16 products ran at 0.57 of f32's
/// rate, and without AVX512-BF16 they are emulated.
backend::Arithmetic fastest_arithmetic(const Isa& isa);

/// Makes own kernels use no instructions that oneDNN may not use: one limit for both.
void limit_kernels(const Isa& isa);

}  // namespace cnntrain::cpu
