#include "cnntrain/data/batch.h"
#include "cnntrain/run/compile_request.h"
#include "cnntrain/run/weights.h"

#include <gtest/gtest.h>

#include "cnntrain/backend/backends.h"
#include "cnntrain/base/error.h"
#include "cnntrain/data/loader.h"
#include "cnntrain/graph/op.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "train/fixtures.h"

namespace cnntrain::run::testing {
namespace {

constexpr const char* kCifar = "--dataset cifar-10 --generated-data --model-size 8 --micro-batch-size 4 ";

options::Settings settings(const std::string& options) {
    return parse(kCifar + options).settings;
}

TEST(Assemble, PrecisionIsComputeTypeThenStoredType) {
    struct Row {
        const char* precision;
        DType compute;
        DType parameters;
    };
    const auto ref = make_backend(backend::BackendKind::ref);
    for (const Row& row : {Row{"16.16", DType::bf16, DType::bf16}, Row{"16.32", DType::bf16, DType::f32},
                           Row{"32.32", DType::f32, DType::f32}}) {
        const auto result = numerics(settings(std::string("--precision ") + row.precision).device, *ref);
        EXPECT_EQ(result.compute, row.compute) << row.precision;
        EXPECT_EQ(result.parameters, row.parameters) << row.precision;
    }
}

TEST(Assemble, ModelFollowsTheOptions) {
    const TensorDesc images{DType::bf16, {4, 32, 32, 3}};
    const auto ref = make_backend(backend::BackendKind::ref);
    const auto request = build_request(
        settings("--group-norm --groups 8 --label-smoothing 0.1 --force-weight-to-fp32 fc1"), *ref, images);
    EXPECT_EQ(request.model.size, "8");
    EXPECT_EQ(request.model.form, nn::NetworkForm::small_images);
    EXPECT_EQ(request.model.classes, 10);
    EXPECT_EQ(request.model.image_size, 32);
    EXPECT_EQ(request.model.norm, nn::NormKind::group);
    EXPECT_EQ(request.model.groups, 8);
    EXPECT_EQ(request.label_smoothing, 0.1);
    EXPECT_EQ(request.input.images, images);
    EXPECT_FALSE(request.input.normalise.has_value());
    EXPECT_THAT(request.numerics.force_weight_to_fp32, ::testing::ElementsAre("fc1"));
}

TEST(Assemble, ResnextFollowsTheOptions) {
    const std::string line = "--model resnext --dataset cifar-10 --generated-data ";
    const nn::NetworkSettings usual = network_settings(parse(line).settings);
    EXPECT_EQ(usual.family, nn::Family::resnext);
    EXPECT_EQ(usual.size, "11");
    EXPECT_EQ(usual.epsilon, 1e-5);
    EXPECT_EQ(usual.resnext.convolution_groups, 32);
    EXPECT_EQ(usual.resnext.group_dim, 4);
    EXPECT_FALSE(usual.resnext.widenet);
    const nn::NetworkSettings other =
        network_settings(parse(line + "--model-size 29 --convolution-groups 8 --group-dim 16 --widenet").settings);
    EXPECT_EQ(other.size, "29");
    EXPECT_EQ(other.resnext.convolution_groups, 8);
    EXPECT_EQ(other.resnext.group_dim, 16);
    EXPECT_TRUE(other.resnext.widenet);
}

TEST(Assemble, EfficientnetFollowsTheOptions) {
    const std::string line = "--model efficientnet --dataset imagenet --generated-data ";
    const nn::NetworkSettings usual = network_settings(parse(line).settings);
    EXPECT_EQ(usual.family, nn::Family::efficientnet);
    EXPECT_EQ(usual.size, "B0");
    EXPECT_EQ(usual.image_size, 224);
    EXPECT_EQ(usual.norm, nn::NormKind::group);
    EXPECT_EQ(usual.groups, 4);
    EXPECT_EQ(usual.epsilon, 1e-3);
    EXPECT_EQ(usual.efficientnet.group_dim, 1);
    EXPECT_EQ(usual.efficientnet.expand_ratio, 6);
    EXPECT_EQ(usual.efficientnet.depth_divisor, 8);
    EXPECT_EQ(usual.efficientnet.top_width, 1280);
    EXPECT_EQ(usual.efficientnet.block_survival_prob, 0.8);
    EXPECT_FALSE(usual.efficientnet.dropout_rate.has_value());
    EXPECT_TRUE(usual.efficientnet.squeeze_excite);
    EXPECT_TRUE(usual.efficientnet.swish);

    const nn::NetworkSettings other = network_settings(
        parse(line + "--model-size 3 --group-dim 16 --expand-ratio 4 --depth-divisor 4 --top-width 640 "
                     "--block-survival-prob 0.5 --dropout-rate 0 --no-se --use-relu --batch-norm --norm-epsilon 0.01 "
                     "--width-coefficient 1.5 --depth-coefficient 2.5")
            .settings);
    EXPECT_EQ(other.size, "B3");
    EXPECT_EQ(other.image_size, 300);
    EXPECT_EQ(other.norm, nn::NormKind::batch);
    EXPECT_EQ(other.epsilon, 0.01);
    EXPECT_EQ(other.efficientnet.group_dim, 16);
    EXPECT_EQ(other.efficientnet.expand_ratio, 4);
    EXPECT_EQ(other.efficientnet.depth_divisor, 4);
    EXPECT_EQ(other.efficientnet.top_width, 640);
    EXPECT_EQ(other.efficientnet.block_survival_prob, 0.5);
    EXPECT_EQ(other.efficientnet.dropout_rate, 0.0);
    EXPECT_FALSE(other.efficientnet.squeeze_excite);
    EXPECT_FALSE(other.efficientnet.swish);
    EXPECT_EQ(other.efficientnet.width_coefficient, 1.5);
    EXPECT_EQ(other.efficientnet.depth_coefficient, 2.5);
    EXPECT_EQ(network_settings(parse(line + "--model-size cifar").settings).image_size, 32);
}

std::string network_error(const std::string& line) {
    return refusal_of(ErrorKind::usage, [&] {
        const options::ParseResult parsed = parse(line);
        check_stages(tasks::row_of(parsed), parsed.settings);
    });
}

TEST(AssembleNetwork, SplitsAreFunctionsOfTheNetwork) {
    const std::string resnet =
        "--dataset imagenet --generated-data --model-size 50 --pipeline --shards 2 --gradient-accumulation-count 4 ";
    const std::string efficientnet =
        "--model efficientnet --dataset imagenet --generated-data --model-size B0 --pipeline --shards 2 "
        "--gradient-accumulation-count 4 ";
    EXPECT_EQ(network_error(resnet + "--pipeline-splits stage1/unit3/relu"), "");
    EXPECT_EQ(network_error(resnet + "--pipeline-splits b1/2/relu"), "");  // the spelling of old releases
    EXPECT_EQ(network_error(resnet + "--pipeline-splits fc1"), "");
    EXPECT_EQ(network_error(efficientnet + "--pipeline-splits block2a/b"), "");
    EXPECT_THAT(network_error(resnet + "--pipeline-splits b1/9/relu"), HasSubstr("'stage1/unit10/relu'"));
    EXPECT_THAT(network_error(resnet + "--pipeline-splits stage1/unit3/rely"), HasSubstr("'stage1/unit3/relu'"));
    EXPECT_THAT(network_error(efficientnet + "--pipeline-splits block2bb"), HasSubstr("'block2b'"));
}

TEST(AssembleNetwork, TheRightNumberOfSplitsIsAskedForByName) {
    const std::string resnet = "--dataset imagenet --generated-data --model-size 14 --pipeline-schedule Sequential ";
    EXPECT_THAT(network_error(resnet + "--pipeline"),
                AllOf(HasSubstr("--pipeline-splits"), HasSubstr("stage1/unit1/relu")));
    for (const char* splits : {"fc1", "stage1/unit1 fc1", "stage1/unit1/relu stage2/unit1/relu reduce_mean fc1"})
        EXPECT_EQ(network_error(resnet + "--pipeline --shards 1 --pipeline-splits " + splits), "");
    EXPECT_THAT(network_error(resnet + "--pipeline --shards 4 --pipeline-splits stage1/unit1 stage2/unit1"),
                HasSubstr("--pipeline-splits"));
    EXPECT_THAT(network_error("--model efficientnet " + resnet + "--model-size B0 --pipeline --shards 2"),
                AllOf(HasSubstr("needs 1 --pipeline-splits"), HasSubstr("block1a/b")));
}

TEST(AssembleNetwork, WrongSizesAndGroupsAreFoundBeforeAnythingRuns) {
    EXPECT_THAT(network_error("--dataset imagenet --generated-data --model-size 51"), HasSubstr("'51'"));
    EXPECT_THAT(network_error("--model efficientnet --dataset imagenet --generated-data --model-size 6 --group-dim 16"),
                HasSubstr("--group-dim 16"));
}

TEST(Assemble, ImageNetIsNormalisedOnTheDeviceUnlessTheHostDoes) {
    const TensorDesc images{DType::bf16, {4, 224, 224, 3}};
    const std::string line = "--dataset imagenet --generated-data --model-size 18 --micro-batch-size 4 ";
    const auto ref = make_backend(backend::BackendKind::ref);
    EXPECT_TRUE(build_request(parse(line).settings, *ref, images).input.normalise.has_value());
    EXPECT_FALSE(build_request(parse(line + "--hostside-norm").settings, *ref, images).input.normalise);
    EXPECT_EQ(data_settings(parse(line + "--hostside-norm").settings, *ref, 1).hostside_norm, true);
    EXPECT_EQ(data_settings(parse(line + "--eight-bit-io").settings, *ref, 1).eight_bit_io, true);
}

TEST(Assemble, EightBitImagesOfCifarAreConvertedOnTheDevice) {
    const auto cpu = backend::make_cpu_backend();
    for (const std::string precision : {"16.16", "32.32"}) {
        const options::Settings all = settings("--eight-bit-io --precision " + precision);
        const data::InputData data(data_settings(all, *cpu, 1), data::Split::train);
        const std::vector<data::Field> fields = data.fields(4);
        const TensorDesc& images = data::field_desc(fields, data::kImages);
        EXPECT_EQ(images.dtype, DType::u8);
        const graph::Graph graph = training_graph(all, *cpu, images);
        EXPECT_TRUE(cpu->compile({&graph, fields, {}, {.threads = 1}}));
    }
}

TEST(Assemble, OptimiserSeesBatchesAndScaling) {
    const auto all = settings(
        "--optimiser momentum --momentum 0.8 --gradient-accumulation-count 3 --loss-scaling 64 "
        "--weight-decay 0.01 --BN-decay 0.9");
    const auto result = update_settings(all, *backend::make_cpu_backend(), tasks::image_settings(all).model.bn_decay);
    EXPECT_EQ(result.rule, graph::UpdateRule::momentum);
    EXPECT_EQ(result.momentum, 0.8);
    EXPECT_EQ(result.micro_batches, 3);
    EXPECT_EQ(result.loss_scaling, 64);
    EXPECT_EQ(result.weight_decay, 0.01);
    EXPECT_EQ(result.moving_average_decay, 0.9);
    EXPECT_EQ(batch_plan(all).global_batch(), 12);
}

schedule::Placement placed(const std::string& line) {
    return placement(settings(line), *backend::make_cpu_backend());
}

TEST(AssembleUpdatePlan, SaysWhatTheUserAsksFor) {
    const auto plan = [](const std::string& line) { return update_plan(settings(line)); };
    const auto replicas = plan("--gradient-accumulation-count 3 --replicas 4 --BN-span 2 --batch-norm");
    EXPECT_EQ(replicas.micro_batch, 4);
    EXPECT_EQ(replicas.accumulation, 3);
    EXPECT_EQ(replicas.replicas, 4);
    EXPECT_EQ(replicas.norm_span, 2);
    const std::string stages = "--pipeline --pipeline-splits a b ";
    EXPECT_EQ(plan(stages).devices, (std::vector<std::int32_t>{0, 0, 0}));
    EXPECT_EQ(plan(stages + "--shards 3").devices, (std::vector<std::int32_t>{0, 1, 2}));
    EXPECT_EQ(plan("").devices, std::vector<std::int32_t>{0});
}

TEST(AssembleUpdatePlan, TheDevicesOfTheMappingAreTheStages) {
    options::Settings pretraining = settings("--pipeline --pipeline-splits a b c");
    pretraining.training.device_mapping = {0, 1, 1, 0};
    EXPECT_EQ(update_plan(pretraining).devices, (std::vector<std::int32_t>{0, 1, 1, 0}));
}

TEST(AssemblePlacement, CountsTheMicroBatchesOfAllReplicas) {
    EXPECT_EQ(placed("--gradient-accumulation-count 3 --replicas 4").micro_batches, 12);
    const auto shared = placed("--gradient-accumulation-count 3 --replicas 4 --BN-span 2 --batch-norm");
    EXPECT_EQ(shared.micro_batches, 6);
    EXPECT_EQ(shared.samples, 8);
    EXPECT_EQ(placed("--pipeline-splits a --pipeline-schedule Interleaved").stages, 1);
    const auto staged = placed("--threads 4 --pipeline --pipeline-splits a b --pipeline-schedule Interleaved");
    EXPECT_EQ(staged.stages, 3);
    EXPECT_EQ(staged.schedule, schedule::PipelineSchedule::interleaved);
}

TEST(AssemblePlacement, ChoosesALaneForEachStageOfAPipelineThatFills) {
    const auto lanes = [](const std::string& line) { return placed(line).lanes; };
    const std::string stages = "--pipeline --pipeline-splits a b ";
    EXPECT_EQ(lanes(stages + "--threads 8"), 3);
    EXPECT_EQ(lanes(stages + "--threads 8 --pipeline-schedule Interleaved"), 3);
    EXPECT_EQ(lanes(stages + "--threads 2"), 2);
    EXPECT_EQ(lanes(stages + "--threads 8 --lanes 1"), 1);
    EXPECT_EQ(lanes(stages + "--threads 8 --pipeline-schedule Sequential"), 1);
    EXPECT_EQ(lanes("--threads 8 --gradient-accumulation-count 8"), 1);
}

TEST(AssemblePlacement, GivesEveryLaneAStageWithTheFewestPipelines) {
    const std::string threads = "--threads 8 --gradient-accumulation-count 4 ";
    const auto plan = [&](const std::string& line) { return placed(threads + line); };
    EXPECT_EQ(plan("--lanes 4").pipelines, 4);
    const std::string two_stages = "--pipeline --pipeline-splits a ";
    EXPECT_EQ(plan(two_stages + "--lanes 2").pipelines, 1);
    EXPECT_EQ(plan(two_stages + "--lanes 4").pipelines, 2);
    EXPECT_EQ(plan(two_stages + "--lanes 8").pipelines, 4);
    const auto error = [&](const std::string& line) { return refusal_of(ErrorKind::usage, [&] { plan(line); }); };
    EXPECT_EQ(error("--lanes 6"),
              "--lanes 6 cannot all be used: 1 stage, 4 micro-batches per weight update and 8 threads "
              "have work for 4");
    EXPECT_THAT(error("--lanes 3"), HasSubstr("work"));
    EXPECT_THAT(error("--lanes 16"), HasSubstr("work"));
    EXPECT_THAT(error(two_stages + "--lanes 4 --threads 3"), HasSubstr("3 threads"));
    EXPECT_EQ(error(two_stages + "--lanes 8"), "");
}

TEST(Assemble, CompileRequestFollowsAccumulationThreadsAndRounding) {
    const graph::Graph graph(ops::op_table());
    const auto all = settings("--threads 1 --stochastic-rounding OFF --gradient-accumulation-count 3 --lanes 3");
    const auto request = training_request(graph, all, {}, 99);
    EXPECT_EQ(request.graph, &graph);
    EXPECT_EQ(request.plan.accumulation, 3);
    EXPECT_EQ(request.cpu.threads, 1);
    EXPECT_EQ(request.cpu.lanes, 3);
    EXPECT_FALSE(request.runtime.stochastic_rounding);
    EXPECT_EQ(request.runtime.seed, 99U);
    EXPECT_TRUE(training_request(graph, settings(""), {}, 1).runtime.stochastic_rounding);
    const auto evaluation = compile_request(graph, all, {}, 99);
    EXPECT_EQ(evaluation.plan.accumulation, 1);
    EXPECT_EQ(evaluation.plan.micro_batch, 4);
    EXPECT_EQ(evaluation.cpu.lanes, 1) << "an evaluation has no lanes";
}

TEST(Assemble, LoaderStartsWhereItIsToldTo) {
    const auto loader = loader_settings(settings("--input-threads 1 --prefetch-depth 3"), 120);
    EXPECT_EQ(loader.first_sample, 120);
    EXPECT_EQ(loader.micro_batch, 4);
    EXPECT_EQ(loader.threads, 1);
    EXPECT_EQ(loader.batches_ahead, 3);
}

TEST(Assemble, TheLoaderOfATrainingHoldsTheBatchesInFlight) {
    const std::vector<data::Field> fields = data::image_fields({DType::f32, {32, 32, 3}});
    const auto loader = [&](const std::string& line) {
        const options::Settings all = settings("--input-threads 1 --prefetch-depth 2 " + line);
        return training_loader_settings(all, placement(all, *backend::make_cpu_backend()), fields, 120);
    };
    EXPECT_EQ(loader("").batches_ahead, 2);
    EXPECT_EQ(loader("").first_sample, 120);
    EXPECT_EQ(loader("--replicas 6 --BN-span 3 --batch-norm").micro_batch, 12);
    const std::string stages = "--gradient-accumulation-count 8 --pipeline --pipeline-splits a b c ";
    EXPECT_EQ(loader(stages).batches_ahead, 8) << "7 in the stages, one that is ready";
    EXPECT_EQ(loader(stages + "--pipeline-schedule Sequential").batches_ahead, 2);
    EXPECT_EQ(loader(stages + "--threads 8 --lanes 8").batches_ahead, 15) << "two pipelines";
}

TEST(Assemble, EveryConfigurationHasMicroBatchesThatItsScheduleTakes) {
    const auto is_part = [](const std::string& name) {  // what others build on
        return name.find("base") != std::string::npos || name.ends_with("modification") ||
               name == "efficientnet_b4_g16_large_batch_size_high_throughput";
    };
    for (const std::string& name : options::config_names({CNNTRAIN_SOURCE_DIR "/configs"})) {
        if (is_part(name)) continue;
        EXPECT_EQ(network_error("--config " + name + " --data-dir imagenet"), "") << name;
    }
    const std::string stages = "--dataset cifar-10 --generated-data --pipeline --pipeline-splits stage2/unit1 fc1 ";
    EXPECT_THAT(network_error(stages + "--gradient-accumulation-count 10"), HasSubstr("6 or"));
    EXPECT_EQ(network_error(stages + "--gradient-accumulation-count 10 --pipeline-schedule Sequential"), "");
    EXPECT_THAT(network_error(stages + "--replicas 2 --gradient-accumulation-count 3"), Not(IsEmpty()));
}

TEST(Assemble, EvaluationHasTheVariablesOfTrainingWithoutSlots) {
    const TensorDesc images{DType::bf16, {4, 32, 32, 3}};
    const auto all = settings("--optimiser momentum");
    const auto cpu = backend::make_cpu_backend();
    const auto trained = variables(training_graph(all, *cpu, images));
    const auto evaluated = variables(evaluation_graph(all, *cpu, images));
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
    const auto cpu = backend::make_cpu_backend();
    const auto count = [&](const std::string& options) {
        const graph::Graph graph = training_graph(settings(options), *cpu, images);
        int updates = 0;
        for (const graph::Node& node : graph.nodes())
            updates += node.kind == graph::OpKind::update ? 1 : 0;
        return updates;
    };
    EXPECT_EQ(count("--variable-filter fc1"), 2);
    EXPECT_GT(count(""), 20);
}

}  // namespace
}  // namespace cnntrain::run::testing
