// BERT (Devlin et al. 2019) as a graph: encoder, scores of masked words and of the next sentence, their losses.
//
// B: rows of S tokens, M of which are predicted; H: hidden size; V: vocabulary. A row is a sequence, or in the packed
// layout up to K of them, each of which sees itself alone. Post-norm. The scores of words are products with the table
// of words. Variables have the names of the original programs: bert/encoder/layer_0/... Rows are H wide, weights of
// dense layers [I,O], weights of the next-sentence scores [2,H].
//
// With qkv_bias the original also has a variable for the keys' bias, which stays 0. It is left out here: a bias of keys
// adds one number to all scores of a query, and the softmax does not depend on it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/activation.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/nn/bert_settings.h"
#include "cnntrain/nn/settings.h"

namespace cnntrain::nn {

// Inputs, as data/pretraining.h describes them; positions are an input of all layouts.
inline constexpr std::string_view kInputIds = "input_ids";                       // i32[B,S]
inline constexpr std::string_view kSegmentIds = "segment_ids";                   // i32[B,S]
inline constexpr std::string_view kInputPosition = "input_position";             // i32[B,S]
inline constexpr std::string_view kInputMask = "input_mask";                     // i32[B,S], normal layout
inline constexpr std::string_view kMaskPaddingIndex = "mask_padding_index";      // i32[B,1], static layout
inline constexpr std::string_view kSequencePaddingIndex = "seq_padding_index";   // i32[B,1], static layout
inline constexpr std::string_view kMaskedPositions = "masked_lm_positions";      // i32[B,M], normal layout
inline constexpr std::string_view kMaskedIds = "masked_lm_ids";                  // i32[B,M]
inline constexpr std::string_view kMaskedWeights = "masked_lm_weights";          // f32[B,M]
inline constexpr std::string_view kNextSentenceLabels = "next_sentence_labels";  // i32[B,1], packed i32[B,K]
// Inputs of the packed layout, in which a row holds up to K sequences. It has no kInputMask.
inline constexpr std::string_view kSequenceNumbers = "sequence_numbers";               // i32[B,S]
inline constexpr std::string_view kNextSentencePositions = "next_sentence_positions";  // i32[B,K]
inline constexpr std::string_view kNextSentenceWeights = "next_sentence_weights";      // f32[B,K]

// Outputs for a micro-batch, each f32[]: kMaskedLoss and kMaskedCorrect are means over its weighted tokens,
// kSentenceLoss and kSentenceCorrect are sums over its sequences, in the packed layout means over the weighted ones.
inline constexpr std::string_view kMaskedLoss = "mlm_loss";
inline constexpr std::string_view kMaskedCorrect = "mlm_correct";
inline constexpr std::string_view kSentenceLoss = "nsp_loss";
inline constexpr std::string_view kSentenceCorrect = "nsp_correct";
// Further outputs in evaluation: sums over tokens, from which a mean over batches of any size can be computed.
inline constexpr std::string_view kMaskedLossSum = "mlm_loss_sum";
inline constexpr std::string_view kMaskedCorrectSum = "mlm_correct_sum";
inline constexpr std::string_view kMaskedWeightSum = "mlm_weight_sum";
// The same sums over the sequences of the packed layout.
inline constexpr std::string_view kSentenceLossSum = "nsp_loss_sum";
inline constexpr std::string_view kSentenceCorrectSum = "nsp_correct_sum";
inline constexpr std::string_view kSentenceWeightSum = "nsp_weight_sum";
// With BertRequest::with_word_scores, [B*M,V]: the score of each word at each masked token.
inline constexpr std::string_view kWordScores = "word_scores";

struct BertInput {
    std::int64_t batch = 1;         // B
    std::int64_t length = 128;      // S
    std::int64_t predictions = 20;  // M
    bool static_mask = false;       // masked tokens are the first M
    /// K of the packed layout, in which rows may be longer than the table of positions; 0: another layout.
    std::int64_t sequences = 0;
};

struct BertRequest {
    BertSettings model;
    NumericsSettings numerics;
    BertInput input;
    std::vector<std::string> splits = {};  // functions that begin pipeline stages 1, 2, ..., in the network's order
    bool with_word_scores = false;         // kWordScores is an output
};

/// The network's functions in order, named after their tokens: "emb0", "pos0", "hid0", "hid1", ..., "mlm0", "nsp0".
std::vector<std::string> bert_functions(const BertSettings& settings);

/// The scopes of the variables and nodes of a function of bert_functions() or bert_classification_functions(): "hid3"
/// -> "bert/encoder/layer_3". A name belongs to its innermost scope.
std::vector<std::string> bert_scopes(std::string_view function);

/// Forward graph with the losses. Error(usage) for inconsistent sizes and for splits that are not functions of the
/// network; Error(unsupported) for settings that this version lacks.
graph::Graph build_bert_training(const BertRequest& request, const graph::OpTable& ops);
/// The same without dropout, and with the sums over tokens.
graph::Graph build_bert_evaluation(const BertRequest& request, const graph::OpTable& ops);

/// Properties of a BERT network that do not follow from its variables.
struct BertFacts {
    std::int64_t heads = 0;
    double norm_epsilon = 0;
    graph::Activation activation = graph::Activation::none;  // of the encoder
    /// Of the layer between encoder and masked-word scores; empty if the network has none.
    std::optional<graph::Activation> head_activation;
};
/// For graphs of training (also with backward passes) or evaluation; empty for another network.
std::optional<BertFacts> bert_facts(const graph::Graph& graph);

/// Floating-point operations of the matrix products of one sequence's forward pass (a multiply-add counts 2):
/// L (8 S H^2 + 4 S^2 H + 4 S H I) + 2 M H V (+ 2 M H^2 with cls_layer) + 2 H^2 + 4 H.
double bert_forward_flops(const BertSettings& settings, std::int64_t length, std::int64_t predictions);

}  // namespace cnntrain::nn
