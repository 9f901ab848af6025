#include "cnntrain/nn/bert.h"

#include <algorithm>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "nn/layers.h"

namespace cnntrain::nn {

using graph::Graph;
using graph::Initialiser;
using graph::OpKind;
using graph::ValueId;

namespace {

/// What the functions of the network hand on to each other.
struct State {
    ValueId x;      // [B,S,H]
    ValueId mask;   // f32[B,S], what attention adds to scores
    ValueId table;  // of words, as it is stored
    ValueId mlm_loss;
    ValueId mlm_correct;
};

class BertBuilder {
public:
    BertBuilder(const BertRequest& request, const graph::OpTable& ops, Mode mode)
        : model_(request.model), numerics_(request.numerics), input_(request.input), mode_(mode), graph_(ops) {}

    Graph build(const std::vector<std::string>& splits) {
        const std::vector<std::string> functions = bert_functions(model_);
        std::int32_t stage = 0;
        for (const std::string& function : functions) {
            if (std::ranges::find(splits, function) != splits.end()) ++stage;
            graph_.set_stage({stage});
            build_function(function);
        }
        graph_.set_stage({0});
        return std::move(graph_);
    }

private:
    void build_function(const std::string& function) {
        const std::string_view token = std::string_view(function).substr(0, 3);
        if (token == kWordsToken) return words();
        if (token == kPositionsToken) return positions();
        if (token == kLayerToken) return layer("bert/encoder/layer_" + function.substr(token.size()));
        if (token == kMaskedWordsToken) return masked_words();
        sentences();
    }

    // ---- functions ----

    void words() {
        state_.table = weight("bert/embeddings/word_embeddings", {model_.vocabulary, model_.hidden});
        state_.x = lookup(kInputIds, state_.table, "bert/embeddings/words");
    }

    void positions() {
        const std::string scope = "bert/embeddings";
        const ValueId positions = weight(scope + "/position_embeddings", {model_.positions, model_.hidden});
        const ValueId segments = weight(scope + "/token_type_embeddings", {model_.segment_types, model_.hidden});
        const ValueId sum = graph_.add_one(OpKind::add, graph::NoAttrs{},
                                           {state_.x, lookup(kInputPosition, positions, scope + "/positions")},
                                           scope + "/words_and_positions");
        const ValueId normed = norm(sum, lookup(kSegmentIds, segments, scope + "/segments"), scope, /*dropout=*/0);
        state_.x = drop(normed, scope + "/dropout", model_.hidden_dropout);
        state_.mask = attention_mask();
    }

    void layer(const std::string& scope) {
        const std::string attention = scope + "/attention";
        const ValueId context = attend(state_.x, attention + "/self");
        const std::string projection = attention + "/projection";
        const ValueId projected =
            dense(context, projection + "/dense", model_.hidden, model_.projection_bias ? Bias::one : Bias::none);
        const ValueId y = norm(projected, state_.x, projection, model_.hidden_dropout);
        const ValueId wide = dense(y, scope + "/intermediate/dense", model_.intermediate, Bias::one);
        const ValueId activated =
            activate(wide, scope + "/intermediate/gelu",
                     model_.head_activation == HeadActivation::gelu_erf ? graph::Activation::gelu
                                                                        : graph::Activation::gelu_tanh);
        const ValueId narrow = dense(activated, scope + "/output/dense", model_.hidden, Bias::one);
        state_.x = norm(narrow, y, scope + "/output", model_.hidden_dropout);
    }

    void masked_words() {
        const std::string scope = "cls/predictions";
        const std::int64_t tokens = input_.batch * input_.predictions;
        const ValueId labels = flat(input(kMaskedIds, {input_.batch, input_.predictions}), scope + "/labels");
        const ValueId weights =
            flat(input(kMaskedWeights, {input_.batch, input_.predictions}, DType::f32), scope + "/weights");
        ValueId rows = reshaped(masked_rows(scope), {tokens, model_.hidden}, scope + "/rows");
        if (model_.cls_layer) rows = transformed(rows, scope + "/transform");
        const ValueId logits = scores(rows, state_.table, scope + "/logits",
                                      model_.prediction_bias ? scope + "/output_bias" : std::string());
        const std::vector<ValueId> loss =
            graph_.add(OpKind::token_cross_entropy, graph::NoAttrs{}, {logits, labels, weights}, scope + "/loss");
        graph_.mark_output(std::string(kMaskedLoss), loss[0]);
        if (model_.counts_correct) graph_.mark_output(std::string(kMaskedCorrect), loss[1]);
        if (mode_ == Mode::evaluation) mark_sums(loss[0], loss[1], weights, scope);
    }

