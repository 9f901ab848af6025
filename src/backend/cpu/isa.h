// The processor's instruction sets, as far as oneDNN may use them.
#pragma once

#include <string>

#include "cnntrain/backend/backend.h"

namespace cnntrain::cpu {

/// Instruction sets that decide how a graph is computed.
struct Isa {
    bool avx512 = false;       // F, BW, VL, DQ: required by oneDNN's 16-bit primitives
    bool avx512_bf16 = false;  // dot products of bfloat16 pairs
    bool amx = false;          // bfloat16 tiles
    bool amd = false;          // the vendor
};

/// Instruction sets of this processor within the limit of the environment variable ONEDNN_MAX_CPU_ISA.
Isa effective_isa();

/// The fastest arithmetic of a processor for a 16-bit precision. AMX multiplies bfloat16 many times faster than f32,
/// AMD's cores (Zen 4 and later) twice as fast. On Intel processors with masked AMX, bfloat16 products ran at 0.57 of
/// f32's rate; without AVX512-BF16 they are emulated.
backend::Arithmetic fastest_arithmetic(const Isa& isa);

/// Has this processor dot products of 8 bits (VNNI)? Without them, oneDNN's sums are cut off at 16 bits.
bool multiplies_bytes();

/// Applies the limit of oneDNN's instructions to own kernels, too.
void limit_kernels(const Isa& isa);

// Name of the oneDNN library for users.

/// "oneDNN 2.6.3 with AVX512_CORE_AMX", with the source of the limit if the environment sets one.
std::string library_text();

}  // namespace cnntrain::cpu
