#include "backend/cpu/kernels/targets.h"

#include <hwy/targets.h>

#include "backend/cpu/kernels/kernels.h"

namespace cnntrain::cpu {

void disable_avx512() {
    hwy::DisableTargets(HWY_AVX3 | HWY_AVX3_DL);
}

}  // namespace cnntrain::cpu