    void sentences() {
        // The token in front of a sequence stands behind the masked ones where these come first.
        const std::int64_t place = input_.static_mask ? input_.predictions : 0;
        const std::string pooler = "bert/pooler";
        const ValueId first =
            graph_.add_one(OpKind::slice, graph::SliceAttrs{.axis = 1, .begin = place, .end = place + 1}, {state_.x},
                           pooler + "/first_token");
        const ValueId row = reshaped(first, {input_.batch, model_.hidden}, pooler + "/row");
        const ValueId pooled = activate(dense(row, pooler + "/dense", model_.hidden, Bias::one), pooler + "/tanh",
                                        graph::Activation::tanh);
        const std::string scope = "cls/seq_relationship";
        const ValueId table = weight(scope + "/output_weights", {2, model_.hidden});
        const ValueId logits = scores(pooled, table, scope + "/logits", scope + "/output_bias");
        const ValueId labels = flat(input(kNextSentenceLabels, {input_.batch, 1}), scope + "/labels");
        const std::vector<ValueId> loss =
            graph_.add(OpKind::softmax_cross_entropy, graph::SoftmaxAttrs{}, {logits, labels}, scope + "/loss");
        graph_.mark_output(std::string(kSentenceLoss), loss[0]);
        if (model_.counts_correct) graph_.mark_output(std::string(kSentenceCorrect), loss[1]);
    }

    // ---- their parts ----

    enum class Bias : std::uint8_t { none, one };

    ValueId attention_mask() {
        const std::string name = "bert/encoder/mask";
        if (!input_.static_mask) {
            const ValueId mask = input(kInputMask, {input_.batch, input_.length});
            return graph_.add_one(OpKind::attention_mask, graph::AttentionMaskAttrs{}, {mask}, name);
        }
        const ValueId masked = input(kMaskPaddingIndex, {input_.batch, 1});
        const ValueId sequence = input(kSequencePaddingIndex, {input_.batch, 1});
        return graph_.add_one(OpKind::attention_mask, graph::AttentionMaskAttrs{input_.length, input_.predictions},
                              {masked, sequence}, name);
    }

    ValueId attend(ValueId x, const std::string& scope) {
        graph::AttentionAttrs attrs;
        attrs.heads = model_.heads;
        attrs.scale = 0.125;  // 1 / sqrt(kHeadSize)
        static_assert(kHeadSize == 64);
        attrs.keep = kept(model_.attention_dropout);
        attrs.site = hash_text(scope + "/dropout");
        std::vector<ValueId> inputs;
        if (model_.qkv_split) {
            const Bias bias = model_.qkv_bias ? Bias::one : Bias::none;
            inputs = {dense(x, scope + "/query", model_.hidden, bias),
                      dense(x, scope + "/key", model_.hidden, Bias::none),
                      dense(x, scope + "/value", model_.hidden, bias)};
        } else {
            const ValueId kernel = weight(scope + "/kernel/qkv_weight", {model_.hidden, 3 * model_.hidden});
            inputs = {product(x, kernel, {.bias = false}, {}, scope + "/qkv")};
        }
        inputs.push_back(state_.mask);
        return graph_.add(OpKind::attention, attrs, std::move(inputs), scope + "/attention")[0];
    }

    ValueId masked_rows(const std::string& scope) {
        if (input_.static_mask) {
            return graph_.add_one(OpKind::slice, graph::SliceAttrs{.axis = 1, .begin = 0, .end = input_.predictions},
                                  {state_.x}, scope + "/masked_tokens");
        }
        const ValueId places = input(kMaskedPositions, {input_.batch, input_.predictions});
        return graph_.add_one(OpKind::gather_rows, graph::GatherRowsAttrs{}, {state_.x, places},
                              scope + "/masked_tokens");
    }

