// The CPU backend: oneDNN for convolutions and matrix products; own kernels for memory-bound operations and AMX
// products.
#pragma once

#include <memory>

#include "cnntrain/backend/backend.h"

namespace cnntrain::backend {

/// "cpu". Computes in f32 and bf16 (`16` means bfloat16); parameters are f32 or bf16.
std::unique_ptr<Backend> make_cpu_backend();

}  // namespace cnntrain::backend
