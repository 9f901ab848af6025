// The memory-bound kernels of the CPU backend: everything except convolutions and matrix products.
//
// Activations are contiguous memory [n][blocks][pixels][lanes] with channel = block * lanes + lane: plain NHWC is one
// block of C lanes, oneDNN's nChw16c is C / 16 blocks of 16 lanes. T is float or BFloat16. Arithmetic is fp32, sums
// over chunks are fp64, conversions to bfloat16 round to nearest even. Per-channel parameters are float.
//
// Every kernel uses the caller's OpenMP threads. Work is divided by shape alone and partial sums are added in a fixed
// order, so that results do not depend on the number of threads. Kernels do not allocate memory: those that need some
// take `scratch`, and a function next to them gives its size in floats. An output may be the same array as an input
// only where the comment says so; partial overlap is never allowed. C: channels, N: samples, G: groups.
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

/// Disables AVX-512 for all kernels of this process, whatever the processor supports.
void disable_avx512();

struct Blocks {
    std::int64_t n = 0, blocks = 0, pixels = 0, lanes = 0;
    std::int64_t apart = 0;  // blocks from one sample to the next, if these are some of the channels; 0: all channels

    std::int64_t channels() const { return blocks * lanes; }
    /// The channels of the whole tensor.
    std::int64_t all_channels() const { return std::max(apart, blocks) * lanes; }
    std::int64_t rows() const { return n * blocks * pixels; }  // rows of `lanes` contiguous elements
    std::int64_t elements() const { return rows() * lanes; }
    /// Elements of memory from the start of a sample to the start of the next.
    std::int64_t sample_elements() const { return std::max(apart, blocks) * pixels * lanes; }
    /// Are all rows adjacent, with the same channels?
    bool is_one_slab() const { return std::max(apart, blocks) == 1; }
    std::int64_t offset(std::int64_t sample, std::int64_t block, std::int64_t pixel) const {
        return sample * sample_elements() + (block * pixels + pixel) * lanes;
    }
    bool operator==(const Blocks&) const = default;
};

using graph::Activation;
using graph::UpdateRule;

/// all / parts, rounded up.
constexpr std::int64_t ceil_div(std::int64_t all, std::int64_t parts) {
    return (all + parts - 1) / parts;
}

// ---------------------------------------------------------------------------------------------------------------------
// Normalisation, complete operations (norm.cpp). Formulas: NormAttrs in cnntrain/graph/op.h. All variances are biased.

/// Scratch for any of the calls below; groups = 0 means batch norm.
std::int64_t norm_scratch_floats(const Blocks& shape, std::int64_t groups = 0);

/// Statistics of x over parts of each sample's pixels, which the kernel that computed x has summed: [parts,N,3,C]
/// floats, a pivot close to x, the sum of x - pivot and the sum of its square.
struct PartStatistics {
    const float* values = nullptr;         // null: there are none
    std::span<const std::int64_t> pixels;  // of each part
};

template <typename T> struct NormForward {
    const T* x = nullptr;
    const float* gamma = nullptr;  // [C]
    const float* beta = nullptr;   // [C]
    const T* residual = nullptr;   // shape of x, added before the activation; optional
    float* mean = nullptr;         // [C], for group norm [N,G]
    float* variance = nullptr;     // same shape as mean
    T* y = nullptr;                // may be x or residual
    float* sums = nullptr;         // as in NormApply; optional
    PartStatistics parts = {};     // of x; optional
    double epsilon = 1e-5;
    Activation activation = Activation::none;
};
/// Computes the statistics of x into mean and variance, then y.
template <typename T>
void batch_norm_forward(const Blocks& shape, const NormForward<T>& args, std::span<float> scratch);
/// Reads mean and variance; groups = 0: the mean and variance of batch norm.
template <typename T>
void norm_inference(const Blocks& shape, std::int64_t groups, const NormForward<T>& args, std::span<float> scratch);
template <typename T>
void group_norm_forward(const Blocks& shape, std::int64_t groups, const NormForward<T>& args, std::span<float> scratch);

