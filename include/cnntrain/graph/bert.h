// BERT (Devlin et al. 2019) as a graph: encoder, scores of masked words and of the next sentence, their losses.
//
// B: rows of S tokens, M of which are predicted; H: hidden size; V: vocabulary. A row is a sequence, or in the packed
// layout up to K of them, each of which sees itself alone. Post-norm. The scores of words are products with the table
// of words. Variables have the names of the original programs: bert/encoder/layer_0/... Rows are H wide, weights of
// dense layers [I,O], weights of the next-sentence scores [2,H].
//
// With qkv_bias the original also has a variable for the keys' bias, which stays 0. It is left out here: a bias of keys
// adds one number to all scores of a query, and the softmax does not depend on it.
//
// With groupbert the layers are those of GroupBERT (Chelombiev et al. 2021, arXiv 2106.05822), and a further norm
// follows the last of them. A layer is four blocks x + dropout(f(norm(x))):
//
//   convolution     values * sigmoid(gates), both dense; 0 for padding; a grouped convolution over the S tokens; norm;
//                   swish; dense
//   feed_forward_1  dense to I; gelu; a grouped projection to H; dense, unless there is a single group
//   attention       BERT's, without residual and norm
//   feed_forward_2  as feed_forward_1
//
// The convolution's weight is [kernel, channels of a group, H]; that of the projection is [I / groups, H].
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/activation.h"
#include "cnntrain/graph/graph.h"
#include "cnntrain/graph/settings.h"

