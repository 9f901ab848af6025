// The documented lines of one process, and those that poprun starts, run for real: a few micro-batches of generated
// data.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "cli/shell.h"
#include "support/matchers.h"

namespace cnntrain::cli {
namespace {

struct DocumentedRun {
    std::string_view id;
    std::string_view line;
    std::string_view shorter;       // options laid over it
    std::string_view prints;        // a regular expression
    std::string_view on_ipus = {};  // options laid over all that for --backend ipu: a small network
};

// Batch norm over the two values that a channel of two small images ends in can overflow in half.
#define RESNET10 " --model-size 10 --image-size 64"
#define RESNEXT14 " --model-size 14 --image-size 64"
#define EFFICIENTNET " --model-size CIFAR --image-size 32"
constexpr std::string_view kRate = "throughput: +[0-9.]+ (emulated )?samples/sec";
constexpr std::string_view kOneBatch = " --iterations 1 --repeat 2";
constexpr std::string_view kTwoUpdates =
    " --generated-data --iterations 2 --log-freq 1 --no-validation --ckpts-per-epoch 0";
// Weight updates of 16 samples in 8 micro-batches, or in 2 replicas of 4.
#define SMALL                                                                                                  \
    " --threads 2 --generated-data --image-size 64 --epochs 0.000026 --logs-per-epoch 100000 --no-validation " \
    "--no-wandb --epochs-per-ckpt 0 --ckpts-per-epoch 1 --batch-size 2"
#define EIGHT " --gradient-accumulation-count 8 --replicas 1"
#define TWICE_FOUR " --gradient-accumulation-count 4 --replicas 2"
#define EFFICIENTNET_B4                                                                                   \
    "train.py --model=efficientnet --model-size=4 --precision=16.32 --group-dim=16 --expand-ratio=4 "     \
    "--dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential --enable-recomputation " \
    "--enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped "             \
    "--internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials "      \
    "--cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 "     \
    "--pipeline-split block2c block4c block6a --pipeline --no-validation --gradient-accumulation-count=40 --epochs 2"
// Four updates of 10 sequences, in the five stages that the configurations have.
#define SMALL_BERT                                                                                                    \
    " --threads 1 --generated-data --num-hidden-layers 3 --hidden-size 64 --num-attention-heads 1 "                   \
    "--intermediate-size 64 --pipeline-stages '[[\"emb\",\"pos\"],[\"hid\"],[\"hid\"],[\"hid\"],[\"mlm\",\"nsp\"]]' " \
    "--micro-batch-size 1 --gradient-accumulation-count 10 --replicas 1 --num-train-steps 4 --no-wandb"
constexpr std::string_view kFourUpdates =
    "step:      0, (.|\n)*step:      3, epoch: .*mlm_loss: +1[01]\\.[0-9]+, nsp_loss: .* throughput: +[0-9.]+ "
    "(emulated )?samples/sec";
constexpr std::string_view kFourStages = "Pipelined over 4 stages\n(.|\n)*throughput: +[0-9.]+ (emulated )?samples/sec";
constexpr std::string_view kReplicas = "Training on 2 replicas \n(.|\n)*throughput: +[0-9.]+ (emulated )?samples/sec";
constexpr std::string_view kStagesOfReplicas =
    "Pipelined over 2 stages\n(.|\n)*Training on 2 replicas \n(.|\n)*throughput: +[0-9.]+ (emulated )?samples/sec";

// clang-format off
constexpr DocumentedRun kRuns[] = {
    {"S0-12", "validation.py --model resnet --model-size 50 --dataset imagenet --batch-size 1 --synthetic-data "
     "--repeat 10 --batch-norm --enable-half-partials", kOneBatch, kRate, RESNET10},
    {"S0-13", "validation.py --model resnext --model-size 101 --dataset imagenet --batch-size 1 --synthetic-data "
     "--repeat 10 --batch-norm --enable-half-partials", kOneBatch, kRate, RESNEXT14},
    {"S0-14", "validation.py --model efficientnet --model-size 0 --dataset imagenet --precision 16.16 --batch-size 1 "
     "--synthetic-data --repeat 10 --batch-norm --enable-half-partials", kOneBatch, kRate, EFFICIENTNET},
    {"S0-01", "train.py --model resnet --model-size 50 --dataset imagenet --ckpts-per-epoch 0 --batch-size 16 "
     "--replicas 1 --gradient-accumulation-count 1024 --epochs 1 --no-validation --enable-recomputation --optimiser "
     "momentum --momentum 0.9 --normalise-input --stable-norm --internal-exchange-optimisation-target balanced "
     "--enable-half-partials --standard-imagenet --pipeline-num-parallel 32 --pipeline-schedule Grouped "
     "--no-dataset-cache --shards=4 --pipeline-splits b1/2/relu b2/3/relu b3/3/relu --pipeline --batch-norm "
     "--available-memory-proportion 0.15 --disable-variable-offloading --precision 16.32 --eight-bit-io", SMALL EIGHT,
     kFourStages, RESNET10 " --pipeline-splits b1/0/relu b2/0/relu b3/0/relu"},
    {"S0-03", "train.py --config mk2_resnet50_bn_64ipus --no-validation --epochs 10 --ckpts-per-epoch 0", SMALL
     " --gradient-accumulation-count 8 --replicas 2",
     kReplicas, RESNET10 " --pipeline-splits b1/0/relu b2/0/relu b3/0/relu"},
    {"S0-04", "train.py --model resnext --model-size 101 --dataset imagenet --shards 2 --replicas 2 --batch-size 6 "
     "--pipeline --gradient-accumulation-count 64 --pipeline-splits b3/3/relu --epoch 2 --ckpts-per-epoch 0 "
     "--enable-recomputation --normalise-input --internal-exchange-optimisation-target balanced "
     "--enable-half-partials --stable-norm --base-learning-rate -11 --pipeline-schedule Grouped --optimiser momentum "
     "--momentum 0.9 --lr-schedule cosine --label-smoothing 0.1 --no-validation --disable-variable-offloading "
     "--eight-bit-io", SMALL TWICE_FOUR, kStagesOfReplicas, RESNEXT14 " --pipeline-splits b3/0/relu"},
    {"S0-06", EFFICIENTNET_B4, SMALL EIGHT, kFourStages, EFFICIENTNET " --pipeline-splits block2a block4a block6a"},
    {"S0-08", "train.py --config mk2_efficientnet_b4_g1_64ipus --no-validation --epochs 10",
     SMALL EIGHT, kFourStages, EFFICIENTNET " --pipeline-splits block2a block4a block6a"},
    {"S0-11", "train.py --config mk2_efficientnet_b4_g16_64ipus --no-validation --epochs 10",
     SMALL EIGHT, kFourStages, EFFICIENTNET " --pipeline-splits block2a block4a block6a"},
    {"S1-02", "train.py --dataset imagenet", kTwoUpdates, kRate, RESNET10},
    {"S1-11", "train.py --config resnet50_gn_16ipus --no-validation", SMALL TWICE_FOUR, kReplicas, RESNET10},
    {"S1-20", "train.py --config resnext101_16ipus --no-validation",
     SMALL TWICE_FOUR, kStagesOfReplicas, RESNEXT14 " --pipeline-splits b3/0/relu"},
    {"S1-24", "train.py --config efficientnet_b4_g16_16ipus --no-validation --identical-replica-seeding", SMALL
     TWICE_FOUR, kStagesOfReplicas, EFFICIENTNET " --pipeline-splits block4a"},
    {"S1-26", "train.py --config efficientnet_b4_g1_with_batch_norm_16ipus", SMALL TWICE_FOUR " --BN-span 2",
     kReplicas, EFFICIENTNET " --pipeline-splits block2a block4a block6a"},
    {"S1-28", "validation.py --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 8 "
     "--generated-data --repeat 10 --batch-norm", kOneBatch, kRate, EFFICIENTNET},
    {"S1-29", "inference_embedded.py --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 1 "
     "--iterations 1000 --device-iterations 100 --eight-bit-io --no-dataset-cache --generated-data",
     " --iterations 2 --tmp-execs", kRate, EFFICIENTNET},
    {"S1-30", "train.py --config resnet8_test", " --generated-data --epochs 0.01 --ckpts-per-epoch 0", kRate},
    {"S1-32", "train.py --dataset imagenet --pipeline --shards 1 --pipeline-schedule Sequential --enable-recompute "
     "--pipeline-splits b1/1/relu b2/0/relu", " --threads 1 --generated-data --iterations 2 --log-freq 1 "
     "--no-validation --ckpts-per-epoch 0 --gradient-accumulation-count 3", kRate, " --model-size 18 --image-size 64"},
    {"tf1_resnet50_train_synth_1ipu", "train.py --config resnet50_mlperf_pod16 --replicas 1 --epochs 1 "
     "--no-validation --gradient-accumulation-count 144 --synthetic-data --logs-per-epoch 16 --BN-span 1",
     " --threads 1 --epochs 0.000007 --logs-per-epoch 400000 --epochs-per-ckpt 0 --ckpts-per-epoch 0 "
     "--gradient-accumulation-count 2 --micro-batch-size 2",
     kRate, RESNET10 " --pipeline-splits b1/0/relu b2/0/relu b3/0/relu"},
    {"S2-01", "run_pretraining.py --config "
     "configs/pretrain_base_128.json\",\"$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/00.tfrecord --train-file "
     "$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/00.tfrecord --num-train-steps 4", SMALL_BERT, kFourUpdates},
    {"S2-02", "run_pretraining.py --config "
     "configs/pretrain_base_384.json\",\"$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/00.tfrecord --train-file "
     "$DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord --num-train-steps 4", SMALL_BERT,
     kFourUpdates},
    {"S2-03", "run_pretraining.py --config configs/pretrain_large_128_phase1.json --train-file "
     "$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/00.tfrecord --num-train-steps 4", SMALL_BERT, kFourUpdates},
    {"S2-04", "run_pretraining.py --config configs/pretrain_large_128_phase1_POD64.json --train-file "
     "'$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/*.tfrecord'", SMALL_BERT, kFourUpdates},
    {"S2-05", "run_pretraining.py --config configs/pretrain_large_384_phase2.json --train-file "
     "DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord --num-train-steps 4", SMALL_BERT,
     kFourUpdates},
    {"S2-06", "run_pretraining.py --config configs/pretrain_large_384_phase2_POD64.json --train-file "
     "'$DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_msk58/*.tfrecord'", SMALL_BERT, kFourUpdates},
};
// clang-format on

class DocumentedRuns : public ::testing::TestWithParam<DocumentedRun> {};

TEST_P(DocumentedRuns, Work) {
    const DocumentedRun& row = GetParam();
    const Outcome outcome = shell(
        "export DATASETS_DIR=/no/such/data; folder=$(mktemp -d) && trap 'rm -r $folder' EXIT && cd $folder && " +
        std::string(CNNTRAIN_PROGRAM) + " " + std::string(row.line) + std::string(row.shorter) + " --log-dir $folder");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, ContainsRegex(std::string(row.prints)));
}

/// The documented lines on IPUs, where 16 bits are half precision.
TEST_P(DocumentedRuns, WorkOnIpus) {
    const DocumentedRun& row = GetParam();
    const Outcome outcome =
        shell("export DATASETS_DIR=/no/such/data; folder=$(mktemp -d) && trap 'rm -r $folder' EXIT && cd $folder && " +
              std::string(CNNTRAIN_PROGRAM) + " " + std::string(row.line) + std::string(row.shorter) +
              std::string(row.on_ipus) + " --backend ipu --seed 1 --log-dir $folder");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, ContainsRegex(std::string(row.prints)));
    EXPECT_THAT(outcome.text, ContainsRegex("emulator of IPUs"));
}

