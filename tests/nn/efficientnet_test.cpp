#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "nn/requests.h"
#include "support/matchers.h"

namespace cnntrain::nn {
namespace {

using graph::Graph;
using graph::OpKind;
using graph::Role;

BuildRequest efficientnet_request(const std::string& size, std::int64_t batch = 1) {
    const bool cifar = size == "CIFAR";
    BuildRequest request = cifar ? cifar_request(size, batch) : imagenet_request(size, batch);
    request.model.family = Family::efficientnet;
    request.model.epsilon = 1e-3;
    request.model.groups = 4;
    return request;
}

BuildRequest grouped(BuildRequest request) {
    request.model.efficientnet.group_dim = 16;
    request.model.efficientnet.expand_ratio = 4;
    return request;
}

// The moving mean and variance of every batch norm, which are not trained, come on top of `parameters`.
struct SizeCase {
    const char* size;
    bool grouped;  // --group-dim 16 --expand-ratio 4
    std::int64_t parameters;
    std::int64_t with_moving;
};

const SizeCase kSizes[] = {
    {"CIFAR", false, 1077932, 1099356},
    {"CIFAR", true, 1683420, 1698764},
    {"B0", false, 5288548, 5330564},
    {"B0", true, 5913796, 5943908},
    {"B1", false, 7794184, 7856232},
    {"B1", true, 8332120, 8376120},
    {"B2", false, 9109994, 9177562},
    {"B2", true, 9504122, 9552042},
    {"B3", false, 12233232, 12320528},
    {"B3", true, 12590896, 12652592},
    {"B4", false, 19341616, 19466816},
    {"B4", true, 19328168, 19416312},
    {"B5", false, 30389784, 30562520},
    {"B5", true, 28715320, 28836600},
    {"B6", false, 43040704, 43265136},
    {"B7", false, 66347960, 66658680},
    {"B7", true, 59210264, 59427544},
    // timm's counts.
    {"Lite0", false, 4652008, 4694024},
    {"Lite1", false, 5416680, 5470344},
    {"Lite2", false, 6092072, 6150168},
    {"Lite3", false, 8197096, 8273768},
    {"Lite4", false, 13006568, 13118936},
    {"V2-B0", false, 7139704, 7200312},
    {"V2-B1", false, 8141052, 8212124},
    {"V2-B2", false, 10096086, 10178374},
    {"V2-B3", false, 14358406, 14467622},
    {"V2-S", false, 21458488, 21612360},
    {"V2-M", false, 54139356, 54431388},
    {"V2-L", false, 118515272, 119027848},
};

class EfficientnetSizes : public testing::TestWithParam<SizeCase> {};

TEST_P(EfficientnetSizes, HaveTheirParameterCountWithEitherNorm) {
    BuildRequest request = efficientnet_request(GetParam().size);
    if (GetParam().grouped) request = grouped(request);
    const Model model = build_training(request, ops::op_table());
    model.graph.verify();
    std::int64_t moving = 0;
    for (const graph::ValueId id : model.graph.values_with_role(Role::moving_average))
        moving += model.graph.desc(id).elements();
    EXPECT_EQ(parameter_count(model.graph), GetParam().parameters);
    EXPECT_EQ(parameter_count(model.graph) + moving, GetParam().with_moving);

    request.model.norm = NormKind::group;
    const Model group_norm = build_training(request, ops::op_table());
    group_norm.graph.verify();
    EXPECT_EQ(parameter_count(group_norm.graph), GetParam().parameters);
    EXPECT_TRUE(group_norm.graph.values_with_role(Role::moving_average).empty());
}

INSTANTIATE_TEST_SUITE_P(All, EfficientnetSizes, testing::ValuesIn(kSizes), [](const auto& test) {
    std::string name = test.param.size;
    std::ranges::replace(name, '-', '_');
    return name + (test.param.grouped ? "_g16_e4" : "_g1_e6");
});

TEST(EfficientnetSizesTable, IsCoveredByTheTest) {
    for (const std::string& size : model_sizes(Family::efficientnet, NetworkForm::large_images)) {
        EXPECT_TRUE(std::any_of(std::begin(kSizes), std::end(kSizes), [&](const SizeCase& c) {
            return c.size == size;
        })) << size;
    }
}

TEST(EfficientnetRequest, RefusesGroupsThatDoNotDivide) {
    EXPECT_THAT([] { build_training(grouped(efficientnet_request("B6")), ops::op_table()); },
                ThrowsMessage<Error>(AllOf(HasSubstr("efficientnet B6 with --group-dim 16"), HasSubstr("block1a"),
                                           HasSubstr("56 channels"), HasSubstr("3 equal groups"))));
}

TEST(EfficientnetRequest, RefusesValuesThatMakeNoNetwork) {
    const auto error = [](auto change) {
        BuildRequest request = efficientnet_request("B0");
        change(request.model.efficientnet);
        return [request] { build_training(request, ops::op_table()); };
    };
    EXPECT_THAT(error([](auto& s) { s.depth_divisor = 0; }), ThrowsMessage<Error>(HasSubstr("--depth-divisor")));
    EXPECT_THAT(error([](auto& s) { s.expand_ratio = 0; }), ThrowsMessage<Error>(HasSubstr("--expand-ratio")));
    EXPECT_THAT(error([](auto& s) { s.group_dim = 0; }), ThrowsMessage<Error>(HasSubstr("--group-dim")));
    EXPECT_THAT(error([](auto& s) { s.dropout_rate = 1.0; }), ThrowsMessage<Error>(HasSubstr("--dropout-rate")));
    EXPECT_THAT([] { build_training(efficientnet_request("B8"), ops::op_table()); },
                ThrowsMessage<Error>(HasSubstr("no size 'B8'")));
}

std::vector<std::string> split_point_names(const BuildRequest& request) {
    return split_points(request.model);
}

TEST(EfficientnetSplits, AreOneForAResidualBlockAndOneForEachPartOfOthers) {
    EXPECT_THAT(
        split_point_names(efficientnet_request("B0")),
        ElementsAre("block0", "block1a/b", "block1a/c", "block2a", "block2a/b", "block2a/c", "block2b", "block3a",
                    "block3a/b", "block3a/c", "block3b", "block4a", "block4a/b", "block4a/c", "block4b", "block4c",
                    "block5a", "block5a/b", "block5a/c", "block5b", "block5c", "block6a", "block6a/b", "block6a/c",
                    "block6b", "block6c", "block6d", "block7a", "block7a/b", "block7a/c", "Top"));
    std::vector<std::string> last_blocks;
    const std::vector<std::string> names = split_point_names(efficientnet_request("B4"));
    for (std::size_t i = 0; i + 1 < names.size(); ++i) {
        const auto stage = [](const std::string& name) { return name.substr(0, 6); };
        if (stage(names[i]) != stage(names[i + 1])) last_blocks.push_back(names[i]);
    }
    EXPECT_THAT(last_blocks,
                ElementsAre("block0", "block1b", "block2d", "block3d", "block4f", "block5f", "block6h", "block7b"));
}

std::vector<std::string> below(const Graph& graph, Role role, const std::string& prefix) {
    std::vector<std::string> result;
    for (const graph::ValueId id : graph.values_with_role(role)) {
        const std::string& name = graph.value(id).name;
        if (name.starts_with(prefix)) result.push_back(name.substr(prefix.size()));
    }
    return result;
}

TEST(EfficientnetNames, BatchNormVariables) {
    const Model model = build_training(efficientnet_request("B0"), ops::op_table());
    const auto parameters = [&](const std::string& prefix) { return below(model.graph, Role::parameter, prefix); };
    EXPECT_THAT(parameters("all/block0/"), ElementsAre("conv/conv2d/kernel", "batch_norm/beta", "batch_norm/gamma"));
    EXPECT_THAT(parameters("all/block2b/"),
                ElementsAre("a/conv/conv2d/kernel", "a/batch_norm/beta", "a/batch_norm/gamma", "b/conv/conv2d/kernel",
                            "b/batch_norm/beta", "b/batch_norm/gamma", "b/se/squeeze/conv2d/kernel",
                            "b/se/squeeze/conv2d/bias", "b/se/excite/conv2d/kernel", "b/se/excite/conv2d/bias",
                            "c/conv/conv2d/kernel", "c/batch_norm/beta", "c/batch_norm/gamma"));
    EXPECT_THAT(parameters("all/block2a/a/"), ElementsAre("conv/conv2d/kernel", "batch_norm/beta", "batch_norm/gamma"));
    EXPECT_TRUE(parameters("all/block1a/a/").empty());
    EXPECT_THAT(parameters("all/Top/"), ElementsAre("conv/conv2d/kernel", "batch_norm/beta", "batch_norm/gamma",
                                                    "logits/dense/kernel", "logits/dense/bias"));
    EXPECT_THAT(below(model.graph, Role::moving_average, "all/Top/"),
                ElementsAre("batch_norm/moving_mean", "batch_norm/moving_variance"));
}

TEST(EfficientnetNames, GroupNormVariablesWithoutSqueezeExcite) {
    BuildRequest request = efficientnet_request("CIFAR");
    request.model.norm = NormKind::group;
    request.model.efficientnet.squeeze_excite = false;
    const Model model = build_training(request, ops::op_table());
    EXPECT_THAT(below(model.graph, Role::parameter, "all/block2a/"),
                ElementsAre("a/conv/conv2d/kernel", "a/GroupNorm/beta", "a/GroupNorm/gamma", "b/conv/conv2d/kernel",
                            "b/GroupNorm/beta", "b/GroupNorm/gamma", "c/conv/conv2d/kernel", "c/GroupNorm/beta",
                            "c/GroupNorm/gamma"));
}

TEST(EfficientnetNames, OfNodesAreDistinctAndBelowTheirFunction) {
    const BuildRequest request = efficientnet_request("B1");
    const Model model = build_training(request, ops::op_table());
    const std::vector<std::string> functions = split_point_names(request);
    std::set<std::string> distinct;
    for (const graph::Node& node : model.graph.nodes()) {
        const std::string& name = node.name;
        distinct.insert(name);
        const bool below_one = std::any_of(functions.begin(), functions.end(), [&](const std::string& function) {
            return name.starts_with("all/" + function + "/");
        });
        EXPECT_TRUE(below_one || name == "all/loss") << name;
    }
    EXPECT_EQ(static_cast<std::int32_t>(distinct.size()), model.graph.node_count());
}

const graph::Node& node_named(const Graph& graph, const std::string& name) {
    for (const graph::Node& node : graph.nodes()) {
        if (node.name == name) return node;
    }
    throw Error(ErrorKind::internal, "no node " + name);
}

Shape shape_of(const Graph& graph, const std::string& name) {
    return graph.desc(graph.find(name).value()).shape;
}

TEST(EfficientnetBlocks, HaveTheirShapes) {
    const Model model = build_training(efficientnet_request("B0"), ops::op_table());
    const Graph& graph = model.graph;
    EXPECT_EQ(shape_of(graph, "all/block0/conv/conv2d/kernel"), (Shape{3, 3, 3, 32}));
    EXPECT_EQ(shape_of(graph, "all/block1a/b/conv/conv2d/kernel"), (Shape{3, 3, 1, 32}));
    EXPECT_EQ(shape_of(graph, "all/block3a/a/conv/conv2d/kernel"), (Shape{1, 1, 24, 144}));
    EXPECT_EQ(shape_of(graph, "all/block3a/b/conv/conv2d/kernel"), (Shape{5, 5, 1, 144}));
    EXPECT_EQ(shape_of(graph, "all/block3a/b/se/squeeze/conv2d/kernel"), (Shape{1, 1, 144, 6}));
    EXPECT_EQ(shape_of(graph, "all/block3a/b/se/excite/conv2d/kernel"), (Shape{1, 1, 6, 144}));
    EXPECT_EQ(shape_of(graph, "all/block3a/c/conv/conv2d/kernel"), (Shape{1, 1, 144, 40}));
    EXPECT_EQ(shape_of(graph, "all/Top/logits/dense/kernel"), (Shape{1280, 1000}));
    const auto output = [&](const std::string& node) { return graph.desc(node_named(graph, node).outputs[0]).shape; };
    EXPECT_EQ(output("all/block0/activation"), (Shape{1, 112, 112, 32}));
    EXPECT_EQ(output("all/block2b/add"), (Shape{1, 56, 56, 24}));
    EXPECT_EQ(output("all/block5c/add"), (Shape{1, 14, 14, 112}));
    EXPECT_EQ(output("all/Top/activation"), (Shape{1, 7, 7, 1280}));

    const Model wide = build_training(grouped(efficientnet_request("B0")), ops::op_table());
    EXPECT_EQ(shape_of(wide.graph, "all/block1a/b/conv/conv2d/kernel"), (Shape{3, 3, 16, 32}));
    EXPECT_EQ(shape_of(wide.graph, "all/block2b/b/conv/conv2d/kernel"), (Shape{3, 3, 16, 96}));
    EXPECT_EQ(node_named(wide.graph, "all/block2b/b/conv/conv2d").as<graph::ConvAttrs>().groups, 6);
}

TEST(EfficientnetBlocks, OfTheCifarSizeKeepTheResolutionLonger) {
    const Model model = build_training(efficientnet_request("CIFAR"), ops::op_table());
    const auto output = [&](const std::string& node) {
        return model.graph.desc(node_named(model.graph, node).outputs[0]).shape;
    };
    EXPECT_EQ(output("all/block0/activation"), (Shape{1, 32, 32, 16}));
    EXPECT_EQ(output("all/block2b/add"), (Shape{1, 32, 32, 16}));
    EXPECT_EQ(output("all/Top/activation"), (Shape{1, 4, 4, 640}));
}

std::int64_t count(const Graph& graph, OpKind kind) {
    std::int64_t n = 0;
    for (const graph::Node& node : graph.nodes())
        n += node.kind == kind ? 1 : 0;
    return n;
}

std::int64_t activations(const Graph& graph, graph::Activation activation) {
    std::int64_t n = 0;
    for (const graph::Node& node : graph.nodes()) {
        if (node.kind == OpKind::activation) n += node.as<graph::ActivationAttrs>().activation == activation ? 1 : 0;
    }
    return n;
}

TEST(EfficientnetOptions, ChangeTheNetwork) {
    BuildRequest request = efficientnet_request("B0");
    const Model usual = build_training(request, ops::op_table());
    // Stem, head, a of 15 blocks, b and squeeze of 16.
    EXPECT_EQ(activations(usual.graph, graph::Activation::swish), 2 + 15 + 16 + 16);
    EXPECT_EQ(activations(usual.graph, graph::Activation::relu), 0);
    EXPECT_EQ(activations(usual.graph, graph::Activation::sigmoid), 16);
    EXPECT_EQ(count(usual.graph, OpKind::add), 9);

    EfficientnetSettings& settings = request.model.efficientnet;
    settings.swish = false;
    settings.squeeze_excite = false;
    settings.top_width = 500;
    const Model plain = build_training(request, ops::op_table());
    EXPECT_EQ(activations(plain.graph, graph::Activation::relu), 2 + 15 + 16);
    EXPECT_EQ(activations(plain.graph, graph::Activation::swish), 0);
    EXPECT_EQ(count(plain.graph, OpKind::scale_channels), 0);
    EXPECT_EQ(shape_of(plain.graph, "all/Top/conv/conv2d/kernel"), (Shape{1, 1, 320, 504}));

    settings = {};
    settings.width_coefficient = 0.5;
    settings.depth_coefficient = 2;
    settings.depth_divisor = 4;
    settings.expand_ratio = 1;
    const Model scaled = build_training(request, ops::op_table());
    EXPECT_EQ(shape_of(scaled.graph, "all/block2a/c/conv/conv2d/kernel"), (Shape{1, 1, 8, 12}));
    EXPECT_EQ(shape_of(scaled.graph, "all/block6h/c/conv/conv2d/kernel"), (Shape{1, 1, 96, 96}));
    EXPECT_TRUE(below(scaled.graph, Role::parameter, "all/block3a/a/").empty());
}

TEST(EfficientnetDrops, FollowDepthAndStandInTrainingOnly) {
    const BuildRequest request = efficientnet_request("B0");
    const Model model = build_training(request, ops::op_table());
    const auto drop = [&](const std::string& node) {
        return node_named(model.graph, node).as<graph::RandomScaleAttrs>();
    };
    EXPECT_EQ(count(model.graph, OpKind::random_scale), 9 + 1);
    EXPECT_DOUBLE_EQ(drop("all/block2b/drop").keep, 1 - 0.2 * 2 / 16);
    EXPECT_DOUBLE_EQ(drop("all/block6d/drop").keep, 1 - 0.2 * 14 / 16);
    EXPECT_TRUE(drop("all/block6d/drop").per_sample);
    EXPECT_DOUBLE_EQ(drop("all/Top/dropout").keep, 0.8);
    EXPECT_FALSE(drop("all/Top/dropout").per_sample);
    std::set<std::uint64_t> sites;
    for (const graph::Node& node : model.graph.nodes()) {
        if (node.kind == OpKind::random_scale) sites.insert(node.as<graph::RandomScaleAttrs>().site);
    }
    EXPECT_EQ(sites.size(), 10U);
    EXPECT_EQ(count(build_evaluation(request, ops::op_table()).graph, OpKind::random_scale), 0);

    BuildRequest off = request;
    off.model.efficientnet.dropout_rate = 0;
    off.model.efficientnet.block_survival_prob = 1;
    EXPECT_EQ(count(build_training(off, ops::op_table()).graph, OpKind::random_scale), 0);
    off.model.efficientnet.block_survival_prob = 0;  // block i survives with 1 - i / 16
    EXPECT_EQ(count(build_training(off, ops::op_table()).graph, OpKind::random_scale), 9);
}

TEST(EfficientnetInitialisers, FollowTheKindOfVariable) {
    const Model model = build_training(efficientnet_request("B0"), ops::op_table());
    using graph::Initialiser;
    using Kind = Initialiser::Kind;
    const auto initialiser = [&](const std::string& name) {
        return model.graph.value(model.graph.find("all/" + name).value()).initialiser;
    };
    const Initialiser pointwise{Kind::truncated_normal_fan_out, 2};
    for (const char* name : {"block0/conv/conv2d/kernel", "block2b/a/conv/conv2d/kernel",
                             "block2b/b/se/squeeze/conv2d/kernel", "Top/conv/conv2d/kernel"}) {
        EXPECT_EQ(initialiser(name), pointwise) << name;
    }
    EXPECT_EQ(initialiser("block2b/b/conv/conv2d/kernel"), (Initialiser{Kind::truncated_normal_fan_in, 2}));
    EXPECT_EQ(initialiser("Top/logits/dense/kernel").kind, Kind::glorot_uniform);
    EXPECT_EQ(initialiser("Top/logits/dense/bias"), (Initialiser{Kind::constant, 0}));
    EXPECT_EQ(initialiser("block2b/b/se/excite/conv2d/bias"), (Initialiser{Kind::constant, 0}));
    EXPECT_EQ(initialiser("block2b/c/batch_norm/gamma"), (Initialiser{Kind::constant, 1}));
}

// Parts of names by which weight decay and LARS leave variables out.
TEST(EfficientnetNames, PartsMeanNormsAndBiases) {
    const Model model = build_training(efficientnet_request("B0"), ops::op_table());
    std::int64_t norms = 0;
    std::int64_t biases = 0;
    for (const graph::ValueId id : model.values.parameters) {
        const graph::Value& variable = model.graph.value(id);
        const auto contains = [&](const char* part) { return variable.name.find(part) != std::string::npos; };
        const bool norm = contains("beta") || contains("gamma");
        norms += norm ? 1 : 0;
        biases += contains("bias") ? 1 : 0;
        EXPECT_EQ(norm || contains("bias"), variable.desc.shape.size() == 1) << variable.name;
        EXPECT_FALSE(contains("proxy") || contains("moving_")) << variable.name;
    }
    EXPECT_EQ(norms, 2 * (2 + 15 + 16 + 16));
    EXPECT_EQ(biases, 2 * 16 + 1);
}

BuildRequest proxied(BuildRequest request) {
    request.model.efficientnet.proxy_norm = true;
    return request;
}

TEST(EfficientnetProxyNorm, HasOneProxyPerActivationAndGammaWhereNoneFollows) {
    const Model model = build_training(proxied(efficientnet_request("B0")), ops::op_table());
    const auto parameters = [&](const std::string& prefix) { return below(model.graph, Role::parameter, prefix); };
    EXPECT_THAT(parameters("all/block0/"), ElementsAre("conv/conv2d/kernel", "proxy"));
    EXPECT_THAT(parameters("all/block2b/"),
                ElementsAre("a/conv/conv2d/kernel", "a/proxy", "b/conv/conv2d/kernel", "b/proxy",
                            "b/se/squeeze/conv2d/kernel", "b/se/squeeze/conv2d/bias", "b/se/excite/conv2d/kernel",
                            "b/se/excite/conv2d/bias", "c/conv/conv2d/kernel", "c/batch_norm/gamma"));
    EXPECT_THAT(parameters("all/block1a/c/"), ElementsAre("conv/conv2d/kernel", "batch_norm/gamma"));
    EXPECT_THAT(parameters("all/Top/"),
                ElementsAre("conv/conv2d/kernel", "proxy", "logits/dense/kernel", "logits/dense/bias"));
    EXPECT_THAT(below(model.graph, Role::moving_average, "all/Top/"),
                ElementsAre("batch_norm/moving_mean", "batch_norm/moving_variance"));
    EXPECT_EQ(model.graph.values_with_role(Role::moving_average).size(), 2 * 49U);
    EXPECT_EQ(shape_of(model.graph, "all/block3a/b/proxy"), (Shape{6, 1, 1, 144}));
    // The moments of swish of 200 normal quantiles, by NumPy and Python's statistics.
    const graph::Value& proxy = model.graph.value(model.graph.find("all/block3a/b/proxy").value());
    EXPECT_EQ(proxy.initialiser.kind, graph::Initialiser::Kind::rows);
    EXPECT_THAT(proxy.initialiser.rows,
                testing::Pointwise(testing::DoubleNear(1e-6), {0.0, 1.0, 0.206048365, 1.714976672, 0.0, 0.0}));
}

// Four rows more per activated channel, no beta in the parts c.
TEST(EfficientnetProxyNorm, ChangesTheParameterCount) {
    for (const NormKind norm : {NormKind::batch, NormKind::group}) {
        BuildRequest request = efficientnet_request("CIFAR");
        request.model.norm = norm;
        const Model plain = build_training(request, ops::op_table());
        const Model model = build_training(proxied(request), ops::op_table());
        std::int64_t activated = 0;
        std::int64_t narrowed = 0;
        for (const graph::ValueId id : plain.values.parameters) {
            const graph::Value& variable = plain.graph.value(id);
            if (!variable.name.ends_with("/beta")) continue;
            (variable.name.find("/c/") != std::string::npos ? narrowed : activated) += variable.desc.elements();
        }
        EXPECT_EQ(narrowed, 8 + 2 * 16 + 2 * 24 + 3 * 40 + 3 * 56 + 4 * 96 + 160);
        EXPECT_EQ(parameter_count(model.graph), parameter_count(plain.graph) + 4 * activated - narrowed);
    }
}

TEST(EfficientnetProxyNorm, ScalesTheGateOfPartB) {
    BuildRequest request = proxied(efficientnet_request("B0"));
    const Model model = build_training(request, ops::op_table());
    const auto standardise = [](const Model& of, const std::string& node) {
        return node_named(of.graph, node).as<graph::StandardiseAttrs>();
    };
    EXPECT_EQ(standardise(model, "all/block0/standardise"), (graph::StandardiseAttrs{true, true}));
    EXPECT_EQ(standardise(model, "all/block2b/a/standardise"), (graph::StandardiseAttrs{true, true}));
    EXPECT_EQ(standardise(model, "all/block2b/b/standardise"), (graph::StandardiseAttrs{true, false}));
    EXPECT_EQ(standardise(model, "all/block2b/b/se/proxy_scale"), (graph::StandardiseAttrs{false, true}));
    EXPECT_EQ(standardise(model, "all/Top/standardise"), (graph::StandardiseAttrs{true, false}));
    EXPECT_EQ(count(model.graph, OpKind::standardise), 2 + 15 + 2 * 16);

    request.model.efficientnet.squeeze_excite = false;
    request.model.efficientnet.swish = false;
    const Model plain = build_training(request, ops::op_table());
    EXPECT_EQ(standardise(plain, "all/block2b/b/standardise"), (graph::StandardiseAttrs{true, false}));
    EXPECT_EQ(count(plain.graph, OpKind::standardise), 2 + 15 + 16);
    EXPECT_EQ(node_named(plain.graph, "all/block2b/a/proxy/rows").as<graph::ProxyNormAttrs>().activation,
              graph::Activation::relu);
}

TEST(EfficientnetProxyNorm, EvaluationHasTheSameVariablesAndFoldsEveryBatchNorm) {
    const BuildRequest request = proxied(efficientnet_request("B0"));
    const Model training = build_training(request, ops::op_table());
    const Model evaluation = build_evaluation(request, ops::op_table());
    for (const Role role : {Role::parameter, Role::moving_average})
        EXPECT_EQ(below(training.graph, role, ""), below(evaluation.graph, role, ""));
    const Graph folded = graph::fold_inference_norms(graph::fuse_norm_activation(evaluation.graph));
    EXPECT_EQ(count(folded, OpKind::batch_norm_inference), 0);
    EXPECT_EQ(activations(folded, graph::Activation::swish),
              16);  // of squeeze-excite; the others have moved into convolutions
}

TEST(EfficientnetEvaluation, HasTheSameVariablesAndFoldsEveryBatchNorm) {
    const BuildRequest request = efficientnet_request("B0");
    const Model training = build_training(request, ops::op_table());
    const Model evaluation = build_evaluation(request, ops::op_table());
    for (const Role role : {Role::parameter, Role::moving_average})
        EXPECT_EQ(below(training.graph, role, ""), below(evaluation.graph, role, ""));
    const Graph folded = graph::fold_inference_norms(graph::fuse_norm_activation(evaluation.graph));
    EXPECT_EQ(count(folded, OpKind::batch_norm_inference), 0);
    EXPECT_EQ(count(folded, OpKind::conv2d), 2 + 15 + 16 + 16);
}

TEST(EfficientnetNorm, TakesItsEpsilonAndAtMostOneGroupPerChannel) {
    BuildRequest request = efficientnet_request("CIFAR");
    request.model.norm = NormKind::group;
    const Model model = build_training(request, ops::op_table());
    const auto& attrs = node_named(model.graph, "all/block2a/c/norm").as<graph::NormAttrs>();
    EXPECT_EQ(attrs.groups, 4);
    EXPECT_EQ(attrs.epsilon, 1e-3);
    request.model.groups = 10000;
    const Model limited = build_training(request, ops::op_table());
    EXPECT_EQ(node_named(limited.graph, "all/block2a/c/norm").as<graph::NormAttrs>().groups, 16);
    request.model.groups = 24;
    EXPECT_THAT([&] { build_training(request, ops::op_table()); },
                ThrowsMessage<Error>(AllOf(HasSubstr("all/block4a/c/norm"), HasSubstr("--groups"))));
}

}  // namespace
}  // namespace cnntrain::nn
