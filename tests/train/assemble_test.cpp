#include "cnntrain/train/assemble.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "train/fixtures.h"

namespace cnntrain::train::testing {
namespace {

constexpr const char* kCifar = "--dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 4 ";

config::Settings settings(const std::string& options) {
    return parse(kCifar + options).settings;
}

TEST(Assemble, PrecisionIsComputeTypeThenStoredType) {
    struct Row {
        const char* precision;
        DType compute;
        DType parameters;
    };
    for (const Row& row : {Row{"16.16", DType::bf16, DType::bf16}, Row{"16.32", DType::bf16, DType::f32},
                           Row{"32.32", DType::f32, DType::f32}}) {
        const auto result = numerics(settings(std::string("--precision ") + row.precision).device, DType::bf16);
        EXPECT_EQ(result.compute, row.compute) << row.precision;
        EXPECT_EQ(result.parameters, row.parameters) << row.precision;
    }
}

TEST(Assemble, ModelFollowsTheOptions) {
    const TensorDesc images{DType::bf16, {4, 32, 32, 3}};
    const auto request = build_request(
        settings("--group-norm --groups 8 --label-smoothing 0.1 --force-weight-to-fp32 fc1"), DType::bf16, images);
    EXPECT_EQ(request.model.size, "8");
    EXPECT_EQ(request.model.dataset, nn::DatasetKind::cifar);
    EXPECT_EQ(request.model.classes, 10);
    EXPECT_EQ(request.model.image_size, 32);
    EXPECT_EQ(request.model.norm, nn::NormKind::group);
    EXPECT_EQ(request.model.groups, 8);
    EXPECT_EQ(request.label_smoothing, 0.1);
    EXPECT_EQ(request.input.images, images);
    EXPECT_FALSE(request.input.normalise.has_value());
    EXPECT_THAT(request.numerics.force_weight_to_fp32, ::testing::ElementsAre("fc1"));
}

TEST(Assemble, ImageNetIsNormalisedOnTheDeviceUnlessTheHostDoes) {
    const TensorDesc images{DType::bf16, {4, 224, 224, 3}};
    const std::string line = "--dataset imagenet --generated-data --model-size 18 --micro-batch-size 4 ";
    EXPECT_TRUE(build_request(parse(line).settings, DType::bf16, images).input.normalise.has_value());
    EXPECT_FALSE(build_request(parse(line + "--hostside-norm").settings, DType::bf16, images).input.normalise);
    EXPECT_EQ(data_settings(parse(line + "--hostside-norm").settings, DType::bf16, 1).hostside_norm, true);
    EXPECT_EQ(data_settings(parse(line + "--eight-bit-io").settings, DType::bf16, 1).eight_bit_io, true);
}

TEST(Assemble, OptimiserSeesBatchesAndScaling) {
    const auto all = settings(
        "--optimiser momentum --momentum 0.8 --gradient-accumulation-count 3 --loss-scaling 64 "
        "--weight-decay 0.01 --BN-decay 0.9");
    const auto result = optimiser_settings(all);
    EXPECT_EQ(result.kind, config::Optimiser::momentum);
    EXPECT_EQ(result.momentum, 0.8);
    EXPECT_EQ(result.micro_batches, 3);
    EXPECT_EQ(result.loss_scaling, 64);
    EXPECT_EQ(result.weight_decay, 0.01);
    EXPECT_EQ(result.moving_average_decay, 0.9);
    EXPECT_EQ(global_batch_size(all.training), 12);
}

TEST(Assemble, RuntimeFollowsThreadsAndRounding) {
    const auto runtime = runtime_settings(settings("--threads 1 --stochastic-rounding OFF"), 99);
    EXPECT_EQ(runtime.threads, 1);
    EXPECT_FALSE(runtime.stochastic_rounding);
    EXPECT_EQ(runtime.seed, 99U);
    EXPECT_TRUE(runtime_settings(settings(""), 1).stochastic_rounding);
}

TEST(Assemble, LoaderStartsWhereItIsToldTo) {
    const auto loader = loader_settings(settings("--input-threads 1 --prefetch-depth 3"), 120);
    EXPECT_EQ(loader.first_sample, 120);
    EXPECT_EQ(loader.micro_batch, 4);
    EXPECT_EQ(loader.threads, 1);
    EXPECT_EQ(loader.batches_ahead, 3);
}

TEST(Assemble, EvaluationHasTheVariablesOfTrainingWithoutSlots) {
    const TensorDesc images{DType::bf16, {4, 32, 32, 3}};
    const auto all = settings("--optimiser momentum");
    const auto trained = variables(training_graph(all, DType::bf16, images));
    const auto evaluated = variables(evaluation_graph(all, DType::bf16, images));
    std::size_t slots = 0;
    for (const auto& [name, desc] : trained) {
        const bool slot = name.ends_with(optim::kMomentumSlot);
        slots += slot ? 1 : 0;
        EXPECT_EQ(evaluated.contains(name), !slot) << name;
    }
    EXPECT_EQ(trained.size(), evaluated.size() + slots);
    EXPECT_GT(slots, 0U);
}

TEST(Assemble, TheFilterLimitsWhatIsUpdated) {
    const TensorDesc images{DType::bf16, {4, 32, 32, 3}};
    const auto count = [&](const std::string& options) {
        const graph::Graph graph = training_graph(settings(options), DType::bf16, images);
        int updates = 0;
        for (std::int32_t i = 0; i < graph.node_count(); ++i) {
            updates += graph.node({i}).kind == graph::OpKind::sgd_update ? 1 : 0;
        }
        return updates;
    };
    EXPECT_EQ(count("--variable-filter fc1"), 2);
    EXPECT_GT(count(""), 20);
}

TEST(Assemble, TheIpuIsNotThereYet) {
    try {
        make_backend(config::BackendKind::ipu);
        FAIL() << "expected an error";
    } catch (const Error& error) {
        EXPECT_EQ(error.kind(), ErrorKind::unsupported);
    }
}

}  // namespace
}  // namespace cnntrain::train::testing
