// BERT that classifies texts, as a graph: its variables, its stages, its gradients.
#include "cnntrain/graph/bert.h"

#include <algorithm>
#include <functional>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "nn/slopes.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::nn {
namespace {

using graph::Graph;
using graph::OpKind;
using graph::ValueId;

BertSettings tiny() {
    BertSettings settings;
    settings.vocabulary = 11;
    settings.hidden = 64;
    settings.heads = 1;
    settings.layers = 2;
    settings.intermediate = 24;
    settings.positions = 6;
    settings.qkv_split = settings.qkv_bias = true;
    settings.norm_epsilon = 1e-12;
    return settings;
}

BertClassificationRequest request(const BertSettings& model) {
    return {.model = model, .numerics = {}, .batch = 3, .length = 5, .classes = 4};
}

BertClassificationRequest of_kind(LabelKind labels) {
    BertClassificationRequest result = request(tiny());
    result.labels = labels;
    if (labels == LabelKind::score) result.classes = 1;
    return result;
}

Graph training(const BertClassificationRequest& request) {
    return build_bert(request, ops::op_table(), Mode::training);
}

std::map<std::string, TensorDesc> parameters_of(const Graph& graph) {
    std::map<std::string, TensorDesc> result;
    for (const ValueId id : graph.values_with_role(graph::Role::parameter))
        result.emplace(graph.value(id).name, graph.desc(id));
    return result;
}

std::set<std::string> outputs_of(const Graph& graph) {
    std::set<std::string> names;
    for (const graph::Output& output : graph.outputs())
        names.insert(output.name);
    return names;
}

TEST(BertClassification, OnlyTheClassifierIsNewToAPretrainedNetwork) {
    for (const bool split : {true, false}) {
        BertSettings model = tiny();
        model.qkv_split = model.qkv_bias = split;
        const std::map<std::string, TensorDesc> pretrained = parameters_of(build_bert(
            BertRequest{.model = model, .numerics = {}, .input = {.batch = 1, .length = 5, .predictions = 1}},
            ops::op_table(), Mode::training));
        const Graph graph = training(request(model));
        std::map<std::string, TensorDesc> added;
        for (const auto& [name, desc] : parameters_of(graph)) {
            if (!name.starts_with("bert/")) {
                added.emplace(name, desc);
                continue;
            }
            ASSERT_TRUE(pretrained.contains(name)) << name;
            EXPECT_EQ(desc, pretrained.at(name)) << name;
        }
        EXPECT_EQ(added,
                  (std::map<std::string, TensorDesc>{{"cls/classifier/output_weights", {DType::f32, {4, model.hidden}}},
                                                     {"cls/classifier/output_bias", {DType::f32, {4}}}}));
        const auto start = [&](const char* name) { return graph.value(*graph.find(name)).initialiser; };
        EXPECT_EQ(start("cls/classifier/output_weights"),
                  (graph::Initialiser{.kind = graph::Initialiser::Kind::truncated_normal, .value = 0.02}));
        EXPECT_EQ(start("cls/classifier/output_bias"), graph::Initialiser{});
        graph.verify();
    }
}

TEST(BertClassification, InputsAndOutputs) {
    BertClassificationRequest how = request(tiny());
    const Graph graph = training(how);
    std::map<std::string, TensorDesc> inputs;
    for (const ValueId id : graph.values_with_role(graph::Role::input))
        inputs.emplace(graph.value(id).name, graph.desc(id));
    const TensorDesc tokens{DType::i32, {3, 5}};
    EXPECT_EQ(inputs, (std::map<std::string, TensorDesc>{{"input_ids", tokens},
                                                         {"segment_ids", tokens},
                                                         {"input_position", tokens},
                                                         {"input_mask", tokens},
                                                         {"labels", {DType::i32, {3}}}}));
    EXPECT_EQ(outputs_of(graph), (std::set<std::string>{"loss", "correct"}));
    how.marks_logits = true;
    how.numerics.compute = DType::bf16;
    const Graph evaluation = build_bert(how, ops::op_table(), Mode::evaluation);
    EXPECT_EQ(outputs_of(evaluation), (std::set<std::string>{"loss", "correct", "logits"}));
    EXPECT_EQ(evaluation.desc(output(evaluation, kLogits)), (TensorDesc{DType::bf16, {3, 4}}));
}

TEST(BertClassification, ScoresAndSeveralLabelsHaveTheirOwnInputsAndOutputs) {
    const auto inputs_of = [](const Graph& graph, std::string_view name) {
        const auto id = graph.find(std::string(name));
        return id ? std::optional(graph.desc(*id)) : std::nullopt;
    };
    const Graph scores = training(of_kind(LabelKind::score));
    EXPECT_EQ(inputs_of(scores, kLabels), (TensorDesc{DType::f32, {3}}));
    EXPECT_EQ(inputs_of(scores, kLabelWeights), (TensorDesc{DType::f32, {3}}));
    EXPECT_EQ(outputs_of(scores), (std::set<std::string>{"loss"}));
    const Graph several = training(of_kind(LabelKind::several));
    EXPECT_EQ(inputs_of(several, kLabels), (TensorDesc{DType::i32, {3, 4}}));
    EXPECT_EQ(inputs_of(several, kLabelWeights), std::nullopt);
    EXPECT_EQ(outputs_of(several), (std::set<std::string>{"loss", "correct"}));
}

TEST(BertClassification, DropoutOfThePooledOutputIsForTrainingOnly) {
    BertClassificationRequest how = request(tiny());
    how.model.hidden_dropout = 0.25;
    how.head_dropout = 0.5;
    const auto dropped = [](const Graph& graph) {
        std::map<std::string, double> shares;
        for (const graph::Node& node : graph.nodes()) {
            if (node.kind == OpKind::random_scale) shares[node.name] = node.as<graph::RandomScaleAttrs>().keep;
        }
        return shares;
    };
    EXPECT_EQ(dropped(training(how)),
              (std::map<std::string, double>{{"bert/embeddings/dropout", 0.75}, {"cls/classifier/dropout", 0.5}}));
    EXPECT_TRUE(dropped(build_bert(how, ops::op_table(), Mode::evaluation)).empty());
}

TEST(BertClassification, StagesBeginAtTheSplits) {
    EXPECT_EQ(bert_classification_functions(tiny()),
              (std::vector<std::string>{"emb0", "pos0", "hid0", "hid1", "glu0"}));
    BertClassificationRequest how = request(tiny());
    how.splits = {"hid1", "glu0"};
    const Graph graph = training(how);
    std::map<std::string, std::int32_t> stages;
    for (const graph::Node& node : graph.nodes())
        stages[node.name] = node.stage.index;
    EXPECT_EQ(stages["bert/encoder/layer_0/output/LayerNorm"], 0);
    EXPECT_EQ(stages["bert/encoder/layer_1/output/LayerNorm"], 1);
    EXPECT_EQ(stages["bert/pooler/dense"], 2);
    EXPECT_EQ(stages["cls/classifier/loss"], 2);
}

TEST(BertClassification, RefusesWhatDoesNotFit) {
    const auto refusal = [](const std::function<void(BertClassificationRequest&)>& change) -> std::string {
        BertClassificationRequest how = request(tiny());
        change(how);
        return message_of(ErrorKind::usage, [&] { training(how); });
    };
    EXPECT_THAT(refusal([](auto& how) { how.classes = 1; }), HasSubstr("2 classes"));
    EXPECT_THAT(refusal([](auto& how) { how.labels = LabelKind::score; }), HasSubstr("one number"));
    EXPECT_THAT(refusal([](auto& how) { how.length = 7; }), HasSubstr("positions"));
    EXPECT_THAT(refusal([](auto& how) { how.batch = 0; }), HasSubstr("sizes"));
    EXPECT_THAT(refusal([](auto& how) { how.splits = {"mlm0"}; }), HasSubstr("'mlm0'"));
}

// ---- gradients ----

/// Three texts of 5, 3 and 4 tokens, the last of which has no label.
void fill(Evaluated& net, const Graph& graph) {
    fill_parameters(net, graph);
    net.of(kInputIds) = {1, 7, 3, 10, 2, 1, 4, 2, 0, 0, 1, 9, 9, 2, 0};
    net.of(kSegmentIds) = {0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0};
    net.of(kInputPosition) = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
    net.of(kInputMask) = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0};
    if (graph.find(std::string(kLabelWeights))) {
        net.of(kLabels) = {2.5, -0.75, 4};
        net.of(kLabelWeights) = {1, 1, 0};
    } else if (net.of(kLabels).size() > 3) {
        net.of(kLabels) = {0, 1, 1, 0, 1, 0, 0, 0, -1, -1, -1, -1};
    } else {
        net.of(kLabels) = {2, 0, -1};
    }
}

