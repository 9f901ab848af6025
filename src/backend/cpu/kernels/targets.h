// Instruction sets for which the kernels are compiled: AVX-512 (BW, DQ, VL), AVX2 + FMA, and the portable fallback that
// Highway always needs. Must be included before any Highway header.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL)
