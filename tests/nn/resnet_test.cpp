#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "nn/requests.h"
#include "support/matchers.h"

namespace cnntrain::nn {
namespace {

using graph::Graph;
using graph::OpKind;

struct SizeCase {
    NetworkForm form;
    const char* size;
    std::int64_t classes;
    std::int64_t parameters;
};

constexpr NetworkForm kLarge = NetworkForm::large_images;
constexpr NetworkForm kSmall = NetworkForm::small_images;

// Parameter counts of the published description: the two-conv nets for ImageNet keep the identity in their first unit.
const SizeCase kSizes[] = {
    {kLarge, "10", 1000, 5418792},   {kLarge, "14", 1000, 10064936},  {kLarge, "18", 1000, 11689512},
    {kLarge, "26", 1000, 15995176},  {kLarge, "34", 1000, 21797672},  {kLarge, "50", 1000, 25557032},
    {kLarge, "101", 1000, 44549160}, {kLarge, "152", 1000, 60192808}, {kSmall, "8", 10, 75290},
    {kSmall, "11", 10, 127642},      {kSmall, "14", 10, 172506},      {kSmall, "20", 10, 269722},
    {kSmall, "29", 10, 313114},      {kSmall, "32", 10, 464154},      {kSmall, "38", 10, 405850},
    {kSmall, "44", 10, 658586},      {kSmall, "47", 10, 498586},      {kSmall, "56", 10, 853018},
    {kSmall, "56b", 10, 591322},     {kSmall, "65", 10, 684058},      {kSmall, "110", 10, 1727962},
    {kSmall, "20", 100, 275572},     {kSmall, "56b", 100, 614452},
};

BuildRequest request_for(const SizeCase& c) {
    BuildRequest request = c.form == kLarge ? imagenet_request(c.size) : cifar_request(c.size);
    request.model.classes = c.classes;
    return request;
}

class ResnetSizes : public testing::TestWithParam<SizeCase> {};

TEST_P(ResnetSizes, HaveTheirParameterCountWithEitherNorm) {
    BuildRequest request = request_for(GetParam());
    for (const NormKind norm : {NormKind::batch, NormKind::group}) {
        request.model.norm = norm;
        const Model model = build_training(request, ops::op_table());
        model.graph.verify();
        EXPECT_EQ(parameter_count(model.graph), GetParam().parameters);
        EXPECT_EQ(model.graph.desc(model.values.logits).shape.back(), GetParam().classes);
    }
}

INSTANTIATE_TEST_SUITE_P(All, ResnetSizes, testing::ValuesIn(kSizes), [](const auto& test) {
    return (test.param.form == kLarge ? "imagenet" : "cifar" + std::to_string(test.param.classes)) + std::string("_") +
           test.param.size;
});

TEST(ResnetSizesTable, IsCoveredByTheTest) {
    for (const NetworkForm form : {kLarge, kSmall}) {
        for (const std::string& size : model_sizes(Family::resnet, form)) {
            EXPECT_TRUE(std::any_of(std::begin(kSizes), std::end(kSizes), [&](const SizeCase& c) {
                return c.form == form && c.size == size;
            })) << size;
        }
    }
}

std::vector<std::string> names(const Graph& graph, graph::Role role) {
    std::vector<std::string> result;
    for (const graph::ValueId id : graph.values_with_role(role))
        result.push_back(graph.value(id).name);
    return result;
}

std::vector<std::string> below(const std::vector<std::string>& all, const std::string& prefix) {
    std::vector<std::string> result;
    for (const std::string& name : all) {
        if (name.starts_with(prefix)) result.push_back(name.substr(prefix.size()));
    }
    return result;
}

TEST(ResnetNames, BatchNormVariables) {
    const Model model = build_training(imagenet_request("50"), ops::op_table());
    const auto parameters = names(model.graph, graph::Role::parameter);
    EXPECT_THAT(below(parameters, "all/stage0/"),
                ElementsAre("conv0/weight", "bn0/batch_norm/beta", "bn0/batch_norm/gamma"));
    EXPECT_THAT(below(parameters, "all/stage2/unit1/"),
                ElementsAre("conv1/weight", "bn1/batch_norm/beta", "bn1/batch_norm/gamma", "conv2/weight",
                            "bn2/batch_norm/beta", "bn2/batch_norm/gamma", "conv3/weight", "bn3/batch_norm/beta",
                            "bn3/batch_norm/gamma", "conv1sc/weight", "bnsc/batch_norm/beta", "bnsc/batch_norm/gamma"));
    EXPECT_THAT(below(parameters, "all/fc1/"), ElementsAre("weight", "bias"));
    EXPECT_THAT(below(names(model.graph, graph::Role::moving_average), "all/stage4/unit3/bn3/"),
                ElementsAre("batch_norm/moving_mean", "batch_norm/moving_variance"));
}

TEST(ResnetNames, GroupNormVariables) {
    BuildRequest request = cifar_request("20");
    request.model.norm = NormKind::group;
    const Model model = build_training(request, ops::op_table());
    EXPECT_THAT(below(names(model.graph, graph::Role::parameter), "all/stage2/unit1/"),
                ElementsAre("conv1/weight", "gn1/GroupNorm/beta", "gn1/GroupNorm/gamma", "conv2/weight",
                            "gn2/GroupNorm/beta", "gn2/GroupNorm/gamma"));
    EXPECT_TRUE(names(model.graph, graph::Role::moving_average).empty());
}

TEST(ResnetNames, ShapesOfKernels) {
    const Model model = build_training(imagenet_request("50"), ops::op_table());
    const auto shape = [&](const std::string& name) { return model.graph.desc(model.graph.find(name).value()).shape; };
    EXPECT_EQ(shape("all/stage0/conv0/weight"), (Shape{7, 7, 3, 64}));
    EXPECT_EQ(shape("all/stage2/unit1/conv1/weight"), (Shape{1, 1, 256, 128}));
    EXPECT_EQ(shape("all/stage2/unit1/conv2/weight"), (Shape{3, 3, 128, 128}));
    EXPECT_EQ(shape("all/stage2/unit1/conv1sc/weight"), (Shape{1, 1, 256, 512}));
    EXPECT_EQ(shape("all/fc1/weight"), (Shape{2048, 1000}));
}

TEST(ResnetInitialisers, ZeroGammaOnlyWhereABottleneckKeepsItsInput) {
    const auto zero_gammas = [](const BuildRequest& request) {
        std::vector<std::string> zero;
        const Model model = build_training(request, ops::op_table());
        for (const graph::ValueId id : model.values.parameters) {
            const graph::Value& value = model.graph.value(id);
            if (value.name.ends_with("/gamma") && value.initialiser.value == 0) zero.push_back(value.name);
        }
        return zero;
    };
    EXPECT_THAT(zero_gammas(imagenet_request("26")),
                ElementsAre("all/stage1/unit2/bn3/batch_norm/gamma", "all/stage2/unit2/bn3/batch_norm/gamma",
                            "all/stage3/unit2/bn3/batch_norm/gamma", "all/stage4/unit2/bn3/batch_norm/gamma"));
    EXPECT_TRUE(zero_gammas(imagenet_request("18")).empty());
    EXPECT_TRUE(zero_gammas(cifar_request("20")).empty());
}

TEST(ResnetInitialisers, FollowTheKindOfVariable) {
    const Model model = build_training(imagenet_request("18"), ops::op_table());
    using Kind = graph::Initialiser::Kind;
    const auto initialiser = [&](const std::string& name) {
        return model.graph.value(model.graph.find(name).value()).initialiser;
    };
    EXPECT_EQ(initialiser("all/stage0/conv0/weight"), (graph::Initialiser{Kind::truncated_normal_fan_in, 1}));
    EXPECT_EQ(initialiser("all/fc1/weight").kind, Kind::glorot_uniform);
    EXPECT_EQ(initialiser("all/fc1/bias"), (graph::Initialiser{Kind::constant, 0}));
    EXPECT_EQ(initialiser("all/stage0/bn0/batch_norm/gamma"), (graph::Initialiser{Kind::constant, 1}));
    EXPECT_EQ(initialiser("all/stage0/bn0/batch_norm/moving_mean"), (graph::Initialiser{Kind::constant, 0}));
    EXPECT_EQ(initialiser("all/stage0/bn0/batch_norm/moving_variance"), (graph::Initialiser{Kind::constant, 1}));
}

double convolution_flops(const Graph& graph) {
    double flops = 0;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const OpKind kind = graph.node({i}).kind;
        if (kind == OpKind::conv2d || kind == OpKind::dense) flops += graph.node_flops({i});
    }
    return flops;
}

// Multiply-adds of convolutions and the last layer, counted by hand from the layer table: each image, both operations.
TEST(ResnetFlops, AreThoseOfThePublishedNets) {
    const Model resnet50 = build_training(imagenet_request("50"), ops::op_table());
    EXPECT_NEAR(convolution_flops(resnet50.graph), 2 * 4.089e9, 2 * 0.001e9);
    EXPECT_GT(forward_flops(resnet50.graph), convolution_flops(resnet50.graph));
    EXPECT_LT(forward_flops(resnet50.graph), 1.05 * convolution_flops(resnet50.graph));
    const Model resnet18 = build_training(imagenet_request("18", 3), ops::op_table());
    EXPECT_NEAR(convolution_flops(resnet18.graph), 3 * 2 * 1.814e9, 3 * 2 * 0.001e9);
    const Model resnet20 = build_training(cifar_request("20", 1), ops::op_table());
    EXPECT_NEAR(convolution_flops(resnet20.graph), 2 * 40.55e6, 2 * 0.1e6);
}

std::int64_t count(const Graph& graph, OpKind kind) {
    std::int64_t n = 0;
    for (const graph::Node& node : graph.nodes())
        n += node.kind == kind ? 1 : 0;
    return n;
}

TEST(ResnetShortcuts, AreIdentityPaddingOrProjection) {
    const Model imagenet18 = build_training(imagenet_request("18"), ops::op_table());
    EXPECT_EQ(count(imagenet18.graph, OpKind::conv2d), 20);  // 17 and three projections
    EXPECT_EQ(count(imagenet18.graph, OpKind::shortcut_pad), 0);
    const Model cifar20 = build_training(cifar_request("20"), ops::op_table());
    EXPECT_EQ(count(cifar20.graph, OpKind::conv2d), 19);
    EXPECT_EQ(count(cifar20.graph, OpKind::shortcut_pad), 2);
    const Model cifar29 = build_training(cifar_request("29"), ops::op_table());
    EXPECT_EQ(count(cifar29.graph, OpKind::conv2d), 31);  // 28 and three projections
    EXPECT_EQ(count(cifar29.graph, OpKind::shortcut_pad), 0);
}

TEST(ResnetGraph, IsUnfusedAndNamedByScope) {
    const Model model = build_training(imagenet_request("50"), ops::op_table());
    EXPECT_EQ(count(model.graph, OpKind::activation), 49);
    EXPECT_EQ(count(model.graph, OpKind::add), 16);
    EXPECT_EQ(count(model.graph, OpKind::batch_norm), 53);
    std::vector<std::string> nodes;
    std::set<std::string> distinct;
    for (const graph::Node& node : model.graph.nodes()) {
        nodes.push_back(node.name);
        distinct.insert(nodes.back());
    }
    EXPECT_EQ(distinct.size(), nodes.size());
    EXPECT_THAT(nodes, Contains("all/stage1/unit1/conv2"));
    EXPECT_THAT(nodes, Contains("all/stage1/unit1/bn2"));
    EXPECT_THAT(nodes, Contains("all/stage1/unit1/relu"));
    EXPECT_THAT(nodes, Contains("all/fc1"));
}

}  // namespace
}  // namespace cnntrain::nn
