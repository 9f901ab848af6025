// The compiler target of functions with tile instructions. Only these functions have it: all other code must run on
// other processors. Functions with this target may run without AMX, AVX512-BF16 or AVX512-VNNI as long as they do not
// execute these instructions. The compiler emits them for explicit intrinsics, and those of VNNI also for loops over
// products of whole numbers, which must not be written here.
#pragma once

#define CNNTRAIN_TILES \
    __attribute__((target("fma,amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16,avx512vnni")))
