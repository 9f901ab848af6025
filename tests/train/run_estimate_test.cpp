// Estimates of a run's memory, time and disk.
#include "run/reports/run_estimate.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/memory.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/runs.h"
#include "cnntrain/weights/checkpoint.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/by_task.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

const std::string kSmall = "--dataset cifar-10 --generated-data --model-size 8 --threads 2 ";

/// The report of a training, compiled to run or only described.
struct Reports {
    explicit Reports(const std::string& line) : arguments(parse(kSmall + line)) {
        const options::Settings& settings = arguments.settings;
        const ImageClassification task(arguments, *backend, 1);
        const auto fields = task.batch_fields(data::Split::train, placement(settings, *backend).samples);
        const graph::Graph graph = task.graph(GraphUse::training, fields);
        const backend::CompileRequest request = training_request(graph, settings, fields, 1);
        described = backend->describe(request).value();
        run = backend->compile(request)->report();
    }
    options::ParseResult arguments;
    std::unique_ptr<backend::Backend> backend = backend::make_cpu_backend();
    backend::CompileReport described, run;
};

TEST(Description, IsTheReportOfTheCompiledProgram) {
    for (const std::string line :
         {"", "--precision 32.32 --micro-batch-size 3", "--gradient-accumulation-count 8 --lanes 2",
          "--pipeline --shards 2 --pipeline-splits stage2/unit1/relu --gradient-accumulation-count 8",
          ("--pipeline --shards 2 --pipeline-splits stage2/unit1/relu --gradient-accumulation-count 8 "
           "--pipeline-schedule Sequential --enable-recomputation")}) {
        const Reports reports(line);
        EXPECT_EQ(reports.described.arena_bytes, reports.run.arena_bytes) << line;
        EXPECT_EQ(reports.described.parameter_bytes, reports.run.parameter_bytes) << line;
        EXPECT_EQ(reports.described.stage_held_bytes, reports.run.stage_held_bytes) << line;
        EXPECT_EQ(reports.described.flops_per_micro_batch, reports.run.flops_per_micro_batch) << line;
        EXPECT_GT(reports.run.arena_bytes, 0U);
    }
}

