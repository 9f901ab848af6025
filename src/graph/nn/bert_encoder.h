// The encoder of BERT: the functions with which every BERT network begins, and the layers of its heads.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/bert.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/model.h"
#include "graph/nn/layers.h"

namespace cnntrain::nn {

inline constexpr std::string_view kEmbeddingsScope = "bert/embeddings";
inline constexpr std::string_view kMaskScope = "bert/encoder/mask";
inline constexpr std::string_view kPoolerScope = "bert/pooler";
inline constexpr const char* kNorm = "LayerNorm";  // without a scope, GroupBERT's norm after the last layer
inline constexpr std::string_view kEncoderActivation = "/intermediate/gelu";  // appended to a layer's scope

/// "hid3" -> "bert/encoder/layer_3".
std::string layer_scope(std::string_view function);
/// "mlm" -> "mlm0".
std::string first_function(std::string_view token);
/// "emb0", "pos0", "hid0", "hid1", ..., and the functions of the heads with these tokens.
std::vector<std::string> encoder_functions(const BertSettings& settings, std::initializer_list<std::string_view> heads);

/// Error(usage) with the message unless the condition holds.
void require(bool condition, const std::string& message);
/// Error(usage) for inconsistent sizes and for sequences longer than the table of positions, Error(unsupported) for
/// settings that this version lacks.
void check_encoder(const BertSettings& model, const BertInput& input);
/// Error(usage) for widths that do not form GroupBERT's groups, and for layouts without input_mask.
void check_group_layers(const BertSettings& model, const BertInput& input);
/// Error(usage) for splits that are not functions of the network, Error(unsupported) for a table of words in several
/// stages.
void check_bert_splits(const std::vector<std::string>& functions, const std::vector<std::string>& splits);

enum class Bias : std::uint8_t { none, one };

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

    /// Begins with these tokens [B,S,H] instead of embeddings.
    void begin(graph::ValueId tokens);
    /// Adds a layer of GroupBERT after the tokens.
    void group_layer(const std::string& scope);

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
    /// Norm of dropout(x) + residual, or of x if the residual is invalid. The scope may be empty.
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
    graph::ValueId convolution(graph::ValueId x, const std::string& scope);
    graph::ValueId feed_forward(graph::ValueId x, const std::string& scope);
    graph::ValueId wide(graph::ValueId x, const std::string& scope);
    /// [B,S,I] -> [B,S,H]. The kernel is [K,I/groups,H], or [I/groups,H] for windows of one token.
    graph::ValueId convolved(graph::ValueId x, graph::ValueId kernel, const graph::ConvAttrs& attrs,
                             graph::ValueId bias, const std::string& name);
    /// x[B,S,H] * sigmoid(gates), with rows of 0 for padding.
    graph::ValueId gated(graph::ValueId x, graph::ValueId gates, const std::string& scope);
    graph::ValueId attention_mask();
    graph::ValueId pooled_rows(graph::ValueId tokens);
    graph::ValueId attend(graph::ValueId x, const std::string& scope);
    graph::ValueId joined_bias(const std::string& scope);
    graph::ValueId attention(graph::ValueId x, const std::string& scope);

    graph::ValueId parameter(const std::string& name, Shape shape, graph::Initialiser initialiser);
    graph::ValueId in_compute_type(graph::ValueId x);
    graph::ValueId vector(const std::string& name, std::int64_t features, graph::Initialiser initialiser);
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
    graph::ValueId input_mask_;  // i32[B,S], normal layout
    graph::ValueId mask_;        // of attention: f32[B,S] of its keys, or the numbers i32[B,S] of the tokens' sequences
};

}  // namespace cnntrain::nn
