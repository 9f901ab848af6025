#include "cnntrain/graph/bert.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/model.h"
#include "graph/nn/bert_encoder.h"

// The heads of pretraining and of classification on BERT's encoder.

namespace cnntrain::nn {
namespace {

using graph::Graph;
using graph::OpKind;
using graph::ValueId;

// Scopes of the heads of pretraining.
constexpr std::string_view kMaskedWordsScope = "cls/predictions";
constexpr std::string_view kSentencesScope = "cls/seq_relationship";
const std::string kTransform = "cls/predictions/transform";

class PretrainingHeads {
public:
    PretrainingHeads(const BertRequest& request, BertEncoder& encoder, Mode mode)
        : model_(request.model),
          input_(request.input),
          with_word_scores_(request.with_word_scores),
          mode_(mode),
          encoder_(encoder) {}

    void add(std::string_view token) {
        if (token == kMaskedWordsToken) return masked_words();
        sentences();
    }

private:
    void masked_words() {
        const std::string scope(kMaskedWordsScope);
        const std::int64_t tokens = input_.batch * input_.predictions;
        const ValueId labels =
            encoder_.flat(encoder_.input(kMaskedIds, {input_.batch, input_.predictions}), scope + "/labels");
        const ValueId weights = encoder_.flat(
            encoder_.input(kMaskedWeights, {input_.batch, input_.predictions}, DType::f32), scope + "/weights");
        ValueId rows = encoder_.reshaped(masked_rows(scope), {tokens, model_.hidden}, scope + "/rows");
        if (model_.cls_layer) rows = transformed(rows, kTransform);
        const ValueId logits = encoder_.scores(rows, encoder_.words_table(), scope + "/logits",
                                               model_.prediction_bias ? scope + "/output_bias" : std::string());
        if (with_word_scores_) encoder_.graph().mark_output(std::string(kWordScores), logits);
        const std::vector<ValueId> loss = encoder_.graph().add(OpKind::token_cross_entropy, graph::NoAttrs{},
                                                               {logits, labels, weights}, scope + "/loss");
        encoder_.graph().mark_output(std::string(kMaskedLoss), loss[0]);
        if (model_.counts_correct) encoder_.graph().mark_output(std::string(kMaskedCorrect), loss[1]);
        if (mode_ == Mode::evaluation)
            mark_sums(loss, weights, {kMaskedLossSum, kMaskedCorrectSum, kMaskedWeightSum}, scope);
    }

    void sentences() {
        const std::string scope(kSentencesScope);
        if (input_.sequences > 0) return sentences_of_rows(scope);
        // The first token of a sequence follows the masked tokens in the static layout.
        const ValueId logits = sentence_scores(encoder_.pooled(input_.static_mask ? input_.predictions : 0), scope);
        const ValueId labels = encoder_.flat(encoder_.input(kNextSentenceLabels, {input_.batch, 1}), scope + "/labels");
        const std::vector<ValueId> loss = encoder_.graph().add(OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{},
                                                               {logits, labels}, scope + "/loss");
        mark_sentences(loss);
    }

    /// Adds the loss of the packed layout: a mean over the weighted sequences.
    void sentences_of_rows(const std::string& scope) {
        const Shape slots = {input_.batch, input_.sequences};
        const std::int64_t count = element_count(slots);
        const ValueId logits = sentence_scores(encoder_.pooled(encoder_.input(kNextSentencePositions, slots)), scope);
        const ValueId labels = encoder_.flat(encoder_.input(kNextSentenceLabels, slots), scope + "/labels");
        const ValueId weights =
            encoder_.reshaped(encoder_.input(kNextSentenceWeights, slots, DType::f32), {count, 1}, scope + "/weights");
        // Large weights, so that kTokenWeightEpsilon does not change the mean: this loss has none in other layouts.
        constexpr double kFactor = 1 << 20;
        const ValueId factor = encoder_.graph().add_one(
            OpKind::constant, graph::ConstantAttrs{kFactor, {DType::f32, {1, 1}}}, {}, scope + "/factor");
        const ValueId large = encoder_.flat(times(weights, factor, scope + "/large"), scope + "/large_weights");
        const std::vector<ValueId> loss = encoder_.graph().add(OpKind::token_cross_entropy, graph::NoAttrs{},
                                                               {logits, labels, large}, scope + "/loss");
        mark_sentences(loss);
        if (mode_ == Mode::evaluation)
            mark_sums(loss, weights, {kSentenceLossSum, kSentenceCorrectSum, kSentenceWeightSum}, scope);
    }

