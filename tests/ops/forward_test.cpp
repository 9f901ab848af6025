// The naive evaluators against numbers worked out by hand: they judge all other kernels, and nothing else judges them.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numeric>

#include "cnntrain/base/rng.h"
#include "ops/run_op.h"
#include "support/graph_names.h"
#include "support/matchers.h"

namespace cnntrain::test {
namespace {

using graph::Activation;
using testing::Pointwise;

TEST(Forward, Pointwise) {
    expect_values(run(OpKind::scale, graph::ScaleAttrs{2.5}, {tensor({}, {4})})[0], {}, {10});
    expect_values(run(OpKind::constant, graph::ConstantAttrs{2.5, {DType::f32, {2}}}, {})[0], {2}, {2.5, 2.5});
    const RefTensor cast = run(OpKind::cast, graph::CastAttrs{DType::bf16}, {tensor({2}, {1, -2})})[0];
    EXPECT_EQ(cast.desc.dtype, DType::bf16);
    expect_values(cast, {2}, {1, -2});
    expect_values(run(OpKind::add, graph::NoAttrs{}, {tensor({2}, {1, 2}), tensor({2}, {10, -20})})[0], {2}, {11, -18});
    expect_values(run(OpKind::activation, graph::ActivationAttrs{Activation::relu}, {tensor({3}, {-1, 0, 2})})[0], {3},
                  {0, 0, 2});
    const double half = 1 / (1 + std::exp(0.5));  // sigmoid(-0.5)
    expect_values(run(OpKind::activation, graph::ActivationAttrs{Activation::sigmoid}, {tensor({2}, {0, -0.5})})[0],
                  {2}, {0.5, half});
    expect_values(run(OpKind::activation, graph::ActivationAttrs{Activation::swish}, {tensor({2}, {0, -0.5})})[0], {2},
                  {0, -0.5 * half});
    expect_values(run(OpKind::activation_grad, graph::ActivationAttrs{Activation::sigmoid},
                      {tensor({1}, {0.25}), tensor({1}, {2})})[0],
                  {1}, {0.375});
    expect_values(run(OpKind::activation_grad, graph::ActivationAttrs{Activation::swish},
                      {tensor({1}, {0}), tensor({1}, {3})})[0],
                  {1}, {1.5});
    expect_values(run(OpKind::scale_channels, graph::NoAttrs{},
                      {tensor({2, 1, 1, 2}, {1, 2, 3, 4}), tensor({2, 2}, {10, 0.5, 0, 2})})[0],
                  {2, 1, 1, 2}, {10, 1, 0, 8});
    EXPECT_TRUE(std::isnan(
        run(OpKind::activation, graph::ActivationAttrs{Activation::relu}, {tensor({1}, {std::nan("")})})[0].values[0]));
    expect_values(run(OpKind::activation_grad, graph::ActivationAttrs{Activation::relu},
                      {tensor({3}, {0, 0.1, 5}), tensor({3}, {7, 8, -9})})[0],
                  {3}, {0, 8, -9});
    expect_values(run(OpKind::activation, graph::ActivationAttrs{Activation::relu6}, {tensor({4}, {-1, 2, 6, 7})})[0],
                  {4}, {0, 2, 6, 6});
    expect_values(run(OpKind::activation_grad, graph::ActivationAttrs{Activation::relu6},
                      {tensor({4}, {0, 2, 5.9, 6}), tensor({4}, {7, 8, 9, 10})})[0],
                  {4}, {0, 8, 9, 0});
}

/// Values and slopes of torch.nn.functional.gelu in float64 (approximate 'none' and 'tanh').
TEST(Forward, Gelu) {
    const auto both = [](Activation activation, double x) {
        const graph::ActivationAttrs attrs{activation};
        const double y = run(OpKind::activation, attrs, {tensor({1}, {x})})[0].values[0];
        const double dx = run(OpKind::activation_grad, attrs, {tensor({1}, {x}), tensor({1}, {1})})[0].values[0];
        return std::pair{y, dx};
    };
    EXPECT_THAT(both(Activation::gelu, -3.0),
                Pair(DoubleNear(-0.00404969409489031, 1e-12), DoubleNear(-0.0119456472041839, 1e-12)));
    EXPECT_THAT(both(Activation::gelu, -0.5),
                Pair(DoubleNear(-0.154268769362993, 1e-12), DoubleNear(0.132504875343837, 1e-12)));
    EXPECT_THAT(both(Activation::gelu, 0.0), Pair(DoubleNear(0, 1e-12), DoubleNear(0.5, 1e-12)));
    EXPECT_THAT(both(Activation::gelu, 0.75),
                Pair(DoubleNear(0.580029485717349, 1e-12), DoubleNear(0.999225721739235, 1e-12)));
    EXPECT_THAT(both(Activation::gelu, 4.0),
                Pair(DoubleNear(3.99987331503267, 1e-12), DoubleNear(1.00050364966123, 1e-12)));
    EXPECT_THAT(both(Activation::gelu_tanh, -3.0),
                Pair(DoubleNear(-0.00363739208177299, 1e-12), DoubleNear(-0.0115841666309696, 1e-12)));
    EXPECT_THAT(both(Activation::gelu_tanh, -0.5),
                Pair(DoubleNear(-0.154285990174856, 1e-12), DoubleNear(0.132630096465358, 1e-12)));
    EXPECT_THAT(both(Activation::gelu_tanh, 0.0), Pair(DoubleNear(0, 1e-12), DoubleNear(0.5, 1e-12)));
    EXPECT_THAT(both(Activation::gelu_tanh, 0.75),
                Pair(DoubleNear(0.57996055516562, 1e-12), DoubleNear(0.998938256137414, 1e-12)));
    EXPECT_THAT(both(Activation::gelu_tanh, 4.0),
                Pair(DoubleNear(3.99992975405181, 1e-12), DoubleNear(1.00033512319712, 1e-12)));
    EXPECT_TRUE(std::isnan(both(Activation::gelu, std::nan("")).first));
}

TEST(Forward, NormaliseImage) {
    const graph::NormaliseImageAttrs attrs{{0.5, 2}, {-1, 1}, DType::bf16};
    const RefTensor y = run(OpKind::normalise_image, attrs, {tensor({1, 1, 2, 2}, {0, 1, 255, 3}, DType::u8)})[0];
    EXPECT_EQ(y.desc.dtype, DType::bf16);
    expect_values(y, {1, 1, 2, 2}, {-1, 3, 126.5, 7});
}

TEST(Forward, ShortcutPad) {
    const RefTensor x = tensor({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    const RefTensor y = run(OpKind::shortcut_pad, graph::ShortcutPadAttrs{2, 2, {}}, {x})[0];
    expect_values(y, {1, 2, 2, 2}, {1, 0, 3, 0, 7, 0, 9, 0});
    const RefTensor dy = tensor({1, 2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
    const RefTensor dx = run(OpKind::shortcut_pad_grad, graph::ShortcutPadAttrs{2, 1, {1, 3, 3, 1}}, {dy})[0];
    expect_values(dx, {1, 3, 3, 1}, {1, 0, 3, 0, 0, 0, 5, 0, 7});
}

TEST(Padding, FollowsTensorFlowsSameRule) {
    EXPECT_EQ(graph::same_padding(224, 224, 7, 2), (graph::Padding{2, 3, 2, 3}));
    EXPECT_EQ(graph::same_padding(8, 7, 3, 2), (graph::Padding{0, 1, 1, 1}));
    EXPECT_EQ(graph::same_padding(5, 5, 3, 1), (graph::Padding{1, 1, 1, 1}));
    EXPECT_EQ(graph::same_padding(8, 8, 1, 2), (graph::Padding{}));
}

/// x = 1..9, w = [[1, 2], [3, 4]], padded below and to the right as SAME does.
TEST(Forward, Conv) {
    const RefTensor x = tensor({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    const RefTensor w = tensor({2, 2, 1, 1}, {1, 2, 3, 4});
    graph::ConvAttrs attrs;
    attrs.padding = graph::same_padding(3, 3, 2, 1);
    expect_values(run(OpKind::conv2d, attrs, {x, w})[0], {1, 3, 3, 1}, {37, 47, 21, 67, 77, 33, 23, 26, 9});
    attrs.stride = 2;
    attrs.padding = graph::same_padding(3, 3, 2, 2);
    expect_values(run(OpKind::conv2d, attrs, {x, w})[0], {1, 2, 2, 1}, {37, 21, 23, 9});

    attrs.bias = true;
    attrs.residual = true;
    attrs.activation = Activation::relu;
    const RefTensor residual = tensor({1, 2, 2, 1}, {0, -20, -30, 100});
    expect_values(run(OpKind::conv2d, attrs, {x, w, tensor({1}, {-2}), residual})[0], {1, 2, 2, 1}, {35, 0, 0, 107});
}

/// Two groups of one channel each, two outputs per group: y = x[group] * w[o].
TEST(Forward, GroupedConv) {
    const RefTensor x = tensor({1, 1, 1, 2}, {10, 100});
    const RefTensor w = tensor({1, 1, 1, 4}, {1, 2, 3, 4});
    graph::ConvAttrs attrs;
    attrs.groups = 2;
    expect_values(run(OpKind::conv2d, attrs, {x, w})[0], {1, 1, 1, 4}, {10, 20, 300, 400});
}

TEST(Forward, ConvGradients) {
    const RefTensor x = tensor({1, 3, 3, 1}, {1, 2, 3, 4, 5, 6, 7, 8, 9});
    const RefTensor w = tensor({2, 2, 1, 1}, {1, 2, 3, 4});
    const RefTensor dy = tensor({1, 2, 2, 1}, {1, 10, 100, 1000});
    graph::ConvAttrs attrs;
    attrs.result_shape = x.desc.shape;
    expect_values(run(OpKind::conv2d_input_grad, attrs, {dy, w})[0], {1, 3, 3, 1},
                  {1, 12, 20, 103, 1234, 2040, 300, 3400, 4000});
    attrs.result_shape = w.desc.shape;
    expect_values(run(OpKind::conv2d_weight_grad, attrs, {x, dy})[0], {2, 2, 1, 1}, {5421, 6532, 8754, 9865});
}

TEST(Forward, MaxPool) {
    // The largest is -1: padding must not win. Window (1, 1) holds one pixel.
    const RefTensor x = tensor({1, 3, 3, 1}, {-5, -5, -3, -4, -1, -1, -9, -7, -2});
    const graph::PoolAttrs attrs{2, 2, graph::same_padding(3, 3, 2, 2)};
    expect_values(run(OpKind::max_pool, attrs, {x})[0], {1, 2, 2, 1}, {-1, -1, -7, -2});
    const graph::PoolAttrs overlapping{2, 1, {}};
    const RefTensor dy = tensor({1, 2, 2, 1}, {1, 10, 100, 1000});
    // All windows contain the first -1; the second one ties with it and gets nothing.
    expect_values(run(OpKind::max_pool_grad, overlapping, {x, dy})[0], {1, 3, 3, 1}, {0, 0, 0, 0, 1111, 0, 0, 0, 0});
}

TEST(Forward, GlobalAveragePool) {
    const RefTensor x = tensor({2, 1, 2, 2}, {1, 10, 3, 20, 5, 50, 6, 70});
    expect_values(run(OpKind::global_average_pool, graph::NoAttrs{}, {x})[0], {2, 2}, {2, 15, 5.5, 60});
    const graph::ResultAttrs attrs{x.desc};
    expect_values(run(OpKind::global_average_pool_grad, attrs, {tensor({2, 2}, {1, 2, 3, 4})})[0], {2, 1, 2, 2},
                  {0.5, 1, 0.5, 1, 1.5, 2, 1.5, 2});
}

TEST(Forward, Dense) {
    const RefTensor x = tensor({2, 2}, {1, 2, 3, 4});
    const RefTensor w = tensor({2, 3}, {1, 2, 3, 4, 5, 6});
    const RefTensor dy = tensor({2, 3}, {1, 0, 2, 0, 1, 1});
    expect_values(run(OpKind::dense, graph::DenseAttrs{}, {x, w, tensor({3}, {0.5, 0, -1})})[0], {2, 3},
                  {9.5, 12, 14, 19.5, 26, 32});
    expect_values(run(OpKind::dense_input_grad, graph::DenseAttrs{}, {dy, w})[0], {2, 2}, {7, 16, 5, 11});
    expect_values(run(OpKind::dense_weight_grad, graph::DenseAttrs{}, {x, dy})[0], {2, 3}, {1, 3, 5, 2, 4, 8});
    expect_values(run(OpKind::bias_grad, graph::NoAttrs{}, {dy})[0], {3}, {1, 1, 3});
}

/// Channel 0: 1, 3 (mean 2, variance 1); channel 1: 0, 8 (mean 4, variance 16). Epsilon makes the roots 2 and 4.
TEST(Forward, BatchNorm) {
    const RefTensor x = tensor({2, 1, 1, 2}, {1, 0, 3, 8});
    const RefTensor gamma = tensor({2}, {2, 4});
    const RefTensor beta = tensor({2}, {10, 0});
    graph::NormAttrs attrs;
    attrs.epsilon = 3;
    const auto plain = run(OpKind::batch_norm, attrs, {x, gamma, beta});
    const double second = 16 / std::sqrt(19.0);
    expect_values(plain[0], {2, 1, 1, 2}, {9, -second, 11, second});
    expect_values(plain[1], {2}, {2, 4});
    expect_values(plain[2], {2}, {1, 16});

    attrs.residual = true;
    attrs.activation = Activation::relu;
    const RefTensor residual = tensor({2, 1, 1, 2}, {-20, 1, 1, 1});
    expect_values(run(OpKind::batch_norm, attrs, {x, gamma, beta, residual})[0], {2, 1, 1, 2}, {0, 0, 12, second + 1});

    const RefTensor mean = tensor({2}, {1, 0});
    const RefTensor variance = tensor({2}, {1, 13});
    expect_values(run(OpKind::batch_norm_inference, attrs, {x, gamma, beta, mean, variance, residual})[0], {2, 1, 1, 2},
                  {0, 1, 13, 9});
}

/// One sample, four channels in two contiguous groups: (1, 3) and (0, 8).
TEST(Forward, GroupNormHasContiguousGroups) {
    graph::NormAttrs attrs;
    attrs.epsilon = 0;
    attrs.groups = 2;
    const RefTensor ones = tensor({4}, {1, 1, 1, 2});
    const RefTensor zeros = tensor({4}, {0, 0, 0, 0});
    const auto results = run(OpKind::group_norm, attrs, {tensor({1, 1, 1, 4}, {1, 3, 0, 8}), ones, zeros});
    expect_values(results[0], {1, 1, 1, 4}, {-1, 1, -1, 2});
    expect_values(results[1], {1, 2}, {2, 4});
    expect_values(results[2], {1, 2}, {1, 16});
}

/// x-hat = -1, 1 and gamma / root = 1: dx = dy - mean(dy) - x-hat * mean(dy * x-hat), which is 0 for two elements.
TEST(Forward, BatchNormGradient) {
    graph::NormAttrs attrs;
    attrs.epsilon = 0;
    const RefTensor x = tensor({2, 1, 1, 1}, {1, 3});
    const RefTensor one = tensor({1}, {1});
    const RefTensor beta = tensor({1}, {0.5});
    const std::vector<RefTensor> head = {x, one, beta, tensor({1}, {2}), one};
    std::vector<RefTensor> inputs = head;
    inputs.push_back(tensor({2, 1, 1, 1}, {5, 7}));
    auto results = run(OpKind::batch_norm_grad, attrs, inputs);
    expect_values(results[0], {2, 1, 1, 1}, {0, 0});
    expect_values(results[1], {1}, {2});
    expect_values(results[2], {1}, {12});

    // The activation's input is -0.5, 1.5: the first gradient is masked. dy = 4 + 3.
    attrs.activation = Activation::relu;
    attrs.summed_gradient = true;
    inputs = head;
    inputs.push_back(tensor({2, 1, 1, 1}, {5, 4}));
    inputs.push_back(tensor({2, 1, 1, 1}, {5, 3}));
    results = run(OpKind::batch_norm_grad, attrs, inputs);
    expect_values(results[1], {1}, {7});
    expect_values(results[2], {1}, {7});

    // The output y decides on the mask if there is a residual, and the masked sum is the residual's gradient.
    attrs.residual = true;
    inputs.push_back(tensor({2, 1, 1, 1}, {0.1, 0}));
    results = run(OpKind::batch_norm_grad, attrs, inputs);
    expect_values(results[1], {1}, {-10});
    expect_values(results[3], {2, 1, 1, 1}, {10, 0});
}

TEST(Forward, Standardise) {
    const RefTensor x = tensor({2, 1, 1, 2}, {1, 2, 3, 4});
    const RefTensor mean = tensor({2}, {1, -1});
    const RefTensor scale = tensor({2}, {2, 0.5});
    expect_values(run(OpKind::standardise, graph::StandardiseAttrs{}, {x, mean, scale})[0], {2, 1, 1, 2},
                  {0, 1.5, 4, 2.5});
    expect_values(run(OpKind::standardise, graph::StandardiseAttrs{true, false}, {x, mean})[0], {2, 1, 1, 2},
                  {0, 3, 2, 5});
    const auto gradients = run(OpKind::standardise_grad, graph::StandardiseAttrs{},
                               {tensor({2, 2}, {0, 1.5, 4, 2.5}), scale, tensor({2, 2}, {1, 1, 1, -2})});
    expect_values(gradients[0], {2, 2}, {2, 0.5, 2, -1});
    expect_values(gradients[1], {2}, {-4, 0.5});
    expect_values(gradients[2], {2}, {2, -7});
}

TEST(Forward, ProxyNorm) {
    const RefTensor proxy = tensor({6, 1, 1, 2}, {0.5, 0, 2, 0, 7, 7, 7, 7, 0.25, 3, 1, 3});
    const auto rows = run(OpKind::proxy_norm_rows, graph::ProxyNormAttrs{}, {proxy});
    ASSERT_EQ(rows.size(), 4U);
    expect_values(rows[0], {2}, {0.5, 0});
    expect_values(rows[1], {2}, {2, 0});
    expect_values(rows[2], {2}, {7, 7});
    expect_values(run(OpKind::proxy_norm_rows_grad, graph::ProxyNormAttrs{.rows = {1, 3}},
                      {tensor({2}, {1, 2}), tensor({2}, {3, 4})})[0],
                  {6, 1, 1, 2}, {0, 0, 1, 2, 0, 0, 3, 4, 0, 0, 0, 0});

    // A sample without an activation is normal itself: u = 2 * ((1 + 1) * z + 0.25) + 0.5 = 4 * z + 1; and a gamma of 0
    // leaves the second channel no spread.
    const graph::ProxyNormAttrs linear{.activation = Activation::none, .epsilon = 0.04, .weight_decay = 5, .rows = {}};
    const std::vector<double> z = normal_quantiles(graph::kProxySamples);
    const double square = std::inner_product(z.begin(), z.end(), z.begin(), 0.0) / graph::kProxySamples;
    const double inverse = 1 / std::sqrt(16 * square + 0.04);
    expect_values(run(OpKind::proxy_norm_statistics, linear, {proxy})[0], {6, 1, 1, 2},
                  {0.5, 0, 2, 0, 1, 0, inverse, 5, 0.25, 3, 1, 3});

    // Mean 1 = beta + gamma * beta'; the variance is square * (gamma * (1 + gamma'))^2.
    const RefTensor arriving = tensor({6, 1, 1, 2}, {1, 0, 0, 0, 3, 0, 100, 0, 0, 0, 0, 0});
    const double by_stretch = 100 * -0.5 * std::pow(inverse, 3) * 2 * square * 4;
    expect_values(run(OpKind::proxy_norm_gradient, linear, {proxy, arriving, tensor({}, {2})})[0], {6, 1, 1, 2},
                  {1 + 3, 0, 3 * 0.25 + by_stretch * 2, 0, 0, 0, 0, 0, 3 * 2 + 2.5, 30, by_stretch * 2 + 10, 30});
}

TEST(Forward, FoldNorm) {
    const graph::FoldNormAttrs attrs{3, DType::bf16};
    const RefTensor gamma = tensor({2}, {2, 3});
    const RefTensor variance = tensor({2}, {1, 6});
    const RefTensor w = run(OpKind::fold_norm_weight, attrs, {tensor({1, 1, 1, 2}, {5, 7}), gamma, variance})[0];
    EXPECT_EQ(w.desc.dtype, DType::bf16);
    expect_values(w, {1, 1, 1, 2}, {5, 7});
    const RefTensor beta = tensor({2}, {1, 1});
    const RefTensor mean = tensor({2}, {4, -4});
    expect_values(run(OpKind::fold_norm_bias, attrs, {gamma, beta, mean, variance})[0], {2}, {-3, 5});
}

/// Logits 0, 0: loss log 2. Logits log 3, 0: probabilities 3/4, 1/4.
TEST(Forward, SoftmaxCrossEntropy) {
    const double log3 = std::log(3.0);
    const RefTensor logits = tensor({4, 2}, {0, 0, log3, 0, log3, 0, 1e4, -1e4});
    const RefTensor labels = tensor({4}, {0, 1, -1, 2}, DType::i32);
    const graph::SoftmaxAttrs plain{0};
    auto results = run(OpKind::softmax_cross_entropy, plain, {logits, labels});
    expect_values(results[0], {}, {std::log(2.0) + std::log(4.0)});
    expect_values(results[1], {}, {1});  // a tie goes to the first class
    const RefTensor dloss = tensor({}, {8});
    expect_values(run(OpKind::softmax_cross_entropy_grad, plain, {logits, labels, dloss})[0], {4, 2},
                  {-4, 4, 6, -6, 0, 0, 0, 0});

    const graph::SoftmaxAttrs smoothed{0.25};
    results = run(OpKind::softmax_cross_entropy, smoothed, {logits, labels});
    expect_values(results[0], {}, {std::log(2.0) + 0.75 * std::log(4.0) + 0.25 * std::log(4.0 / 3)});
    expect_values(run(OpKind::softmax_cross_entropy_grad, smoothed, {logits, labels, dloss})[0], {4, 2},
                  {-2, 2, 4, -4, 0, 0, 0, 0});
}

/// Numbers of PyTorch's kl_div in float64.
TEST(Forward, Distillation) {
    const RefTensor logits = tensor({3, 3}, {1, 2, -1, 0.5, 0, 3, 9, 0, 0});
    const RefTensor labels = tensor({3}, {0, 2, -1}, DType::i32);
    const RefTensor teacher = tensor({3, 3}, {3, 0, 1, -1, 2, 0, 0, 0, 9});
    const graph::DistillationAttrs attrs{2};
    expect_values(run(OpKind::distillation, attrs, {logits, labels, teacher})[0], {}, {3.9331389098709177});
    expect_values(run(OpKind::distillation_grad, attrs, {logits, labels, teacher, tensor({}, {1})})[0], {3, 3},
                  {-0.5940655175753419, 0.8126100082001824, -0.21854449062484044, 0.09907954656368578,
                   -0.9614553391111349, 0.862375792547449, 0, 0, 0});
}

/// Numbers of PyTorch's binary_cross_entropy_with_logits(pos_weight) and torchvision's sigmoid_focal_loss in float64.
TEST(Forward, SigmoidCrossEntropy) {
    const RefTensor logits = tensor({3, 3}, {1, -2, 0.5, 3, -0.25, -4, 9, 9, 9});
    const RefTensor labels = tensor({3, 3}, {1, 0, 1, 0, 1, 0, -1, -1, -1}, DType::i32);
    const auto expect = [&](const graph::SigmoidAttrs& attrs, double loss, std::vector<double> gradient) {
        const std::vector<RefTensor> sums = run(OpKind::sigmoid_cross_entropy, attrs, {logits, labels});
        expect_values(sums[0], {}, {loss});
        expect_values(sums[1], {}, {4.0 / 3});
        gradient.insert(gradient.end(), {0, 0, 0});
        expect_values(run(OpKind::sigmoid_cross_entropy_grad, attrs, {logits, labels, tensor({}, {1})})[0], {3, 3},
                      gradient);
    };
    expect({{2, 0.5, 3}}, 1.885129776016904,
           {-0.17929428091333005, 0.03973430734070585, -0.37754066879814535, 0.3175247089408111, -0.09369608348096634,
            0.005995403320697186});
    expect({.focus = 2}, 1.0397844383195425,
           {-0.017527043325853538, 0.0016236467317975907, -0.04597899911697147, 0.37558329354496267,
            -0.13541447100067575, 5.783510407179187e-06});
}

TEST(Forward, SigmoidCrossEntropyDoesNotOverflow) {
    const RefTensor logits = tensor({1, 3}, {1e4, -1e4, 1e4});
    const RefTensor labels = tensor({1, 3}, {0, 1, 1}, DType::i32);
    for (const double focus : {0.0, 2.0}) {
        const graph::SigmoidAttrs attrs{.focus = focus};
        expect_values(run(OpKind::sigmoid_cross_entropy, attrs, {logits, labels})[0], {}, {2e4 / 3});
        expect_values(run(OpKind::sigmoid_cross_entropy_grad, attrs, {logits, labels, tensor({}, {3})})[0], {1, 3},
                      {1, -1, 0});
    }
}

TEST(Forward, SoftmaxCrossEntropyDoesNotOverflow) {
    const RefTensor logits = tensor({1, 2}, {1e4, -1e4});
    const auto results =
        run(OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{0}, {logits, tensor({1}, {1}, DType::i32)});
    expect_values(results[0], {}, {2e4});
    expect_values(results[1], {}, {0});
}

TEST(Forward, TopKCorrect) {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const RefTensor logits = tensor({8, 4}, {
                                                4,   3, 2, 1,    // label 1: second
                                                4,   3, 2, 1,    // label 2: third
                                                1,   2, 2, 0,    // label 2: a tie for the first place, won by class 1
                                                2,   2, 2, 0,    // label 2: the third of three that are equal
                                                nan, 3, 2, 1,    // label 1: after what is not a number
                                                0,   1, 2, nan,  // label 3: its own is not a number
                                                9,   0, 0, 0,    // padding
                                                9,   0, 0, 0,    // a label that is no class
                                            });
    const RefTensor labels = tensor({8}, {1, 2, 2, 2, 1, 3, -1, 4}, DType::i32);
    const auto count = [&](std::int64_t k) {
        return run(OpKind::top_k_correct, graph::TopKAttrs{k}, {logits, labels})[0].values[0];
    };
    EXPECT_EQ(count(1), 0);
    EXPECT_EQ(count(2), 3);
    EXPECT_EQ(count(3), 5);
}

/// The new target and slots after one update.
std::vector<RefTensor> updated(const graph::UpdateAttrs& attrs, const RefTensor& target, const RefTensor& gradient,
                               double learning_rate, const std::vector<RefTensor>& slots, double step = 1) {
    std::vector<RefTensor> inputs = {target, gradient, tensor({}, {learning_rate}), tensor({}, {step}),
                                     tensor({}, {1})};
    inputs.insert(inputs.end(), slots.begin(), slots.end());
    return run(OpKind::update, attrs, inputs);
}

/// g = 0.5 * gradient + 0.1 * target = 2.1, 0; r = 0.2 * 0.5.
TEST(Forward, RmsProp) {
    const graph::UpdateAttrs attrs{.rule = graph::UpdateRule::rmsprop,
                                   .gradient_scale = 0.5,
                                   .weight_decay = 0.1,
                                   .learning_rate_scale = 0.5,
                                   .momentum = 0.9,
                                   .decay = 0.75,
                                   .epsilon = 0.1};
    const auto result =
        updated(attrs, tensor({2}, {1, 2}), tensor({2}, {4, -0.4}), 0.2, {tensor({2}, {10, 3}), tensor({2}, {1, 0})});
    const double mean_square = 0.75 + 0.25 * 2.1 * 2.1;
    const double velocity = 9 + 0.1 * 2.1 / std::sqrt(mean_square + 0.1);
    expect_values(result[1], {2}, {velocity, 2.7});
    expect_values(result[2], {2}, {mean_square, 0});
    expect_values(result[0], {2}, {1 - velocity, 2 - 2.7});
}

TEST(Forward, RmsPropWithoutGradientAndEpsilonStandsStill) {
    const graph::UpdateAttrs attrs{.rule = graph::UpdateRule::rmsprop, .decay = 0.5};
    const RefTensor zero = tensor({1}, {0});
    expect_values(updated(attrs, tensor({1}, {3}), zero, 1, {zero, zero})[0], {1}, {3});
}

/// |p| = 5, |g| = 10 with g = 0.5 * gradient.
TEST(Forward, Lars) {
    graph::UpdateAttrs attrs{.rule = graph::UpdateRule::lars,
                             .gradient_scale = 0.5,
                             .momentum = 0.9,
                             .epsilon = 1,
                             .rule_weight_decay = 0.5,
                             .trust_scale = 0.02};
    const RefTensor target = tensor({2}, {3, 4});
    const RefTensor gradient = tensor({2}, {12, -16});
    const double rate = 0.2 * (0.02 * 5 / (10 + 0.5 * 5 + 1));
    auto result = updated(attrs, target, gradient, 0.2, {tensor({2}, {1, 2})});
    expect_values(result[1], {2}, {0.9 + rate * 7.5, 1.8 - rate * 6});
    expect_values(result[0], {2}, {3 - (0.9 + rate * 7.5), 4 - (1.8 - rate * 6)});
    attrs.adapts = false;
    attrs.rule_weight_decay = 0;
    result = updated(attrs, target, gradient, 0.2, {tensor({2}, {1, 2})});
    expect_values(result[1], {2}, {0.9 + 0.2 * 6, 1.8 - 0.2 * 8});
}

TEST(Forward, LarsTrustsWhatHasNoNorm) {
    const graph::UpdateAttrs attrs{
        .rule = graph::UpdateRule::lars, .epsilon = 1, .rule_weight_decay = 0.5, .trust_scale = 0.02};
    const RefTensor zero = tensor({1}, {0});
    expect_values(updated(attrs, zero, tensor({1}, {4}), 0.25, {zero})[0], {1}, {-1});
    expect_values(updated(attrs, tensor({1}, {8}), zero, 0.25, {zero})[0], {1}, {8 - 0.25 * 0.5 * 8});
}

/// Three updates of w = (0.5, -1, 2) with learning rate 0.1, betas 0.9 and 0.999, epsilon 1e-6, weight decay 0.01,
/// worked out in float64 by an implementation of BERT's optimisers.
TEST(Forward, AdamWAndLamb) {
    const auto after_three = [](graph::UpdateRule rule, bool corrects_bias, bool corrects_step = false) {
        const graph::UpdateAttrs attrs{.rule = rule,
                                       .momentum = 0.9,
                                       .decay = 0.999,
                                       .epsilon = 1e-6,
                                       .rule_weight_decay = 0.01,
                                       .corrects_bias = corrects_bias,
                                       .corrects_step = corrects_step};
        std::vector<RefTensor> state = {tensor({3}, {0.5, -1, 2}), tensor({3}, {0, 0, 0}), tensor({3}, {0, 0, 0})};
        double step = 0;
        for (const auto& g :
             {tensor({3}, {0.3, -0.2, 0.1}), tensor({3}, {0.05, 0.4, -0.6}), tensor({3}, {-0.1, 0.1, 0.2})}) {
            state = updated(attrs, state[0], g, 0.1, {state[1], state[2]}, ++step);
        }
        return state[0].values;
    };
    using graph::UpdateRule;
    const auto near = [](double a, double b, double c) { return Pointwise(Near(1e-9), std::vector{a, b, c}); };
    EXPECT_THAT(after_three(UpdateRule::adamw, false), near(-0.3354157740, -1.0426126660, 2.0713351638));
    EXPECT_THAT(after_three(UpdateRule::adamw, false, true), near(0.3239343477, -0.9942355877, 2.0014608572));
    EXPECT_THAT(after_three(UpdateRule::lamb, false), near(0.0784990931, -1.0882673572, 2.0808065619));
    EXPECT_THAT(after_three(UpdateRule::lamb, true), near(0.0745680531, -1.0872995681, 2.0738283722));
}

/// Each half of the columns is a vector of its own, with |p| = 5 and 13 and |u| = 1 and 0.5.
TEST(Forward, LambOfMatricesSideBySide) {
    const graph::UpdateAttrs attrs{
        .rule = graph::UpdateRule::lamb, .momentum = 0, .decay = 0, .epsilon = 1, .column_blocks = 2};
    const RefTensor target = tensor({2, 2}, {3, 5, 4, 12});
    const RefTensor gradient = tensor({2, 2}, {1, 1, 0, 0});
    const RefTensor zero = tensor({2, 2}, {0, 0, 0, 0});
    const auto whole = updated(attrs, target, gradient, 0.1, {zero, zero});
    expect_values(whole[0], {2, 2}, {3 - 0.1 * (5 / 0.5) * 0.5, 5 - 0.1 * (13 / 0.5) * 0.5, 4, 12});
    graph::UpdateAttrs one = attrs;
    one.column_blocks = 1;
    const double trust = std::sqrt(194.0) / std::sqrt(0.5);
    expect_values(updated(one, target, gradient, 0.1, {zero, zero})[0], {2, 2},
                  {3 - 0.1 * trust * 0.5, 5 - 0.1 * trust * 0.5, 4, 12});
}

TEST(Forward, ScaledUpdateMultipliesTheGradientButNotItsDecay) {
    const graph::UpdateAttrs attrs{.gradient_scale = 0.5, .weight_decay = 0.1};
    const auto result = run(
        OpKind::scaled_update, attrs,
        {tensor({1}, {1}), tensor({1}, {4}), tensor({}, {0.2}), tensor({}, {1}), tensor({}, {8}), tensor({}, {0.25})});
    expect_values(result[0], {1}, {1 - 0.2 * (0.5 / 8 * 0.25 * 4 + 0.1)});
}

/// The gradients have the norm 0.5 * 10.
TEST(Forward, GradientFactor) {
    const auto factor = [](double limit, bool divides, double scale = 1) {
        const graph::GradientFactorAttrs attrs{0.5, limit, divides};
        const RefTensor loss_scaling = tensor({}, {4});
        return run(OpKind::gradient_factor, attrs,
                   {loss_scaling, tensor({2}, {24 * scale, 0}), tensor({1, 1}, {32 * scale})})[0]
            .values[0];
    };
    EXPECT_DOUBLE_EQ(factor(0, false), 1);
    EXPECT_DOUBLE_EQ(factor(4, false), 4.0 / 5);
    EXPECT_DOUBLE_EQ(factor(6, false), 1);
    EXPECT_DOUBLE_EQ(factor(0, true), 1.0 / 5);
    EXPECT_DOUBLE_EQ(factor(4, true), 1.0 / 5);  // limited to 4, then divided by it
    EXPECT_DOUBLE_EQ(factor(4, true, 0.1), 1);   // a norm of 0.5 is divided by nothing
    EXPECT_TRUE(std::isnan(factor(4, false, std::numeric_limits<double>::infinity())));
}

/// g = 0.5 * gradient + 0.1 * target = 2.1; r = 0.2 * 0.5.
TEST(Forward, Updates) {
    graph::UpdateAttrs attrs{.gradient_scale = 0.5, .weight_decay = 0.1, .learning_rate_scale = 0.5, .momentum = 0.9};
    const RefTensor target = tensor({1}, {1});
    const RefTensor gradient = tensor({1}, {4});
    expect_values(updated(attrs, target, gradient, 0.2, {})[0], {1}, {1 - 0.1 * 2.1});
    attrs.rule = graph::UpdateRule::momentum;
    const auto momentum = updated(attrs, target, gradient, 0.2, {tensor({1}, {10})});
    expect_values(momentum[1], {1}, {11.1});
    expect_values(momentum[0], {1}, {1 - 0.1 * 11.1});
    attrs.rule = graph::UpdateRule::nesterov;
    const auto nesterov = updated(attrs, target, gradient, 0.2, {tensor({1}, {10})});
    expect_values(nesterov[1], {1}, {11.1});
    expect_values(nesterov[0], {1}, {1 - 0.1 * (2.1 + 0.9 * 11.1)});

    const graph::MovingAverageAttrs moving{.decay = 0.75, .value_scale = 0.5};
    expect_values(run(OpKind::moving_average_update, moving, {tensor({1}, {8}), tensor({1}, {4})})[0], {1}, {6.5});
}

TEST(Flops, CountMultiplyAddsTwice) {
    const auto flops = [](OpKind kind, const Attrs& attrs, const std::vector<TensorDesc>& inputs) {
        const graph::OpDef& def = ops::op_table()[static_cast<std::size_t>(kind)];
        return def.flops(attrs, inputs, def.infer(attrs, inputs));
    };
    const TensorDesc x{DType::f32, {2, 8, 8, 16}};
    const TensorDesc w{DType::f32, {3, 3, 4, 32}};
    const TensorDesc dy{DType::f32, {2, 4, 4, 32}};
    graph::ConvAttrs attrs;
    attrs.groups = 4;
    attrs.stride = 2;
    attrs.padding = graph::same_padding(8, 8, 3, 2);
    const double conv = 2.0 * (2 * 4 * 4 * 32) * (3 * 3 * 4);
    EXPECT_EQ(flops(OpKind::conv2d, attrs, {x, w}), conv);
    attrs.result_shape = x.shape;
    EXPECT_EQ(flops(OpKind::conv2d_input_grad, attrs, {dy, w}), conv);
    attrs.result_shape = w.shape;
    EXPECT_EQ(flops(OpKind::conv2d_weight_grad, attrs, {x, dy}), conv);

    const TensorDesc rows{DType::f32, {4, 17}};
    const TensorDesc matrix{DType::f32, {17, 10}};
    EXPECT_EQ(flops(OpKind::dense, graph::DenseAttrs{}, {rows, matrix, {DType::f32, {10}}}), 2.0 * 4 * 17 * 10);
    EXPECT_EQ(flops(OpKind::dense_weight_grad, graph::DenseAttrs{}, {rows, {DType::f32, {4, 10}}}), 2.0 * 4 * 17 * 10);
    EXPECT_EQ(flops(OpKind::dense_input_grad, graph::DenseAttrs{}, {{DType::f32, {4, 10}}, matrix}), 2.0 * 4 * 17 * 10);
}

}  // namespace
}  // namespace cnntrain::test
