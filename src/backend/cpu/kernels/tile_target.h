// What functions with tile instructions are compiled for. Only they are: everything else must run on other processors.
// Without AMX or AVX512-BF16, those run that use neither: the instructions of both stand only where the source asks for
// them.
#pragma once

#define CNNTRAIN_TILES __attribute__((target("amx-tile,amx-bf16,avx512f,avx512bw,avx512dq,avx512vl,avx512bf16")))