/// Adds up the sums of all ranks whose micro-batches share statistics.
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
    const T* gate = nullptr;          // as in MaskedGradient, like the next one; optional
    const T* spread = nullptr;        // optional
    const T* y = nullptr;             // if given, the slope is computed from y where possible; otherwise from x
    const float* gamma = nullptr;     // [C]
    const float* beta = nullptr;      // [C]; read only if the slope is computed from x
    const float* mean = nullptr;      // as written by the forward kernel
    const float* variance = nullptr;  // as written by the forward kernel
    T* dx = nullptr;                  // may be x, dy, dy2 or y, but not dresidual
    T* dresidual = nullptr;           // (dy + dy2) times the slope; optional; may be dy, dy2 or y
    float* dgamma = nullptr;          // [C], of this rank's micro-batch only
    float* dbeta = nullptr;           // [C], of this rank's micro-batch only
    double epsilon = 1e-5;
    Activation activation = Activation::none;
    bool given_statistics = false;        // batch norm: mean and variance do not depend on x
    SumsOverRanks* over_ranks = nullptr;  // batch norm: set if statistics span several ranks' micro-batches
};
template <typename T>
void batch_norm_gradient(const Blocks& shape, const NormGradient<T>& args, std::span<float> scratch);
template <typename T> void group_norm_gradient(const Blocks& shape, std::int64_t groups, const NormGradient<T>& args,
                                               std::span<float> scratch);

// ---------------------------------------------------------------------------------------------------------------------
// Normalisation, individual sweeps over memory (reduce.cpp, apply.cpp). Scratch: norm_scratch_floats.

/// mean[C], variance[C] over N and pixels: from `parts` if there are any, else in one sweep over x.
template <typename T> void channel_statistics(const Blocks& shape, const T* x, const PartStatistics& parts, float* mean,
                                              float* variance, std::span<float> scratch);
/// mean[N,G], variance[N,G] over pixels and the group's contiguous channels, likewise.
template <typename T> void group_statistics(const Blocks& shape, std::int64_t groups, const T* x,
                                            const PartStatistics& parts, float* mean, float* variance,
                                            std::span<float> scratch);

/// Arguments of norm_apply(). Coefficients are per channel: [C], or [N,C] if `per_sample`.
template <typename T> struct NormApply {
    const T* x = nullptr;
    const T* residual = nullptr;  // optional
    const float* scale = nullptr;
    const float* shift = nullptr;
    T* y = nullptr;         // may be x or residual
    float* sums = nullptr;  // of y over the pixels: [parts,N,C] with norm_sum_parts(); optional
    bool per_sample = false;
    Activation activation = Activation::none;
};
/// Number of parts into which the pixels of each sample are divided; depends on the shape alone.
std::int64_t norm_sum_parts(const Blocks& shape);
/// y = activation(x * scale + shift + residual).
template <typename T> void norm_apply(const Blocks& shape, const NormApply<T>& args);

/// dy' = (dy * gate + spread / pixels + dy2) * slope of the activation; input of both sweeps of the gradient.
template <typename T> struct MaskedGradient {
    const T* x = nullptr;
    const T* dy = nullptr;
    const T* dy2 = nullptr;     // optional
    const T* gate = nullptr;    // [N,C]; optional
    const T* spread = nullptr;  // [N,C]; optional
    const T* y = nullptr;       // optional: the slope is computed from it
    const float* scale = nullptr;
    const float* shift =
        nullptr;  // without y: the slope is taken at x * scale + shift, both [C], or [N,C] if per_sample
    Activation activation = Activation::none;
    bool per_sample = false;
};
/// sum_dy[C] = sum of dy', sum_dy_x[C] = sum of dy' * (x - mean), over N and pixels. With per_sample, all are [N,C]
/// (including `mean`), summed over pixels only. Writes dy' to `dresidual` unless that is null; it may be dy, dy2 or y.
template <typename T> void norm_gradient_sums(const Blocks& shape, const MaskedGradient<T>& args, const float* mean,
                                              float* sum_dy, float* sum_dy_x, T* dresidual, std::span<float> scratch);
/// dx = a * dy' + b * x + c with coefficients [C], or [N,C] if per_sample; dx may be any of the inputs.
template <typename T> void norm_gradient_apply(const Blocks& shape, const MaskedGradient<T>& args, const float* a,
                                               const float* b, const float* c, T* dx);

// ---------------------------------------------------------------------------------------------------------------------
// Proxy norm (proxy_norm.cpp): StandardiseAttrs and ProxyNormAttrs in cnntrain/graph/op.h.

/// Scratch for either of the two functions below.
std::int64_t standardise_scratch_floats(const Blocks& shape);
/// y = (x - mean) * scale; mean and scale may be null; y may be x.
template <typename T> void standardise(const Blocks& shape, const T* x, const float* mean, const float* scale, T* y,
                                       std::span<float> scratch);
