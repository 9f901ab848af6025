// The naive evaluators of the ops of text, against numbers worked out by hand and against the plain ops that they stand
// for.
#include "ops/run_op.h"
#include "support/graph_names.h"

namespace cnntrain::test {
namespace {

using graph::AttentionAttrs;
using graph::EmbeddingAttrs;
using graph::LayerNormAttrs;

RefTensor integers(Shape shape, std::vector<double> values) {
    return tensor(std::move(shape), std::move(values), DType::i32);
}

/// Numbers without a pattern, in [-1, 1].
RefTensor varied(Shape shape, double phase) {
    std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
    for (std::size_t i = 0; i < values.size(); ++i)
        values[i] = std::sin(phase + 1.7 * static_cast<double>(i * i + i));
    return tensor(std::move(shape), std::move(values));
}

TEST(TextForward, DenseTransposedAndWithoutBias) {
    const RefTensor x = tensor({1, 2}, {1, 2});
    const RefTensor w = tensor({3, 2}, {1, 4, 2, 5, 3, 6});
    const RefTensor dy = tensor({1, 3}, {1, 0, 2});
    const graph::DenseAttrs tied{.bias = false, .transposed = true};
    expect_values(run(OpKind::dense, tied, {x, w})[0], {1, 3}, {9, 12, 15});
    expect_values(run(OpKind::dense_input_grad, tied, {dy, w})[0], {1, 2}, {7, 16});
    expect_values(run(OpKind::dense_weight_grad, tied, {x, dy})[0], {3, 2}, {1, 2, 0, 0, 2, 4});
}

TEST(TextForward, EmbeddingAndItsGradient) {
    const RefTensor ids = integers({2, 2}, {2, -1, 3, 0});
    const RefTensor table = tensor({3, 2}, {1, 2, 3, 4, 5, 6});
    expect_values(run(OpKind::embedding, EmbeddingAttrs{}, {ids, table})[0], {2, 2, 2}, {5, 6, 0, 0, 0, 0, 1, 2});
    const RefTensor dy = tensor({2, 2, 2}, {1, 2, 10, 20, 3, 4, 5, 6});
    const EmbeddingAttrs attrs{.rows = 4};
    expect_values(run(OpKind::embedding_grad, attrs, {integers({2, 2}, {2, 2, 4, 0}), dy})[0], {4, 2},
                  {5, 6, 0, 0, 11, 22, 0, 0});
    expect_values(run(OpKind::embedding_grad, attrs, {ids, dy, tensor({4, 2}, {0.5, 0, 0, 0, 0, 0, 0, 1})})[0], {4, 2},
                  {5.5, 6, 0, 0, 1, 2, 3, 5});
}

TEST(TextForward, GatherRowsAndItsGradient) {
    const RefTensor x = tensor({2, 2, 1}, {1, 2, 3, 4});
    const RefTensor positions = integers({2, 3}, {1, 1, 0, 2, -1, 1});
    expect_values(run(OpKind::gather_rows, graph::GatherRowsAttrs{}, {x, positions})[0], {2, 3, 1}, {2, 2, 1, 0, 0, 4});
    const RefTensor dy = tensor({2, 3, 1}, {1, 10, 100, 7, 8, 9});
    expect_values(run(OpKind::gather_rows_grad, graph::GatherRowsAttrs{2}, {positions, dy})[0], {2, 2, 1},
                  {100, 11, 0, 9});
}

/// Rows 1, 3 (mean 2, variance 1) and 0, 8 (mean 4, variance 16).
TEST(TextForward, LayerNorm) {
    const RefTensor x = tensor({2, 2}, {1, 3, 0, 8});
    const RefTensor gamma = tensor({2}, {2, 4});
    const RefTensor beta = tensor({2}, {10, 0});
    const double second = 4 / std::sqrt(19.0);
    const auto plain = run(OpKind::layer_norm, LayerNormAttrs{.epsilon = 3}, {x, gamma, beta});
    ASSERT_EQ(plain.size(), 3U);
    expect_values(plain[0], {2, 2}, {9, 2, 10 - 2 * second, 4 * second});
    expect_values(plain[1], {2}, {2, 4});
    expect_values(plain[2], {2}, {1, 16});
}

TEST(TextForward, LayerNormIsRandomScaleThenAddThenNorm) {
    const RefTensor x = varied({3, 4, 5}, 1);
    const RefTensor residual = varied({3, 4, 5}, 2);
    const RefTensor gamma = varied({5}, 3);
    const RefTensor beta = varied({5}, 4);
    const graph::RandomScaleAttrs dropout{.keep = 0.6, .site = 9};
    const RefTensor scaled = run(OpKind::random_scale, dropout, {x})[0];
    const RefTensor z = run(OpKind::add, NoAttrs{}, {scaled, residual})[0];
    const auto want = run(OpKind::layer_norm, LayerNormAttrs{}, {z, gamma, beta});
    const LayerNormAttrs attrs{.residual = true, .keep = 0.6, .site = 9};
    const auto got = run(OpKind::layer_norm, attrs, {x, gamma, beta, residual});
    ASSERT_EQ(got.size(), 4U);
    for (std::size_t i = 0; i < 3; ++i)
        expect_values(got[i], want[i].desc.shape, want[i].values);
    expect_values(got[3], z.desc.shape, z.values);
    EXPECT_NE(z.values, residual.values);

    const RefTensor dy = varied({3, 4, 5}, 5);
    const auto want_gradients = run(OpKind::layer_norm_grad, LayerNormAttrs{}, {z, gamma, got[1], got[2], dy});
    const auto gradients = run(OpKind::layer_norm_grad, attrs, {z, gamma, got[1], got[2], dy});
    const RefTensor dx = run(OpKind::random_scale, dropout, {want_gradients[0]})[0];
    expect_values(gradients[0], z.desc.shape, want_gradients[0].values);
    expect_values(gradients[3], z.desc.shape, dx.values);
}

TEST(TextForward, AttentionMask) {
    expect_values(run(OpKind::attention_mask, graph::AttentionMaskAttrs{}, {integers({1, 3}, {1, 0, 1})})[0], {1, 3},
                  {0, -1000, 0});
    // Keys 0 to 2 are masked tokens, of which one, then two are real; the sequences have five and four tokens.
    const graph::AttentionMaskAttrs lengths{.sequence = 6, .predictions = 3};
    expect_values(run(OpKind::attention_mask, lengths, {integers({2, 1}, {1, 2}), integers({2, 1}, {5, 4})})[0], {2, 6},
                  {0, -1000, -1000, 0, 0, -1000, 0, 0, -1000, 0, -1000, -1000});
}

/// One head of one feature: the scores of query 1 are log 3 and 0, so its probabilities are 3/4 and 1/4.
TEST(TextForward, Attention) {
    const RefTensor q = tensor({1, 2, 1}, {0, 1});
    const RefTensor k = tensor({1, 2, 1}, {2 * std::log(3.0), 0});
    const RefTensor v = tensor({1, 2, 1}, {8, 16});
    const RefTensor open = tensor({1, 2}, {0, 0});
    const AttentionAttrs attrs{.heads = 1, .scale = 0.5};
    const auto seen = run(OpKind::attention, attrs, {q, k, v, open});
    expect_values(seen[0], {1, 2, 1}, {12, 10});
    expect_values(seen[1], {1, 1, 2}, {std::log(2.0), std::log(4.0)});
    const auto masked = run(OpKind::attention, attrs, {q, k, v, tensor({1, 2}, {-1000, 0})});
    expect_values(masked[0], {1, 2, 1}, {16, 16});
}

/// Features of heads lie one after the other; the words of dropout are those of [h,S,S].
TEST(TextForward, AttentionIsProductsAndRandomScaleOfItsHeads) {
    const RefTensor qkv = varied({2, 3, 24}, 1);
    const RefTensor mask = varied({2, 3}, 2);
    const AttentionAttrs attrs{.heads = 2, .scale = 0.7, .keep = 0.5, .site = 4};
    const RefTensor y = run(OpKind::attention, attrs, {qkv, mask})[0];

    const RefTensor by_head = run(OpKind::transpose, graph::TransposeAttrs{{2, 0, 3, 1, 4}},
                                  {run(OpKind::reshape, graph::ReshapeAttrs{{2, 3, 3, 2, 4}}, {qkv})[0]})[0];
    const auto part = [&](std::int64_t i) {
        const RefTensor slice = run(OpKind::slice, graph::SliceAttrs{0, i, i + 1, 0}, {by_head})[0];
        return run(OpKind::reshape, graph::ReshapeAttrs{{2, 2, 3, 4}}, {slice})[0];
    };
    RefTensor scores = run(OpKind::batched_matmul, graph::MatmulAttrs{false, true}, {part(0), part(1)})[0];
    for (std::size_t row = 0; row < 12; ++row) {
        double sum = 0;
        for (std::size_t key = 0; key < 3; ++key) {
            double& score = scores.values[row * 3 + key];
            score = std::exp(0.7 * score + mask.values[row / 6 * 3 + key]);
            sum += score;
        }
        for (std::size_t key = 0; key < 3; ++key)
            scores.values[row * 3 + key] /= sum;
    }
    const RefTensor kept = run(OpKind::random_scale, graph::RandomScaleAttrs{.keep = 0.5, .site = 4}, {scores})[0];
    EXPECT_NE(kept.values, scores.values);
    const RefTensor heads = run(OpKind::batched_matmul, graph::MatmulAttrs{}, {kept, part(2)})[0];
    const RefTensor want = run(OpKind::transpose, graph::TransposeAttrs{{0, 2, 1, 3}}, {heads})[0];
    expect_values(y, {2, 3, 8}, want.values);
}

/// Two tokens of two classes: probabilities 3/4, 1/4, and 1/2, 1/2. The third label is none.
TEST(TextForward, TokenCrossEntropy) {
    const RefTensor logits = tensor({3, 2}, {std::log(3.0), 0, 0, 0, 5, 5});
    const RefTensor labels = integers({3}, {0, 1, 2});
    const RefTensor weights = tensor({3}, {1, 2, 1});
    const double sum = 4 + 1e-5;
    const auto loss = run(OpKind::token_cross_entropy, NoAttrs{}, {logits, labels, weights});
    expect_values(loss[0], {}, {(std::log(4.0 / 3) + 2 * std::log(2.0)) / sum});
    expect_values(loss[1], {}, {0.25});  // of equal logits the first is the largest
    expect_values(loss[2], {3}, {std::log(4.0), std::log(2.0), 5 + std::log(2.0)});
    expect_values(
        run(OpKind::token_cross_entropy_grad, NoAttrs{}, {logits, labels, weights, loss[2], tensor({}, {sum})})[0],
        {3, 2}, {-0.25, 0.25, 1, -1, 0, 0});
    const auto none = run(OpKind::token_cross_entropy, NoAttrs{}, {logits, labels, tensor({3}, {0, 0, 0})});
    expect_values(none[0], {}, {0});
    expect_values(none[1], {}, {0});
}

TEST(TextForward, AttentionCountsItsProducts) {
    const graph::OpDef& forward = ops::op_table()[static_cast<std::size_t>(OpKind::attention)];
    const TensorDesc q{DType::f32, {2, 5, 24}};
    const TensorDesc mask{DType::f32, {2, 5}};
    const std::vector<TensorDesc> inputs = {q, q, q, mask};
    EXPECT_EQ(forward.flops(AttentionAttrs{.heads = 3}, inputs, {}), 4.0 * 2 * 5 * 5 * 24);
    const graph::OpDef& backward = ops::op_table()[static_cast<std::size_t>(OpKind::attention_grad)];
    const std::vector<TensorDesc> packed = {{DType::f32, {2, 5, 72}}, mask, q, {DType::f32, {2, 3, 5}}, q};
    EXPECT_EQ(backward.flops(AttentionAttrs{.heads = 3}, packed, {}), 8.0 * 2 * 5 * 5 * 24);
}

}  // namespace
}  // namespace cnntrain::test
