#include "cnntrain/graph/model.h"

#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "nn/requests.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::nn {
namespace {

using graph::Graph;
using graph::OpKind;
using graph::Role;
using graph::ValueId;

std::string build_error(const BuildRequest& request) {
    return message_of(ErrorKind::usage, [&] { build_training(request, ops::op_table()); });
}

NumericsSettings numerics(DType compute, DType parameters) {
    NumericsSettings settings;
    settings.compute = compute;
    settings.parameters = parameters;
    return settings;
}

const graph::Node& node_named(const Graph& graph, const std::string& name) {
    for (const graph::Node& node : graph.nodes()) {
        if (node.name == name) return node;
    }
    throw Error(ErrorKind::internal, "no node " + name);
}

TEST(ModelTable, UnknownSizeListsTheLegalOnes) {
    EXPECT_THAT(build_error(imagenet_request("51")),
                AllOf(HasSubstr("'51'"), HasSubstr("10, 14, 18, 26, 34, 50, 101, 152"), HasSubstr("'50'")));
    EXPECT_THAT(build_error(cifar_request("50")), HasSubstr("56, 56b, 65, 110"));
    EXPECT_THAT(message_of(ErrorKind::usage, [] { split_points(cifar_request("9").model); }), HasSubstr("'9'"));
}

TEST(ModelRequest, RefusesImagesThatDoNotFit) {
    BuildRequest request = cifar_request("8");
    request.input.images.shape = {2, 33, 33, 3};
    EXPECT_THAT(build_error(request), AllOf(HasSubstr("[N, 32, 32, 3]"), HasSubstr("[2, 33, 33, 3]")));
    request.input.images.shape = {2, 32, 32, 4};
    EXPECT_THAT(build_error(request), HasSubstr("[2, 32, 32, 4]"));
    request.input.images.shape = {0, 32, 32, 3};
    EXPECT_THAT(build_error(request), HasSubstr("[0, 32, 32, 3]"));
}

TEST(ModelRequest, RefusesGroupsThatDoNotDivide) {
    BuildRequest request = cifar_request("8");
    request.model.norm = NormKind::group;
    for (const std::int64_t groups : {std::int64_t{0}, std::int64_t{5}, std::int64_t{32}}) {
        request.model.groups = groups;
        EXPECT_THAT(build_error(request), AllOf(HasSubstr("all/stage0/gn0"), HasSubstr("16 channels")));
    }
}

TEST(ModelRequest, RefusesImpossibleClassesAndSmoothing) {
    BuildRequest request = cifar_request("8");
    request.model.classes = 1;
    EXPECT_THAT(build_error(request), HasSubstr("2 classes"));
    request = cifar_request("8");
    request.label_smoothing = 1;
    EXPECT_THAT(build_error(request), Not(IsEmpty()));
}

TEST(Splits, AreTheFunctionsInOrder) {
    EXPECT_THAT(split_points(cifar_request("8").model),
                ElementsAre("stage0", "stage1/unit1", "stage1/unit1/relu", "stage2/unit1", "stage2/unit1/relu",
                            "stage3/unit1", "stage3/unit1/relu", "reduce_mean", "fc1"));
    EXPECT_EQ(split_points(imagenet_request("152").model).size(), 1 + 2 * 50 + 2);
}

TEST(Splits, BeginStages) {
    BuildRequest request = cifar_request("20");
    request.splits = {"stage1/unit3/relu", "reduce_mean"};
    const Model model = build_training(request, ops::op_table());
    model.graph.verify();
    const auto stage = [&](const std::string& node) { return node_named(model.graph, node).stage.index; };
    EXPECT_EQ(stage("all/stage0/conv0"), 0);
    EXPECT_EQ(stage("all/stage1/unit3/add"), 0);
    EXPECT_EQ(stage("all/stage1/unit3/relu"), 1);
    EXPECT_EQ(stage("all/stage3/unit3/relu"), 1);
    EXPECT_EQ(stage("all/reduce_mean"), 2);
    EXPECT_EQ(stage("all/fc1"), 2);
    EXPECT_EQ(stage("all/loss"), 2);
    EXPECT_EQ(model.graph.stage().index, 0);
}

TEST(Splits, WrongOnesAreNamed) {
    BuildRequest request = cifar_request("20");
    request.splits = {"stage1/unit3/rely"};
    EXPECT_THAT(build_error(request), AllOf(HasSubstr("'stage1/unit3/rely'"), HasSubstr("'stage1/unit3/relu'")));
    request.splits = {"stage2/unit1", "stage1/unit1"};
    EXPECT_THAT(build_error(request), HasSubstr("'stage1/unit1'"));
    request.splits = {"stage2/unit1", "stage2/unit1"};
    EXPECT_THAT(build_error(request), HasSubstr("each"));
}

TEST(Numerics, StoredTypesAndCastsFollowTheRule) {
    struct Case {
        NumericsSettings numerics;
        DType weight;
        bool cast;
        DType logits;
    };
    const Case cases[] = {
        {numerics(DType::f32, DType::f32), DType::f32, false, DType::f32},
        {numerics(DType::bf16, DType::f32), DType::f32, true, DType::bf16},
        {numerics(DType::bf16, DType::bf16), DType::bf16, false, DType::bf16},
    };
    for (const Case& c : cases) {
        BuildRequest request = cifar_request("8");
        request.numerics = c.numerics;
        const Model model = build_training(request, ops::op_table());
        model.graph.verify();
        for (const ValueId id : model.values.parameters)
            EXPECT_EQ(model.graph.desc(id).dtype, c.weight);
        for (const ValueId id : model.graph.values_with_role(Role::moving_average)) {
            EXPECT_EQ(model.graph.desc(id).dtype, c.weight);
        }
        const graph::Node& conv = node_named(model.graph, "all/stage2/unit1/conv1");
        EXPECT_EQ(model.graph.value(conv.inputs[1]).role == Role::intermediate, c.cast);
        EXPECT_EQ(model.graph.desc(conv.inputs[1]).dtype, c.numerics.compute);
        EXPECT_EQ(model.graph.desc(model.values.logits).dtype, c.logits);
        EXPECT_EQ(model.graph.desc(model.values.loss), (TensorDesc{DType::f32, {}}));
    }
}

TEST(Numerics, OverridesChooseByName) {
    BuildRequest request = cifar_request("8");
    request.numerics = numerics(DType::bf16, DType::bf16);
    request.numerics.force_weight_to_fp32 = {"batch_norm/moving_variance", "stage1"};
    request.numerics.force_weight_to_fp16 = {"stage2/unit1/conv"};
    const Model model = build_training(request, ops::op_table());
    model.graph.verify();
    const auto type = [&](const std::string& name) { return model.graph.desc(model.graph.find(name).value()).dtype; };
    EXPECT_EQ(type("all/stage0/bn0/batch_norm/moving_variance"), DType::f32);
    EXPECT_EQ(type("all/stage0/bn0/batch_norm/moving_mean"), DType::bf16);
    EXPECT_EQ(type("all/stage1/unit1/conv1/weight"), DType::f32);
    EXPECT_EQ(type("all/stage3/unit1/conv1/weight"), DType::bf16);
}

TEST(Numerics, SixteenBitVariablesOfAWideNetworkAreCast) {
    BuildRequest request = cifar_request("8");
    request.numerics.force_weight_to_fp16 = {"fc1", "bn1", "moving"};
    for (const Model& model : {build_training(request, ops::op_table()), build_evaluation(request, ops::op_table())}) {
        model.graph.verify();
        const graph::Node& dense = node_named(model.graph, "all/fc1");
        const graph::Node& norm = node_named(model.graph, "all/stage1/unit1/bn1");
        for (const ValueId read : {dense.inputs[1], dense.inputs[2], norm.inputs[1], norm.inputs[2]}) {
            EXPECT_EQ(model.graph.desc(read).dtype, DType::f32);
            EXPECT_EQ(model.graph.value(read).role, Role::intermediate);
        }
        EXPECT_EQ(model.graph.desc(model.graph.find("all/fc1/weight").value()).dtype, DType::bf16);
    }
}

TEST(Numerics, ContradictingOverridesAreRefused) {
    BuildRequest request = cifar_request("8");
    request.numerics.force_weight_to_fp16 = {"fc1"};
    request.numerics.force_weight_to_fp32 = {"weight"};
    EXPECT_THAT(build_error(request), AllOf(HasSubstr("all/fc1/weight"), HasSubstr("'fc1'"), HasSubstr("'weight'")));
}

TEST(Input, IsConvertedToTheComputeType) {
    BuildRequest request = cifar_request("8");
    request.numerics = numerics(DType::bf16, DType::f32);
    const Model cast = build_training(request, ops::op_table());
    EXPECT_EQ(node_named(cast.graph, "all/images").kind, OpKind::cast);

    request.input.images.dtype = DType::bf16;
    const Model direct = build_training(request, ops::op_table());
    EXPECT_EQ(node_named(direct.graph, "all/stage0/conv0").inputs[0], direct.values.images);

    request.input.images.dtype = DType::u8;
    request.input.normalise = nn::Normalisation{{0.5, 0.25, 2}, {-1, 0, 1}};
    const Model normalised = build_training(request, ops::op_table());
    const graph::Node& node = node_named(normalised.graph, "all/images");
    EXPECT_EQ(node.kind, OpKind::normalise_image);
    EXPECT_THAT(node.as<graph::NormaliseImageAttrs>().scale, ElementsAre(0.5, 0.25, 2));
    EXPECT_EQ(normalised.graph.desc(node.outputs[0]), (TensorDesc{DType::bf16, {2, 32, 32, 3}}));
    EXPECT_EQ(parameter_count(normalised.graph), parameter_count(direct.graph));
}

TEST(ModelValuesOf, DescribeInputsAndOutputs) {
    const Model model = build_training(cifar_request("8", 4), ops::op_table());
    const Graph& graph = model.graph;
    EXPECT_EQ(graph.value(model.values.images).name, "images");
    EXPECT_EQ(graph.desc(model.values.labels), (TensorDesc{DType::i32, {4}}));
    EXPECT_EQ(graph.desc(model.values.logits), (TensorDesc{DType::f32, {4, 10}}));
}

TEST(MovingAverages, FollowTheStatisticsOfTheirNorm) {
    const Model model = build_training(cifar_request("8", 4), ops::op_table());
    const Graph& graph = model.graph;
    EXPECT_EQ(graph.values_with_role(Role::moving_average).size(), 2 * 7U);
    const graph::Node& norm = node_named(graph, "all/stage2/unit1/bn1");
    const graph::Value& mean = graph.value(graph.find("all/stage2/unit1/bn1/batch_norm/moving_mean").value());
    const graph::Value& variance = graph.value(graph.find("all/stage2/unit1/bn1/batch_norm/moving_variance").value());
    EXPECT_EQ(mean.owner, norm.outputs[1]);
    EXPECT_EQ(mean.correction, 1);
    EXPECT_EQ(variance.owner, norm.outputs[2]);
    constexpr double kCount = 4 * 16 * 16;
    EXPECT_DOUBLE_EQ(variance.correction, kCount / (kCount - 1));
}

TEST(ModelValuesOf, AreFoundAgainAfterRewrites) {
    const Model model = build_training(cifar_request("20"), ops::op_table());
    const ModelValues before = model.values;
    const std::int32_t nodes = model.graph.node_count();
    const Graph fused = graph::fuse_norm_activation(model.graph);
    EXPECT_LT(fused.node_count(), nodes);
    const ModelValues after = model_values(fused);
    for (const ValueId id : fused.values_with_role(Role::moving_average)) {
        const graph::Value& moving = fused.value(id);
        ASSERT_TRUE(moving.owner.valid()) << moving.name;
        EXPECT_EQ(fused.node(fused.value(moving.owner).producer).kind, OpKind::batch_norm);
        EXPECT_EQ(fused.value(moving.owner).producer_output, moving.name.ends_with("/moving_mean") ? 1 : 2);
    }
    EXPECT_EQ(after.parameters.size(), before.parameters.size());
}

TEST(Evaluation, HasTheSameVariablesAndReadsMovingValues) {
    const BuildRequest request = cifar_request("20");
    const Model training = build_training(request, ops::op_table());
    const Model evaluation = build_evaluation(request, ops::op_table());
    evaluation.graph.verify();
    for (const Role role : {Role::parameter, Role::moving_average}) {
        const auto a = training.graph.values_with_role(role);
        const auto b = evaluation.graph.values_with_role(role);
        ASSERT_EQ(a.size(), b.size());
        for (std::size_t i = 0; i < a.size(); ++i) {
            EXPECT_EQ(training.graph.value(a[i]).name, evaluation.graph.value(b[i]).name);
            EXPECT_EQ(training.graph.desc(a[i]), evaluation.graph.desc(b[i]));
            EXPECT_EQ(training.graph.value(a[i]).initialiser, evaluation.graph.value(b[i]).initialiser);
        }
    }
    for (const ValueId id : evaluation.graph.values_with_role(Role::moving_average))
        EXPECT_FALSE(evaluation.graph.value(id).owner.valid());
    const graph::Node& norm = node_named(evaluation.graph, "all/stage1/unit2/bn1");
    EXPECT_EQ(norm.kind, OpKind::batch_norm_inference);
    EXPECT_EQ(evaluation.graph.value(norm.inputs[4]).name, "all/stage1/unit2/bn1/batch_norm/moving_variance");
}

}  // namespace
}  // namespace cnntrain::nn
