// Operations: their kinds, attributes and the table that says how each behaves.
//
// The graph is given the operations it may use (OpTable), so it never depends on the module that
// defines them. Axis letters: base/tensor.h. Everything that a backend needs to know about a node is in
// its kind, attributes, and value descriptors.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "cnntrain/base/tensor.h"
#include "cnntrain/graph/activation.h"
#include "cnntrain/graph/update_rule.h"

namespace cnntrain::graph {

enum class OpKind : std::uint8_t {
    constant,
    scale,
    cast,
    add,
    activation,
    activation_grad,
    random_scale,
    scale_channels,
    scale_channels_grad,
    normalise_image,
    conv2d,
    conv2d_input_grad,
    conv2d_weight_grad,
    max_pool,
    max_pool_grad,
    global_average_pool,
    global_average_pool_grad,
    shortcut_pad,
    shortcut_pad_grad,
    reshape,
    transpose,
    slice,
    slice_grad,
    batched_matmul,
    dense,
    dense_input_grad,
    dense_weight_grad,
    bias_grad,
    embedding,
    embedding_grad,
    gather_rows,
    gather_rows_grad,
    layer_norm,
    layer_norm_grad,
    attention_mask,
    attention,
    attention_grad,
    batch_norm,
    batch_norm_inference,
    batch_norm_grad,
    group_norm,
    group_norm_inference,
    group_norm_grad,
    standardise,
    standardise_grad,
    proxy_norm_rows,
    proxy_norm_rows_grad,
    proxy_norm_gradient,
    proxy_norm_statistics,
    fold_norm_weight,
    fold_norm_bias,
    quantise,
    dequantise,
    quantise_rows,
    quantise_weight,
    quantised_conv2d,
    quantised_dense,
    softmax_cross_entropy,
    softmax_cross_entropy_grad,
    top_k_correct,
    token_cross_entropy,
    token_cross_entropy_grad,
    mix_images,
    mixed_cross_entropy,
    mixed_cross_entropy_grad,
    distillation,
    distillation_grad,
    sigmoid_cross_entropy,
    sigmoid_cross_entropy_grad,
    update,
    scaled_update,
    gradient_factor,
    moving_average_update,
    round_copy,
    count_,  // number of kinds, not a kind; NOLINT(readability-identifier-naming)
};
inline constexpr std::size_t kOpKindCount = static_cast<std::size_t>(OpKind::count_);

struct NoAttrs {
    bool operator==(const NoAttrs&) const = default;
};

struct ConstantAttrs {
    double value = 0;
    TensorDesc desc;
    bool operator==(const ConstantAttrs&) const = default;
};

/// scale: x f32[] -> factor * x.
struct ScaleAttrs {
    double factor = 1;
    bool operator==(const ScaleAttrs&) const = default;
};

struct CastAttrs {
    DType type = DType::f32;
    bool operator==(const CastAttrs&) const = default;
};

/// y[..., c] = x[..., c] * scale[c] + shift[c], converted to `type`.
struct NormaliseImageAttrs {
    std::vector<double> scale;
    std::vector<double> shift;
    DType type = DType::f32;
    bool operator==(const NormaliseImageAttrs&) const = default;
};

struct Padding {
    std::int64_t top = 0, bottom = 0, left = 0, right = 0;
    bool operator==(const Padding&) const = default;
};

/// TensorFlow's SAME rule: out = ceil(in / stride), the odd pixel goes below and to the right.
Padding same_padding(std::int64_t height, std::int64_t width, std::int64_t kernel, std::int64_t stride);
/// PyTorch's usual rule for an odd kernel: (kernel - 1) / 2 pixels on every side. The size is that of SAME; pixels
/// below and to the right that no window reads are left out.
Padding symmetric_padding(std::int64_t height, std::int64_t width, std::int64_t kernel, std::int64_t stride);

/// Types, for every op: activations and their gradients share one floating type; statistics are f32; gamma, beta and
/// bias are f32 or the activations' type; gradients of weights, gamma, beta and bias are f32.
///
/// add: two equal descriptors -> the same. scale_channels: x[N,H,W,C], gate[N,C] -> x * gate.
/// scale_channels_grad: x, gate, dy -> dx, dgate (in gate's type; summed over H, W in f32).
///
/// activation: x -> y = f(x), any shape. activation_grad: y or x (see slope_follows_from_result()), dy -> dx.
struct ActivationAttrs {
    Activation activation = Activation::relu;
    bool operator==(const ActivationAttrs&) const = default;
};

/// conv2d: x[N,H,W,I*G], w[K,L,I,O] (, bias[O]) (, residual like y) -> y = activation(conv + bias + residual), with
/// windows of K rows and L columns. conv2d_input_grad: dy, w -> dx. conv2d_weight_grad: x, dy -> dw. The gradients are
/// those of the plain convolution; residual and activation are for inference only.
struct ConvAttrs {
    std::int64_t stride = 1;
    Padding padding;
    std::int64_t groups = 1;
    bool bias = false;
    bool residual = false;
    Activation activation = Activation::none;
    Shape result_shape;              // of the gradient ops: shape of dx or dw
    DType result_type = DType::f32;  // of conv2d_weight_grad
    bool operator==(const ConvAttrs&) const = default;
};

/// Numbers in 8 bits: the value of a number q from 0 to 255 is scale * (q - zero).
struct EightBits {
    double scale = 1;
    std::int64_t zero = 0;  // 0..255
    bool operator==(const EightBits&) const = default;
};

/// quantise: x of a floating type -> u8 like x: x / scale + zero, rounded to nearest (ties to even), limited to 0..255.
/// dequantise: u8 -> the values, in `type`.
struct QuantiseAttrs {
    EightBits bits;
    DType type = DType::f32;  // of dequantise
    bool operator==(const QuantiseAttrs&) const = default;
};

/// quantise_rows (ActivationAttrs): x[...,I] of a floating type -> u8 like x, bits f32[R,2]: the numbers of
/// activation(x), and the scale and zero of each of its R rows, with which 0 and the extremes of the row have numbers
/// from 0 to 255. A row of zeros has the scale 1, a row with a value that is not finite the scale NaN.
/// quantise_weight (no attributes): w[K,L,I,O] or w[I,O] -> i8 like w, scales f32[O]: w / scale, rounded to nearest,
/// where the largest |w| of each output has 127; the scale of an output whose weights are all 0 is 1.
/// quantised_conv2d: x u8[N,H,W,I*G], w i8[K,L,I,O], scales f32[O], bias f32[O] (, residual u8 like y) -> y: conv2d of
/// the values, in `type`: u8 with the bits of `y`, or a floating type. Inference only.
struct QuantisedConvAttrs {
    ConvAttrs conv;
    EightBits x, residual, y;
    DType type = DType::u8;
    bool operator==(const QuantisedConvAttrs&) const = default;
};

/// max_pool: x, also u8, -> y; padding never wins. max_pool_grad: x, dy -> dx; ties go to the first in row-major order.
struct PoolAttrs {
    std::int64_t kernel = 1;
    std::int64_t stride = 1;
    Padding padding;
    bool operator==(const PoolAttrs&) const = default;
};

/// Descriptor of a result that the inputs do not determine.
/// global_average_pool (no attributes): x[N,H,W,C] -> y[N,C]. global_average_pool_grad: dy -> dx, described by `desc`.
struct ResultAttrs {
    TensorDesc desc;
    bool operator==(const ResultAttrs&) const = default;
};

/// Shortcut type A (He et al. 2015): every stride-th pixel from 0, channels zero-padded at the end.
struct ShortcutPadAttrs {
    std::int64_t stride = 1;
    std::int64_t channels = 0;  // of the result (gradient: of dx)
    Shape input_shape;          // of the gradient op: shape of dx
    bool operator==(const ShortcutPadAttrs&) const = default;
};

/// random_scale: x[N,...] -> y = x / keep * floor(keep + u), with one u in [0, 1) per element (dropout), or per sample
/// (drop-connect: `per_sample`). Its gradient is the op itself on dy: nothing is stored. An element is kept when its
/// random_word <= last_word_within(keep) (base/rng.h); the word's key is word_key of seed, `site` and the sample's
/// number in the stream, its index the row-major index of the element within its sample (`per_sample`: 0). So the
/// dropped elements do not depend on the backend, the threads, the micro-batch, the ranks, or other ops in the graph.
/// Training only.
struct RandomScaleAttrs {
    double keep = 1;  // probability, in (0, 1]
    bool per_sample = false;
    std::uint64_t site = 0;  // hash_text() of the place's name in the network
    bool operator==(const RandomScaleAttrs&) const = default;
};

/// batch_norm: x, gamma[C], beta[C] (, residual like x) -> y, mean f32[C], variance f32[C] (biased, over N,H,W).
/// batch_norm_inference: x, gamma, beta, moving_mean, moving_variance (, residual) -> y.
/// group_norm: as batch_norm with mean, variance f32[N,G] over H, W and the group's (contiguous) channels.
/// group_norm_inference: x, gamma, beta, mean f32[N,G], variance f32[N,G] (, residual) -> y. Without gradient: backward
/// computes group_norm's y again with it.
/// y = activation(gamma * (x - mean) / sqrt(variance + epsilon) + beta + residual).
/// *_grad: x, gamma, beta, mean, variance, dy (, y if activation and residual) -> dx, dgamma f32[C], dbeta f32[C]
/// (, dresidual). Without a residual the activation's slope is recomputed from x; with one it is taken from y (so only
/// activations for which slope_follows_from_result() have a gradient then).
/// With `summed_gradient` the gradient takes a second dy directly after the first: the true dy is their sum.
struct NormAttrs {
    double epsilon = 1e-5;
    std::int64_t groups = 0;  // group norms only
    Activation activation = Activation::none;
    bool residual = false;
    bool summed_gradient = false;
    bool given_statistics = false;  // batch_norm_grad: mean and variance do not depend on x
    bool operator==(const NormAttrs&) const = default;
};

/// standardise: x[N,H,W,C] or x[N,C] (, mean f32[C]) (, scale f32[C]) -> y = (x - mean) * scale, like x; mean, scale or
/// both.
/// standardise_grad: with scale: y, scale, dy -> dx (, dmean f32[C]), dscale f32[C], where scale is nowhere 0; with a
/// mean alone: dy -> dmean f32[C], and dx is dy itself. dscale follows from y, so y may be written over x; norms and
/// scale_channels have scales that may become 0.
struct StandardiseAttrs {
    bool mean = true;
    bool scale = true;
    bool operator==(const StandardiseAttrs&) const = default;
};

/// Proxy norm (Labatie et al. 2021). A proxy [6,1,1,C] holds for each channel, in the rows of proxy_row: beta, gamma,
/// the mean and the inverse deviation of its proxy sample, beta', gamma'. The proxy sample is the activation of a
/// normally distributed input: p_i = activation(gamma * ((1 + gamma') * z_i + beta') + beta), z_i =
/// normal_quantiles(kProxySamples)[i] (base/rng.h); inverse deviation = 1 / sqrt(variance + epsilon), the variance
/// biased.
/// proxy_norm_rows: proxy -> beta, gamma, mean, inverse deviation, each f32[C].
/// proxy_norm_rows_grad: the gradients f32[C] of the rows that `rows` lists -> f32[6,1,1,C]; the other rows are 0.
/// proxy_norm_gradient: proxy, gradient f32[6,1,1,C], loss_scaling f32[] -> the same with the gradients of mean and
/// inverse deviation carried through the proxy sample to the other four rows, and 0 in their own; weight_decay *
/// loss_scaling * value is added to the rows beta' and gamma'. An update node, but it overwrites nothing.
/// proxy_norm_statistics: proxy, whose rows mean and inverse deviation it overwrites with those of the other four.
namespace proxy_row {
enum Row : std::uint8_t { beta, gamma, mean, inverse_deviation, proxy_beta, proxy_gamma };
}
inline constexpr std::int64_t kProxyRows = proxy_row::proxy_gamma + 1;
inline constexpr std::int64_t kProxySamples = 200;
struct ProxyNormAttrs {
    Activation activation = Activation::swish;
    double epsilon = 0.03;
    double weight_decay = 0;         // of proxy_norm_gradient, in the scale of its gradient without loss scaling
    std::vector<std::int64_t> rows;  // of proxy_norm_rows_grad, ascending
    bool operator==(const ProxyNormAttrs&) const = default;
};

/// Views of any type, rank and layout: the elements stay the same. reshape: x -> y[shape], in row-major order.
struct ReshapeAttrs {
    Shape shape;
    bool operator==(const ReshapeAttrs&) const = default;
};

/// transpose: x -> y, whose axis i is axis axes[i] of x.
struct TransposeAttrs {
    std::vector<std::int64_t> axes;
    bool operator==(const TransposeAttrs&) const = default;
};

/// slice: x -> the elements begin to end - 1 along an axis. slice_grad: dy -> dx, zero outside of that range.
struct SliceAttrs {
    std::int64_t axis = 0;
    std::int64_t begin = 0;
    std::int64_t end = 0;
    std::int64_t extent = 0;  // of slice_grad: of dx along the axis
    bool operator==(const SliceAttrs&) const = default;
};

/// batched_matmul: a[...,M,K], b[...,K,N] -> y[...,M,N], one matrix product for every index of the leading axes, which
/// a and b share. A transposed operand is given as a[...,K,M], b[...,N,K].
struct MatmulAttrs {
    bool transpose_a = false;
    bool transpose_b = false;
    bool operator==(const MatmulAttrs&) const = default;
};

/// dense: x[...,I], w[I,O] (, bias[O]) -> y[...,O]. dense_input_grad: dy, w -> dx. dense_weight_grad: x, dy -> dw,
/// summed over all rows. A w[1,1,I,O] is taken as w[I,O]: a 1x1 convolution of a 1x1 image (squeeze-excite). With
/// `transposed` the weight and its gradient are [O,I]: an embedding table that is tied to the last layer's weights.
/// bias_grad: dy -> db f32[last axis], summed over all other axes.
/// quantised_dense: x u8[...,I], bits f32[R,2], w i8[I,O], scales f32[O] (, bias[O]) -> y[...,O]: dense of the values,
/// in `result_type`. Inference only.
struct DenseAttrs {
    bool bias = true;                // of dense and quantised_dense
    bool transposed = false;         // of all but quantised_dense
    DType result_type = DType::f32;  // of dense_weight_grad and quantised_dense
    bool kernel = false;             // of dense_weight_grad: dw is [1,1,I,O]
    bool operator==(const DenseAttrs&) const = default;
};

/// embedding: ids i32[...], table[V,C] -> y[...,C] of `type`: row ids[i] of the table; an id outside 0..V-1 gives a row
/// of zeros.
/// embedding_grad: ids, dy (, others f32[V,C]) -> dtable f32[V,C], V = `rows`: dtable[v] = others[v] + sum of dy over
/// the positions with id v. Ids outside 0..V-1 add nothing.
struct EmbeddingAttrs {
    DType type = DType::f32;  // of embedding
    std::int64_t rows = 0;    // of embedding_grad
    bool operator==(const EmbeddingAttrs&) const = default;
};

/// gather_rows: x[B,S,C], positions i32[B,M] -> y[B,M,C]: rows of the same sample; a position outside 0..S-1 gives a
/// row of zeros.
/// gather_rows_grad: positions, dy -> dx[B,S,C], S = `rows`: gradients of repeated positions are summed, in f32.
struct GatherRowsAttrs {
    std::int64_t rows = 0;  // of gather_rows_grad
    bool operator==(const GatherRowsAttrs&) const = default;
};

/// layer_norm (Ba et al. 2016): x[N,...,C], gamma[C], beta[C] (, residual like x) -> y like x, mean f32[N,...],
/// variance f32[N,...] (biased, over C) (, z like x, with a residual). y = gamma * (z - mean) / sqrt(variance +
/// epsilon) + beta, where z = random_scale(x) + residual, or x itself without a residual. random_scale is the op of
/// RandomScaleAttrs with `keep` and `site`, per element; keep < 1 requires a residual.
/// layer_norm_grad: z, gamma, mean, variance, dy -> dz, which is dresidual too, dgamma f32[C], dbeta f32[C] (, dx where
/// keep < 1, which otherwise is dz). With `summed_gradient` it takes a second dy directly after the first: the true dy
/// is their sum.
struct LayerNormAttrs {
    double epsilon = 1e-3;
    bool residual = false;
    double keep = 1;
    std::uint64_t site = 0;
    bool summed_gradient = false;  // of layer_norm_grad
    bool operator==(const LayerNormAttrs&) const = default;
};

/// attention_mask: f32[B,S], added to the scores of each key: 0 for a visible key, kMaskedScore for a masked one.
/// input_mask i32[B,S] -> (1 - input_mask) * kMaskedScore. If `sequence` is not 0: mask_padding_index i32[B,1],
/// seq_padding_index i32[B,1] -> mask with S = sequence; key k is visible when (k < mask_padding_index or k >=
/// predictions) and k < seq_padding_index.
inline constexpr double kMaskedScore = -1000;
struct AttentionMaskAttrs {
    std::int64_t sequence = 0;
    std::int64_t predictions = 0;
    bool operator==(const AttentionMaskAttrs&) const = default;
};

/// attention (Vaswani et al. 2017): q, k, v [B,S,H], mask f32[B,S] -> y[B,S,H], statistics f32[B,h,S]. H is the
/// concatenation of h = `heads` heads. Per sample and head: s = scale * q * k^T + mask (over the keys), y =
/// random_scale(softmax(s)) * v, statistics = log(sum over the keys of exp(s)). Random words are drawn as in
/// RandomScaleAttrs, for elements of [h,S,S]. Instead of q, k and v it takes their concatenation qkv[B,S,3H]; instead
/// of the mask, numbers i32[B,S] of the tokens: a query sees the keys with its number, which lie next to each other.
/// attention_grad: q, k, v, mask, y, statistics, dy -> dq, dk, dv; or qkv, mask, y, statistics, dy -> dqkv. The mask
/// gets no gradient. Scores are not stored: backward recomputes them.
struct AttentionAttrs {
    std::int64_t heads = 1;
    double scale = 1;
    double keep = 1;  // probability, in (0, 1]
    std::uint64_t site = 0;
    bool operator==(const AttentionAttrs&) const = default;
};

/// softmax_cross_entropy: logits[N,C], labels i32[N] -> loss f32[], correct f32[]: both SUMS over the samples whose
/// label is in 0..C-1; other labels (-1: padding) count nowhere. Targets: 1 - smoothing on the class, smoothing / (C -
/// 1) elsewhere. correct: the first largest logit is the label's.
/// With class weights w[C], >= 0: a sample's loss is the sum over c of w[c] * target[c] * -log p[c], and the result is
/// the number of samples times the sum of these losses / the sum of w[label], 0 if that sum is 0. Its mean over the
/// micro-batch is that of PyTorch's CrossEntropyLoss(weight=w).
/// softmax_cross_entropy_grad: logits, labels, dloss f32[] -> dlogits.
struct SoftmaxAttrs {
    double label_smoothing = 0;
    std::vector<double> class_weights = {};  // empty: all 1
    bool operator==(const SoftmaxAttrs&) const = default;
};

/// top_k_correct: logits[N,C], labels i32[N] -> f32[], the number of samples whose label is among the k likeliest
/// classes; labels outside 0..C-1 count nowhere. Of equal logits the first class is the likelier one; k = 1 equals
/// `correct` above. A NaN logit ranks above the label's logit, and a label whose own logit is NaN is never among the k.
/// 1 <= k < C. No gradient.
struct TopKAttrs {
    std::int64_t k = 5;
    bool operator==(const TopKAttrs&) const = default;
};

/// token_cross_entropy: logits[N,C], labels i32[N], weights f32[N] -> loss f32[], correct f32[], log_sums f32[N]. Means
/// over the weighted tokens of the micro-batch: loss = sum of weights * cross entropy / (sum of weights +
/// kTokenWeightEpsilon), where a label outside 0..C-1 has no cross entropy; correct = sum of the weights of the tokens
/// whose first largest logit is the label's / sum of weights, 0 where that sum is 0. log_sums: log(sum over the classes
/// of exp(logits)). No attributes. Only the loss has a gradient, only with respect to the logits.
/// token_cross_entropy_grad: logits, labels, weights, log_sums, dloss f32[] -> dlogits.
inline constexpr double kTokenWeightEpsilon = 1e-5;

/// Mixed samples (mixup, Zhang et al. 2017; cutmix, Yun et al. 2019). The partner of sample n at distance d is sample
/// (n - d) mod N of the micro-batch.
/// mix_images: x[N,H,W,C] (, own f32[N] with mixup) (, box i32[4] with cutmix) -> y like x. Mixup:
/// m[n] = own[n] * x[n] + (1 - own[n]) * x[partner at 1]; without it m = x. Cutmix: y[n] = m[partner at
/// cutmix_distance] in the rows box[0] <= h < box[1] and columns box[2] <= w < box[3], else m[n]. No gradient.
struct MixImagesAttrs {
    bool mixup = false;
    std::int64_t cutmix_distance = 0;  // 0: no cutmix
    bool operator==(const MixImagesAttrs&) const = default;
};

/// mixed_cross_entropy: logits[N,C], labels i32[N], shares f32[N,P] -> loss f32[], correct f32[], sums as those of
/// softmax_cross_entropy, with the loss of sample n = sum over p of shares[n,p] * (smoothed cross entropy with the
/// label of the partner at distances[p]). A partner whose label is not in 0..C-1 adds nothing; a sample whose own is
/// not counts nowhere. `correct` looks at the own label alone. With class weights, the sum of losses is divided by the
/// sum over samples and p of shares[n,p] * w[label of the partner].
/// mixed_cross_entropy_grad: logits, labels, shares, dloss f32[] -> dlogits.
struct MixedTargetsAttrs {
    double label_smoothing = 0;
    std::vector<std::int64_t> distances;  // one per share, 1 to 4 of them; the sample itself is at 0
    std::vector<double> class_weights = {};
    bool operator==(const MixedTargetsAttrs&) const = default;
};

/// distillation (Hinton et al. 2015): logits[N,C], labels i32[N], teacher's logits f32[N,C] -> loss f32[], the sum over
/// samples whose label is in 0..C-1 of T^2 * KL(p || q), with p and q the softmax of the teacher's logits / T and of
/// logits / T. The teacher has no gradient.
/// distillation_grad: logits, labels, teacher's logits, dloss f32[] -> dlogits = dloss * T * (q - p).
struct DistillationAttrs {
    double temperature = 1;
    bool operator==(const DistillationAttrs&) const = default;
};

/// sigmoid_cross_entropy: logits[N,C], labels i32[N,C] -> loss f32[], correct f32[]. Sums over the labels of 0 and 1,
/// divided by C, so that a sample whose labels are all known counts as one; other labels (-1: padding) count nowhere.
/// With p the probability that sigmoid(logit) gives to the label, a label's loss is -w * (1 - p)^focus * log p, where w
/// is 1 for a 0 and positive_weights[c] for a 1 (PyTorch's pos_weight; the focal loss of Lin et al. 2017). correct: the
/// logit is positive where the label is 1, and not where it is 0.
/// sigmoid_cross_entropy_grad: logits, labels, dloss f32[] -> dlogits.
struct SigmoidAttrs {
    std::vector<double> positive_weights = {};  // [C], >= 0; empty: all 1
    double focus = 0;                           // the exponent; >= 0
    bool operator==(const SigmoidAttrs&) const = default;
};

/// Update ops (update, scaled_update: UpdateAttrs in graph/update_rule.h) have no outputs; they overwrite inputs.
/// round_copy: parameter (16 bit), master f32: parameter = master, rounded to nearest. No attributes.
///
/// moving_average_update: moving, value: m = decay * m + (1 - decay) * value_scale * value.
struct MovingAverageAttrs {
    double decay = 0.97;
    double value_scale = 1;  // Bessel's correction / micro-batches per update
    bool operator==(const MovingAverageAttrs&) const = default;
};

/// fold_norm_weight: w[K,K,I,O], gamma[O], moving_variance[O] -> w * gamma / sqrt(variance + epsilon), in `type`.
/// fold_norm_bias: gamma, beta, moving_mean, moving_variance -> beta - mean * gamma / sqrt(variance + epsilon), f32[O].
struct FoldNormAttrs {
    double epsilon = 1e-5;
    DType type = DType::f32;
    bool operator==(const FoldNormAttrs&) const = default;
};

using Attrs =
    std::variant<NoAttrs, ConstantAttrs, ScaleAttrs, CastAttrs, ActivationAttrs, NormaliseImageAttrs, ConvAttrs,
                 QuantiseAttrs, QuantisedConvAttrs, PoolAttrs, ResultAttrs, ShortcutPadAttrs, RandomScaleAttrs,
                 NormAttrs, StandardiseAttrs, ProxyNormAttrs, ReshapeAttrs, TransposeAttrs, SliceAttrs, MatmulAttrs,
                 DenseAttrs, EmbeddingAttrs, GatherRowsAttrs, LayerNormAttrs, AttentionMaskAttrs, AttentionAttrs,
                 SoftmaxAttrs, TopKAttrs, MixImagesAttrs, MixedTargetsAttrs, DistillationAttrs, SigmoidAttrs,
                 UpdateAttrs, GradientFactorAttrs, MovingAverageAttrs, FoldNormAttrs>;

/// A tensor of the naive evaluator: row-major doubles, whatever the descriptor's element type.
struct RefTensor {
    TensorDesc desc;
    std::vector<double> values;
};

/// The key of one execution's random numbers, besides the op's attributes.
struct RandomKey {
    std::uint64_t seed = 0;
    std::int64_t first_sample = 0;  // number of the micro-batch's first sample in the stream of all ranks
};

class GradContext;
class AttrText;

/// The meaning of a value's axes, by which a backend chooses its memory layout. The shape alone does not decide it:
/// [8,12,64,64] may be images or attention scores.
enum class Layout : std::uint8_t {
    plain,   // row-major of any rank: vectors, scalars, labels, scores
    rows,    // [...,C]: the features of one sample or token per row
    image,   // [N,H,W,C]
    kernel,  // [K,L,I,O] of a convolution, [I,O] or [1,1,I,O] of a dense layer
    same,    // in an op's row only: the layout of its first input
};

/// Use of one of an op's inputs.
enum class Use : std::uint8_t {
    read,
    target,    // the variable that an update op overwrites
    slot,      // optimiser state that an update op overwrites
    gradient,  // the gradient that an update op reads, summed over the micro-batches
};

struct Operand {
    Layout layout = Layout::plain;
    Use use = Use::read;
};

/// The definition of one kind of operation. One array, op_table(), holds them all.
struct OpDef {
    OpKind kind = OpKind::count_;
    std::string_view name = {};  // the enumerator's, set by the table