/// dx = dy * scale, dmean[C] = -sum of dx, dscale[C] = sum of dy * y / scale, over N and pixels. dx may be y or dy;
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

/// A proxy [6][channels] and the samples that represent a normal distribution.
template <typename T> struct Proxy {
    std::int64_t channels = 0;
    T* rows = nullptr;
    std::span<const float> quantiles;  // at most kMostQuantiles
    Activation activation = Activation::swish;
    float epsilon = 0;
};
inline constexpr std::size_t kMostQuantiles = 200;
/// Overwrites the rows of the mean and of the inverse deviation, rounded to nearest.
template <typename T> void proxy_norm_statistics(const Proxy<T>& proxy);
/// `gradient` and `result` are [6][channels] and may be the same array.
template <typename T>
void proxy_norm_gradient(const Proxy<const T>& proxy, float weight_decay, const float* gradient, float* result);

// ---------------------------------------------------------------------------------------------------------------------
// Elementwise (elementwise.cpp). An output may be any input of the same type.

template <typename T> void add(std::int64_t count, const T* a, const T* b, T* y);
template <typename T> void activate(std::int64_t count, Activation activation, const T* x, T* y);
/// dx = dy * slope; `at` is y if slope_follows_from_result(), otherwise x.
template <typename T> void activation_grad(std::int64_t count, Activation activation, const T* at, const T* dy, T* dx);
void cast(std::int64_t count, const float* x, BFloat16* y);
void cast(std::int64_t count, const BFloat16* x, float* y);
void clear(std::int64_t count, float* y);
/// y[i] = x[0][i] + x[1][i] + ... in this order; x[parts][count].
void sum_parts(std::int64_t parts, std::int64_t count, const float* x, float* y);
/// The same times a factor, summed in fp64.
template <typename T>
void scaled_sum_of_parts(std::int64_t parts, std::int64_t count, const float* x, float factor, T* y);
/// sum += x.
template <typename T> void accumulate(std::int64_t count, const T* x, float* sum);
/// A tensor of `runs` consecutive runs, and a part of it that has a slice of each run. All sizes are bytes per run.
struct PartShape {
    std::int64_t runs = 0;
    std::int64_t before = 0;
    std::int64_t part = 0;
    std::int64_t whole = 0;
};
/// Elements of the whole outside the part become zero.
void place_part(const PartShape& shape, const std::byte* part, std::byte* whole);

/// A matrix in the layout of a right operand of a fast product: panels of adjacent columns, one after the other, each
/// with its rows in order. bfloat16 rows are stored in pairs, with the two elements of a column adjacent. The last
/// panel and the last rows are padded with zeros.
struct Panels {
    std::int64_t rows = 0, columns = 0;  // of the matrix
    std::int64_t panel_rows = 0;         // including rows of zeros; a multiple of 16
    std::int64_t panel_columns = 0;      // a multiple of 16

    std::int64_t count() const { return ceil_div(columns, panel_columns); }
    std::int64_t columns_of(std::int64_t panel) const {
        return std::min(panel_columns, columns - panel * panel_columns);
    }
};
/// Copies a row-major matrix to panels: float to float or BFloat16, or BFloat16 to BFloat16.
template <typename From, typename To> void copy_to_panels(const Panels& shape, const From* from, To* to);
/// The same, and the sums of the columns, which do not depend on the number of threads.
void copy_to_panels_and_sum(const Panels& shape, const BFloat16* from, BFloat16* to, float* sums,
                            std::span<float> scratch);
std::int64_t panel_sums_scratch_floats(const Panels& shape);

/// y = x / scale + zero, rounded to nearest, limited to 0..255; `inverse`: 1 / scale.
template <typename T> void quantise(std::int64_t count, const T* x, float inverse, std::int32_t zero, std::uint8_t* y);
/// y = scale * (x - zero).
template <typename T> void dequantise(std::int64_t count, const std::uint8_t* x, float scale, std::int32_t zero, T* y);

/// numbers = w[rows,columns] / scale, rounded, and the scales of the columns: see OpKind::quantise_weight. The scale of
/// a column with a weight that is not finite is NaN.
template <typename T>
void quantise_weight(std::int64_t rows, std::int64_t columns, const T* w, std::int8_t* numbers, float* scales);
/// The sums of columns of numbers [rows,columns].
void sum_columns(std::int64_t rows, std::int64_t columns, const std::int8_t* numbers, std::int32_t* sums);