class BertLabels : public ::testing::TestWithParam<LabelKind> {};
INSTANTIATE_TEST_SUITE_P(BertClassification, BertLabels,
                         ::testing::Values(LabelKind::single, LabelKind::score, LabelKind::several),
                         [](const auto& kind) { return std::string(spelling(kind.param)); });

TEST_P(BertLabels, GradientsAreTheSlopesOfTheLoss) {
    expect_slopes(training(of_kind(GetParam())), kLoss, fill);
}

TEST(BertClassification, WeightedFocalAndTaughtLossesHaveTheirSlopes) {
    BertClassificationRequest weighted = of_kind(LabelKind::single);
    weighted.class_weights = {2, 1, 0.5, 1};
    expect_slopes(training(weighted), kLoss, fill);
    EXPECT_FALSE(outputs_of(training(weighted)).contains(std::string(kTeacherLoss)));
    BertClassificationRequest focal = of_kind(LabelKind::several);
    focal.class_weights = weighted.class_weights;
    focal.focus = 2;
    expect_slopes(training(focal), kLoss, fill);
    BertClassificationRequest taught = of_kind(LabelKind::single);
    taught.teacher_temperature = 3;
    expect_slopes(training(taught), kTeacherLoss, [](Evaluated& net, const Graph& graph) {
        fill(net, graph);
        net.of(kTeacherLogits) = {1, 0, -1, 2, 0.5, 3, 0, 0, 1, 1, 1, 1};
    });
    for (const BertClassificationRequest& how : {weighted, focal, taught}) {
        EXPECT_FALSE(
            outputs_of(build_bert(how, ops::op_table(), Mode::evaluation)).contains(std::string(kTeacherLoss)));
    }
}

