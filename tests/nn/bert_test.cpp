// BERT as a graph: sizes, names, stages, and the rules that its settings must keep.
#include "cnntrain/graph/bert.h"

#include <optional>
#include <set>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/model.h"
#include "cnntrain/graph/op.h"
#include "cnntrain/graph/passes.h"
#include "support/errors.h"
#include "support/matchers.h"

namespace cnntrain::nn {
namespace {

using graph::OpKind;

BertSettings base() {
    BertSettings settings;
    settings.hidden_dropout = 0.1;
    settings.attention_dropout = 0.1;
    settings.qkv_split = true;
    settings.projection_bias = false;
    settings.cls_layer = false;
    return settings;
}

BertSettings large() {
    BertSettings settings = base();
    settings.hidden = 1024;
    settings.heads = 16;
    settings.layers = 24;
    settings.intermediate = 4096;
    return settings;
}

BertSettings tiny() {
    BertSettings settings = base();
    settings.hidden = 128;
    settings.heads = 2;
    settings.layers = 2;
    settings.intermediate = 512;
    settings.prediction_bias = false;
    return settings;
}

BertRequest request(const BertSettings& model, std::int64_t length = 128, std::int64_t predictions = 20) {
    return {.model = model,
            .numerics = {},
            .input = {.batch = 1, .length = length, .predictions = predictions, .static_mask = true}};
}

graph::Graph training(const BertRequest& request) {
    return build_bert(request, ops::op_table(), Mode::training);
}

std::int64_t count_of(const graph::Graph& graph, std::string_view part) {
    std::int64_t count = 0;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter)) {
        if (graph.value(id).name.find(part) != std::string::npos) count += graph.desc(id).elements();
    }
    return count;
}

std::int64_t nodes_of(const graph::Graph& graph, OpKind kind) {
    std::int64_t count = 0;
    for (const graph::Node& node : graph.nodes())
        count += node.kind == kind ? 1 : 0;
    return count;
}