/// Row-major rows.
struct RowsInBytes {
    std::int64_t count = 0, features = 0;
};
/// y = the numbers of activation(x); bits[count,2]: scale and zero of each row. `scratch`: `features` for each thread.
template <typename T> void quantise_rows(const RowsInBytes& rows, Activation activation, const T* x, std::uint8_t* y,
                                         float* bits, std::span<float> scratch);
/// The values of sums of products of rows of numbers and a weight w[I,O] of numbers:
/// scale * (scales[o] * sum - zero * sums[o]) + bias[o], with the scale and the zero of the row.
struct Rescaling {
    const float* bits = nullptr;    // [rows,2]: scale and zero
    const float* scales = nullptr;  // [O], of the weight's numbers
    const float* sums = nullptr;    // [O], of the weight's values
    const float* bias = nullptr;    // [O]; null: none
};
template <typename T> void rescale_rows(const RowsInBytes& rows, const std::int32_t* sums, const Rescaling& how, T* y);

/// The lowest index of a NaN or infinity, or -1.
std::int64_t first_non_finite(std::span<const float> values);
std::int64_t first_non_finite(std::span<const BFloat16> values);

// ---------------------------------------------------------------------------------------------------------------------
// Images, pooling, shortcuts (spatial.cpp); biases (apply.cpp, reduce.cpp)

inline constexpr std::int64_t kMaxImageChannels = 16;
/// y = x * scale[c] + shift[c] over NHWC memory; In: std::uint8_t, float, BFloat16; channels <= kMaxImageChannels.
template <typename In, typename Out> void normalise_image(std::int64_t pixels, std::int64_t channels, const In* x,
                                                          const float* scale, const float* shift, Out* y);

/// mix_images (MixImagesAttrs in cnntrain/graph/op.h) over NHWC memory. Every image is read at most twice and written
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
/// dx = dy[N,C] / pixels at every pixel.
template <typename T> void global_average_pool_grad(const Blocks& shape, const T* dy, T* dx);

/// y = x * gate[N,C]; y may be x.
template <typename T> void scale_channels(const Blocks& shape, const T* x, const T* gate, T* y);
/// dx = dy * gate, dgate[N,C] = sum of dy * x over the pixels; dx may be x or dy, or null: not wanted.
template <typename T> void scale_channels_grad(const Blocks& shape, const T* x, const T* gate, const T* dy, T* dx,
                                               T* dgate, std::span<float> scratch);
/// Scratch for scale_channels_grad.
std::int64_t scale_channels_scratch_floats(const Blocks& shape);

/// RandomScaleAttrs in cnntrain/graph/op.h; y may be x.
struct RandomScale {
    std::uint64_t seed = 0;
    std::uint64_t site = 0;
    std::int64_t first_sample = 0;
    std::uint32_t last_kept = 0;
    float factor = 1;  // for kept elements
    bool per_sample = false;
};
template <typename T> void random_scale(const Blocks& shape, const RandomScale& scale, const T* x, T* y);

/// Images with a size; pixels = height * width.
struct Picture {
    Blocks shape;
    std::int64_t height = 0, width = 0;
};
/// y gets every stride-th pixel of x; additional channels are zero. x and y have the same layout: both one block, or
/// both blocks with the same number of lanes. y has ceil(height / stride) x ceil(width / stride) pixels.
template <typename T>
void shortcut_pad(const Picture& x_picture, const Picture& y_picture, std::int64_t stride, const T* x, T* y);
/// The transpose: dx is zero for pixels that were not copied; additional channels of dy are dropped.
template <typename T>
void shortcut_pad_grad(const Picture& dx_picture, const Picture& dy_picture, std::int64_t stride, const T* dy, T* dx);

/// A depthwise convolution: y[oh, ow, c] = sum of w[kh, kw, c] * x[oh * stride - top + kh, ow * stride - left + kw, c].
struct DepthwiseShape {
    Picture x, y;  // in the same layout
    std::int64_t kernel = 1, stride = 1, top = 0, left = 0;
};
/// dw[K,K,C] = sum of x * dy.
template <typename T>
void depthwise_weight_grad(const DepthwiseShape& shape, const T* x, const T* dy, float* dw, std::span<float> scratch);
std::int64_t depthwise_scratch_floats(const DepthwiseShape& shape);

