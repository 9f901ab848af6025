// The memory-bound work of the CPU backend: everything that is neither a convolution nor a matrix product.
//
// Activations are contiguous memory [n][blocks][pixels][lanes] with channel = block * lanes + lane: plain NHWC is one
// block of C lanes, oneDNN's nChw16c is C / 16 blocks of 16 lanes. T is float or BFloat16; arithmetic is fp32, sums
// over chunks are fp64, conversions to bfloat16 round to nearest even. Per-channel parameters are float.
//
// Every kernel uses the OpenMP threads of the caller. Work is cut by shape alone and partial sums are added in a fixed
// order, so results do not depend on the number of threads. Nothing allocates: kernels that need room take `scratch`,
// and a function next to them says how many floats. Aliasing: an output may be the very same array as an input where
// the comment says so; partial overlap is never allowed. C channels, N samples, G groups.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>

#include "cnntrain/base/rng.h"
#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/activation.h"
#include "cnntrain/graph/update_rule.h"

namespace cnntrain::cpu {

/// From now on no kernel of this process uses AVX-512, whatever the processor has.
void disable_avx512();

struct Blocks {
    std::int64_t n = 0, blocks = 0, pixels = 0, lanes = 0;

    std::int64_t channels() const { return blocks * lanes; }
    std::int64_t rows() const { return n * blocks * pixels; }  // of `lanes` contiguous elements
    std::int64_t elements() const { return rows() * lanes; }
    bool operator==(const Blocks&) const = default;
};

using graph::Activation;
using graph::UpdateRule;

// ---------------------------------------------------------------------------------------------------------------------
// Normalisation, whole ops (norm.cpp). Formulas: NormAttrs in cnntrain/graph/op.h. All variances are biased.

/// Room for any one call below; pass groups = 0 for batch norm.
std::int64_t norm_scratch_floats(const Blocks& shape, std::int64_t groups = 0);

template <typename T> struct NormForward {
    const T* x = nullptr;
    const float* gamma = nullptr;  // [C]
    const float* beta = nullptr;   // [C]
    const T* residual = nullptr;   // like x, added before the activation; optional
    float* mean = nullptr;         // [C], group norm [N,G]
    float* variance = nullptr;     // likewise
    T* y = nullptr;                // may be x or residual
    double epsilon = 1e-5;
    Activation activation = Activation::none;
};
/// Statistics of x into mean and variance, then y.
template <typename T>
void batch_norm_forward(const Blocks& shape, const NormForward<T>& args, std::span<float> scratch);
/// mean and variance (the moving ones) are read.
template <typename T>
void batch_norm_inference(const Blocks& shape, const NormForward<T>& args, std::span<float> scratch);
template <typename T>
void group_norm_forward(const Blocks& shape, std::int64_t groups, const NormForward<T>& args, std::span<float> scratch);

/// Makes sums of this rank's micro-batch those of all ranks that share the statistics.
class SumsOverRanks {
public:
    virtual ~SumsOverRanks() = default;
    virtual std::int64_t ranks() const = 0;
    virtual void add_up(std::span<float> first, std::span<float> second) = 0;
};

template <typename T> struct NormGradient {
    const T* x = nullptr;
    const T* dy = nullptr;
    const T* dy2 = nullptr;           // added to dy; optional
    const T* y = nullptr;             // optional, where the activation's slope follows from it; else recomputed from x
    const float* gamma = nullptr;     // [C]
    const float* beta = nullptr;      // [C]; read only when the slope is recomputed
    const float* mean = nullptr;      // as written by the forward op
    const float* variance = nullptr;  // likewise
    T* dx = nullptr;                  // may be x, dy, dy2 or y, but not dresidual
    T* dresidual = nullptr;           // sum of dy and dy2, times the slope; optional; may be dy, dy2 or y
    float* dgamma = nullptr;          // [C], of this rank's micro-batch
    float* dbeta = nullptr;           // likewise
    double epsilon = 1e-5;
    Activation activation = Activation::none;
    SumsOverRanks* over_ranks = nullptr;  // batch norm: where mean and variance are of several ranks' micro-batches
};
template <typename T>
void batch_norm_gradient(const Blocks& shape, const NormGradient<T>& args, std::span<float> scratch);
template <typename T> void group_norm_gradient(const Blocks& shape, std::int64_t groups, const NormGradient<T>& args,
                                               std::span<float> scratch);

// ---------------------------------------------------------------------------------------------------------------------
// Normalisation, passes (reduce.cpp, apply.cpp). Scratch: norm_scratch_floats.

/// mean[C], variance[C] over N and pixels; one pass over x.
template <typename T>
void channel_statistics(const Blocks& shape, const T* x, float* mean, float* variance, std::span<float> scratch);
/// mean[N,G], variance[N,G] over pixels and the group's contiguous channels; one pass over x.
template <typename T> void group_statistics(const Blocks& shape, std::int64_t groups, const T* x, float* mean,
                                            float* variance, std::span<float> scratch);

/// Per-channel coefficients are [C], or [N,C] when `per_sample`.
template <typename T> struct NormApply {
    const T* x = nullptr;
    const T* residual = nullptr;  // optional
    const float* scale = nullptr;
    const float* shift = nullptr;
    T* y = nullptr;  // may be x or residual
    bool per_sample = false;
    Activation activation = Activation::none;
};
/// y = activation(x * scale + shift + residual).
template <typename T> void norm_apply(const Blocks& shape, const NormApply<T>& args);

/// dy' = (dy + dy2) * slope of the activation, as seen by both passes of the gradient.
template <typename T> struct MaskedGradient {
    const T* x = nullptr;
    const T* dy = nullptr;
    const T* dy2 = nullptr;  // optional
    const T* y = nullptr;    // optional: the slope is taken from it
    const float* scale = nullptr;
    const float* shift =
        nullptr;  // without y: the slope is that at x * scale + shift, each [C], or [N,C] when per_sample
    Activation activation = Activation::none;
    bool per_sample = false;
};
/// sum_dy[C] = sum dy', sum_dy_x[C] = sum dy' * (x - mean) over N and pixels; per_sample: all [N,C], over pixels only
/// (then `mean` is [N,C] too). Writes dy' to `dresidual` unless null (it may be dy, dy2 or y).
template <typename T> void norm_gradient_sums(const Blocks& shape, const MaskedGradient<T>& args, const float* mean,
                                              float* sum_dy, float* sum_dy_x, T* dresidual, std::span<float> scratch);
/// dx = a * dy' + b * x + c; coefficients [C], or [N,C] when per_sample; dx may be any of the inputs.
template <typename T> void norm_gradient_apply(const Blocks& shape, const MaskedGradient<T>& args, const float* a,
                                               const float* b, const float* c, T* dx);

// ---------------------------------------------------------------------------------------------------------------------
// Proxy norm (proxy_norm.cpp): StandardiseAttrs and ProxyNormAttrs in cnntrain/graph/op.h.

/// Room for any one of these two.
std::int64_t standardise_scratch_floats(const Blocks& shape);
/// y = (x - mean) * scale, where either vector may be null; y may be x.
template <typename T> void standardise(const Blocks& shape, const T* x, const float* mean, const float* scale, T* y,
                                       std::span<float> scratch);
/// dx = dy * scale, dmean[C] = -sum of dx, dscale[C] = sum of dy * y / scale, over N and pixels; dx may be y or dy, and
/// dmean may be null.
template <typename T> struct StandardiseGradient {
    const T* y = nullptr;
    const T* dy = nullptr;
    const float* scale = nullptr;
    T* dx = nullptr;
    float* dmean = nullptr;
    float* dscale = nullptr;
};
template <typename T>
void standardise_grad(const Blocks& shape, const StandardiseGradient<T>& args, std::span<float> scratch);

/// A proxy [6][channels] and the sample that stands for a normal distribution.
template <typename T> struct Proxy {
    std::int64_t channels = 0;
    T* rows = nullptr;
    std::span<const float> quantiles;  // at most kMostQuantiles
    Activation activation = Activation::swish;
    float epsilon = 0;
};
inline constexpr std::size_t kMostQuantiles = 200;
/// Overwrites the rows of mean and inverse deviation, rounded to nearest.
template <typename T> void proxy_norm_statistics(const Proxy<T>& proxy);
/// `gradient` and `result` are [6][channels] and may be one array.
template <typename T>
void proxy_norm_gradient(const Proxy<const T>& proxy, float weight_decay, const float* gradient, float* result);

// ---------------------------------------------------------------------------------------------------------------------
// Elementwise (elementwise.cpp). Outputs may be any input of the same type.

template <typename T> void add(std::int64_t count, const T* a, const T* b, T* y);
template <typename T> void activate(std::int64_t count, Activation activation, const T* x, T* y);
/// dx = dy * slope; `at` is y where slope_follows_from_result(), else x.
template <typename T> void activation_grad(std::int64_t count, Activation activation, const T* at, const T* dy, T* dx);
void cast(std::int64_t count, const float* x, BFloat16* y);
void cast(std::int64_t count, const BFloat16* x, float* y);
void clear(std::int64_t count, float* y);
/// y[i] = x[0][i] + x[1][i] + ... in this order, x[parts][count].
void sum_parts(std::int64_t parts, std::int64_t count, const float* x, float* y);
/// sum += x.
template <typename T> void accumulate(std::int64_t count, const T* x, float* sum);
/// `runs` neighbouring runs of a whole of which each has a part: all in bytes, those of one run.
struct PartShape {
    std::int64_t runs = 0;
    std::int64_t before = 0;
    std::int64_t part = 0;
    std::int64_t whole = 0;
};
/// The whole is zero where the part is not.
void place_part(const PartShape& shape, const std::byte* part, std::byte* whole);

/// A matrix as the right operand of a fast product: panels of neighbouring columns one after the other, in each of them
/// the rows in turn; of bfloat16 two rows at a time, with the two elements of a column next to each other. Zeros fill
/// up the last panel and its rows.
struct Panels {
    std::int64_t rows = 0, columns = 0;  // of the matrix
    std::int64_t panel_rows = 0;         // with those of zeros, a multiple of 16
    std::int64_t panel_columns = 0;      // a multiple of 16

