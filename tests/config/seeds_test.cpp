// Every command line of the original programs' documentation that runs one process, or that poprun starts.
#include <gmock/gmock.h>

#include "config/parsing.h"

namespace cnntrain::options::testing {
namespace {

const std::vector<std::string>& documented_lines() {
    // NOLINTBEGIN(bugprone-suspicious-missing-comma): a line is several literals
    static const std::vector<std::string> lines = {
        "train.py --model resnet --model-size 50 --dataset imagenet --data-dir /data/ --ckpts-per-epoch 0 --batch-size "
        "16 --replicas 1 --gradient-accumulation-count 1024 --epochs 1 --no-validation --enable-recomputation "
        "--optimiser momentum --momentum 0.9 --normalise-input --stable-norm --internal-exchange-optimisation-target "
        "balanced --enable-half-partials --standard-imagenet --pipeline-num-parallel 32 --pipeline-schedule Grouped "
        "--no-dataset-cache --shards=4 --pipeline-splits b1/2/relu b2/3/relu b3/3/relu --pipeline --batch-norm "
        "--available-memory-proportion 0.15 --disable-variable-offloading --precision 16.32 --eight-bit-io",
        "train.py --model resnet --model-size 50 --dataset imagenet --data-dir /data/ --ckpts-per-epoch 0 --batch-size "
        "16 --gradient-accumulation-count 256 --epochs 1 --no-validation --enable-recomputation --optimiser momentum "
        "--momentum 0.9 --normalise-input --stable-norm --internal-exchange-optimisation-target balanced "
        "--enable-half-partials --standard-imagenet --pipeline-num-parallel 32 --pipeline-schedule Grouped "
        "--no-dataset-cache --shards=4 --pipeline-splits b1/2/relu b2/3/relu b3/3/relu --pipeline --batch-norm "
        "--available-memory-proportion 0.15 --disable-variable-offloading --precision 16.32 --eight-bit-io",
        "train.py --config mk2_resnet50_bn_64ipus --no-validation --epochs 10 --ckpts-per-epoch 0",
        "train.py --model resnext --model-size 101 --dataset imagenet --data-dir /data --shards 2 --replicas 2 "
        "--batch-size 6 --pipeline --gradient-accumulation-count 64 --pipeline-splits b3/3/relu --epoch 2 "
        "--ckpts-per-epoch 0 --enable-recomputation --normalise-input --internal-exchange-optimisation-target balanced "
        "--enable-half-partials --stable-norm --base-learning-rate -11 --pipeline-schedule Grouped --optimiser "
        "momentum --momentum 0.9 --lr-schedule cosine --label-smoothing 0.1 --no-validation "
        "--disable-variable-offloading --eight-bit-io",
        "train.py --model resnext --model-size 101 --dataset imagenet --data-dir /data --shards 2 --batch-size 6 "
        "--pipeline --gradient-accumulation-count 16 --pipeline-splits b3/3/relu --epoch 2 --ckpts-per-epoch 0 "
        "--enable-recomputation --normalise-input --internal-exchange-optimisation-target balanced "
        "--enable-half-partials --stable-norm --base-learning-rate -11 --pipeline-schedule Grouped --optimiser "
        "momentum --momentum 0.9 --lr-schedule cosine --label-smoothing 0.1 --no-validation "
        "--disable-variable-offloading --standard-imagenet --eight-bit-io",
        "train.py --model=efficientnet --model-size=4 --data-dir /data/ --precision=16.32 --group-dim=16 "
        "--expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential "
        "--enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped "
        "--internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda "
        "0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c "
        "block4c block6a --pipeline --gradient-accumulation-count=40 --no-validation --epochs 2",
        "train.py --model=efficientnet --model-size=4 --data-dir /data/ --precision=16.32 --group-dim=16 "
        "--expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential "
        "--enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped "
        "--internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda "
        "0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c "
        "block4c block6a --pipeline --gradient-accumulation-count=40 --no-validation --epochs 1",
        "train.py --config mk2_efficientnet_b4_g1_64ipus --no-validation --epochs 10",
        "train.py --model=efficientnet --model-size=4 --data-dir /data/ --precision=16.32 --group-dim=16 "
        "--expand-ratio=4 --dataset=imagenet --groups=4 --optimiser=RMSprop --lr-schedule=exponential "
        "--enable-recomputation --enable-conv-dithering --available-memory-proportion=0.15 --pipeline-schedule Grouped "
        "--internal-exchange-optimisation-target balanced --weight-avg-exp 0.97 --enable-half-partials --cutmix-lambda "
        "0.85 --mixup-alpha=0.2 --disable-variable-offloading --batch-size=5 --shards=4 --pipeline-split block2c "
        "block4c block6a --pipeline --gradient-accumulation-count=160 --no-validation --epochs 2",
        "train.py --config mk2_efficientnet_b4_g16_64ipus --no-validation --epochs 10",
        "validation.py --model resnet --model-size 50 --dataset imagenet --batch-size 1 "
        "--synthetic-data --repeat 10 --batch-norm --enable-half-partials",
        "validation.py --model resnext --model-size 101 --dataset imagenet --batch-size 1 "
        "--synthetic-data --repeat 10 --batch-norm --enable-half-partials",
        "validation.py --model efficientnet --model-size 0 --dataset imagenet --precision 16.16 "
        "--batch-size 1 --synthetic-data --repeat 10 --batch-norm --enable-half-partials",
        "validation.py --model resnet --model-size 50 --dataset imagenet --batch-size 1 "
        "--generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io",
        "validation.py --model resnext --model-size 101 --dataset imagenet --batch-size 2 "
        "--generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io",
        "validation.py --model efficientnet --model-size 0 --dataset imagenet --precision 16.16 --batch-size 8 "
        "--generated-data --repeat 10 --batch-norm --enable-half-partials --eight-bit-io",
        "train.py --dataset imagenet --data-dir path-to/imagenet",
        "restore.py --restore-path logs/RN20_bs32_BN_16.16_v0.9.115_3S9/",
        "train.py --config resnet50_gn_16ipus --data-dir your_dataset_dir_path --no-validation",
        "validation.py --config resnet50_gn_16ipus --data-dir your_dataset_dir_path "
        "--restore-path generated_checkpoints_dir_path",
        "train.py --config resnet50_bn_16ipus --data-dir your_dataset_path --no-validation",
        "validation.py --config resnet50_bn_16ipus --shards 1 --data-dir your_dataset_dir_path "
        "--restore-path generated_checkpoints_dir_path",
        "train.py --config resnet50_bn_64ipus --no-validation --data-dir your_dataset_path",
        "validation.py --config resnet50_bn_64ipus --shards 1 --data-dir your_dataset_path "
        "--restore-path generated_checkpoints_dir_path",
        "train.py --config resnet50_mlperf_pod16_bs20 --epochs-per-sync 20 --data-dir "
        "your_dataset_path --no-validation",
        "validation.py --config resnet50_mlperf_pod16_bs20 --no-stochastic-rounding --micro-batch-size 25 "
        "--available-memory-proportion 0.6 --data-dir your_dataset_path --restore-path generated_checkpoints_dir_path",
        "train.py --config resnet50_mlperf_pod64_bs20 --epochs-per-sync 20 --data-dir "
        "your_dataset_path --no-validation",
        "train.py --config resnext101_16ipus --data-dir your_dataset_path --no-validation",
        "validation.py --config resnext101_16ipus --shards 1 --data-dir your_dataset_path "
        "--restore-path generated_checkpoints_dir_path",
        "train.py --config efficientnet_b4_g1_16ipus --data-dir your_dataset_path --no-validation",
        "validation.py --config efficientnet_b4_g1_16ipus --shards 1 --data-dir "
        "your_dataset_dir_path --restore-path generated_checkpoints_dir_path",
        "train.py --config efficientnet_b4_g16_16ipus --data-dir your_dataset_path "
        "--no-validation --identical-replica-seeding",
        "train.py --config efficientnet_b4_g1_with_batch_norm_16ipus",
        "validation.py --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size "
        "8 --generated-data --repeat 10 --batch-norm",
        "inference_embedded.py --model efficientnet --model-size B0 --dataset imagenet --micro-batch-size 1 "
        "--iterations 1000 --device-iterations 100 --eight-bit-io --no-dataset-cache --generated-data",
        "train.py --config resnet8_test --wandb",
    };
    // NOLINTEND(bugprone-suspicious-missing-comma)
    return lines;
}

TEST(DocumentedLines, ParseAndAreAvailable) {
    for (const std::string& line : documented_lines()) {
        SCOPED_TRACE(line);
        std::vector<std::string> arguments = words(line);
        const Command command = command_named(arguments.front());
        arguments.erase(arguments.begin());
        Environment environment = test_environment();
        environment.data_dir = "/data";
        const ParseResult result = parse_command_line(command, arguments, environment);
        EXPECT_THAT(unavailable_options(result), ::testing::IsEmpty());
    }
}

TEST(DocumentedLines, MeanWhatTheySaid) {
    const auto parse_line = [](std::size_t index) {
        std::vector<std::string> arguments = words(documented_lines()[index]);
        arguments.erase(arguments.begin());
        return parse_command_line(Command::train, arguments, test_environment());
    };
    const ParseResult resnet = parse_line(0);
    EXPECT_EQ(to_string(resnet.at("pipeline_splits").value), "stage1/unit3/relu stage2/unit4/relu stage3/unit4/relu");
    EXPECT_EQ(resnet.settings.training.micro_batch_size, 16);
    EXPECT_EQ(image(resnet).learning_rate.base_exponent, -11.0);
    EXPECT_EQ(resnet.settings.device.precision, nn::Precision::p16_32);
    EXPECT_EQ(resnet.settings.checkpoint.ckpts_per_epoch, 0);

    const ParseResult resnext = parse_line(3);
    EXPECT_EQ(resnext.settings.training.epochs, 2.0);
    EXPECT_EQ(image(resnext).learning_rate.base_exponent, -11.0);
    EXPECT_EQ(image(resnext).learning_rate.schedule, optim::LrSchedule::cosine);
}

}  // namespace
}  // namespace cnntrain::options::testing