/// Converts a row-major kernel [taps, I, O] of `groups` groups to an equivalent kernel [taps, I * merged, O] of groups
/// / merged groups. It is block-diagonal, with zeros between inputs and outputs of different original groups.
struct MergedKernel {
    std::int64_t taps = 1, inputs = 1, outputs = 1;  // of one group
    std::int64_t groups = 1, merged = 1;
};
template <typename T> void merge_groups(const MergedKernel& kernel, const T* from, T* to);
/// The inverse: drops the elements between groups.
void split_groups(const MergedKernel& kernel, const float* from, float* to);

/// db[C] = sum of dy over N and pixels. Scratch: norm_scratch_floats(shape).
template <typename T> void bias_grad(const Blocks& shape, const T* dy, float* db, std::span<float> scratch);

// ---------------------------------------------------------------------------------------------------------------------
// Loss (softmax.cpp): SoftmaxAttrs in cnntrain/graph/op.h. Samples with a label outside 0..classes-1 do not count.

std::int64_t softmax_scratch_floats(std::int64_t samples);

struct LossSums {
    float loss = 0;
    float correct = 0;
};
/// logits [samples, classes]. A row with a non-finite logit makes the loss NaN.
template <typename T> LossSums softmax_cross_entropy(std::int64_t samples, std::int64_t classes, const T* logits,
                                                     const std::int32_t* labels, double label_smoothing,
                                                     std::span<float> scratch);
/// dlogits = dloss * (softmax - target), and 0 in rows that do not count; dlogits may be logits.
template <typename T> void softmax_cross_entropy_grad(std::int64_t samples, std::int64_t classes, const T* logits,
                                                      const std::int32_t* labels, double label_smoothing, float dloss,
                                                      T* dlogits);

/// TopKAttrs in cnntrain/graph/op.h.
template <typename T> float top_k_correct(std::int64_t samples, std::int64_t classes, const T* logits,
                                          const std::int32_t* labels, std::int64_t k);

/// Labels and weights of each sample's partners: MixedTargetsAttrs in cnntrain/graph/op.h.
inline constexpr std::size_t kMaxPartners = 4;
struct MixedTargets {
    const std::int32_t* labels = nullptr;  // [samples]
    const float* shares = nullptr;         // [samples, distances.size()]; of weighted losses also null: 1
    std::span<const std::int64_t> distances;
    double label_smoothing = 0;
};
template <typename T> LossSums mixed_cross_entropy(std::int64_t samples, std::int64_t classes, const T* logits,
                                                   const MixedTargets& targets, std::span<float> scratch);
/// dlogits may be logits.
template <typename T> void mixed_cross_entropy_grad(std::int64_t samples, std::int64_t classes, const T* logits,
                                                    const MixedTargets& targets, float dloss, T* dlogits);

/// DistillationAttrs: the sum over samples. A row with a non-finite logit, of either network, makes it NaN.
template <typename T> float distillation(std::int64_t samples, std::int64_t classes, const T* logits,
                                         const std::int32_t* labels, const float* teacher, double temperature,
                                         std::span<float> scratch);
/// dlogits may be logits.
template <typename T> void distillation_grad(std::int64_t samples, std::int64_t classes, const T* logits,
                                             const std::int32_t* labels, const float* teacher, double temperature,
                                             float dloss, T* dlogits);

/// The same with weights of the classes (weighted_loss.cpp), also for samples that are not mixed: distances {0}.
template <typename T> LossSums weighted_cross_entropy(std::int64_t samples, std::int64_t classes, const T* logits,
                                                      const MixedTargets& targets,
                                                      std::span<const double> class_weights, std::span<float> scratch);
/// dlogits may be logits.
template <typename T> void weighted_cross_entropy_grad(std::int64_t samples, std::int64_t classes, const T* logits,
                                                       const MixedTargets& targets,
                                                       std::span<const double> class_weights, float dloss, T* dlogits);

/// SigmoidAttrs in cnntrain/graph/op.h.
struct LabelWeights {
    std::span<const double> positive;  // [classes]; empty: all 1
    double focus = 0;
};
/// labels [samples, classes]. A non-finite logit of a label that counts makes the loss NaN.
template <typename T> LossSums sigmoid_cross_entropy(std::int64_t samples, std::int64_t classes, const T* logits,
                                                     const std::int32_t* labels, const LabelWeights& weights,
                                                     std::span<float> scratch);
/// dlogits may be logits.
template <typename T> void sigmoid_cross_entropy_grad(std::int64_t samples, std::int64_t classes, const T* logits,
                                                      const std::int32_t* labels, const LabelWeights& weights,
                                                      float dloss, T* dlogits);

