// Calls templates with the type of a tensor's elements.
#pragma once

#include "backend/cpu/kernels/kernels.h"
#include "cnntrain/base/error.h"
#include "cnntrain/base/tensor.h"

namespace cnntrain::cpu {

/// Calls f.template operator()<float>() or <BFloat16>.
template <typename F> void with_float_type(DType type, F&& f) {
    if (type == DType::f32) {
        f.template operator()<float>();
    } else {
        CNNTRAIN_CHECK(type == DType::bf16, "the cpu backend computes in f32 and bf16");
        f.template operator()<BFloat16>();
    }
}

}  // namespace cnntrain::cpu
