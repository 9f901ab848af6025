#include "cnntrain/graph/graph.h"

#include <gtest/gtest.h>

#include "support/toy_graph.h"

namespace cnntrain::test {
namespace {

using graph::Graph;
using graph::ValueId;

/// Logits and the loss of six images.
ToyGraph classifier() {
    ToyGraph net;
    const ValueId conv = net.conv(net.input("images", {6, 8, 8, 3}), 16, "conv");
    const ValueId logits = net.dense(net.average_pool(net.activation(conv, "relu")), 10, "dense");
    net.cross_entropy(logits);
    net.graph.mark_output("logits", logits);
    return net;
}

TEST(Samples, APartOfABatchHasTheSameNodesAndWeights) {
    const Graph whole = classifier().graph;
    const std::optional<Graph> part = graph::with_samples(whole, 2);
    ASSERT_TRUE(part);
    part->verify();
    EXPECT_EQ(graph::samples_of(whole), 6);
    EXPECT_EQ(graph::samples_of(*part), 2);
    ASSERT_EQ(part->value_count(), whole.value_count());
    for (std::int32_t i = 0; i < whole.value_count(); ++i) {
        Shape expected = whole.desc(ValueId{i}).shape;
        if (!whole.is_variable(ValueId{i}) && !expected.empty()) expected[0] = 2;
        EXPECT_EQ(part->desc(ValueId{i}).shape, expected) << i;
        EXPECT_EQ(part->value(ValueId{i}).name, whole.value(ValueId{i}).name);
    }
    EXPECT_EQ(graph::with_samples(*part, 6)->to_text(), whole.to_text());
}

TEST(Samples, GraphsThatMixSamplesHaveNoParts) {
    ToyGraph reshaped = classifier();
    const ValueId images = *reshaped.graph.find("images");
    reshaped.graph.mark_output("rows", reshaped.reshaped(images, {6 * 8, 8 * 3}, "rows"));
    EXPECT_FALSE(graph::with_samples(reshaped.graph, 2));

    ToyGraph mixed = classifier();
    const graph::MixImagesAttrs attrs{.cutmix_distance = 1};
    const ValueId box = mixed.input("box", {4}, DType::i32);
    const ValueId first = *mixed.graph.find("images");
    mixed.graph.mark_output("mixed", mixed.graph.add_one(graph::OpKind::mix_images, attrs, {first, box}, "mix"));
    EXPECT_FALSE(graph::samples_of(mixed.graph));
    EXPECT_FALSE(graph::with_samples(mixed.graph, 2));
}

TEST(Samples, TrainingsAndOutputsOfWeightsHaveNoParts) {
    ToyGraph training = classifier();
    training.update_all(training.differentiate(training.graph.outputs().front().value), {});
    EXPECT_FALSE(graph::with_samples(training.graph, 2));

    ToyGraph weights = classifier();
    weights.graph.mark_output("weight", *weights.graph.find("dense/weight"));
    EXPECT_FALSE(graph::with_samples(weights.graph, 2));
}

}  // namespace
}  // namespace cnntrain::test
