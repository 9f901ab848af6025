// Changes by each rewrite and, as important, what it leaves alone.
#include "cnntrain/graph/passes.h"

#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/op.h"
#include "graph/toy_ops.h"
#include "support/errors.h"
#include "support/matchers.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

constexpr std::array kTrainingRewrites{graph::kMoveActivationsToSender, graph::kFuseNormActivation};
constexpr std::array kBackwardRewrites{graph::kFuseGradientSums, graph::kRemoveDeadNodes};
constexpr std::array kEvaluationRewrites{graph::kFuseNormActivation, graph::kFoldInferenceNorms,
                                         graph::kRemoveDeadNodes};

using graph::Activation;
using graph::Node;

const TensorDesc kImage{DType::f32, {2, 4, 4, 8}};
const TensorDesc kChannelVector{DType::f32, {8}};

std::vector<std::string> node_names(const Graph& graph) {
    std::vector<std::string> names;
    names.reserve(static_cast<std::size_t>(graph.node_count()));
    for (const graph::Node& node : graph.nodes())
        names.push_back(node.name);
    return names;
}

/// x -> norm -> (+ x ->) relu, with the parts at hand for spoiling the pattern.
struct NormNet : ToyGraph {
    ValueId x = input("images", kImage.shape);
    ValueId gamma = parameter("gamma", kChannelVector.shape);
    ValueId beta = parameter("beta", kChannelVector.shape);
    std::vector<ValueId> norm = graph.add(OpKind::batch_norm, graph::NormAttrs{}, {x, gamma, beta}, "norm");

    ValueId relu(ValueId value) { return activation(value, "relu"); }
    ValueId add(ValueId a, ValueId b) { return sum(a, b, "add"); }
};

const Node& only_node(const Graph& graph) {
    EXPECT_EQ(graph.node_count(), 1) << graph.to_text();
    return graph.node(NodeId{0});
}

TEST(FuseNormActivation, TakesTheReluIn) {
    NormNet net;
    net.graph.mark_output("y", net.relu(net.norm[0]));
    net.graph.mark_output("mean", net.norm[1]);
    const Graph fused = graph::apply_rewrites(net.graph, kTrainingRewrites);
    const Node& node = only_node(fused);
    EXPECT_EQ(node.as<graph::NormAttrs>().activation, Activation::relu);
    EXPECT_FALSE(node.as<graph::NormAttrs>().residual);
    EXPECT_EQ(node.name, "norm");
    EXPECT_EQ(fused.outputs()[0].value, node.outputs[0]);
    EXPECT_EQ(fused.outputs()[1].value, node.outputs[1]);
}

TEST(FuseNormActivation, TakesTheAdditionInFromEitherSide) {
    for (const bool norm_first : {true, false}) {
        NormNet net;
        net.graph.mark_output("y", net.relu(norm_first ? net.add(net.norm[0], net.x) : net.add(net.x, net.norm[0])));
        const Graph fused = graph::apply_rewrites(net.graph, kTrainingRewrites);
        const Node& node = only_node(fused);
        EXPECT_TRUE(node.as<graph::NormAttrs>().residual);
        EXPECT_EQ(fused.value(node.inputs.at(3)).name, "images");
    }
}

TEST(FuseNormActivation, OfTwoNormsOneBecomesTheResidual) {
    NormNet net;
    const auto shortcut =
        net.graph.add(OpKind::group_norm, graph::NormAttrs{.groups = 2}, {net.x, net.gamma, net.beta}, "shortcut");
    net.graph.mark_output("y", net.relu(net.add(net.norm[0], shortcut[0])));
    const Graph fused = graph::apply_rewrites(net.graph, kTrainingRewrites);
    EXPECT_THAT(node_names(fused), ElementsAre("shortcut", "norm"));
    EXPECT_EQ(fused.node(NodeId{1}).inputs.at(3), fused.node(NodeId{0}).outputs[0]);
}