TEST(Bert, ParameterCounts) {
    const graph::Graph of_base = training(request(base()));
    EXPECT_EQ(parameter_count(of_base), 109'383'618);
    EXPECT_EQ(count_of(of_base, "bert/embeddings/"), 23'743'488);
    EXPECT_EQ(count_of(of_base, "layer_3/"), 7'084'800);
    EXPECT_EQ(count_of(of_base, "bert/pooler"), 590'592);
    EXPECT_EQ(count_of(of_base, "cls/seq_relationship"), 1'538);
    EXPECT_EQ(count_of(of_base, "cls/predictions"), 30'400);
    EXPECT_EQ(parameter_count(training(request(large()))), 334'951'106);
    EXPECT_EQ(parameter_count(training(request(tiny()))), 4'369'538);
    // The published model: a larger table, every bias, and the layer in front of the scores.
    for (const auto& [settings, published] : {std::pair{base(), 110'106'428}, {large(), 336'226'108}}) {
        BertSettings full = settings;
        full.vocabulary = 30522;
        full.qkv_bias = full.projection_bias = full.cls_layer = true;
        const std::int64_t of_keys = full.layers * full.hidden;  // which have no variable here
        EXPECT_EQ(parameter_count(training(request(full))) + of_keys, published);
    }
}

TEST(Bert, FlopsOfASequence) {
    const auto giga = [](const BertSettings& settings, std::int64_t length, std::int64_t predictions) {
        return bert_forward_flops(settings, length, predictions) / 1e9;
    };
    EXPECT_NEAR(giga(base(), 128, 20), 23.2823, 5e-5);
    EXPECT_NEAR(giga(base(), 384, 58), 73.3751, 5e-5);
    EXPECT_NEAR(giga(large(), 128, 20), 80.1673, 5e-5);
    EXPECT_NEAR(giga(large(), 384, 58), 250.0369, 5e-5);
    EXPECT_NEAR(giga(tiny(), 128, 20), 0.2731, 5e-5);
}

BertSettings grouped(BertSettings settings) {
    settings.groupbert = settings.projection_bias = settings.cls_layer = settings.prediction_bias = true;
    return settings;
}

BertRequest plain_request(const BertSettings& model) {
    BertRequest result = request(model);
    result.input.static_mask = false;
    return result;
}

TEST(GroupBert, ParameterCounts) {
    BertSettings of_base = grouped(base());
    of_base.qkv_bias = true;
    const graph::Graph graph = training(plain_request(of_base));
    EXPECT_EQ(parameter_count(graph), 160'729'794);
    EXPECT_EQ(count_of(graph, "layer_3/"), 11'314'176);
    EXPECT_EQ(graph.desc(graph.find("bert/encoder/layer_0/convolution/dwconv/weight").value()).shape,
              (Shape{7, 16, 768}));
    EXPECT_TRUE(graph.find("LayerNorm/gamma"));
    BertSettings of_large = grouped(large());
    of_large.vocabulary = 30528;
    EXPECT_EQ(parameter_count(training(plain_request(of_large))), 515'467'074);
    BertSettings of_tiny = grouped(tiny());
    of_tiny.qkv_bias = true;
    EXPECT_EQ(parameter_count(training(plain_request(of_tiny))), 4'679'874);
}

TEST(GroupBert, TheGraphsProductsAreTheFormulas) {
    for (const std::int64_t groups : {1, 4}) {
        BertSettings settings = grouped(tiny());
        settings.projection_groups = groups;
        const graph::Graph graph = training(plain_request(settings));
        double products = 0;
        for (std::int32_t i = 0; i < graph.node_count(); ++i) {
            const OpKind kind = graph.node({i}).kind;
            if (kind == OpKind::dense || kind == OpKind::conv2d) products += graph.node_flops({i});
        }
        const double scores = static_cast<double>(settings.layers * settings.hidden) * 4 * 128 * 128;
        EXPECT_DOUBLE_EQ(products + scores, bert_forward_flops(settings, 128, 20));
    }
}

TEST(GroupBert, RefusesOtherLayoutsAndUnevenGroups) {
    const auto message = [](const BertRequest& wrong) {
        return message_of(ErrorKind::usage, [&] { training(wrong); });
    };
    EXPECT_THAT(message(request(grouped(tiny()))), testing::HasSubstr("--static-mask"));
    BertSettings uneven = grouped(tiny());
    uneven.convolution_group = 48;
    EXPECT_THAT(message(plain_request(uneven)), testing::HasSubstr("--groupbert-conv-group-size 48"));
}

TEST(Bert, TheGraphsProductsAreTheFormulas) {
    BertSettings settings = tiny();
    settings.cls_layer = true;
    for (const std::int64_t length : {64, 128}) {
        const graph::Graph graph = training(request(settings, length));
        double products = 0;
        double attention = 0;
        for (std::int32_t i = 0; i < graph.node_count(); ++i) {
            if (graph.node({i}).kind == OpKind::dense) products += graph.node_flops({i});
            if (graph.node({i}).kind == OpKind::attention) attention += graph.node_flops({i});
        }
        const auto s = static_cast<double>(length);
        const double scores = static_cast<double>(settings.layers) * 4 * s * s * static_cast<double>(settings.hidden);
        EXPECT_DOUBLE_EQ(products + scores, bert_forward_flops(settings, length, 20));
        EXPECT_NEAR(attention, scores, 0.1 * scores);  // it counts its softmax, too
    }
}

TEST(Bert, NamesAndShapesOfVariables) {
    BertSettings settings = tiny();
    settings.qkv_bias = settings.projection_bias = settings.cls_layer = settings.prediction_bias = true;
    const graph::Graph graph = training(request(settings));
    std::map<std::string, Shape> shapes;
    for (const graph::ValueId id : graph.values_with_role(graph::Role::parameter))
        shapes[graph.value(id).name] = graph.desc(id).shape;
    const std::string layer = "bert/encoder/layer_1/";
    const std::map<std::string, Shape> expected = {
        {"bert/embeddings/word_embeddings", {30400, 128}},
        {"bert/embeddings/position_embeddings", {512, 128}},
        {"bert/embeddings/token_type_embeddings", {2, 128}},
        {"bert/embeddings/LayerNorm/beta", {128}},
        {"bert/embeddings/LayerNorm/gamma", {128}},
        {layer + "attention/self/query/kernel", {128, 128}},
        {layer + "attention/self/query/bias", {128}},
        {layer + "attention/self/key/kernel", {128, 128}},
        {layer + "attention/self/value/kernel", {128, 128}},
        {layer + "attention/projection/dense/kernel", {128, 128}},
        {layer + "attention/projection/dense/bias", {128}},
        {layer + "attention/projection/LayerNorm/gamma", {128}},
        {layer + "intermediate/dense/kernel", {128, 512}},
        {layer + "intermediate/dense/bias", {512}},
        {layer + "output/dense/kernel", {512, 128}},
        {layer + "output/dense/bias", {128}},
        {layer + "output/LayerNorm/beta", {128}},
        {"bert/pooler/dense/kernel", {128, 128}},
        {"cls/predictions/transform/dense/kernel", {128, 128}},
        {"cls/predictions/transform/LayerNorm/gamma", {128}},
        {"cls/predictions/output_bias", {30400}},
        {"cls/seq_relationship/output_weights", {2, 128}},
        {"cls/seq_relationship/output_bias", {2}},
    };
    for (const auto& [name, shape] : expected) {
        ASSERT_TRUE(shapes.contains(name)) << name;
        EXPECT_EQ(shapes[name], shape) << name;
    }
    settings.qkv_split = settings.qkv_bias = false;
    const graph::Graph joined = training(request(settings));
    const auto kernel = joined.find(layer + "attention/self/kernel/qkv_weight");
    ASSERT_TRUE(kernel.has_value());
    EXPECT_EQ(joined.desc(*kernel).shape, (Shape{128, 384}));
}

TEST(Bert, FactsThatVariablesDoNotTell) {
    BertSettings settings = tiny();
    settings.norm_epsilon = 1e-12;
    std::optional<BertFacts> facts = bert_facts(training(request(settings)));
    ASSERT_TRUE(facts.has_value());
    EXPECT_EQ(facts->heads, 2);
    EXPECT_EQ(facts->norm_epsilon, 1e-12);
    EXPECT_EQ(facts->activation, graph::Activation::gelu_tanh);
    EXPECT_FALSE(facts->head_activation.has_value());
    settings.cls_layer = true;
    for (const auto head : {graph::Activation::gelu, graph::Activation::relu, graph::Activation::none}) {
        settings.head_activation = head;
        facts = bert_facts(build_bert(request(settings), ops::op_table(), Mode::evaluation));
        const bool exact = head == graph::Activation::gelu;
        EXPECT_EQ(facts->activation, exact ? graph::Activation::gelu : graph::Activation::gelu_tanh);
        EXPECT_EQ(facts->head_activation, head);
    }
    EXPECT_FALSE(bert_facts(graph::Graph(ops::op_table())).has_value());
}

TEST(Bert, FirstValues) {
    const graph::Graph graph = training(request(tiny()));
    const auto start = [&](const char* name) { return graph.value(*graph.find(name)).initialiser; };
    EXPECT_EQ(start("bert/embeddings/word_embeddings"),
              (graph::Initialiser{.kind = graph::Initialiser::Kind::truncated_normal, .value = 0.02}));
    EXPECT_EQ(start("bert/embeddings/LayerNorm/gamma"), graph::Initialiser{.value = 1});
    EXPECT_EQ(start("bert/pooler/dense/bias"), graph::Initialiser{});
}

TEST(Bert, BothLayoutsReadTheirInputs) {
    const auto inputs = [](const graph::Graph& graph) {
        std::set<std::string> names;
        for (const graph::ValueId id : graph.values_with_role(graph::Role::input))
            names.insert(graph.value(id).name);
        return names;
    };
    BertRequest normal = request(tiny());
    EXPECT_EQ(
        inputs(training(normal)),
        (std::set<std::string>{"input_ids", "segment_ids", "input_position", "mask_padding_index", "seq_padding_index",
                               "masked_lm_ids", "masked_lm_weights", "next_sentence_labels"}));
    normal.input.static_mask = false;
    EXPECT_EQ(inputs(training(normal)),
              (std::set<std::string>{"input_ids", "segment_ids", "input_position", "input_mask", "masked_lm_positions",
                                     "masked_lm_ids", "masked_lm_weights", "next_sentence_labels"}));
}

TEST(Bert, DropoutIsForTrainingOnly) {
    const auto kept = [](const graph::Graph& graph) {
        std::multiset<double> shares;
        for (const graph::Node& node : graph.nodes()) {
            if (node.kind == OpKind::attention) shares.insert(node.as<graph::AttentionAttrs>().keep);
            if (node.kind == OpKind::layer_norm) shares.insert(node.as<graph::LayerNormAttrs>().keep);
            if (node.kind == OpKind::random_scale) shares.insert(node.as<graph::RandomScaleAttrs>().keep);
        }
        return shares;
    };
    BertSettings settings = tiny();
    settings.attention_dropout = 0.25;
    // Each layer has one attention and two norms; the embeddings have a norm that drops nothing, then a dropout.
    EXPECT_EQ(kept(training(request(settings))), (std::multiset<double>{0.75, 0.75, 0.9, 0.9, 0.9, 0.9, 0.9, 1}));
    EXPECT_EQ(kept(build_bert(request(settings), ops::op_table(), Mode::evaluation)),
              (std::multiset<double>{1, 1, 1, 1, 1, 1, 1}));
}

TEST(Bert, StagesBeginAtTheSplits) {
    EXPECT_EQ(bert_functions(tiny()), (std::vector<std::string>{"emb0", "pos0", "hid0", "hid1", "mlm0", "nsp0"}));
    BertRequest split = request(tiny());
    split.splits = {"hid0", "mlm0"};
    graph::Graph graph = training(split);
    std::map<std::string, std::int32_t> stages;
    for (const graph::Node& node : graph.nodes())
        stages[node.name] = node.stage.index;
    EXPECT_EQ(stages["bert/embeddings/words"], 0);
    EXPECT_EQ(stages["bert/encoder/mask"], 0);
    EXPECT_EQ(stages["bert/encoder/layer_0/attention/self/query"], 1);
    EXPECT_EQ(stages["bert/encoder/layer_1/output/LayerNorm"], 1);
    EXPECT_EQ(stages["cls/predictions/logits"], 2);
    EXPECT_EQ(stages["cls/seq_relationship/loss"], 2);
    graph.verify();
    split.splits = {"hid2"};
    EXPECT_THROW(training(split), Error);
}

graph::Objective objective_of(const graph::Graph& graph) {
    graph::Objective objective;
    for (const graph::Output& output : graph.outputs()) {
        if (output.name == kMaskedLoss) objective.loss = output.value;
        if (output.name == kSentenceLoss) objective.more_losses[output.value] = 1;
    }
    objective.targets = graph.values_with_role(graph::Role::parameter);
    return objective;
}

TEST(Bert, EveryParameterHasAGradient) {
    for (const bool split : {true, false}) {
        BertSettings settings = tiny();
        settings.cls_layer = settings.prediction_bias = true;
        settings.qkv_split = split;
        for (const bool static_mask : {true, false}) {
            BertRequest how = request(settings);
            how.input.static_mask = static_mask;
            graph::Graph graph = training(how);
            const graph::Objective objective = objective_of(graph);
            const graph::Gradients gradients = graph::build_backward(graph, objective);
            EXPECT_EQ(gradients.of.size(), objective.targets.size());
            graph.verify();
            for (const auto& [target, gradient] : gradients.of)
                EXPECT_EQ(graph.desc(gradient), (TensorDesc{DType::f32, graph.desc(target).shape}));
        }
    }
}

TEST(Bert, OnlyResultsOfGeluAreCheapToComputeAgain) {
    graph::Graph graph = training(request(tiny()));
    graph::Objective objective = objective_of(graph);
    objective.recompute_points = graph::all_but_cheap_values(graph, objective);
    graph::build_backward(graph, objective);
    std::vector<std::string> again;
    for (const graph::Node& node : graph.nodes()) {
        if (node.recomputed) again.push_back(node.name);
    }
    EXPECT_THAT(again, UnorderedElementsAre("bert/encoder/layer_0/intermediate/gelu",
                                            "bert/encoder/layer_1/intermediate/gelu"));
}

TEST(Bert, Precisions) {
    BertRequest how = request(tiny());
    how.numerics.compute = DType::bf16;
    const graph::Graph graph = training(how);
    EXPECT_EQ(graph.desc(*graph.find("bert/embeddings/word_embeddings")).dtype, DType::f32);
    for (const graph::Node& node : graph.nodes()) {
        if (node.kind != OpKind::dense) continue;
        EXPECT_EQ(graph.desc(node.outputs[0]).dtype, DType::bf16);
    }
    how.numerics.parameters = DType::bf16;
    EXPECT_EQ(nodes_of(training(how), OpKind::cast), 0);
    EXPECT_EQ(nodes_of(training(request(tiny())), OpKind::cast), 0);
}

void expect_refused(const BertRequest& request, const std::string& reason, ErrorKind kind = ErrorKind::usage) {
    EXPECT_THAT(message_of(kind, [&] { training(request); }), HasSubstr(reason)) << "accepted: " << reason;
}

TEST(Bert, RefusesWhatDoesNotFit) {
    BertSettings wide = tiny();
    wide.hidden = 101;
    expect_refused(request(wide), "2 attention heads");
    expect_refused(request(tiny(), 513), "512");
    expect_refused(request(tiny(), 20), "20 masked");
    BertRequest split = request(tiny());
    split.splits = {"emb1"};
    expect_refused(split, "several", ErrorKind::unsupported);
}

}  // namespace
}  // namespace cnntrain::nn
