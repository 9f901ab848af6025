// BERT for text classification (Devlin et al. 2019, section 4.1) as a graph: the encoder of nn/bert.h, its pooled
// output, dropout and a dense layer.
//
// B: sequences of S tokens; C: classes; H: hidden size. The encoder and the pooler have the variables of the
// pretraining network, so that they can start from a checkpoint of pretraining. Variables below kClassifierScope are
// new: output_weights [C,H] and output_bias [C]. Inputs: kInputIds, kSegmentIds, kInputPosition and kInputMask of
// nn/bert.h, and kLabels of nn/model.h, i32[B]. Outputs: kLoss and kCorrect of nn/model.h, sums over the samples whose
// label is a class.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "cnntrain/graph/graph.h"
#include "cnntrain/nn/bert_settings.h"
#include "cnntrain/nn/settings.h"

namespace cnntrain::nn {

inline constexpr std::string_view kLogits = "logits";  // output [B,C] in the compute type, if asked for
inline constexpr std::string_view kClassifierScope = "cls/classifier";

struct BertClassificationRequest {
    BertSettings model;
    NumericsSettings numerics;
    std::int64_t batch = 1;                // B
    std::int64_t length = 128;             // S
    std::int64_t classes = 2;              // C
    double head_dropout = 0;               // dropout rate of the pooled output, in [0, 1)
    std::vector<std::string> splits = {};  // functions that begin pipeline stages 1, 2, ..., in the network's order
    bool marks_logits = false;             // adds the output kLogits
};

/// The network's functions in order: "emb0", "pos0", "hid0", "hid1", ..., "glu0".
std::vector<std::string> bert_classification_functions(const BertSettings& settings);

/// Forward graph with the loss. Error(usage) for inconsistent sizes, fewer than two classes and splits that are not
/// functions of the network; Error(unsupported) for settings that this version lacks.
graph::Graph build_bert_classification_training(const BertClassificationRequest& request, const graph::OpTable& ops);
/// The same without dropout.
graph::Graph build_bert_classification_evaluation(const BertClassificationRequest& request, const graph::OpTable& ops);

}  // namespace cnntrain::nn
