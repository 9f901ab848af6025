// The documented lines of one process, run for real: a few micro-batches of generated data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "cli/shell.h"

namespace cnntrain::cli {
namespace {

using ::testing::ContainsRegex;

struct DocumentedRun {
    std::string_view id;
    std::string_view line;
    std::string_view shorter;  // options laid over it
    std::string_view prints;   // a regular expression
};

constexpr std::string_view kRate = "throughput: +[0-9.]+ samples/sec";
constexpr std::string_view kOneBatch = " --iterations 1 --repeat 2";
constexpr std::string_view kTwoUpdates =
    " --generated-data --iterations 2 --log-freq 1 --no-validation --ckpts-per-epoch 0";

// clang-format off
constexpr DocumentedRun kRuns[] = {
    {"S0-12", "validation.py --model resnet --model-size 50 --dataset imagenet --batch-size 1 --synthetic-data --repeat 10 --batch-norm --enable-half-partials", kOneBatch, kRate},
    {"S0-13", "validation.py --model resnext --model-size 101 --dataset imagenet --batch-size 1 --synthetic-data --repeat 10 --batch-norm --enable-half-partials", kOneBatch, kRate},
    {"S0-14", "validation.py --model efficientnet --model-size 0 --dataset imagenet --precision 16.16 --batch-size 1 --synthetic-data --repeat 10 --batch-norm --enable-half-partials", kOneBatch, kRate},
    {"S1-02", "train.py --dataset imagenet", kTwoUpdates, kRate},
    {"S1-28", "validation.py --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 8 --generated-data --repeat 10 --batch-norm", kOneBatch, kRate},
    {"S1-29", "inference_embedded.py --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 1 --iterations 1000 --device-iterations 100 --eight-bit-io --no-dataset-cache --generated-data", " --iterations 2 --tmp-execs", kRate},
    {"S1-30", "train.py --config resnet8_test", " --generated-data --epochs 0.01 --ckpts-per-epoch 0", kRate},
    {"S1-32", "train.py --dataset imagenet --pipeline --shards 1 --pipeline-schedule Sequential --enable-recompute --pipeline-splits b1/1/relu b2/0/relu", " --threads 1 --generated-data --iterations 2 --log-freq 1 --no-validation --ckpts-per-epoch 0 --gradient-accumulation-count 3", kRate},
    {"tf1_resnet50_train_synth_1ipu", "train.py --config resnet50_mlperf_pod16 --replicas 1 --epochs 1 --no-validation --gradient-accumulation-count 144 --synthetic-data --logs-per-epoch 16 --BN-span 1", " --threads 1 --epochs 0.000007 --logs-per-epoch 400000 --epochs-per-ckpt 0 --ckpts-per-epoch 0 --gradient-accumulation-count 2 --micro-batch-size 2", kRate},
};
// clang-format on

class DocumentedRuns : public ::testing::TestWithParam<DocumentedRun> {};

TEST_P(DocumentedRuns, Work) {
    const DocumentedRun& row = GetParam();
    const Outcome outcome = shell("cd ${TMPDIR:-/tmp} && " + std::string(CNNTRAIN_PROGRAM) + " " +
                                  std::string(row.line) + std::string(row.shorter) + " --no-logs");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, ContainsRegex(std::string(row.prints)));
}

INSTANTIATE_TEST_SUITE_P(All, DocumentedRuns, ::testing::ValuesIn(kRuns), [](const auto& row) {
    std::string name(row.param.id);
    std::ranges::replace(name, '-', '_');
    return name;
});

}  // namespace
}  // namespace cnntrain::cli
