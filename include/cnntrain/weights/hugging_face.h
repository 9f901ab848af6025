// BERT checkpoints in the layout of Hugging Face's `transformers` (BertForPreTraining, BertForMaskedLM,
// BertForNextSentencePrediction, BertForSequenceClassification and the bare BertModel; safetensors): other names,
// matrices of dense layers stored [outputs, inputs] instead of [inputs, outputs].
//
// Differences between the two layouts:
// - Key biases add one number to all scores of a query, which the softmax cancels. Import drops them, export writes
//   zeros.
// - transformers always has biases of queries, values, the projection and the masked-word scores. Export writes zeros
//   for those that a network lacks; import drops such zeros if ImportSettings says that the network lacks them.
// - The masked-word scores use the word embedding. `cls.predictions.decoder.weight`, if present, must equal it and is
//   not written. `cls.predictions.decoder.bias` is a second name of `cls.predictions.bias`.
// - Optimiser slots, iteration and epoch are not converted.
// All other tensors keep their bits and element types. The pooler and each head are optional, but must be complete.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/weights/checkpoint.h"

namespace cnntrain::weights {

/// True if the checkpoint has that layout.
bool is_hugging_face(const Checkpoint& checkpoint);
bool is_hugging_face(const TensorSource& tensors);

/// The variables of a network that differ between the two layouts.
struct BertVariables {
    bool qkv_split = true;  // separate matrices for queries, keys and values; else one, side by side
    bool qkv_bias = true;
    bool projection_bias = true;
    bool prediction_bias = true;  // of the masked-word scores

    bool operator==(const BertVariables&) const = default;
};

/// 0: unknown.
struct BertSizes {
    std::int64_t vocabulary = 0;  // rows of the tables
    std::int64_t positions = 0;
    std::int64_t segment_types = 0;
    std::int64_t hidden = 0;
    std::int64_t intermediate = 0;
    std::int64_t layers = 0;
    std::int64_t classes = 0;  // of a classifier

    bool operator==(const BertSizes&) const = default;
};

struct Converted {
    Checkpoint checkpoint;
    BertVariables variables;   // of the network in this program's layout
    BertSizes sizes;           // of the source
    std::string architecture;  // export: the class of transformers with exactly these variables
    // Tensors of the source that were not converted, sorted by name:
    std::vector<std::string> left_out;        // weights
    std::vector<std::string> without_effect;  // key biases, zeros, position_ids: results are the same without them
    std::vector<std::string> slots;           // optimiser slots
};

struct ImportSettings {
    /// Biases that the network lacks are dropped if all of them are 0 in the file, and kept otherwise.
    BertVariables variables = {};
    std::int64_t vocabulary = 0;  // number of rows of the word embedding to keep, from the first; 0: all
    BertSizes sizes = {};         // expected sizes, of the file's config.json
    bool classifier = true;       // false: drop `classifier`, which scores tokens or choices
};

/// Returns the variables of a BERT network by their names in src/graph/nn/bert.cpp. Reads both spellings of the norms'
/// parameters (weight and bias, gamma and beta) and files of the bare encoder (names without "bert."). `path` is for
/// error messages. All shapes and types are checked before any tensor is copied: Error(data) names tensors that are
/// missing or do not fit. Error(usage) if the word embedding has fewer rows than settings.vocabulary.
/// Error(unsupported) if the decoder differs from the word embedding.
Converted from_hugging_face(Checkpoint source, const ImportSettings& settings, const std::string& path);

struct ExportSettings {
    /// False: transformers does not support the activation of the layer between encoder and masked-word scores. That
    /// layer and the bias of these scores are left out.
    bool transform = true;
    BertSizes sizes = {};  // expected sizes, of the run's arguments.json
};

/// The class of pretraining networks without a layer between encoder and masked-word scores. transformers has no such
/// class; bert_config.h has its source.
inline constexpr std::string_view kWithoutTransform = "BertForPreTrainingWithoutTransform";

/// The inverse. Error(data) names variables that are missing or do not fit together.
Converted to_hugging_face(Checkpoint source, const ExportSettings& settings, const std::string& path);

}  // namespace cnntrain::weights
