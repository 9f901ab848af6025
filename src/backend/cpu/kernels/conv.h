// Convolutions in f32: 1x1 ones, as products in registers, and depthwise ones, with the operations around them; and
// depthwise ones in 8 bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backend/cpu/kernels/kernels.h"

namespace cnntrain::cpu {

/// The pixels of each part of a picture whose lines, `width` pixels each, are divided as evenly as possible.
inline std::vector<std::int64_t> pixels_of_parts(std::int64_t lines, std::int64_t parts, std::int64_t width) {
    std::vector<std::int64_t> pixels;
    for (std::int64_t part = 0; part < parts; ++part)
        pixels.push_back(width * (lines * (part + 1) / parts - lines * part / parts));
    return pixels;
}

/// A 1x1 convolution of channels-last images: y[row, o] = activation(sum of w[i, o] * gate[sample, i] * x[row, i] +
/// bias[o] + residual[row, o]). A row is a pixel.
struct PointwiseShape {
    std::int64_t samples = 0, pixels = 0;  // of each sample
    std::int64_t inputs = 0, outputs = 0;

    std::int64_t rows() const { return samples * pixels; }
};

/// Columns of the weights that are adjacent in memory: [O/16][I][16 o], oneDNN's Ohwi16o.
inline constexpr std::int64_t kPointwisePanel = 16;

struct PointwiseTensors {
    const float* x = nullptr;
    const float* gate = nullptr;      // [samples, inputs]; null: 1
    const float* weights = nullptr;   // in panels, zero beyond the last output
    const float* bias = nullptr;      // null: 0
    const float* residual = nullptr;  // null: 0
    float* y = nullptr;
    float* statistics = nullptr;  // receives PartStatistics of y, of pointwise_part_pixels(); null: not wanted
};

/// The most weights that stay in the first cache together with the rows of a tile. With no more, pointwise_conv() took
/// 0.5 to 0.9 of oneDNN's time for 50k to 200k rows, for a convolution or its input gradient, and otherwise 0.9 to 1.4
/// of it (Zen 4, AVX-512).
inline constexpr std::int64_t kMostCachedPointwiseWeights = 5 << 10;

/// The weights in panels, from [outputs][inputs], as an input gradient reads them: its inputs are gradients of outputs.
void turn_pointwise_weights(const PointwiseShape& shape, const float* from, float* to);
std::int64_t pointwise_weight_floats(const PointwiseShape& shape);

/// Scratch of pointwise_conv() if at most `threads` threads run it.
std::int64_t pointwise_scratch_floats(const PointwiseShape& shape, int threads);
/// The pixels of the parts of which pointwise_conv() makes statistics, by the shape alone. It makes none with gates, a
/// residual or an activation.
std::vector<std::int64_t> pointwise_part_pixels(const PointwiseShape& shape);
/// Every result is summed in the order of the inputs, whatever the number of threads.
void pointwise_conv(const PointwiseShape& shape, const PointwiseTensors& tensors, Activation activation,
                    std::span<float> scratch);

/// The most weights for which pointwise_weight_grad() is used. With no more, it took 0.5 to 0.95 of oneDNN's time for
/// 12k to 200k rows; with 19k weights, 1.1 of it (Zen 4, AVX-512).
inline constexpr std::int64_t kMostPointwiseGradients = 10 << 10;
/// True if pointwise_weight_grad() computes this shape.
bool has_pointwise_weight_grad(const PointwiseShape& shape);
std::int64_t pointwise_weight_grad_scratch_floats(const PointwiseShape& shape);
/// dw[i, o] = sum over the rows of x[row, i] * dy[row, o]. The order of the sums depends on the shape alone.
void pointwise_weight_grad(const PointwiseShape& shape, const float* x, const float* dy, float* dw,
                           std::span<float> scratch);

inline constexpr std::int64_t kMostDepthwiseStride = 2;
/// Do the following functions compute convolutions with such kernels?
bool has_depthwise_conv(std::int64_t kernel, std::int64_t stride);

/// y = activation(depthwise convolution of x + bias). The sums of y over the pixels of each sample are for a global
/// average: sums[part, sample, channel]; the number of parts depends on the shape alone.
struct DepthwiseTensors {
    const float* x = nullptr;
    const float* weights = nullptr;  // [kernel, kernel, channels]
    const float* bias = nullptr;     // null: 0
    float* y = nullptr;
    float* sums = nullptr;        // null: not wanted
    float* statistics = nullptr;  // receives PartStatistics of y, of depthwise_part_pixels(); null: not wanted
};
std::int64_t depthwise_sum_parts(const DepthwiseShape& shape);
/// The pixels of the parts of which depthwise_conv() makes statistics, which it does without activation only.
std::vector<std::int64_t> depthwise_part_pixels(const DepthwiseShape& shape);
void depthwise_conv(const DepthwiseShape& shape, const DepthwiseTensors& tensors, Activation activation);
/// dx = the gradient of x.
void depthwise_input_grad(const DepthwiseShape& shape, const float* dy, const float* weights, float* dx);

// Depthwise convolutions of numbers in 8 bits, in NHWC memory, with kernels of 3 or 5 pixels and strides of 1 or 2.
// They need TileUnit::byte_products.

/// Channels that a task sums together.
inline constexpr std::int64_t kDepthwiseChunk = 64;

template <typename T> struct DepthwiseBytes {
    const std::uint8_t* x = nullptr;
    std::uint8_t zero = 0;                // number of 0, around the image
    const std::int8_t* panels = nullptr;  // by copy_to_depthwise_panels()
    const float* factors = nullptr;       // value = factor * sum + shift; by copy_in_depthwise_order()
    const float* shifts = nullptr;
    bool in_unit = false;     // y are the values, rounded and limited to 0 ... most
    std::uint8_t most = 255;  // otherwise y = scale * activation(value) + shift
    Activation activation = Activation::none;
    float scale = 1, shift = 0;  // of bytes only
    T* y = nullptr;              // std::uint8_t, float, BFloat16
};
std::int64_t depthwise_panel_bytes(std::int64_t channels, std::int64_t kernel);
/// w: [kernel, kernel, channels].
void copy_to_depthwise_panels(std::int64_t channels, std::int64_t kernel, const std::int8_t* w, std::int8_t* panels);
/// `to`: as many elements as there are channels, rounded up to whole chunks.
void copy_in_depthwise_order(std::int64_t channels, const float* from, float* to);
std::int64_t depthwise_bytes_scratch_floats(const DepthwiseShape& shape, int threads);
template <typename T>
void depthwise_bytes(const DepthwiseShape& shape, const DepthwiseBytes<T>& args, std::span<float> scratch);

// Weight gradients of convolutions whose kernels are three columns wide, summed in tiles of vector registers.

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

// 3x3 convolutions of stride 1 and their gradients by Winograd's minimal filtering (Lavin and Gray, "Fast Algorithms
// for Convolutional Neural Networks", 2016): a quarter of the multiplications, all in f32.

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