    std::int64_t count() const { return (columns + panel_columns - 1) / panel_columns; }
    std::int64_t columns_of(std::int64_t panel) const {
        return std::min(panel_columns, columns - panel * panel_columns);
    }
};
/// Of a row-major matrix; float to float or BFloat16, or BFloat16 to BFloat16.
template <typename From, typename To> void copy_to_panels(const Panels& shape, const From* from, To* to);
/// The same, and the sums of the columns, which do not depend on the number of threads.
void copy_to_panels_and_sum(const Panels& shape, const BFloat16* from, BFloat16* to, float* sums,
                            std::span<float> scratch);
std::int64_t panel_sums_scratch_floats(const Panels& shape);

/// Lowest index of a NaN or infinity, or -1.
std::int64_t first_non_finite(std::span<const float> values);
std::int64_t first_non_finite(std::span<const BFloat16> values);

// ---------------------------------------------------------------------------------------------------------------------
// Images, pooling, shortcuts (spatial.cpp); biases (apply.cpp, reduce.cpp)

inline constexpr std::int64_t kMaxImageChannels = 16;
/// y = x * scale[c] + shift[c] over NHWC memory; In: std::uint8_t, float, BFloat16; channels <= kMaxImageChannels.
template <typename In, typename Out> void normalise_image(std::int64_t pixels, std::int64_t channels, const In* x,
                                                          const float* scale, const float* shift, Out* y);

/// mix_images (MixImagesAttrs in cnntrain/graph/op.h) over NHWC memory: every image is read at most twice and written
/// once.
struct MixImages {
    std::int64_t samples = 0, height = 0, width = 0, channels = 0;
    const float* own = nullptr;         // [samples]; null: no mixup
    const std::int32_t* box = nullptr;  // top, bottom, left, right; null: no cutmix
    std::int64_t cutmix_distance = 0;
};
template <typename T> void mix_images(const MixImages& how, const T* x, T* y);

/// y[N,C] = mean of x over the pixels.
template <typename T> void global_average_pool(const Blocks& shape, const T* x, T* y);
/// dx = dy[N,C] / pixels everywhere.
template <typename T> void global_average_pool_grad(const Blocks& shape, const T* dy, T* dx);

/// y = x * gate[N,C]; y may be x.
template <typename T> void scale_channels(const Blocks& shape, const T* x, const T* gate, T* y);
/// dx = dy * gate, dgate[N,C] = sum of dy * x over the pixels; dx may be x or dy.
template <typename T> void scale_channels_grad(const Blocks& shape, const T* x, const T* gate, const T* dy, T* dx,
                                               T* dgate, std::span<float> scratch);
/// Scratch of scale_channels_grad.
std::int64_t scale_channels_scratch_floats(const Blocks& shape);

/// RandomScaleAttrs in cnntrain/graph/op.h; y may be x.
struct RandomScale {
    std::uint64_t seed = 0;
    std::uint64_t site = 0;
    std::int64_t first_sample = 0;
    std::uint32_t last_kept = 0;
    float factor = 1;  // of what is kept
    bool per_sample = false;
};
template <typename T> void random_scale(const Blocks& shape, const RandomScale& scale, const T* x, T* y);

/// A picture with a size; pixels = height * width.
struct Picture {
    Blocks shape;
    std::int64_t height = 0, width = 0;
};
/// y gets every stride-th pixel of x, further channels are zero. x and y have one layout: both one block, or both
/// blocks of the same number of lanes. y is ceil(height / stride) x ceil(width / stride).
template <typename T>
void shortcut_pad(const Picture& x_picture, const Picture& y_picture, std::int64_t stride, const T* x, T* y);
/// The transpose: dx is zero where no pixel was taken; further channels of dy are dropped.
template <typename T>
void shortcut_pad_grad(const Picture& dx_picture, const Picture& dy_picture, std::int64_t stride, const T* dy, T* dx);

/// A depthwise convolution: y[oh, ow, c] sums w[kh, kw, c] * x[oh * stride - top + kh, ow * stride - left + kw, c].
struct DepthwiseShape {
    Picture x, y;  // of one layout
    std::int64_t kernel = 1, stride = 1, top = 0, left = 0;
};
/// dw[K,K,C] = sum of x * dy.
template <typename T>
void depthwise_weight_grad(const DepthwiseShape& shape, const T* x, const T* dy, float* dw, std::span<float> scratch);
std::int64_t depthwise_scratch_floats(const DepthwiseShape& shape);

/// A row-major kernel [taps, I, O] of `groups` groups, and the same one as [taps, I * merged, O] of groups / merged
/// groups:
/// block-diagonal, with zeros where an input and an output were of different groups.
struct MergedKernel {
    std::int64_t taps = 1, inputs = 1, outputs = 1;  // inputs of one group
    std::int64_t groups = 1, merged = 1;
};
template <typename T> void merge_groups(const MergedKernel& kernel, const T* from, T* to);
/// The way back: drops what lies between the groups.
void split_groups(const MergedKernel& kernel, const float* from, float* to);

/// db[C] = sum of dy over N and pixels. Scratch: norm_scratch_floats(shape).
template <typename T> void bias_grad(const Blocks& shape, const T* dy, float* db, std::span<float> scratch);

// ---------------------------------------------------------------------------------------------------------------------
// Loss (softmax.cpp): SoftmaxAttrs in cnntrain/graph/op.h. Labels outside 0..classes-1 count nowhere.

std::int64_t softmax_scratch_floats(std::int64_t samples);

struct LossSums {
    float loss = 0;
    float correct = 0;
};
/// logits [samples, classes]. A row with a non-finite logit makes the loss NaN.
template <typename T> LossSums softmax_cross_entropy(std::int64_t samples, std::int64_t classes, const T* logits,
                                                     const std::int32_t* labels, double label_smoothing,
                                                     std::span<float> scratch);
/// dlogits = dloss * (softmax - target), 0 in rows that do not count; dlogits may be logits.
template <typename T> void softmax_cross_entropy_grad(std::int64_t samples, std::int64_t classes, const T* logits,
                                                      const std::int32_t* labels, double label_smoothing, float dloss,
                                                      T* dlogits);

/// TopKAttrs in cnntrain/graph/op.h.
template <typename T> float top_k_correct(std::int64_t samples, std::int64_t classes, const T* logits,
                                          const std::int32_t* labels, std::int64_t k);

/// The labels of a sample's partners and their weights: MixedTargetsAttrs in cnntrain/graph/op.h.
inline constexpr std::size_t kMaxPartners = 4;
struct MixedTargets {
    const std::int32_t* labels = nullptr;  // [samples]
    const float* shares = nullptr;         // [samples, distances.size()]
    std::span<const std::int64_t> distances;
    double label_smoothing = 0;
};
template <typename T> LossSums mixed_cross_entropy(std::int64_t samples, std::int64_t classes, const T* logits,
                                                   const MixedTargets& targets, std::span<float> scratch);
/// dlogits may be logits.
template <typename T> void mixed_cross_entropy_grad(std::int64_t samples, std::int64_t classes, const T* logits,
                                                    const MixedTargets& targets, float dloss, T* dlogits);

// ---------------------------------------------------------------------------------------------------------------------
// Parameter updates (update.cpp): UpdateAttrs in cnntrain/graph/update_rule.h, MovingAverageAttrs in
// cnntrain/graph/op.h.

/// How results are rounded to bfloat16. Stochastic: up with the probability of the discarded fraction, so the mean is
/// the exact value and representable values stay. The random bits are a function of these numbers, the variable and the
/// element's index in memory.
struct Rounding {
    bool stochastic = false;
    std::uint64_t seed = 0;
    std::int64_t iteration = 0;
};
/// The variables that are rounded: hash_text() of their names.
struct UpdateRounding {
    Rounding how;
    std::uint64_t target = 0;
    std::uint64_t second_slot = 0;   // the first one shares the target's
    std::int64_t first_element = 0;  // of the variable: what is updated may be a part of it
};

/// UpdateAttrs of one update: `rate` is r, times the trust of rules that have one.
struct UpdateFactors {
    float gradient_scale = 1;
    float weight_decay = 0;
    float rate = 0;
    float momentum = 0;
    float decay = 0;
    float epsilon = 0;
    float rule_weight_decay = 0;
    float mean_correction = 1;    // of a mean of gradients that started at 0
    float square_correction = 1;  // of a mean of squares
};
template <typename T> struct UpdateTensors {
    T* target = nullptr;
    const float* gradient = nullptr;
    std::array<T*, graph::kMostUpdateSlots> slots = {};
};
/// One pass over memory.
template <typename T> void update(UpdateRule rule, std::int64_t count, const UpdateTensors<T>& tensors,
                                  const UpdateFactors& factors, const UpdateRounding& rounding);

/// Rows and columns of a matrix.
struct MatrixBlock {
    std::int64_t row = 0, column = 0;  // the first ones
    std::int64_t rows = 0, columns = 0;
};
/// The same of a row-major matrix [rows,columns] in blocks of `side` rows and of some multiple of `side` columns; it
/// divides both axes.
/// after(block) runs on the thread that has just updated the block, in whose caches it is.
void update_blocks(UpdateRule rule, std::int64_t rows, std::int64_t columns, std::int64_t side,
                   const UpdateTensors<float>& tensors, const UpdateFactors& factors, const UpdateRounding& rounding,
                   const std::function<void(const MatrixBlock&)>& after);

/// The first pass of rules with a trust: sums of squares of the target and of the rule's other vector (lars: g). Equal
/// for every number of threads.
struct SquareSums {
    double target = 0;
    double other = 0;
};
template <typename T> SquareSums update_norms(UpdateRule rule, std::int64_t count, const UpdateTensors<T>& tensors,
                                              const UpdateFactors& factors, const UpdateRounding& rounding,
                                              std::span<float> scratch);
std::int64_t update_scratch_floats(UpdateRule rule, std::int64_t count);

/// A row-major matrix that is `blocks` matrices side by side, each with a trust of its own.
struct ColumnBlocks {
    std::int64_t rows = 0;
    std::int64_t columns = 0;  // of all blocks
    std::int64_t blocks = 1;   // divides the columns
};
/// As update() and update_norms(), block by block; both spans have one element for each.
template <typename T> void update_columns(UpdateRule rule, const ColumnBlocks& shape, const UpdateTensors<T>& tensors,
                                          std::span<const UpdateFactors> factors, const UpdateRounding& rounding);
template <typename T> void column_norms(UpdateRule rule, const ColumnBlocks& shape, const UpdateTensors<T>& tensors,
                                        const UpdateFactors& factors, const UpdateRounding& rounding,
                                        std::span<float> scratch, std::span<SquareSums> sums);
std::int64_t column_scratch_floats(const ColumnBlocks& shape);

/// The sum of the squares; equal for every number of threads.
double square_sum(std::int64_t count, const float* values, std::span<float> scratch);
std::int64_t square_scratch_floats(std::int64_t count);

/// m = decay * m + (1 - decay) * value_scale * value.
template <typename T> void moving_average_update(std::int64_t count, T* moving, const float* value, double decay,
                                                 double value_scale, const UpdateRounding& rounding);

}  // namespace cnntrain::cpu