TEST(FuseNormActivation, TakesSwishInButNotBehindAnAddition) {
    const auto swish = [](NormNet& net, ValueId x) { return net.activation(x, "swish", Activation::swish); };
    NormNet plain;
    plain.graph.mark_output("y", swish(plain, plain.norm[0]));
    const Graph fused = graph::apply_rewrites(plain.graph, kTrainingRewrites);
    EXPECT_EQ(only_node(fused).as<graph::NormAttrs>().activation, Activation::swish);

    NormNet residual;
    residual.graph.mark_output("y", swish(residual, residual.add(residual.norm[0], residual.x)));
    const Graph left = graph::apply_rewrites(residual.graph, kTrainingRewrites);
    EXPECT_THAT(node_names(left), ElementsAre("norm", "add", "swish"));
}

/// Two stages: norm, and what reads the activation of its result.
struct SplitNet : NormNet {
    SplitNet() { graph.set_stage(StageId{1}); }
    ValueId pool(ValueId value) {
        return graph.add_one(OpKind::max_pool, graph::PoolAttrs{.kernel = 2, .stride = 2, .padding = {}}, {value},
                             "pool");
    }
};

TEST(MoveActivationsToSender, LetsFusionCrossTheBorder) {
    SplitNet net;
    net.graph.mark_output("y", net.pool(net.relu(net.norm[0])));
    const Graph fused = graph::apply_rewrites(net.graph, kTrainingRewrites);
    ASSERT_THAT(node_names(fused), ElementsAre("norm", "pool"));
    EXPECT_EQ(fused.node(NodeId{0}).as<graph::NormAttrs>().activation, Activation::relu);
    EXPECT_EQ(fused.node(NodeId{0}).stage, StageId{0});
    EXPECT_EQ(fused.node(NodeId{1}).stage, StageId{1});
    EXPECT_EQ(fused.node(NodeId{1}).inputs[0], fused.node(NodeId{0}).outputs[0]) << "one value is sent";
}

TEST(MoveActivationsToSender, LeavesWhatTheStageReadsItself) {
    SplitNet net;
    net.graph.mark_output("y", net.pool(net.add(net.relu(net.norm[0]), net.norm[0])));
    const Graph left = graph::apply_rewrites(net.graph, kTrainingRewrites);
    EXPECT_THAT(node_names(left), ElementsAre("norm", "relu", "add", "pool")) << "two values would be sent";
    EXPECT_EQ(left.node(NodeId{1}).stage, StageId{1});
}

TEST(MoveActivationsToSender, LeavesNoStageEmpty) {
    SplitNet net;
    const ValueId y = net.relu(net.norm[0]);
    net.graph.set_stage(StageId{2});
    net.graph.mark_output("y", net.pool(y));
    const Graph left = graph::apply_rewrites(net.graph, kTrainingRewrites);
    EXPECT_THAT(node_names(left), ElementsAre("norm", "relu", "pool"));
    EXPECT_EQ(left.node(NodeId{1}).stage, StageId{1});
}

TEST(MoveActivationsToSender, LeavesActivationsInTheirStageAndOfInputs) {
    SplitNet net;
    net.graph.mark_output("of_input", net.relu(net.x));
    net.graph.mark_output("y", net.relu(net.pool(net.norm[0])));
    const Graph left = graph::apply_rewrites(net.graph, kTrainingRewrites);
    EXPECT_THAT(node_names(left), ElementsAre("norm", "relu", "pool", "relu"));
    for (const std::int32_t node : {1, 3})
        EXPECT_EQ(left.node(NodeId{node}).stage, StageId{1});
}

TEST(FuseNormActivation, LeavesWhatOthersReadToo) {
    NormNet second_user;
    second_user.relu(second_user.norm[0]);
    second_user.add(second_user.norm[0], second_user.x);
    EXPECT_EQ(graph::fuse_norm_activation(second_user.graph).node_count(), 3);

    NormNet marked;
    marked.relu(marked.norm[0]);
    marked.graph.mark_output("plain", marked.norm[0]);
    EXPECT_EQ(graph::fuse_norm_activation(marked.graph).node_count(), 2);

    NormNet doubled;
    doubled.relu(doubled.add(doubled.norm[0], doubled.norm[0]));
    EXPECT_EQ(graph::fuse_norm_activation(doubled.graph).node_count(), 3);

    NormNet early_reader;  // of the statistics, before the place of the fused node
    early_reader.graph.add_one(OpKind::activation, graph::ActivationAttrs{Activation::relu}, {early_reader.norm[1]},
                               "reader");
    early_reader.relu(early_reader.norm[0]);
    EXPECT_EQ(graph::fuse_norm_activation(early_reader.graph).node_count(), 3);
}

