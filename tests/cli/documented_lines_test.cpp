// Every command line of the documents that this program follows, with python3 replaced by cnntrain: it resolves as its
// row says, and exactly the capabilities that its row names are refused as not available yet. A capability that
// arrives, or is lost, changes rows here.
#include <gtest/gtest.h>

#include <regex>
#include <string>
#include <string_view>

#include "cli/shell.h"
#include "support/matchers.h"

namespace cnntrain::cli {
namespace {

enum class Means {
    run,       // accepted, unless something is `missing`; `detail` stands in what is printed in both cases
    launcher,  // poprun: refused if its hosts are placeholders; the rest of the row is about the program behind it
    mistake,   // an example with a made-up name: a usage error with `detail`
    nothing,   // a folder that only the documents have: exit code 1 with `detail`
    help,      // prints the help
};

struct Documented {
    std::string_view id;
    std::string_view line;
    Means means = Means::run;
    std::string_view detail = {};
    std::string_view missing = {};  // everything that is refused as not available yet, in the order of the message
};

// Parts that many lines share.
#define RESNET50_PIPELINE                                                                                     \
    " --enable-recomputation --optimiser momentum --momentum 0.9 --normalise-input --stable-norm "            \
    "--internal-exchange-optimisation-target balanced --enable-half-partials --standard-imagenet "            \
    "--pipeline-num-parallel 32 --pipeline-schedule Grouped --no-dataset-cache --shards=4 --pipeline-splits " \
    "b1/2/relu b2/3/relu b3/3/relu --pipeline --batch-norm --available-memory-proportion 0.15 "               \
    "--disable-variable-offloading --precision 16.32 --eight-bit-io"
#define RESNEXT_PIPELINE                                                                                          \
    " --epoch 2 --ckpts-per-epoch 0 --enable-recomputation --normalise-input "                                    \
    "--internal-exchange-optimisation-target balanced --enable-half-partials --stable-norm --base-learning-rate " \
    "-11 --pipeline-schedule Grouped --optimiser momentum --momentum 0.9 --lr-schedule cosine "                   \
    "--label-smoothing 0.1 --no-validation --disable-variable-offloading --eight-bit-io"
#define EFFICIENTNET_PIPELINE                                                                                  \
    "train.py --model=efficientnet --model-size=4 --data-dir $DATASETS_DIR/ --precision=16.32 --group-dim=16 " \
    "--expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential "            \
    "--enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule "   \
    "Grouped --internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials "   \
    "--cutmix-lambda 0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 "          \
    "--pipeline-split block2c block4c block6a --pipeline --no-validation"
#define FOUR_PROCESSES "poprun --num-replicas 4 --ipus-per-replica 1 --num-instances 4 --numa-aware 1 python3 "
#define POD64_HOSTS                                                                                              \
    "poprun -vv --host xxx.xxx.xxx.xx1,xxx.xxx.xxx.xx2,xxx.xxx.xxx.xx3,xxx.xxx.xxx.xx4 --numa-aware=yes "        \
    "--vipu-server-host=xxx.xxx.xxx.xxx --vipu-partition=pod64_partition_name --reset-partition=no "             \
    "--update-partition=no --mpi-global-args=\"--tag-output --mca btl_tcp_if_include xxx.xxx.xxx.0/xx\" "        \
    "--mpi-local-args=\"--tag-output -x LD_LIBRARY_PATH -x PATH -x PYTHONPATH -x IPUOF_VIPU_API_TIMEOUT=300 -x " \
    "OPAL_PREFIX -x TF_POPLAR_FLAGS=--executable_cache_path=/localdata/$USER/exec_cache\" --num-replicas=16 "    \
    "--num-instances=16 --ipus-per-replica 4 python3 "
#define POD64_BLANKS                                                                                               \
    "poprun -v --host xxx.xxx.xxx.1,xxx.xxx.xxx.2,xxx.xxx.xxx.3,xxx.xxx.xxx.4 --vipu-server-host=xxx.xxx.xxx.xxx " \
    "\\ --vipu-partition=pod64_partition_name --reset-partition=yes --mpi-global-args=\" --mca "                   \
    "btl_tcp_if_include xxx.xxx.xxx.0/24\" --mpi-local-args=\"-x LD_LIBRARY_PATH -x PYTHONPATH -x "                \
    "TF_CPP_VMODULE=poplar_compiler=1 -x IPUOF_VIPU_API_TIMEOUT=300 -x "                                           \
    "TF_POPLAR_FLAGS=--executable_cache_path=$WORKSPACE/exec_cache\" "
#define MLPERF                                                                        \
    "POPLAR_ENGINE_OPTIONS='{\"opt.enableMultiAccessCopies\":\"false\"}' poprun -vv " \
    "--mpi-local-args='-x POPLAR_ENGINE_OPTIONS' --num-instances 8 --num-replicas 16 python "
#define BERT_POD64                                                                                      \
    "poprun -vv --host xxx.xxx.xxx.xx1,xxx.xxx.xxx.xx2,xxx.xxx.xxx.xx3,xxx.xxx.xx4 --num-instances 16 " \
    "--num-replicas 16 --ipus-per-replica 4 --numa-aware=yes --vipu-server-host=xxx.xxx.xx1 "           \
    "--vipu-partition=pod64_partition_name --mpi-global-args=\"--tag-output --mca btl_tcp_if_include "  \
    "xxx.xxx.xxx.0/xx\" --mpi-local-args=\"-x LD_LIBRARY_PATH -x PATH -x PYTHONPATH -x OPAL_PREFIX -x " \
    "IPUOF_VIPU_API_TIMEOUT=300 -x POPLAR_ENGINE_OPTIONS -x "                                           \
    "TF_POPLAR_FLAGS=--executable_cache_path=/localdata/$USER/exec_cache\" python "

constexpr std::string_view kUnknownConfig = "unknown configuration 'my_config'";

// clang-format off
constexpr Documented kLines[] = {
    // CNN benchmarking
    {"S0-01", "train.py --model resnet --model-size 50 --dataset imagenet --data-dir $DATASETS_DIR/ --ckpts-per-epoch "
     "0 --batch-size 16 --replicas 1 --gradient-accumulation-count 1024 --epochs 1 --no-validation" RESNET50_PIPELINE,
     Means::run, "x 1 (replicas) = 16384\nPipeline:         4 stages on 4 devices, split before stage1/unit3/relu, "
     "stage2/unit4/relu, stage3/unit4/relu; Grouped, stash depths 7, 5, 3, 1, bubble 0.3 %"},
    {"S0-02", "poprun --numa-aware=yes --num-replicas=4 --num-instances=4 --ipus-per-replica 4 python train.py "
     "--model resnet --model-size 50 --dataset imagenet --data-dir $DATASETS_DIR/ --ckpts-per-epoch 0 --batch-size 16 "
     "--gradient-accumulation-count 256 --epochs 1 --no-validation" RESNET50_PIPELINE, Means::launcher,
     "16 (micro-batch) x 256 (accumulated) x 1 (replicas) = 4096"},
    {"S0-03", POD64_HOSTS "train.py --config mk2_resnet50_bn_64ipus --no-validation --epochs 10 --ckpts-per-epoch 0",
     Means::launcher, "16 (micro-batch) x 64 (accumulated) x 16 (replicas) = 16384"},
    {"S0-04", "train.py --model resnext --model-size 101 --dataset imagenet --data-dir $DATASETS_DIR --shards 2 "
     "--replicas 2 --batch-size 6 --pipeline --gradient-accumulation-count 64 --pipeline-splits b3/3/relu"
     RESNEXT_PIPELINE, Means::run, "6 (micro-batch) x 64 (accumulated) x 2 (replicas) = 768"},
    {"S0-05", "poprun --numa-aware 1 --num-replicas 8 --ipus-per-replica 2 --num-instances 8 python train.py --model "
     "resnext --model-size 101 --dataset imagenet --data-dir $DATASETS_DIR --shards 2 --batch-size 6 --pipeline "
     "--gradient-accumulation-count 16 --pipeline-splits b3/3/relu --standard-imagenet" RESNEXT_PIPELINE,
     Means::launcher, "6 (micro-batch) x 16 (accumulated) x 1 (replicas) = 96"},
    {"S0-06", EFFICIENTNET_PIPELINE " --gradient-accumulation-count=40 --epochs 2", Means::run, "5 (micro-batch) x 40 "
     "(accumulated) x 1 (replicas) = 200\nPipeline:         4 stages on 4 devices, split before block2c, block4c, "
     "block6a; Grouped, stash depths 7, 5, 3, 1, bubble 7.0 %"},
    {"S0-07", "poprun --numa-aware 1 --num-replicas 4 --ipus-per-replica 4 --num-instances 4 python3 "
     EFFICIENTNET_PIPELINE " --gradient-accumulation-count=40 --epochs 1", Means::launcher, "5 (micro-batch) x 40 "
     "(accumulated) x 1 (replicas) = 200\nPipeline:         4 stages on 4 devices, split before block2c, block4c, "
     "block6a; Grouped, stash depths 7, 5, 3, 1, bubble 7.0 %"},
    {"S0-08", POD64_HOSTS "train.py --config mk2_efficientnet_b4_g1_64ipus --no-validation --epochs 10",
     Means::launcher, "3 (micro-batch) x 16 (accumulated) x 16 (replicas) = 768"},
    {"S0-09", EFFICIENTNET_PIPELINE " --gradient-accumulation-count=160 --epochs 2", Means::run,
     "5 (micro-batch) x 160 (accumulated) x 1 (replicas) = 800"},
    {"S0-10", "poprun --numa-aware 1 --num-replicas 4 --ipus-per-replica 4 --num-instances 4 python3 "
     EFFICIENTNET_PIPELINE " --gradient-accumulation-count=40 --epochs 1", Means::launcher, "5 (micro-batch) x 40 "
     "(accumulated) x 1 (replicas) = 200\nPipeline:         4 stages on 4 devices, split before block2c, block4c, "
     "block6a; Grouped, stash depths 7, 5, 3, 1, bubble 7.0 %"},
    {"S0-11", POD64_HOSTS "train.py --config mk2_efficientnet_b4_g16_64ipus --no-validation --epochs 10",
     Means::launcher, "5 (micro-batch) x 8 (accumulated) x 16 (replicas) = 640"},
    {"S0-12", "validation.py --model resnet --model-size 50 --dataset imagenet --batch-size 1 --synthetic-data "
     "--repeat 10 --batch-norm --enable-half-partials", Means::run, "10 times"},
    {"S0-13", "validation.py --model resnext --model-size 101 --dataset imagenet --batch-size 1 --synthetic-data "
     "--repeat 10 --batch-norm --enable-half-partials", Means::run, "10 times"},
    {"S0-14", "validation.py --model efficientnet --model-size 0 --dataset imagenet --precision 16.16 --batch-size 1 "
     "--synthetic-data --repeat 10 --batch-norm --enable-half-partials", Means::run, "10 times"},
    {"S0-15", FOUR_PROCESSES "validation.py --model resnet --model-size 50 --dataset imagenet --batch-size 1 "
     "--generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io", Means::launcher,
     "50000 batches of 1, 10 times"},
    {"S0-16", FOUR_PROCESSES "validation.py --model resnext --model-size 101 --dataset imagenet --batch-size 2 "
     "--generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io", Means::launcher,
     "25000 batches of 2, 10 times"},
    {"S0-17", FOUR_PROCESSES "validation.py --model efficientnet --model-size 0 --dataset imagenet --precision 16.16 "
     "--batch-size 8 --generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io", Means::launcher,
     "6250 batches of 8, 10 times"},
    // CNN training
    {"S1-02", "train.py --dataset imagenet --data-dir path-to/imagenet", Means::run,
     "4 (micro-batch) x 1 (accumulated) x 1 (replicas) = 4"},
    {"S1-03", "restore.py --restore-path logs/RN20_bs32_BN_16.16_v0.9.115_3S9/", Means::nothing,
     "logs/RN20_bs32_BN_16.16_v0.9.115_3S9"},
    {"S1-05", "-m examples_utils benchmark --spec benchmarks.yml", Means::run,
     "tf1_resnet50_infer_synth_1ipu_batchsize_90"},
    {"S1-06", "-m examples_utils benchmark --spec benchmarks.yml --benchmark tf1_resnet50_infer_synth_1ipu", Means::run,
     "tf1_resnet50_infer_synth_1ipu_batchsize_90"},
    {"S1-07", "train.py --config my_config", Means::mistake, kUnknownConfig},
    {"S1-08", "train.py --config my_config --epochs 50", Means::mistake, kUnknownConfig},
    {"S1-09", "validation.py --config my_config --data-dir path-to-dataset --restore-path logs/training-dir/ckpt-id",
     Means::mistake, kUnknownConfig},
    {"S1-10", "validation.py --config my_config --data-dir path-to-dataset --restore-path logs/training-dir",
     Means::mistake, kUnknownConfig},
    {"S1-11", "poprun -v --num-instances 8 --num-replicas 16 python3 train.py --config resnet50_gn_16ipus --data-dir "
     "your_dataset_dir_path --no-validation", Means::launcher,
     "8 (micro-batch) x 8 (accumulated) x 16 (replicas) = 1024"},
    {"S1-12", "poprun -v --num-instances 8 --num-replicas 16 python3 validation.py --config resnet50_gn_16ipus "
     "--data-dir your_dataset_dir_path --restore-path generated_checkpoints_dir_path", Means::launcher,
     "6250 batches of 8"},
    {"S1-13", "poprun -v --num-instances 4 --num-replicas 4 --ipus-per-replica 4 python3 train.py --config "
     "resnet50_bn_16ipus --data-dir your_dataset_path --no-validation", Means::launcher, "16 (micro-batch) x 256 "
     "(accumulated) x 4 (replicas) = 16384"},
    {"S1-14", "poprun -v --num-instances 8 --num-replicas 16 python3 validation.py --config resnet50_bn_16ipus "
     "--shards 1 --data-dir your_dataset_dir_path --restore-path generated_checkpoints_dir_path", Means::launcher,
     "3125 batches of 16"},
    {"S1-15", POD64_BLANKS "\\ --num-replicas=16 --num-instances=16 --ipus-per-replica 4 python3 "
     "$WORKSPACE/examples/vision/cnns/tensorflow1/training/train.py --config resnet50_bn_64ipus --no-validation "
     "--data-dir your_dataset_path", Means::launcher, "16 (micro-batch) x 64 (accumulated) x 16 (replicas) = 16384"},
    {"S1-16", POD64_BLANKS "--num-replicas=64 --num-instances=32 --ipus-per-replica 1 python3 "
     "$WORKSPACE/examples/vision/cnns/tensorflow1/training/validation.py --config resnet50_bn_64ipus --shards 1 "
     "--data-dir your_dataset_path --restore-path generated_checkpoints_dir_path", Means::launcher,
     "3125 batches of 16"},
    {"S1-17", MLPERF "train.py --config resnet50_mlperf_pod16_bs20 --epochs-per-sync 20 --data-dir your_dataset_path "
     "--no-validation", Means::launcher, "20 (micro-batch) x 6 (accumulated) x 16 (replicas) = 1920"},
    {"S1-18", MLPERF "validation.py --config resnet50_mlperf_pod16_bs20 --no-stochastic-rounding --micro-batch-size "
     "25 --available-memory-proportion 0.6 --data-dir your_dataset_path --restore-path generated_checkpoints_dir_path",
     Means::launcher, "2000 batches of 25"},
    {"S1-19", "POPLAR_ENGINE_OPTIONS='{\"opt.enableMultiAccessCopies\":\"false\"}' "
     "POPLAR_TARGET_OPTIONS='{\"gatewayMode\":\"false\"}' poprun -vv --host "
     "xxx.xxx.1.1,xxx.xxx.1.2,xxx.xxx.1.3,xxx.xxx.1.4 --mpi-global-args='--mca oob_tcp_if_include xxx.xxx.xxx.0/24 "
     "\\\n --mca btl_tcp_if_include xxx.xxx.xxx.0/24' --mpi-local-args=' -x OPAL_PREFIX -x LD_LIBRARY_PATH -x PATH "
     "\\\n -x PYTHONPATH -x IPUOF_VIPU_API_TIMEOUT=600 -x POPLAR_LOG_LEVEL=WARN -x POPLAR_ENGINE_OPTIONS' "
     "--reset-partition=yes --vipu-server-timeout 300 --only-output-from-instance 0 --vipu-server-host "
     "xxx.xxx.xxx.xxx --vipu-partition=pod64_partition_name --num-instances 32 --num-replicas 64 python train.py "
     "--config resnet50_mlperf_pod64_bs20 --epochs-per-sync 20 --data-dir your_dataset_path --no-validation",
     Means::launcher, "20 (micro-batch) x 2 (accumulated) x 64 (replicas) = 2560"},
    {"S1-20", "poprun --num-replicas 8 --ipus-per-replica 2 --num-instances 8 python3 train.py --config "
     "resnext101_16ipus --data-dir your_dataset_path --no-validation", Means::launcher,
     "6 (micro-batch) x 16 (accumulated) x 8 (replicas) = 768"},
    {"S1-21", "poprun --num-replicas 16 --num-instances 16 python3 validation.py --config resnext101_16ipus --shards "
     "1 --data-dir your_dataset_path --restore-path generated_checkpoints_dir_path", Means::launcher,
     "8334 batches of 6"},
    {"S1-22", "poprun --num-replicas 4 --num-instances 4 --ipus-per-replica 4 \\ python3 train.py --config "
     "efficientnet_b4_g1_16ipus --data-dir your_dataset_path --no-validation", Means::launcher,
     "3 (micro-batch) x 64 (accumulated) x 4 (replicas) = 768"},
    {"S1-23", "poprun -v --num-instances 8 --num-replicas 16 python3 validation.py --config efficientnet_b4_g1_16ipus "
     "--shards 1 --data-dir your_dataset_dir_path --restore-path generated_checkpoints_dir_path", Means::launcher,
     "16667 batches of 3"},
    {"S1-24", "poprun --num-replicas 8 --num-instances 8 --ipus-per-replica 2 python3 train.py --config "
     "efficientnet_b4_g16_16ipus --data-dir your_dataset_path --no-validation --identical-replica-seeding",
     Means::launcher, "3 (micro-batch) x 256 (accumulated) x 8 (replicas) = 6144"},
    {"S1-25", "poprun --num-replicas 32 --num-instances 8 --ipus-per-replica 2 python3 train.py --config "
     "efficientnet_b4_g16_64ipus --data-dir your_dataset_path --no-validation --identical-replica-seeding",
     Means::launcher, "3 (micro-batch) x 64 (accumulated) x 32 (replicas) = 6144"},
    {"S1-26", "train.py --config efficientnet_b4_g1_with_batch_norm_16ipus", Means::run,
     "6 (micro-batch) x 64 (accumulated) x 16 (replicas) = 6144"},
    {"S1-27", "-m examples_utils benchmark --spec benchmarks.yml --benchmark "
     "tf1_efficientnet_b4_batchnorm_train_real_pod64_conv tf1_efficientnet_b4_batchnorm_infer_real_pod16", Means::run,
     "tf1_efficientnet_b4_batchnorm_infer_real_pod16"},
    {"S1-28", "validation.py --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 8 "
     "--generated-data --repeat 10 --batch-norm", Means::run, "6250 batches of 8, 10 times"},
    {"S1-29", "inference_embedded.py --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 1 "
     "--iterations 1000 --device-iterations 100 --eight-bit-io --no-dataset-cache --generated-data", Means::run,
     "1000 batches of 1"},
    {"S1-30", "train.py --config resnet8_test --wandb --data-dir your_dataset_path", Means::run,
     "32 (micro-batch) x 1 (accumulated) x 1 (replicas) = 32"},
    {"S1-31", "train.py --model efficientnet --help", Means::help, "--model-size"},
    {"S1-32", "train.py --dataset imagenet --data-dir $DATASETS_DIR --model-size 50 --pipeline --shards 1 "
     "--pipeline-schedule Sequential --enable-recompute --pipeline-splits b1/0/relu b2/0/relu", Means::run,
     "3 stages on one device, split before stage1/unit1/relu, stage2/unit1/relu"},
    // BERT benchmarking
    {"S2-01", "run_pretraining.py --config "
     "configs/pretrain_base_128.json\",\"$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/00.tfrecord --train-file "
     "$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/00.tfrecord --num-train-steps 4", Means::run,
     "32 (micro-batch) x 510 (accumulated) x 4 (replicas) = 65280"},
    {"S2-02", "run_pretraining.py --config "
     "configs/pretrain_base_384.json\",\"$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/00.tfrecord --train-file "
     "$DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord --num-train-steps 4", Means::run,
     "8 (micro-batch) x 510 (accumulated) x 4 (replicas) = 16320"},
    {"S2-03", "run_pretraining.py --config configs/pretrain_large_128_phase1.json --train-file "
     "$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/00.tfrecord --num-train-steps 4", Means::run,
     "8 (micro-batch) x 2050 (accumulated) x 4 (replicas) = 65600"},
    {"S2-04", BERT_POD64 "run_pretraining.py --config configs/pretrain_large_128_phase1_POD64.json --train-file "
     "'$DATASETS_DIR/tf_wikipedia/tokenised_128_dup5/*.tfrecord'", Means::launcher, "8 (micro-batch) x 520 "
     "(accumulated) x 16 (replicas) = 66560"},
    {"S2-05", "run_pretraining.py --config configs/pretrain_large_384_phase2.json --train-file "
     "DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_mask58/wiki_00_cleaned.tfrecord --num-train-steps 4", Means::run,
     "2 (micro-batch) x 2050 (accumulated) x 4 (replicas) = 16400"},
    {"S2-06", BERT_POD64 "run_pretraining.py --config configs/pretrain_large_384_phase2_POD64.json --train-file "
     "'$DATASETS_DIR/tf_wikipedia/tokenised_384_dup5_msk58/*.tfrecord'", Means::launcher, "2 (micro-batch) x 520 "
     "(accumulated) x 16 (replicas) = 16640"},
    // Large batches on CPUs: another project's programs
    {"S3-03", "resnet_main.py --train_batch_size\u00a024576 --train_steps\u00a04680 --num_intra_threads 22 "
     "--num_inter_threads 2 --data_dir=train-dir --model_dir model-dir/model_batch_24k_90ep --use_tpu=False "
     "--kmp_blocktime 1", Means::run, "48 (micro-batch) x 512 (accumulated) x 1 (replicas) = 24576"},
    {"S3-04", "OMP_NUM_THREADS=46 resnet_eval.py --eval_batch_size 200 --num_intra_threads 46 --num_inter_threads 2 "
     "--data_dir=validation-dir --model_dir=model-dir/model_batch_24k_90ep --use_tpu=False --kmp_blocktime 1",
     Means::run, "250 batches of 200"},
};
// clang-format on

/// The variables that the documents tell to set.
constexpr std::string_view kVariables =
    "cd / && export DATASETS_DIR=/no/such/data DATA_DIR=/no/such/data HOSTS=a,b TCP_IF_INCLUDE=10.0.0.0/8 "
    "WORKSPACE=/home/somebody USER=somebody && ";

/// Assignments in front of a command stay in front of it.
std::string line_of_shell(std::string_view line) {
    std::size_t program = 0;
    for (std::size_t equals = line.find('='); equals < line.find(' ', program); equals = line.find('=', program))
        program = line.find(' ', equals) + 1;
    return std::string(kVariables) + std::string(line.substr(0, program)) + CNNTRAIN_PROGRAM + " " +
           std::string(line.substr(program)) + " --dry-run";
}

/// The line behind "python3 ", which poprun starts.
std::string_view behind_python(std::string_view line) {
    const std::size_t at = line.find("python");
    return line.substr(line.find(' ', at) + 1);
}

/// "--shards 4, --replicas 2" of the error that names them with their reasons; "" when there is none.
std::string refused(const std::string& output) {
    constexpr std::string_view kStart = "error: not available yet: ";
    const std::size_t begin = output.find(kStart);
    if (begin == std::string::npos) return "";
    const std::size_t names = begin + kStart.size();
    const std::string line = output.substr(names, output.find('\n', names) - names);
    return std::regex_replace(line, std::regex(R"( \([^)]*\))"), "");
}

void expect_outcome(const Outcome& outcome, std::string_view detail, std::string_view missing) {
    constexpr int kUnsupported = 4;
    EXPECT_EQ(outcome.exit_code, missing.empty() ? 0 : kUnsupported) << outcome.text;
    EXPECT_EQ(refused(outcome.text), missing);
    EXPECT_THAT(outcome.text, HasSubstr(std::string(detail)));
}

/// The line as it is typed, but for the launcher to say only what it would do.
std::string dry_launch(std::string_view line) {
    const std::string typed(line);
    const std::size_t poprun = typed.find("poprun ");
    return std::string(kVariables) + typed.substr(0, poprun) + CNNTRAIN_PROGRAM + " poprun --dry-run " +
           typed.substr(poprun + 7);
}

/// Placeholders of subnets and of hosts replaced by such as exist somewhere.
std::string with_hosts(std::string_view line) {
    std::string text = std::regex_replace(std::string(line), std::regex(R"(xxx[.x0-9]*/(xx|24))"), "10.1.2.0/24");
    for (int number = 1; text.find("xxx.") != std::string::npos; ++number) {
        const std::size_t begin = text.find("xxx.");
        const std::size_t end = text.find_first_not_of(".x0123456789", begin);
        text.replace(begin, end - begin, "10.1.2." + std::to_string(number));
    }
    return text;
}

int number_behind(const std::string& option, std::string_view line) {
    std::match_results<std::string_view::const_iterator> found;
    return std::regex_search(line.begin(), line.end(), found, std::regex(option + "[ =]([0-9]+)")) ? std::stoi(found[1])
                                                                                                   : 0;
}

/// poprun would start as many instances as the line says, each with its share of the replicas.
void expect_launch(std::string_view line) {
    if (line.find("xxx") != std::string_view::npos) {
        const Outcome as_written = shell(dry_launch(line));
        EXPECT_EQ(as_written.exit_code, 2) << as_written.text;
        EXPECT_THAT(as_written.text, AllOf(HasSubstr("--host: 'xxx."), HasSubstr("a placeholder")));
    }
    const Outcome outcome = shell(dry_launch(with_hosts(line)));
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("poprun topology"), HasSubstr("\nmpirun --tag-output --bind-to none")));
    const int instances = number_behind("--num-instances", line);
    const int replicas = number_behind("--num-replicas", line);
    const int ipus = number_behind("--ipus-per-replica", line);
    EXPECT_THAT(outcome.text, HasSubstr(" -np " + std::to_string(instances) + " "));
    EXPECT_THAT(outcome.text, HasSubstr("-x POPDIST_NUM_TOTAL_REPLICAS=" + std::to_string(replicas) +
                                        " -x POPDIST_NUM_LOCAL_REPLICAS=" + std::to_string(replicas / instances) +
                                        " -x POPDIST_NUM_IPUS_PER_REPLICA=" + std::to_string(ipus > 0 ? ipus : 1) +
                                        " -x POPDIST_UNIFORM_REPLICAS_PER_INSTANCE=1 "));
}