    ValueId sentence_scores(ValueId pooled, const std::string& scope) {
        const ValueId table = encoder_.weight(scope + "/output_weights", {2, model_.hidden});
        return encoder_.scores(pooled, table, scope + "/logits", scope + "/output_bias");
    }

    void mark_sentences(const std::vector<ValueId>& loss) {
        encoder_.graph().mark_output(std::string(kSentenceLoss), loss[0]);
        if (model_.counts_correct) encoder_.graph().mark_output(std::string(kSentenceCorrect), loss[1]);
    }

    ValueId masked_rows(const std::string& scope) {
        if (input_.static_mask) {
            return encoder_.graph().add_one(OpKind::slice,
                                            graph::SliceAttrs{.axis = 1, .begin = 0, .end = input_.predictions},
                                            {encoder_.tokens()}, scope + "/masked_tokens");
        }
        const ValueId places = encoder_.input(kMaskedPositions, {input_.batch, input_.predictions});
        return encoder_.graph().add_one(OpKind::gather_rows, graph::GatherRowsAttrs{}, {encoder_.tokens(), places},
                                        scope + "/masked_tokens");
    }

    ValueId transformed(ValueId rows, const std::string& scope) {
        ValueId x = encoder_.dense(rows, scope + "/dense", model_.hidden, Bias::one);
        if (model_.head_activation != graph::Activation::none)
            x = encoder_.activate(x, scope + "/activation", model_.head_activation);
        return encoder_.norm(x, ValueId{}, scope, /*dropout=*/0);
    }

    struct SumNames {
        std::string_view loss, correct, weight;
    };

    /// Sums over the weighted rows of a loss, computed from its means.
    void mark_sums(const std::vector<ValueId>& means, ValueId weights, const SumNames& names,
                   const std::string& scope) {
        const std::int64_t count = encoder_.graph().desc(weights).elements();
        const ValueId ones = encoder_.graph().add_one(
            OpKind::constant, graph::ConstantAttrs{1, {DType::f32, {count, 1}}}, {}, scope + "/ones");
        const ValueId total =
            times(encoder_.reshaped(weights, {1, count}, scope + "/row_of_weights"), ones, scope + "/weight");
        const auto mark = [&](std::string_view name, ValueId value) {
            encoder_.graph().mark_output(std::string(name),
                                         encoder_.reshaped(value, {}, scope + "/" + std::string(name)));
        };
        mark(names.weight, total);
        mark(names.loss, times(encoder_.reshaped(means[0], {1, 1}, scope + "/mean_loss"), total, scope + "/loss_sum"));
        mark(names.correct,
             times(encoder_.reshaped(means[1], {1, 1}, scope + "/mean_correct"), total, scope + "/correct_sum"));
    }

    ValueId times(ValueId a, ValueId b, const std::string& name) {
        return encoder_.graph().add_one(OpKind::batched_matmul, graph::MatmulAttrs{}, {a, b}, name);
    }