TEST(FuseNormActivation, LeavesWhatStagesPart) {
    NormNet net;
    net.graph.set_stage(StageId{1});
    net.relu(net.norm[0]);
    EXPECT_EQ(graph::fuse_norm_activation(net.graph).node_count(), 2);
}

TEST(FuseNormActivation, MovesUpdatesOutOfTheWay) {
    NormNet net;
    const ValueId moving = net.graph.add_moving_average("moving", kChannelVector, {});
    net.graph.set_phase(Phase::update);
    net.graph.add(OpKind::moving_average_update, graph::MovingAverageAttrs{}, {moving, net.norm[1]}, "average");
    net.graph.set_phase(Phase::forward);
    net.graph.mark_output("y", net.relu(net.norm[0]));
    const Graph fused = graph::apply_rewrites(net.graph, kTrainingRewrites);
    EXPECT_THAT(node_names(fused), ElementsAre("norm", "average"));
}

/// conv -> batch_norm_inference (+ x) (relu), the weight through a cast.
struct InferenceNet : ToyGraph {
    ValueId x = input("images", kImage.shape, DType::bf16);
    ValueId weight = parameter("weight", {1, 1, 8, 8});
    std::vector<ValueId> vectors;
    ValueId conv;

    InferenceNet() {
        for (const char* name : {"gamma", "beta"})
            vectors.push_back(parameter(name, kChannelVector.shape));
        for (const char* name : {"mean", "variance"})
            vectors.push_back(graph.add_moving_average(name, kChannelVector, {}));
        const ValueId half = cast(weight, DType::bf16, "cast");
        conv = graph.add_one(OpKind::conv2d, graph::ConvAttrs{}, {x, half}, "conv");
    }
    ValueId norm(ValueId value) {
        return graph.add_one(OpKind::batch_norm_inference, graph::NormAttrs{.epsilon = 0.25},
                             {value, vectors[0], vectors[1], vectors[2], vectors[3]}, "norm");
    }
};

TEST(FoldInferenceNorms, LeavesOneConvolution) {
    InferenceNet net;
    net.graph.mark_output("y", net.activation(net.sum(net.x, net.norm(net.conv), "add"), "relu"));
    const Graph folded = graph::apply_rewrites(net.graph, kEvaluationRewrites);
    EXPECT_THAT(node_names(folded), ElementsAre("conv/folded_weight", "conv/folded_bias", "conv"));
    const Node& fold = folded.node(NodeId{0});
    EXPECT_EQ(folded.value(fold.inputs[0]).name, "weight");  // not its rounded copy
    EXPECT_EQ(fold.as<graph::FoldNormAttrs>(), (graph::FoldNormAttrs{0.25, DType::bf16}));
    const auto& attrs = folded.node(NodeId{2}).as<graph::ConvAttrs>();
    EXPECT_TRUE(attrs.bias && attrs.residual && attrs.activation == Activation::relu);
    EXPECT_EQ(folded.value(folded.node(NodeId{2}).inputs.at(3)).name, "images");
}

TEST(FoldInferenceNorms, TakesAdditionAndSwishIn) {
    for (const bool activated : {false, true}) {
        InferenceNet net;
        ValueId y = net.sum(net.norm(net.conv), net.x, "add");
        if (activated) y = net.activation(y, "swish", Activation::swish);
        net.graph.mark_output("y", y);
        const Graph folded = graph::apply_rewrites(net.graph, kEvaluationRewrites);
        EXPECT_THAT(node_names(folded), ElementsAre("conv/folded_weight", "conv/folded_bias", "conv"));
        const auto& attrs = folded.node(NodeId{2}).as<graph::ConvAttrs>();
        EXPECT_TRUE(attrs.bias && attrs.residual);
        EXPECT_EQ(attrs.activation, activated ? Activation::swish : Activation::none);
    }
}

TEST(FoldInferenceNorms, LeavesConvolutionsWithOtherReaders) {
    InferenceNet net;
    net.graph.mark_output("y", net.norm(net.conv));
    net.graph.mark_output("conv", net.conv);
    EXPECT_THAT(node_names(graph::apply_rewrites(net.graph, kEvaluationRewrites)), ElementsAre("cast", "conv", "norm"));
}

