// Five weight updates in 32.32 are those of the reference backend.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "backend_ipu/bert_net.h"
#include "cnntrain/run/weights.h"
#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

constexpr int kUpdates = 5;

struct Result {
    std::vector<double> losses;
    std::map<std::string, HostTensor> variables;
};

template <typename Net> Result result_of(Net&& net) {
    Result result;
    for (int i = 0; i < kUpdates; ++i)
        result.losses.push_back(net.train());
    result.variables = stored_variables(net.executable());
    return result;
}

void expect_agreement(const Result& ipu, const Result& ref) {
    for (std::size_t i = 0; i < ref.losses.size(); ++i)
        EXPECT_NEAR(ipu.losses[i], ref.losses[i], 1e-5 * std::abs(ref.losses[i])) << "update " << i;
    EXPECT_NE(ref.losses.front(), ref.losses.back());
    EXPECT_LT(distance(ref.variables, ipu.variables), 1e-4);
}

void expect_agreement_of(const std::string& options) {
    const std::string line = options + " --precision 32.32 --threads 1 --backend ";
    expect_agreement(result_of(CompiledNet(Line{line + "ipu"})), result_of(CompiledNet(Line{line + "ref"})));
}

TEST(IpuAgreesWithRef, OnResNet8) {
    expect_agreement_of("--dataset cifar-10 --model-size 8 --micro-batch-size 2 --gradient-accumulation-count 2");
}

/// Sums rounded to float flip a ReLU that sums in double do not, on CPUs, too, if micro-batches have another size or
/// variances take one pass.
TEST(IpuAgreesWithRef, OnResNeXt11) {
    expect_agreement_of(
        "--dataset cifar-10 --model resnext --model-size 11 --convolution-groups 8 --batch-norm --micro-batch-size 4 "
        "--stable-norm");
}

TEST(IpuAgreesWithRef, OnEfficientNetB0WithDropConnect) {
    expect_agreement_of(
        "--dataset imagenet --image-size 64 --model efficientnet --model-size B0 --micro-batch-size 2 "
        "--block-survival-prob 0.8");
}

TEST(IpuAgreesWithRef, OnTinyBertWithDropoutAndLamb) {
    const std::string line = "--precision 32 --micro-batch-size 2 --gradient-accumulation-count 2 --backend ";
    expect_agreement(result_of(BertNet(line + "ipu")), result_of(BertNet(line + "ref")));
}

TEST(IpuAgreesWithRef, OnTinyGroupBert) {
    const std::string line =
        "--groupbert --no-static-mask --precision 32 --micro-batch-size 2 --gradient-accumulation-count 2 --backend ";
    const Result ref = result_of(BertNet(line + "ref"));
    expect_agreement(result_of(BertNet(line + "ipu")), ref);
    expect_agreement(result_of(BertNet(line + "cpu")), ref);
}

TEST(IpuAgreesWithRef, OnTinyGroupBertInHalf) {
    const std::string line = "--groupbert --no-static-mask --micro-batch-size 2 --gradient-accumulation-count 2 ";
    const Result ref = result_of(BertNet(line + "--precision 32 --backend ref"));
    const Result half = result_of(BertNet(line + "--precision 16 --backend ipu"));
    for (std::size_t i = 0; i < ref.losses.size(); ++i)
        EXPECT_NEAR(half.losses[i], ref.losses[i], 1e-2 * ref.losses[i]) << "update " << i;
}

/// The last shifts add one number to the scores of all tokens, on which a softmax over them does not depend: they start
/// from 0, and their gradients are rounding.
Result without_last_shifts(Result result) {
    std::erase_if(result.variables, [](const auto& entry) {
        return entry.first.starts_with("cls/squad/output_bias") || entry.first.starts_with("LayerNorm/beta") ||
               entry.first.starts_with("bert/encoder/layer_1/output/LayerNorm/beta");
    });
    return result;
}

/// A fine-tuning with dropout and AdamW.
struct FineTuning {
    std::string name;
    std::optional<nn::LabelKind> labels;  // of texts; without, questions are answered
    std::string options = {};
};

void PrintTo(const FineTuning& task, std::ostream* out) {  // NOLINT(readability-identifier-naming)
    *out << task.name;
}

class IpuAgreesWithRefOn : public ::testing::TestWithParam<FineTuning> {};

TEST_P(IpuAgreesWithRefOn, FineTuning) {
    const auto result_on = [](const std::string& backend) {
        const auto& [name, labels, options] = GetParam();
        const std::string line =
            options + "--precision 32 --micro-batch-size 2 --gradient-accumulation-count 2 --backend " + backend;
        if (labels) return result_of(BertNet::classifying(*labels, line));
        return without_last_shifts(result_of(BertNet::answering(line)));
    };
    expect_agreement(result_on("ipu"), result_on("ref"));
}

INSTANTIATE_TEST_SUITE_P(Tasks, IpuAgreesWithRefOn,
                         ::testing::Values(FineTuning{"questions", {}}, FineTuning{"classes", nn::LabelKind::single},
                                           FineTuning{"score", nn::LabelKind::score},
                                           FineTuning{"several", nn::LabelKind::several},
                                           FineTuning{"groupbert_questions", {}, "--groupbert "},
                                           FineTuning{"groupbert_classes", nn::LabelKind::single, "--groupbert "}),
                         [](const auto& task) { return task.param.name; });

}  // namespace
}  // namespace cnntrain::run::testing
