// Instruction sets that the kernels are compiled for: AVX-512 (BW, DQ, VL), AVX2 + FMA, and the portable fallback that
// Highway always needs. Must come before any Highway header.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