// ---------------------------------------------------------------------------------------------------------------------
// Parameter updates (update.cpp): UpdateAttrs in cnntrain/graph/update_rule.h, MovingAverageAttrs in
// cnntrain/graph/op.h.

/// Rounding of results to bfloat16. Stochastic: rounds up with a probability equal to the discarded fraction, so that
/// the expected value is exact and representable values are unchanged. The random bits depend only on these numbers,
/// the variable and the element's index in memory.
struct Rounding {
    bool stochastic = false;
    std::uint64_t seed = 0;
    std::int64_t iteration = 0;
};
/// Identifies the variables to be rounded, by hash_text() of their names.
struct UpdateRounding {
    Rounding how;
    std::uint64_t target = 0;
    std::uint64_t second_slot = 0;   // the first slot shares the target's random words
    std::int64_t first_element = 0;  // index in the variable: an update may process only a part of it
};

/// The factors of one update (UpdateAttrs). `rate` is r, times the trust ratio for rules that have one.
struct UpdateFactors {
    float gradient_scale = 1;
    float weight_decay = 0;
    float rate = 0;
    float momentum = 0;
    float decay = 0;
    float epsilon = 0;
    float rule_weight_decay = 0;
    float mean_correction = 1;    // for a mean of gradients that started at 0
    float square_correction = 1;  // for a mean of squares that started at 0
};
template <typename T> struct UpdateTensors {
    T* target = nullptr;
    const float* gradient = nullptr;
    std::array<T*, graph::kMostUpdateSlots> slots = {};
};
/// Applies an update rule in one sweep over memory.
template <typename T> void update(UpdateRule rule, std::int64_t count, const UpdateTensors<T>& tensors,
                                  const UpdateFactors& factors, const UpdateRounding& rounding);

/// A block of rows and columns of a matrix.
struct MatrixBlock {
    std::int64_t row = 0, column = 0;  // the first row and column
    std::int64_t rows = 0, columns = 0;
};
/// Updates a row-major matrix [rows,columns] in blocks of `side` rows and a multiple of `side` columns; `side` must
/// divide both dimensions. Calls after(block) on the thread that has just updated the block, while it is in that core's
/// caches.
void update_blocks(UpdateRule rule, std::int64_t rows, std::int64_t columns, std::int64_t side,
                   const UpdateTensors<float>& tensors, const UpdateFactors& factors, const UpdateRounding& rounding,
                   const std::function<void(const MatrixBlock&)>& after);

/// The first sweep of rules with a trust ratio: sums of squares of the target and of the second vector (lars: g).
/// Independent of the number of threads.
struct SquareSums {
    double target = 0;
    double other = 0;
};
template <typename T> SquareSums update_norms(UpdateRule rule, std::int64_t count, const UpdateTensors<T>& tensors,
                                              const UpdateFactors& factors, const UpdateRounding& rounding,
                                              std::span<float> scratch);
std::int64_t update_scratch_floats(UpdateRule rule, std::int64_t count);

/// A row-major matrix of `blocks` matrices side by side, each with its own trust ratio.
struct ColumnBlocks {
    std::int64_t rows = 0;
    std::int64_t columns = 0;  // of all blocks together
    std::int64_t blocks = 1;   // must divide the number of columns
};
/// Like update() and update_norms(), for each block; both spans have one element per block.
template <typename T> void update_columns(UpdateRule rule, const ColumnBlocks& shape, const UpdateTensors<T>& tensors,
                                          std::span<const UpdateFactors> factors, const UpdateRounding& rounding);
template <typename T> void column_norms(UpdateRule rule, const ColumnBlocks& shape, const UpdateTensors<T>& tensors,
                                        const UpdateFactors& factors, const UpdateRounding& rounding,
                                        std::span<float> scratch, std::span<SquareSums> sums);
std::int64_t column_scratch_floats(const ColumnBlocks& shape);

/// Sum of squares; independent of the number of threads.
double square_sum(std::int64_t count, const float* values, std::span<float> scratch);
std::int64_t square_scratch_floats(std::int64_t count);

/// m = decay * m + (1 - decay) * value_scale * value.
template <typename T> void moving_average_update(std::int64_t count, T* moving, const float* value, double decay,
                                                 double value_scale, const UpdateRounding& rounding);

}  // namespace cnntrain::cpu
