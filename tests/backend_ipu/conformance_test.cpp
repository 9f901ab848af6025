// The IPU backend against ref, case by case.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/ipu.h"
#include "cnntrain/backend/ref.h"
#include "support/op_cases.h"

namespace cnntrain::test {
namespace {

using graph::OpKind;

constexpr unsigned kTiles = 8;  // fewer than an IPU has: programs are made faster, and their numbers are the same

/// Operations that one file lowers.
struct Family {
    std::string_view name;
    std::vector<OpKind> kinds;
};

void PrintTo(const Family& family, std::ostream* out) {
    *out << family.name;
}

std::vector<Family> families() {
    return {
        {"attention", {OpKind::attention_mask, OpKind::attention}},
        {"conv", {OpKind::conv2d, OpKind::conv2d_input_grad, OpKind::conv2d_weight_grad}},
        {"dense",
         {OpKind::dense, OpKind::dense_input_grad, OpKind::dense_weight_grad, OpKind::bias_grad,
          OpKind::batched_matmul}},
        {"gate", {OpKind::scale_channels}},
        {"loss", {OpKind::softmax_cross_entropy, OpKind::top_k_correct}},
        {"mixing", {OpKind::mix_images, OpKind::mixed_cross_entropy}},
        {"norm",
         {OpKind::batch_norm, OpKind::batch_norm_inference, OpKind::batch_norm_grad, OpKind::group_norm,
          OpKind::group_norm_grad, OpKind::layer_norm, OpKind::layer_norm_grad, OpKind::standardise,
          OpKind::fold_norm_weight, OpKind::fold_norm_bias}},
        {"pointwise",
         {OpKind::constant, OpKind::scale, OpKind::cast, OpKind::add, OpKind::activation, OpKind::normalise_image}},
        {"pool", {OpKind::max_pool, OpKind::global_average_pool, OpKind::shortcut_pad}},
        {"proxy_norm",
         {OpKind::proxy_norm_rows, OpKind::proxy_norm_rows_grad, OpKind::proxy_norm_gradient,
          OpKind::proxy_norm_statistics}},
        {"random", {OpKind::random_scale}},
        {"token", {OpKind::embedding, OpKind::embedding_grad, OpKind::gather_rows, OpKind::token_cross_entropy}},
        {"update",
         {OpKind::update, OpKind::scaled_update, OpKind::gradient_factor, OpKind::moving_average_update,
          OpKind::round_copy}},
        {"view", {OpKind::reshape, OpKind::transpose, OpKind::slice, OpKind::slice_grad}},
    };
}

/// Cases in which PopLibs or the hardware defines something else than ref.
struct Difference {
    std::string_view name;
    std::string_view message;  // of the comparison, in part
    std::string_view reason;
};

constexpr Difference kDifferences[] = {
    {"max_pool/ties/f32", "grad/x: 87 of 384 elements differ",
     "popnn gives the gradient to every element of a window that equals the maximum, not to the first one"},
    {"cast/to_bf16/f32", "IPUs do not compute in bf16", "the only half precision of an IPU is float16"},
    {"cast/rank_3/f32", "IPUs do not compute in bf16", "the only half precision of an IPU is float16"},
    {"cast/rank_4/f32", "IPUs do not compute in bf16", "the only half precision of an IPU is float16"},
    {"cast/rank_5/f32", "IPUs do not compute in bf16", "the only half precision of an IPU is float16"},
};

class IpuConformance : public testing::TestWithParam<Family> {};

TEST_P(IpuConformance, AgreesWithRef) {
    const auto ipu = backend::make_ipu_backend({.tiles_per_ipu = kTiles});
    int count = 0;
    for (const OpCase& op_case : op_cases()) {
        if (op_case.name.ends_with("/bf16")) continue;
        if (std::ranges::find(GetParam().kinds, op_case.kind) == GetParam().kinds.end()) continue;
        ++count;
        const std::string result = compare_with_ref(*ipu, op_case);
        const auto* difference = std::ranges::find(kDifferences, op_case.name, &Difference::name);
        if (difference == std::end(kDifferences)) {
            EXPECT_EQ(result, "");
        } else {
            EXPECT_THAT(result, testing::HasSubstr(difference->message)) << difference->reason;
        }
    }
    EXPECT_GT(count, 0);
}

INSTANTIATE_TEST_SUITE_P(Families, IpuConformance, testing::ValuesIn(families()),
                         [](const auto& family) { return std::string(family.param.name); });

TEST(IpuConformanceCases, EachBelongsToAFamily) {
    for (const OpCase& op_case : op_cases()) {
        EXPECT_TRUE(std::ranges::any_of(families(), [&](const Family& family) {
            return std::ranges::find(family.kinds, op_case.kind) != family.kinds.end();
        })) << op_case.name;
    }
}

}  // namespace
}  // namespace cnntrain::test
