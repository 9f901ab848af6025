#include "graph/nn/bert_encoder.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cnntrain/base/error.h"
#include "cnntrain/base/hash.h"
#include "cnntrain/graph/graph.h"

namespace cnntrain::nn {

using graph::Graph;
using graph::Initialiser;
using graph::OpKind;
using graph::ValueId;

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
        const bool is_last_layer = function == std::string(kLayerToken) + std::to_string(model_.layers - 1);
        if (model_.groupbert && is_last_layer) x_ = norm(x_, ValueId{}, "", /*dropout=*/0);
    }
    graph_.set_stage({0});
    return std::move(graph_);
}

void BertEncoder::build_function(const std::string& function,
                                 const std::function<void(std::string_view token)>& add_head) {
    const std::string_view token = std::string_view(function).substr(0, 3);
    if (token == kWordsToken) return words();
    if (token == kPositionsToken) return positions();
    if (token == kLayerToken && model_.groupbert) return group_layer(layer_scope(function));
    if (token == kLayerToken) return layer(layer_scope(function));
    add_head(token);
}

void BertEncoder::begin(ValueId tokens) {
    x_ = tokens;
    mask_ = attention_mask();
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
    begin(drop(normed, scope + "/dropout", model_.hidden_dropout));
}

void BertEncoder::layer(const std::string& scope) {
    const std::string projection = scope + "/attention/projection";
    const ValueId y = norm(attention(x_, scope + "/attention"), x_, projection, model_.hidden_dropout);
    const ValueId narrow = dense(wide(y, scope), scope + "/output/dense", model_.hidden, Bias::one);
    x_ = norm(narrow, y, scope + "/output", model_.hidden_dropout);
}

ValueId BertEncoder::attention(ValueId x, const std::string& scope) {
    return dense(attend(x, scope + "/self"), scope + "/projection/dense", model_.hidden,
                 model_.projection_bias ? Bias::one : Bias::none);
}

ValueId BertEncoder::wide(ValueId x, const std::string& scope) {
    const ValueId result = dense(x, scope + "/intermediate/dense", model_.intermediate, Bias::one);
    return activate(
        result, scope + std::string(kEncoderActivation),
        model_.head_activation == graph::Activation::gelu ? graph::Activation::gelu : graph::Activation::gelu_tanh);
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
        input_mask_ = input(kInputMask, {input_.batch, input_.length});
        return graph_.add_one(OpKind::attention_mask, graph::AttentionMaskAttrs{}, {input_mask_}, name);
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
        const ValueId bias = model_.qkv_bias ? joined_bias(scope) : ValueId{};
        inputs = {product(x, kernel, {.bias = model_.qkv_bias}, bias, scope + "/qkv")};
    }
    inputs.push_back(mask_);
    return graph_.add(OpKind::attention, attrs, std::move(inputs), scope + "/attention")[0];
}

/// The biases of queries and values with zeros for the keys between them: [3H].
ValueId BertEncoder::joined_bias(const std::string& scope) {
    const std::int64_t all = 3 * model_.hidden;
    const auto part = [&](const std::string& name, std::int64_t begin) {
        const graph::SliceAttrs range{0, begin, begin + model_.hidden, all};
        return graph_.add_one(OpKind::slice_grad, range, {vector(name + "/bias", model_.hidden, {})},
                              name + "/bias/part");
    };
    const ValueId query = part(scope + "/query", 0);
    return graph_.add_one(OpKind::add, graph::NoAttrs{}, {query, part(scope + "/value", all - model_.hidden)},
                          scope + "/qkv/bias");
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
    return in_type(graph_, x, numerics_.compute, graph_.value(x).name + "/cast");
}

/// A variable with one element per feature, in the type that ops read: f32 or the compute type.
ValueId BertEncoder::vector(const std::string& name, std::int64_t features, Initialiser initialiser) {
    const ValueId stored = parameter(name, {features}, std::move(initialiser));
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
    return product(x, kernel, {}, vector(scope + "/bias", outputs, {}), scope);
}

ValueId BertEncoder::scores(ValueId x, ValueId table, const std::string& name, const std::string& bias) {
    if (bias.empty()) return product(x, table, {.bias = false, .transposed = true}, {}, name);
    const ValueId stored = vector(bias, graph_.desc(table).shape.front(), {});
    return product(x, table, {.transposed = true}, stored, name);
}

ValueId BertEncoder::norm(ValueId x, ValueId residual, const std::string& scope, double dropout) {
    const std::string leaf = scope.empty() ? kNorm : scope + "/" + kNorm;
    graph::LayerNormAttrs attrs{.epsilon = model_.norm_epsilon, .residual = residual.valid()};
    attrs.keep = kept(dropout);
    attrs.site = hash_text(scope + "/dropout");
    const ValueId beta = vector(leaf + "/beta", model_.hidden, {});
    const ValueId gamma = vector(leaf + "/gamma", model_.hidden, {.value = 1});
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

// ---- checks ----

std::string first_function(std::string_view token) {
    return std::string(token) + "0";
}

std::vector<std::string> encoder_functions(const BertSettings& settings,
                                           std::initializer_list<std::string_view> heads) {
    std::vector<std::string> names = {first_function(kWordsToken), first_function(kPositionsToken)};
    for (std::int64_t i = 0; i < settings.layers; ++i)
        names.push_back(std::string(kLayerToken) + std::to_string(i));
    std::ranges::transform(heads, std::back_inserter(names), first_function);
    return names;
}

void require(bool condition, const std::string& message) {
    if (!condition) throw Error(ErrorKind::usage, message);
}

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
    if (model.groupbert) check_group_layers(model, input);
}

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

}  // namespace cnntrain::nn
