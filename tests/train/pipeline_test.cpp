// Pipelines and replicas: a weight update in stages is the one of gradient accumulation, and replicas are micro-batches
// of it.
#include <gtest/gtest.h>

#include <cmath>

#include "cnntrain/base/error.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/weights/checkpoint.h"
#include "run/training.h"
#include "support/bf16_products.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"
#include "train/staged.h"

namespace cnntrain::run::testing {
namespace {

constexpr const char* kF32 = " --precision 32.32 ";

// ---- Every number of an update in stages ----

TEST(Stages, OfResnet8EqualAccumulationBitForBit) {
    for (const Staging& how : all_stagings())
        expect_accumulation(kResnet8, kF32, how);
}

TEST(Stages, OfOtherNetworksEqualAccumulationBitForBit) {
    expect_accumulation(kResnet8, "--precision 32.32 --group-norm", {4, "Grouped", true, 2});
    expect_accumulation(kResnext14, "--precision 32.32 --batch-norm", {4, "Interleaved", true});
    expect_accumulation(kEfficientNet, "--precision 32.32 --group-norm", {4, "Grouped", true});
    expect_accumulation(kEfficientNet, "--precision 32.32 --group-norm", {2, "Sequential"});
}

// The same operations in the same order round alike, so that 16 bits lose nothing either.
TEST(Stages, In16BitsEqualAccumulationBitForBit) {
    expect_accumulation(kResnet8, "--precision 16.16", {4, "Grouped"});
    expect_accumulation(kResnet8, "--precision 16.32 --group-norm", {4, "Interleaved", true, 2});
    expect_accumulation(kResnet8, "--precision 16.32", {2, "Sequential"});
}

// Its one operation cannot move to the sender: it is not fused, but nothing else changes.
TEST(Stages, OfASingleActivationWorkToo) {
    StagedNet net = kResnet8;
    net.three_splits = "stage1/unit1/relu stage2/unit1 fc1";
    const Staging how{4, "Grouped"};
    const Trained result = staged(net, kF32, how);
    EXPECT_THAT(result.operations, ::testing::Contains("activation all/stage1/unit1/relu"));
    expect_same_numbers(accumulated(net, kF32, how), result);
}

TEST(StagesInMemory, KeepOnlyTheirInputsWhenTheyRecompute) {
    const Trained keeping = staged(kResnet8, kF32, {4, "Grouped"});
    const Trained recomputing = staged(kResnet8, kF32, {4, "Grouped", true});
    for (const std::size_t stage : {0U, 1U, 2U})
        EXPECT_LT(recomputing.stash_bytes[stage], keeping.stash_bytes[stage]) << "stage " << stage;
    EXPECT_EQ(recomputing.stash_bytes[3], keeping.stash_bytes[3]) << "the last stage goes back at once";
}

// ---- Replicas ----

const std::string kVariance = "/moving_variance";

/// Takes the moving variances out.
Trained without_variances(Trained trained) {
    std::erase_if(trained.variables, [](const auto& variable) { return variable.first.ends_with(kVariance); });
    return trained;
}

/// Expects that the parts that updates add to the moving variances are in the ratio of Bessel's corrections for `one`
/// and `other` images.
void expect_corrections(const Trained& trained, std::int64_t one, const Trained& in_one, std::int64_t other) {
    const auto correction = [](std::int64_t images, std::int64_t pixels) {
        const auto count = static_cast<double>(images * pixels);
        return count / (count - 1);
    };
    const std::string prefix = "all/stage3/unit1/bn1/batch_norm";
    constexpr std::int64_t kPixels = 8 * 8;
    const HostTensor& first = trained.variables.at(prefix + kVariance);
    const HostTensor& second = in_one.variables.at(prefix + kVariance);
    for (std::int64_t i = 0; i < first.elements(); ++i) {
        const double begin = 0.97 * 0.97;  // what two updates leave of the first value, which is 1
        EXPECT_NEAR((first.at(i) - begin) / (second.at(i) - begin),
                    correction(one, kPixels) / correction(other, kPixels), 1e-4);
    }
}

TEST(Replicas, ThatShareStatisticsAreOneLargerMicroBatch) {
    const std::string net = "--dataset cifar-10 --model-size 8 --precision 32.32 --threads 1 --batch-norm ";
    const std::string two = net + "--micro-batch-size 4 --replicas 2 --gradient-accumulation-count 2 ";
    const Trained shared = trained(two + "--BN-span 2");
    const Trained larger = trained(net + "--micro-batch-size 8 --gradient-accumulation-count 2");
    expect_same_numbers(without_variances(shared), without_variances(larger));
    expect_corrections(shared, 4, larger, 8);
    const Trained own = trained(two + "--BN-span 1");
    expect_same_numbers(own, trained(net + "--micro-batch-size 4 --gradient-accumulation-count 4"));
    EXPECT_NE(shared.sums, own.sums);
    EXPECT_GT(distance(shared.variables, own.variables), 1e-4);
}

/// Rows of losses from the iteration on: replicas count their steps otherwise than accumulation does.
std::vector<std::string> rows_behind_step(const FileSystem& files) {
    std::vector<std::string> rows = loss_rows(files);
    for (std::string& row : rows)
        row.erase(0, row.find(',') + 1);
    return rows;
}

TEST(Replicas, TrainAsAccumulationDoes) {
    const std::string common = "--micro-batch-size 2 --optimiser momentum --no-validation --precision 32.32 ";
    MemoryFiles accumulated;
    ASSERT_EQ(train(accumulated, common + "--gradient-accumulation-count 4").exit_code, 0);
    MemoryFiles replicated;
    const Outcome outcome = train(replicated, common + "--gradient-accumulation-count 2 --replicas 2");
    EXPECT_EQ(outcome.exit_code, 0);
    EXPECT_EQ(rows_behind_step(replicated), rows_behind_step(accumulated));
    EXPECT_EQ(weights(replicated, 40), weights(accumulated, 40));
    EXPECT_THAT(outcome.console, HasSubstr("\n Batch Size: 8\n  Gradients accumulated over 2 fwds/bwds passes \n"
                                           "  Training on 2 replicas \n"));
    EXPECT_THAT(read_text(replicated, "run/arguments.json"),
                AllOf(HasSubstr("\"total_replicas\": 2"), HasSubstr("\"global_batch_size\": 8")));
}

TEST(Replicas, ThatShareStatisticsMixTheirSamples) {
    const std::string mixing = "--mixup-alpha 0.4 --cutmix-lambda 0.6 --no-validation --precision 32.32 ";
    MemoryFiles one;
    ASSERT_EQ(train(one, mixing + "--micro-batch-size 8").exit_code, 0);
    MemoryFiles two;
    ASSERT_EQ(train(two, mixing + "--micro-batch-size 4 --replicas 2 --BN-span 2").exit_code, 0);
    EXPECT_EQ(loss_rows(two), loss_rows(one));
    EXPECT_EQ(weights(two, 40, kVariance), weights(one, 40, kVariance));
}

// ---- Whole runs ----

const std::string kRun = "--micro-batch-size 1 --gradient-accumulation-count 8 --optimiser momentum --no-validation ";
const std::string kStages = "--pipeline --pipeline-splits stage1/unit1/relu stage2/unit1 fc1 ";

TEST(PipelineRun, HasTheRowsAndWeightsOfAccumulation) {
    MemoryFiles accumulated;
    ASSERT_EQ(train(accumulated, kRun + kF32).exit_code, 0);
    MemoryFiles pipelined;
    ASSERT_EQ(train(pipelined, kRun + kF32 + kStages + "--shards 4").exit_code, 0);
    ASSERT_GE(loss_rows(pipelined).size(), 3U);
    EXPECT_EQ(rows_behind_step(pipelined), rows_behind_step(accumulated));
    EXPECT_EQ(weights(pipelined, 40), weights(accumulated, 40));
}

TEST(PipelineRun, TellsTheStagesAndCountsHostStepsOnce) {
    MemoryFiles files;
    const Outcome outcome = train(files, kRun + kStages);
    EXPECT_THAT(outcome.console,
                HasSubstr("\n Batch Size: 8\n  Pipelined over 4 stages\n  Gradients accumulated over 8"));
    EXPECT_THAT(outcome.console, ContainsRegex("step: +2, iteration: +10, "));
    EXPECT_THAT(
        outcome.console,
        ContainsRegex("Memory of the stages:\n  stage 0: weights and states [0-9.]+ kB, kept for the backward pass "
                      "[0-9.]+ kB a micro-batch, of 7 at a time, "));
    EXPECT_THAT(read_text(files, "run/arguments.json"), AllOf(HasSubstr("\"pipeline_schedule\": \"Grouped\""),
                                                              HasSubstr("\"lanes\": 0"), HasSubstr("\"shards\": 1")));
    MemoryFiles accumulated;
    EXPECT_THAT(train(accumulated, kRun).console, ContainsRegex("step: +16, iteration: +10, "));
    MemoryFiles other;
    EXPECT_THAT(train(other, kRun + kStages + "--no-logs").console, HasSubstr("/tmp/RN8_bs1x8p_BN_16.16_"));
}

const std::string kTwoLanes = "--threads 2 --lanes 2 ";

TEST(PipelineRun, ContinuesExactly) {
    for (const std::string& lanes : {std::string(), kTwoLanes}) {
        SCOPED_TRACE(lanes);
        const std::string line =
            "--micro-batch-size 1 --gradient-accumulation-count 4 --replicas 2 --no-validation "
            "--pipeline --pipeline-splits stage2/unit1 --enable-recomputation " +
            lanes;
        MemoryFiles whole;
        ASSERT_EQ(train(whole, line).exit_code, 0);
        MemoryFiles files;
        const Outcome stopped = train(files, line, stop_after(27));  // in the midst of an update
        EXPECT_EQ(stopped.exit_code, kInterruptedExitCode);
        EXPECT_THAT(stopped.console, HasSubstr("Stopped by a signal after iteration"));
        ASSERT_LT(loss_rows(files).size(), loss_rows(whole).size());
        EXPECT_EQ(restore(files).exit_code, 0);
        EXPECT_EQ(loss_rows(files), loss_rows(whole));
        EXPECT_EQ(weights(files, 40), weights(whole, 40));
    }
}

TEST(StagesInMemory, OfABackendThatPlansNoneAreNotTold) {
    backend::CompileReport report;
    report.stash_bytes = {8, 8};
    EXPECT_EQ(stage_memory(report, {.micro_batches = 4, .stages = 2}), "");
}

TEST(PipelineRun, ContinuesWithAnotherScheduleAndWithoutStages) {
    MemoryFiles whole;
    const std::string line = kRun + kF32;
    ASSERT_EQ(train(whole, line + kStages).exit_code, 0);
    for (const std::string& other : {kStages + "--pipeline-schedule Sequential", std::string()}) {
        MemoryFiles files;
        train(files, line + kStages, stop_after(60));
        EXPECT_EQ(train(files, line + other + " --restore-path run").exit_code, 0) << other;
        EXPECT_EQ(weights(files, 40), weights(whole, 40)) << other;
    }
}

TEST(PipelineRun, DivergesAsAPlainOneDoes) {
    const auto message = [](const std::string& stages) {
        MemoryFiles files;
        std::string refusal = message_of(
            ErrorKind::diverged, [&] { train(files, kRun + "--abs-learning-rate 1e30 --precision 32.32 " + stages); });
        EXPECT_TRUE(exists(files, "run/ckpt-0.safetensors"));
        return refusal;
    };
    EXPECT_THAT(message(kStages), AllOf(HasSubstr("1e+30"), HasSubstr("run/ckpt-0")));
    EXPECT_EQ(message(kStages), message(""));
    EXPECT_EQ(message(kStages + kTwoLanes), message(""));
}

// ---- 32-bit copies ----

/// Distance of two tensors, as a share of the change of the first one by training.
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
    const std::string one_update = kRun + kStages + "--iterations 1 --epochs 0 --compute-type bf16 ";
    MemoryFiles stored;
    ASSERT_EQ(train(stored, one_update + "--precision 16.32").exit_code, 0);
    MemoryFiles copies;
    ASSERT_EQ(train(copies, one_update + "--offload-fp32-weight-copy").exit_code, 0);
    const auto start = weights::load(stored, "run/ckpt-0.safetensors");
    const auto expected = weights::load(stored, "run/ckpt-1.safetensors");
    const auto copied = weights::load(copies, "run/ckpt-1.safetensors");
    // Scales and shifts of norms are read in 16 bits where the copy is 32 bits wide, so the two are close but not
    // equal.
    constexpr double kTolerance = 0.05;
    for (const std::string name : {"all/stage0/conv0/weight", "all/stage2/unit1/conv2/weight", "all/fc1/weight"}) {
        EXPECT_LT(difference(start.tensors.at(name), expected.tensors.at(name), copied.tensors.at(name + "/fp32")),
                  kTolerance)
            << name;
    }
}

// ---- What is said before a run ----

std::string dry_run(const std::string& options) {
    return dry_run_text(parse("--dataset cifar-10 --generated-data --model-size 8 --threads 4 " + options));
}

TEST(PipelineDryRun, TellsStagesReplicasAndLanes) {
    EXPECT_THAT(dry_run(kStages + "--gradient-accumulation-count 16"), HasSubstr("stage1/unit1/relu"));
    EXPECT_THAT(dry_run(kStages + "--gradient-accumulation-count 4 --shards 4 --pipeline-schedule Interleaved"),
                HasSubstr("4 stages on 4 devices"));
    EXPECT_THAT(dry_run("--replicas 4 --micro-batch-size 3 --BN-span 2"), AllOf(HasSubstr("12"), HasSubstr("2 share")));
    EXPECT_THAT(dry_run("--gradient-accumulation-count 4 --lanes 2"), HasSubstr("4 threads"));
    EXPECT_THAT(dry_run(kStages + "--gradient-accumulation-count 8 --lanes 4"), HasSubstr("4 threads"));
}

}  // namespace
}  // namespace cnntrain::run::testing
