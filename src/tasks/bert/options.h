// Option rows of tasks with a BERT model: its sizes and layers, its learning rate, its optimisers.
#pragma once

#include <vector>

#include "cnntrain/config/shared_options.h"
#include "tasks/bert/settings.h"

namespace cnntrain::tasks {

using namespace config;  // rows read as they do there

inline constexpr Range kBertWidth = between(1, 1 << 20);  // of a layer, rows of a table

/// Title of the group with the options of the network.
inline constexpr std::string_view kModelGroup = "BERT";

std::vector<Option> bert_size_options();
/// Of the embeddings and the encoder.
std::vector<Option> bert_layer_options();
/// The task binds these two.
Option bert_length_option();
Option bert_classifier_dropout_option();
/// With these two go set_bert_optimiser() and bert_rate_rules() of resolve.h.
std::vector<Option> bert_rate_options();
std::vector<Option> bert_optimiser_options();
/// The lesser switches of adamw and lamb.
std::vector<Option> bert_optimiser_details();
std::vector<Option> bert_numerics_options();

}  // namespace cnntrain::tasks
