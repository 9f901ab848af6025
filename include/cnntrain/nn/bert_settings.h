// Settings of a BERT model (Devlin et al. 2019). Sequence length and number of masked tokens follow from the data.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/settings.h"

namespace cnntrain::nn {

/// Width of an attention head, in every size of the model.
inline constexpr std::int64_t kHeadSize = 64;

/// V words, H wide; P positions, T segments.
struct BertSettings {
    std::int64_t vocabulary = 30400;   // V
    std::int64_t hidden = 768;         // H = kHeadSize * heads
    std::int64_t layers = 12;          // of the encoder
    std::int64_t heads = 12;           // of its attention
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
    bool counts_correct = true;  // the graph counts correct predictions
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
inline constexpr std::string_view kClassesToken = "glu";  // pooler, scores of classes (nn/bert_classification.h), loss

}  // namespace cnntrain::nn