class DocumentedLines : public ::testing::TestWithParam<Documented> {};

TEST_P(DocumentedLines, HasTheOutcomeOfItsRow) {
    const Documented& documented = GetParam();
    SCOPED_TRACE(documented.line);
    if (documented.means == Means::launcher) {
        expect_launch(documented.line);
        expect_outcome(shell(line_of_shell(behind_python(documented.line))), std::string(documented.detail),
                       documented.missing);
        return;
    }
    const Outcome outcome = shell(line_of_shell(documented.line));
    const std::string detail(documented.detail);
    switch (documented.means) {
        case Means::run:
            expect_outcome(outcome, detail, documented.missing);
            return;
        case Means::launcher:
            return;
        case Means::mistake:
            EXPECT_EQ(outcome.exit_code, 2) << outcome.text;
            EXPECT_THAT(outcome.text, HasSubstr(detail));
            return;
        case Means::nothing:
            EXPECT_EQ(outcome.exit_code, 1) << outcome.text;
            EXPECT_THAT(outcome.text, HasSubstr(detail));
            return;
        case Means::help:
            EXPECT_EQ(outcome.exit_code, 0);
            EXPECT_THAT(outcome.text, AllOf(HasSubstr("usage: "), HasSubstr(detail)));
            return;
    }
}

/// Training lines can be planned as they are written; the launcher's part does not matter to a plan.
TEST_P(DocumentedLines, CanBePlannedWhenItTrains) {
    const Documented& documented = GetParam();
    const bool accepted = documented.means == Means::run || documented.means == Means::launcher;
    const std::size_t script = documented.line.find("train.py ");
    if (!accepted || script == std::string_view::npos) return;
    SCOPED_TRACE(documented.line);
    const Outcome outcome = shell(std::string(kVariables) + CNNTRAIN_PROGRAM + " plan " +
                                  std::string(documented.line.substr(script)) + " --no-measure");
    EXPECT_EQ(outcome.exit_code, 0) << outcome.text;
    EXPECT_THAT(outcome.text, AllOf(HasSubstr("images/s"), HasSubstr("Best splits:")));
}

INSTANTIATE_TEST_SUITE_P(All, DocumentedLines, ::testing::ValuesIn(kLines), [](const auto& row) {
    std::string name(row.param.id);
    name.replace(name.find('-'), 1, "_");
    return name;
});

}  // namespace
}  // namespace cnntrain::cli
