// Refusals of the shape rules: their messages name node, op, shapes and reason.
#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/op.h"
#include "support/errors.h"
#include "support/graph_names.h"
#include "support/matchers.h"

namespace cnntrain::test {
namespace {

struct BadNode {
    OpKind kind;
    Attrs attrs;
    std::vector<TensorDesc> inputs;
    std::string reason;  // part of the message
};

TensorDesc f32(Shape shape) {
    return {DType::f32, std::move(shape)};
}
TensorDesc bf16(Shape shape) {
    return {DType::bf16, std::move(shape)};
}

graph::ConvAttrs conv(std::int64_t stride, std::int64_t groups, Shape result = {}) {
    graph::ConvAttrs attrs;
    attrs.stride = stride;
    attrs.groups = groups;
    attrs.result_shape = std::move(result);
    return attrs;
}

graph::NormAttrs norm(std::int64_t groups, bool residual) {
    graph::NormAttrs attrs;
    attrs.groups = groups;
    attrs.residual = residual;
    return attrs;
}

graph::QuantisedConvAttrs eight_bit_attrs() {
    graph::QuantisedConvAttrs attrs;
    attrs.conv.bias = true;
    return attrs;
}

std::vector<BadNode> bad_nodes() {
    const TensorDesc x = f32({2, 8, 8, 16});
    const TensorDesc w = f32({3, 3, 16, 32});
    const TensorDesc c = f32({16});
    const TensorDesc one = f32({});
    const graph::UpdateAttrs momentum{.rule = graph::UpdateRule::momentum};
    const TensorDesc labels{DType::i32, {4}};
    const TensorDesc ids{DType::i32, {2, 5}};
    const TensorDesc qkv = f32({2, 5, 24});
    return {
        {OpKind::constant, graph::ConstantAttrs{1, labels}, {}, "a constant must be f32"},
        {OpKind::cast, graph::CastAttrs{DType::u8}, {x}, "the result must be f32, bf16 or f16, not u8"},
        {OpKind::cast, graph::CastAttrs{}, {labels}, "the input must be f32"},
        {OpKind::add, NoAttrs{}, {x}, "takes 2 inputs, got 1"},
        {OpKind::add, NoAttrs{}, {x, bf16(x.shape)}, "must be alike"},
        {OpKind::activation, graph::ActivationAttrs{}, {labels}, "x must be f32"},
        {OpKind::activation_grad, graph::ActivationAttrs{}, {x, c}, "the operands must be alike"},
        {OpKind::activation, graph::ActivationAttrs{}, {x, x}, "takes 1 inputs, got 2"},
        {OpKind::activation_grad, graph::ActivationAttrs{}, {x, labels}, "dy must be f32"},
        {OpKind::random_scale, graph::RandomScaleAttrs{.keep = 0}, {x}, "keep must be in (0, 1]"},
        {OpKind::random_scale, graph::RandomScaleAttrs{}, {one}, "x needs an axis of samples"},
        {OpKind::scale_channels, NoAttrs{}, {x, f32({2, 8})}, "gate must have the shape [2, 16]"},
        {OpKind::scale_channels, NoAttrs{}, {x, bf16({2, 16})}, "x and gate must have one type"},
        {OpKind::scale_channels_grad, NoAttrs{}, {x, f32({2, 16}), c}, "x and dy must be alike"},
        {OpKind::normalise_image,
         graph::NormaliseImageAttrs{{1}, {0}, DType::f32},
         {x},
         "for 16 channels, got 1 and 1"},
        {OpKind::conv2d, conv(1, 1), {x, f32({3, 3, 8, 32})}, "kernel inputs x groups = 8 x 1 channels, not 16"},
        {OpKind::conv2d, conv(1, 3), {x, w}, "32 output channels cannot form 3 groups"},
        {OpKind::conv2d, conv(0, 1), {x, w}, "the stride must be at least 1, not 0"},
        {OpKind::conv2d, conv(1, 1), {x, f32({3, 9, 16, 32})}, "a kernel of 9 does not fit into 8 + 0 pixels"},
        {OpKind::conv2d, conv(1, 1), {x, f32({9, 9, 16, 32})}, "a kernel of 9 does not fit into 8 + 0 pixels"},
        {OpKind::conv2d, conv(1, 1), {x, bf16(w.shape)}, "x and w must have one type"},
        {OpKind::conv2d, conv(1, 1), {f32({2, 8, 16}), w}, "x[N,H,W,C] cannot have the shape [2, 8, 16]"},
        {OpKind::conv2d, conv(1, 1), {f32({0, 8, 8, 16}), w}, "empty axis"},
        {OpKind::conv2d_input_grad, conv(1, 1, x.shape), {x, w}, "dy must have the shape [2, 6, 6, 32]"},
        {OpKind::conv2d_weight_grad, conv(1, 1, w.shape), {x, x}, "dy must have the shape [2, 6, 6, 32]"},
        {OpKind::max_pool, graph::PoolAttrs{2, 2, {2, 0, 0, 0}}, {x}, "padding must be in 0..kernel-1"},
        {OpKind::max_pool, graph::PoolAttrs{9, 1, {}}, {x}, "a kernel of 9 does not fit"},
        {OpKind::max_pool_grad, graph::PoolAttrs{2, 2, {}}, {x, x}, "y and dy must be alike"},
        {OpKind::global_average_pool, NoAttrs{}, {f32({2, 16})}, "x[N,H,W,C] cannot have"},
        {OpKind::global_average_pool_grad, graph::ResultAttrs{x}, {f32({2, 15})}, "must be alike"},
        {OpKind::shortcut_pad, graph::ShortcutPadAttrs{2, 8, {}}, {x}, "cannot pad 16 channels to 8"},
        {OpKind::shortcut_pad_grad,
         graph::ShortcutPadAttrs{2, 16, x.shape},
         {x},
         "dy must have the shape [2, 4, 4, 16]"},
        {OpKind::reshape,
         graph::ReshapeAttrs{{4, 5}},
         {f32({2, 3, 4})},
         "[4, 5] has not as many elements as [2, 3, 4]"},
        {OpKind::transpose, graph::TransposeAttrs{{0, 0, 1}}, {f32({2, 3, 4})}, "each once, not [0, 0, 1]"},
        {OpKind::slice, graph::SliceAttrs{2, 0, 1, 0}, {c}, "has no axis 2"},
        {OpKind::slice, graph::SliceAttrs{0, 8, 17, 0}, {c}, "no part 8 to 17 of 16 elements"},
        {OpKind::slice_grad, graph::SliceAttrs{0, 8, 10, 32}, {c}, "dy must have the extent of the part"},
        {OpKind::batched_matmul, graph::MatmulAttrs{}, {f32({2, 3, 4}), f32({2, 5, 4})}, "b must have 4 rows, not 5"},
        {OpKind::batched_matmul, graph::MatmulAttrs{}, {f32({2, 3, 4}), f32({3, 4, 5})}, "the same axes before"},
        {OpKind::batched_matmul, graph::MatmulAttrs{}, {c, f32({16, 3})}, "at least two axes"},
        {OpKind::dense, graph::DenseAttrs{}, {c, f32({16, 3}), f32({3})}, "x[...,I] must have at least two axes"},
        {OpKind::dense, graph::DenseAttrs{}, {f32({2, 5}), f32({6, 3}), f32({3})}, "w must have 5 inputs, not 6"},
        {OpKind::dense, graph::DenseAttrs{}, {f32({2, 5}), f32({1, 3, 5, 3}), f32({3})}, "w[I,O] or w[1,1,I,O] cannot"},
        {OpKind::dense, graph::DenseAttrs{}, {f32({2, 5}), f32({5, 3}), f32({4})}, "bias must have the shape [3]"},
        {OpKind::dense_input_grad, graph::DenseAttrs{}, {f32({2, 3}), f32({5, 4})}, "w must have 3 outputs, not 4"},
        {OpKind::dense_weight_grad, graph::DenseAttrs{}, {f32({2, 5}), f32({3, 4})}, "dy must have the shape [2, 4]"},
        {OpKind::bias_grad, NoAttrs{}, {one}, "at least one axis"},
        {OpKind::dense,
         graph::DenseAttrs{.bias = false},
         {f32({2, 5}), f32({5, 3}), f32({3})},
         "takes 2 inputs, got 3"},
        {OpKind::dense,
         graph::DenseAttrs{.bias = false, .transposed = true},
         {f32({2, 5}), f32({5, 3})},
         "w must have 5 inputs, not 3"},
        {OpKind::dense_weight_grad,
         graph::DenseAttrs{.transposed = true, .kernel = true},
         {f32({2, 5}), f32({2, 4})},
         "a kernel [1,1,I,O] cannot be transposed"},
        {OpKind::embedding, graph::EmbeddingAttrs{}, {f32({2, 5}), f32({7, 8})}, "ids must be i32, not f32"},
        {OpKind::embedding, graph::EmbeddingAttrs{}, {ids, x}, "table[V,C] cannot have the shape"},
        {OpKind::embedding, graph::EmbeddingAttrs{.type = DType::i32}, {ids, f32({7, 8})}, "the result must be f32"},
        {OpKind::embedding_grad,
         graph::EmbeddingAttrs{.rows = 7},
         {ids, f32({2, 4, 8})},
         "dy must have the shape [2, 5, 8]"},
        {OpKind::embedding_grad, graph::EmbeddingAttrs{}, {ids, f32({2, 5, 8})}, "a table must have rows, not 0"},
        {OpKind::embedding_grad,
         graph::EmbeddingAttrs{.rows = 7},
         {ids, f32({2, 5, 8}), f32({8, 8})},
         "others and dtable must be alike"},
        {OpKind::gather_rows, graph::GatherRowsAttrs{}, {f32({3, 5, 8}), ids}, "positions must be of 3 samples, not 2"},
        {OpKind::gather_rows, graph::GatherRowsAttrs{}, {f32({2, 8}), ids}, "x[B,S,C] cannot have the shape"},
        {OpKind::gather_rows_grad,
         graph::GatherRowsAttrs{4},
         {ids, f32({2, 4, 8})},
         "dy must have the shape [2, 5, 8]"},
        {OpKind::gather_rows_grad, graph::GatherRowsAttrs{}, {ids, f32({2, 5, 8})}, "a sample must have rows, not 0"},
        {OpKind::layer_norm, graph::LayerNormAttrs{}, {f32({4, 16}), f32({8}), c}, "gamma must have the shape [16]"},
        {OpKind::layer_norm, graph::LayerNormAttrs{}, {c, c, c}, "x[N,...,C] must have at least two axes"},
        {OpKind::layer_norm,
         graph::LayerNormAttrs{.keep = 0.5},
         {f32({4, 16}), c, c},
         "before a residual; there is none"},
        {OpKind::layer_norm,
         graph::LayerNormAttrs{.residual = true, .keep = 0},
         {f32({4, 16}), c, c, f32({4, 16})},
         "keep must be in (0, 1]"},
        {OpKind::layer_norm,
         graph::LayerNormAttrs{.residual = true},
         {f32({4, 16}), c, c, bf16({4, 16})},
         "x and residual must be alike"},
        {OpKind::layer_norm_grad,
         graph::LayerNormAttrs{},
         {f32({4, 16}), c, c, f32({4}), f32({4, 16})},
         "mean and the statistics of z"},
        {OpKind::layer_norm_grad,
         graph::LayerNormAttrs{.summed_gradient = true},
         {f32({4, 16}), c, f32({4}), f32({4}), f32({4, 16})},
         "takes 6 inputs, got 5"},
        {OpKind::attention_mask, graph::AttentionMaskAttrs{}, {f32({2, 5})}, "input_mask must be i32"},
        {OpKind::attention_mask, graph::AttentionMaskAttrs{.sequence = 8}, {ids}, "takes 2 inputs, got 1"},
        {OpKind::attention_mask,
         graph::AttentionMaskAttrs{.sequence = 8},
         {ids, ids},
         "a padding index must have the shape [2, 1]"},
        {OpKind::attention, graph::AttentionAttrs{3}, {qkv, f32({2, 5})}, "3 heads do not divide 8 features"},
        {OpKind::attention, graph::AttentionAttrs{2}, {f32({2, 5, 8}), f32({2, 5})}, "three times that of y"},
        {OpKind::attention,
         graph::AttentionAttrs{2},
         {qkv, f32({2, 1, 5})},
         "mask and f32[B,S] or i32[B,S] must be alike"},
        {OpKind::attention,
         graph::AttentionAttrs{2},
         {qkv, qkv, f32({2, 5, 8}), f32({2, 5})},
         "q, k and v must be alike"},
        {OpKind::attention, graph::AttentionAttrs{.heads = 2, .keep = 2}, {qkv, f32({2, 5})}, "keep must be in (0, 1]"},
        {OpKind::attention_grad,
         graph::AttentionAttrs{2},
         {qkv, f32({2, 5}), f32({2, 5, 8}), f32({2, 5, 2}), f32({2, 5, 8})},
         "statistics and f32[B,h,S] must be alike"},
        {OpKind::attention_grad, graph::AttentionAttrs{2}, {qkv, f32({2, 5}), qkv}, "takes 7 inputs, got 3"},
        {OpKind::batch_norm, norm(0, false), {x, f32({8}), c}, "gamma must have the shape [16]"},
        {OpKind::batch_norm, norm(0, false), {x, bf16({16}), c}, "gamma must be f32, not bf16"},
        {OpKind::batch_norm, norm(0, true), {x, c, c}, "takes 4 inputs, got 3"},
        {OpKind::batch_norm_inference, norm(0, true), {x, c, c, c, c, f32({2, 8, 8, 8})}, "x and residual"},
        {OpKind::group_norm_inference, norm(4, false), {x, c, c, f32({2, 4}), c}, "variance and the statistics of x"},
        {OpKind::group_norm_inference, norm(3, false), {x, c, c, c, c}, "3 groups do not divide 16 channels"},
        {OpKind::batch_norm_grad, norm(0, false), {x, c, c, c, f32({8}), x}, "variance and the statistics of x"},
        {OpKind::batch_norm_grad,
         graph::NormAttrs{.activation = graph::Activation::swish, .residual = true},
         {x, c, c, c, c, x, x},
         "swish after a residual has no gradient"},
        {OpKind::group_norm, norm(3, false), {x, c, c}, "3 groups do not divide 16 channels"},
        {OpKind::group_norm_grad, norm(4, false), {x, c, c, c, c, x}, "mean and the statistics of x"},
        {OpKind::standardise, graph::StandardiseAttrs{false, false}, {x}, "neither a mean nor a scale"},
        {OpKind::standardise, graph::StandardiseAttrs{}, {x, c}, "takes 3 inputs, got 2"},
        {OpKind::standardise, graph::StandardiseAttrs{}, {x, c, bf16({16})}, "scale must be f32"},
        {OpKind::standardise, graph::StandardiseAttrs{}, {c, c, c}, "x[N,H,W,C] or x[N,C] cannot have the shape [16]"},
        {OpKind::standardise_grad, graph::StandardiseAttrs{}, {x, c, bf16(x.shape)}, "y and dy must be alike"},
        {OpKind::proxy_norm_rows, graph::ProxyNormAttrs{}, {x}, "a proxy must have the shape [6, 1, 1, 16]"},
        {OpKind::proxy_norm_rows_grad, graph::ProxyNormAttrs{}, {}, "no rows"},
        {OpKind::proxy_norm_rows_grad, graph::ProxyNormAttrs{.rows = {2, 1}}, {c, c}, "rows that are not 0 to 3"},
        {OpKind::proxy_norm_rows_grad, graph::ProxyNormAttrs{.rows = {0, 4}}, {c, c}, "rows that are not 0 to 3"},
        {OpKind::proxy_norm_gradient,
         graph::ProxyNormAttrs{},
         {f32({6, 1, 1, 16}), bf16({6, 1, 1, 16}), one},
         "the gradient of a proxy must be f32"},
        {OpKind::proxy_norm_statistics, graph::ProxyNormAttrs{}, {c}, "a proxy cannot have the shape [16]"},
        {OpKind::fold_norm_weight, graph::FoldNormAttrs{}, {w, c, c}, "gamma must have the shape [32]"},
        {OpKind::fold_norm_bias,
         graph::FoldNormAttrs{},
         {c, c, c, f32({8})},
         "moving_variance must have the shape [16]"},
        {OpKind::softmax_cross_entropy,
         graph::SoftmaxAttrs{},
         {f32({5, 10}), labels},
         "labels must have the shape [5]"},
        {OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{}, {f32({4, 10}), f32({4})}, "labels must be i32"},
        {OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{1}, {f32({4, 10}), labels}, "smoothing must be in [0, 1)"},
        {OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{0.1}, {f32({4, 1}), labels}, "at least two classes"},
        {OpKind::softmax_cross_entropy,
         graph::SoftmaxAttrs{0, {1, 2}},
         {f32({4, 10}), labels},
         "2 class weights for 10"},
        {OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{0, {1, -2}}, {f32({4, 2}), labels}, "not negative"},
        {OpKind::softmax_cross_entropy_grad, graph::SoftmaxAttrs{}, {f32({4, 10}), labels, c}, "dloss and f32[]"},
        {OpKind::top_k_correct, graph::TopKAttrs{10}, {f32({4, 10}), labels}, "less than the number of classes"},
        {OpKind::top_k_correct, graph::TopKAttrs{0}, {f32({4, 10}), labels}, "k must be at least 1"},
        {OpKind::top_k_correct, graph::TopKAttrs{}, {f32({4, 10}), f32({4})}, "labels must be i32"},
        {OpKind::token_cross_entropy, NoAttrs{}, {f32({4, 10}), labels}, "takes 3 inputs, got 2"},
        {OpKind::token_cross_entropy, NoAttrs{}, {f32({4, 10}), labels, f32({5})}, "weights and f32[N] must be alike"},
        {OpKind::token_cross_entropy_grad,
         NoAttrs{},
         {f32({4, 10}), labels, f32({4}), f32({4}), f32({1})},
         "dloss and f32[] must be alike"},
        {OpKind::mix_images, graph::MixImagesAttrs{}, {x}, "needs mixup, cutmix, or both"},
        {OpKind::mix_images, graph::MixImagesAttrs{true, 0}, {x, f32({3})}, "the shares and f32[N]"},
        {OpKind::mix_images, graph::MixImagesAttrs{false, 2}, {x, f32({4})}, "the box and i32[4]"},
        {OpKind::mix_images, graph::MixImagesAttrs{true, 2}, {x, f32({2})}, "takes 3 inputs, got 2"},
        {OpKind::mix_images, graph::MixImagesAttrs{false, -1}, {x, labels}, "never negative"},
        {OpKind::mixed_cross_entropy,
         graph::MixedTargetsAttrs{0, {0, 1}},
         {f32({4, 10}), labels, f32({4, 3})},
         "the shares and f32[N,P]"},
        {OpKind::mixed_cross_entropy, graph::MixedTargetsAttrs{}, {f32({4, 10}), labels, one}, "1 to 4 parts"},
        {OpKind::mixed_cross_entropy_grad,
         graph::MixedTargetsAttrs{0.1, {0}},
         {f32({4, 10}), labels, f32({4, 1}), c},
         "dloss and f32[]"},
        {OpKind::distillation,
         graph::DistillationAttrs{2},
         {f32({4, 10}), labels, f32({4, 9})},
         "the teacher's logits"},
        {OpKind::distillation, graph::DistillationAttrs{0}, {f32({4, 10}), labels, f32({4, 10})}, "must be positive"},
        {OpKind::sigmoid_cross_entropy, graph::SigmoidAttrs{}, {f32({4, 10}), labels}, "labels and i32[N,C]"},
        {OpKind::sigmoid_cross_entropy,
         graph::SigmoidAttrs{{1, 2}},
         {f32({4, 10}), {DType::i32, {4, 10}}},
         "2 class weights for 10 classes"},
        {OpKind::sigmoid_cross_entropy,
         graph::SigmoidAttrs{.focus = -1},
         {f32({4, 10}), {DType::i32, {4, 10}}},
         "must be finite and not negative"},
        {OpKind::sigmoid_cross_entropy_grad,
         graph::SigmoidAttrs{},
         {f32({4, 10}), {DType::i32, {4, 10}}, c},
         "dloss and f32[]"},
        {OpKind::distillation_grad,
         graph::DistillationAttrs{2},
         {f32({4, 10}), labels, f32({4, 10}), c},
         "dloss and f32[]"},
        {OpKind::update, graph::UpdateAttrs{}, {c, f32({8}), one, one, one}, "gradient must have the shape [16]"},
        {OpKind::update, momentum, {c, c, c, one, one, c}, "learning_rate and f32[]"},
        {OpKind::update, momentum, {c, c, one, one, one}, "takes 6 inputs, got 5"},
        {OpKind::update, momentum, {c, c, one, one, one, one}, "slot must have the shape [16]"},
        {OpKind::update,
         graph::UpdateAttrs{.column_blocks = 3},
         {f32({2, 4}), f32({2, 4}), one, one, one},
         "a matrix whose columns it divides"},
        {OpKind::update, graph::UpdateAttrs{}, {c, c, one, one, c}, "loss_scaling and f32[]"},
        {OpKind::scaled_update, graph::UpdateAttrs{}, {c, c, one, one, one, c}, "factor and f32[]"},
        {OpKind::gradient_factor, graph::GradientFactorAttrs{}, {one}, "there are no gradients"},
        {OpKind::quantise, graph::QuantiseAttrs{}, {{DType::u8, {2, 8, 8, 16}}}, "x must be f32, bf16 or f16"},
        {OpKind::quantise, graph::QuantiseAttrs{{0, 3}}, {f32({2, 8, 8, 16})}, "scale of 8 bits must be above 0"},
        {OpKind::quantise, graph::QuantiseAttrs{{1, 256}}, {f32({2, 8, 8, 16})}, "zero of 8 bits must be in 0..255"},
        {OpKind::dequantise, graph::QuantiseAttrs{}, {f32({2, 8, 8, 16})}, "x must be u8"},
        {OpKind::quantise_weight, NoAttrs{}, {f32({3, 3, 16})}, "w[K,L,I,O]"},
        {OpKind::quantise_rows, graph::ActivationAttrs{}, {{DType::u8, {2, 16}}}, "x[...,I]"},
        {OpKind::quantised_dense,
         graph::DenseAttrs{},
         {{DType::u8, {2, 8, 16}}, f32({16, 2}), f32({16, 4}), f32({4}), f32({4})},
         "w must be i8"},
        {OpKind::quantised_dense,
         graph::DenseAttrs{.bias = false},
         {{DType::u8, {2, 8, 16}}, f32({8, 2}), {DType::i8, {16, 4}}, f32({4})},
         "bits must have the shape [16, 2]"},
        {OpKind::quantised_dense,
         graph::DenseAttrs{.bias = false},
         {{DType::u8, {2, 8, 16}}, f32({16, 2}), {DType::i8, {16, 4}}, f32({3})},
         "scales must have the shape [4]"},
        {OpKind::quantised_dense, graph::DenseAttrs{.transposed = true}, {}, "w[I,O]"},
        {OpKind::quantised_conv2d, graph::QuantisedConvAttrs{}, {}, "has a bias"},
        {OpKind::quantised_conv2d,
         eight_bit_attrs(),
         {{DType::u8, {2, 8, 8, 16}}, f32({1, 1, 16, 32}), f32({32}), f32({32})},
         "w must be i8"},
        {OpKind::quantised_conv2d,
         eight_bit_attrs(),
         {{DType::u8, {2, 8, 8, 16}}, {DType::i8, {1, 1, 16, 32}}, f32({16}), f32({32})},
         "scales must have the shape [32]"},
        {OpKind::gradient_factor, graph::GradientFactorAttrs{}, {one, labels}, "gradient must be f32"},
        {OpKind::scale, graph::ScaleAttrs{}, {c}, "x and f32[]"},
        {OpKind::round_copy, NoAttrs{}, {c, c}, "a master is for 16-bit parameters"},
        {OpKind::round_copy, NoAttrs{}, {bf16({16}), bf16({16})}, "master must be f32"},
        {OpKind::moving_average_update,
         graph::MovingAverageAttrs{},
         {c, f32({1, 16})},
         "value must have the shape [16]"},
    };
}

std::string refusal(const BadNode& bad) {
    graph::Graph graph(ops::op_table());
    std::vector<graph::ValueId> inputs;
    for (const TensorDesc& desc : bad.inputs)
        inputs.push_back(graph.add_input("in" + std::to_string(inputs.size()), desc));
    std::string message = message_of(ErrorKind::usage, [&] { graph.add(bad.kind, bad.attrs, inputs, "all/here"); });
    EXPECT_EQ(graph.node_count(), 0);
    return message;
}

TEST(Shapes, AreRefusedWithNodeOpShapesAndReason) {
    for (const BadNode& bad : bad_nodes()) {
        std::string call(ops::op_table()[static_cast<std::size_t>(bad.kind)].name);
        call += "(";
        for (const TensorDesc& desc : bad.inputs)
            call += (call.back() == '(' ? "" : ", ") + to_string(desc);
        EXPECT_THAT(refusal(bad), AllOf(HasSubstr("all/here: " + call + "): "), HasSubstr(bad.reason)));
    }
}

TEST(Shapes, EveryOpRefusesSomething) {
    std::vector<bool> refused(graph::kOpKindCount);
    for (const BadNode& bad : bad_nodes())
        refused[static_cast<std::size_t>(bad.kind)] = true;
    for (const graph::OpDef& def : ops::op_table())
        EXPECT_TRUE(refused[static_cast<std::size_t>(def.kind)]) << def.name;
}

TEST(Shapes, AttributesOfAnotherOpAreADefect) {
    graph::Graph graph(ops::op_table());
    const graph::ValueId x = graph.add_input("x", f32({2, 8, 8, 16}));
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { graph.add(OpKind::max_pool, NoAttrs{}, {x}, "pool"); }),
                HasSubstr("max_pool"));
}

}  // namespace
}  // namespace cnntrain::test