    /// Operands by position; the last entry holds for all further inputs (results). Empty: all plain.
    std::vector<Operand> inputs = {};
    std::vector<Layout> results = {};

    /// If all its inputs are weights or follow from weights, its result does, too, and is computed once after weights
    /// change.
    bool follows_weights = false;
    /// Backward recomputes its results instead of stashing them, if its inputs are stashed anyway.
    bool cheap_to_recompute = false;
    /// A forward op with NormAttrs: a following addition and activation can be fused into it.
    bool absorbs_activation = false;
    /// An op with NormAttrs or LayerNormAttrs: this input may be given as two summands (their summed_gradient).
    std::optional<std::size_t> sum_operand = {};

    /// Index of an optional further input that the op adds to its only result; a following addition can be fused into
    /// it.
    std::optional<std::size_t> addend = {};

    /// Descriptors of the outputs; throws Error(usage) with the reason when the inputs do not fit.
    std::vector<TensorDesc> (*infer)(const Attrs&, std::span<const TensorDesc> inputs) = nullptr;

    /// Adds gradient nodes through the context; null when the op has no gradient.
    void (*gradient)(GradContext&) = nullptr;

    /// Floating-point operations of one evaluation (a multiply-add counts 2).
    double (*flops)(const Attrs&, std::span<const TensorDesc> inputs, std::span<const TensorDesc> outputs) = nullptr;