    const BertSettings& model_;
    const BertInput& input_;
    bool with_word_scores_;
    Mode mode_;
    BertEncoder& encoder_;
};

}  // namespace

graph::Graph build_bert(const BertRequest& request, const graph::OpTable& ops, Mode mode) {
    const BertInput& input = request.input;
    check_encoder(request.model, input);
    require(input.predictions + (input.static_mask ? 1 : 0) <= input.length,
            std::to_string(input.predictions) + " masked tokens do not fit into sequences of " +
                std::to_string(input.length));
    const std::vector<std::string> functions = bert_functions(request.model);
    check_bert_splits(functions, request.splits);
    BertEncoder encoder(request.model, request.numerics, input, ops, mode);
    PretrainingHeads heads(request, encoder, mode);
    return encoder.build(functions, request.splits, [&](std::string_view token) { heads.add(token); });
}

std::vector<std::string> bert_scopes(std::string_view function) {
    const std::string_view token = function.substr(0, kLayerToken.size());
    if (token == kWordsToken) return {"bert/embeddings/word_embeddings", "bert/embeddings/words"};
    if (token == kPositionsToken) return {std::string(kEmbeddingsScope), std::string(kMaskScope)};
    if (token == kLayerToken) return {layer_scope(function), kNorm};
    if (token == kMaskedWordsToken) return {std::string(kMaskedWordsScope)};
    if (token == kSentencesToken) return {std::string(kPoolerScope), std::string(kSentencesScope)};
    if (token == kAnswersToken) return {std::string(kAnswersScope)};
    CNNTRAIN_CHECK(token == kClassesToken, "unknown function " + std::string(function));
    return {std::string(kPoolerScope), std::string(kClassifierScope)};
}

std::vector<std::string> bert_functions(const BertSettings& settings) {
    return encoder_functions(settings, {kMaskedWordsToken, kSentencesToken});
}

std::optional<BertFacts> bert_facts(const graph::Graph& graph) {
    BertFacts facts;
    for (const graph::Node& node : graph.nodes()) {
        if (node.kind == OpKind::attention) facts.heads = node.as<graph::AttentionAttrs>().heads;
        if (node.kind == OpKind::layer_norm) facts.norm_epsilon = node.as<graph::LayerNormAttrs>().epsilon;
        if (node.kind != OpKind::activation && node.kind != OpKind::quantise_rows) continue;
        const graph::Activation activation = node.as<graph::ActivationAttrs>().activation;
        if (node.name.find(kEncoderActivation) != std::string::npos) facts.activation = activation;
        if (node.name == kTransform + "/activation") facts.head_activation = activation;
    }
    if (facts.heads == 0) return std::nullopt;
    if (!facts.head_activation && graph.find(kTransform + "/dense/kernel"))
        facts.head_activation = graph::Activation::none;
    return facts;
}

double bert_forward_flops(const BertSettings& settings, std::int64_t length, std::int64_t predictions) {
    const auto s = static_cast<double>(length);
    const auto m = static_cast<double>(predictions);
    const auto h = static_cast<double>(settings.hidden);
    const auto wide = static_cast<double>(settings.intermediate);
    double layer = 8 * s * h * h + 4 * s * s * h + 4 * s * h * wide;
    if (settings.groupbert) {
        const auto groups = static_cast<double>(settings.projection_groups);
        const double mixers = groups > 1 ? 4 * s * h * h : 0;
        const auto window = static_cast<double>(settings.convolution_kernel * settings.convolution_group);
        layer += 6 * s * h * h + 4 * s * h * wide / groups + mixers + 2 * s * window * h;
    }
    const double scores =
        2 * m * h * static_cast<double>(settings.vocabulary) + (settings.cls_layer ? 2 * m * h * h : 0);
    return static_cast<double>(settings.layers) * layer + scores + 2 * h * h + 4 * h;
}

namespace {

/// Marks the sums over rows of logits[N,C], times a factor, as the outputs.
void add_cross_entropy(BertEncoder& encoder, OpKind kind, const graph::Attrs& attrs, ValueId logits, ValueId labels) {
    Graph& graph = encoder.graph();
    const std::vector<ValueId> sums = graph.add(kind, attrs, {logits, labels}, std::string(kClassifierScope) + "/loss");
    graph.mark_output(std::string(kLoss), sums[0]);
    graph.mark_output(std::string(kCorrect), sums[1]);
}

void add_binary_cross_entropy(BertEncoder& encoder, const graph::SigmoidAttrs& attrs, ValueId logits, Shape texts) {
    const std::string scope(kClassifierScope);
    texts.push_back(encoder.graph().desc(logits).shape[1]);
    ValueId labels = encoder.input(kLabels, texts);
    if (texts.size() > 2) labels = encoder.reshaped(labels, encoder.graph().desc(logits).shape, scope + "/labels");
    add_cross_entropy(encoder, OpKind::sigmoid_cross_entropy, attrs, logits, labels);
}

/// The loss is the product of the differences d[1,B] and the weighted differences [B,1], in f32, so that 16-bit logits
/// lose nothing in a difference or a sum.
void add_squared_error(BertEncoder& encoder, ValueId scores, const Shape& texts) {
    const std::string scope(kClassifierScope);
    Graph& graph = encoder.graph();
    const std::int64_t batch = element_count(texts);
    const auto times = [&](ValueId a, ValueId b, const std::string& name) {
        return graph.add_one(OpKind::batched_matmul, graph::MatmulAttrs{}, {a, b}, name);
    };
    const ValueId minus_one =
        graph.add_one(OpKind::constant, graph::ConstantAttrs{-1, {DType::f32, {1, 1}}}, {}, scope + "/minus_one");
    const ValueId labels = encoder.reshaped(encoder.input(kLabels, texts, DType::f32), {batch, 1}, scope + "/labels");
    const ValueId difference = graph.add_one(
        OpKind::add, graph::NoAttrs{},
        {in_type(graph, scores, DType::f32, scope + "/scores"), times(labels, minus_one, scope + "/minus_labels")},
        scope + "/difference");
    const ValueId weights =
        encoder.reshaped(encoder.input(kLabelWeights, texts, DType::f32), {batch, 1, 1}, scope + "/weights");
    const ValueId weighted = times(encoder.reshaped(difference, {batch, 1, 1}, scope + "/differences"), weights,
                                   scope + "/weighted_differences");
    const ValueId loss = times(encoder.reshaped(difference, {1, batch}, scope + "/difference_row"),
                               encoder.reshaped(weighted, {batch, 1}, scope + "/weighted_column"), scope + "/squares");
    graph.mark_output(std::string(kLoss), encoder.reshaped(loss, {}, scope + "/loss"));
}

/// i32, one for each row of the logits.
ValueId one_label_each(BertEncoder& encoder, const Shape& texts) {
    const ValueId labels = encoder.input(kLabels, texts);
    return texts.size() == 1 ? labels : encoder.flat(labels, std::string(kClassifierScope) + "/labels");
}

/// The divergence from a teacher's answers to the same texts.
void add_teacher_loss(BertEncoder& encoder, double temperature, ValueId logits, ValueId labels, Shape texts) {
    const std::string scope(kClassifierScope);
    Graph& graph = encoder.graph();
    const Shape shape = graph.desc(logits).shape;
    texts.push_back(shape[1]);
    ValueId teacher = encoder.input(kTeacherLogits, texts, DType::f32);
    if (texts.size() > 2) teacher = encoder.reshaped(teacher, shape, scope + "/teacher_logits");
    graph.mark_output(std::string(kTeacherLoss),
                      graph.add_one(OpKind::distillation, graph::DistillationAttrs{temperature},
                                    {logits, labels, teacher}, scope + "/teacher_loss"));
}

void add_classifier(const BertClassificationRequest& request, BertEncoder& encoder, Mode mode) {
    const bool trains = mode == Mode::training;
    const std::vector<double> class_weights = trains ? request.class_weights : std::vector<double>();
    const std::string scope(kClassifierScope);
    const bool packed = request.sequences > 0;
    const Shape texts = packed ? Shape{request.batch, request.sequences} : Shape{request.batch};
    const ValueId first = packed ? encoder.pooled(encoder.input(kFirstTokens, texts)) : encoder.pooled(/*place=*/0);
    const ValueId pooled = encoder.drop(first, scope + "/dropout", request.head_dropout);
    const ValueId table = encoder.weight(scope + "/output_weights", {request.classes, request.model.hidden});
    const ValueId logits = encoder.scores(pooled, table, scope + "/logits", scope + "/output_bias");
    switch (request.labels) {
        case LabelKind::single: {
            const ValueId labels = one_label_each(encoder, texts);
            add_cross_entropy(encoder, OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{0, class_weights}, logits,
                              labels);
            if (trains && request.teacher_temperature > 0)
                add_teacher_loss(encoder, request.teacher_temperature, logits, labels, texts);
            break;
        }
        case LabelKind::score:
            add_squared_error(encoder, logits, texts);
            break;
        case LabelKind::several:
            add_binary_cross_entropy(encoder, {class_weights, trains ? request.focus : 0}, logits, texts);
    }
    if (request.marks_logits) encoder.graph().mark_output(std::string(kLogits), logits);
}

}  // namespace

graph::Graph build_bert(const BertClassificationRequest& request, const graph::OpTable& ops, Mode mode) {
    const BertInput input{.batch = request.batch, .length = request.length, .sequences = request.sequences};
    check_encoder(request.model, input);
    if (request.labels == LabelKind::score) {
        require(request.classes == 1, "a score is one number, not " + std::to_string(request.classes));
    } else {
        require(request.classes >= 2, "texts need at least 2 classes, not " + std::to_string(request.classes));
    }
    const std::vector<std::string> functions = bert_classification_functions(request.model);
    check_bert_splits(functions, request.splits);
    BertEncoder encoder(request.model, request.numerics, input, ops, mode);
    return encoder.build(functions, request.splits, [&](std::string_view) { add_classifier(request, encoder, mode); });
}

std::vector<std::string> bert_classification_functions(const BertSettings& settings) {
    return encoder_functions(settings, {kClassesToken});
}

namespace {

void add_answers(const BertAnswersRequest& request, BertEncoder& encoder, Mode mode) {
    const std::string scope(kAnswersScope);
    graph::Graph& graph = encoder.graph();
    const graph::ValueId table = encoder.weight(scope + "/output_weights", {2, request.model.hidden});
    const graph::ValueId scores = encoder.scores(encoder.tokens(), table, scope + "/scores", scope + "/output_bias");
    const graph::ValueId logits =
        graph.add_one(OpKind::transpose, graph::TransposeAttrs{{0, 2, 1}}, {scores}, scope + "/logits");
    if (mode == Mode::evaluation) return graph.mark_output(std::string(kLogits), logits);
    const std::int64_t ends = 2 * request.batch;
    const graph::ValueId labels =
        encoder.flat(encoder.input(kAnswerPositions, {request.batch, 2}), scope + "/positions");
    const graph::ValueId of_ends = encoder.reshaped(logits, {ends, request.length}, scope + "/ends");
    const graph::ValueId sum =
        graph.add(OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{}, {of_ends, labels}, scope + "/loss")[0];
    graph.mark_output(std::string(kLoss),
                      graph.add_one(OpKind::scale, graph::ScaleAttrs{0.5}, {sum}, scope + "/mean_loss"));
}

}  // namespace

graph::Graph build_bert(const BertAnswersRequest& request, const graph::OpTable& ops, Mode mode) {
    const BertInput input{
        .batch = request.batch, .length = request.length, .sequences = request.packed ? request.length : 0};
    check_encoder(request.model, input);
    const std::vector<std::string> functions = bert_answers_functions(request.model);
    check_bert_splits(functions, request.splits);
    BertEncoder encoder(request.model, request.numerics, input, ops, mode);
    return encoder.build(functions, request.splits, [&](std::string_view) { add_answers(request, encoder, mode); });
}

std::vector<std::string> bert_answers_functions(const BertSettings& settings) {
    return encoder_functions(settings, {kAnswersToken});
}

}  // namespace cnntrain::nn
