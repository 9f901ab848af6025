// 3x3 convolutions of stride 1 and their gradients by Winograd's minimal filtering (Lavin and Gray, "Fast Algorithms
// for Convolutional Neural Networks", 2016): a quarter of the multiplications, all in f32.
#pragma once

#include <cstdint>
#include <span>

#include "backend/cpu/kernels/kernels.h"

namespace cnntrain::cpu {

/// y[oh, ow, o] = sum of w[kh, kw, i, o] * x[oh - top + kh, ow - left + kw, i]; pixels outside x are zero.
struct WinogradShape {
    Picture x, y;
    std::int64_t top = 0, left = 0;

    std::int64_t inputs() const { return x.shape.channels(); }
    std::int64_t outputs() const { return y.shape.channels(); }
    /// The convolution of dy that gives dx.
    WinogradShape input_grad() const { return {y, x, 2 - top, 2 - left}; }
    /// Tiles of 4 x 4 pixels that cover y.
    std::int64_t tiles() const { return y.shape.n * ((y.height + 3) / 4) * ((y.width + 3) / 4); }
    /// Floating-point operations of the products; a direct convolution has 18 per pixel and pair of channels.
    double flops() const {
        return 72.0 * static_cast<double>(tiles()) * static_cast<double>(inputs()) * static_cast<double>(outputs());
    }
};

/// The numbers of channels are multiples of this.
inline constexpr std::int64_t kWinogradChannels = 16;

/// True if this processor's kernels read and write these layouts.
bool has_winograd(const WinogradShape& shape);

/// Floats of a transformed kernel.
std::int64_t winograd_filter_floats(const WinogradShape& shape);
/// Transforms the kernel w [3,3,I,O], row-major. `turned`: w is the kernel of the convolution whose input gradient
/// `shape` describes, [3,3,O,I] in terms of `shape`.
template <typename T> void winograd_filter(const WinogradShape& shape, bool turned, const T* w, float* filter);

/// Operations on y before it is stored.
template <typename T> struct WinogradEpilogue {
    const float* bias = nullptr;  // [O]; optional
    const T* residual = nullptr;  // shape of y, may be y itself; optional
    Activation activation = Activation::none;
};

/// The floats of scratch that winograd_conv() needs if at most `threads` threads run it; it fails with less.
std::int64_t winograd_scratch_floats(const WinogradShape& shape, int threads);
/// The result does not depend on the number of threads, and a sample's result does not depend on other samples.
template <typename T> void winograd_conv(const WinogradShape& shape, const T* x, const float* filter,
                                         const WinogradEpilogue<T>& epilogue, T* y, std::span<float> scratch);

std::int64_t winograd_weight_grad_scratch_floats(const WinogradShape& shape);
/// dw [3,3,I,O], row-major. The result does not depend on the number of threads.
template <typename T>
void winograd_weight_grad(const WinogradShape& shape, const T* x, const T* dy, float* dw, std::span<float> scratch);

}  // namespace cnntrain::cpu