    ValueId transformed(ValueId rows, const std::string& scope) {
        constexpr graph::Activation kActivations[] = {graph::Activation::none, graph::Activation::relu,
                                                      graph::Activation::gelu_tanh, graph::Activation::tanh,
                                                      graph::Activation::gelu};
        ValueId x = dense(rows, scope + "/dense", model_.hidden, Bias::one);
        if (model_.head_activation != HeadActivation::linear) {
            x = activate(x, scope + "/activation", kActivations[static_cast<std::size_t>(model_.head_activation)]);
        }
        return norm(x, ValueId{}, scope, /*dropout=*/0);
    }

    /// Sums of what is a mean over the weighted tokens.
    void mark_sums(ValueId loss, ValueId correct, ValueId weights, const std::string& scope) {
        const std::int64_t tokens = input_.batch * input_.predictions;
        const ValueId ones =
            graph_.add_one(OpKind::constant, graph::ConstantAttrs{1, {DType::f32, {tokens, 1}}}, {}, scope + "/ones");
        const ValueId total = times(reshaped(weights, {1, tokens}, scope + "/row_of_weights"), ones, scope + "/weight");
        const auto mark = [&](std::string_view name, ValueId value) {
            graph_.mark_output(std::string(name), reshaped(value, {}, scope + "/" + std::string(name)));
        };
        mark(kMaskedWeightSum, total);
        mark(kMaskedLossSum, times(reshaped(loss, {1, 1}, scope + "/mean_loss"), total, scope + "/loss_sum"));
        mark(kMaskedCorrectSum,
             times(reshaped(correct, {1, 1}, scope + "/mean_correct"), total, scope + "/correct_sum"));
    }

    // ---- layers ----

    ValueId input(std::string_view name, Shape shape, DType type = DType::i32) {
        return graph_.add_input(std::string(name), {type, std::move(shape)});
    }

    ValueId parameter(const std::string& name, Shape shape, Initialiser initialiser) {
        return graph_.add_parameter(name, {numerics_.parameters, std::move(shape)}, std::move(initialiser));
    }

    ValueId weight(const std::string& name, Shape shape) {
        return parameter(name, std::move(shape),
                         {.kind = Initialiser::Kind::truncated_normal, .value = model_.initializer_range});
    }

    ValueId in_compute_type(ValueId x) {
        if (graph_.desc(x).dtype == numerics_.compute) return x;
        return graph_.add_one(OpKind::cast, graph::CastAttrs{numerics_.compute}, {x}, graph_.value(x).name + "/cast");
    }

    /// A vector for each feature, as ops read it: f32 or the compute type.
    ValueId vector(const std::string& name, std::int64_t features, double start) {
        const ValueId stored = parameter(name, {features}, {.value = start});
        return numerics_.parameters == DType::f32 ? stored : in_compute_type(stored);
    }

    ValueId lookup(std::string_view ids, ValueId table, const std::string& name) {
        return graph_.add_one(OpKind::embedding, graph::EmbeddingAttrs{.type = numerics_.compute},
                              {input(ids, {input_.batch, input_.length}), table}, name);
    }

    ValueId product(ValueId x, ValueId kernel, const graph::DenseAttrs& attrs, ValueId bias, const std::string& name) {
        std::vector<ValueId> inputs = {x, in_compute_type(kernel)};
        if (attrs.bias) inputs.push_back(bias);
        return graph_.add_one(OpKind::dense, attrs, std::move(inputs), name);
    }

    ValueId dense(ValueId x, const std::string& scope, std::int64_t outputs, Bias bias) {
        const ValueId kernel = weight(scope + "/kernel", {graph_.desc(x).shape.back(), outputs});
        if (bias == Bias::none) return product(x, kernel, {.bias = false}, {}, scope);
        return product(x, kernel, {}, vector(scope + "/bias", outputs, 0), scope);
    }

    /// Products with the rows of a table. An empty name: no bias.
    ValueId scores(ValueId x, ValueId table, const std::string& name, const std::string& bias) {
        if (bias.empty()) return product(x, table, {.bias = false, .transposed = true}, {}, name);
        const ValueId stored = vector(bias, graph_.desc(table).shape.front(), 0);
        return product(x, table, {.transposed = true}, stored, name);
    }

