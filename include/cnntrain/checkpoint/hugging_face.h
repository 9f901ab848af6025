// BERT checkpoints in the layout of Hugging Face's `transformers` (BertForPreTraining, BertForSequenceClassification
// and the bare BertModel; safetensors): other names, matrices of dense layers stored [outputs, inputs] instead of
// [inputs, outputs].
//
// What one side has and the other has not:
// - Biases of keys add the same number to all scores of a query, which the softmax takes out again. They are left out
//   on the way in and written as zeros on the way out.
// - The scores of masked words read the table of words. `cls.predictions.decoder.weight`, where a file has it, must be
//   that table; it is not written. `cls.predictions.decoder.bias` is `cls.predictions.bias` under a second name.
// - Optimiser slots, the iteration and the epoch stay on this side.
// Everything else keeps its bits and its element type.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cnntrain/checkpoint/checkpoint.h"

namespace cnntrain::checkpoint {

/// Has it that layout?
bool is_hugging_face(const Checkpoint& checkpoint);

struct ImportSettings {
    bool qkv_split = true;        // three matrices for queries, keys and values; else one, side by side
    std::int64_t vocabulary = 0;  // rows of the table of words that are kept, from the first; 0: all
};

struct Converted {
    Checkpoint checkpoint;
    std::vector<std::string> left_out;  // tensors of the source that have no place there, in their order
};

/// The variables of a BERT network, named as src/nn/bert.cpp does. Both spellings of the norms' parameters are read
/// (weight and bias, gamma and beta), and files of the bare encoder (names without "bert."). `path` stands in errors.
/// Error(data) names tensors that are missing or have a wrong rank; Error(usage) for a vocabulary that the table has
/// not.
Converted from_hugging_face(const Checkpoint& source, const ImportSettings& settings, const std::string& path);

/// The other way, with zeros for biases that the network does without. A network without a layer between the encoder
/// and the scores of masked words is written without the heads of pretraining: the other layout always has that layer.
/// Error(data) names variables that are missing for a BERT network.
Converted to_hugging_face(const Checkpoint& source, const std::string& path);

}  // namespace cnntrain::checkpoint
