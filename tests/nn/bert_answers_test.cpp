// BERT that answers questions, as a graph: its variables, its stages, its gradients.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "nn/slopes.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::nn {
namespace {

using graph::Graph;
using graph::ValueId;

BertSettings tiny() {
    BertSettings settings;
    settings.vocabulary = 11;
    settings.hidden = 12;
    settings.heads = 2;
    settings.layers = 2;
    settings.intermediate = 10;
    settings.positions = 6;
    settings.qkv_split = settings.qkv_bias = true;
    settings.head_activation = graph::Activation::gelu;
    settings.norm_epsilon = 1e-12;
    return settings;
}

BertAnswersRequest request() {
    return {.model = tiny(), .numerics = {}, .batch = 3, .length = 5};
}

Graph training(const BertAnswersRequest& request) {
    return build_bert(request, ops::op_table(), Mode::training);
}

/// The values with a role, by name.
std::map<std::string, TensorDesc> values_of(const Graph& graph, graph::Role role) {
    std::map<std::string, TensorDesc> result;
    for (const ValueId id : graph.values_with_role(role))
        result.emplace(graph.value(id).name, graph.desc(id));
    return result;
}

std::map<std::string, TensorDesc> outputs_of(const Graph& graph) {
    std::map<std::string, TensorDesc> result;
    for (const graph::Output& output : graph.outputs())
        result.emplace(output.name, graph.desc(output.value));
    return result;
}

TEST(BertAnswers, OnlyTheHeadIsNewToAPretrainedNetwork) {
    const std::map<std::string, TensorDesc> pretrained = values_of(
        build_bert(BertRequest{.model = tiny(), .numerics = {}, .input = {.batch = 1, .length = 5, .predictions = 1}},
                   ops::op_table(), Mode::training),
        graph::Role::parameter);
    const Graph graph = training(request());
    std::map<std::string, TensorDesc> added;
    for (const auto& [name, desc] : values_of(graph, graph::Role::parameter)) {
        EXPECT_FALSE(name.starts_with("bert/pooler")) << name;
        const auto found = pretrained.find(name);
        if (found == pretrained.end()) {
            added.emplace(name, desc);
        } else {
            EXPECT_EQ(desc, found->second) << name;
        }
    }
    EXPECT_EQ(added, (std::map<std::string, TensorDesc>{{"cls/squad/output_weights", {DType::f32, {2, 12}}},
                                                        {"cls/squad/output_bias", {DType::f32, {2}}}}));
    const auto start = [&](const char* name) { return graph.value(*graph.find(name)).initialiser; };
    EXPECT_EQ(start("cls/squad/output_weights"),
              (graph::Initialiser{.kind = graph::Initialiser::Kind::truncated_normal, .value = 0.02}));
    EXPECT_EQ(start("cls/squad/output_bias"), graph::Initialiser{});
    graph.verify();
}

TEST(BertAnswers, InputsAndOutputs) {
    BertAnswersRequest how = request();
    const TensorDesc tokens{DType::i32, {3, 5}};
    std::map<std::string, TensorDesc> inputs = {
        {"input_ids", tokens}, {"segment_ids", tokens}, {"input_position", tokens}, {"input_mask", tokens}};
    Graph evaluation = build_bert(how, ops::op_table(), Mode::evaluation);
    EXPECT_EQ(values_of(evaluation, graph::Role::input), inputs);
    EXPECT_EQ(outputs_of(evaluation), (std::map<std::string, TensorDesc>{{"logits", {DType::f32, {3, 2, 5}}}}));
    how.numerics.compute = DType::bf16;
    evaluation = build_bert(how, ops::op_table(), Mode::evaluation);
    EXPECT_EQ(outputs_of(evaluation), (std::map<std::string, TensorDesc>{{"logits", {DType::bf16, {3, 2, 5}}}}));
    inputs.emplace("answer_positions", TensorDesc{DType::i32, {3, 2}});
    const Graph graph = training(how);
    EXPECT_EQ(values_of(graph, graph::Role::input), inputs);
    EXPECT_EQ(outputs_of(graph), (std::map<std::string, TensorDesc>{{"loss", {DType::f32, {}}}}));
}

TEST(BertAnswers, StagesBeginAtTheSplits) {
    EXPECT_EQ(bert_answers_functions(tiny()), (std::vector<std::string>{"emb0", "pos0", "hid0", "hid1", "loc0"}));
    EXPECT_EQ(bert_scopes("loc0"), (std::vector<std::string>{"cls/squad"}));
    BertAnswersRequest how = request();
    how.splits = {"hid1", "loc0"};
    const Graph graph = training(how);
    graph.verify();
    std::int64_t nodes_of_head = 0;
    for (const graph::Node& node : graph.nodes()) {
        const bool of_head = node.name.starts_with(bert_scopes("loc0")[0] + "/");
        nodes_of_head += of_head ? 1 : 0;
        const std::int32_t before = node.name.starts_with(bert_scopes("hid1")[0] + "/") ? 1 : 0;
        EXPECT_EQ(node.stage.index, of_head ? 2 : before) << node.name;
    }
    EXPECT_GE(nodes_of_head, 4);
}

TEST(BertAnswers, RefusesWhatDoesNotFit) {
    const auto refusal = [](const std::function<void(BertAnswersRequest&)>& change) -> std::string {
        BertAnswersRequest how = request();
        change(how);
        return message_of(ErrorKind::usage, [&] { training(how); });
    };
    EXPECT_THAT(refusal([](auto& how) { how.length = 7; }), HasSubstr("positions"));
    EXPECT_THAT(refusal([](auto& how) { how.batch = 0; }), HasSubstr("sizes"));
    EXPECT_THAT(refusal([](auto& how) { how.splits = {"glu0"}; }), AllOf(HasSubstr("'glu0'"), HasSubstr("loc0")));
}

/// Three features of 5, 3 and 4 tokens, the last of which is padding: its answer is nowhere.
void fill(Evaluated& net, const Graph& graph) {
    fill_parameters(net, graph);
    net.of(kInputIds) = {1, 7, 3, 10, 2, 1, 4, 2, 0, 0, 1, 9, 9, 2, 0};
    net.of(kSegmentIds) = {0, 0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0};
    net.of(kInputPosition) = {0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1, 2, 3, 4};
    net.of(kInputMask) = {1, 1, 1, 1, 1, 1, 1, 1, 0, 0, 1, 1, 1, 1, 0};
    if (graph.find(std::string(kAnswerPositions))) net.of(kAnswerPositions) = {3, 4, 0, 0, -1, -1};
}

/// The last shifts add one number to the scores of all tokens, on which a softmax over them does not depend.
TEST(BertAnswers, GradientsAreTheSlopesOfTheLoss) {
    expect_slopes(training(request()), kLoss, fill,
                  {"cls/squad/output_bias", "bert/encoder/layer_1/output/LayerNorm/beta"});
}

TEST(BertAnswers, TheLossIsTheMeanOfBothCrossEntropies) {
    const Graph graph = training(request());
    Evaluated net(graph);
    fill(net, graph);
    net.run(graph::Phase::forward);
    const Graph evaluation = build_bert(request(), ops::op_table(), Mode::evaluation);
    Evaluated logits(evaluation);
    fill(logits, evaluation);
    logits.run(graph::Phase::forward);
    const std::vector<double>& scores = logits.of(output(evaluation, kLogits));
    const auto cross_entropy = [&](std::size_t row, std::size_t position) {
        double sum = 0;
        for (std::size_t i = 0; i < 5; ++i)
            sum += std::exp(scores[5 * row + i]);
        return std::log(sum) - scores[5 * row + position];
    };
    const double expected = (cross_entropy(0, 3) + cross_entropy(1, 4) + cross_entropy(2, 0) + cross_entropy(3, 0)) / 2;
    EXPECT_NEAR(net.of(output(graph, kLoss))[0], expected, 1e-12);
}

}  // namespace
}  // namespace cnntrain::nn
