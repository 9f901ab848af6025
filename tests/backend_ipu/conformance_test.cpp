// The IPU backend against ref, case by case.
#include <gtest/gtest.h>

#include <algorithm>
#include <ostream>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/backend/backends.h"
#include "support/op_cases.h"

namespace cnntrain::test {
namespace {

constexpr unsigned kTiles = 8;  // fewer than an IPU has: programs are made faster, and their numbers are the same

/// Operations that one file lowers.
struct Family {
    std::string_view name;
    std::vector<OpKind> kinds;
};

void PrintTo(const Family& family, std::ostream* out) {  // NOLINT(readability-identifier-naming)
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
          OpKind::group_norm_inference, OpKind::group_norm_grad, OpKind::layer_norm, OpKind::layer_norm_grad,
          OpKind::standardise, OpKind::fold_norm_weight, OpKind::fold_norm_bias}},
        {"pointwise",
         {OpKind::constant, OpKind::scale, OpKind::cast, OpKind::add, OpKind::activation, OpKind::activation_grad,
          OpKind::normalise_image}},
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

/// Cases of which PopLibs defines a gradient otherwise.
struct Otherwise {
    std::string_view name;
    std::string_view output;
    std::string_view reason;
};
constexpr Otherwise kOtherwise[] = {
    {"max_pool/ties", "grad/x", "every element that equals the maximum gets the gradient, not the first one only"},
};

/// compare_with_ref(), without the outputs of kOtherwise, which must differ.
std::string differences(const backend::Backend& ipu, const OpCase& op_case) {
    std::string text = compare_with_ref(ipu, op_case);
    for (const Otherwise& other : kOtherwise) {
        if (!op_case.name.starts_with(other.name)) continue;
        if (text.empty()) return op_case.name + " agrees, although " + std::string(other.reason);
        std::istringstream lines(text);
        text.clear();
        for (std::string line; std::getline(lines, line);) {
            if (!line.starts_with(other.output) && !line.ends_with("on ipu:")) text += line + "\n";
        }
    }
    return text;
}

class IpuConformance : public testing::TestWithParam<Family> {
protected:
    void check(bool half) {
        const auto ipu = backend::make_ipu_backend({.tiles_per_ipu = kTiles});
        int count = 0;
        for (const OpCase& op_case : op_cases()) {
            if (op_case.name.ends_with("/bf16") != half) continue;
            if (std::ranges::find(GetParam().kinds, op_case.kind) == GetParam().kinds.end()) continue;
            EXPECT_EQ(differences(*ipu, in_half(op_case)), "");
            ++count;
        }
        EXPECT_GT(count, 0);
    }
};

TEST_P(IpuConformance, InFloatAgreesWithRef) {
    check(/*half=*/false);
}

/// The tolerance of the cases is that of bfloat16, whose numbers have three bits less.
TEST_P(IpuConformance, InHalfAgreesWithRef) {
    check(/*half=*/true);
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