TEST(Description, OfAGraphBeyondTheMachineTakesNoMemory) {
    const auto arguments = parse(kSmall + "--micro-batch-size 100000");
    const auto backend = backend::make_cpu_backend();
    const ImageClassification task(arguments, *backend, 1);
    const auto fields = task.batch_fields(data::Split::train, 100000);
    const graph::Graph graph = task.graph(GraphUse::training, fields);
    const std::uint64_t before = resident_bytes();
    const auto report = backend->describe(training_request(graph, arguments.settings, fields, 1));
    EXPECT_GT(report->arena_bytes, 10'000'000'000U);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(resident_bytes(), before + 200'000'000U);
#endif
}

TEST(Speeds, AreMeasured) {
    const auto products = backend::make_cpu_backend()->measure_products(DType::f32, 1);
    ASSERT_TRUE(products);
    EXPECT_GT(*products, 1e8);
}

TEST(Durations, AreReadable) {
    EXPECT_EQ(duration_text(0.0123), "12 ms");
    EXPECT_EQ(duration_text(12.34), "12.3 s");
    EXPECT_EQ(duration_text(150), "2.5 minutes");
    EXPECT_EQ(duration_text(9000), "2.5 hours");
    EXPECT_EQ(duration_text(86400 * 3), "3 days");
    EXPECT_EQ(duration_text(1e12), "3.17e+04 years");
}

TEST(Checkpoints, ThatAreKeptCount) {
    CheckpointTotal total{.written = 11, .keep = 0, .bytes = 2'000'000};
    EXPECT_EQ(checkpoint_text(total), "11 of 2.0 MB: 22.0 MB");
    total.keep = 3;
    EXPECT_EQ(checkpoint_text(total), "11 of 2.0 MB, of which the newest 3 are kept: 6.0 MB");
    total.keep = 20;
    EXPECT_EQ(checkpoint_text(total), "11 of 2.0 MB: 22.0 MB");
    EXPECT_EQ(checkpoint_text({}), "none");
    total = {.written = 11, .keep = 3, .bytes = 2'000'000, .best_bytes = 1'000'000, .average_bytes = 500'000};
    EXPECT_EQ(disk_warning(total, 10'500'000, "/run"), "") << "four and two best ones for a moment, and the average";
    EXPECT_THAT(disk_warning(total, 10'499'999, "/run"), AllOf(HasSubstr("10.5 MB"), HasSubstr("/run")));
    EXPECT_EQ(checkpoint_text({.best_bytes = 2'000'000, .average_bytes = 3'000'000}),
              "none; the best weights: 2.0 MB; the average of the weights: 3.0 MB");
    EXPECT_EQ(checkpoint_text({.written = INT64_MAX, .keep = 0, .bytes = INT64_MAX}).substr(0, 22),
              "9223372036854775807 of");
}

std::uint64_t tensor_bytes(const FileSystem& files, const std::string& path) {
    std::uint64_t bytes = 0;
    for (const auto& [name, tensor] : weights::load(files, path).tensors)
        bytes += tensor.desc().bytes();
    return bytes;
}

TEST(Checkpoints, HaveTheSizesOfTheFiles) {
    const std::string often = "--validate-every 1 --keep-best loss --no-tensorboard ";
    for (const std::string options : {"--precision 16.16", "--precision 16.16 --checkpoint-dtype f32",
                                      "--precision 16.16 --optimiser AdamW --abs-learning-rate 0.01",
                                      "--precision 32.32 --ema-decay 0.9", "--precision 16.16 --ema-decay 0.9"}) {
        MemoryFiles files;
        train(files, often + options);
        const options::ParseResult arguments =
            parse("--dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 8 " + often + options);
        const auto backend = backend::make_cpu_backend();
        const ImageClassification task(arguments, *backend, 1);
        const options::Settings& settings = arguments.settings;
        const graph::Graph graph = task.graph(
            GraphUse::training, task.batch_fields(data::Split::train, placement(settings, *backend).samples));
        const CheckpointTotal total = checkpoint_total(graph, settings, task.plan(160));
        EXPECT_EQ(total.bytes, tensor_bytes(files, "run/ckpt-40.safetensors")) << options;
        EXPECT_EQ(total.best_bytes, tensor_bytes(files, "run/ckpt-best.safetensors")) << options;
        if (settings.training.ema_decay > 0) {
            EXPECT_EQ(total.average_bytes, tensor_bytes(files, "run/ckpt/weight_avg_ema.safetensors")) << options;
        }
    }
}

TEST(MemoryText, SaysWhenTheMachineIsTooSmall) {
    const MemoryEstimate memory{.program = 1, .variables = 2'000'000'000, .activations = 3'000'000'000};
    EXPECT_THAT(memory_text(memory, 6'000'000'000), AllOf(HasSubstr("5.00"), Not(HasSubstr("more than"))));
    EXPECT_THAT(memory_text(memory, 4'000'000'000), HasSubstr("4.0"));
}

std::string dry(const std::string& line) {
    return dry_run_text(parse(kSmall + line));
}

TEST(DryRunEstimate, TellsMemoryTimeAndDisk) {
    const std::string text = dry("--epochs 10 --keep-ckpts 3");
    EXPECT_THAT(text, ContainsRegex("\nDisk: +checkpoints: 11 of [0-9.]+ kB, of which the newest 3 are kept: [0-9]"));
    EXPECT_THAT(text, ContainsRegex("\nMemory: +about [0-9.]+ MB at most: variables [0-9.]+ [kM]B, activations"));
    EXPECT_THAT(text,
                ContainsRegex("\nTime: +about [0-9.]+ images/s, [0-9.]+ m?s an update, [0-9.]+ .*32 made-up images"));
    EXPECT_THAT(text, Not(HasSubstr("Long updates")));
    EXPECT_THAT(dry("--ckpts-per-epoch 0"), HasSubstr("checkpoints: none"));
    EXPECT_THAT(dry("--epochs 10 --ema-decay 0.9 --keep-best loss"),
                ContainsRegex("\nDisk: .*; the best weights: [0-9.]+ kB; the average of the weights: [0-9.]+ kB\n"));
}

TEST(DryRunEstimate, KnowsTheFieldsOfMixedBatches) {
    for (const std::string mixing :
         {"--mixup-alpha 0.2", "--cutmix-lambda 0.85", "--mixup-alpha 0.2 --cutmix-lambda 0.85 --hostside-image-mixing",
          "--mixup-alpha 0.2 --eight-bit-io"}) {
        const std::string line = "--dataset cifar-10 --model-size 8 --threads 2 --data-dir " + small_cifar() + " ";
        EXPECT_THAT(dry_run_text(parse(line + mixing)), ContainsRegex("\nMemory: +about")) << mixing;
    }
}

TEST(DryRunEstimate, IsRefusedAsTheRun) {
    EXPECT_EQ(kind_of([] { dry("--freeze all/stage9"); }), ErrorKind::usage);
}

TEST(DryRunEstimate, PointsOutLongUpdates) {
    EXPECT_THAT(dry("--gradient-accumulation-count 100000 --epochs 100000"), HasSubstr("\nLong updates"));
}

TEST(DryRunEstimate, OfARunBeyondTheMachineSaysSo) {
    EXPECT_THAT(dry("--micro-batch-size 1000000 --epochs 100"), HasSubstr("of this machine: use a smaller"));
}

TEST(DryRunEstimate, CanBeLeftOut) {
    ASSERT_EQ(setenv(kEstimateVariable, "off", 1), 0);
    EXPECT_THAT(dry(""), AllOf(HasSubstr("\nDisk:"), Not(HasSubstr("\nMemory:")), Not(HasSubstr("\nTime:"))));
    unsetenv(kEstimateVariable);
}

}  // namespace
}  // namespace cnntrain::run::testing
