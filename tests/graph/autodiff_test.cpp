// Reverse mode on toy ops: numbers, order of sums, stages, stashes, recomputation and refusals.
#include "cnntrain/graph/passes.h"

#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "graph/toy_ops.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::test {
namespace {

using graph::Gradients;

const std::vector<double> kX = {1, 2, 3, 4};
const std::vector<double> kW = {5, -1, 2, 0.5};

/// loss = sum(x * w * (x * w)), stage by stage.
struct Square {
    Graph graph{toy_ops()};
    ValueId x = graph.add_input("x", kVector);
    ValueId w = graph.add_parameter("w", kVector, {});
    ValueId unused = graph.add_parameter("unused", kVector, {});
    ValueId product, square, loss;

    explicit Square(StageId stage_of_square = {1}) {
        product = graph.add_one(kMultiply, NoAttrs{}, {x, w}, "product");
        graph.set_stage(stage_of_square);
        square = graph.add_one(kMultiply, NoAttrs{}, {product, product}, "square");
        graph.set_stage(StageId{2});
        loss = graph.add_one(kSum, NoAttrs{}, {square}, "loss");
    }

    Gradients differentiate(double seed, const std::vector<ValueId>& points = {}) {
        return build_backward(graph, {.loss = loss, .seed = seed, .targets = {w, unused}, .recompute_points = points});
    }
};

TEST(Autodiff, MultipliesTheSeedThrough) {
    Square s;
    const Gradients gradients = s.differentiate(3);
    s.graph.verify();
    EXPECT_EQ(gradients.of.size(), 1U);  // nothing leads from `unused` to the loss
    // 3 * 2 * x * w * x
    EXPECT_THAT(evaluate(s.graph, {{"x", kX}, {"w", kW}}, gradients.of.at(s.w)), ElementsAre(30, -24, 108, 48));
}

TEST(Autodiff, PlacesBackwardNodesInTheirStageAndLeavesTheGraphAsItWas) {
    Square s;
    const std::int32_t forward = s.graph.node_count();
    s.differentiate(1);
    std::vector<std::string> placed;
    for (std::int32_t i = forward; i < s.graph.node_count(); ++i) {
        const graph::Node& node = s.graph.node(NodeId{i});
        EXPECT_EQ(node.phase, Phase::backward);
        EXPECT_FALSE(node.recomputed);
        placed.push_back(node.name + " " + std::to_string(node.stage.index));
    }
    EXPECT_THAT(placed, ElementsAre("loss/seed 2", "loss/spread 2", "square/da 1", "square/db 1", "product/grad_sum 0",
                                    "product/db 0"));
    EXPECT_EQ(s.graph.phase(), Phase::forward);
    EXPECT_EQ(s.graph.stage(), StageId{2});
}

TEST(Autodiff, ReportsWhatBackwardReads) {
    Square s;
    EXPECT_EQ(s.differentiate(1).stashed, (std::set<ValueId>{s.x, s.product}));
}

TEST(Autodiff, SumsConsumersLastFirst) {
    Graph graph(toy_ops());
    const ValueId w = graph.add_parameter("w", kVector, {});
    const ValueId a = graph.add_parameter("a", kVector, {});
    const ValueId first = graph.add_one(kMultiply, NoAttrs{}, {w, a}, "first");
    const ValueId second = graph.add_one(kAdd, NoAttrs{}, {w, first}, "second");
    const ValueId third = graph.add_one(kMultiply, NoAttrs{}, {w, second}, "third");
    const ValueId loss = graph.add_one(kSum, NoAttrs{}, {third}, "loss");
    const Gradients gradients =
        build_backward(graph, {.loss = loss, .seed = 1, .targets = {w}, .recompute_points = {}});
    graph.verify();
    const auto& outer = graph.node(graph.value(gradients.of.at(w)).producer);
    const auto& inner = graph.node(graph.value(outer.inputs[0]).producer);
    const auto name = [&](ValueId id) { return graph.value(id).name; };
    EXPECT_EQ(name(inner.inputs[0]), "third/da");
    EXPECT_EQ(name(inner.inputs[1]), "third/db");  // what reaches `second` goes on to w
    EXPECT_EQ(name(outer.inputs[1]), "first/da");
    // d/dw of w * (w + w a) = 2 w (1 + a)
    EXPECT_THAT(evaluate(graph, {{"w", kX}, {"a", kW}}, gradients.of.at(w)), ElementsAre(12, 0, 18, 12));
}

TEST(Autodiff, TheLossItselfMayBeATarget) {
    Square s;
    const Gradients gradients =
        build_backward(s.graph, {.loss = s.loss, .seed = 2, .targets = {s.loss}, .recompute_points = {}});
    EXPECT_THAT(evaluate(s.graph, {}, gradients.of.at(s.loss)), ElementsAre(2));
}

TEST(Autodiff, UnusedOutputsHaveNoGradient) {
    Graph graph(toy_ops());
    const ValueId w = graph.add_parameter("w", kVector, {});
    const auto halves = graph.add(kSplit, NoAttrs{}, {w}, "split");
    const ValueId loss = graph.add_one(kSum, NoAttrs{}, {halves[0]}, "loss");
    const ValueId doubled = graph.add_one(kSum, NoAttrs{}, {halves[1]}, "doubled");
    Graph wrong = graph;
    const Gradients gradients =
        build_backward(graph, {.loss = loss, .seed = 1, .targets = {w}, .recompute_points = {}});
    EXPECT_THAT(evaluate(graph, {{"w", kX}}, gradients.of.at(w)), ElementsAre(1, 1, 1, 1));
    EXPECT_THROW(build_backward(wrong, {.loss = doubled, .seed = 1, .targets = {w}, .recompute_points = {}}), Error);
}

TEST(Autodiff, RecomputesWhatIsNotKept) {
    Square kept;
    const Gradients all = kept.differentiate(3);
    Square s({0});
    const Gradients few = s.differentiate(3, {s.loss});
    s.graph.verify();
    EXPECT_EQ(few.stashed, (std::set<ValueId>{s.x}));
    const std::map<std::string, std::vector<double>> given = {{"x", kX}, {"w", kW}};
    EXPECT_EQ(evaluate(s.graph, given, few.of.at(s.w)), evaluate(kept.graph, given, all.of.at(kept.w)));
    int recomputed = 0;
    for (const graph::Node& node : s.graph.nodes()) {
        if (!node.recomputed) continue;
        ++recomputed;
        EXPECT_EQ(node.name, "product");
        EXPECT_EQ(node.phase, Phase::backward);
        EXPECT_EQ(node.stage, StageId{0});
    }
    EXPECT_EQ(recomputed, 1);  // once, however many read it; and nothing that nobody reads
}

TEST(Autodiff, KeepsWhatAStageSendsToAnother) {
    Square s({1});
    EXPECT_EQ(s.differentiate(3, {s.loss}).stashed, (std::set<ValueId>{s.x, s.product}));
    for (const graph::Node& node : s.graph.nodes())
        EXPECT_FALSE(node.recomputed) << node.name;
}

TEST(Autodiff, RecomputesOnlyBackToTheKeptValues) {
    Square s;
    const std::int32_t forward = s.graph.node_count();
    const Gradients gradients = s.differentiate(1, {s.product});
    EXPECT_EQ(gradients.stashed, (std::set<ValueId>{s.x, s.product}));
    for (std::int32_t i = forward; i < s.graph.node_count(); ++i)
        EXPECT_FALSE(s.graph.node(NodeId{i}).recomputed);
}

TEST(Autodiff, DoesNotRecomputeWhatDependsOnParametersAlone) {
    Graph graph(toy_ops());
    const ValueId x = graph.add_input("x", kVector);
    const ValueId w = graph.add_parameter("w", kVector, {});
    const ValueId squared = graph.add_one(kMultiply, NoAttrs{}, {w, w}, "squared");
    const ValueId product = graph.add_one(kMultiply, NoAttrs{}, {x, squared}, "product");
    const ValueId again = graph.add_one(kMultiply, NoAttrs{}, {product, squared}, "again");
    const ValueId loss = graph.add_one(kSum, NoAttrs{}, {again}, "loss");
    const Gradients gradients =
        build_backward(graph, {.loss = loss, .seed = 1, .targets = {w}, .recompute_points = {loss}});
    EXPECT_EQ(gradients.stashed, (std::set<ValueId>{x, squared}));
    // d/dw of x w^4 = 4 x w^3
    EXPECT_THAT(evaluate(graph, {{"x", kX}, {"w", {1, 2, 1, -1}}}, gradients.of.at(w)), ElementsAre(4, 64, 12, -16));
}

TEST(Autodiff, RefusesWhatCannotBeDifferentiated) {
    for (const auto& [kind, text] : {std::pair{kDeadEnd, "wall"}, std::pair{kBroken, "f32[4]"}}) {
        Graph graph(toy_ops());
        const ValueId w = graph.add_parameter("w", kVector, {});
        const ValueId x = graph.add_input("x", kVector);
        const ValueId wall = graph.add_one(kind, NoAttrs{}, {w}, "wall");
        const ValueId loss = graph.add_one(kSum, NoAttrs{}, {wall}, "loss");
        const auto differentiate = [&](ValueId target) {
            build_backward(graph, {.loss = loss, .seed = 1, .targets = {target}, .recompute_points = {}});
        };
        EXPECT_THAT(message_of(ErrorKind::internal, [&] { differentiate(w); }), HasSubstr(text));
        EXPECT_EQ(graph.phase(), Phase::forward);
        EXPECT_NO_THROW(differentiate(x));  // not on the way
    }
    Square s;
    const auto vector_loss = [&] {
        build_backward(s.graph, {.loss = s.square, .seed = 1, .targets = {s.w}, .recompute_points = {}});
    };
    EXPECT_THAT(message_of(ErrorKind::usage, vector_loss), HasSubstr("f32[4]"));
}

}  // namespace
}  // namespace cnntrain::test
