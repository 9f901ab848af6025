// Storage, use lists, refusals, verification and text.
#include "cnntrain/graph/graph.h"

#include <gtest/gtest.h>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/update_rule.h"
#include "graph/toy_ops.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::test {
namespace {

struct Chain {
    Graph graph{toy_ops()};
    ValueId x = graph.add_input("x", kVector);
    ValueId w = graph.add_parameter("w", kVector, {});
    ValueId product = graph.add_one(kMultiply, NoAttrs{}, {x, w}, "product");
    ValueId square = graph.add_one(kMultiply, NoAttrs{}, {product, product}, "square");
};

TEST(Graph, KnowsProducersUsersAndRoles) {
    Chain c;
    const auto halves = c.graph.add(kSplit, NoAttrs{}, {c.square}, "split");
    EXPECT_EQ(c.graph.value(c.product).producer, NodeId{0});
    EXPECT_THAT(c.graph.value(c.product).users, ElementsAre(NodeId{1}));  // one entry per node, not per use
    EXPECT_THAT(c.graph.value(c.x).users, ElementsAre(NodeId{0}));
    EXPECT_EQ(c.graph.value(halves[1]).producer_output, 1);
    EXPECT_EQ(c.graph.value(halves[1]).name, "split:1");
    EXPECT_EQ(c.graph.value(c.square).name, "square");
    EXPECT_THAT(c.graph.values_with_role(Role::parameter), ElementsAre(c.w));
    EXPECT_EQ(c.graph.find("w"), c.w);
    EXPECT_EQ(c.graph.find("product"), std::nullopt);
    EXPECT_EQ(c.graph.node_flops(NodeId{0}), 4);
    EXPECT_EQ(c.graph.node_flops(NodeId{2}), 0);
    c.graph.verify();
}

TEST(Graph, GivesNodesThePhaseAndStageOfTheMoment) {
    Chain c;
    c.graph.set_phase(Phase::backward);
    c.graph.set_stage(StageId{3});
    c.graph.add_one(kAdd, NoAttrs{}, {c.square, c.x}, "sum");
    EXPECT_EQ(c.graph.node(NodeId{1}).phase, Phase::forward);
    EXPECT_EQ(c.graph.node(NodeId{2}).phase, Phase::backward);
    EXPECT_EQ(c.graph.node(NodeId{2}).stage, StageId{3});
}

TEST(Graph, RefusesNodesWithTheirInputs) {
    Chain c;
    const ValueId other = c.graph.add_input("other", {DType::bf16, {2, 3}});
    const std::int32_t values = c.graph.value_count();
    const auto add = [&] { c.graph.add_one(kAdd, NoAttrs{}, {c.x, other}, "unit1/add"); };
    EXPECT_EQ(message_of(ErrorKind::usage, add), "unit1/add: add(f32[4], bf16[2, 3]): shapes differ");
    EXPECT_EQ(c.graph.value_count(), values);
    EXPECT_TRUE(c.graph.value(other).users.empty());
}

TEST(Graph, RefusesDefects) {
    Chain c;
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { c.graph.add_moving_average("w", kVector, {}); }),
                HasSubstr("named 'w'"));
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { c.graph.add_one(kSum, NoAttrs{}, {ValueId{99}}, "n"); }),
                HasSubstr("99"));
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { static_cast<void>(c.graph.node(NodeId{})); }), HasSubstr("-1"));
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { c.graph.add_one(graph::OpKind::conv2d, NoAttrs{}, {c.x}, "n"); }),
                HasSubstr("entry"));
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { c.graph.add_one(kSplit, NoAttrs{}, {c.x}, "halves"); }),
                HasSubstr("2 outputs"));
    c.graph.mark_output("y", c.square);
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { c.graph.mark_output("y", c.x); }), HasSubstr("'y'"));
}

TEST(Graph, VerifyFindsReadsOfALaterPhase) {
    Chain c;
    c.graph.set_phase(Phase::backward);
    const ValueId late = c.graph.add_one(kAdd, NoAttrs{}, {c.square, c.x}, "late");
    c.graph.set_phase(Phase::forward);
    c.graph.add_one(kSum, NoAttrs{}, {late}, "early");
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { c.graph.verify(); }), Not(IsEmpty()));
}

TEST(Graph, VerifyFindsMutationsWhereNoneMayBe) {
    Chain early;
    early.graph.add(kStep, NoAttrs{}, {early.w, early.square}, "early");
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { early.graph.verify(); }), Not(IsEmpty()));
    Chain wrong;
    wrong.graph.set_phase(Phase::update);
    wrong.graph.add(kStep, NoAttrs{}, {wrong.x, wrong.square}, "wrong");
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { wrong.graph.verify(); }), Not(IsEmpty()));
    Chain right;
    right.graph.set_phase(Phase::update);
    right.graph.add(kStep, NoAttrs{}, {right.w, right.square}, "right");
    right.graph.verify();
}

TEST(Graph, VerifyFindsChangedShapeRules) {
    graph::OpTable table = toy_ops();
    Graph graph(table);
    graph.add_one(kSum, NoAttrs{}, {graph.add_input("x", kVector)}, "sum");
    graph.verify();
    table[static_cast<std::size_t>(kSum)].infer = [](const graph::Attrs&, std::span<const TensorDesc>) {
        return std::vector<TensorDesc>{kVector};
    };
    EXPECT_THAT(message_of(ErrorKind::internal, [&] { graph.verify(); }), HasSubstr("f32[4]"));
}

TEST(Graph, PrintsOneLinePerNode) {
    Chain c;
    c.graph.set_stage(StageId{1});
    c.graph.set_phase(Phase::backward);
    c.graph.add(kSplit, NoAttrs{}, {c.square}, "split");
    c.graph.set_recomputed(NodeId{2});
    c.graph.set_phase(Phase::update);
    c.graph.add(kStep, NoAttrs{}, {c.w, c.square}, "step");
    c.graph.mark_output("y", c.square);
    EXPECT_EQ(c.graph.to_text(),
              "%2 = multiply(x, w) : f32[4]  # product\n"
              "%3 = multiply(%2, %2) : f32[4]  # square\n"
              "%4, %5 = split(%3) : f32[4], f32[4]  # split, backward, stage 1, recomputed\n"
              "step(w, %3)  # step, update, stage 1\n"
              "output y = %3\n");
}

TEST(Graph, PrintsAttributesThatAreNotTheUsualOnes) {
    Chain c;
    c.graph.add_one(kDeadEnd, graph::PoolAttrs{3, 2, {}}, {c.x}, "a");
    c.graph.add_one(kDeadEnd, graph::PoolAttrs{.kernel = 3, .padding = {1, 2, 3, 4}}, {c.x}, "b");
    EXPECT_THAT(c.graph.to_text(), HasSubstr("1/2/3/4"));
}

TEST(UpdateRules, ScaleTheirStepWhereTheyHaveATrust) {
    for (const graph::UpdateRuleFacts& facts : graph::kUpdateRules)
        EXPECT_EQ(facts.has_trust(), facts.trust != nullptr) << facts.name;
}

}  // namespace
}  // namespace cnntrain::test