    /// Naive evaluation in float64; `outputs` have their descriptors and zeroed values. An op that overwrites inputs
    /// writes their new values into `outputs`, in the order of overwritten_inputs().
    void (*evaluate)(const Attrs&, std::span<const RefTensor* const> inputs, std::span<RefTensor> outputs) = nullptr;

    /// Instead of `evaluate`, for an op that draws random numbers.
    void (*evaluate_random)(const Attrs&, const RandomKey&, std::span<const RefTensor* const> inputs,
                            std::span<RefTensor> outputs) = nullptr;

    /// The attributes as text (graph/attr_text.h); null for an op without attributes worth printing.
    void (*describe)(const Attrs&, AttrText&) = nullptr;

    /// True if the op computes each sample by itself, or a sum over samples: graph::with_samples() can then make the
    /// graph of a part of a batch. Null: it may mix samples.
    bool (*by_sample)(const Attrs&) = nullptr;

    Operand input(std::size_t index) const;
    Layout result(std::size_t index) const;
    /// Indices of the inputs that an update op with `input_count` inputs overwrites in place; it has no outputs in the
    /// graph.
    std::vector<std::size_t> overwritten_inputs(std::size_t input_count) const;
    /// The first input of this use, if there is one.
    std::optional<std::size_t> input_used_as(Use use) const;
};

using OpTable = std::array<OpDef, kOpKindCount>;

}  // namespace cnntrain::graph

namespace cnntrain::ops {

// The table of all operations: one definition per OpKind, each made in the file of its family.

/// Shape rule, gradient, FLOP count and naive evaluator of every OpKind, indexed by it.
const graph::OpTable& op_table();

}  // namespace cnntrain::ops