struct GradientNet : ToyGraph {
    ValueId x = input("images", kImage.shape);
    std::vector<ValueId> vectors;
    ValueId total;

    GradientNet() {
        for (const char* name : {"gamma", "beta", "mean", "variance"})
            vectors.push_back(parameter(name, kChannelVector.shape));
        graph.set_phase(Phase::backward);
        total = sum(activation(x, "first"), x, "sum");
    }
    void norm_gradient() {
        const auto results = graph.add(OpKind::batch_norm_grad, graph::NormAttrs{},
                                       {x, vectors[0], vectors[1], vectors[2], vectors[3], total}, "gradient");
        graph.mark_output("dx", results[0]);
    }
};

TEST(FuseGradientSums, MovesTheSumIntoTheNorm) {
    GradientNet net;
    net.norm_gradient();
    const Graph fused = graph::apply_rewrites(net.graph, kBackwardRewrites);
    ASSERT_THAT(node_names(fused), ElementsAre("first", "gradient"));
    const Node& node = fused.node(NodeId{1});
    EXPECT_TRUE(node.as<graph::NormAttrs>().summed_gradient);
    EXPECT_EQ(node.inputs.at(5), fused.node(NodeId{0}).outputs[0]);
    EXPECT_EQ(fused.value(node.inputs.at(6)).name, "images");
    EXPECT_EQ(node.phase, Phase::backward);
}

TEST(FuseGradientSums, LeavesSumsWithOtherReaders) {
    GradientNet net;
    net.norm_gradient();
    net.graph.mark_output("sum", net.total);
    EXPECT_EQ(graph::apply_rewrites(net.graph, kBackwardRewrites).node_count(), 3);
}

TEST(RemoveDeadNodes, KeepsWhatOutputsAndMutationsNeed) {
    Graph graph(toy_ops());
    const ValueId x = graph.add_input("x", kVector);
    const ValueId w = graph.add_parameter("w", kVector, {});
    const ValueId kept = graph.add_one(kAdd, NoAttrs{}, {x, w}, "kept");
    const ValueId for_update = graph.add_one(kMultiply, NoAttrs{}, {x, kept}, "for_update");
    const ValueId dead = graph.add_one(kMultiply, NoAttrs{}, {x, x}, "dead");
    graph.add_one(kSum, NoAttrs{}, {dead}, "dead_too");
    graph.mark_output("y", graph.add_one(kSum, NoAttrs{}, {kept}, "y"));
    graph.set_phase(Phase::update);
    graph.add(kStep, NoAttrs{}, {w, for_update}, "step");
    const Graph pruned = graph::remove_dead_nodes(graph);
    pruned.verify();
    EXPECT_THAT(node_names(pruned), ElementsAre("kept", "for_update", "y", "step"));
    EXPECT_EQ(pruned.find("x"), x);
}

TEST(Rewrites, KeepPhaseStageAndRecomputedMarks) {
    Graph graph(toy_ops());
    const ValueId x = graph.add_input("x", kVector);
    graph.set_stage(StageId{2});
    graph.set_phase(Phase::backward);
    graph.mark_output("y", graph.add_one(kAdd, NoAttrs{}, {x, x}, "again"));
    graph.set_recomputed(NodeId{0});
    const Graph copy = graph::remove_dead_nodes(graph);
    EXPECT_EQ(copy.to_text(), graph.to_text());
    EXPECT_EQ(copy.stage(), StageId{2});
    EXPECT_EQ(copy.phase(), Phase::backward);
}

TEST(Rewrites, ABrokenOneIsNamed) {
    const graph::Rewrite breaking{"breaking", [](const Graph& graph) {
                                      Graph broken = graph;
                                      broken.set_phase(Phase::forward);
                                      broken.add(kStep, NoAttrs{}, {*broken.find("w"), *broken.find("w")}, "step");
                                      return broken;
                                  }};
    Graph graph(toy_ops());
    graph.add_parameter("w", kVector, {});
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { graph::apply_rewrites(graph, std::span(&breaking, 1)); }),
                Not(IsEmpty()));
}

}  // namespace
}  // namespace cnntrain::test
