// Whether the CPU backend has convolutions and matrix products in bfloat16 here: not below AVX-512.
#pragma once

#include "backend/cpu/isa.h"

namespace cnntrain::test {

inline bool has_bf16_products() {
    return cpu::effective_isa().avx512;
}

}  // namespace cnntrain::test
