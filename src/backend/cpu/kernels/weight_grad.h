// Weight gradients of convolutions whose kernels are three columns wide, summed in tiles of vector registers.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cpu/kernels/kernels.h"

namespace cnntrain::cpu {

/// y[oh, ow, o] = sum of w[kh, kw, i, o] * x[oh * stride - top + kh, ow * stride - left + kw, i], within each group of
/// channels.
struct WeightGradShape {
    Picture x, y;
    std::int64_t groups = 1;
    std::int64_t kernel_height = 3, stride = 1, top = 0, left = 0;
};

/// The number of channels of a group, of x and of y, is a multiple of this.
inline constexpr std::int64_t kWeightGradChannels = 16;
/// The width of the kernel.
inline constexpr std::int64_t kWeightGradColumns = 3;

/// True if conv_weight_grad() computes this shape on this processor; bfloat16 needs AVX512-BF16.
template <typename T> bool has_weight_grad(const WeightGradShape& shape);

/// The floats of scratch that conv_weight_grad() needs if at most `threads` threads run it; it fails with less.
template <typename T> std::int64_t weight_grad_scratch_floats(const WeightGradShape& shape, int threads);

/// dw = sum of x * dy, in f32: [groups][O/16][I/16][kernel_height][3][16 o][16 i], oneDNN's OIhw16o16i.
template <typename T>
void conv_weight_grad(const WeightGradShape& shape, const T* x, const T* dy, float* dw, std::span<float> scratch);

}  // namespace cnntrain::cpu