#ifdef CNNTRAIN_MPIEXEC
/// IPUs exchange gradients themselves: the error names the replicas of the one process that does the same.
TEST_P(DocumentedRuns, AreRefusedInSeveralProcessesOnIpus) {
    const DocumentedRun& row = GetParam();
    const bool of_text = row.shorter == SMALL_BERT;
    if (!of_text && !row.shorter.starts_with(SMALL)) GTEST_SKIP() << "documented for one process";
    const std::string replicas = of_text || row.shorter.ends_with("--replicas 1") ? "2" : "4";
    const Outcome outcome = shell(
        "export DATASETS_DIR=/no/such/data OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; "
        "folder=$(mktemp -d) && trap 'rm -r $folder' EXIT && cd $folder && " CNNTRAIN_PROGRAM
        " poprun --num-instances 2 --num-replicas " +
        replicas + " " + std::string(row.line) + std::string(row.shorter) + std::string(row.on_ipus) +
        (of_text ? "" : " --epochs 0.000105 --log-dir $folder") + " --backend ipu");
    EXPECT_EQ(outcome.exit_code, 4);
    EXPECT_THAT(outcome.text, ContainsRegex("start one process with --replicas " + replicas + "\n"));
}

/// Trainings that the documents give to poprun, started by it as 2 and 4 processes; replicas of a process stay as they
/// are.
TEST_P(DocumentedRuns, WorkInSeveralProcesses) {
    const DocumentedRun& row = GetParam();
    const bool of_text = row.shorter == SMALL_BERT;
    if (!of_text && !row.shorter.starts_with(SMALL)) GTEST_SKIP() << "documented for one process";
    const int replicas = of_text || row.shorter.ends_with("--replicas 1") ? 1 : 2;
    for (const int processes : {2, 4}) {
        const std::string launch = " poprun --num-instances " + std::to_string(processes) + " --num-replicas " +
                                   std::to_string(processes * replicas) + " --numa-aware yes ";
        const Outcome outcome = shell(
            "export DATASETS_DIR=/no/such/data OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1; "
            "folder=$(mktemp -d) && trap 'rm -r $folder' EXIT && cd $folder && " CNNTRAIN_PROGRAM +
            launch + std::string(row.line) + std::string(row.shorter) +
            (of_text ? "" : " --threads 1 --epochs 0.000105 --log-dir $folder"));
        EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
        EXPECT_THAT(outcome.text, ContainsRegex(std::string(kRate)));
        EXPECT_THAT(outcome.text, ContainsRegex("summed over " + std::to_string(processes) + " processes"));
        const std::string count = std::to_string(processes * replicas);
        EXPECT_THAT(outcome.text,
                    ContainsRegex(of_text ? "replicas " + count + "\\)" : "Training on " + count + " replicas"));
        if (!of_text) continue;
        const std::size_t first = outcome.text.find("step:      3, ");
        EXPECT_EQ(outcome.text.find("step:      3, ", first + 1), std::string::npos)
            << "printed by others than the first";
    }
}
#endif

INSTANTIATE_TEST_SUITE_P(All, DocumentedRuns, ::testing::ValuesIn(kRuns), [](const auto& row) {
    std::string name(row.param.id);
    std::ranges::replace(name, '-', '_');
    return name;
});

}  // namespace
}  // namespace cnntrain::cli
