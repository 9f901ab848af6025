// Results of norms that backward computes again: recompute_norms on chains and blocks of real operations.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "cnntrain/graph/passes.h"
#include "support/matchers.h"
#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

using graph::Activation;
using graph::Graph;
using graph::Node;
using graph::NodeId;
using graph::NormAttrs;
using graph::OpKind;
using graph::ValueId;

constexpr std::int64_t kLarge = 64;  // channels
constexpr std::int64_t kSmall = 8;

/// Convolutions followed by norms, on images as large as the input's.
struct ConvNet : ToyGraph {
    OpKind kind = OpKind::batch_norm;
    Activation activation = Activation::relu;
    ValueId at = input("images", {2, 8, 8, kLarge});

    ValueId norm(ValueId x, const std::string& name, Activation last, ValueId residual = {}) {
        const Shape vector = {graph.desc(x).shape.back()};
        std::vector<ValueId> inputs = {x, parameter(name + "/gamma", vector), parameter(name + "/beta", vector)};
        if (residual.valid()) inputs.push_back(residual);
        const NormAttrs attrs{
            .groups = kind == OpKind::group_norm ? 4 : 0, .activation = last, .residual = residual.valid()};
        return graph.add(kind, attrs, inputs, name)[0];
    }
    void add_layers(const std::vector<std::string>& names, std::int64_t channels) {
        for (const std::string& name : names)
            at = norm(conv(at, channels, "conv" + name, {.width = 1}), "norm" + name, activation);
    }
    /// Adds a block, whose residual is its input itself unless it has a `shortcut`.
    void add_block(const std::string& name, bool shortcut = false) {
        const ValueId residual =
            shortcut ? norm(conv(at, kLarge, "conv_sc" + name, {.width = 1}), "norm_sc" + name, Activation::none) : at;
        at = norm(conv(at, kLarge, "conv" + name, {.width = 1}), "norm" + name, Activation::relu, residual);
    }
    /// The graph with backward and update.
    Graph trained(const std::vector<ValueId>& recompute_points = {}) {
        const ValueId loss = cross_entropy(dense(average_pool(at), 3, "fc"));
        update_all(differentiate(loss, recompute_points), {});
        return graph;
    }
};

std::vector<std::string> names_recomputed(const Graph& graph) {
    std::vector<std::string> names;
    for (const graph::Node& node : graph.nodes()) {
        if (node.recomputed) names.push_back(node.name);
    }
    return names;
}

/// The most bytes of images that are alive at a time when the nodes run in order.
std::uint64_t most_bytes(const Graph& graph) {
    std::vector<std::uint64_t> alive(static_cast<std::size_t>(graph.node_count()));
    for (std::int32_t i = 0; i < graph.value_count(); ++i) {
        const graph::Value& value = graph.value(ValueId{i});
        if (!value.producer.valid() || value.desc.shape.size() != 4) continue;
        const NodeId last = value.users.empty() ? value.producer : value.users.back();
        for (std::int32_t node = value.producer.index; node <= last.index; ++node)
            alive[static_cast<std::size_t>(node)] += value.desc.bytes();
    }
    return *std::ranges::max_element(alive);
}

TEST(RecomputeNorms, ComputesTheFirstResultsOfAChainFromTheStatisticsOfForward) {
    for (const OpKind kind : {OpKind::batch_norm, OpKind::group_norm}) {
        ConvNet net;
        net.kind = kind;
        net.add_layers({"1", "2", "3", "4"}, kLarge);
        net.add_layers({"5", "6", "7"}, kSmall);
        const Graph kept = net.trained();
        const Graph graph = graph::recompute_norms(kept);
        graph.verify();
        // Later results are read while all of the first ones are still kept: to compute them again lowers no peak.
        EXPECT_THAT(names_recomputed(graph), ElementsAre("norm3", "norm2", "norm1"));
        EXPECT_LT(most_bytes(graph), most_bytes(kept));
        for (std::int32_t i = 0; i < graph.node_count(); ++i) {
            const Node& node = graph.node(NodeId{i});
            if (!node.recomputed) continue;
            EXPECT_EQ(node.kind,
                      kind == OpKind::group_norm ? OpKind::group_norm_inference : OpKind::batch_norm_inference);
            const Node& forward = graph.node(graph.value(node.inputs[3]).producer);
            EXPECT_EQ(forward.name, node.name);
            EXPECT_EQ(forward.phase, graph::Phase::forward);
            EXPECT_THAT(node.inputs, ElementsAre(forward.inputs[0], forward.inputs[1], forward.inputs[2],
                                                 forward.outputs[1], forward.outputs[2]));
            EXPECT_THAT(graph.value(node.outputs[0]).users, Contains(NodeId{i + 1}));  // not earlier than needed
            EXPECT_TRUE(std::ranges::all_of(graph.value(forward.outputs[0]).users, [&](NodeId user) {
                return graph.node(user).phase == graph::Phase::forward;
            }));
        }
    }
}

TEST(RecomputeNorms, ComputesBlocksFromEachOtherAndShortcutsWithThem) {
    ConvNet net;
    net.add_layers({"0"}, kLarge);
    net.add_block("1", true);
    net.add_block("2");
    net.add_block("3");
    net.add_layers({"4", "5"}, kSmall);
    const Graph graph = graph::recompute_norms(net.trained());
    EXPECT_THAT(names_recomputed(graph), ElementsAre("norm_sc1", "norm1", "norm2", "norm0"));
}

TEST(RecomputeNorms, KeepsResultsOfExpensiveActivations) {
    ConvNet net;
    net.activation = Activation::swish;
    net.add_layers({"1", "2", "3", "4"}, kLarge);
    EXPECT_THAT(names_recomputed(graph::recompute_norms(net.trained())), IsEmpty());
}

TEST(RecomputeNorms, RecomputesNothingForThePlacesOfMaxima) {
    ConvNet net;
    net.add_layers({"1", "2", "3", "4"}, kLarge);
    net.at = net.graph.add_one(OpKind::max_pool, graph::PoolAttrs{2, 2, {}}, {net.at}, "pool");
    net.add_layers({"5", "6"}, kSmall);
    EXPECT_THAT(names_recomputed(graph::recompute_norms(net.trained())), ElementsAre("norm3", "norm2", "norm1"));
}

TEST(RecomputeNorms, LeavesWhatIsRecomputedAnyway) {
    ConvNet net;
    net.add_layers({"1", "2", "3", "4"}, kLarge);
    const Graph graph = net.trained({net.at});
    EXPECT_EQ(graph::recompute_norms(graph).to_text(), graph.to_text());
}

}  // namespace
}  // namespace cnntrain::test