    /// Of dropped x + residual; an invalid residual: of x.
    ValueId norm(ValueId x, ValueId residual, const std::string& scope, double dropout) {
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

    ValueId activate(ValueId x, const std::string& name, graph::Activation activation) {
        return graph_.add_one(OpKind::activation, graph::ActivationAttrs{activation}, {x}, name);
    }

    double kept(double dropout) const { return mode_ == Mode::training ? 1 - dropout : 1; }

    ValueId drop(ValueId x, const std::string& name, double dropout) {
        graph::RandomScaleAttrs attrs{.keep = kept(dropout)};
        if (attrs.keep >= 1) return x;
        attrs.site = hash_text(name);
        return graph_.add_one(OpKind::random_scale, attrs, {x}, name);
    }

    ValueId reshaped(ValueId x, Shape shape, const std::string& name) {
        return graph_.add_one(OpKind::reshape, graph::ReshapeAttrs{std::move(shape)}, {x}, name);
    }

    ValueId flat(ValueId x, const std::string& name) { return reshaped(x, {graph_.desc(x).elements()}, name); }

    ValueId times(ValueId a, ValueId b, const std::string& name) {
        return graph_.add_one(OpKind::batched_matmul, graph::MatmulAttrs{}, {a, b}, name);
    }

    const BertSettings& model_;
    const NumericsSettings& numerics_;
    const BertInput& input_;
    Mode mode_;
    Graph graph_;
    State state_;
};

void require(bool condition, const std::string& message) {
    if (!condition) throw Error(ErrorKind::usage, message);
}

void check(const BertRequest& request) {
    const BertSettings& model = request.model;
    const BertInput& input = request.input;
    require(model.vocabulary > 0 && model.heads > 0 && model.layers > 0 && model.intermediate > 0 &&
                model.segment_types > 0 && input.batch > 0 && input.length > 0 && input.predictions > 0,
            "a BERT model needs sizes of at least 1");
    require(model.hidden == kHeadSize * model.heads, "a BERT model of " + std::to_string(model.heads) + " heads is " +
                                                         std::to_string(kHeadSize * model.heads) + " wide, not " +
                                                         std::to_string(model.hidden));
    require(input.length <= model.positions, "sequences of " + std::to_string(input.length) +
                                                 " tokens need as many rows in the table of positions, which has " +
                                                 std::to_string(model.positions));
    require(input.predictions + (input.static_mask ? 1 : 0) <= input.length,
            std::to_string(input.predictions) + " masked tokens do not fit into sequences of " +
                std::to_string(input.length));
    if (model.qkv_bias && !model.qkv_split) {
        throw Error(ErrorKind::unsupported,
                    "biases of queries and values need their weights apart; use --use-qkv-split");
    }
    const std::vector<std::string> functions = bert_functions(model);
    for (const std::string& split : request.splits) {
        if (std::ranges::find(functions, split) != functions.end()) continue;
        if (split.starts_with(kWordsToken) || split.starts_with(kMaskedWordsToken)) {
            throw Error(ErrorKind::unsupported,
                        "the table of words cannot be split over several stages; give 'emb' "
                        "and 'mlm' once in --pipeline-stages");
        }
        throw Error(ErrorKind::usage, "pipeline split '" + split +
                                          "' is not a function of the network, which ends with " + functions.back());
    }
}

}  // namespace

std::vector<std::string> bert_functions(const BertSettings& settings) {
    const auto first = [](std::string_view token) { return std::string(token) + "0"; };
    std::vector<std::string> names = {first(kWordsToken), first(kPositionsToken)};
    for (std::int64_t i = 0; i < settings.layers; ++i)
        names.push_back(std::string(kLayerToken) + std::to_string(i));
    names.push_back(first(kMaskedWordsToken));
    names.push_back(first(kSentencesToken));
    return names;
}

Graph build_bert_training(const BertRequest& request, const graph::OpTable& ops) {
    check(request);
    return BertBuilder(request, ops, Mode::training).build(request.splits);
}

Graph build_bert_evaluation(const BertRequest& request, const graph::OpTable& ops) {
    check(request);
    return BertBuilder(request, ops, Mode::evaluation).build(request.splits);
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

}  // namespace cnntrain::nn
