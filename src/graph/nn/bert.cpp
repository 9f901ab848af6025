#include "cnntrain/graph/bert.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/model.h"
#include "graph/nn/layers.h"

namespace cnntrain::nn {
namespace {

// Builds the encoder of BERT: the functions with which every BERT network begins, and the layers of its heads. The
// heads of pretraining and of classification follow.

// Scopes of the heads of pretraining.
inline constexpr std::string_view kMaskedWordsScope = "cls/predictions";
inline constexpr std::string_view kSentencesScope = "cls/seq_relationship";

enum class Bias : std::uint8_t { none, one };

inline constexpr std::string_view kEncoderActivation = "/intermediate/gelu";  // appended to a layer's scope

/// Every layer is one node named by its scope, and its variables live below that scope. Results are in the compute
/// type.
class BertEncoder {
public:
    /// The settings must outlive it.
    BertEncoder(const BertSettings& model, const NumericsSettings& numerics, const BertInput& input,
                const graph::OpTable& ops, Mode mode)
        : model_(model), numerics_(numerics), input_(input), mode_(mode), graph_(ops) {}

    /// The graph of a network with these functions in order. A stage begins at each split. `add_head` adds the
    /// functions of heads, given their token ("mlm").
    graph::Graph build(const std::vector<std::string>& functions, const std::vector<std::string>& splits,
                       const std::function<void(std::string_view token)>& add_head);

    // ---- inputs of heads ----

    graph::Graph& graph() { return graph_; }
    graph::ValueId words_table() const { return table_; }  // [V,H], in its stored type
    graph::ValueId tokens() const { return x_; }           // [B,S,H], result of the last layer
    /// The token at `place` of each row, through the dense layer of bert/pooler and tanh: [B,H].
    graph::ValueId pooled(std::int64_t place);
    /// The same for the tokens at these places i32[B,K]: [B*K,H].
    graph::ValueId pooled(graph::ValueId places);

    // ---- layers ----

    graph::ValueId input(std::string_view name, Shape shape, DType type = DType::i32);
    graph::ValueId weight(const std::string& name, Shape shape);
    /// [...,I] -> [...,outputs].
    graph::ValueId dense(graph::ValueId x, const std::string& scope, std::int64_t outputs, Bias bias);
    /// Products with the rows of a table. Empty name: no bias.
    graph::ValueId scores(graph::ValueId x, graph::ValueId table, const std::string& name, const std::string& bias);
    /// Norm of dropout(x) + residual, or of x if the residual is invalid.
    graph::ValueId norm(graph::ValueId x, graph::ValueId residual, const std::string& scope, double dropout);
    graph::ValueId activate(graph::ValueId x, const std::string& name, graph::Activation activation);
    /// Adds nothing for rate 0 and in evaluation.
    graph::ValueId drop(graph::ValueId x, const std::string& name, double dropout);
    graph::ValueId reshaped(graph::ValueId x, Shape shape, const std::string& name);
    graph::ValueId flat(graph::ValueId x, const std::string& name);

private:
    void build_function(const std::string& function, const std::function<void(std::string_view token)>& add_head);
    void words();
    void positions();
    void layer(const std::string& scope);
    graph::ValueId attention_mask();
    graph::ValueId pooled_rows(graph::ValueId tokens);
    graph::ValueId attend(graph::ValueId x, const std::string& scope);

    graph::ValueId parameter(const std::string& name, Shape shape, graph::Initialiser initialiser);
    graph::ValueId in_compute_type(graph::ValueId x);
    graph::ValueId vector(const std::string& name, std::int64_t features, double start);
    graph::ValueId lookup(std::string_view ids, graph::ValueId table, const std::string& name);
    graph::ValueId product(graph::ValueId x, graph::ValueId kernel, const graph::DenseAttrs& attrs, graph::ValueId bias,
                           const std::string& name);
    double kept(double dropout) const { return mode_ == Mode::training ? 1 - dropout : 1; }