TEST_P(BertLabels, ATextWithoutALabelCountsNowhere) {
    const Graph graph = build_bert(of_kind(GetParam()), ops::op_table(), Mode::evaluation);
    Evaluated net(graph);
    fill(net, graph);
    net.run(graph::Phase::forward);
    const double loss = net.of(output(graph, kLoss))[0];
    EXPECT_GT(loss, 0);
    std::ranges::fill(std::span(net.of(kInputIds)).last(5), 5);
    net.run(graph::Phase::forward);
    EXPECT_EQ(net.of(output(graph, kLoss))[0], loss);
    if (GetParam() == LabelKind::score) net.of(kLabelWeights)[2] = 1;
    net.of(kLabels).back() = 1;
    net.run(graph::Phase::forward);
    EXPECT_GT(net.of(output(graph, kLoss))[0], loss);
}

TEST(BertClassification, LossesOfScoresAndOfSeveralLabels) {
    const auto evaluated = [](LabelKind kind,
                              const std::function<void(Evaluated&, const std::vector<double>&)>& check) {
        BertClassificationRequest how = of_kind(kind);
        how.marks_logits = true;
        const Graph graph = build_bert(how, ops::op_table(), Mode::evaluation);
        Evaluated net(graph);
        fill(net, graph);
        net.run(graph::Phase::forward);
        check(net, net.of(output(graph, kLogits)));
        return std::pair(net.of(output(graph, kLoss))[0],
                         kind == LabelKind::score ? 0 : net.of(output(graph, kCorrect))[0]);
    };
    double loss = 0;
    double correct = 0;
    const auto score = evaluated(LabelKind::score, [&](Evaluated& net, const std::vector<double>& logits) {
        for (std::size_t i = 0; i < 2; ++i)
            loss += std::pow(logits[i] - net.of(kLabels)[i], 2);
    });
    EXPECT_NEAR(score.first, loss, 1e-12);
    loss = 0;
    const auto sums = evaluated(LabelKind::several, [&](Evaluated& net, const std::vector<double>& logits) {
        for (std::size_t i = 0; i < 8; ++i) {
            const bool label = net.of(kLabels)[i] == 1;
            loss += std::log1p(std::exp(label ? -logits[i] : logits[i])) / 4;
            if ((logits[i] > 0) == label) correct += 0.25;
        }
    });
    EXPECT_NEAR(sums.first, loss, 1e-12);
    EXPECT_EQ(sums.second, correct);
}

}  // namespace
}  // namespace cnntrain::nn
