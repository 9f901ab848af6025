#include "backend/cpu/kernels/targets.h"

#include <hwy/targets.h>

#include "backend/cpu/kernels/kernels.h"

namespace cnntrain::cpu {

void disable_avx512() {
    // Highway's bits of later instruction sets, which differ from version to version, are below the bit of AVX-512.
    hwy::DisableTargets(HWY_AVX3 | (HWY_AVX3 - 1));
}

}  // namespace cnntrain::cpu
