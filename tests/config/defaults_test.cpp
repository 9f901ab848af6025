#include "cnntrain/base/io.h"
#include "config/parsing.h"
#include "support/matchers.h"
#include "support/temporary_folder.h"

namespace cnntrain::options::testing {
namespace {

using ::testing::DoubleEq;

/// A column of the table of model defaults.
struct Column {
    std::string line;
    std::string size;
    std::int64_t micro_batch;
    nn::NormKind norm;
    std::int64_t groups;
    double weight_decay;
    double sgd;
    double momentum;
    double epochs;
    std::vector<double> drops;
    std::int64_t image_size;
    double label_smoothing;
};

TEST(Defaults, FollowModelAndDataset) {
    const std::vector<double> four = {0.3, 0.6, 0.8, 0.9};
    const std::vector<double> two = {0.5, 0.75};
    const std::string effnet = "--model efficientnet ";
    const Column columns[] = {
        {kImageNet, "18", 4, nn::NormKind::group, 32, 1e-4, -8, -11, 100, four, 224, 0},
        {kCifar, "20", 32, nn::NormKind::batch, 1, 1e-6, -6, -6, 160, two, 32, 0},
        {"--model resnext " + kImageNet, "14", 1, nn::NormKind::group, 32, 1e-4, -8, -11, 100, four, 224, 0},
        {"--model resnext " + kCifar, "11", 8, nn::NormKind::batch, 1, 1e-6, -6, -6, 160, two, 32, 0},
        {effnet + kImageNet, "B0", 4, nn::NormKind::group, 4, 1e-5, -7, -10, 350, four, 224, 0.1},
        {effnet + kCifar + "--model-size cifar ", "CIFAR", 8, nn::NormKind::group, 4, 1e-6, -6, -6, 300, two, 32, 0},
    };
    for (const Column& column : columns) {
        SCOPED_TRACE(column.line);
        const Settings settings = parse(column.line).settings;
        EXPECT_EQ(tasks::image_settings(settings).model.size, column.size);
        EXPECT_EQ(settings.training.micro_batch_size, column.micro_batch);
        EXPECT_EQ(tasks::image_settings(settings).model.norm, column.norm);
        EXPECT_EQ(tasks::image_settings(settings).model.groups, column.groups);
        EXPECT_EQ(settings.optimiser.weight_decay, column.weight_decay);
        EXPECT_EQ(tasks::image_settings(settings).learning_rate.base_exponent, column.sgd);
        EXPECT_EQ(image(parse(column.line + "--optimiser momentum")).learning_rate.base_exponent, column.momentum);
        EXPECT_EQ(settings.training.epochs, column.epochs);
        EXPECT_EQ(tasks::image_settings(settings).learning_rate.stepped_fractions, column.drops);
        EXPECT_EQ(tasks::image_settings(settings).data.image_size, column.image_size);
        EXPECT_EQ(tasks::image_settings(settings).label_smoothing, column.label_smoothing);
        EXPECT_EQ(tasks::image_settings(settings).model.bn_decay, 0.97);
    }
}

TEST(Defaults, DatasetDecidesDecayExclusions) {
    const Settings imagenet = parse(kImageNet).settings;
    EXPECT_THAT(imagenet.optimiser.weight_decay_exclude, ElementsAre("beta", "gamma"));
    const Settings cifar = parse(kCifar).settings;
    EXPECT_THAT(cifar.optimiser.weight_decay_exclude, IsEmpty());
}

TEST(Defaults, GroupNormOnCifarHasSixteenGroups) {
    const Settings settings = parse(kCifar + "--group-norm").settings;
    EXPECT_EQ(tasks::image_settings(settings).model.norm, nn::NormKind::group);
    EXPECT_EQ(tasks::image_settings(settings).model.groups, 16);
    EXPECT_EQ(image(parse(kCifar + "--group-norm --groups 8")).model.groups, 8);
}

TEST(Defaults, OptimisersWithoutDefaultLearningRateAskForOne) {
    EXPECT_THAT(usage_error(kImageNet + "--optimiser LARS"), HasSubstr("LARS"));
    EXPECT_EQ(usage_error(kImageNet + "--optimiser LARS --abs-learning-rate 2"), "");
    EXPECT_EQ(parse(kCifar + "--optimiser LARS").settings.optimiser.weight_decay, 0.0);
    EXPECT_EQ(parse(kCifar + "--optimiser LARS").at("lars_weight_decay").value, Value(1e-6));
    EXPECT_EQ(parse("--model efficientnet --optimiser RMSprop " + kImageNet).at("rmsprop_base_decay_exp").value,
              Value(-14.0));
}

TEST(Defaults, ZeroIsUnsetWhereTheContractSaysSo) {
    const ParseResult run = parse(kCifar + "--BN-decay 0 --model-size 0 --pipeline-num-parallel 0");
    EXPECT_EQ(image(run).model.bn_decay, 0.97);
    EXPECT_EQ(image(run).model.size, "20");
    EXPECT_EQ(image(run).data.pipeline_num_parallel, 48);
    EXPECT_THAT(run.notices, Contains("--BN-decay 0 counts as not given: 0.97 is used"));
    EXPECT_EQ(image(parse("--model efficientnet --model-size 0 " + kImageNet)).model.size, "B0");
    const std::string lars = kCifar + "--optimiser LARS --lars-weight-decay 0 ";
    EXPECT_EQ(parse(lars + "--weight-decay 0.5").settings.optimiser.lars.weight_decay, 0.5);
    EXPECT_THAT(parse(lars + "--weight-decay 0.5").notices,
                Contains("--lars-weight-decay 0 counts as not given: 0.5 is used"));
    EXPECT_EQ(parse(lars).settings.optimiser.lars.weight_decay, 0.0);
    EXPECT_EQ(parse(kCifar + "--weight-decay 0").settings.optimiser.weight_decay, 0.0);
}

TEST(Defaults, EfficientNetSizes) {
    const std::string line = "--model efficientnet --dataset imagenet --generated-data --model-size ";
    EXPECT_EQ(image(parse(line + "4")).model.size, "B4");
    EXPECT_EQ(image(parse(line + "b7")).model.size, "B7");
    EXPECT_EQ(image(parse(line + "4")).data.image_size, 380);
    EXPECT_EQ(image(parse(line + "B4 --image-size 300")).data.image_size, 300);
}

TEST(Defaults, IterationsReplaceTheModelsEpochs) {
    const Settings settings = parse(kCifar + "--iterations 10").settings;
    EXPECT_EQ(settings.training.iterations, 10);
    EXPECT_FALSE(parse(kCifar).settings.training.iterations.has_value());
}

TEST(Defaults, BaseLearningRate) {
    EXPECT_THAT(optim::base_learning_rate(image(parse(kCifar)).learning_rate, 32), DoubleEq(0.5));
    EXPECT_THAT(optim::base_learning_rate(image(parse(kCifar + "--abs-learning-rate 0.3")).learning_rate, 32),
                DoubleEq(0.3));
}

TEST(Defaults, DatasetIsToldFromTheFolder) {
    EXPECT_EQ(image(parse("--data-dir /x/ImageNet-2012")).data.dataset, data::DatasetId::imagenet);
    EXPECT_EQ(image(parse("--data-dir /x/cifar100")).data.dataset, data::DatasetId::cifar100);
    EXPECT_EQ(image(parse("--data-dir /x/cifar-100-binary")).data.dataset, data::DatasetId::cifar100);
    EXPECT_EQ(image(parse("--data-dir /x/cifar")).data.dataset, data::DatasetId::cifar10);
    EXPECT_THAT(usage_error("--data-dir /x/pictures"), HasSubstr("'/x/pictures'"));
    EXPECT_THAT(usage_error("--generated-data"), HasSubstr("need --dataset"));
    EXPECT_THAT(usage_error(""), HasSubstr("give --data-dir"));
}

TEST(Defaults, DatasetIsToldFromTheFilesInTheFolder) {
    const test::TemporaryFolder folder;
    folder.write("data_batch_1.bin", "x");
    EXPECT_EQ(image(parse("--data-dir " + folder.path())).data.dataset, data::DatasetId::cifar10);
    folder.write("train-00000-of-00004", "x");
    EXPECT_THAT(usage_error("--data-dir " + folder.path()), Not(IsEmpty()));
}

TEST(Defaults, PhotosInClassFoldersAreToldFromTheirFiles) {
    const test::TemporaryFolder folder;
    const std::string line = "--data-dir " + folder.path() + " --abs-learning-rate 0.1 ";
    for (const char* name : {"train/ant", "train/bee"})
        posix_files().make_directories(folder / name);
    folder.write("train/ant/notes.txt", "x");
    folder.write("train/photo.jpg", "x");
    EXPECT_THAT(usage_error(line), HasSubstr("detected"));
    for (const char* name : {"train/ant/photo.JPEG", "train/bee/photo.JPEG"})
        folder.write(name, "\xff\xd8\xff\xe0");
    const ParseResult run = parse(line + "--dataset-cache-gb 1 --strict-data --normalise-input");
    EXPECT_EQ(image(run).data.dataset, data::DatasetId::folder);
    EXPECT_EQ(image(run).data.image_size, 224);
    EXPECT_THAT(run.notices, ElementsAre(HasSubstr("2 photos"), HasSubstr("--dataset-cache-gb changes nothing")));
    EXPECT_THAT(run.settings.optimiser.weight_decay_exclude, ElementsAre("beta", "gamma"));
    EXPECT_THAT(usage_error("--dataset folder --generated-data"), HasSubstr("--dataset"));
}

TEST(Precedence, DefaultModelEnvironmentConfigCommandLine) {
    Environment environment = test_environment();
    environment.data_dir = "/from/environment";
    const auto result =
        parse_command_line(Command::train, words("--config resnet50_gn_16ipus --epochs 3"), environment);
    EXPECT_EQ(result.at("epochs").source, Source::command_line);
    EXPECT_EQ(result.settings.training.epochs, 3.0);
    EXPECT_EQ(result.at("micro_batch_size").source, Source::config);
    EXPECT_EQ(result.settings.training.micro_batch_size, 8);
    EXPECT_EQ(result.at("data_dir").source, Source::config);
    EXPECT_EQ(result.at("groups").source, Source::model);
    EXPECT_EQ(result.at("warmup_epochs").source, Source::default_value);

    const auto plain = parse_command_line(Command::train, words("--dataset imagenet"), environment);
    EXPECT_EQ(plain.at("data_dir").source, Source::environment);
    EXPECT_EQ(image(plain).data.data_dir, "/from/environment");
}

TEST(Precedence, CommandLineSettlesAlternativesAgainstTheConfig) {
    const std::string config = "--config resnet50_mlperf_pod16_bs20 ";
    EXPECT_EQ(image(parse(config + "--group-norm")).model.norm, nn::NormKind::group);
    EXPECT_EQ(image(parse(config + "--no-batch-norm")).model.norm, nn::NormKind::group);
    EXPECT_EQ(parse(config + "--iterations 10").settings.training.iterations, 10);
    EXPECT_EQ(parse(config + "--ckpts-per-epoch 0").settings.checkpoint.ckpts_per_epoch, 0);
    EXPECT_EQ(parse(config + "--ckpts-per-epoch 0").settings.checkpoint.epochs_per_ckpt, 0);
    EXPECT_EQ(parse(config + "--batch-size 4").settings.training.micro_batch_size, 4);
    EXPECT_FALSE(image(parse(config + "--base-learning-rate-exponent -9")).learning_rate.absolute.has_value());
    EXPECT_FALSE(image(parse(config + "--no-eight-bit-io")).data.eight_bit_io);
}

TEST(Precedence, PrintConfigNamesWhoSetEachValue) {
    const std::string text = print_config_text(parse("--config resnet50_gn_16ipus --epochs 3"));
    EXPECT_THAT(text, ::testing::ContainsRegex("epochs +3 +command line"));
    EXPECT_THAT(text, ::testing::ContainsRegex("micro_batch_size +8 +config resnet50_gn_16ipus"));
    EXPECT_THAT(text, ::testing::ContainsRegex("groups +32 +model and data set"));
    EXPECT_THAT(text, ::testing::ContainsRegex("log_dir +./logs/ +default"));
}

TEST(Adjustments, AreMadeWithANotice) {
    const auto fused = parse(kCifar + "--fused-preprocessing");
    EXPECT_EQ(fused.at("fused_preprocessing").value, Value(false));
    EXPECT_THAT(fused.notices, ElementsAre(HasSubstr("--fused-preprocessing")));

    const auto host = parse("--dataset imagenet --data-dir x --eight-bit-io --hostside-norm");
    EXPECT_FALSE(image(host).data.hostside_norm);
    EXPECT_TRUE(image(host).data.eight_bit_io);
    EXPECT_THAT(host.notices, ElementsAre(HasSubstr("--hostside-norm")));

    const auto mixed = parse(kImageNet + "--mixup-alpha 0.2 --cutmix-lambda 0.5");
    EXPECT_EQ(mixed.at("mixup_alpha").value, Value(0.0));
    EXPECT_EQ(mixed.at("cutmix_lambda").value, Value(1.0));
    EXPECT_EQ(mixed.notices.size(), 2U);
    EXPECT_THAT(unavailable_options(mixed), IsEmpty());

    const auto latency = parse("--dataset cifar-10 --synthetic-data --latency", Command::validation);
    EXPECT_EQ(latency.at("latency").value, Value(false));
    EXPECT_THAT(latency.notices, ElementsAre(HasSubstr("--latency")));

    const auto partials = parse(kCifar + "--enable-half-partials --precision 32.32");
    EXPECT_THAT(partials.notices, ::testing::Contains(HasSubstr("--precision 32.32")));

    const auto order = parse("--dataset imagenet --data-dir x", Command::validation);
    EXPECT_EQ(order.at("standard_imagenet").value, Value(true));
    EXPECT_THAT(order.notices, IsEmpty());
    EXPECT_THAT(parse(kCifar).notices, IsEmpty());
}

TEST(Adjustments, OneDeviceEvaluates) {
    const auto result =
        parse("--dataset cifar-10 --data-dir x --replicas 4 --shards 2 --BN-span 4 --distributed", Command::validation);
    EXPECT_EQ(result.settings.training.replicas, 1);
    EXPECT_EQ(result.settings.training.shards, 1);
    EXPECT_THAT(result.notices,
                ElementsAre(HasSubstr("--replicas 4"), HasSubstr("--shards 2"), HasSubstr("--distributed")));
    EXPECT_EQ(parse(kCifar + "--replicas 4").settings.training.replicas, 4);
}

TEST(Adjustments, WhatIsForImageNetOnlyIsNamedForCifar) {
    EXPECT_THAT(parse(kCifar + "--normalise-input --dataset-percentage-to-use 50").notices,
                ElementsAre(HasSubstr("--normalise-input"), HasSubstr("--dataset-percentage-to-use")));
    EXPECT_THAT(parse(kCifar + "--latency --iterations 1", Command::inference).notices,
                ElementsAre(HasSubstr("--latency changes nothing: it is for training and validation")));
}

TEST(Adjustments, ConfiguredEpochsPutTheLastCheckpointOnTheLastEpoch) {
    EXPECT_EQ(parse("--config resnet50_mlperf_pod16_bs20").settings.checkpoint.ckpt_epochs_offset, 0);  // 40 of 4
    EXPECT_EQ(parse("--config resnet50_mlperf_pod16_lars").settings.checkpoint.ckpt_epochs_offset, 2);  // 38 of 4
    EXPECT_EQ(parse("--config resnet50_mlperf_pod16_lars --epochs 39").settings.checkpoint.ckpt_epochs_offset, 0);
}

TEST(Adjustments, ZeroThatMeansNotGivenIsSaid) {
    const auto result = parse(kCifar + "--micro-batch-size 0 --learning-rate-decay 0");
    EXPECT_EQ(result.settings.training.micro_batch_size, 32);
    EXPECT_THAT(result.notices, ElementsAre(HasSubstr("--micro-batch-size 0"), HasSubstr("--learning-rate-decay 0")));
    EXPECT_EQ(parse(kCifar + "--epochs 0 --iterations 5").settings.training.iterations, 5);
    EXPECT_EQ(parse("--config resnet50_gn_16ipus --generated-data --iterations 0").settings.training.epochs, 65);
    EXPECT_EQ(parse(kCifar + "--weight-decay 0").settings.optimiser.weight_decay, 0.0);
}

TEST(Notices, OptionsThatChangeNothingSayWhy) {
    const auto result = parse(kImageNet + "--standard-imagenet --ckpt-all-instances false --log-all-instances");
    EXPECT_THAT(result.notices, ElementsAre(HasSubstr("--standard-imagenet"), HasSubstr("--log-all-instances")));
    EXPECT_THAT(parse("--dataset cifar-10 --data-dir x --inference", Command::validation).notices,
                ElementsAre(HasSubstr("--inference")));
    EXPECT_EQ(numerics_fingerprint(result), numerics_fingerprint(parse(kImageNet)));
}

TEST(Notices, IpuOptionsAreNamedOnce) {
    const auto result = parse(kCifar + "--enable-half-partials --stable-norm --select-ipu 2 --on-demand");
    ASSERT_EQ(result.notices.size(), 1U);
    EXPECT_THAT(result.notices[0], HasSubstr("--enable-half-partials"));
    EXPECT_THAT(result.notices[0], HasSubstr("--stable-norm"));
    EXPECT_THAT(result.notices[0], HasSubstr("--select-ipu"));
    EXPECT_THAT(result.notices[0], ::testing::Not(HasSubstr("--on-demand")));
    EXPECT_EQ(result.at("stable_norm").value, Value(true));
}

}  // namespace
}  // namespace cnntrain::options::testing
