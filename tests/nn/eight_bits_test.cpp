// Networks with convolutions in 8 bits, against the same networks in floats.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/passes.h"
#include "nn/requests.h"
#include "nn/slopes.h"
#include "support/matchers.h"

namespace cnntrain::nn {
namespace {

using graph::EightBitPlan;
using graph::Graph;
using graph::OpKind;
using graph::ValueId;

Graph evaluation(Family family, const std::string& size) {
    BuildRequest request;
    request.model.family = family;
    request.model.size = size;
    request.model.norm = NormKind::batch;
    if (size == "8") request.model.form = NetworkForm::small_images;
    request.model.classes = 5;
    request.model.image_size = 32;
    request.input.images = {DType::f32, {2, 32, 32, 3}};
    Model model = build_evaluation(request, ops::op_table());
    model.graph.mark_output("logits", model.values.logits);
    return graph::with_folded_norms(model.graph);
}

/// Random weights and images, small enough that values stay in a common range.
void fill(Evaluated& net, const Graph& graph) {
    Rng rng(3, RngStream::test);
    for (std::int32_t i = 0; i < graph.value_count(); ++i) {
        const graph::Value& value = graph.value({i});
        if (value.role == graph::Role::intermediate || value.desc.dtype == DType::i32) continue;
        const bool is_scale = value.name.ends_with("/gamma") || value.name.ends_with("/moving_variance");
        const double inputs = value.desc.shape.size() == 4 && value.role == graph::Role::parameter
                                  ? static_cast<double>(value.desc.elements() / value.desc.shape[3])
                                  : 1;
        for (double& number : net.of(ValueId{i}))
            number = is_scale ? rng.uniform(0.8, 1.2) : rng.uniform(-1, 1) * std::sqrt(3 / inputs);
    }
}

std::vector<double> logits(const Graph& graph, const std::function<void(Evaluated&)>& look = {}) {
    Evaluated net(graph);
    fill(net, graph);
    net.run(graph::Phase::forward);
    if (look) look(net);
    return net.of(output(graph, "logits"));
}

/// The ranges that the values of convolutions have.
EightBitPlan plan_of(const Graph& graph) {
    EightBitPlan plan;
    logits(graph, [&](Evaluated& net) {
        for (const ValueId value : graph::eight_bit_values(graph)) {
            const auto [least, most] = std::ranges::minmax(net.of(value));
            const double low = std::min(0.0, least);
            const double scale = (std::max(0.0, most) - low) / 255;
            plan.bits[graph.value(value).name] = {scale, static_cast<std::int64_t>(std::llround(-low / scale))};
        }
    });
    return plan;
}

std::map<OpKind, int> kinds(const Graph& graph) {
    std::map<OpKind, int> counts;
    for (const graph::Node& node : graph.nodes())
        ++counts[node.kind];
    return counts;
}

/// Root mean square of the difference, as a share of that of the values.
double difference(const std::vector<double>& wanted, const std::vector<double>& got) {
    double sum = 0;
    double all = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        sum += std::pow(wanted[i] - got[i], 2);
        all += std::pow(wanted[i], 2);
    }
    return std::sqrt(sum / all);
}

struct Network {
    Family family;
    std::string size;
    double tolerance;
};

class EightBits : public testing::TestWithParam<Network> {};
INSTANTIATE_TEST_SUITE_P(Networks, EightBits,
                         testing::Values(Network{Family::resnet, "8", 0.05}, Network{Family::resnet, "18", 0.1},
                                         Network{Family::efficientnet, "Lite0", 0.2},
                                         Network{Family::efficientnet, "B0", 0.2}),
                         [](const auto& network) { return network.param.size; });

TEST_P(EightBits, AnswerAlmostAsFloatsDo) {
    const Graph wide = evaluation(GetParam().family, GetParam().size);
    const EightBitPlan plan = plan_of(wide);
    const Graph narrow = graph::in_eight_bits(wide, plan);
    narrow.verify();
    EXPECT_EQ(kinds(narrow)[OpKind::conv2d], 0);
    EXPECT_EQ(kinds(narrow)[OpKind::quantised_conv2d], std::ssize(graph::eight_bit_layers(wide)));
    const double found = difference(logits(wide), logits(narrow));
    EXPECT_LT(found, GetParam().tolerance);
    EXPECT_GT(found, 1e-4);
}

TEST_P(EightBits, ConvolutionsMayStayInFloats) {
    const Graph wide = evaluation(GetParam().family, GetParam().size);
    EightBitPlan plan = plan_of(wide);
    const std::vector<std::string> names = graph::eight_bit_layers(wide);
    EXPECT_THAT(std::set<std::string>(names.begin(), names.end()), SizeIs(names.size()));
    plan.wide = {names.front(), names[names.size() / 2], names.back()};
    const Graph mixed = graph::in_eight_bits(wide, plan);
    mixed.verify();
    EXPECT_EQ(kinds(mixed)[OpKind::conv2d], 3);
    EXPECT_LT(difference(logits(wide), logits(mixed)), GetParam().tolerance);
    plan.wide.insert(names.begin(), names.end());
    EXPECT_EQ(difference(logits(wide), logits(graph::in_eight_bits(wide, plan))), 0);
}

Graph text_classifier(bool split) {
    BertClassificationRequest request;
    request.model.vocabulary = 50;
    request.model.hidden = 64;
    request.model.heads = 2;
    request.model.layers = 2;
    request.model.intermediate = 96;
    request.model.positions = 16;
    request.model.qkv_split = split;
    request.model.qkv_bias = split;
    request.model.head_activation = split ? graph::Activation::gelu : graph::Activation::gelu_tanh;
    request.batch = 2;
    request.length = 12;
    request.classes = 4;
    request.marks_logits = true;
    return build_bert(request, ops::op_table(), Mode::evaluation);
}

/// Each layer of an encoder has four dense layers, or six; rows that three of them read are quantised once.
TEST(EightBits, DenseLayersOfTokensAnswerAlmostAsFloatsDo) {
    for (const bool split : {false, true}) {
        const Graph wide = text_classifier(split);
        const std::vector<std::string> layers = graph::eight_bit_layers(wide);
        EXPECT_EQ(std::ssize(layers), split ? 12 : 8);
        const Graph narrow = graph::in_eight_bits(wide, {});
        narrow.verify();
        std::map<OpKind, int> counts = kinds(narrow);
        EXPECT_EQ(counts[OpKind::quantised_dense], std::ssize(layers));
        EXPECT_EQ(counts[OpKind::quantise_rows], 8);
        EXPECT_EQ(counts[OpKind::dense], kinds(wide)[OpKind::dense] - std::ssize(layers));
        EXPECT_EQ(counts[OpKind::activation], kinds(wide)[OpKind::activation] - 2) << "of the quantised rows";
        const double found = difference(logits(wide), logits(narrow));
        EXPECT_LT(found, 0.05);
        EXPECT_GT(found, 1e-5);
        EXPECT_EQ(bert_facts(narrow)->activation, split ? graph::Activation::gelu : graph::Activation::gelu_tanh);
        const Graph none = graph::in_eight_bits(wide, {{}, {layers.begin(), layers.end()}});
        EXPECT_EQ(difference(logits(wide), logits(none)), 0);
    }
}

/// A residual network goes back to floats for its average alone.
TEST(EightBits, NumbersPassFromConvolutionToConvolution) {
    const Graph wide = evaluation(Family::resnet, "18");
    std::map<OpKind, int> counts = kinds(graph::in_eight_bits(wide, plan_of(wide)));
    EXPECT_EQ(counts[OpKind::quantise], 1);
    EXPECT_EQ(counts[OpKind::dequantise], 1);
    EXPECT_EQ(counts[OpKind::max_pool], kinds(wide)[OpKind::max_pool]);
    EXPECT_EQ(counts[OpKind::add], 0);
}

TEST(EightBits, ConvolutionsWithoutRangesStayInFloats) {
    const Graph wide = evaluation(Family::resnet, "8");
    EightBitPlan plan = plan_of(wide);
    const Graph none = graph::in_eight_bits(wide, {});
    EXPECT_EQ(kinds(none), kinds(wide));
    plan.bits.erase(plan.bits.begin(), std::next(plan.bits.begin(), 4));
    const Graph some = graph::in_eight_bits(wide, plan);
    some.verify();
    EXPECT_GT(kinds(some)[OpKind::conv2d], 0);
    EXPECT_LT(difference(logits(wide), logits(some)), 0.05);
}

}  // namespace
}  // namespace cnntrain::nn
