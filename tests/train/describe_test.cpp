#include "run/reports/describe.h"

#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "cnntrain/run/runs.h"
#include "support/bf16_products.h"
#include "support/matchers.h"
#include "train/by_task.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

TaskDescription described(const options::ParseResult& arguments) {
    return ImageClassification(arguments, *backend::make_cpu_backend(), 1).description();
}

std::string summary(const std::string& line) {
    const auto arguments = parse(line);
    return summary_block(arguments, described(arguments), RunFacts{}, nullptr);
}

TEST(Summary, NamesTheModelAndItsNorm) {
    const std::string cifar = "--dataset cifar-10 --generated-data ";
    EXPECT_THAT(summary(cifar + "--model resnext --model-size 29"), HasSubstr("29_32"));
    EXPECT_THAT(summary(cifar + "--model resnext --convolution-groups 8 --group-dim 16 --group-norm"),
                HasSubstr("11_8"));
    EXPECT_THAT(summary(cifar + "--model resnext"), Not(HasSubstr("Decay: 0.97")));
    EXPECT_THAT(summary(cifar + "--model efficientnet --model-size cifar --batch-norm"), HasSubstr("CIFAR"));
    EXPECT_THAT(summary("--model efficientnet --model-size 4 --dataset imagenet --generated-data"),
                HasSubstr("4 groups"));
    EXPECT_THAT(summary("--model efficientnet --model-size 4 --dataset imagenet --generated-data"),
                HasSubstr("\nImage Size: 380x380\n"));
}

TEST(DerivedArguments, SayWhereTheLossScalingIsTakenOut) {
    const auto scales = [](const std::string& optimiser) {
        const auto arguments = parse("--dataset cifar-10 --generated-data --loss-scaling 128 --optimiser " + optimiser);
        const auto derived = derived_arguments(arguments, described(arguments), RunFacts{}, {});
        return std::pair(std::get<double>(derived.at("lr_scale")), std::get<double>(derived.at("grad_scale")));
    };
    const std::pair of_step(1.0 / 128, 1.0);
    const std::pair of_gradient(1.0, 1.0 / 128);
    EXPECT_EQ(scales("SGD"), of_step);
    EXPECT_EQ(scales("momentum"), of_step);
    EXPECT_EQ(scales("RMSprop --rmsprop-decay 0.9"), of_gradient);
    EXPECT_EQ(scales("LARS"), of_gradient);
}

TEST(DryRun, TellsTheRingOfTheLoader) {
    if (!test::has_bf16_products()) GTEST_SKIP() << "needs products of bfloat16";
    const auto text = [](const std::string& line) {
        return dry_run_text(parse(
            "--dataset cifar-10 --data-dir /nowhere --model-size 8 --precision 16.32 --compute-type bf16 " + line));
    };
    // 32 images of 32 x 32 x 3 in 16 bits, and their labels, are 196.7 kB.
    EXPECT_THAT(text(""), HasSubstr("16 batches"));
    EXPECT_THAT(text("--prefetch-depth 1"), HasSubstr("1 batch"));
    EXPECT_THAT(text("--mixup-alpha 0.2 --hostside-image-mixing"), HasSubstr("10.6"));
    EXPECT_THAT(text("--generated-data"), Not(HasSubstr("ring")));
    const auto evaluation = [](options::Command command, const std::string& line) {
        return dry_run_text(
            parse("--dataset cifar-10 --data-dir /nowhere --model-size 8 --compute-type bf16 " + line, command));
    };
    EXPECT_THAT(evaluation(options::Command::validation, "--latency"), HasSubstr("1 batch"));
    EXPECT_THAT(evaluation(options::Command::inference, "--iterations 5 --num-inference-thread 30"),
                HasSubstr("31 batches"));
}

TEST(DryRun, CountsTheImagesThatAreThere) {
    const auto text = [](const std::string& line, options::Command command = options::Command::train) {
        return dry_run_text(
            parse("--dataset cifar-10 --model-size 8 --micro-batch-size 8 --epochs 2 " + line, command));
    };
    const std::string there = text("--data-dir " + small_cifar());
    EXPECT_THAT(there, HasSubstr(small_cifar()));
    EXPECT_THAT(there, HasSubstr("40 iterations, 2 epochs of 20 iterations"));
    EXPECT_THAT(there, HasSubstr("5 batches of 8"));
    EXPECT_THAT(text("--data-dir " + small_cifar(), options::Command::validation), HasSubstr(", 37 validation images"));
    EXPECT_THAT(text("--data-dir /nowhere"), HasSubstr("/nowhere"));
}

TEST(DryRun, OfAnEndlessRunIsThereAtOnce) {
    const auto text = [](const std::string& line) {
        return dry_run_text(parse("--dataset cifar-10 --generated-data --model-size 8 " + line));
    };
    EXPECT_THAT(text("--iterations 1000000000000 --device-iterations 1"), HasSubstr("1000000000000"));
    EXPECT_THAT(text("--epochs 16777216"), HasSubstr(" in all)"));
}

TEST(DryRun, NamesTheFilesThatARunWrites) {
    const auto files = [](options::Command command, const std::string& line) {
        const std::string text = dry_run_text(
            parse("--dataset cifar-10 --data-dir /nowhere --model-size 8 --logs-path run " + line, command));
        return text.substr(text.find("\nFiles:"));
    };
    const std::string train = files(options::Command::train, "--mlperf-logging");
    EXPECT_THAT(train, HasSubstr("events.out.tfevents"));
    EXPECT_THAT(files(options::Command::train, "--no-validation --ckpts-per-epoch 0 --no-tensorboard"),
                HasSubstr("run/: arguments.json, log.txt, training.csv\n"));
    EXPECT_THAT(files(options::Command::validation, ""), HasSubstr("log.txt, validation.csv, events"));
    EXPECT_THAT(files(options::Command::inference, ""), HasSubstr("log.txt, predictions.csv, events"));
    EXPECT_THAT(files(options::Command::inference, "--iterations 3"),
                AllOf(HasSubstr("log.txt, validation.csv, events"), HasSubstr("cnntrain_exec")));
}

}  // namespace
}  // namespace cnntrain::run::testing
