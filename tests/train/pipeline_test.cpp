// --pipeline on one device: the same mathematics as gradient accumulation, only its names differ.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "cnntrain/checkpoint/checkpoint.h"
#include "support/bf16_products.h"
#include "train/fixtures.h"

namespace cnntrain::train::testing {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const std::string kAccumulation = "--gradient-accumulation-count 4 --optimiser momentum --no-validation ";
const std::string kStages = "--pipeline --pipeline-splits stage1/unit1/relu stage2/unit1 fc1 ";

/// From the iteration on: a pipeline counts its steps otherwise.
std::vector<std::string> rows_behind_step(const FileSystem& files) {
    std::vector<std::string> rows = loss_rows(files);
    for (std::string& row : rows)
        row.erase(0, row.find(',') + 1);
    return rows;
}

class Pipeline : public ::testing::TestWithParam<const char*> {};

TEST_P(Pipeline, EqualsAccumulationBitForBit) {
    const std::string options = kAccumulation + GetParam();
    MemoryFiles accumulated;
    MemoryFiles pipelined;
    train(accumulated, options);
    ASSERT_GE(loss_rows(accumulated).size(), 3U);
    for (const char* schedule : {"Grouped", "Interleaved", "Sequential"}) {
        pipelined = MemoryFiles();
        ASSERT_EQ(train(pipelined, options + " " + kStages + "--pipeline-schedule " + schedule).exit_code, 0);
        EXPECT_EQ(rows_behind_step(pipelined), rows_behind_step(accumulated)) << schedule;
        EXPECT_EQ(weights(pipelined, 10), weights(accumulated, 10)) << schedule;
    }
}

INSTANTIATE_TEST_SUITE_P(Precisions, Pipeline,
                         ::testing::Values("--precision 16.16", "--precision 32.32",
                                           "--precision 16.32 --group-norm --enable-recomputation"));

TEST(PipelineLines, TellTheStagesAndCountHostStepsOnce) {
    MemoryFiles files;
    const Outcome outcome = train(files, kAccumulation + kStages);
    EXPECT_THAT(outcome.console,
                HasSubstr("\n Batch Size: 32\n  Pipelined over 4 stages\n  Gradients accumulated over 4"));
    EXPECT_THAT(outcome.console, ContainsRegex("step: +2, iteration: +2, "));
    MemoryFiles accumulated;
    EXPECT_THAT(train(accumulated, kAccumulation).console, ContainsRegex("step: +8, iteration: +2, "));
    MemoryFiles other;
    EXPECT_THAT(train(other, kAccumulation + kStages + "--no-logs").console, HasSubstr("/tmp/RN8_bs8x4p_BN_16.16_"));
}

TEST(PipelineResume, ContinuesExactly) {
    MemoryFiles whole;
    train(whole, kAccumulation + kStages);
    MemoryFiles files;
    train(files, kAccumulation + kStages, stop_after(7));
    ASSERT_LT(loss_rows(files).size(), loss_rows(whole).size());
    EXPECT_EQ(restore(files).exit_code, 0);
    EXPECT_EQ(loss_rows(files), loss_rows(whole));
    EXPECT_EQ(weights(files, 10), weights(whole, 10));
}

/// How far two tensors are apart, as a share of what training has changed in the first.
double difference(const HostTensor& start, const HostTensor& one, const HostTensor& other) {
    double changed = 0;
    double apart = 0;
    for (std::int64_t i = 0; i < one.elements(); ++i) {
        changed += std::pow(one.at(i) - start.at(i), 2);
        apart += std::pow(one.at(i) - other.at(i), 2);
    }
    return std::sqrt(apart / changed);
}

TEST(PipelineCopies, Of32BitsAccumulateAsStoredWeightsDo) {
    if (!test::has_bf16_products()) GTEST_SKIP() << "in f32 only one of the two rounds its weights";
    const std::string one_update = kAccumulation + kStages + "--iterations 1 --epochs 0 --compute-type bf16 ";
    MemoryFiles stored;
    ASSERT_EQ(train(stored, one_update + "--precision 16.32").exit_code, 0);
    MemoryFiles copies;
    ASSERT_EQ(train(copies, one_update + "--offload-fp32-weight-copy").exit_code, 0);
    const auto start = checkpoint::load(stored, "run/ckpt-0.safetensors");
    const auto expected = checkpoint::load(stored, "run/ckpt-1.safetensors");
    const auto copied = checkpoint::load(copies, "run/ckpt-1.safetensors");
    // Scales and shifts of norms are read in 16 bits where the copy is 32 bits wide, so the two are close but not equal.
    constexpr double kTolerance = 0.05;
    for (const std::string name : {"all/stage0/conv0/weight", "all/stage2/unit1/conv2/weight", "all/fc1/weight"}) {
        EXPECT_LT(difference(start.tensors.at(name), expected.tensors.at(name), copied.tensors.at(name + "/fp32")),
                  kTolerance)
            << name;
    }
}

}  // namespace
}  // namespace cnntrain::train::testing