    const BertSettings& model_;
    const NumericsSettings& numerics_;
    const BertInput& input_;
    Mode mode_;
    graph::Graph graph_;
    graph::ValueId table_;
    graph::ValueId x_;
    graph::ValueId mask_;  // of attention: f32[B,S] of its keys, or the numbers i32[B,S] of the tokens' sequences
};

using graph::Graph;
using graph::Initialiser;
using graph::OpKind;
using graph::ValueId;

constexpr std::string_view kEmbeddingsScope = "bert/embeddings";
constexpr std::string_view kMaskScope = "bert/encoder/mask";
constexpr std::string_view kPoolerScope = "bert/pooler";

/// "hid3" -> "bert/encoder/layer_3".
std::string layer_scope(std::string_view function) {
    return "bert/encoder/layer_" + std::string(function.substr(kLayerToken.size()));
}

// ---- functions ----

Graph BertEncoder::build(const std::vector<std::string>& functions, const std::vector<std::string>& splits,
                         const std::function<void(std::string_view token)>& add_head) {
    std::int32_t stage = 0;
    for (const std::string& function : functions) {
        if (std::ranges::find(splits, function) != splits.end()) ++stage;
        graph_.set_stage({stage});
        build_function(function, add_head);
    }
    graph_.set_stage({0});
    return std::move(graph_);
}

void BertEncoder::build_function(const std::string& function,
                                 const std::function<void(std::string_view token)>& add_head) {
    const std::string_view token = std::string_view(function).substr(0, 3);
    if (token == kWordsToken) return words();
    if (token == kPositionsToken) return positions();
    if (token == kLayerToken) return layer(layer_scope(function));
    add_head(token);
}

void BertEncoder::words() {
    table_ = weight("bert/embeddings/word_embeddings", {model_.vocabulary, model_.hidden});
    x_ = lookup(kInputIds, table_, "bert/embeddings/words");
}

void BertEncoder::positions() {
    const std::string scope(kEmbeddingsScope);
    const ValueId positions = weight(scope + "/position_embeddings", {model_.positions, model_.hidden});
    const ValueId segments = weight(scope + "/token_type_embeddings", {model_.segment_types, model_.hidden});
    const ValueId sum =
        graph_.add_one(OpKind::add, graph::NoAttrs{}, {x_, lookup(kInputPosition, positions, scope + "/positions")},
                       scope + "/words_and_positions");
    const ValueId normed = norm(sum, lookup(kSegmentIds, segments, scope + "/segments"), scope, /*dropout=*/0);
    x_ = drop(normed, scope + "/dropout", model_.hidden_dropout);
    mask_ = attention_mask();
}

void BertEncoder::layer(const std::string& scope) {
    const std::string attention = scope + "/attention";
    const ValueId context = attend(x_, attention + "/self");
    const std::string projection = attention + "/projection";
    const ValueId projected =
        dense(context, projection + "/dense", model_.hidden, model_.projection_bias ? Bias::one : Bias::none);
    const ValueId y = norm(projected, x_, projection, model_.hidden_dropout);
    const ValueId wide = dense(y, scope + "/intermediate/dense", model_.intermediate, Bias::one);
    const ValueId activated = activate(
        wide, scope + std::string(kEncoderActivation),
        model_.head_activation == graph::Activation::gelu ? graph::Activation::gelu : graph::Activation::gelu_tanh);
    const ValueId narrow = dense(activated, scope + "/output/dense", model_.hidden, Bias::one);
    x_ = norm(narrow, y, scope + "/output", model_.hidden_dropout);
}

ValueId BertEncoder::pooled(std::int64_t place) {
    const std::string scope(kPoolerScope);
    const ValueId token = graph_.add_one(OpKind::slice, graph::SliceAttrs{.axis = 1, .begin = place, .end = place + 1},
                                         {x_}, scope + "/first_token");
    return pooled_rows(token);
}

ValueId BertEncoder::pooled(ValueId places) {
    return pooled_rows(graph_.add_one(OpKind::gather_rows, graph::GatherRowsAttrs{}, {x_, places},
                                      std::string(kPoolerScope) + "/first_tokens"));
}

ValueId BertEncoder::pooled_rows(ValueId tokens) {
    const std::string scope(kPoolerScope);
    const ValueId rows =
        reshaped(tokens, {graph_.desc(tokens).elements() / model_.hidden, model_.hidden}, scope + "/row");
    return activate(dense(rows, scope + "/dense", model_.hidden, Bias::one), scope + "/tanh", graph::Activation::tanh);
}

// ---- their parts ----

ValueId BertEncoder::attention_mask() {
    const std::string name(kMaskScope);
    if (input_.sequences > 0) return input(kSequenceNumbers, {input_.batch, input_.length});
    if (!input_.static_mask) {
        const ValueId mask = input(kInputMask, {input_.batch, input_.length});
        return graph_.add_one(OpKind::attention_mask, graph::AttentionMaskAttrs{}, {mask}, name);
    }
    const ValueId masked = input(kMaskPaddingIndex, {input_.batch, 1});
    const ValueId sequence = input(kSequencePaddingIndex, {input_.batch, 1});
    return graph_.add_one(OpKind::attention_mask, graph::AttentionMaskAttrs{input_.length, input_.predictions},
                          {masked, sequence}, name);
}

ValueId BertEncoder::attend(ValueId x, const std::string& scope) {
    graph::AttentionAttrs attrs;
    attrs.heads = model_.heads;
    attrs.scale = 1 / std::sqrt(static_cast<double>(model_.hidden / model_.heads));
    attrs.keep = kept(model_.attention_dropout);
    attrs.site = hash_text(scope + "/dropout");
    std::vector<ValueId> inputs;
    if (model_.qkv_split) {
        const Bias bias = model_.qkv_bias ? Bias::one : Bias::none;
        inputs = {dense(x, scope + "/query", model_.hidden, bias), dense(x, scope + "/key", model_.hidden, Bias::none),
                  dense(x, scope + "/value", model_.hidden, bias)};
    } else {
        const ValueId kernel = weight(scope + "/kernel/qkv_weight", {model_.hidden, 3 * model_.hidden});
        inputs = {product(x, kernel, {.bias = false}, {}, scope + "/qkv")};
    }
    inputs.push_back(mask_);
    return graph_.add(OpKind::attention, attrs, std::move(inputs), scope + "/attention")[0];
}

// ---- layers ----

ValueId BertEncoder::input(std::string_view name, Shape shape, DType type) {
    return graph_.add_input(std::string(name), {type, std::move(shape)});
}

ValueId BertEncoder::parameter(const std::string& name, Shape shape, Initialiser initialiser) {
    return graph_.add_parameter(name, {numerics_.parameters, std::move(shape)}, std::move(initialiser));
}

ValueId BertEncoder::weight(const std::string& name, Shape shape) {
    return parameter(name, std::move(shape),
                     {.kind = Initialiser::Kind::truncated_normal, .value = model_.initializer_range});
}

ValueId BertEncoder::in_compute_type(ValueId x) {
    if (graph_.desc(x).dtype == numerics_.compute) return x;
    return graph_.add_one(OpKind::cast, graph::CastAttrs{numerics_.compute}, {x}, graph_.value(x).name + "/cast");
}

/// A variable with one element per feature, in the type that ops read: f32 or the compute type.
ValueId BertEncoder::vector(const std::string& name, std::int64_t features, double start) {
    const ValueId stored = parameter(name, {features}, {.value = start});
    return numerics_.parameters == DType::f32 ? stored : in_compute_type(stored);
}

ValueId BertEncoder::lookup(std::string_view ids, ValueId table, const std::string& name) {
    return graph_.add_one(OpKind::embedding, graph::EmbeddingAttrs{.type = numerics_.compute},
                          {input(ids, {input_.batch, input_.length}), table}, name);
}

ValueId BertEncoder::product(ValueId x, ValueId kernel, const graph::DenseAttrs& attrs, ValueId bias,
                             const std::string& name) {
    std::vector<ValueId> inputs = {x, in_compute_type(kernel)};
    if (attrs.bias) inputs.push_back(bias);
    return graph_.add_one(OpKind::dense, attrs, std::move(inputs), name);
}

ValueId BertEncoder::dense(ValueId x, const std::string& scope, std::int64_t outputs, Bias bias) {
    const ValueId kernel = weight(scope + "/kernel", {graph_.desc(x).shape.back(), outputs});
    if (bias == Bias::none) return product(x, kernel, {.bias = false}, {}, scope);
    return product(x, kernel, {}, vector(scope + "/bias", outputs, 0), scope);
}

ValueId BertEncoder::scores(ValueId x, ValueId table, const std::string& name, const std::string& bias) {
    if (bias.empty()) return product(x, table, {.bias = false, .transposed = true}, {}, name);
    const ValueId stored = vector(bias, graph_.desc(table).shape.front(), 0);
    return product(x, table, {.transposed = true}, stored, name);
}

ValueId BertEncoder::norm(ValueId x, ValueId residual, const std::string& scope, double dropout) {
    const std::string leaf = scope + "/LayerNorm";
    graph::LayerNormAttrs attrs{.epsilon = model_.norm_epsilon, .residual = residual.valid()};
    attrs.keep = kept(dropout);
    attrs.site = hash_text(scope + "/dropout");
    const ValueId beta = vector(leaf + "/beta", model_.hidden, 0);
    const ValueId gamma = vector(leaf + "/gamma", model_.hidden, 1);
    std::vector<ValueId> inputs = {x, gamma, beta};
    if (residual.valid()) inputs.push_back(residual);
    return graph_.add(OpKind::layer_norm, attrs, std::move(inputs), leaf)[0];
}

ValueId BertEncoder::activate(ValueId x, const std::string& name, graph::Activation activation) {
    return graph_.add_one(OpKind::activation, graph::ActivationAttrs{activation}, {x}, name);
}

ValueId BertEncoder::drop(ValueId x, const std::string& name, double dropout) {
    graph::RandomScaleAttrs attrs{.keep = kept(dropout)};
    if (attrs.keep >= 1) return x;
    attrs.site = hash_text(name);
    return graph_.add_one(OpKind::random_scale, attrs, {x}, name);
}

ValueId BertEncoder::reshaped(ValueId x, Shape shape, const std::string& name) {
    return graph_.add_one(OpKind::reshape, graph::ReshapeAttrs{std::move(shape)}, {x}, name);
}

ValueId BertEncoder::flat(ValueId x, const std::string& name) {
    return reshaped(x, {graph_.desc(x).elements()}, name);
}

/// "mlm" -> "mlm0".
// ---- checks ----
std::string first_function(std::string_view token) {
    return std::string(token) + "0";
}

/// "emb0", "pos0", "hid0", "hid1", ...
std::vector<std::string> encoder_functions(const BertSettings& settings) {
    std::vector<std::string> names = {first_function(kWordsToken), first_function(kPositionsToken)};
    for (std::int64_t i = 0; i < settings.layers; ++i)
        names.push_back(std::string(kLayerToken) + std::to_string(i));
    return names;
}

/// Error(usage) with the message unless the condition holds.
void require(bool condition, const std::string& message) {
    if (!condition) throw Error(ErrorKind::usage, message);
}

/// Error(usage) for inconsistent sizes and for sequences longer than the table of positions, Error(unsupported) for
/// settings that this version lacks.
void check_encoder(const BertSettings& model, const BertInput& input) {
    require(model.vocabulary > 0 && model.heads > 0 && model.layers > 0 && model.intermediate > 0 &&
                model.segment_types > 0 && input.batch > 0 && input.length > 0 && input.predictions > 0,
            "a BERT model needs sizes of at least 1");
    require(model.hidden % model.heads == 0, "a BERT model that is " + std::to_string(model.hidden) +
                                                 " wide cannot have " + std::to_string(model.heads) +
                                                 " attention heads of equal width");
    require(input.sequences == 0 || !input.static_mask, "rows of several sequences have no masked tokens in front");
    require(input.sequences > 0 || input.length <= model.positions,
            "sequences of " + std::to_string(input.length) +
                " tokens need as many rows in the table of positions, which has " + std::to_string(model.positions));
    if (model.qkv_bias && !model.qkv_split) {
        throw Error(ErrorKind::unsupported,
                    "biases of queries and values need their weights apart; use --use-qkv-split");
    }
}

/// Error(usage) for splits that are not functions of the network, Error(unsupported) for a table of words in several
/// stages.
void check_bert_splits(const std::vector<std::string>& functions, const std::vector<std::string>& splits) {
    const auto has = [&](const std::string& function) {
        return std::ranges::find(functions, function) != functions.end();
    };
    for (const std::string& split : splits) {
        if (has(split)) continue;
        const bool reads_words = split.starts_with(kMaskedWordsToken) && has(first_function(kMaskedWordsToken));
        if (split.starts_with(kWordsToken) || reads_words) {
            throw Error(ErrorKind::unsupported,
                        "the table of words cannot be split over several stages; give 'emb' "
                        "and 'mlm' once in --pipeline-stages");
        }
        throw Error(ErrorKind::usage, "pipeline split '" + split +
                                          "' is not a function of the network, which ends with " + functions.back());
    }
}

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

Graph build(const BertRequest& request, const graph::OpTable& ops, Mode mode) {
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

}  // namespace

std::vector<std::string> bert_scopes(std::string_view function) {
    const std::string_view token = function.substr(0, kLayerToken.size());
    if (token == kWordsToken) return {"bert/embeddings/word_embeddings", "bert/embeddings/words"};
    if (token == kPositionsToken) return {std::string(kEmbeddingsScope), std::string(kMaskScope)};
    if (token == kLayerToken) return {layer_scope(function)};
    if (token == kMaskedWordsToken) return {std::string(kMaskedWordsScope)};
    if (token == kSentencesToken) return {std::string(kPoolerScope), std::string(kSentencesScope)};
    CNNTRAIN_CHECK(token == kClassesToken, "unknown function " + std::string(function));
    return {std::string(kPoolerScope), std::string(kClassifierScope)};
}

std::vector<std::string> bert_functions(const BertSettings& settings) {
    std::vector<std::string> names = encoder_functions(settings);
    names.push_back(first_function(kMaskedWordsToken));
    names.push_back(first_function(kSentencesToken));
    return names;
}

Graph build_bert_training(const BertRequest& request, const graph::OpTable& ops) {
    return build(request, ops, Mode::training);
}

Graph build_bert_evaluation(const BertRequest& request, const graph::OpTable& ops) {
    return build(request, ops, Mode::evaluation);
}

std::optional<BertFacts> bert_facts(const graph::Graph& graph) {
    BertFacts facts;
    for (std::int32_t i = 0; i < graph.node_count(); ++i) {
        const graph::Node& node = graph.node(graph::NodeId{i});
        if (node.kind == OpKind::attention) facts.heads = node.as<graph::AttentionAttrs>().heads;
        if (node.kind == OpKind::layer_norm) facts.norm_epsilon = node.as<graph::LayerNormAttrs>().epsilon;
        if (node.kind != OpKind::activation) continue;
        const graph::Activation activation = node.as<graph::ActivationAttrs>().activation;
        if (node.name.ends_with(kEncoderActivation)) facts.activation = activation;
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
    const double layer = 8 * s * h * h + 4 * s * s * h + 4 * s * h * wide;
    const double scores =
        2 * m * h * static_cast<double>(settings.vocabulary) + (settings.cls_layer ? 2 * m * h * h : 0);
    return static_cast<double>(settings.layers) * layer + scores + 2 * h * h + 4 * h;
}

namespace {

void add_classifier(const BertClassificationRequest& request, BertEncoder& encoder) {
    const std::string scope(kClassifierScope);
    const graph::ValueId pooled = encoder.drop(encoder.pooled(/*place=*/0), scope + "/dropout", request.head_dropout);
    const graph::ValueId table = encoder.weight(scope + "/output_weights", {request.classes, request.model.hidden});
    const graph::ValueId logits = encoder.scores(pooled, table, scope + "/logits", scope + "/output_bias");
    const graph::ValueId labels = encoder.input(kLabels, {request.batch});
    graph::Graph& graph = encoder.graph();
    const std::vector<graph::ValueId> loss =
        graph.add(graph::OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{}, {logits, labels}, scope + "/loss");
    graph.mark_output(std::string(kLoss), loss[0]);
    graph.mark_output(std::string(kCorrect), loss[1]);
    if (request.marks_logits) graph.mark_output(std::string(kLogits), logits);
}

graph::Graph build(const BertClassificationRequest& request, const graph::OpTable& ops, Mode mode) {
    const BertInput input{.batch = request.batch, .length = request.length};
    check_encoder(request.model, input);
    require(request.classes >= 2, "texts need at least 2 classes, not " + std::to_string(request.classes));
    const std::vector<std::string> functions = bert_classification_functions(request.model);
    check_bert_splits(functions, request.splits);
    BertEncoder encoder(request.model, request.numerics, input, ops, mode);
    return encoder.build(functions, request.splits, [&](std::string_view) { add_classifier(request, encoder); });
}

}  // namespace

std::vector<std::string> bert_classification_functions(const BertSettings& settings) {
    std::vector<std::string> names = encoder_functions(settings);
    names.push_back(first_function(kClassesToken));
    return names;
}

graph::Graph build_bert_classification_training(const BertClassificationRequest& request, const graph::OpTable& ops) {
    return build(request, ops, Mode::training);
}

graph::Graph build_bert_classification_evaluation(const BertClassificationRequest& request, const graph::OpTable& ops) {
    return build(request, ops, Mode::evaluation);
}

}  // namespace cnntrain::nn