namespace cnntrain::nn {

// Settings of a BERT model (Devlin et al. 2019). Sequence length and number of masked tokens follow from the data.

/// V words, H wide; P positions, T segments.
struct BertSettings {
    std::int64_t vocabulary = 30400;   // V
    std::int64_t hidden = 768;         // H, a multiple of heads
    std::int64_t layers = 12;          // of the encoder
    std::int64_t heads = 12;           // of its attention; each is hidden / heads wide
    std::int64_t intermediate = 3072;  // width of its feed-forward part
    std::int64_t positions = 512;      // P
    std::int64_t segment_types = 2;    // T
    /// Activation of the dense layer between the encoder and the scores of masked words. The encoder's activation is
    /// gelu if this one is gelu, otherwise gelu_tanh.
    graph::Activation head_activation = graph::Activation::gelu_tanh;
    double hidden_dropout = 0;        // dropout rate of activations, in [0, 1)
    double attention_dropout = 0;     // dropout rate of attention probabilities
    double norm_epsilon = 1e-3;       // added to the variances of all norms
    double initializer_range = 0.02;  // deviation of initial weights: normal, truncated at two deviations
    bool qkv_bias = false;            // biases of queries and values; a bias of keys changes nothing (bert.h)
    bool qkv_split = false;           // queries, keys and values in three variables instead of one
    bool projection_bias = true;
    bool cls_layer = true;  // between the encoder and the scores of masked words
    bool prediction_bias = true;
    bool counts_correct = true;           // the graph counts correct predictions
    bool groupbert = false;               // layers of GroupBERT, for rows of one sequence with input_mask
    std::int64_t projection_groups = 4;   // of GroupBERT's feed-forward parts; divides H and I
    std::int64_t convolution_kernel = 7;  // tokens that GroupBERT's convolution reads
    std::int64_t convolution_group = 16;  // channels that one of its outputs reads; divides H
    /// The functions of each pipeline stage, as tokens of the list below in the order of the data flow; empty: a single
    /// stage.
    std::vector<std::vector<std::string>> stages = {};
};

// Tokens of BertSettings::stages.
inline constexpr std::string_view kWordsToken = "emb";        // lookup of words; several: parts of the table
inline constexpr std::string_view kPositionsToken = "pos";    // positions, segments, norm, mask
inline constexpr std::string_view kLayerToken = "hid";        // the next encoder layer
inline constexpr std::string_view kMaskedWordsToken = "mlm";  // scores of masked words, in as many parts as emb
inline constexpr std::string_view kSentencesToken = "nsp";    // pooler, next-sentence scores, losses
inline constexpr std::string_view kClassesToken = "glu";      // pooler, scores of classes (below), loss
inline constexpr std::string_view kAnswersToken = "loc";      // scores of an answer's ends (below), loss

// Inputs, as data/sets.h describes them; positions are an input of all layouts.
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
inline constexpr std::string_view kFirstTokens = "first_tokens";  // i32[B,K], of texts that are classified

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
// Score of each word at each masked token, [B*M,V]; only with BertRequest::with_word_scores.
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

/// The scopes of the variables and nodes of a function of any BERT network: "hid3" -> "bert/encoder/layer_3" and
/// "LayerNorm". A name belongs to its innermost scope; the last layer has "LayerNorm".
std::vector<std::string> bert_scopes(std::string_view function);

/// Forward graph with the losses; in evaluation without dropout, and with the sums over tokens. Error(usage) for
/// inconsistent sizes and for splits that are not functions of the network; Error(unsupported) for settings that this
/// version lacks.
graph::Graph build_bert(const BertRequest& request, const graph::OpTable& ops, Mode mode);

/// Properties of a BERT network that do not follow from its variables.
struct BertFacts {
    std::int64_t heads = 0;
    double norm_epsilon = 0;
    graph::Activation activation = graph::Activation::none;  // of the encoder
    /// Activation of the layer between encoder and masked-word scores; empty if the network has none.
    std::optional<graph::Activation> head_activation;
};
/// Facts from a BERT network's graph of training (also with backward passes) or evaluation; empty for another network.
std::optional<BertFacts> bert_facts(const graph::Graph& graph);

/// Floating-point operations of the matrix products of one sequence's forward pass (a multiply-add counts 2):
/// L (8 S H^2 + 4 S^2 H + 4 S H I) + 2 M H V (+ 2 M H^2 with cls_layer) + 2 H^2 + 4 H. A layer of GroupBERT with G
/// groups, kernel K and C channels a group is 18 S H^2 + 4 S^2 H + 4 S H I (1 + 1 / G) + 2 K C S H; 14 S H^2 if G is 1.
double bert_forward_flops(const BertSettings& settings, std::int64_t length, std::int64_t predictions);

// BERT for text classification (Devlin et al. 2019, section 4.1) as a graph: the encoder of this file, its pooled
// output, dropout and a dense layer.
//
// B: sequences of S tokens; C: classes; H: hidden size. The encoder and the pooler have the variables of the
// pretraining network, so that they can start from a checkpoint of pretraining. Variables below kClassifierScope are
// new: output_weights [C,H] and output_bias [C]. Inputs: kInputIds, kSegmentIds, kInputPosition and kInputMask of
// this file, and kLabels of model.h. Outputs: kLoss and kCorrect of model.h, sums over the samples with a label:
//
//   labels   kLabels                    kLoss of a sample                           kCorrect of a sample
//   single   i32[B]                     cross entropy                               1: the label's logit is the largest
//   score    f32[B]; kLabelWeights too  label weight * (logit - label)^2; C is 1    (not an output)
//   several  i32[B,C]: 0 or 1           mean over labels of the cross entropy of    share of the labels with
//                                       sigmoid(logit)                              (logit > 0) = label
//
// Labels below 0 and label weights of 0 count nothing. In packed rows of K texts, inputs are those of the packed layout
// with kFirstTokens, and all that is [B] or [B,C] above is [B,K] or [B,K,C], in the output kLogits [B*K,C].

inline constexpr std::string_view kLabelWeights = "label_weights";  // input f32[B], of scores
inline constexpr std::string_view kLogits = "logits";               // output [B,C] in the compute type, if asked for
inline constexpr std::string_view kClassifierScope = "cls/classifier";

struct BertClassificationRequest {
    BertSettings model;
    NumericsSettings numerics;
    std::int64_t batch = 1;                // B
    std::int64_t length = 128;             // S
    std::int64_t sequences = 0;            // K of packed rows; 0: a row is a text
    LabelKind labels = LabelKind::single;  // of a text
    std::int64_t classes = 2;              // C
    double head_dropout = 0;               // dropout rate of the pooled output, in [0, 1)
    std::vector<std::string> splits = {};  // functions that begin pipeline stages 1, 2, ..., in the network's order
    bool marks_logits = false;             // adds the output kLogits
    // The loss in training:
    std::vector<double> class_weights = {};  // of the loss, as of images' BuildRequest; empty: all 1
    double focus = 0;                        // of several labels: the exponent of the focal loss
    double teacher_temperature = 0;          // adds kTeacherLogits and kTeacherLoss, of single labels; 0: none
};

/// The network's functions in order: "emb0", "pos0", "hid0", "hid1", ..., "glu0".
std::vector<std::string> bert_classification_functions(const BertSettings& settings);

/// Forward graph with the loss; in evaluation without dropout. Errors as above, and Error(usage) for a C that does not
/// fit the labels.
graph::Graph build_bert(const BertClassificationRequest& request, const graph::OpTable& ops, Mode mode);

// BERT for question answering (Devlin et al. 2019, section 4.2) as a graph: the encoder of this file, and for each
// token its scores as the first and as the last one of the answer.
//
// Variables below kAnswersScope are new: output_weights [2,H] and output_bias [2]; there is no pooler. Inputs:
// kInputIds, kSegmentIds, kInputPosition and kInputMask of this file, and in training kAnswerPositions, i32[B,2]: the
// first and the last token. Outputs: in training kLoss, the sum over the samples of the mean of both cross entropies,
// in which a position outside 0..S-1 counts 0; in evaluation kLogits, [B,2,S] in the compute type, over all S tokens.
// Evaluation also takes packed rows: kSequenceNumbers replaces kInputMask.

inline constexpr std::string_view kAnswerPositions = "answer_positions";
inline constexpr std::string_view kAnswersScope = "cls/squad";

struct BertAnswersRequest {
    BertSettings model;
    NumericsSettings numerics;
    std::int64_t batch = 1;                // B
    std::int64_t length = 384;             // S
    bool packed = false;                   // rows of several features, in evaluation
    std::vector<std::string> splits = {};  // functions that begin pipeline stages 1, 2, ..., in the network's order
};

/// The network's functions in order: "emb0", "pos0", "hid0", "hid1", ..., "loc0".
std::vector<std::string> bert_answers_functions(const BertSettings& settings);

/// Forward graph with the loss; in evaluation without dropout and loss. Errors as above.
graph::Graph build_bert(const BertAnswersRequest& request, const graph::OpTable& ops, Mode mode);

}  // namespace cnntrain::nn
