// Support for bfloat16 here: the CPU backend has convolutions and matrix products in bfloat16 from AVX-512 on.
#pragma once

#include "backend/cpu/isa.h"

namespace cnntrain::test {

inline bool has_bf16_products() {
    return cpu::effective_isa().avx512;
}

}  // namespace cnntrain::test
